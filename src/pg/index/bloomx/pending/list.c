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

#include "port/pg_crc32c.h"
#include "storage/bufmgr.h"

#include "pg/index/bloomx/format/options.h"
#include "pg/index/pages/wal.h"

StaticAssertDecl(1 + MAX_SIGNATURE_BITS / 64 <= MAX_ROW_WORDS, "the largest signature must fit a row");

/* The most new pages that a row takes: those that it fills, and one in part. */
#define MAX_NEW_PAGES ((MAX_ROW_WORDS + PAGE_WORDS - 1) / PAGE_WORDS)

/* ---- the last page ---- */

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

/* Locks the last page of a list; *words is the number of words in the list. */
static Buffer
LockLastPage(Relation index, const BloomxMeta *meta, int list, int mode, uint64 *words)
{
	const BloomxPending *pending = &meta->pending[list];
	uint64		generation = pending->generation + pending->pages - 1;
	Buffer		buffer = BloomxReadPage(index, pending->last, PENDING_PAGE, generation, mode, false);
	Page		page = BufferGetPage(buffer);

	*words = (pending->pages - 1) * (uint64) PAGE_WORDS + BloomxWordsOnPage(page);
	if (BloomxGetPageOpaque(page)->extra != EndMark(generation, ((PageHeader) page)->pd_lower) || *words <= pending->skip)
		BloomxReportCorruption(index, pending->last, "The end of a list of pending rows has a wrong checksum.");
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

uint32
BloomxPendingLimit(Relation index)
{
	return (uint32) BloomxGetOptions(index).pending_limit / (BLCKSZ / 1024);
}

/* From few filters no geometry can be chosen: until there is one, the list may be as long as INSERT lets it be. */
bool
BloomxListIsTooLong(Relation index, const BloomxMeta *meta, int list, uint64 words, uint32 pages)
{
	blx_geometry geometry = BloomxGeometryOf(&meta->keys);
	uint64		least = meta->keys.of_values ? 0 : LEAST_FILTERS * (1 + blx_body_words(&geometry));

	if (meta->keys.parts == 0 && !meta->keys.of_values)
		pages = BloomxPendingLimit(index);
	return words >= least && BloomxPendingPages(&meta->pending[list], words) > pages;
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
		if (BloomxPageIs(page, PENDING_PAGE, target->generation) && BloomxWordsOnPage(page) + n < PAGE_WORDS &&
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
	fits = BloomxWordsOnPage(BufferGetPage(buffer)) + n <= PAGE_WORDS;
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
	BloomxChangeSomeBytes(&changes[0], PageGetContents(changes[0].page), meta, sizeof(BloomxMeta));
	if (n > 1)
	{
		AppendWords(&changes[1], row, PAGE_WORDS - BloomxWordsOnPage(changes[1].page));
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
		done = PAGE_WORDS - BloomxWordsOnPage(BufferGetPage(last));
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
	/* full: an INSERT that remembers the page asks the metapage for another one */
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
	{
		/* read only now: this page may have been the last one when the blocks were read */
		Buffer		buffer = BloomxReadPage(index, blocks[pages - 1], PENDING_PAGE, pending->generation + pages - 1, BUFFER_LOCK_SHARE, false);

		pending->first = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
		UnlockReleaseBuffer(buffer);
	}
	FreeBlocks(meta, blocks, pages);
	pending->pages -= pages;
	pending->generation += pages;
	pending->skip = all ? 0 : (uint32) (end % PAGE_WORDS);
	return closed;
}
