/*
 * pending.c - rows that are in no segment yet.
 *
 * The pending rows are one string of words, cut into pages: rows of
 * PendingWords(), of which the metapage says how many there are.  New ones are
 * written behind the last and then counted; merged ones are cut off in front.
 */
#include "pg/index/bloomx/index.h"

#include "storage/bufmgr.h"

/* Rows end at this word of the string. */
static inline uint64
PendingEnd(const Meta *meta, uint32 row_words)
{
	return meta->pending_skip + (uint64) meta->pending_rows * row_words;
}

uint64 *
ReadPending(Relation index, const Structure *structure, Snapshot snapshot)
{
	const Meta *meta = &structure->meta;
	uint64	   *words = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, meta->pending_pages) * (Size) PAGE_BYTES);

	if (meta->pending_rows > 0 && PendingEnd(meta, PendingWords(&structure->geometry)) > meta->pending_pages * (uint64) PAGE_WORDS)
		ReportCorruption(index, "there are more pending rows than pages for them");
	for (uint32 i = 0; i < meta->pending_pages; i++)
	{
		Buffer		buffer = ReadBuffer(index, meta->pending[i]);
		Page		page = BufferGetPage(buffer);
		bool		ours;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		CheckForOldSnapshot(snapshot, index, page);
		ours = PageIs(page, PENDING_PAGE, meta->pending_stamp + i);
		if (ours)
			memcpy(words + i * PAGE_WORDS, PageGetContents(page), PAGE_WORDS * sizeof(uint64));
		UnlockReleaseBuffer(buffer);
		if (!ours)
			return NULL;
	}
	return words + meta->pending_skip;
}

/* Writes words first .. first+n-1 of the string that are on page number `page`. */
static void
WriteWords(Page page, uint32 number, uint64 first, uint32 n, const uint64 *words)
{
	uint64		page_first = number * (uint64) PAGE_WORDS,
				from = Max(first, page_first),
				to = Min(first + n, page_first + PAGE_WORDS);

	memcpy((uint64 *) PageGetContents(page) + (from - page_first), words + (from - first), (to - from) * sizeof(uint64));
}

/*
 * The metapage changes in the same WAL record as the last page.  What earlier
 * records wrote nobody counts yet.
 */
bool
AppendPending(Relation index, Buffer buffer, const Meta *joined, ItemPointer tid, uint64 *row)
{
	Meta		meta = *joined;
	blx_geometry geometry = GeometryOf(&meta);
	uint32		row_words = PendingWords(&geometry);
	uint64		first = PendingEnd(&meta, row_words);
	uint32		last_page = (uint32) ((first + row_words - 1) / PAGE_WORDS),
				old_pages = meta.pending_pages;
	GenericXLogState *state;
	Buffer		written[MAX_GENERIC_XLOG_PAGES - 1];
	int			pages = 0;

	if (last_page >= MAX_PENDING_PAGES)
		return false;
	row[0] = 0;
	memcpy(row, tid, sizeof *tid);
	while (meta.pending_pages <= last_page)
		meta.pending[meta.pending_pages++] = TakePages(index, &meta, 1);
	meta.pending_rows++;

	state = GenericXLogStart(index);
	for (uint32 number = (uint32) (first / PAGE_WORDS); number <= last_page; number++)
	{
		Page		page;

		if (pages == lengthof(written))
		{
			GenericXLogFinish(state);
			while (pages > 0)
				UnlockReleaseBuffer(written[--pages]);
			state = GenericXLogStart(index);
		}
		written[pages] = ReadBuffer(index, meta.pending[number]);
		LockBuffer(written[pages], BUFFER_LOCK_EXCLUSIVE);
		page = GenericXLogRegisterBuffer(state, written[pages], number < old_pages ? 0 : GENERIC_XLOG_FULL_IMAGE);
		if (number >= old_pages)
			InitPage(page, PENDING_PAGE, meta.pending_stamp + number);
		WriteWords(page, number, first, row_words, row);
		pages++;
	}
	*GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0)) = meta;
	GenericXLogFinish(state);
	while (pages > 0)
		UnlockReleaseBuffer(written[--pages]);
	return true;
}

void
DropPending(Meta *meta, uint32 rows)
{
	blx_geometry geometry = GeometryOf(meta);
	uint64		end = meta->pending_skip + (uint64) rows * PendingWords(&geometry);
	uint32		pages = rows == meta->pending_rows ? meta->pending_pages : (uint32) (end / PAGE_WORDS);

	for (uint32 i = 0; i < pages; i++)
		FreePages(meta, meta->pending[i], 1);
	memmove(meta->pending, meta->pending + pages, (meta->pending_pages - pages) * sizeof(BlockNumber));
	meta->pending_pages -= pages;
	meta->pending_stamp += pages;
	meta->pending_rows -= rows;
	meta->pending_skip = meta->pending_rows == 0 ? 0 : (uint32) (end % PAGE_WORDS);
}
