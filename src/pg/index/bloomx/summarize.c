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
 * Every row that is still in the table is read, also one that no snapshot of this
 * server sees any more: a snapshot on a standby may.  Such a row goes from the table
 * only with a WAL record that cancels the queries there which could see it, and so do
 * its TOASTed values.  The entry of a row whose values are gone may hold anything.
 *
 * The rows that wait for their segment take as much memory as CREATE INDEX would have,
 * and the segments are as large.  The structure lock is held only while one is added or dropped.  If VACUUM is
 * interrupted, the next one begins again, and what was made is old by then.
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

/* Writes the stamp below which segments are old to the metapage; 0: none is. */
static uint64
SetOldStamp(Relation index, bool begin)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);
	uint64		stamp = begin ? meta->next_stamp : 0;

	meta->old_stamp = stamp;
	BloomxFinishMetaChange(&change);
	return stamp;
}

typedef struct Summary
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
} Summary;

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
				inner = ResourceOwnerCreate(outer, "bloomx summarize");
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
AddRow(Summary *summary)
{
	TupleTableSlot *slot = summary->slot;
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
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(summary->estate));
	if (!toasted || TryFetch(slot, summary->predicate_columns))
	{
		if (!ExecQual(summary->predicate, GetPerTupleExprContext(summary->estate)))
		{
			MemoryContextSwitchTo(old);
			return;
		}
		if (!toasted || TryFetch(slot, summary->key_columns))
		{
			FormIndexDatum(summary->info, slot, summary->estate, values, isnull);
			hashes = BloomxHashesOfRow(summary->columns, values, isnull);
		}
	}
	MemoryContextSwitchTo(summary->entry_memory);
	if (hashes != NULL)
		BloomxAddToEntries(summary->entries, &tid, hashes->hash, hashes->n);
	else
		BloomxAddToEntries(summary->entries, &tid, NULL, 0);
	MemoryContextSwitchTo(old);
}

static void
NextRow(Summary *summary)
{
	CHECK_FOR_INTERRUPTS();
	ResetPerTupleExprContext(summary->estate);
	summary->more = table_scan_getnextslot(summary->scan, ForwardScanDirection, summary->slot);
}

/* Begins to read the table, with the rows that nobody on this server sees any more. */
static void
StartRows(Summary *summary, Relation heap)
{
	IndexInfo  *info = summary->info = BuildIndexInfo(summary->index);

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != InvalidAttrNumber)
			summary->key_columns = bms_add_member(summary->key_columns, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &summary->key_columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &summary->predicate_columns);
	summary->columns = BloomxOpenColumns(summary->index);
	summary->estate = CreateExecutorState();
	summary->slot = table_slot_create(heap, NULL);
	GetPerTupleExprContext(summary->estate)->ecxt_scantuple = summary->slot;
	summary->predicate = ExecPrepareQual(info->ii_Predicate, summary->estate);
	summary->scan = table_beginscan_strat(heap, SnapshotAny, 0, NULL, true, false);
	NextRow(summary);
}

static void
EndRows(Summary *summary)
{
	table_endscan(summary->scan);
	ExecDropSingleTupleTableSlot(summary->slot);
	FreeExecutorState(summary->estate);
}

/* ---- segments ---- */

/* A BloomxWriteSegment: adds it to the index, and frees the memory of its rows. */
static void
WriteSegment(void *arg, uint32 slices, const BloomxRowSource *source)
{
	Summary    *summary = arg;
	MemoryContext old = MemoryContextSwitchTo(summary->segment_memory);
	BloomxSegments *segments = BloomxNewSegments();
	BloomxStructure *structure;
	BloomxMerge nothing = {.sources = 0};

	BloomxKeepSegment(segments, slices, source);
	BloomxLockStructure(summary->index);
	BloomxFinishMerge(summary->index);
	structure = BloomxReadStructure(summary->index, NULL);
	BloomxAddSegments(summary->index, structure, &structure->meta.keys, segments, &nothing);
	BloomxUnlockStructure(summary->index);
	MemoryContextSwitchTo(old);
	MemoryContextReset(summary->segment_memory);
	pfree((void *) source->tids);
	if (source->signatures != NULL)
		pfree((void *) source->signatures);
}

/* Makes segments of all rows.  Half of the memory is for those that wait: the other half is for the segment that is written. */
static void
SummarizeRows(Summary *summary, BloomxKeys keys)
{
	BloomxShare share = {.memory = BloomxVacuumMemory() / 2};
	BlockNumber block = InvalidBlockNumber;
	MemoryContext old;

	summary->entry_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx summarize entries", ALLOCSET_DEFAULT_SIZES);
	summary->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx summarize segment", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(summary->entry_memory);
	summary->entries = BloomxStartEntries(summary->index, &keys, &share, WriteSegment, summary);
	MemoryContextSwitchTo(old);
	for (; summary->more; NextRow(summary))
	{
		if (ItemPointerGetBlockNumber(&summary->slot->tts_tid) != block)
			VacuumDelayPoint();
		block = ItemPointerGetBlockNumber(&summary->slot->tts_tid);
		AddRow(summary);
	}
	MemoryContextSwitchTo(summary->entry_memory);
	BloomxFinishEntries(summary->entries);
	MemoryContextSwitchTo(old);
}

/* Drops the old segments, one after the other. */
static void
DropOldSegments(Relation index, uint64 stamp)
{
	BloomxStructure *structure;

	BloomxLockStructure(index);
	BloomxFinishMerge(index);
	structure = BloomxReadStructure(index, NULL);
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		BloomxMerge merge = {.sources = 1, .source = {i}};

		CHECK_FOR_INTERRUPTS();
		if (structure->segments[i].rows > 0 && structure->segments[i].stamp < stamp)
			BloomxReplace(index, structure, &merge, NULL, 0);
	}
	(void) SetOldStamp(index, false);
	BloomxUnlockStructure(index);
}

/* True if the segments stand for too many rows.  That of a dead entry was one. */
static bool
HasTooMany(Relation index, double tuples)
{
	BloomxStructure *structure = BloomxReadStructure(index, NULL);
	double		in_index = 0;

	for (uint32 i = 0; i < structure->meta.segments; i++)
		if (structure->segments[i].rows > 0)
			in_index += structure->segments[i].tuples - (double) Min(structure->segments[i].tuples, structure->segments[i].dead);
	return structure->meta.old_stamp > 0 || in_index > TOO_MANY * tuples + MAX_SEGMENT_ROWS;
}

void
BloomxSummarizeAnew(Relation index, double tuples)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx summarize", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	Summary		summary = {.index = index};
	Relation	heap;
	BloomxKeys	keys;
	uint64		stamp;

	if (BloomxIsOfFilters(index) || !index->rd_index->indisvalid || !HasTooMany(index, tuples))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		return;
	}
	BloomxLockStructure(index);
	BloomxFinishMerge(index);
	stamp = SetOldStamp(index, true);
	keys = BloomxReadStructure(index, NULL)->meta.keys;
	BloomxUnlockStructure(index);

	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), ShareUpdateExclusiveLock);
	StartRows(&summary, heap);
	SummarizeRows(&summary, keys);
	EndRows(&summary);
	DropOldSegments(index, stamp);
	table_close(heap, ShareUpdateExclusiveLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
