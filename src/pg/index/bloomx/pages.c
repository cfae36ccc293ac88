/*
 * pages.c - pages, the metapage, the directory of segments, free pages.
 *
 * Free pages are runs in the metapage.  What does not fit there is forgotten
 * until VACUUM collects the pages that nothing refers to, which also finds what
 * a crash left behind.
 *
 * A lookup that trusts a damaged directory overlooks rows.  So the metapage and
 * the directory carry checksums, although a server may run without those of
 * pages, and the fields are checked as if there were none: an error is better
 * than a wild read.
 */
#include "pg/index/bloomx/index.h"

#include "miscadmin.h"
#include "port/pg_crc32c.h"
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
	PageHeader	header = (PageHeader) page;

	/* what lies between pd_lower and pd_upper does not survive a WAL record */
	return !PageIsNew(page) && PageGetPageSize(page) == BLCKSZ && PageGetPageLayoutVersion(page) == PG_PAGE_LAYOUT_VERSION &&
		header->pd_special == BLCKSZ - MAXALIGN(sizeof(PageTail)) &&
		header->pd_lower == header->pd_special && header->pd_upper == header->pd_special &&
		GetPageTail(page)->page_id == AM_PAGE_ID && GetPageTail(page)->kind == kind && GetPageTail(page)->stamp == stamp;
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

static uint32
Checksum(pg_crc32c so_far, const void *from, Size bytes)
{
	COMP_CRC32C(so_far, from, bytes);
	return so_far;
}

/* Of what is in use: an index of few segments need not be summed up for long. */
static uint32
MetaChecksum(const Meta *meta)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	sum = Checksum(sum, &meta->pass, offsetof(Meta, directory) - offsetof(Meta, pass));
	sum = Checksum(sum, meta->directory, meta->directory_pages * sizeof(BlockNumber));
	sum = Checksum(sum, meta->free, meta->free_runs * sizeof(Run));
	FIN_CRC32C(sum);
	return sum;
}

static uint32
PendingChecksum(const Pending *pending)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	sum = Checksum(sum, pending, offsetof(Pending, checksum));
	FIN_CRC32C(sum);
	return sum;
}

static uint32
DirectoryChecksum(Page page)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	sum = Checksum(sum, PageGetContents(page), DIRECTORY_SEGMENTS * sizeof(Segment));
	FIN_CRC32C(sum);
	return sum;
}

void
SealPending(Meta *meta)
{
	meta->pending.checksum = PendingChecksum(&meta->pending);
}

void
SealMeta(Meta *meta)
{
	meta->checksum = MetaChecksum(meta);
	SealPending(meta);
}

void
SealDirectory(Page page)
{
	GetPageTail(page)->extra = DirectoryChecksum(page);
}

static bool
RunIsValid(BlockNumber start, uint32 pages, BlockNumber blocks)
{
	return start > META_BLOCK && start < blocks && pages <= blocks - start;
}

static bool
PendingIsValid(const Meta *meta, BlockNumber blocks)
{
	const Pending *pending = &meta->pending;
	blx_geometry geometry = GeometryOf(meta);

	if (pending->rows == 0)
		return pending->pages == 0 && pending->skip == 0;
	return pending->pages < blocks && pending->skip < PAGE_WORDS &&
		RunIsValid(pending->first, 1, blocks) && RunIsValid(pending->last, 1, blocks) &&
		pending->pages == (PendingPlace(pending, PendingWords(&geometry), pending->rows) + PAGE_WORDS - 1) / PAGE_WORDS;
}

static bool
SegmentIsValid(const Meta *meta, const Segment *segment, BlockNumber blocks)
{
	blx_geometry geometry = GeometryOf(meta);

	return segment->rows == 0 ||
		(segment->rows <= MAX_SEGMENT_ROWS && segment->dead <= segment->rows && segment->stamp < meta->next_stamp &&
		 RunIsValid(segment->start, SegmentPages(&geometry, segment->rows), blocks));
}

static bool
MergeIsValid(const Meta *meta, BlockNumber blocks)
{
	const Merge *merge = &meta->merge;
	blx_geometry geometry = GeometryOf(meta);

	if (merge->segment.rows == 0)
		return true;
	if (!SegmentIsValid(meta, &merge->segment, blocks) || merge->written > SegmentPages(&geometry, merge->segment.rows) ||
		merge->pending > meta->pending.rows || merge->sources > MAX_MERGED)
		return false;
	for (uint32 i = 0; i < merge->sources; i++)
		if (merge->source[i] >= meta->segments || merge->source[i] / DIRECTORY_SEGMENTS != merge->source[0] / DIRECTORY_SEGMENTS)
			return false;
	return true;
}

/* Numbers of things that fit, and a geometry that there can be. */
static bool
NumbersAreValid(const Meta *meta)
{
	if (meta->directory_pages > MAX_DIRECTORY_PAGES || meta->segments > meta->directory_pages * DIRECTORY_SEGMENTS ||
		meta->free_runs > MAX_FREE_RUNS)
		return false;
	if (meta->parts > BLX_MAX_K || meta->log2_blocks > 20 || (64 * (uint64) meta->parts) << meta->log2_blocks > MAX_SIGNATURE_BITS)
		return false;
	if (meta->parts == 0 && (meta->pending.rows > 0 || meta->segments > 0 || meta->merge.segment.rows > 0))
		return false;
	return meta->name_len <= BLX_MAX_NAME && meta->name[meta->name_len] == '\0' &&
		(meta->key_type == BLX_KEY_NONE || blx_key_type_known(meta->key_type));
}

static bool
MetaIsValid(const Meta *meta, BlockNumber blocks)
{
	if (!NumbersAreValid(meta) || meta->checksum != MetaChecksum(meta) || meta->pending.checksum != PendingChecksum(&meta->pending))
		return false;
	for (uint32 i = 0; i < meta->directory_pages; i++)
		if (!RunIsValid(meta->directory[i], 1, blocks))
			return false;
	for (uint32 i = 0; i < meta->free_runs; i++)
		if (meta->free[i].pages == 0 || !RunIsValid(meta->free[i].start, meta->free[i].pages, blocks))
			return false;
	return PendingIsValid(meta, blocks) && MergeIsValid(meta, blocks);
}

static Meta *
GetCheckedMeta(Relation index, Page page, BlockNumber blocks)
{
	Meta	   *meta = (Meta *) PageGetContents(page);

	if (!PageIs(page, META_PAGE, 0) || meta->magic != AM_MAGIC || meta->version != AM_VERSION)
		ReportCorruption(index, "its first page is not that of a bloomx index");
	if (!MetaIsValid(meta, blocks))
		ReportCorruption(index, "its first page contradicts itself");
	return meta;
}

/* Blocks beyond the end of the file are an error of the server's when they are read. */
Meta *
GetMeta(Relation index, Page page)
{
	return GetCheckedMeta(index, page, MaxBlockNumber);
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
	SealMeta(meta);
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
		if (GetPageTail(page)->extra != DirectoryChecksum(page))
			ReportCorruption(index, "a page of the directory has a wrong checksum");
		memcpy(structure->segments + i * DIRECTORY_SEGMENTS, PageGetContents(page), DIRECTORY_SEGMENTS * sizeof(Segment));
		UnlockReleaseBuffer(buffer);
	}
	for (uint32 i = 0; i < meta->segments; i++)
		if (!SegmentIsValid(meta, &structure->segments[i], structure->blocks))
			ReportCorruption(index, "the directory names a segment that cannot be");
}

Structure *
ReadStructure(Relation index, Snapshot snapshot)
{
	Structure  *structure = palloc(sizeof(Structure));
	Meta	   *meta = &structure->meta;
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	CheckForOldSnapshot(snapshot, index, BufferGetPage(buffer));
	structure->blocks = RelationGetNumberOfBlocks(index);
	memcpy(meta, GetCheckedMeta(index, BufferGetPage(buffer), structure->blocks), sizeof(Meta));
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

/* Joins what is adjacent; without room for another run the smallest is forgotten, or of the others when `keep`. */
static void
AddFreeRun(Meta *meta, BlockNumber start, uint32 pages, bool keep)
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
	if (meta->free[smallest].pages < pages || keep)
		meta->free[smallest] = (Run) {start, pages};
}

void
FreePages(Meta *meta, BlockNumber start, uint32 pages)
{
	AddFreeRun(meta, start, pages, false);
}

/*
 * One WAL record makes the new pages free pages and writes the last of them,
 * so that they are there after a crash and on a standby as well.  No interrupt
 * comes in between, so no page is left without an owner.
 */
void
ExtendIndex(Relation index, uint32 pages)
{
	Buffer		meta_buffer = ReadBuffer(index, META_BLOCK),
				buffer = InvalidBuffer;
	BlockNumber first = InvalidBlockNumber;
	GenericXLogState *state;
	Meta	   *meta;

	CHECK_FOR_INTERRUPTS();
	pages = Min(pages, EXTENSION_PAGES);
	LockRelationForExtension(index, ExclusiveLock);
	HOLD_INTERRUPTS();
	for (uint32 i = 0; i < pages; i++)
	{
		if (BufferIsValid(buffer))
			ReleaseBuffer(buffer);
		buffer = ReadBuffer(index, P_NEW);
		if (i == 0)
			first = BufferGetBlockNumber(buffer);
	}
	LockBuffer(meta_buffer, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, meta_buffer, 0));
	InitPage(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE), FREE_PAGE, 0);
	AddFreeRun(meta, first, pages, true);	/* somebody waits for them */
	SealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta_buffer);
	RESUME_INTERRUPTS();
	UnlockRelationForExtension(index, ExclusiveLock);
}

/* ---- which pages are used ---- */

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

bool *
MapPages(Relation index, const Structure *structure, BlockNumber blocks)
{
	const Meta *meta = &structure->meta;
	bool	   *used = MemoryContextAllocHuge(CurrentMemoryContext, blocks);
	BlockNumber *pending;

	memset(used, 0, blocks);
	MarkUsed(index, used, blocks, META_BLOCK, 1);
	pending = PendingBlocks(index, structure, meta->pending.pages);
	if (pending == NULL)
		ReportCorruption(index, "a page of pending rows is something else");
	for (uint32 i = 0; i < meta->pending.pages; i++)
		MarkUsed(index, used, blocks, pending[i], 1);
	pfree(pending);
	for (uint32 i = 0; i < meta->directory_pages; i++)
		MarkUsed(index, used, blocks, meta->directory[i], 1);
	for (uint32 i = 0; i < meta->segments; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (structure->segments[i].rows > 0)
			MarkUsed(index, used, blocks, structure->segments[i].start,
					 SegmentPages(&structure->geometry, structure->segments[i].rows));
	}
	if (meta->merge.segment.rows > 0)
		MarkUsed(index, used, blocks, meta->merge.segment.start, SegmentPages(&structure->geometry, meta->merge.segment.rows));
	for (uint32 i = 0; i < meta->free_runs; i++)
		MarkUsed(index, used, blocks, meta->free[i].start, meta->free[i].pages);
	return used;
}

/*
 * The number of blocks and the structure are read under the extension lock: a
 * page that has an owner by then does not look like one without.  A page
 * without an owner gets one by nobody but whoever holds the structure lock.
 */
static Structure *
ReadWholeStructure(Relation index, BlockNumber *blocks)
{
	Structure  *structure;

	LockRelationForExtension(index, ExclusiveLock);
	*blocks = RelationGetNumberOfBlocks(index);
	structure = ReadStructure(index, NULL);
	UnlockRelationForExtension(index, ExclusiveLock);
	return structure;
}

/* A run that the metapage did not know; `last` is where the file ends: recovery must find that page too. */
static void
AdoptPages(Relation index, BlockNumber start, uint32 pages, BlockNumber last)
{
	Buffer		meta_buffer = ReadBuffer(index, META_BLOCK),
				buffer = InvalidBuffer;
	GenericXLogState *state;
	Meta	   *meta;

	LockBuffer(meta_buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, meta_buffer, 0));
	if (start + pages - 1 == last)
	{
		buffer = ReadBuffer(index, last);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		InitPage(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE), FREE_PAGE, 0);
	}
	FreePages(meta, start, pages);
	SealMeta(meta);
	GenericXLogFinish(state);
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta_buffer);
}

uint32
CollectFreePages(Relation index)
{
	BlockNumber blocks;
	Structure  *structure = ReadWholeStructure(index, &blocks);
	bool	   *used = MapPages(index, structure, blocks);
	uint32		total = 0;

	for (uint32 i = 0; i < structure->meta.free_runs; i++)
		total += structure->meta.free[i].pages;
	for (BlockNumber start = 0, end; start < blocks; start = end + 1)
	{
		for (end = start; end < blocks && !used[end]; end++)
			;
		if (end == start)
			continue;
		CHECK_FOR_INTERRUPTS();
		AdoptPages(index, start, end - start, blocks - 1);
		total += end - start;
	}
	pfree(used);
	return total;
}
