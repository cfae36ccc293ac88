/*
 * update.c - the directory: the one WAL record that puts new segments in the place
 * of others, and of pending rows.
 */
#include "pg/index/bloomx/directory/update.h"

#include "utils/rel.h"

#include "pg/index/bloomx/pending/list.h"

bool
BloomxFindSlots(const BloomxDirectory *directory, uint32 n, uint32 *slots)
{
	for (uint32 page = 0; page <= directory->meta.directory_pages && page < MAX_DIRECTORY_PAGES; page++)
	{
		uint32		found = 0;

		for (uint32 slot = page * DIRECTORY_SEGMENTS; slot < (page + 1) * DIRECTORY_SEGMENTS && found < n; slot++)
			if (slot >= directory->meta.segments || directory->segments[slot].rows == 0)
				slots[found++] = slot;
		if (found == n)
			return true;
	}
	return false;
}

/* Locks the directory page of a slot, which may be a new page.  False if there is no free page for it. */
static bool
LockDirectoryPage(Relation index, GenericXLogState *state, BloomxMeta *meta, uint32 slot, Buffer *buffer, Page *page)
{
	uint32		number = slot / DIRECTORY_SEGMENTS;
	bool		new = number == meta->directory_pages;

	if (new)
	{
		BlockNumber block = BloomxTakeFreePages(meta, 1);

		if (block == InvalidBlockNumber)
			return false;
		meta->directory[meta->directory_pages++] = block;
	}
	*buffer = ReadBuffer(index, meta->directory[number]);
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	*page = GenericXLogRegisterBuffer(state, *buffer, new ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (new)
	{
		BloomxInitPage(*page, DIRECTORY_PAGE, number);
		memset(PageGetContents(*page), 0, PAGE_BYTES);
	}
	return true;
}

pg_noreturn static void
ReportTooManySegments(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index \"%s\" has too many segments", RelationGetRelationName(index)),
			 errhint("REINDEX it with more maintenance_work_mem, or partition the table.")));
}

/*
 * The one WAL record that ends a merge.  False, with nothing changed, if the
 * directory needs another page and none is free.
 */
static bool
TryUpdate(Relation index, const BloomxMerge *merge, const BloomxSegment *results, const uint32 *slots, uint32 n, BlockNumber *pending_blocks)
{
	bool		in_directory = n > 0 || merge->sources > 0;
	Buffer		buffer = ReadBuffer(index, META_BLOCK),
				directory = InvalidBuffer,
				closed = InvalidBuffer;
	GenericXLogState *state;
	Page		page;
	BloomxMeta *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = BloomxGetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));

	/* lock all that may be missing before anything changes */
	if (in_directory && !LockDirectoryPage(index, state, meta, n > 0 ? slots[0] : merge->source[0], &directory, &page))
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return false;
	}

	/* the directory: the sources go, the new segments come */
	if (in_directory)
	{
		BloomxSegment *segments = (BloomxSegment *) PageGetContents(page);

		for (uint32 i = 0; i < merge->sources; i++)
		{
			BloomxSegment *old = &segments[merge->source[i] % DIRECTORY_SEGMENTS];

			BloomxFreePages(meta, old->start, BloomxSegmentPages(old));
			memset(old, 0, sizeof *old);
		}
		for (uint32 i = 0; i < n; i++)
		{
			segments[slots[i] % DIRECTORY_SEGMENTS] = results[i];
			meta->segments = Max(meta->segments, slots[i] + 1);
		}
		BloomxSealDirectory(page);
	}

	/* the metapage: the pending rows go, and no merge is under way */
	if (merge->pending > 0)
		closed = BloomxDropPending(index, state, meta, merge->list, merge->pending, pending_blocks);
	memset(&meta->merge, 0, sizeof meta->merge);
	meta->changes++;
	BloomxSealMeta(meta);
	GenericXLogFinish(state);
	if (BufferIsValid(closed))
		UnlockReleaseBuffer(closed);
	if (BufferIsValid(directory))
		UnlockReleaseBuffer(directory);
	UnlockReleaseBuffer(buffer);
	return true;
}

void
BloomxUpdateDirectory(Relation index, const BloomxDirectory *directory, const BloomxMerge *merge, const BloomxSegment *results, uint32 n)
{
	uint32		slots[DIRECTORY_SEGMENTS] = {merge->source[0]};
	BlockNumber *pending = NULL;

	if (merge->sources == 0 && n > 0 && !BloomxFindSlots(directory, n, slots))
		ReportTooManySegments(index);
	/* the pages to be freed are read now: under the metapage's lock that would take too long */
	if (merge->pending > 0)
	{
		pending = BloomxPendingBlocks(index, directory, merge->list, BloomxPendingPages(&directory->meta.pending[merge->list], merge->pending));
		if (pending == NULL)
			BloomxReportCorruption(index, "a page of pending rows is something else");
	}
	while (!TryUpdate(index, merge, results, slots, n, pending))
		BloomxExtendIndex(index, 1);
}

/* False, with nothing changed, if the directory needs another page and none is free. */
static bool
TryAppend(Relation index, const BloomxSegment *segment)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK),
				directory;
	GenericXLogState *state;
	Page		page;
	BloomxMeta *meta;
	bool		done;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = BloomxGetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	if (meta->segments == MAX_DIRECTORY_PAGES * DIRECTORY_SEGMENTS)
		ReportTooManySegments(index);
	done = LockDirectoryPage(index, state, meta, meta->segments, &directory, &page);
	if (done)
	{
		((BloomxSegment *) PageGetContents(page))[meta->segments++ % DIRECTORY_SEGMENTS] = *segment;
		BloomxSealDirectory(page);
		meta->changes++;
		BloomxSealMeta(meta);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(directory);
	}
	else
		GenericXLogAbort(state);
	UnlockReleaseBuffer(buffer);
	return done;
}

void
BloomxAppendSegment(Relation index, const BloomxSegment *segment)
{
	while (!TryAppend(index, segment))
		BloomxExtendIndex(index, 1);
}
