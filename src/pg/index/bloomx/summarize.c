/*
 * summarize.c - VACUUM makes the entries of an index of values anew, when most of
 * the rows that they stand for are gone.
 *
 * An entry of a block stays when rows of the block are gone, since it does not know
 * which keys no other row has.  And a block whose rows are updated again and again
 * gets entry after entry.  So when the index has many more rows than the table, all
 * of the table is read, and its entries are made as CREATE INDEX makes them.
 *
 * The metapage notes a stamp: segments with a lower one are the old ones.  They are
 * not merged any more, so they stay apart from those that are made from now on: of
 * the rows that are read, and of pending rows.  Each row of the table is read, or was
 * inserted since, or is pending.  So in the end the old segments can go.  A scan that
 * knows only them finds their pages as they were, or others, and begins again.
 *
 * The structure lock is held only while segments are added or dropped.  If VACUUM is
 * interrupted, the next one begins again, and what was made is old by then.
 */
#include "pg/index/bloomx/index.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * The rows of the index are too many if they are more than twice those of the table:
 * then it becomes smaller by half at least, and each row that was inserted since has
 * paid for one that is read.  Below one full segment nothing is gained.
 */
#define TOO_MANY 2

/* The blocks that are read before their segments are written: 64 MB. */
#define BLOCKS_PER_STEP 8192

/* Writes the stamp below which segments are old to the metapage; 0: none is. */
static uint64
SetOldStamp(const BloomxStore *store, bool begin)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, store);
	uint64		stamp = begin ? meta->next_stamp : 0;

	meta->old_stamp = stamp;
	BloomxFinishMetaChange(&change);
	return stamp;
}

typedef struct Summary
{
	const BloomxStore *store;
	BloomxColumns *columns;
	BloomxEntries *entries;
	MemoryContext step_memory;
	MemoryContext row_memory;
} Summary;

static void
AddRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Summary    *summary = arg;
	MemoryContext old = MemoryContextSwitchTo(summary->row_memory);
	const KeyHashes *hashes = BloomxHashesOfRow(summary->columns, values, isnull);

	MemoryContextSwitchTo(summary->step_memory);
	BloomxAddToEntries(summary->entries, tid, hashes->hash, hashes->n);
	MemoryContextSwitchTo(old);
	MemoryContextReset(summary->row_memory);
}

/* Makes segments of the rows of some blocks. */
static void
SummarizeBlocks(Summary *summary, Relation heap, IndexInfo *info, BloomxKeys keys, BlockNumber first, BlockNumber blocks)
{
	MemoryContext old = MemoryContextSwitchTo(summary->step_memory);
	BloomxSegments *segments = BloomxNewSegments();
	BloomxStructure *structure;
	BloomxMerge nothing = {.sources = 0};
	BloomxShare share = {.memory = maintenance_work_mem * (Size) 1024};

	summary->entries = BloomxStartEntries(summary->store, &keys, &share, BloomxKeepSegment, segments);
	table_index_build_range_scan(heap, summary->store->index, info, false, true, false, first, blocks, AddRow, summary, NULL);
	BloomxFinishEntries(summary->entries);

	BloomxLockStructure(summary->store->index);
	BloomxFinishMerge(summary->store);
	structure = BloomxReadStructure(summary->store, NULL);
	BloomxAddSegments(summary->store, structure, &structure->meta.keys, segments, &nothing);
	BloomxUnlockStructure(summary->store->index);
	MemoryContextSwitchTo(old);
	MemoryContextReset(summary->step_memory);
}

/* Drops the old segments, one after the other. */
static void
DropOldSegments(const BloomxStore *store, uint64 stamp)
{
	BloomxStructure *structure;

	BloomxLockStructure(store->index);
	BloomxFinishMerge(store);
	structure = BloomxReadStructure(store, NULL);
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		BloomxMerge merge = {.sources = 1, .source = {i}};

		CHECK_FOR_INTERRUPTS();
		if (structure->segments[i].rows > 0 && structure->segments[i].stamp < stamp)
			BloomxReplace(store, structure, &merge, NULL, 0);
	}
	(void) SetOldStamp(store, false);
	BloomxUnlockStructure(store->index);
}

/* True if the segments stand for too many rows.  That of a dead entry was one. */
static bool
HasTooMany(const BloomxStore *store, double tuples)
{
	BloomxStructure *structure = BloomxReadStructure(store, NULL);
	double		in_index = 0;

	for (uint32 i = 0; i < structure->meta.segments; i++)
		if (structure->segments[i].rows > 0)
			in_index += structure->segments[i].tuples - (double) Min(structure->segments[i].tuples, structure->segments[i].dead);
	return structure->meta.old_stamp > 0 || in_index > TOO_MANY * tuples + MAX_SEGMENT_ROWS;
}

void
BloomxSummarizeAnew(const BloomxStore *store, double tuples)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx summarize", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	Summary		summary = {.store = store};
	Relation	heap;
	IndexInfo  *info;
	BloomxKeys	keys;
	BlockNumber blocks;
	uint64		stamp;

	/* a worker of a parallel VACUUM does not run the expressions of an index */
	if (!store->of_values || !store->index->rd_index->indisvalid || IsParallelWorker() || !HasTooMany(store, tuples))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		return;
	}
	BloomxLockStructure(store->index);
	BloomxFinishMerge(store);
	stamp = SetOldStamp(store, true);
	keys = BloomxReadStructure(store, NULL)->meta.keys;
	BloomxUnlockStructure(store->index);

	heap = table_open(IndexGetRelation(RelationGetRelid(store->index), false), ShareUpdateExclusiveLock);
	info = BuildIndexInfo(store->index);
	blocks = RelationGetNumberOfBlocks(heap);	/* rows on later ones are inserted since */
	summary.columns = BloomxOpenColumns(store->index);
	summary.step_memory = AllocSetContextCreate(memory, "bloomx summarize step", ALLOCSET_DEFAULT_SIZES);
	summary.row_memory = AllocSetContextCreate(memory, "bloomx summarize row", ALLOCSET_DEFAULT_SIZES);
	for (BlockNumber first = 0; first < blocks; first += BLOCKS_PER_STEP)
	{
		SummarizeBlocks(&summary, heap, info, keys, first, Min(BLOCKS_PER_STEP, blocks - first));
		VacuumDelayPoint();
	}
	DropOldSegments(store, stamp);
	table_close(heap, ShareUpdateExclusiveLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
