/*
 * check.c - bloomx_check_index.
 *
 * It goes through the whole index and the whole table: every row is in the index,
 * its signature has every bit that it must have, and no page is used twice.  That
 * proves lookups right for all keys.
 *
 * The directory lock is held while the index is read, but not while the table is
 * read: first for the TIDs, and then for the bits of one batch of rows at a time.
 * If merges have moved rows in between, the index is read again.  If the geometry of
 * filters has been chosen in between, the check begins again.
 */
#include "pg/base/base.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/inspect/check_places.h"

/* ---- the rows of the table ---- */

static void
CheckBatch(BloomxCheck *check)
{
	BloomxDirectory *now;
	bool		changed;

	BloomxLockDirectory(check->index);
	now = BloomxReadDirectory(check->index, NULL);
	check->outdated = now->geometry.parts != check->directory->geometry.parts && !now->meta.keys.of_values;
	changed = now->meta.changes != check->directory->meta.changes;
	if (!check->outdated)
	{
		if (changed)
			BloomxReadPlaces(check);
		check->check_batch(check, changed);
	}
	BloomxUnlockDirectory(check->index);
	pfree(now->segments);
	pfree(now);
}

static void
CheckRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BloomxCheck *check = arg;
	MemoryContext old;
	bool		full;

	if (check->outdated)
		return;
	old = MemoryContextSwitchTo(check->row_memory);
	full = check->add_row(check, tid, values, isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_memory);
	if (full)
		CheckBatch(check);
}

static void
CheckTable(BloomxCheck *check, Relation heap, Snapshot snapshot)
{
	IndexInfo  *info = BuildIndexInfo(check->index);

	check->start(check);
	check->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check row", ALLOCSET_DEFAULT_SIZES);
	info->ii_Concurrent = true;
	table_index_build_scan(heap, check->index, info, true, false, CheckRow, check,
						   table_beginscan_strat(heap, snapshot, 0, NULL, true, true));
	if (!check->outdated)
		CheckBatch(check);
	MemoryContextDelete(check->row_memory);
}

/*
 * Returns false if the check must begin again.
 *
 * Every row that the snapshot sees must be in the index already.  That is true
 * only of a snapshot taken now.  The snapshot of a REPEATABLE READ transaction
 * may be older than the index, and see row versions that the index never had.
 */
static bool
CheckWithLatestSnapshot(BloomxCheck *check, Relation heap)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	check->checked = 0;
	check->outdated = false;
	BloomxLockDirectory(check->index);
	BloomxReadPlaces(check);
	BloomxUnlockDirectory(check->index);
	CheckTable(check, heap, snapshot);
	UnregisterSnapshot(snapshot);
	return !check->outdated;
}

/* Returns how many rows of the table should be in the index, and are. */
static int64
CheckIndex(Relation index, Relation heap)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	BloomxCheck check = {.index = index};

	check.memory = AllocSetContextCreate(memory, "bloomx check places", ALLOCSET_DEFAULT_SIZES);
	(BloomxIsOfFilters(index) ? BloomxCheckFilters : BloomxCheckValues) (&check);
	while (!CheckWithLatestSnapshot(&check, heap))
		;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return check.checked;
}

/* bloomx_check_index(index regclass): rows that were checked */
PG_FUNCTION_INFO_V1(bloomx_check_index);
Datum
bloomx_check_index(PG_FUNCTION_ARGS)
{
	Relation	heap,
				index = BloomxOpenIndex(PG_GETARG_OID(0), &heap);
	int64		checked;
	Oid			user;
	int			context,
				nest_level;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errdetail("A standby replays changes while the index is read, which would look like damage."),
				 errhint("Check the index on the primary, or on the standby after its promotion.")));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
				 errhint("REINDEX it.")));

	/* index expressions are code of the owner, and must run as the owner */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	RestrictSearchPath();
	checked = CheckIndex(index, heap);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);

	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_INT64(checked);
}
