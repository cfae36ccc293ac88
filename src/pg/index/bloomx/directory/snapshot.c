/*
 * snapshot.c - what the index consists of at one moment, and the directory lock.
 */
#include "pg/index/bloomx/directory/snapshot.h"

#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/pending/list.h"

static void
ReadSegments(Relation index, BloomxDirectory *directory)
{
	BloomxMeta *meta = &directory->meta;

	/* under the metapage's lock: the directory cannot change between two of its pages */
	directory->segments = palloc(Max(1, meta->segments) * sizeof(BloomxSegment));
	for (uint32 i = 0; i < meta->directory_pages; i++)
	{
		Buffer		buffer = BloomxReadPage(index, meta->directory[i], DIRECTORY_PAGE, i, BUFFER_LOCK_SHARE, false);
		Page		page = BufferGetPage(buffer);
		uint32		first = Min(i * DIRECTORY_SEGMENTS, meta->segments);

		if (!BloomxDirectoryIsSound(page))
			BloomxReportCorruption(index, meta->directory[i], "The page of the directory has a wrong checksum.");
		memcpy(directory->segments + first, PageGetContents(page), Min(DIRECTORY_SEGMENTS, meta->segments - first) * sizeof(BloomxSegment));
		UnlockReleaseBuffer(buffer);
	}
}

BloomxDirectory *
BloomxReadDirectory(Relation index, Snapshot snapshot)
{
	BloomxDirectory *directory = palloc(sizeof(BloomxDirectory));
	BloomxMeta *meta = &directory->meta;
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	CheckForOldSnapshot(snapshot, index, BufferGetPage(buffer));
	directory->blocks = RelationGetNumberOfBlocks(index);
	memcpy(meta, BloomxGetMeta(index, BufferGetPage(buffer)), sizeof(BloomxMeta));
	directory->pending_words = 0;
	for (int i = 0; i < PENDING_LISTS; i++)
	{
		directory->list_words[i] = BloomxCountPending(index, meta, i);
		directory->pending_words += directory->list_words[i];
	}
	ReadSegments(index, directory);
	UnlockReleaseBuffer(buffer);
	directory->geometry = BloomxGeometryOf(&meta->keys);
	directory->identity = BloomxIdentityOf(&meta->keys);
	return directory;
}

int64
BloomxCountAnything(const BloomxDirectory *directory)
{
	int64		entries = 0;

	for (uint32 i = 0; i < directory->meta.segments; i++)
		if (directory->segments[i].slices == 0)
			entries += directory->segments[i].rows - directory->segments[i].dead;
	return entries;
}

void
BloomxLockDirectory(Relation index)
{
	LockPage(index, META_BLOCK, ExclusiveLock);
}

bool
BloomxTryLockDirectory(Relation index)
{
	return ConditionalLockPage(index, META_BLOCK, ExclusiveLock);
}

void
BloomxUnlockDirectory(Relation index)
{
	UnlockPage(index, META_BLOCK, ExclusiveLock);
}

bool
BloomxRunStep(Relation index, bool (*step) (Relation index, void *arg), void *arg)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx step", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	bool		result;

	BloomxLockDirectory(index);
	result = step(index, arg);
	BloomxUnlockDirectory(index);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return result;
}
