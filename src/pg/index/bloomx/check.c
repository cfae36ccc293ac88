/*
 * check.c - bloomx_check_index and bloomx_index_info.
 *
 * bloomx_check_index goes through the whole index and the whole table: every
 * row with a filter is in the index exactly once, its signature has every bit
 * that it must have, and no page is used twice.  That proves lookups right for
 * all keys.
 *
 * The structure lock is held while the index is read, but not while the table is
 * read: first for the TIDs, and then for the bits of one batch of rows at a time.
 * If merges have moved rows in between, the index is read again.  If the geometry
 * has changed, which happens only before there is a segment (provisional.c), the
 * check begins again.
 */
#include "pg/index/bloomx/index.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/value/value.h"

#define IN_PENDING PG_UINT32_MAX

/* Where a TID is in the index. */
typedef struct BloomxPlace
{
	ItemPointerData tid;
	uint32		segment;		/* its number, or IN_PENDING */
	uint32		row;
	Size		signature;		/* its number in the batch */
} BloomxPlace;

typedef struct BloomxCheck
{
	Relation	index;
	BloomxStructure *structure;
	MemoryContext memory;		/* has the structure and the places; reset when they are read again */

	BloomxPlace *places;		/* sorted by TID */
	Size		nplaces;

	/* rows whose bits are still to be checked, and the bits that their signatures must have */
	BloomxPlace *batch;
	uint64	   *signatures;
	Size		batched;
	Size		max_batch;
	bool		outdated;		/* true if the geometry has changed: the check must begin again */

	int64		checked;
	MemoryContext row_memory;
} BloomxCheck;

pg_noreturn static void
ReportRow(BloomxCheck *check, const ItemPointerData *tid, const char *problem)
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

static BloomxPlace *
FindPlace(const BloomxCheck *check, const ItemPointerData *tid)
{
	const BloomxPlace sought = {.tid = *tid};
	Size		from = 0,
				to = check->nplaces;

	while (from < to)
	{
		Size		middle = from + (to - from) / 2;
		int			order = ComparePlaces(&check->places[middle], &sought);

		if (order == 0)
			return &check->places[middle];
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
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
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->structure, check->structure->pending_rows, NULL);
	const uint64 *words;

	for (uint32 row = 0; (words = BloomxNextPending(reader)) != NULL; row++)
		AddPlace(check, BloomxPendingTid(words), IN_PENDING, row);
	if (reader->gone)
		BloomxReportCorruption(check->index, "a page of pending rows is something else");
}

/* Collects the places of all rows, sorted by TID.  Needs the structure lock. */
static void
CollectPlaces(BloomxCheck *check)
{
	const BloomxStructure *structure = check->structure;
	Size		rows = structure->pending_rows;

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

	/* a TID twice would be next to itself */
	SortPlaces(check->places, check->nplaces);
	for (Size i = 1; i < check->nplaces; i++)
		if (ComparePlaces(&check->places[i - 1], &check->places[i]) == 0)
			ReportRow(check, &check->places[i].tid, "is there twice");
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

/* ---- the rows' bits ---- */

/* Checks word `number` of the signatures of n rows of one segment. */
static void
CheckWord(BloomxCheck *check, const BloomxPlace *rows, Size n, uint32 number, uint64 *slices, uint64 *column)
{
	const BloomxSegment *segment = &check->structure->segments[rows->segment];
	Size		words = blx_body_words(&check->structure->geometry);

	BloomxReadColumn(check->index, segment, number, slices, column);
	for (uint32 row = segment->rows; row % 64 != 0; row++)
		if (column[row] != 0)
			BloomxReportCorruption(check->index, "there are bits beyond the last row of a segment");
	for (Size i = 0; i < n; i++)
		if (check->signatures[rows[i].signature * words + number] & ~column[rows[i].row])
			ReportRow(check, &rows[i].tid, "lacks a bit");
}

/* Checks n rows of one segment, word by word. */
static void
CheckSegmentRows(BloomxCheck *check, const BloomxPlace *rows, Size n, uint64 *slices, uint64 *column)
{
	for (uint32 word = 0; word < blx_body_words(&check->structure->geometry); word++)
	{
		CHECK_FOR_INTERRUPTS();
		CheckWord(check, rows, n, word, slices, column);
	}
}

/* Checks n pending rows, which are in the order of the list. */
static void
CheckPendingRows(BloomxCheck *check, const BloomxPlace *rows, Size n)
{
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->structure, check->structure->pending_rows, NULL);
	Size		words = blx_body_words(&check->structure->geometry),
				i = 0;
	const uint64 *row;

	for (uint32 number = 0; i < n && (row = BloomxNextPending(reader)) != NULL; number++)
	{
		if (rows[i].row != number)
			continue;
		for (Size word = 0; word < words; word++)
			if (check->signatures[rows[i].signature * words + word] & ~row[1 + word])
				ReportRow(check, &rows[i].tid, "lacks a bit");
		i++;
	}
	if (i < n)
		BloomxReportCorruption(check->index, "a page of pending rows is something else");
	pfree(reader->row);
	pfree(reader);
}

/*
 * Finds the rows of the batch again after merges have moved rows.  VACUUM cannot
 * have removed any: the snapshot sees them.
 */
static void
FindBatchAnew(BloomxCheck *check)
{
	ReadIndex(check);
	for (Size i = 0; i < check->batched; i++)
	{
		BloomxPlace *place = FindPlace(check, &check->batch[i].tid);

		if (place == NULL)
			ReportRow(check, &check->batch[i].tid, "is missing");
		check->batch[i].segment = place->segment;
		check->batch[i].row = place->row;
	}
}

static void
CheckBatch(BloomxCheck *check)
{
	uint64	   *slices = palloc(SLICES_BYTES),
			   *column = palloc(COLUMN_BYTES);
	BloomxStructure *now;
	Size		n;

	BloomxLockStructure(check->index);
	now = BloomxReadStructure(check->index, NULL);
	check->outdated = now->geometry.blocks != check->structure->geometry.blocks || now->geometry.parts != check->structure->geometry.parts;
	if (check->outdated)
		check->batched = 0;
	else if (now->meta.changes != check->structure->meta.changes)
		FindBatchAnew(check);

	/* the rows of each segment together, since a column is read for all of its rows */
	SortBatch(check->batch, check->batched);
	for (Size first = 0; first < check->batched; first += n)
	{
		uint32		segment = check->batch[first].segment;

		for (n = 1; first + n < check->batched && check->batch[first + n].segment == segment;)
			n++;
		if (segment == IN_PENDING)
			CheckPendingRows(check, check->batch + first, n);
		else
			CheckSegmentRows(check, check->batch + first, n, slices, column);
	}
	BloomxUnlockStructure(check->index);
	pfree(now->segments);
	pfree(now);
	pfree(slices);
	pfree(column);
	check->batched = 0;
}

/* A row of the table: must have a place; its bits are checked with the batch. */
static void
CheckRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BloomxCheck *check = arg;
	const blx_geometry *geometry = &check->structure->geometry;
	uint64	   *signature = check->signatures + check->batched * blx_body_words(geometry);
	BloomxPlace *place;
	MemoryContext old;
	blx_filter *f;

	if (isnull[0] || check->outdated)
		return;
	place = FindPlace(check, tid);
	if (place == NULL)
		ReportRow(check, tid, "is missing");
	old = MemoryContextSwitchTo(check->row_memory);
	f = DatumGetFilter(values[0]);
	BloomxMakeSignature(signature, geometry, f, BloomxJoinKeyType(&check->structure->meta.keys, f));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_memory);
	check->checked++;
	check->batch[check->batched] = *place;
	check->batch[check->batched].signature = check->batched;
	if (++check->batched == check->max_batch)
		CheckBatch(check);
}

static void
CheckTable(BloomxCheck *check, Relation heap, Snapshot snapshot)
{
	IndexInfo  *info = BuildIndexInfo(check->index);
	Size		bytes = 8 * Max(1, blx_body_words(&check->structure->geometry));

	check->max_batch = Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / bytes));
	check->signatures = MemoryContextAllocHuge(CurrentMemoryContext, check->max_batch * bytes);
	check->batch = palloc(check->max_batch * sizeof(BloomxPlace));
	check->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check row", ALLOCSET_DEFAULT_SIZES);
	info->ii_Concurrent = true;
	table_index_build_scan(heap, check->index, info, true, false, CheckRow, check,
						   table_beginscan_strat(heap, snapshot, 0, NULL, true, true));
	if (!check->outdated)
		CheckBatch(check);
	pfree(check->signatures);
	pfree(check->batch);
	MemoryContextDelete(check->row_memory);
}

/*
 * A user who may read the table may know what its index is made of, and so may
 * the roles that monitor the server.
 */
static void
CheckPrivilege(Relation heap, Relation index)
{
	Oid			user = GetUserId();

	if (pg_class_aclcheck(RelationGetRelid(heap), user, ACL_SELECT) != ACLCHECK_OK &&
		!has_privs_of_role(user, ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for index \"%s\"", RelationGetRelationName(index)),
				 errdetail("This needs SELECT on table \"%s\", or the privileges of pg_stat_scan_tables.",
						   RelationGetRelationName(heap))));
}

static Relation
OpenIndex(Oid id, Relation *heap)
{
	Oid			table = IndexGetRelation(id, true);
	Relation	index;

	*heap = OidIsValid(table) ? table_open(table, AccessShareLock) : NULL;
	index = try_relation_open(id, AccessShareLock);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("there is no relation with OID %u", id)));
	if (*heap == NULL || table != IndexGetRelation(id, true) || index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_indam->aminsert != bloomxinsert)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a bloomx index", RelationGetRelationName(index)),
				 errhint("Name an index made by CREATE INDEX ... USING bloomx.")));
	CheckPrivilege(*heap, index);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	return index;
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
	BloomxCheck check = {.index = OpenIndex(PG_GETARG_OID(0), &heap)};
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

/* bloomx_index_info(index regclass): what the index consists of */
PG_FUNCTION_INFO_V1(bloomx_index_info);
Datum
bloomx_index_info(PG_FUNCTION_ARGS)
{
	Relation	heap,
				index = OpenIndex(PG_GETARG_OID(0), &heap);
	BloomxStructure *structure = BloomxReadStructure(index, NULL);
	int64		segments = 0,
				rows = 0,
				removed = 0,
				used = 1 + structure->meta.directory_pages + structure->meta.pending.pages,
				merging = 0,
				free = 0,
				pages;
	bool		known = structure->meta.keys.parts > 0 && !structure->meta.keys.provisional;
	bool		nulls[10] = {!known, !known};
	Datum		values[10];
	TupleDesc	tuple;

	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		segments += structure->segments[i].rows > 0;
		rows += structure->segments[i].rows - structure->segments[i].dead;
		removed += structure->segments[i].dead;
		if (structure->segments[i].rows > 0)
			used += BloomxSegmentPages(&structure->segments[i]);
	}
	if (structure->meta.merge.segment.rows > 0)
		merging = BloomxSegmentPages(&structure->meta.merge.segment);
	for (uint32 i = 0; i < structure->meta.free_runs; i++)
		free += structure->meta.free[i].pages;
	values[0] = Int64GetDatum(known ? (int64) blx_bits(&structure->geometry) : 0);
	values[1] = Int32GetDatum(structure->meta.keys.parts);
	values[2] = Int64GetDatum(segments);
	values[3] = Int64GetDatum(rows);
	values[4] = Int64GetDatum(removed);
	pages = structure->blocks;
	values[5] = Int64GetDatum(structure->pending_rows);
	values[6] = Int64GetDatum(pages);
	values[7] = Int64GetDatum(free);
	values[8] = Int64GetDatum(merging);
	values[9] = Int64GetDatum(pages - used - merging - free);
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	if (get_call_result_type(fcinfo, NULL, &tuple) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tuple), values, nulls)));
}
