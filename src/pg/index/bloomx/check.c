/*
 * check.c - bloomx_check_index.
 *
 * It goes through the whole index and the whole table: every row is in the index,
 * its signature has every bit that it must have, and no page is used twice.  That
 * proves lookups right for all keys.
 *
 * The structure lock is held while the index is read, but not while the table is
 * read: first for the TIDs, and then for the bits of one batch of rows at a time.
 * If merges have moved rows in between, the index is read again.  If the geometry
 * has changed, which happens only before there is a segment (provisional.c), the
 * check begins again.
 */
#include "pg/index/bloomx/check.h"

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

void
BloomxReportRow(const BloomxCheck *check, const ItemPointerData *tid, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\": row (%u,%u) %s", RelationGetRelationName(check->index),
					ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid), problem)));
}

/* ---- the index's TIDs ---- */

static inline int
ComparePlaces(const BloomxPlace *a, const BloomxPlace *b)
{
	return ItemPointerCompare((ItemPointer) &a->tid, (ItemPointer) &b->tid);
}

/* By segment, the pending rows last, and then by row. */
static inline int
CompareSegments(const BloomxPlace *a, const BloomxPlace *b)
{
	if (a->segment != b->segment)
		return a->segment > b->segment ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

/* There may be hundreds of millions of places: sorting them must react to a cancel. */
#define ST_SORT SortPlaces
#define ST_ELEMENT_TYPE BloomxPlace
#define ST_COMPARE(a, b) ComparePlaces(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT SortBatch
#define ST_ELEMENT_TYPE BloomxPlace
#define ST_COMPARE(a, b) CompareSegments(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

Size
BloomxFindPlace(const BloomxCheck *check, const ItemPointerData *tid)
{
	const BloomxPlace sought = {.tid = *tid};
	Size		from = 0,
				to = check->nplaces;

	while (from < to)
	{
		Size		middle = from + (to - from) / 2;

		if (ComparePlaces(&check->places[middle], &sought) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void
BloomxSortBatch(BloomxPlace *batch, Size n)
{
	SortBatch(batch, n);
}

static void
AddPlace(BloomxCheck *check, ItemPointerData tid, uint32 segment, uint32 row)
{
	if (ItemPointerIsValid(&tid))
		check->places[check->nplaces++] = (BloomxPlace) {.tid = tid, .segment = segment, .row = row};
}

static void
CollectPending(BloomxCheck *check)
{
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->structure, check->structure->pending_words, NULL);
	const uint64 *words;

	for (uint32 row = 0; (words = BloomxNextPending(reader)) != NULL; row++)
		AddPlace(check, BloomxPendingTid(words), IN_PENDING, row);
	if (reader->gone)
		BloomxReportCorruption(check->index, "a page of pending rows is something else");
	BloomxEndPending(reader);
}

/* Collects the places of all rows, sorted by TID.  Needs the structure lock. */
static void
CollectPlaces(BloomxCheck *check)
{
	const BloomxStructure *structure = check->structure;
	Size		rows = structure->pending_words;	/* more than there can be */

	for (uint32 i = 0; i < structure->meta.segments; i++)
		rows += structure->segments[i].rows;

	/* the rows of all segments, and the pending ones */
	check->nplaces = 0;
	check->places = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows) * sizeof(BloomxPlace));
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		ItemPointerData *tids;

		CHECK_FOR_INTERRUPTS();
		if (structure->segments[i].rows == 0)
			continue;
		tids = BloomxReadAllTids(check->index, &structure->segments[i]);
		for (uint32 row = 0; row < structure->segments[i].rows; row++)
			AddPlace(check, tids[row], i, row);
		pfree(tids);
	}
	CollectPending(check);

	SortPlaces(check->places, check->nplaces);
}

/* Reads what the index consists of now.  Needs the structure lock. */
static void
ReadIndex(BloomxCheck *check)
{
	MemoryContext old;

	MemoryContextReset(check->memory);
	old = MemoryContextSwitchTo(check->memory);
	check->structure = BloomxReadStructure(check->index, NULL);
	pfree(BloomxMapPages(check->index, check->structure, check->structure->blocks));
	CollectPlaces(check);
	MemoryContextSwitchTo(old);
}

/* ---- the rows of the table ---- */

static void
CheckBatch(BloomxCheck *check)
{
	BloomxStructure *now;
	bool		changed;

	BloomxLockStructure(check->index);
	now = BloomxReadStructure(check->index, NULL);
	check->outdated = now->geometry.blocks != check->structure->geometry.blocks ||
		(now->geometry.parts != check->structure->geometry.parts && !now->meta.keys.of_values);
	changed = now->meta.changes != check->structure->meta.changes;
	if (!check->outdated)
	{
		if (changed)
			ReadIndex(check);
		check->check_batch(check, changed);
	}
	BloomxUnlockStructure(check->index);
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
	BloomxLockStructure(check->index);
	ReadIndex(check);
	BloomxUnlockStructure(check->index);
	CheckTable(check, heap, snapshot);
	UnregisterSnapshot(snapshot);
	return !check->outdated;
}

/* bloomx_check_index(index regclass): rows that were checked */
PG_FUNCTION_INFO_V1(bloomx_check_index);
Datum
bloomx_check_index(PG_FUNCTION_ARGS)
{
	Relation	heap;
	BloomxCheck check = {.index = BloomxOpenIndex(PG_GETARG_OID(0), &heap)};
	Oid			user;
	int			context,
				nest_level;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errdetail("A standby replays changes while the index is read, and would show damage that is none."),
				 errhint("Check the index on the primary, or on the standby after its promotion.")));
	if (!check.index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(check.index)),
				 errhint("REINDEX it.")));
	check.memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check index", ALLOCSET_DEFAULT_SIZES);
	(BloomxIsOfValues(check.index) ? BloomxCheckValues : BloomxCheckFilters) (&check);

	/* index expressions are code of the owner, and must run as the owner */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	RestrictSearchPath();
	while (!CheckWithLatestSnapshot(&check, heap))
		;
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);

	MemoryContextDelete(check.memory);
	relation_close(check.index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_INT64(check.checked);
}
