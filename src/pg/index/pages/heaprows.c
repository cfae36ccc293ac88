/*
 * heaprows.c - all rows of a table (heaprows.h).
 */
#include "pg/index/pages/heaprows.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/procarray.h"
#include "utils/resowner.h"

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

HeapRow
ReadHeapRow(HeapRows *rows)
{
	TupleTableSlot *slot = rows->slot;
	bool		toasted = false;

	rows->is_heap_only = false;
	if (TTS_IS_BUFFERTUPLE(slot))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);

		if (NobodySaw(tuple))
			return ROW_NOT_INDEXED;
		rows->is_heap_only = HeapTupleIsHeapOnly(tuple);
		toasted = HeapTupleHasExternal(tuple);
	}
	if (toasted && !TryFetch(slot, rows->predicate_columns))
		return ROW_WITHOUT_VALUES;
	if (!ExecQual(rows->predicate, GetPerTupleExprContext(rows->estate)))
		return ROW_NOT_INDEXED;
	if (toasted && !TryFetch(slot, rows->key_columns))
		return ROW_WITHOUT_VALUES;
	FormIndexDatum(rows->info, slot, rows->estate, rows->values, rows->isnull);
	return ROW_HAS_VALUES;
}

bool
NextHeapRow(HeapRows *rows)
{
	CHECK_FOR_INTERRUPTS();
	ResetPerTupleExprContext(rows->estate);
	if (!table_scan_getnextslot(rows->scan, ForwardScanDirection, rows->slot))
		return false;
	if (ItemPointerGetBlockNumber(&rows->slot->tts_tid) != rows->block)
		VacuumDelayPoint();
	rows->block = ItemPointerGetBlockNumber(&rows->slot->tts_tid);
	return true;
}

HeapRows *
StartHeapRows(Relation heap, Relation index, Snapshot snapshot)
{
	HeapRows   *rows = palloc0(sizeof(HeapRows));
	IndexInfo  *info = rows->info = BuildIndexInfo(index);

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != InvalidAttrNumber)
			rows->key_columns = bms_add_member(rows->key_columns, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &rows->key_columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &rows->predicate_columns);
	rows->block = InvalidBlockNumber;
	rows->estate = CreateExecutorState();
	rows->slot = table_slot_create(heap, NULL);
	GetPerTupleExprContext(rows->estate)->ecxt_scantuple = rows->slot;
	rows->predicate = ExecPrepareQual(info->ii_Predicate, rows->estate);
	rows->scan = table_beginscan_strat(heap, snapshot, 0, NULL, true, false);
	return rows;
}

void
EndHeapRows(HeapRows *rows)
{
	table_endscan(rows->scan);
	ExecDropSingleTupleTableSlot(rows->slot);
	FreeExecutorState(rows->estate);
}
