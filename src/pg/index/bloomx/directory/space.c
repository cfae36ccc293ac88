/*
 * space.c - which pages of the index are used, and by what.
 *
 * A page belongs to the metapage, the directory, a segment, the merge under way,
 * the pending rows, or a run of free pages.  A page that none of these names was
 * forgotten: the metapage had no room for another run, or a crash or an error
 * came between the extension of the file and the record that names the pages.
 * VACUUM finds these and makes them free pages.
 */

#include "pg/index/bloomx/directory/snapshot.h"

#include "miscadmin.h"
#include "storage/lmgr.h"

#include "pg/index/bloomx/pending/list.h"

static void
MarkUsed(Relation index, bool *used, BlockNumber blocks, BlockNumber start, uint32 pages)
{
	if (start >= blocks || pages > blocks - start)
		BloomxReportCorruption(index, META_BLOCK, psprintf("It refers to block %u, beyond the end of the index.", start));
	for (uint32 i = 0; i < pages; i++)
	{
		if (used[start + i])
			BloomxReportCorruption(index, start + i, "The page is used twice.");
		used[start + i] = true;
	}
}

bool *
BloomxMapPages(Relation index, const BloomxDirectory *directory)
{
	const BloomxMeta *meta = &directory->meta;
	BlockNumber blocks = directory->blocks;
	bool	   *used = MemoryContextAllocHuge(CurrentMemoryContext, blocks);

	memset(used, 0, blocks);

	/* the metapage, and the pending rows, whose pages only form chains */
	MarkUsed(index, used, blocks, META_BLOCK, 1);
	for (int list = 0; list < PENDING_LISTS; list++)
	{
		BlockNumber *pending = BloomxPendingBlocks(index, directory, list, meta->pending[list].pages);

		for (uint32 i = 0; i < meta->pending[list].pages; i++)
			MarkUsed(index, used, blocks, pending[i], 1);
		pfree(pending);
	}

	/* the directory and its segments */
	for (uint32 i = 0; i < meta->directory_pages; i++)
		MarkUsed(index, used, blocks, meta->directory[i], 1);
	for (uint32 i = 0; i < meta->segments; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (directory->segments[i].rows > 0)
			MarkUsed(index, used, blocks, directory->segments[i].start, BloomxSegmentPages(&directory->segments[i]));
	}

	/* the segment in the making, and the free pages, which the metapage owns */
	if (meta->merge.segment.start != META_BLOCK)
		MarkUsed(index, used, blocks, meta->merge.segment.start, BloomxSegmentPages(&meta->merge.segment));
	for (uint32 i = 0; i < meta->free_runs; i++)
		MarkUsed(index, used, blocks, meta->free[i].start, meta->free[i].pages);
	return used;
}

/*
 * Reads the directory under the extension lock, so that
 * a page which somebody has just added is not taken for one without an owner.  A
 * page without an owner stays so: only a process with the directory lock gives
 * it one.
 */
static BloomxDirectory *
ReadWholeIndex(Relation index)
{
	BloomxDirectory *directory;

	LockRelationForExtension(index, ExclusiveLock);
	directory = BloomxReadDirectory(index, NULL);
	UnlockRelationForExtension(index, ExclusiveLock);
	return directory;
}

/*
 * Makes a run that nothing refers to free pages.  If the run ends the file, at
 * block `last`, that page is written as well: after a crash recovery must find
 * the file as long as the metapage says.
 */
static void
AdoptPages(Relation index, BlockNumber start, uint32 pages, BlockNumber last)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);
	Buffer		buffer = InvalidBuffer;

	if (start + pages - 1 == last)
	{
		buffer = ReadBuffer(index, last);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		BloomxInitPage(GenericXLogRegisterBuffer(change.state, buffer, GENERIC_XLOG_FULL_IMAGE), FREE_PAGE, 0);
	}
	BloomxFreePages(meta, start, pages);
	BloomxFinishMetaChange(&change);
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

uint32
BloomxCollectFreePages(Relation index)
{
	const BloomxDirectory *directory = ReadWholeIndex(index);
	BlockNumber blocks = directory->blocks;
	bool	   *used = BloomxMapPages(index, directory);
	uint32		free = BloomxCountFreePages(&directory->meta);

	/* each pass finds the next run [start, end) of unused pages, empty if `start` is used; block `end` is used */
	for (BlockNumber start = 0, end; start < blocks; start = end + 1)
	{
		for (end = start; end < blocks && !used[end]; end++)
			;
		if (end == start)
			continue;
		CHECK_FOR_INTERRUPTS();
		AdoptPages(index, start, end - start, blocks - 1);
		free += end - start;
	}
	return free;
}
