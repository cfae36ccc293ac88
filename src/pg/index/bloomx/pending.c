/*
 * pending.c - rows that are in no segment yet.
 *
 * The pending rows are one string of words, cut into pages.  A row has
 * BloomxPendingWords() words, and the metapage says how many rows there are.  A
 * new row is written after the last one and then counted; merged rows are cut
 * off in front.  Each page names the next one, as soon as there is one.
 */
#include "pg/index/bloomx/index.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

/* A row of the largest signatures may begin in the middle of a page, so it touches one page more than it fills. */
#define MAX_ROW_PAGES (((1 + MAX_SIGNATURE_BITS / 64) + PAGE_WORDS - 1) / PAGE_WORDS + 1)

/* ---- reading ---- */

/*
 * Locks a page of the list.  If it is something else by now, locks nothing and
 * returns false.  `blocks` is the length of the index when the list had this page.
 */
static bool
LockPendingPage(Relation index, BlockNumber block, BlockNumber blocks, uint64 stamp, Buffer *buffer)
{
	/* the block number may come from another page of the list, where nothing has checked it */
	if (block == META_BLOCK || block >= blocks)
		BloomxReportCorruption(index, "a page of pending rows names a page that is not there");
	*buffer = ReadBuffer(index, block);
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	if (BloomxPageIs(BufferGetPage(*buffer), PENDING_PAGE, stamp))
		return true;
	UnlockReleaseBuffer(*buffer);
	return false;
}

BloomxPendingReader *
BloomxStartPending(Relation index, const BloomxStructure *structure, uint32 rows, Snapshot snapshot)
{
	BloomxPendingReader *reader = palloc0(sizeof(BloomxPendingReader));

	reader->index = index;
	reader->snapshot = snapshot;
	reader->blocks = structure->blocks;
	reader->pending = &structure->meta.pending;
	reader->row_words = BloomxPendingWords(&structure->geometry);
	reader->rows = rows;
	reader->next = reader->pending->first;
	reader->row = palloc(reader->row_words * sizeof(uint64));
	return reader;
}

static bool
NextPage(BloomxPendingReader *reader)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (reader->pages == reader->pending->pages)
		BloomxReportCorruption(reader->index, "there are more pending rows than pages for them");
	if (!LockPendingPage(reader->index, reader->next, reader->blocks, reader->pending->stamp + reader->pages, &buffer))
		return false;
	CheckForOldSnapshot(reader->snapshot, reader->index, BufferGetPage(buffer));
	memcpy(reader->words, PageGetContents(BufferGetPage(buffer)), sizeof reader->words);
	reader->next = BloomxGetPageTail(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	reader->place = reader->pages++ == 0 ? reader->pending->skip : 0;
	return true;
}

const uint64 *
BloomxNextPending(BloomxPendingReader *reader)
{
	uint32		have = 0;

	if (reader->rows == 0 || reader->gone)
		return NULL;
	/* a row may go on on the next page, and on the one after it */
	while (have < reader->row_words)
	{
		uint32		n;

		if ((reader->pages == 0 || reader->place == PAGE_WORDS) && !NextPage(reader))
		{
			reader->gone = true;
			return NULL;
		}
		n = Min(reader->row_words - have, PAGE_WORDS - reader->place);
		memcpy(reader->row + have, reader->words + reader->place, n * sizeof(uint64));
		reader->place += n;
		have += n;
	}
	reader->rows--;
	return reader->row;
}

BlockNumber *
BloomxPendingBlocks(Relation index, const BloomxStructure *structure, uint32 pages)
{
	BlockNumber *blocks = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, pages) * sizeof(BlockNumber)),
				next = structure->meta.pending.first;

	for (uint32 i = 0; i < pages; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (!LockPendingPage(index, next, structure->blocks, structure->meta.pending.stamp + i, &buffer))
		{
			pfree(blocks);
			return NULL;
		}
		blocks[i] = next;
		next = BloomxGetPageTail(BufferGetPage(buffer))->extra;
		UnlockReleaseBuffer(buffer);
	}
	return blocks;
}

/* ---- appending ---- */

/*
 * Takes as many free pages as words up to `end` need.  blocks gets the pages of
 * the list from number `first` on.  False if too few are free.
 */
static bool
TakePendingPages(BloomxPending *pending, BloomxMeta *meta, uint32 first, uint64 end, BlockNumber *blocks)
{
	uint32		n = 0;

	if (first < pending->pages)
		blocks[n++] = pending->last;
	while (pending->pages * (uint64) PAGE_WORDS < end)
	{
		BlockNumber block = BloomxTakeFreePages(meta, 1);

		if (block == InvalidBlockNumber)
			return false;
		if (pending->pages++ == 0)
			pending->first = block;
		pending->last = blocks[n++] = block;
	}
	return true;
}

/* Of words first .. first + n - 1 of the string, writes those that belong on page `number` of the list. */
static void
WriteWords(Page page, uint32 number, uint64 first, uint32 n, const uint64 *words)
{
	uint64		page_first = number * (uint64) PAGE_WORDS,
				from = Max(first, page_first),
				to = Min(first + n, page_first + PAGE_WORDS);

	if (from < to)
		memcpy((uint64 *) PageGetContents(page) + (from - page_first), words + (from - first), (to - from) * sizeof(uint64));
}

/*
 * The metapage changes in the same WAL record as the row's last page.  Until then
 * nobody counts what earlier records wrote: after a crash in between, the new
 * pages are still free, and the next row overwrites what follows the last one.
 */
bool
BloomxAppendPending(Relation index, Buffer buffer, BloomxMeta *meta, ItemPointer tid, uint64 *row)
{
	BloomxPending *pending = &meta->pending;
	blx_geometry geometry = BloomxGeometryOf(&meta->keys);
	uint32		row_words = BloomxPendingWords(&geometry),
				old_pages = pending->pages,
				number;
	uint64		first = BloomxPendingPlace(pending, row_words, pending->rows);
	GenericXLogState *state;
	Buffer		written[MAX_GENERIC_XLOG_PAGES - 1];
	BlockNumber blocks[MAX_ROW_PAGES + 1];
	BloomxMeta *changed;
	int			n = 0;

	/* begin with the last page of the list, even if it is full: it must name the next one */
	number = old_pages == 0 ? 0 : old_pages - 1;
	if (!TakePendingPages(pending, meta, number, first + row_words, blocks))
		return false;

	/* the row's first word is its TID; the rest of the word is zero */
	row[0] = 0;
	memcpy(row, tid, sizeof *tid);

	state = GenericXLogStart(index);
	for (uint32 i = 0; number + i < pending->pages; i++)
	{
		Page		page;

		/* the record is full: one place is the metapage's */
		if (n == lengthof(written))
		{
			GenericXLogFinish(state);
			while (n > 0)
				UnlockReleaseBuffer(written[--n]);
			state = GenericXLogStart(index);
		}
		written[n] = ReadBuffer(index, blocks[i]);
		LockBuffer(written[n], BUFFER_LOCK_EXCLUSIVE);
		if (number + i < old_pages && !BloomxPageIs(BufferGetPage(written[n]), PENDING_PAGE, pending->stamp + number + i))
			BloomxReportCorruption(index, "a page of pending rows is something else");

		/* a new page needs a full image; an old one only what has changed */
		page = GenericXLogRegisterBuffer(state, written[n], number + i < old_pages ? 0 : GENERIC_XLOG_FULL_IMAGE);
		if (number + i >= old_pages)
			BloomxInitPage(page, PENDING_PAGE, pending->stamp + number + i);
		if (number + i + 1 < pending->pages)
			BloomxGetPageTail(page)->extra = blocks[i + 1];
		WriteWords(page, number + i, first, row_words, row);
		n++;
	}

	/* the row counts from here on */
	pending->rows++;
	changed = (BloomxMeta *) PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0));
	*changed = *meta;
	BloomxSealMeta(changed);
	GenericXLogFinish(state);
	while (n > 0)
		UnlockReleaseBuffer(written[--n]);
	return true;
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
NextBlock(Relation index, BlockNumber block, uint64 stamp)
{
	BlockNumber next;
	Buffer		buffer;

	if (!LockPendingPage(index, block, RelationGetNumberOfBlocks(index), stamp, &buffer))
		BloomxReportCorruption(index, "a page of pending rows is something else");
	next = BloomxGetPageTail(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/* Rows that were appended meanwhile stay, and so does the page on which they begin. */
void
BloomxDropPending(Relation index, BloomxMeta *meta, uint32 rows, BlockNumber *blocks)
{
	BloomxPending *pending = &meta->pending;
	blx_geometry geometry = BloomxGeometryOf(&meta->keys);
	uint64		end = BloomxPendingPlace(pending, BloomxPendingWords(&geometry), rows);
	bool		all = rows == pending->rows;
	uint32		pages = all ? pending->pages : (uint32) (end / PAGE_WORDS);

	if (!all && pages > 0)
		pending->first = NextBlock(index, blocks[pages - 1], pending->stamp + pages - 1);
	FreeBlocks(meta, blocks, pages);
	pending->pages -= pages;
	pending->stamp += pages;
	pending->rows -= rows;
	pending->skip = all ? 0 : (uint32) (end % PAGE_WORDS);
}
