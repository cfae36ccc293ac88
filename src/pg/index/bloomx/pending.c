/*
 * pending.c - rows that are in no segment yet.
 *
 * The pending rows are one string of words, cut into pages: rows of
 * PendingWords(), of which the metapage says how many there are.  New ones are
 * written behind the last and then counted; merged ones are cut off in front.
 * Each page says which one is next; the last one does not, until there is one.
 */
#include "pg/index/bloomx/index.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

/* A row of the largest signature touches one page more than it fills. */
#define MAX_ROW_PAGES (((1 + MAX_SIGNATURE_BITS / 64) + PAGE_WORDS - 1) / PAGE_WORDS + 1)

/* ---- reading ---- */

/*
 * A page of the list, locked; false when it is something else by now (and
 * nothing is locked).  The index had so many blocks when it had this page.
 */
static bool
LockPendingPage(Relation index, BlockNumber block, BlockNumber blocks, uint64 stamp, Buffer *buffer)
{
	/* which page is next is what a page says, and has not been looked at */
	if (block == META_BLOCK || block >= blocks)
		ReportCorruption(index, "a page of pending rows names a page that is not there");
	*buffer = ReadBuffer(index, block);
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	if (PageIs(BufferGetPage(*buffer), PENDING_PAGE, stamp))
		return true;
	UnlockReleaseBuffer(*buffer);
	return false;
}

PendingReader *
StartPending(Relation index, const Structure *structure, uint32 rows, Snapshot snapshot)
{
	PendingReader *reader = palloc0(sizeof(PendingReader));

	reader->index = index;
	reader->snapshot = snapshot;
	reader->blocks = structure->blocks;
	reader->pending = &structure->meta.pending;
	reader->row_words = PendingWords(&structure->geometry);
	reader->rows = rows;
	reader->next = reader->pending->first;
	reader->row = palloc(reader->row_words * sizeof(uint64));
	return reader;
}

static bool
NextPage(PendingReader *reader)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	if (reader->pages == reader->pending->pages)
		ReportCorruption(reader->index, "there are more pending rows than pages for them");
	if (!LockPendingPage(reader->index, reader->next, reader->blocks, reader->pending->stamp + reader->pages, &buffer))
		return false;
	CheckForOldSnapshot(reader->snapshot, reader->index, BufferGetPage(buffer));
	memcpy(reader->words, PageGetContents(BufferGetPage(buffer)), sizeof reader->words);
	reader->block = reader->next;
	reader->next = GetPageTail(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	reader->place = reader->pages++ == 0 ? reader->pending->skip : 0;
	return true;
}

const uint64 *
NextPending(PendingReader *reader)
{
	uint32		have = 0;

	if (reader->rows == 0 || reader->gone)
		return NULL;
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
PendingBlocks(Relation index, const Structure *structure, uint32 pages)
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
		next = GetPageTail(BufferGetPage(buffer))->extra;
		UnlockReleaseBuffer(buffer);
	}
	return blocks;
}

BlockNumber
NextPendingPage(Relation index, BlockNumber block, uint64 stamp)
{
	BlockNumber next;
	Buffer		buffer;

	if (!LockPendingPage(index, block, RelationGetNumberOfBlocks(index), stamp, &buffer))
		ReportCorruption(index, "a page of pending rows is something else");
	next = GetPageTail(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/* ---- appending ---- */

/* Takes pages for words up to `end`; blocks: those from page number `first` on. False when too few are free. */
static bool
TakePendingPages(Pending *pending, Meta *meta, uint32 first, uint64 end, BlockNumber *blocks)
{
	uint32		n = 0;

	if (first < pending->pages)
		blocks[n++] = pending->last;
	while (pending->pages * (uint64) PAGE_WORDS < end)
	{
		BlockNumber block = TakeFreePages(meta, 1);

		if (block == InvalidBlockNumber)
			return false;
		if (pending->pages++ == 0)
			pending->first = block;
		pending->last = blocks[n++] = block;
	}
	return true;
}

/* Writes words first .. first+n-1 of the string that are on page number `page`. */
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
 * The metapage changes in the same WAL record as the last page.  What earlier
 * records wrote nobody counts yet: should this end in between, the pages stay
 * free, and the next row writes over what stands behind the last one.
 */
bool
AppendPending(Relation index, Buffer buffer, Meta *meta, ItemPointer tid, uint64 *row)
{
	Pending    *pending = &meta->pending;
	blx_geometry geometry = GeometryOf(meta);
	uint32		row_words = PendingWords(&geometry),
				old_pages = pending->pages,
				number;
	uint64		first = PendingPlace(pending, row_words, pending->rows);
	GenericXLogState *state;
	Buffer		written[MAX_GENERIC_XLOG_PAGES - 1];
	BlockNumber blocks[MAX_ROW_PAGES + 1];
	Meta	   *changed;
	int			n = 0;

	/* from the last page there is, be it only to say which one is next */
	number = old_pages == 0 ? 0 : old_pages - 1;
	if (!TakePendingPages(pending, meta, number, first + row_words, blocks))
		return false;
	row[0] = 0;
	memcpy(row, tid, sizeof *tid);

	state = GenericXLogStart(index);
	for (uint32 i = 0; number + i < pending->pages; i++)
	{
		Page		page;

		if (n == lengthof(written))
		{
			GenericXLogFinish(state);
			while (n > 0)
				UnlockReleaseBuffer(written[--n]);
			state = GenericXLogStart(index);
		}
		written[n] = ReadBuffer(index, blocks[i]);
		LockBuffer(written[n], BUFFER_LOCK_EXCLUSIVE);
		if (number + i < old_pages && !PageIs(BufferGetPage(written[n]), PENDING_PAGE, pending->stamp + number + i))
			ReportCorruption(index, "a page of pending rows is something else");
		page = GenericXLogRegisterBuffer(state, written[n], number + i < old_pages ? 0 : GENERIC_XLOG_FULL_IMAGE);
		if (number + i >= old_pages)
			InitPage(page, PENDING_PAGE, pending->stamp + number + i);
		if (number + i + 1 < pending->pages)
			GetPageTail(page)->extra = blocks[i + 1];
		WriteWords(page, number + i, first, row_words, row);
		n++;
	}
	pending->rows++;
	changed = (Meta *) PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0));
	*changed = *meta;
	SealMeta(changed);
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

/* Runs at a time: there may be many pages, and everybody waits for the metapage. */
static void
FreeBlocks(Meta *meta, BlockNumber *blocks, uint32 n)
{
	qsort(blocks, n, sizeof *blocks, CompareBlocks);
	for (uint32 first = 0, end; first < n; first = end)
	{
		for (end = first + 1; end < n && blocks[end] == blocks[end - 1] + 1; end++)
			;
		FreePages(meta, blocks[first], end - first);
	}
}

/* Rows that were appended since stay, as does the page that they begin on. */
void
DropPending(Relation index, Meta *meta, uint32 rows, BlockNumber *blocks)
{
	Pending    *pending = &meta->pending;
	blx_geometry geometry = GeometryOf(meta);
	uint64		end = PendingPlace(pending, PendingWords(&geometry), rows);
	bool		all = rows == pending->rows;
	uint32		pages = all ? pending->pages : (uint32) (end / PAGE_WORDS);

	if (!all && pages > 0)
		pending->first = NextPendingPage(index, blocks[pages - 1], pending->stamp + pages - 1);
	FreeBlocks(meta, blocks, pages);
	pending->pages -= pages;
	pending->stamp += pages;
	pending->rows -= rows;
	pending->skip = all ? 0 : (uint32) (end % PAGE_WORDS);
}
