/*
 * list.c - rows that are in no segment yet.
 *
 * The rows of a list are one string of words, cut into pages.  The first word of
 * a row says how many it has.  A new row is written after the last one; merged
 * rows are cut off in front.  Each page names the next one, as soon as there is
 * one.  The last page's pd_lower says where the string ends.  Its special area has a checksum
 * of pd_lower: a lookup that believed a wrong one would overlook rows.
 *
 * A statement that knows the last page of a list appends there without a look at
 * the metapage.  That is safe as long as the page has its generation and is not full:
 * only a full page gets a successor, or is taken off the list.  If that is to happen
 * to the last page before it is full, it is marked as full.
 */
#include "pg/index/bloomx/pending/list.h"

#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/bufmgr.h"

#include "pg/index/bloomx/format/options.h"
#include "pg/index/pages/wal.h"

StaticAssertDecl(1 + MAX_SIGNATURE_BITS / 64 <= MAX_ROW_WORDS, "the largest signature must fit a row");

/* The most new pages that a row takes: those that it fills, and one in part. */
#define MAX_NEW_PAGES ((MAX_ROW_WORDS + PAGE_WORDS - 1) / PAGE_WORDS)

/* ---- the last page ---- */

/* The words that are in use on a page of the list. */
static uint32
WordsOf(Page page)
{
	return (((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) / sizeof(uint64);
}

/* What the last page's special area says if the page, which has that generation, is filled to `lower`. */
static uint32
EndMark(uint64 generation, LocationIndex lower)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	COMP_CRC32C(sum, &generation, sizeof generation);
	COMP_CRC32C(sum, &lower, sizeof lower);
	FIN_CRC32C(sum);
	return sum;
}

/* Pins and locks the last page of a list; *words is the number of words in the list. */
static Buffer
LockLastPage(Relation index, const BloomxMeta *meta, int list, int mode, uint64 *words)
{
	const BloomxPending *pending = &meta->pending[list];
	Buffer		buffer = ReadBuffer(index, pending->last);
	Page		page = BufferGetPage(buffer);
	uint64		generation = pending->generation + pending->pages - 1;

	if (mode == BUFFER_LOCK_EXCLUSIVE)
		BloomxLockExclusively(buffer);
	else
		LockBuffer(buffer, mode);
	if (!BloomxPageIs(page, PENDING_PAGE, generation))
		BloomxReportCorruption(index, "a page of pending rows is something else");
	*words = (pending->pages - 1) * (uint64) PAGE_WORDS + WordsOf(page);
	if (BloomxGetPageOpaque(page)->extra != EndMark(generation, ((PageHeader) page)->pd_lower) || *words <= pending->skip)
		BloomxReportCorruption(index, "the last page of pending rows contradicts itself");
	*words -= pending->skip;
	return buffer;
}

uint64
BloomxCountPending(Relation index, const BloomxMeta *meta, int list)
{
	uint64		words = 0;

	if (meta->pending[list].pages > 0)
		UnlockReleaseBuffer(LockLastPage(index, meta, list, BUFFER_LOCK_SHARE, &words));
	return words;
}

int
BloomxLongestList(const BloomxDirectory *directory)
{
	int			longest = 0;

	for (int i = 1; i < PENDING_LISTS; i++)
		if (directory->list_words[i] > directory->list_words[longest])
			longest = i;
	return longest;
}

uint32
BloomxAllPendingPages(const BloomxMeta *meta)
{
	uint32		pages = 0;

	for (int i = 0; i < PENDING_LISTS; i++)
		pages += meta->pending[i].pages;
	return pages;
}

uint32
BloomxPendingPages(const BloomxPending *pending, uint64 words)
{
	return (uint32) ((pending->skip + words + PAGE_WORDS - 1) / PAGE_WORDS);
}

/*
 * Fewer filters than this do not become a segment, however large they are: a slice
 * takes whole words, so most of the segment would be padding.
 */
#define LEAST_ROWS 32

uint32
BloomxPendingLimit(Relation index)
{
	return (uint32) BloomxGetOptions(index).pending_limit / (BLCKSZ / 1024);
}

bool
BloomxListIsTooLong(const BloomxMeta *meta, int list, uint64 words, uint32 pages)
{
	blx_geometry geometry = BloomxGeometryOf(&meta->keys);
	uint64		least = meta->keys.of_values ? 0 : LEAST_ROWS * BloomxPendingWords(&geometry);

	return words >= least && BloomxPendingPages(&meta->pending[list], words) > pages;
}

/* ---- reading ---- */

/*
 * Locks a page of the list.  If it is something else by now, locks nothing and
 * returns false.  `blocks` is the length of the index when the list had this page.
 */
static bool
LockPendingPage(Relation index, BlockNumber block, BlockNumber blocks, uint64 generation, Buffer *buffer)
{
	/* the block number may come from another page of the list, where nothing has checked it */
	if (block == META_BLOCK || block >= blocks)
		BloomxReportCorruption(index, "a page of pending rows names a page that is not there");
	*buffer = ReadBuffer(index, block);
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	if (BloomxPageIs(BufferGetPage(*buffer), PENDING_PAGE, generation))
		return true;
	UnlockReleaseBuffer(*buffer);
	return false;
}

/* Begins to read the first words of a list. */
static void
StartList(BloomxPendingReader *reader, int list, uint64 words)
{
	reader->pending = &reader->directory->meta.pending[list];
	reader->next = reader->pending->first;
	reader->left = words;
	reader->pages = reader->place = reader->end = 0;
}

static BloomxPendingReader *
NewReader(Relation index, const BloomxDirectory *directory, Snapshot snapshot)
{
	BloomxPendingReader *reader = palloc0(sizeof(BloomxPendingReader));

	reader->index = index;
	reader->snapshot = snapshot;
	reader->directory = directory;
	reader->keys = &directory->meta.keys;
	reader->room = PAGE_WORDS;
	reader->row = palloc(reader->room * sizeof(uint64));
	return reader;
}

BloomxPendingReader *
BloomxStartPendingList(Relation index, const BloomxDirectory *directory, int list, uint64 words)
{
	BloomxPendingReader *reader = NewReader(index, directory, NULL);

	StartList(reader, list, words);
	return reader;
}

BloomxPendingReader *
BloomxStartPending(Relation index, const BloomxDirectory *directory, Snapshot snapshot)
{
	BloomxPendingReader *reader = NewReader(index, directory, snapshot);

	reader->lists = PENDING_LISTS;
	return reader;
}

void
BloomxEndPending(BloomxPendingReader *reader)
{
	pfree(reader->row);
	pfree(reader);
}

static bool
NextPage(BloomxPendingReader *reader)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (reader->pages == reader->pending->pages)
		BloomxReportCorruption(reader->index, "there are more pending words than pages for them");
	if (!LockPendingPage(reader->index, reader->next, reader->directory->blocks, reader->pending->generation + reader->pages, &buffer))
		return false;
	CheckForOldSnapshot(reader->snapshot, reader->index, BufferGetPage(buffer));
	/* all pages but the last one were full when the directory was read */
	reader->end = WordsOf(BufferGetPage(buffer));
	if (reader->end < PAGE_WORDS && reader->pages + 1 < reader->pending->pages)
		BloomxReportCorruption(reader->index, "a page of pending rows is not full");
	memcpy(reader->words, PageGetContents(BufferGetPage(buffer)), reader->end * sizeof(uint64));
	reader->next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	reader->place = reader->pages++ == 0 ? reader->pending->skip : 0;
	return true;
}

/* Reads on until there are `n` words of the row.  False if a page is gone. */
static bool
ReadWords(BloomxPendingReader *reader, uint32 n)
{
	if (n > reader->room)
	{
		reader->room = n;
		reader->row = repalloc(reader->row, n * sizeof(uint64));
	}
	/* a row may go on on the next page, and on the one after it */
	while (reader->n < n)
	{
		uint32		more;

		if (reader->place >= reader->end && !NextPage(reader))
			return false;
		if (reader->place >= reader->end)
			BloomxReportCorruption(reader->index, "a page of pending rows ends too early");
		more = Min(n - reader->n, reader->end - reader->place);
		memcpy(reader->row + reader->n, reader->words + reader->place, more * sizeof(uint64));
		reader->place += more;
		reader->n += more;
	}
	return true;
}

const uint64 *
BloomxNextPending(BloomxPendingReader *reader)
{
	reader->n = 0;
	for (; reader->left == 0 && reader->next_list < reader->lists; reader->next_list++)
		StartList(reader, reader->next_list, reader->directory->list_words[reader->next_list]);
	if (reader->left == 0 || reader->gone)
		return NULL;
	reader->gone = !ReadWords(reader, 1);
	if (!reader->gone)
	{
		uint32		words = BloomxRowWords(reader->keys, reader->row);

		if (words > reader->left)
			BloomxReportCorruption(reader->index, "a pending row is longer than the list");
		reader->gone = !ReadWords(reader, words);
		reader->left -= words;
	}
	return reader->gone ? NULL : reader->row;
}

/* Words of a list that are on one page, numbered from the first word of the first page. */
typedef struct ListPart
{
	const uint64 *words;
	uint64		start;
	uint64		end;
} ListPart;

/* Copies those of n words, from number `from` on, that are in the part. */
static void
CopyFromPart(const ListPart *part, uint64 *to, uint64 from, uint32 n)
{
	uint64		begin = Max(from, part->start),
				end = Min(from + n, part->end);

	if (begin < end)
		memcpy(to + (begin - from), part->words + (begin - part->start), (end - begin) * sizeof(uint64));
}

/*
 * A step of a merge needs a few words of each row: it would take several times as
 * long if whole rows were put together, as BloomxNextPending does.
 */
void
BloomxReadPendingColumns(Relation index, const BloomxDirectory *directory, int list, uint32 rows,
						 ItemPointerData *tids, uint64 *signatures, uint32 first, uint32 end)
{
	const BloomxPending *pending = &directory->meta.pending[list];
	uint32		row_words = BloomxPendingWords(&directory->geometry);
	uint64		last = pending->skip + rows * (uint64) row_words;	/* the end of these rows */
	uint64	   *heads = palloc(Max(1, rows) * sizeof(uint64));
	BlockNumber next = pending->first;

	for (uint32 i = 0; i * (uint64) PAGE_WORDS < last; i++)
	{
		ListPart	part = {.start = i * (uint64) PAGE_WORDS, .end = Min(last, (i + 1) * (uint64) PAGE_WORDS)};
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (i == pending->pages || !LockPendingPage(index, next, directory->blocks, pending->generation + i, &buffer) ||
			part.start + WordsOf(BufferGetPage(buffer)) < part.end)
			BloomxReportCorruption(index, "a page of pending rows is something else");
		part.words = (const uint64 *) PageGetContents(BufferGetPage(buffer));

		/* the rows that have words on the page */
		for (uint32 row = (uint32) ((Max(part.start, pending->skip) - pending->skip) / row_words);
			 row < rows && pending->skip + row * (uint64) row_words < part.end; row++)
		{
			uint64		start = pending->skip + row * (uint64) row_words;

			CopyFromPart(&part, &heads[row], start, 1);
			CopyFromPart(&part, signatures + row * (Size) (end - first), start + 1 + first, end - first);
		}
		next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
		UnlockReleaseBuffer(buffer);
	}
	for (uint32 row = 0; row < rows; row++)
		tids[row] = BloomxPendingTid(&heads[row]);
	pfree(heads);
}

BlockNumber *
BloomxPendingBlocks(Relation index, const BloomxDirectory *directory, int list, uint32 pages)
{
	BlockNumber *blocks = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, pages) * sizeof(BlockNumber)),
				next = directory->meta.pending[list].first;

	for (uint32 i = 0; i < pages; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (!LockPendingPage(index, next, directory->blocks, directory->meta.pending[list].generation + i, &buffer))
		{
			pfree(blocks);
			return NULL;
		}
		blocks[i] = next;
		next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
		UnlockReleaseBuffer(buffer);
	}
	return blocks;
}

/* ---- appending ---- */

/*
 * Writes words behind the last one on the page, and moves pd_lower.  A page of the
 * list is zero from pd_lower on, here and where the record is replayed: runs of
 * zeros need not be logged.
 */
static void
AppendWords(BloomxChange *change, const uint64 *words, uint32 n)
{
	PageHeader	header = (PageHeader) change->page;
	uint64	   *place = (uint64 *) ((char *) change->page + header->pd_lower);
	LocationIndex lower = header->pd_lower + n * sizeof(uint64);

	BloomxChangeBytes(change, &header->pd_lower, &lower, sizeof lower);
	for (uint32 from = 0, to; from < n; from = to)
	{
		for (to = from; to < n && words[to] != 0; to++)
			;
		if (to > from)
			BloomxChangeBytes(change, place + from, words + from, (to - from) * sizeof(uint64));
		for (; to < n && words[to] == 0; to++)
			;
	}
}

/* Appends a row to the locked last page of a list. */
static void
AppendToPage(Relation index, Buffer buffer, const uint64 *row, uint32 n)
{
	BloomxChange change;
	BloomxPageOpaque *opaque;
	uint32		mark;

	change.buffer = buffer;
	BloomxStartChanges(&change, 1, index);
	AppendWords(&change, row, n);
	opaque = BloomxGetPageOpaque(change.page);
	mark = EndMark(opaque->generation, ((PageHeader) change.page)->pd_lower);
	BloomxChangeBytes(&change, &opaque->extra, &mark, sizeof mark);
	BloomxFinishChanges(&change, 1, index);
}

BloomxAppended
BloomxAppendToOpenPage(Relation index, const BloomxTarget *target, const uint64 *row, uint32 n)
{
	Buffer		buffer = ReadBuffer(index, target->block);
	Page		page = BufferGetPage(buffer);
	BloomxAppended result = PAGE_IS_BUSY;

	if (ConditionalLockBuffer(buffer))
	{
		/* a damaged page is reported by those who come from the metapage */
		result = NO_ROOM;
		if (BloomxPageIs(page, PENDING_PAGE, target->generation) && WordsOf(page) + n < PAGE_WORDS &&
			BloomxGetPageOpaque(page)->extra == EndMark(target->generation, ((PageHeader) page)->pd_lower))
		{
			AppendToPage(index, buffer, row, n);
			result = APPENDED;
		}
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(buffer);
	return result;
}

bool
BloomxAppendToLastPage(Relation index, const BloomxMeta *meta, int list, const uint64 *row, uint32 n, uint64 *words)
{
	Buffer		buffer;
	bool		fits;

	if (meta->pending[list].pages == 0)
		return false;
	buffer = LockLastPage(index, meta, list, BUFFER_LOCK_EXCLUSIVE, words);
	fits = WordsOf(BufferGetPage(buffer)) + n <= PAGE_WORDS;
	if (fits)
	{
		AppendToPage(index, buffer, row, n);
		*words += n;
	}
	UnlockReleaseBuffer(buffer);
	return fits;
}

/* Adds free pages to a list, in meta; blocks gets them.  False if too few are free. */
static bool
TakePendingPages(BloomxMeta *meta, int list, uint32 pages, BlockNumber *blocks)
{
	BloomxPending *pending = &meta->pending[list];

	for (uint32 i = 0; i < pages; i++)
	{
		blocks[i] = BloomxTakeFreePages(meta, 1);
		if (blocks[i] == InvalidBlockNumber)
			return false;
	}
	if (pending->pages == 0)
		pending->first = blocks[0];
	pending->pages += pages;
	pending->last = blocks[pages - 1];
	return true;
}

/* Writes a new page of the list with the first words of a row, as far as they fit; returns how many do. */
static uint32
WriteNewPage(Relation index, BlockNumber block, uint64 generation, BlockNumber next, const uint64 *words, uint32 n)
{
	PGAlignedBlock image;
	Page		page = image.data;
	LocationIndex *lower = &((PageHeader) page)->pd_lower;

	n = Min(n, PAGE_WORDS);
	BloomxInitPage(page, PENDING_PAGE, generation);
	memcpy(PageGetContents(page), words, n * sizeof(uint64));
	*lower += n * sizeof(uint64);
	BloomxGetPageOpaque(page)->extra = next != InvalidBlockNumber ? next : EndMark(generation, *lower);
	BloomxWriteImages(index, block, &image, 1);
	return n;
}

/*
 * Makes the metapage, and the page that was the last one of the list, name the new
 * pages.  The row begins on that page, and fills it.
 */
static void
NameNewPages(Relation index, Buffer buffer, const BloomxMeta *meta, Buffer last, const uint64 *row, BlockNumber first)
{
	BloomxChange changes[2];
	int			n = BufferIsValid(last) ? 2 : 1;

	changes[0].buffer = buffer;
	changes[1].buffer = last;
	BloomxStartChanges(changes, n, index);
	BloomxChangeWords(&changes[0], PageGetContents(changes[0].page), meta, sizeof(BloomxMeta) / sizeof(uint64));
	if (n > 1)
	{
		AppendWords(&changes[1], row, PAGE_WORDS - WordsOf(changes[1].page));
		BloomxChangeBytes(&changes[1], &BloomxGetPageOpaque(changes[1].page)->extra, &first, sizeof first);
	}
	BloomxFinishChanges(changes, n, index);
}

/*
 * The new pages come first, each in a record of its own: nobody counts them, and
 * after a crash they are still free, until the last record makes the metapage and
 * the page that was the last one name them.
 */
bool
BloomxAppendToNewPages(Relation index, Buffer buffer, int list, const uint64 *row, uint32 n, uint64 *words)
{
	BloomxMeta	meta = *BloomxGetMeta(index, BufferGetPage(buffer));
	uint32		done = 0,		/* words of the row that have a place */
				pages;
	uint64		generation = meta.pending[list].generation + meta.pending[list].pages;
	BlockNumber blocks[MAX_NEW_PAGES] = {InvalidBlockNumber};
	Buffer		last = InvalidBuffer;
	bool		enough;

	/* the row begins on the page that is the last one so far */
	*words = 0;
	if (meta.pending[list].pages > 0)
	{
		last = LockLastPage(index, &meta, list, BUFFER_LOCK_EXCLUSIVE, words);
		done = PAGE_WORDS - WordsOf(BufferGetPage(last));
	}
	pages = (n - done + PAGE_WORDS - 1) / PAGE_WORDS;
	enough = TakePendingPages(&meta, list, pages, blocks);
	if (enough)
	{
		for (uint32 i = 0; i < pages; i++)
			done += WriteNewPage(index, blocks[i], generation + i, i + 1 < pages ? blocks[i + 1] : InvalidBlockNumber,
								 row + done, n - done);
		BloomxSealMeta(&meta);
		NameNewPages(index, buffer, &meta, last, row, blocks[0]);
		*words += n;
	}
	if (BufferIsValid(last))
		UnlockReleaseBuffer(last);
	return enough;
}

/* ---- dropping ---- */

static int
CompareBlocks(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a,
				y = *(const BlockNumber *) b;

	return (x > y) - (x < y);
}

/* Frees whole runs: there may be many pages, and everybody waits for the metapage meanwhile. */
static void
FreeBlocks(BloomxMeta *meta, BlockNumber *blocks, uint32 n)
{
	qsort(blocks, n, sizeof *blocks, CompareBlocks);
	for (uint32 first = 0, end; first < n; first = end)
	{
		for (end = first + 1; end < n && blocks[end] == blocks[end - 1] + 1; end++)
			;
		BloomxFreePages(meta, blocks[first], end - first);
	}
}

/* The page after one page of the list. */
static BlockNumber
NextBlock(Relation index, BlockNumber block, uint64 generation)
{
	BlockNumber next;
	Buffer		buffer;

	if (!LockPendingPage(index, block, RelationGetNumberOfBlocks(index), generation, &buffer))
		BloomxReportCorruption(index, "a page of pending rows is something else");
	next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/*
 * If these are all words of the list, marks its last page as full in the record, so
 * that nobody appends to it any more, and returns its buffer, locked.
 */
static Buffer
CloseList(Relation index, GenericXLogState *state, const BloomxMeta *meta, int list, uint64 words)
{
	uint64		all;
	Buffer		last = LockLastPage(index, meta, list, BUFFER_LOCK_EXCLUSIVE, &all);
	PageHeader	page;

	if (words < all)
	{
		UnlockReleaseBuffer(last);
		return InvalidBuffer;
	}
	page = (PageHeader) GenericXLogRegisterBuffer(state, last, 0);
	page->pd_lower = page->pd_special;
	return last;
}

/* Rows that were appended meanwhile stay, and so does the page on which they begin. */
Buffer
BloomxDropPending(Relation index, GenericXLogState *state, BloomxMeta *meta, int list, uint64 words, BlockNumber *blocks)
{
	BloomxPending *pending = &meta->pending[list];
	uint64		end = pending->skip + words;
	Buffer		closed = CloseList(index, state, meta, list, words);
	bool		all = BufferIsValid(closed);
	uint32		pages = all ? pending->pages : (uint32) (end / PAGE_WORDS);

	if (!all && pages > 0)
		pending->first = NextBlock(index, blocks[pages - 1], pending->generation + pages - 1);
	FreeBlocks(meta, blocks, pages);
	pending->pages -= pages;
	pending->generation += pages;
	pending->skip = all ? 0 : (uint32) (end % PAGE_WORDS);
	return closed;
}

bool
BloomxReplacePending(Relation index, BloomxMeta *meta, BlockNumber *blocks, const uint64 *words, uint64 n)
{
	BloomxPending *pending = &meta->pending[FIRST_LIST];
	uint32		old_pages = pending->pages,
				pages = (uint32) ((n + PAGE_WORDS - 1) / PAGE_WORDS);
	BlockNumber *new_blocks = palloc((pages + 1) * sizeof(BlockNumber));

	/* the new pages follow the old ones in number: no reader takes one for the other */
	pending->generation += old_pages;
	pending->pages = pending->skip = 0;
	if (pages > 0 && !TakePendingPages(meta, FIRST_LIST, pages, new_blocks))
		return false;
	new_blocks[pages] = InvalidBlockNumber;
	for (uint32 i = 0; i < pages; i++)
	{
		uint32		written = WriteNewPage(index, new_blocks[i], pending->generation + i, new_blocks[i + 1], words, (uint32) Min(n, PAGE_WORDS));

		words += written;
		n -= written;
	}
	FreeBlocks(meta, blocks, old_pages);
	return true;
}
