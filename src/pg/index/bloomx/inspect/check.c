/*
 * check.c - bloomx_check_index.
 *
 * It goes through the whole index and the whole table: every row is in the index,
 * its signature has every bit that it must have, and no page is used twice.  That
 * proves lookups right for all keys.
 *
 * The directory lock is held meanwhile, so nothing in the index moves: VACUUM waits,
 * and rows that are inserted become pending rows.  What the rows of the table must have
 * in the index is collected in batches, and each is checked segment by segment.
 */
#include "pg/base/base.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/index/bloomx/build/feed.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/inspect/check_places.h"
#include "pg/index/bloomx/pending/list.h"

/* ---- a batch ---- */

/* By segment, the pending rows last, and then by row. */
static inline int
CompareSegments(const BloomxPlace *a, const BloomxPlace *b)
{
	if (a->segment != b->segment)
		return a->segment > b->segment ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

#define ST_SORT SortBatch
#define ST_ELEMENT_TYPE BloomxPlace
#define ST_COMPARE(a, b) CompareSegments(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
CheckPending(BloomxCheck *check, BloomxPlace *places, Size n)
{
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->directory);
	const uint64 *row;
	Size		i = 0;

	for (uint32 number = 0; i < n && (row = BloomxNextPending(reader)) != NULL; number++)
		for (; i < n && places[i].row == number; i++)
			places[i].lacks = check->pending_lacks(check, places[i].of, row, reader->n);
	BloomxEndPending(reader);
}

/* Each row must have a place with all of its bits. */
static void
CheckBatch(BloomxCheck *check)
{
	bool	   *found = palloc0(Max(1, check->nrows) * sizeof(bool));
	Size		n;

	/* the places of each segment together, since a page of it has bits of all its rows */
	SortBatch(check->batch, check->nbatch);
	for (Size first = 0; first < check->nbatch; first += n)
	{
		uint32		segment = check->batch[first].segment;

		for (n = 1; first + n < check->nbatch && check->batch[first + n].segment == segment;)
			n++;
		if (segment == IN_PENDING)
			CheckPending(check, check->batch + first, n);
		else if (check->directory->segments[segment].slices > 0)	/* others may hold anything */
			check->check_segment(check, &check->directory->segments[segment], check->batch + first, n);
	}
	for (Size i = 0; i < check->nbatch; i++)
		found[check->batch[i].of] |= !check->batch[i].lacks;
	for (uint32 i = 0; i < check->nrows; i++)
		if (!found[i])
			BloomxReportRow(check, &check->rows[i], "lacks a bit");
	pfree(found);
	check->nbatch = check->nrows = 0;
}

/* ---- the rows of the table ---- */

/* Adds the places of a row to the batch: entries of the row, or of its block. */
static void
AddPlaces(BloomxCheck *check, const ItemPointerData *tid)
{
	ItemPointerData tids[2] = {*tid, *tid};
	Size		before = check->nbatch;

	ItemPointerSetOffsetNumber(&tids[1], WHOLE_BLOCK);
	for (int i = 0; i < 2; i++)
		for (Size place = BloomxFindPlace(check, &tids[i]);
			 place < check->nplaces && ItemPointerCompare(&check->places[place].tid, &tids[i]) == 0; place++)
		{
			if (check->nbatch == check->room)
				check->batch = repalloc_huge(check->batch, (check->room *= 2) * sizeof(BloomxPlace));
			check->batch[check->nbatch] = check->places[place];
			check->batch[check->nbatch++].of = check->nrows;
		}
	if (check->nbatch == before)
		BloomxReportRow(check, tid, "is missing");
}

static void
CheckRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BloomxCheck *check = arg;
	MemoryContext old = MemoryContextSwitchTo(check->row_memory);
	bool		indexed = check->keep_row(check, check->nrows, values, isnull);

	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_memory);
	if (!indexed)
		return;
	AddPlaces(check, tid);
	check->rows[check->nrows++] = *tid;
	check->checked++;
	if (check->nrows == check->most_rows || check->is_full)
		CheckBatch(check);
}

static void
CheckTable(BloomxCheck *check, Relation heap, Snapshot snapshot)
{
	IndexInfo  *info = BuildIndexInfo(check->index);

	check->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check row", ALLOCSET_DEFAULT_SIZES);
	check->rows = MemoryContextAllocHuge(CurrentMemoryContext, check->most_rows * sizeof(ItemPointerData));
	check->room = check->most_rows;
	check->batch = MemoryContextAllocHuge(CurrentMemoryContext, check->room * sizeof(BloomxPlace));
	info->ii_Concurrent = true;
	table_index_build_scan(heap, check->index, info, true, false, CheckRow, check,
						   table_beginscan_strat(heap, snapshot, 0, NULL, true, true));
	CheckBatch(check);
}

/*
 * Returns how many rows of the table should be in the index, and are.
 *
 * Every row that the snapshot sees must be in the index already.  That is true
 * only of a snapshot taken now.  The snapshot of a REPEATABLE READ transaction
 * may be older than the index, and see row versions that the index never had.
 */
static int64
CheckIndex(Relation index, Relation heap)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	BloomxCheck check = {.index = index};
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	BloomxLockDirectory(index);
	BloomxReadPlaces(&check);
	if (check.directory->meta.keys.of_values)
		BloomxCheckValues(&check);
	else
		BloomxCheckFilters(&check);
	CheckTable(&check, heap, snapshot);
	BloomxUnlockDirectory(index);
	UnregisterSnapshot(snapshot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return check.checked;
}

/* VACUUM waits for a check, so reading the table is not enough. */
static void
CheckMayHoldVacuum(Relation heap)
{
	if (!OwnsRelation(RelationGetRelid(heap), GetUserId()) && !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of table %s", RelationGetRelationName(heap)),
				 errdetail("Roles with the privileges of pg_stat_scan_tables may check its indexes, too.")));
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

	CheckMayHoldVacuum(heap);
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
	if (bloomx_feed != NULL && !BloomxIsOfFilters(index))
		bloomx_feed->check(heap, index);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);

	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_INT64(checked);
}
