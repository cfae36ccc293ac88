/*
 * update.c - the directory: the one WAL record that puts new segments in the place
 * of others, and of pending rows.
 */
#include "pg/index/bloomx/directory/snapshot.h"

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

pg_noreturn static void
ReportTooManySegments(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index \"%s\" has too many segments", RelationGetRelationName(index)),
			 errhint("REINDEX it with more maintenance_work_mem, or partition the table.")));
}

/* Locks the directory page of a slot, which may be a new page.  False if there is no free page for it. */
static bool
LockDirectoryPage(Relation index, const BloomxMetaChange *change, uint32 slot, Buffer *buffer, Page *page)
{
	BloomxMeta *meta = change->meta;
	uint32		number = slot / DIRECTORY_SEGMENTS;
	bool		new = number == meta->directory_pages;

	if (new)
	{
		BlockNumber block;

		if (number == MAX_DIRECTORY_PAGES)
			ReportTooManySegments(index);
		block = BloomxTakeFreePages(meta, 1);
		if (block == InvalidBlockNumber)
			return false;
		meta->directory[meta->directory_pages++] = block;
	}
	*buffer = ReadBuffer(index, meta->directory[number]);
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	*page = GenericXLogRegisterBuffer(change->state, *buffer, new ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (new)
	{
		BloomxInitPage(*page, DIRECTORY_PAGE, number);
		memset(PageGetContents(*page), 0, PAGE_BYTES);
	}
	return true;
}

/*
 * The one WAL record that ends a merge.  Without slots the only result comes behind the
 * last segment.  False, with nothing changed, if the directory needs another page and
 * none is free.
 */
static bool
TryUpdate(Relation index, const BloomxUpdate *update, const uint32 *slots, BlockNumber *pending_blocks)
{
	bool		in_directory = update->n > 0 || update->nsources > 0;
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);
	uint32		last = meta->segments;
	Buffer		buffer = InvalidBuffer,
				closed = InvalidBuffer;
	Page		page;

	if (slots == NULL)
		slots = &last;

	/* lock all that may be missing before anything changes */
	if (in_directory && !LockDirectoryPage(index, &change, update->n > 0 ? slots[0] : update->sources[0], &buffer, &page))
	{
		BloomxAbortMetaChange(&change);
		return false;
	}

	/* the directory: the sources go, the new segments come */
	if (in_directory)
	{
		BloomxSegment *segments = (BloomxSegment *) PageGetContents(page);

		for (uint32 i = 0; i < update->nsources; i++)
		{
			BloomxSegment *old = &segments[update->sources[i] % DIRECTORY_SEGMENTS];

			BloomxFreePages(meta, old->start, BloomxSegmentPages(old));
			memset(old, 0, sizeof *old);
		}
		for (uint32 i = 0; i < update->n; i++)
		{
			segments[slots[i] % DIRECTORY_SEGMENTS] = update->results[i];
			meta->segments = Max(meta->segments, slots[i] + 1);
		}
		BloomxSealDirectory(page);
	}

	/* the metapage: the pending rows go, and no merge is under way */
	if (update->pending > 0)
		closed = BloomxDropPending(index, change.state, meta, update->list, update->pending, pending_blocks);
	memset(&meta->merge, 0, sizeof meta->merge);
	meta->changes++;
	BloomxFinishMetaChange(&change);
	if (BufferIsValid(closed))
		UnlockReleaseBuffer(closed);
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	return true;
}

void
BloomxUpdateDirectory(Relation index, const BloomxDirectory *directory, const BloomxUpdate *update)
{
	uint32		found[DIRECTORY_SEGMENTS];
	const uint32 *slots = update->nsources > 0 ? update->sources : found;	/* the result of a merge takes the first one's */
	BlockNumber *pending = NULL;

	if (update->nsources == 0 && update->n > 0 && !BloomxFindSlots(directory, update->n, found))
		ReportTooManySegments(index);
	/* the pages to be freed are read now: under the metapage's lock that would take too long */
	if (update->pending > 0)
		pending = BloomxPendingBlocks(index, directory, update->list,
									  BloomxPendingPages(&directory->meta.pending[update->list], update->pending));
	while (!TryUpdate(index, update, slots, pending))
		BloomxExtendIndex(index, 1);
}

void
BloomxAppendSegment(Relation index, const BloomxSegment *segment)
{
	while (!TryUpdate(index, &(BloomxUpdate) {.results = segment, .n = 1}, NULL, NULL))
		BloomxExtendIndex(index, 1);
}

void
BloomxNoteDead(Relation index, uint32 slot, uint32 dead)
{
	BloomxMetaChange change;
	Buffer		buffer;
	Page		page;

	BloomxStartMetaChange(&change, index);
	(void) LockDirectoryPage(index, &change, slot, &buffer, &page);
	((BloomxSegment *) PageGetContents(page))[slot % DIRECTORY_SEGMENTS].dead = dead;
	BloomxSealDirectory(page);
	BloomxFinishMetaChange(&change);
	UnlockReleaseBuffer(buffer);
}
