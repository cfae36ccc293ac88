/*
 * pages.c - pages, the metapage, the directory of segments, free pages.
 *
 * Free pages are runs in the metapage.  What does not fit there is forgotten
 * until VACUUM collects anew the pages that nothing refers to, which also
 * finds what a crash or an error left behind.
 */
#include "pg/index/bloomx/index.h"

#include "storage/lmgr.h"
#include "utils/rel.h"

StaticAssertDecl(sizeof(Meta) <= PAGE_BYTES, "the metapage must fit");

void
InitPage(Page page, PageKind kind, uint64 stamp)
{
	PageTail   *tail;

	PageInit(page, BLCKSZ, sizeof(PageTail));
	tail = GetPageTail(page);
	tail->stamp = stamp;
	tail->kind = kind;
	tail->page_id = AM_PAGE_ID;
	((PageHeader) page)->pd_lower = ((PageHeader) page)->pd_upper;	/* all of it is data */
}

bool
PageIs(Page page, PageKind kind, uint64 stamp)
{
	return !PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(PageTail)) &&
		GetPageTail(page)->kind == kind && GetPageTail(page)->stamp == stamp;
}

void
ReportCorruption(Relation index, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged: %s", RelationGetRelationName(index), what),
			 errhint("Please REINDEX it.")));
}

/* ---- the metapage ---- */

Meta *
GetMeta(Relation index, Page page)
{
	Meta	   *meta = (Meta *) PageGetContents(page);

	if (!PageIs(page, META_PAGE, 0) || meta->magic != AM_MAGIC || meta->version != AM_VERSION)
		ReportCorruption(index, "its first page is not that of a bloomx index");
	return meta;
}

void
InitMetaPage(Relation index, Page page)
{
	IndexOptions options = GetIndexOptions(index);
	Meta	   *meta = (Meta *) PageGetContents(page);

	InitPage(page, META_PAGE, 0);
	memset(meta, 0, sizeof *meta);
	meta->magic = AM_MAGIC;
	meta->version = AM_VERSION;
	meta->next_stamp = 1;
	if (options.bits > 0)
	{
		GeometrySample none = {0};
		blx_geometry geometry = ChooseGeometry(&options, &none);

		SetGeometry(meta, &geometry);
	}
}

blx_geometry
GeometryOf(const Meta *meta)
{
	return (blx_geometry) {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << meta->log2_blocks,
		.parts = meta->parts, .probes = 1, .part_bits = 64};
}

void
SetGeometry(Meta *meta, const blx_geometry *geometry)
{
	meta->log2_blocks = (uint8) pg_leftmost_one_pos32(geometry->blocks);
	meta->parts = (uint8) geometry->parts;
}

static blx_identity
IdentityOf(const Meta *meta)
{
	return (blx_identity) {.key_type = meta->key_type, .name_len = meta->name_len, .name = meta->name};
}

bool
JoinKeyType(Meta *meta, const blx_filter *f)
{
	blx_identity ours = IdentityOf(meta),
				theirs = blx_identity_of(f);
	blx_error	error;

	if (!blx_identity_check(&ours, "", &theirs, "", &error))
		return false;
	if (meta->key_type == BLX_KEY_NONE)
	{
		meta->key_type = theirs.key_type;
		meta->name_len = theirs.name_len;
		memcpy(meta->name, theirs.name, theirs.name_len);
	}
	return true;
}

/* ---- what the index consists of ---- */

static void
ReadDirectory(Relation index, Structure *structure)
{
	Meta	   *meta = &structure->meta;

	structure->segments = palloc(Max(1, meta->directory_pages) * DIRECTORY_SEGMENTS * sizeof(Segment));
	for (uint32 i = 0; i < meta->directory_pages; i++)
	{
		Buffer		buffer = ReadBuffer(index, meta->directory[i]);
		Page		page = BufferGetPage(buffer);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		if (!PageIs(page, DIRECTORY_PAGE, i))
			ReportCorruption(index, "a page of the directory is something else");
		memcpy(structure->segments + i * DIRECTORY_SEGMENTS, PageGetContents(page), DIRECTORY_SEGMENTS * sizeof(Segment));
		UnlockReleaseBuffer(buffer);
	}
}

Structure *
ReadStructure(Relation index, Snapshot snapshot)
{
	Structure  *structure = palloc(sizeof(Structure));
	Meta	   *meta = &structure->meta;
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	CheckForOldSnapshot(snapshot, index, BufferGetPage(buffer));
	memcpy(meta, GetMeta(index, BufferGetPage(buffer)), sizeof(Meta));
	if (meta->parts > BLX_MAX_K || meta->log2_blocks > 20 ||
		meta->pending_pages > MAX_PENDING_PAGES || meta->directory_pages > MAX_DIRECTORY_PAGES ||
		meta->segments > meta->directory_pages * DIRECTORY_SEGMENTS || meta->free_runs > MAX_FREE_RUNS ||
		meta->name_len > BLX_MAX_NAME)
		ReportCorruption(index, "its first page contradicts itself");
	ReadDirectory(index, structure);
	UnlockReleaseBuffer(buffer);
	structure->geometry = GeometryOf(meta);
	structure->identity = IdentityOf(meta);
	return structure;
}

void
LockStructure(Relation index)
{
	LockPage(index, META_BLOCK, ExclusiveLock);
}

bool
TryLockStructure(Relation index)
{
	return ConditionalLockPage(index, META_BLOCK, ExclusiveLock);
}

void
UnlockStructure(Relation index)
{
	UnlockPage(index, META_BLOCK, ExclusiveLock);
}

/* ---- free pages ---- */

BlockNumber
ExtendIndex(Relation index, uint32 pages)
{
	BlockNumber first = InvalidBlockNumber;

	if (!RELATION_IS_LOCAL(index))
		LockRelationForExtension(index, ExclusiveLock);
	for (uint32 i = 0; i < pages; i++)
	{
		Buffer		buffer = ReadBuffer(index, P_NEW);

		if (i == 0)
			first = BufferGetBlockNumber(buffer);
		ReleaseBuffer(buffer);
	}
	if (!RELATION_IS_LOCAL(index))
		UnlockRelationForExtension(index, ExclusiveLock);
	return first;
}

/* From the smallest run that is long enough. */
BlockNumber
TakeFreePages(Meta *meta, uint32 pages)
{
	Run		   *best = NULL;
	BlockNumber start;

	for (uint32 i = 0; i < meta->free_runs; i++)
		if (meta->free[i].pages >= pages && (best == NULL || meta->free[i].pages < best->pages))
			best = &meta->free[i];
	if (best == NULL)
		return InvalidBlockNumber;
	start = best->start;
	best->start += pages;
	best->pages -= pages;
	if (best->pages == 0)
		*best = meta->free[--meta->free_runs];
	return start;
}

BlockNumber
TakePages(Relation index, Meta *meta, uint32 pages)
{
	BlockNumber start = TakeFreePages(meta, pages);

	return start != InvalidBlockNumber ? start : ExtendIndex(index, pages);
}

/* Joins what is adjacent; without room for another run the smallest is forgotten. */
void
FreePages(Meta *meta, BlockNumber start, uint32 pages)
{
	uint32		smallest = 0;

	for (uint32 i = 0; i < meta->free_runs;)
	{
		Run		   *run = &meta->free[i];

		if (run->start + run->pages != start && start + pages != run->start)
		{
			i++;
			continue;
		}
		start = Min(start, run->start);
		pages += run->pages;
		*run = meta->free[--meta->free_runs];
		i = 0;
	}
	if (meta->free_runs < MAX_FREE_RUNS)
	{
		meta->free[meta->free_runs++] = (Run) {start, pages};
		return;
	}
	for (uint32 i = 1; i < MAX_FREE_RUNS; i++)
		if (meta->free[i].pages < meta->free[smallest].pages)
			smallest = i;
	if (meta->free[smallest].pages < pages)
		meta->free[smallest] = (Run) {start, pages};
}

static void
MarkUsed(Relation index, bool *used, BlockNumber blocks, BlockNumber start, uint32 pages)
{
	if (start >= blocks || pages > blocks - start)
		ReportCorruption(index, "it refers to pages beyond its end");
	for (uint32 i = 0; i < pages; i++)
	{
		if (used[start + i])
			ReportCorruption(index, "it uses a page twice");
		used[start + i] = true;
	}
}

/*
 * An insert that extends the index holds the metapage's lock until it refers to
 * the new page; whoever else takes pages holds the structure lock.
 */
uint32
CollectFreePages(Relation index)
{
	Structure  *structure = ReadStructure(index, NULL);
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state = GenericXLogStart(index);
	BlockNumber blocks;
	uint32		total = 0;
	bool	   *used;
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	blocks = RelationGetNumberOfBlocks(index);
	used = MemoryContextAllocHuge(CurrentMemoryContext, blocks);
	memset(used, 0, blocks);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	MarkUsed(index, used, blocks, META_BLOCK, 1);
	for (uint32 i = 0; i < meta->pending_pages; i++)
		MarkUsed(index, used, blocks, meta->pending[i], 1);
	for (uint32 i = 0; i < meta->directory_pages; i++)
		MarkUsed(index, used, blocks, meta->directory[i], 1);
	for (uint32 i = 0; i < meta->segments; i++)
		if (structure->segments[i].rows > 0)
			MarkUsed(index, used, blocks, structure->segments[i].start,
					 SegmentPages(&structure->geometry, structure->segments[i].rows));
	meta->free_runs = 0;
	for (BlockNumber start = 0, end; start < blocks; start = end + 1)
	{
		for (end = start; end < blocks && !used[end]; end++)
			;
		if (end > start)
			FreePages(meta, start, end - start);
		total += end - start;
	}
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	return total;
}
