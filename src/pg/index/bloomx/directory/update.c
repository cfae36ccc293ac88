/*
 * update.c - the directory: the one WAL record that puts new segments in the place
 * of others, and of pending rows.
 */
#include "pg/index/bloomx/directory/snapshot.h"

#include "utils/rel.h"

#include "pg/index/bloomx/pending/list.h"

/* The first page of the directory that has n free entries, or the page after the last one. */
static uint32
PageWithRoom(Relation index, const BloomxMeta *meta, uint32 n)
{
	for (uint32 number = 0; number < meta->directory_pages; number++)
	{
		Buffer		buffer = BloomxReadPage(index, meta->directory[number], DIRECTORY_PAGE, number, BUFFER_LOCK_SHARE, false);
		const BloomxSegment *segments = (BloomxSegment *) PageGetContents(BufferGetPage(buffer));
		uint32		found = 0;

		for (uint32 i = 0; i < DIRECTORY_SEGMENTS; i++)
			found += segments[i].rows == 0;
		UnlockReleaseBuffer(buffer);
		if (found >= n)
			return number;
	}
	return meta->directory_pages;
}

bool
BloomxHasRoom(Relation index, const BloomxDirectory *directory, uint32 n)
{
	return PageWithRoom(index, &directory->meta, n) < MAX_DIRECTORY_PAGES;
}

pg_noreturn static void
ReportTooManySegments(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index \"%s\" has too many segments", RelationGetRelationName(index)),
			 errhint("REINDEX it with more maintenance_work_mem, or partition the table.")));
}

/* Locks a page of the directory, which may be a new one.  False if there is no free page for it. */
static bool
LockDirectoryPage(Relation index, const BloomxMetaChange *change, uint32 number, Buffer *buffer, Page *page)
{
	BloomxMeta *meta = change->meta;
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

/* The one WAL record that ends a merge.  False, with nothing changed, if the directory needs another page and none is free. */
static bool
TryUpdate(Relation index, const BloomxUpdate *update, BlockNumber *pending_blocks)
{
	bool		in_directory = update->n > 0 || update->nsources > 0;
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);
	uint32		number = update->nsources > 0 ? update->sources[0] / DIRECTORY_SEGMENTS : PageWithRoom(index, meta, update->n);
	Buffer		buffer = InvalidBuffer,
				closed = InvalidBuffer;
	Page		page;

	/* lock all that may be missing before anything changes */
	if (in_directory && !LockDirectoryPage(index, &change, number, &buffer, &page))
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
		for (uint32 i = 0, slot = 0; i < update->n; slot++)
		{
			if (segments[slot].rows > 0)
				continue;
			segments[slot] = update->results[i++];
			meta->segments = Max(meta->segments, number * DIRECTORY_SEGMENTS + slot + 1);
		}
		BloomxSealDirectory(page);
	}

	/* the metapage: the pending rows go, and no merge of the sources is under way */
	if (update->pending > 0)
		closed = BloomxDropPending(index, change.state, meta, update->list, update->pending, pending_blocks);
	if (update->nsources > 0)
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
	BlockNumber *pending = NULL;

	/* the pages to be freed are read now: under the metapage's lock that would take too long */
	if (update->pending > 0)
		pending = BloomxPendingBlocks(index, directory, update->list,
									  BloomxPendingPages(&directory->meta.pending[update->list], update->pending));
	while (!TryUpdate(index, update, pending))
		BloomxExtendIndex(index, 1);
}

void
BloomxNoteDead(Relation index, uint32 slot, uint32 dead)
{
	BloomxMetaChange change;
	Buffer		buffer;
	Page		page;

	BloomxStartMetaChange(&change, index);
	(void) LockDirectoryPage(index, &change, slot / DIRECTORY_SEGMENTS, &buffer, &page);
	((BloomxSegment *) PageGetContents(page))[slot % DIRECTORY_SEGMENTS].dead = dead;
	BloomxSealDirectory(page);
	BloomxFinishMetaChange(&change);
	UnlockReleaseBuffer(buffer);
}
