/*
 * handler.c - the table access method bloomset_table: a set as a table of one column,
 * whose rows are its stages.
 *
 * SELECT returns the stages as filters, INSERT merges a filter, TRUNCATE empties the set:
 * so dump and restore, COPY and replication of files need nothing of their own.  There
 * are no row versions: every snapshot sees all that is there, and rows can neither be
 * changed nor locked.
 *
 * What concerns files is that of heap tables.
 */
#include "pg/bloomset/table/settable.h"

#include "access/multixact.h"
#include "access/xloginsert.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "catalog/storage_xlog.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pg/base/compat_table.h"
#include "pg/bloomset/table/stage.h"
#include "pg/value/value.h"

static TableAmRoutine routine;

/* ---- which tables ---- */

bool
IsSetTable(Relation rel)
{
	return rel->rd_tableam == &routine;
}

/* ---- what there is not; these do not return, so their further arguments and results do not matter ---- */

static void
RefuseRows(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("rows of bloomset \"%s\" can be neither changed nor locked", RelationGetRelationName(rel)),
			 errdetail("A key cannot be removed from a Bloom filter."),
			 errhint("TRUNCATE empties the set.")));
}

static void
RefuseIndex(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("bloomset \"%s\" cannot have indexes", RelationGetRelationName(rel)),
			 errhint("Use bloomset_contains.")));
}

static void
RefuseConflicts(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ON CONFLICT is not supported for bloomset \"%s\"", RelationGetRelationName(rel)),
			 errhint("A filter can be inserted again: it changes nothing.")));
}

static bool
HasNoSample(TableScanDesc scan)
{
	return false;
}

/*
 * Rows have no transaction IDs.  But what copies a table (VACUUM FULL, most of ALTER TABLE)
 * gives it a relfrozenxid, and that must not stay there until the server stops for it.
 */
static void
VacuumNothing(Relation rel)
{
	if (TransactionIdIsNormal(rel->rd_rel->relfrozenxid))
		UpdateTableStatistics(rel, RelationGetNumberOfBlocks(rel), 0, ReadNextTransactionId(), ReadNextMultiXactId());
}

/* ---- scans ---- */

typedef struct SetScan
{
	TableScanDescData base;
	SetView    *view;			/* NULL: the set has no keys */
	uint32		next;
	MemoryContext memory;		/* of the row that was returned last */
} SetScan;

static const TupleTableSlotOps *
SlotsOfSet(Relation rel)
{
	return &TTSOpsVirtual;
}

static TableScanDesc
BeginScan(Relation rel, Snapshot snapshot, int nkeys, struct ScanKeyData *key, ParallelTableScanDesc shared, uint32 flags)
{
	SetScan    *scan = palloc0(sizeof(SetScan));

	CheckSetTable(rel);
	RelationIncrementReferenceCount(rel);
	scan->base.rs_rd = rel;
	scan->base.rs_snapshot = snapshot;
	scan->base.rs_nkeys = nkeys;
	scan->base.rs_flags = flags;
	scan->base.rs_parallel = shared;
	scan->memory = AllocSetContextCreate(CurrentMemoryContext, "bloomset row", ALLOCSET_SMALL_SIZES);
	if (HasMetaPage(rel))
		scan->view = OpenSetView(rel, false);
	return &scan->base;
}

static void
EndScan(TableScanDesc base)
{
	SetScan    *scan = (SetScan *) base;

	MemoryContextDelete(scan->memory);
	RelationDecrementReferenceCount(base->rs_rd);
	if (base->rs_flags & SO_TEMP_SNAPSHOT)
		UnregisterSnapshot(base->rs_snapshot);
	pfree(scan);
}

static void
Rescan(TableScanDesc base, struct ScanKeyData *key, bool set_params, bool allow_strat, bool allow_sync, bool allow_pagemode)
{
	((SetScan *) base)->next = 0;
}

/*
 * A set without stages that has a key type has one row, an empty filter: what copies rows, as ALTER TABLE does
 * and a dump, makes a set of that type, which the keys claimed by the transaction can go into.
 */
static uint32
RowsOfSet(const SetView *view)
{
	return view == NULL ? 0 : Max(view->meta->stages, 1);
}

/* The next stage, of all processes of a parallel scan. */
static uint32
NextStage(SetScan *scan, ScanDirection direction)
{
	if (scan->base.rs_parallel != NULL)
		return (uint32) pg_atomic_fetch_add_u64(&((ParallelBlockTableScanDesc) scan->base.rs_parallel)->phs_nallocated, 1);
	if (ScanDirectionIsBackward(direction))
		return scan->next > 1 ? --scan->next - 1 : (scan->next = 0, PG_UINT32_MAX);
	return scan->next++;
}

/* Fills the slot with a stage, in the current context. */
static void
StoreStage(SetView *view, Relation rel, uint32 i, TupleTableSlot *slot)
{
	slot->tts_values[0] = PointerGetDatum(FilterOfStage(view, rel, i));
	slot->tts_isnull[0] = false;
	for (int j = 1; j < slot->tts_tupleDescriptor->natts; j++)
		slot->tts_isnull[j] = true; /* a column that was dropped */
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(rel);
	ItemPointerSet(&slot->tts_tid, i, FirstOffsetNumber);
}

static bool
GetNextStage(TableScanDesc base, ScanDirection direction, TupleTableSlot *slot)
{
	SetScan    *scan = (SetScan *) base;
	uint32		stages = RowsOfSet(scan->view);
	uint32		i = NextStage(scan, direction);
	MemoryContext old;

	ExecClearTuple(slot);
	MemoryContextReset(scan->memory);
	if (i >= stages)
	{
		scan->next = ScanDirectionIsBackward(direction) ? 0 : stages + 1;
		return false;
	}
	old = MemoryContextSwitchTo(scan->memory);
	StoreStage(scan->view, base->rs_rd, i, slot);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * A stage that was read before: a statement that also updates or locks rows of another
 * table reads it again if one of these has changed.  What INSERT returns is no stage.
 */
static bool
FetchStage(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot)
{
	MemoryContext memory,
				old;
	SetView    *view;

	if (ItemPointerGetOffsetNumber(tid) != FirstOffsetNumber)
		RefuseRows(rel);
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomset row", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(memory);
	CheckSetTable(rel);
	ExecClearTuple(slot);
	view = HasMetaPage(rel) ? OpenSetView(rel, false) : NULL;
	if (ItemPointerGetBlockNumber(tid) < RowsOfSet(view))
	{
		StoreStage(view, rel, ItemPointerGetBlockNumber(tid), slot);
		ExecMaterializeSlot(slot);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return !TTS_EMPTY(slot);
}

static bool
IsStage(TableScanDesc base, ItemPointer tid)
{
	const SetView *view = ((SetScan *) base)->view;

	return ItemPointerIsValid(tid) && ItemPointerGetBlockNumber(tid) < RowsOfSet(view) &&
		ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber;
}

static void
IsLatest(TableScanDesc base, ItemPointer tid)
{
}

/* ---- INSERT ---- */

static void
InsertFilter(Relation rel, TupleTableSlot *slot, CommandId command, InsertOptions options, struct BulkInsertStateData *bulk)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomset insert", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	bool		isnull;
	Datum		filter = slot_getattr(slot, 1, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("a stage of bloomset \"%s\" cannot be null", RelationGetRelationName(rel))));
	MergeIntoSetTable(rel, DatumGetFilter(filter));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	slot->tts_tableOid = RelationGetRelid(rel);
	ItemPointerSet(&slot->tts_tid, 0, FirstOffsetNumber + 1);
}

static void
InsertFilters(Relation rel, TupleTableSlot **slots, int n, CommandId command, InsertOptions options, struct BulkInsertStateData *bulk)
{
	for (int i = 0; i < n; i++)
		InsertFilter(rel, slots[i], command, options, bulk);
}

/* ---- files ---- */

/* An empty file is a set without keys. */
static void
SetNewFile(Relation rel, const RelationLocator *locator, char persistence, TransactionId *freeze_xid, MultiXactId *min_multi)
{
	SMgrRelation storage;

	if (rel->rd_rel->relkind == RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("materialized view \"%s\" cannot have access method bloomset_table", RelationGetRelationName(rel)),
				 errhint("Use CREATE TABLE ... USING bloomset_table AS ...")));
	CheckSetTable(rel);
	*freeze_xid = InvalidTransactionId;
	*min_multi = InvalidMultiXactId;
	storage = RelationCreateStorage(*locator, persistence, true);
	if (persistence == RELPERSISTENCE_UNLOGGED)
	{
		smgrcreate(storage, INIT_FORKNUM, false);
		log_smgrcreate(locator, INIT_FORKNUM);
		smgrimmedsync(storage, INIT_FORKNUM);
	}
	smgrclose(storage);
}

static void
TruncateFile(Relation rel)
{
	RelationTruncate(rel, 0);
	number_of_resets++;			/* for an index the server sees to that, but not for a table */
}

/* VACUUM FULL: the pages as they are. */
static void
CopyPages(Relation from, Relation to, Relation index, CLUSTER_PARAMETERS, TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
		  double *tuples, double *vacuumed, double *recently_dead)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(from);

	*tuples = *vacuumed = *recently_dead = 0;
	for (BlockNumber block = 0; block < blocks; block++)
	{
		Buffer		source,
					target;

		CHECK_FOR_INTERRUPTS();
		source = ReadBuffer(from, block);
		target = ReadBufferExtended(to, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
		LockBuffer(source, BUFFER_LOCK_SHARE);
		START_CRIT_SECTION();
		memcpy(BufferGetPage(target), BufferGetPage(source), BLCKSZ);
		MarkBufferDirty(target);
		if (RelationNeedsWAL(to) && !PageIsNew(BufferGetPage(target)))
			log_newpage_buffer(target, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(source);
		UnlockReleaseBuffer(target);
	}
}

/* The set keeps nothing there.  A table that it becomes by ALTER TABLE SET ACCESS METHOD does. */
static Oid
AccessMethodOfToast(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

/* Small, so that no workers are asked to read the few rows. */
static void
EstimateSize(Relation rel, int32 *attr_widths, BlockNumber *pages, double *tuples, double *all_visible)
{
	*pages = 1;
	*tuples = 1 + RelationGetNumberOfBlocks(rel) / 4096;
	*all_visible = 0;
}

/* ---- the routine ---- */

static void
MakeRoutine(void)
{
	routine = *GetHeapamTableAmRoutine();
	routine.slot_callbacks = SlotsOfSet;
	routine.scan_begin = BeginScan;
	routine.scan_end = EndScan;
	routine.scan_rescan = Rescan;
	routine.scan_getnextslot = GetNextStage;
	routine.scan_set_tidrange = NULL;
	routine.scan_getnextslot_tidrange = NULL;
	routine.tuple_insert = InsertFilter;
	routine.multi_insert = InsertFilters;
	routine.relation_set_new_filelocator = SetNewFile;
	routine.relation_nontransactional_truncate = TruncateFile;
	routine.relation_copy_for_cluster = CopyPages;
	routine.relation_toast_am = AccessMethodOfToast;
	routine.relation_estimate_size = EstimateSize;

	routine.scan_analyze_next_block = (void *) HasNoSample;
	routine.scan_analyze_next_tuple = (void *) HasNoSample;
	routine.scan_sample_next_block = (void *) HasNoSample;
	routine.scan_sample_next_tuple = (void *) HasNoSample;
	RefuseBitmapScans(&routine);
	routine.relation_vacuum = (void *) VacuumNothing;
	routine.tuple_fetch_row_version = FetchStage;

	routine.tuple_insert_speculative = (void *) RefuseConflicts;
	routine.tuple_complete_speculative = (void *) RefuseConflicts;
	routine.tuple_delete = (void *) RefuseRows;
	routine.tuple_update = (void *) RefuseRows;
	routine.tuple_lock = (void *) RefuseRows;
	routine.tuple_satisfies_snapshot = (void *) RefuseRows;
	routine.tuple_tid_valid = IsStage;
	routine.tuple_get_latest_tid = IsLatest;
	routine.index_fetch_begin = (void *) RefuseIndex;
	routine.index_delete_tuples = (void *) RefuseIndex;
	routine.index_build_range_scan = (void *) RefuseIndex;
	routine.index_validate_scan = (void *) RefuseIndex;
}

PG_FUNCTION_INFO_V1(bloomset_table_handler);
Datum
bloomset_table_handler(PG_FUNCTION_ARGS)
{
	if (routine.type == 0)
		MakeRoutine();
	PG_RETURN_POINTER(&routine);
}
