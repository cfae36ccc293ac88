/*
 * check.c - is an index what it should be?
 *
 * bloomx_check_index goes through the whole index and the whole table: every
 * row with a filter is in the index exactly once, and its signature has every
 * bit that it must have.  What a lookup needs is thereby shown for all keys.
 */
#include "pg/index/bloomx/index.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define IN_PENDING PG_UINT32_MAX

/* Where a TID is in the index. */
typedef struct Place
{
	ItemPointerData tid;
	uint32		segment;		/* its number, or IN_PENDING */
	uint32		row;
	Size		signature;		/* which one of the batch */
} Place;

typedef struct Check
{
	Relation	index;
	Structure  *structure;
	uint64	   *pending;

	Place	   *places;			/* by TID */
	Size		nplaces;

	/* rows of segments whose bits are still to be looked at */
	Place	   *batch;
	uint64	   *signatures;
	Size		batched;
	Size		max_batch;

	int64		checked;
	MemoryContext row_memory;
} Check;

pg_noreturn static void
ReportRow(Check *check, const ItemPointerData *tid, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\": row (%u,%u) %s", RelationGetRelationName(check->index),
					ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid), problem)));
}

/* ---- the index's TIDs ---- */

static int
ComparePlaces(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) &((const Place *) a)->tid, (ItemPointer) &((const Place *) b)->tid);
}

static void
AddPlace(Check *check, ItemPointerData tid, uint32 segment, uint32 row)
{
	if (ItemPointerIsValid(&tid))
		check->places[check->nplaces++] = (Place) {.tid = tid, .segment = segment, .row = row};
}

static void
CollectPlaces(Check *check)
{
	const Structure *structure = check->structure;
	Size		rows = structure->meta.pending_rows;

	for (uint32 i = 0; i < structure->meta.segments; i++)
		rows += structure->segments[i].rows;
	check->places = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows) * sizeof(Place));
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		ItemPointerData *tids = ReadAllTids(check->index, &structure->segments[i]);

		for (uint32 row = 0; row < structure->segments[i].rows; row++)
			AddPlace(check, tids[row], i, row);
		pfree(tids);
	}
	check->pending = ReadPending(check->index, structure, NULL);
	if (check->pending == NULL)
		ReportCorruption(check->index, "a page of pending rows is something else");
	for (uint32 row = 0; row < structure->meta.pending_rows; row++)
		AddPlace(check, PendingTid(check->pending + (Size) row * PendingWords(&structure->geometry)), IN_PENDING, row);

	qsort(check->places, check->nplaces, sizeof(Place), ComparePlaces);
	for (Size i = 1; i < check->nplaces; i++)
		if (ComparePlaces(&check->places[i - 1], &check->places[i]) == 0)
			ReportRow(check, &check->places[i].tid, "is there twice");
}

/* ---- the rows' bits ---- */

static int
CompareSegments(const void *a, const void *b)
{
	uint32		x = ((const Place *) a)->segment,
				y = ((const Place *) b)->segment;

	return (x > y) - (x < y);
}

/* Have n rows, all of one segment, the bits of that word of their signatures? */
static void
CheckWord(Check *check, const Place *rows, Size n, uint32 number, uint64 *slices, uint64 *column)
{
	const Segment *segment = &check->structure->segments[rows->segment];
	Size		words = blx_body_words(&check->structure->geometry);

	ReadColumn(check->index, segment, number, slices, column);
	for (uint32 row = segment->rows; row % 64 != 0; row++)
		if (column[row] != 0)
			ReportCorruption(check->index, "there are bits beyond the last row of a segment");
	for (Size i = 0; i < n; i++)
		if (check->signatures[rows[i].signature * words + number] & ~column[rows[i].row])
			ReportRow(check, &rows[i].tid, "lacks a bit");
}

static void
CheckBatch(Check *check)
{
	uint64	   *slices = palloc(SLICES_BYTES),
			   *column = palloc(COLUMN_BYTES);
	Size		n;

	qsort(check->batch, check->batched, sizeof(Place), CompareSegments);
	for (Size first = 0; first < check->batched; first += n)
	{
		for (n = 1; first + n < check->batched && check->batch[first + n].segment == check->batch[first].segment;)
			n++;
		for (uint32 word = 0; word < blx_body_words(&check->structure->geometry); word++)
		{
			CHECK_FOR_INTERRUPTS();
			CheckWord(check, check->batch + first, n, word, slices, column);
		}
	}
	pfree(slices);
	pfree(column);
	check->batched = 0;
}

static void
CheckPendingRow(Check *check, const Place *place, const uint64 *signature)
{
	const uint64 *row = check->pending + (Size) place->row * PendingWords(&check->structure->geometry);

	for (Size i = 0; i < blx_body_words(&check->structure->geometry); i++)
		if (signature[i] & ~row[1 + i])
			ReportRow(check, &place->tid, "lacks a bit");
}

/* A row of the table. */
static void
CheckRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Check	   *check = arg;
	const blx_geometry *geometry = &check->structure->geometry;
	uint64	   *signature = check->signatures + check->batched * blx_body_words(geometry);
	Place		sought = {.tid = *tid},
			   *place;
	MemoryContext old;
	blx_filter *f;

	if (isnull[0])
		return;
	place = bsearch(&sought, check->places, check->nplaces, sizeof(Place), ComparePlaces);
	if (place == NULL)
		ReportRow(check, tid, "is missing");
	old = MemoryContextSwitchTo(check->row_memory);
	f = DatumGetFilter(values[0]);
	MakeSignature(signature, geometry, f, JoinKeyType(&check->structure->meta, f));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_memory);
	check->checked++;
	if (place->segment == IN_PENDING)
	{
		CheckPendingRow(check, place, signature);
		return;
	}
	check->batch[check->batched] = *place;
	check->batch[check->batched].signature = check->batched;
	if (++check->batched == check->max_batch)
		CheckBatch(check);
}

/* A snapshot of its own: every row that it sees must be in the index already. */
static void
CheckTable(Check *check, Relation heap, Snapshot snapshot)
{
	IndexInfo  *info = BuildIndexInfo(check->index);
	Size		bytes = 8 * Max(1, blx_body_words(&check->structure->geometry));

	check->max_batch = Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / bytes));
	check->signatures = MemoryContextAllocHuge(CurrentMemoryContext, check->max_batch * bytes);
	check->batch = palloc(check->max_batch * sizeof(Place));
	check->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx check row", ALLOCSET_DEFAULT_SIZES);
	info->ii_Concurrent = true;
	table_index_build_scan(heap, check->index, info, true, false, CheckRow, check,
						   table_beginscan_strat(heap, snapshot, 0, NULL, true, true));
	CheckBatch(check);
}

static Relation
OpenIndex(Oid id, Relation *heap)
{
	Oid			table = IndexGetRelation(id, true);
	Relation	index;

	*heap = OidIsValid(table) ? table_open(table, AccessShareLock) : NULL;
	index = relation_open(id, AccessShareLock);
	if (*heap == NULL || index->rd_rel->relkind != RELKIND_INDEX || index->rd_indam->aminsert != InsertRow)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a bloomx index", RelationGetRelationName(index)),
				 errhint("Name an index made by CREATE INDEX ... USING bloomx.")));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	return index;
}

/* bloomx_check_index(index regclass): rows that were checked */
PG_FUNCTION_INFO_V1(bloomx_check_index);
Datum
bloomx_check_index(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Check		check = {.index = OpenIndex(PG_GETARG_OID(0), &heap)};
	Snapshot	snapshot;

	if (!check.index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(check.index))));
	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	LockStructure(check.index);
	check.structure = ReadStructure(check.index, NULL);
	CollectPlaces(&check);
	CheckTable(&check, heap, snapshot);
	UnlockStructure(check.index);
	UnregisterSnapshot(snapshot);
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
	Structure  *structure = ReadStructure(index, NULL);
	int64		segments = 0,
				rows = 0,
				removed = 0,
				free = 0;
	bool		known = structure->meta.parts > 0;
	bool		nulls[8] = {!known, !known};
	Datum		values[8];
	TupleDesc	tuple;

	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		segments += structure->segments[i].rows > 0;
		rows += structure->segments[i].rows - structure->segments[i].dead;
		removed += structure->segments[i].dead;
	}
	for (uint32 i = 0; i < structure->meta.free_runs; i++)
		free += structure->meta.free[i].pages;
	values[0] = Int64GetDatum(known ? (int64) blx_bits(&structure->geometry) : 0);
	values[1] = Int32GetDatum(structure->meta.parts);
	values[2] = Int64GetDatum(segments);
	values[3] = Int64GetDatum(rows);
	values[4] = Int64GetDatum(removed);
	values[5] = Int64GetDatum(structure->meta.pending_rows);
	values[6] = Int64GetDatum(RelationGetNumberOfBlocks(index));
	values[7] = Int64GetDatum(free);
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	if (get_call_result_type(fcinfo, NULL, &tuple) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tuple), values, nulls)));
}
