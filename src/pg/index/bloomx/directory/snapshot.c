/*
 * snapshot.c - what the index consists of at one moment, and the structure lock.
 */
#include "pg/index/bloomx/directory/snapshot.h"

#include "storage/lmgr.h"

#include "pg/index/bloomx/pending/list.h"

static void
ReadDirectory(Relation index, BloomxStructure *structure)
{
	BloomxMeta *meta = &structure->meta;

	/* under the metapage's lock: the directory cannot change between two of its pages */
	structure->segments = palloc(Max(1, meta->segments) * sizeof(BloomxSegment));
	for (uint32 i = 0; i < meta->directory_pages; i++)
	{
		Buffer		buffer = ReadBuffer(index, meta->directory[i]);
		Page		page = BufferGetPage(buffer);
		uint32		first = Min(i * DIRECTORY_SEGMENTS, meta->segments);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (!BloomxPageIs(page, DIRECTORY_PAGE, i))
			BloomxReportCorruption(index, "a page of the directory is something else");
		if (!BloomxDirectoryIsSound(page))
			BloomxReportCorruption(index, "a page of the directory has a wrong checksum");
		memcpy(structure->segments + first, PageGetContents(page), Min(DIRECTORY_SEGMENTS, meta->segments - first) * sizeof(BloomxSegment));
		UnlockReleaseBuffer(buffer);
	}
	for (uint32 i = 0; i < meta->segments; i++)
		if (!BloomxSegmentIsValid(meta, &structure->segments[i], structure->blocks))
			BloomxReportCorruption(index, "the directory names a segment that cannot be");
}

BloomxStructure *
BloomxReadStructure(Relation index, Snapshot snapshot)
{
	BloomxStructure *structure = palloc(sizeof(BloomxStructure));
	BloomxMeta *meta = &structure->meta;
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	CheckForOldSnapshot(snapshot, index, BufferGetPage(buffer));
	structure->blocks = RelationGetNumberOfBlocks(index);
	memcpy(meta, BloomxGetMetaOfFile(index, BufferGetPage(buffer), structure->blocks), sizeof(BloomxMeta));
	structure->pending_words = 0;
	for (int i = 0; i < PENDING_LISTS; i++)
	{
		structure->list_words[i] = BloomxCountPending(index, meta, i);
		structure->pending_words += structure->list_words[i];
	}
	if (meta->merge.pending > structure->list_words[meta->merge.list])
		BloomxReportCorruption(index, "a merge takes more pending rows than there are");
	ReadDirectory(index, structure);
	UnlockReleaseBuffer(buffer);
	structure->geometry = BloomxGeometryOf(&meta->keys);
	structure->identity = BloomxIdentityOf(&meta->keys);
	return structure;
}

int64
BloomxCountAnything(const BloomxStructure *structure)
{
	int64		entries = 0;

	for (uint32 i = 0; i < structure->meta.segments; i++)
		if (structure->segments[i].slices == 0)
			entries += structure->segments[i].rows - structure->segments[i].dead;
	return entries;
}

void
BloomxLockStructure(Relation index)
{
	LockPage(index, META_BLOCK, ExclusiveLock);
}

bool
BloomxTryLockStructure(Relation index)
{
	return ConditionalLockPage(index, META_BLOCK, ExclusiveLock);
}

void
BloomxUnlockStructure(Relation index)
{
	UnlockPage(index, META_BLOCK, ExclusiveLock);
}
