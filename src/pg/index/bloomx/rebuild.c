/*
 * rebuild.c - VACUUM rebuilds the entries of an index of values when most of
 * the rows that they stand for are gone.
 *
 * An entry of a block stays when rows of the block are gone, since it does not know
 * which keys no other row has.  And a block whose rows are updated again and again
 * gets entry after entry.  So when the index has many more rows than the table, all
 * of the table is read, and its entries are made as CREATE INDEX makes them.
 *
 * Segments of the generations before that are the old ones, and those that are made from
 * now on, of the rows that are read and of pending rows, have higher ones.  Each row of
 * the table is read, or was inserted since, or is pending.  So in the end the old
 * segments can go.  (One that inserts have merged with a new one meanwhile stays: it
 * makes lookups find a little more than they have to.)  A scan that knows only old
 * segments finds their pages as they were, or others, and begins again.
 *
 * Every row that is still in the table is read, also one that no snapshot of this
 * server sees any more: a snapshot on a standby may.  Such a row goes from the table
 * only with a WAL record that cancels the queries there which could see it, and so do
 * its TOASTed values.  The entry of a row whose values are gone may hold anything.
 *
 * The rows that wait for their segment take as much memory as CREATE INDEX would have,
 * and the segments are as large.  The directory lock is held only while the old ones are dropped.  If VACUUM is
 * interrupted, the index has even more rows, so the next one begins again, and what was
 * made is old by then.
 */
#include "pg/index/bloomx/bloomx.h"

#include "access/table.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/segment/merge.h"
#include "pg/index/pages/heaprows.h"

/*
 * The rows of the index are too many if they are more than twice those of the table:
 * then it becomes smaller by half at least, and each row that was inserted since has
 * paid for one that is read.  Below one full segment nothing is gained.
 */
#define TOO_MANY 2

/* Adds the row that was read, if it belongs into the index. */
static void
AddRow(BloomxBuilder *builder, HeapRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(HeapRowMemory(rows));
	HeapRow		found = ReadHeapRow(rows);
	ItemPointerData tid = rows->slot->tts_tid;

	if (rows->is_heap_only)		/* a scan asks for the first of its chain */
		ItemPointerSetOffsetNumber(&tid, WHOLE_BLOCK);
	if (found != ROW_NOT_INDEXED)
		builder->add_row(builder, &tid, found == ROW_HAS_VALUES ? rows->values : NULL, rows->isnull);
	MemoryContextSwitchTo(old);
}

/* Makes segments of all rows.  Half of the memory is for those that wait: the other half is for the segment that is written. */
static void
RebuildRows(Relation index, Relation heap)
{
	BloomxShare share = {.memory = BloomxVacuumMemory() / 2};
	BloomxBuilder *builder = BloomxStartValues(index, &share);
	HeapRows   *rows = StartHeapRows(heap, index, SnapshotAny);

	builder->in_vacuum = true;
	while (NextHeapRow(rows))
		AddRow(builder, rows);
	builder->finish(builder);
	EndHeapRows(rows);
}

/* Drops the old segments, one after the other. */
static void
DropOldSegments(Relation index, uint64 generation)
{
	BloomxDirectory *directory;

	BloomxLockDirectory(index);
	BloomxFinishMerge(index);
	directory = BloomxReadDirectory(index, NULL);
	/* every row of the table is in a later segment, or pending */
	for (uint32 i = 0; i < directory->meta.segments; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (directory->segments[i].rows > 0 && directory->segments[i].generation < generation)
			BloomxUpdateDirectory(index, directory, &(BloomxUpdate) {.sources = &i, .nsources = 1});
	}
	BloomxUnlockDirectory(index);
}

/* True if the segments stand for too many rows.  That of a dead entry was one. */
static bool
HasTooMany(Relation index, double tuples)
{
	BloomxDirectory *directory = BloomxReadDirectory(index, NULL);
	double		in_index = 0;

	for (uint32 i = 0; i < directory->meta.segments; i++)
		if (directory->segments[i].rows > 0)
			in_index += directory->segments[i].tuples - (double) Min(directory->segments[i].tuples, directory->segments[i].dead);
	return in_index > TOO_MANY * tuples + MAX_SEGMENT_ROWS;
}

void
BloomxRebuildEntries(Relation index, double tuples)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx rebuild", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	Relation	heap;
	uint64		first;			/* generation that is not old */

	if (BloomxIsOfFilters(index) || !index->rd_index->indisvalid || !HasTooMany(index, tuples))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		return;
	}
	BloomxLockDirectory(index);
	BloomxFinishMerge(index);
	first = BloomxReadDirectory(index, NULL)->meta.next_generation;
	BloomxUnlockDirectory(index);

	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), ShareUpdateExclusiveLock);
	RebuildRows(index, heap);
	DropOldSegments(index, first);
	table_close(heap, ShareUpdateExclusiveLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
