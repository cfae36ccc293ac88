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
 * and the segments are as large.  The directory lock is held only while one is added or dropped.  If VACUUM is
 * interrupted, the index has even more rows, so the next one begins again, and what was
 * made is old by then.
 */
#include "pg/index/bloomx/bloomx.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/directory/update.h"
#include "pg/index/bloomx/segment/entries.h"
#include "pg/index/bloomx/segment/flush.h"
#include "pg/index/bloomx/segment/merge.h"

/*
 * The rows of the index are too many if they are more than twice those of the table:
 * then it becomes smaller by half at least, and each row that was inserted since has
 * paid for one that is read.  Below one full segment nothing is gained.
 */
#define TOO_MANY 2

typedef struct Rebuild
{
	Relation	index;
	BloomxColumns *columns;
	BloomxEntries *entries;
	MemoryContext entry_memory;
	MemoryContext segment_memory;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	Bitmapset  *predicate_columns;
	Bitmapset  *key_columns;
	TableScanDesc scan;
	TupleTableSlot *slot;		/* the next row */
	bool		more;			/* it is there */
} Rebuild;

/* ---- rows of the table ---- */

/* A row whose transaction failed, perhaps because its key could not be computed. */
static bool
NobodySaw(HeapTuple tuple)
{
	TransactionId inserted = HeapTupleHeaderGetXmin(tuple->t_data);

	return !HeapTupleHeaderXminCommitted(tuple->t_data) &&
		(HeapTupleHeaderXminInvalid(tuple->t_data) || (!TransactionIdIsInProgress(inserted) && !TransactionIdDidCommit(inserted)));
}

/* Puts TOASTed values of some columns into memory. */
static void
Fetch(TupleTableSlot *slot, const Bitmapset *columns)
{
	bool		all = bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, columns);	/* whole rows */

	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
		if ((all || bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, columns)) && !slot->tts_isnull[i] &&
			TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen == -1 && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(slot->tts_values[i])))
			slot->tts_values[i] = PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(slot->tts_values[i])));
}

/*
 * The same; false if a value is not there.  The snapshot of a VACUUM keeps nobody
 * from removing the TOASTed values of a deleted row.  The scan that finds the gap is
 * abandoned, with what it holds.
 */
static bool
TryFetch(TupleTableSlot *slot, const Bitmapset *columns)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner outer = CurrentResourceOwner,
				inner = ResourceOwnerCreate(outer, "bloomx rebuild");
	volatile bool done = false;

	slot_getallattrs(slot);
	CurrentResourceOwner = inner;
	PG_TRY();
	{
		Fetch(slot, columns);
		done = true;
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_DATA_CORRUPTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(memory);
		FlushErrorState();
	}
	PG_END_TRY();
	CurrentResourceOwner = outer;
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_BEFORE_LOCKS, done, false);
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_LOCKS, done, false);
	ResourceOwnerRelease(inner, RESOURCE_RELEASE_AFTER_LOCKS, done, false);
	ResourceOwnerDelete(inner);
	return done;
}

/* Adds the row in the slot, if it belongs into the index. */
static void
AddRow(Rebuild *rebuild)
{
	TupleTableSlot *slot = rebuild->slot;
	ItemPointerData tid = slot->tts_tid;
	bool		toasted = false;
	const KeyHashes *hashes = NULL;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old;

	if (TTS_IS_BUFFERTUPLE(slot))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);

		if (NobodySaw(tuple))
			return;
		if (HeapTupleIsHeapOnly(tuple))	/* a scan asks for the first of its chain */
			ItemPointerSetOffsetNumber(&tid, WHOLE_BLOCK);
		toasted = HeapTupleHasExternal(tuple);
	}
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(rebuild->estate));
	if (!toasted || TryFetch(slot, rebuild->predicate_columns))
	{
		if (!ExecQual(rebuild->predicate, GetPerTupleExprContext(rebuild->estate)))
		{
			MemoryContextSwitchTo(old);
			return;
		}
		if (!toasted || TryFetch(slot, rebuild->key_columns))
		{
			FormIndexDatum(rebuild->info, slot, rebuild->estate, values, isnull);
			hashes = BloomxHashesOfRow(rebuild->columns, values, isnull);
		}
	}
	MemoryContextSwitchTo(rebuild->entry_memory);
	if (hashes != NULL)
		BloomxAddToEntries(rebuild->entries, &tid, hashes->hash, hashes->n);
	else
		BloomxAddToEntries(rebuild->entries, &tid, NULL, 0);
	MemoryContextSwitchTo(old);
}

static void
NextRow(Rebuild *rebuild)
{
	CHECK_FOR_INTERRUPTS();
	ResetPerTupleExprContext(rebuild->estate);
	rebuild->more = table_scan_getnextslot(rebuild->scan, ForwardScanDirection, rebuild->slot);
}

/* Begins to read the table, with the rows that nobody on this server sees any more. */
static void
StartRows(Rebuild *rebuild, Relation heap)
{
	IndexInfo  *info = rebuild->info = BuildIndexInfo(rebuild->index);

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != InvalidAttrNumber)
			rebuild->key_columns = bms_add_member(rebuild->key_columns, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &rebuild->key_columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &rebuild->predicate_columns);
	rebuild->columns = BloomxOpenColumns(rebuild->index);
	rebuild->estate = CreateExecutorState();
	rebuild->slot = table_slot_create(heap, NULL);
	GetPerTupleExprContext(rebuild->estate)->ecxt_scantuple = rebuild->slot;
	rebuild->predicate = ExecPrepareQual(info->ii_Predicate, rebuild->estate);
	rebuild->scan = table_beginscan_strat(heap, SnapshotAny, 0, NULL, true, false);
	NextRow(rebuild);
}

static void
EndRows(Rebuild *rebuild)
{
	table_endscan(rebuild->scan);
	ExecDropSingleTupleTableSlot(rebuild->slot);
	FreeExecutorState(rebuild->estate);
}

/* ---- segments ---- */

/* A BloomxWriteSegment: adds it to the index, and frees the memory of its rows. */
static void
WriteSegment(void *arg, uint32 slices, const BloomxRowSource *source)
{
	Rebuild    *rebuild = arg;
	MemoryContext old = MemoryContextSwitchTo(rebuild->segment_memory);
	BloomxSegments *segments = BloomxNewSegments();
	BloomxDirectory *directory;

	BloomxKeepSegment(segments, slices, source);
	BloomxLockDirectory(rebuild->index);
	BloomxFinishMerge(rebuild->index);
	directory = BloomxReadDirectory(rebuild->index, NULL);
	(void) BloomxAddSegments(rebuild->index, directory, &directory->meta.keys, segments, 0, 0);
	BloomxUnlockDirectory(rebuild->index);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rebuild->segment_memory);
	pfree((void *) source->tids);
	if (source->signatures != NULL)
		pfree((void *) source->signatures);
}

/* Makes segments of all rows.  Half of the memory is for those that wait: the other half is for the segment that is written. */
static void
RebuildRows(Rebuild *rebuild, BloomxKeys keys)
{
	BloomxShare share = {.memory = BloomxVacuumMemory() / 2};
	BlockNumber block = InvalidBlockNumber;
	MemoryContext old;

	rebuild->entry_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx rebuild entries", ALLOCSET_DEFAULT_SIZES);
	rebuild->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx rebuild segment", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(rebuild->entry_memory);
	rebuild->entries = BloomxStartEntries(rebuild->index, &keys, &share, WriteSegment, rebuild);
	MemoryContextSwitchTo(old);
	for (; rebuild->more; NextRow(rebuild))
	{
		if (ItemPointerGetBlockNumber(&rebuild->slot->tts_tid) != block)
			VacuumDelayPoint();
		block = ItemPointerGetBlockNumber(&rebuild->slot->tts_tid);
		AddRow(rebuild);
	}
	MemoryContextSwitchTo(rebuild->entry_memory);
	BloomxFinishEntries(rebuild->entries);
	MemoryContextSwitchTo(old);
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
	Rebuild		rebuild = {.index = index};
	Relation	heap;
	BloomxMeta	meta;

	if (BloomxIsOfFilters(index) || !index->rd_index->indisvalid || !HasTooMany(index, tuples))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		return;
	}
	BloomxLockDirectory(index);
	BloomxFinishMerge(index);
	meta = BloomxReadDirectory(index, NULL)->meta;
	BloomxUnlockDirectory(index);

	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), ShareUpdateExclusiveLock);
	StartRows(&rebuild, heap);
	RebuildRows(&rebuild, meta.keys);
	EndRows(&rebuild);
	DropOldSegments(index, meta.next_generation);
	table_close(heap, ShareUpdateExclusiveLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
