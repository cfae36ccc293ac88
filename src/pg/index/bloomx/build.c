/*
 * build.c - CREATE INDEX and INSERT.
 *
 * The index's geometry is chosen from the first filters, unless an option or the
 * column's type sets it, and stays until REINDEX.  If the table is empty, the
 * first rows that are inserted decide (provisional.c).  CREATE INDEX collects
 * rows in memory and writes a segment whenever maintenance_work_mem or a segment
 * is full.  INSERT appends to the pending rows; when there are too many, some inserts do a step of a merge.
 */
#include "pg/index/bloomx/index.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pg/base/objects.h"
#include "pg/functions/typmod.h"
#include "pg/value/value.h"

/*
 * By how many pages an INSERT that finds no free one extends the index: enough
 * for a row of the largest signatures, which needs 17, and for many small rows,
 * but few enough that the INSERT and those that wait for it lose little time.
 */
#define NEW_PAGES 32

/*
 * The most pages of pending rows that a merge begun by an INSERT takes.  Each of
 * its steps reads them all again: more pages would make steps slower, fewer would
 * make smaller segments, which are merged again sooner.
 */
#define MERGE_PAGES 1024

/*
 * The filters from which CREATE INDEX chooses the geometry.  It is the one that
 * 99 in 100 of them do not exceed (signature.c), so a tenth of this number would
 * leave the choice to the second largest filter.  They wait in memory.
 */
#define SAMPLE_FILTERS 1000

/*
 * Phases in pg_stat_progress_create_index.  The server numbers the one before
 * them, in which the scan of the table begins (PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE).
 */
#define SCANNING_PHASE 2
#define WRITING_PHASE 3

char *
bloomxbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case SCANNING_PHASE:
			return "scanning table";
		case WRITING_PHASE:
			return "writing segment";
		default:
			return NULL;
	}
}

static void
EnterPhase(int64 phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

typedef struct BloomxBuildState
{
	Relation	index;
	BloomxOptions options;
	BloomxKeys	keys;			/* geometry and key type so far */
	int64		indexed;

	/* filters that wait for the geometry to be chosen */
	BloomxGeometrySample sample;
	blx_filter *filters[SAMPLE_FILTERS];
	Size		sample_bytes;

	/* rows that wait to be written; at first the TIDs are those of the waiting filters */
	ItemPointerData *tids;
	uint64	   *signatures;
	uint32		rows;
	uint32		max_rows;
	uint32		stride;

	MemoryContext row_memory;	/* reset after every row */
	MemoryContext segment_memory;	/* reset after every segment */
} BloomxBuildState;

static void
FlushRows(BloomxBuildState *state)
{
	blx_geometry geometry = BloomxGeometryOf(&state->keys);
	BloomxRowSource source = {.tids = state->tids, .rows = state->rows, .signatures = state->signatures, .stride = state->stride};
	MemoryContext old = MemoryContextSwitchTo(state->segment_memory);

	EnterPhase(WRITING_PHASE);
	BloomxAddSegment(state->index, (uint32) blx_bits(&geometry), &source);
	EnterPhase(SCANNING_PHASE);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->segment_memory);
	state->rows = 0;
}

static void
AddRow(BloomxBuildState *state, const ItemPointerData *tid, const blx_filter *f)
{
	blx_geometry geometry = BloomxGeometryOf(&state->keys);

	BloomxMakeSignature(state->signatures + (Size) state->rows * state->stride, &geometry, f, BloomxJoinKeyType(&state->keys, f));
	state->tids[state->rows++] = *tid;
	if (state->rows == state->max_rows)
		FlushRows(state);
}

/* Writes the geometry, and the key type of the rows so far, to the metapage, which is locked. */
static void
WriteKeys(Relation index, Buffer buffer, const BloomxKeys *keys)
{
	GenericXLogState *state = GenericXLogStart(index);
	BloomxMeta *meta = BloomxGetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));

	meta->keys = *keys;
	BloomxSealPending(meta);
	GenericXLogFinish(state);
}

static void
LockAndWriteKeys(Relation index, const BloomxKeys *keys)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	WriteKeys(index, buffer, keys);
	UnlockReleaseBuffer(buffer);
}

/*
 * The geometry without a filter to look at: that of the type, if the column is
 * declared as bloomfilter(capacity, rate).  0 parts: the filters have to say.
 */
static void
ChooseByType(Relation index, const BloomxOptions *options, BloomxKeys *keys)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), 0);
	int32		typmod = column->atttypmod;
	const FilterType *type;
	BloomxGeometrySample sample = {0};

	(void) getBaseTypeAndTypmod(column->atttypid, &typmod);	/* that of a domain */
	type = LookupFilterType(typmod);
	if (type != NULL && BloomxSampleType(&sample, &type->geometry))
	{
		blx_geometry geometry = BloomxChooseGeometry(options, &sample);

		BloomxSetGeometry(keys, &geometry);
	}
}

/* Chooses the geometry, unless an option has set it, and makes room for rows of it. */
static void
StartRows(BloomxBuildState *state)
{
	uint32		waiting = state->rows;
	blx_geometry geometry;

	if (state->keys.parts == 0)
	{
		geometry = BloomxChooseGeometry(&state->options, &state->sample);
		BloomxSetGeometry(&state->keys, &geometry);
	}
	/* the metapage must have it before the first segment is added */
	LockAndWriteKeys(state->index, &state->keys);
	geometry = BloomxGeometryOf(&state->keys);
	state->stride = (uint32) blx_body_words(&geometry);
	state->max_rows = (uint32) Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / (8 * state->stride)));
	state->signatures = MemoryContextAllocHuge(CurrentMemoryContext, 8 * (Size) state->stride * state->max_rows);

	/* the rows that waited: row i is written to place i or an earlier one, so it overwrites no TID that waits */
	state->rows = 0;
	for (uint32 i = 0; i < waiting; i++)
	{
		AddRow(state, &state->tids[i], state->filters[i]);
		pfree(state->filters[i]);
	}
}

static void
HoldFilter(BloomxBuildState *state, const ItemPointerData *tid, const blx_filter *f)
{
	BloomxSampleGeometry(&state->sample, f);
	state->sample_bytes += blx_size(f);
	state->filters[state->rows] = CopyFilter(f);
	state->tids[state->rows++] = *tid;
	if (state->rows == SAMPLE_FILTERS || state->sample_bytes > maintenance_work_mem * (Size) 1024 / 2)
		StartRows(state);
}

static void
BuildRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BloomxBuildState *state = arg;
	MemoryContext old;
	blx_filter *f;

	if (isnull[0])
		return;
	old = MemoryContextSwitchTo(state->row_memory);
	f = DatumGetFilter(values[0]);
	if (state->signatures != NULL)
		AddRow(state, tid, f);
	else
	{
		MemoryContextSwitchTo(old);
		HoldFilter(state, tid, f);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_memory);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, ++state->indexed);
}

static void
WriteMetaPage(Relation index)
{
	Buffer		buffer = ReadBuffer(index, P_NEW);
	GenericXLogState *state;

	Assert(BufferGetBlockNumber(buffer) == META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	BloomxInitMetaPage(index, GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* The name of the BRIN class for values of a type; that for integers, as an example, if the type has none of its own. */
static char *
BrinClassFor(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(getBaseType(type)));
	char	   *class = psprintf("%s_bloomx_ops", NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	char	   *schema = get_namespace_name(get_func_namespace(OwnFunctionOid(BLOOM_CONTAINS)));

	ReleaseSysCache(tuple);
	if (OidIsValid(get_opclass_oid(BRIN_AM_OID, list_make2(makeString(schema), makeString(class)), true)))
		return class;
	return "int4_bloomx_ops";
}

/*
 * The default class of all other types has no operators.  It is there so that an
 * index on values gets this far, and its user learns what to write instead.
 */
static void
CheckColumn(Relation heap, Relation index)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), 0);
	bool		is_expression = index->rd_index->indkey.values[0] == 0;

	if (!IsFilterType(column->atttypid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("access method bloomx indexes filters, not values of type %s", format_type_be(column->atttypid)),
				 errdetail("It finds the rows whose filter may hold a key."),
				 errhint("To find the blocks of the table that may have a value, use a BRIN class of the extension, for example: CREATE INDEX ON %s USING brin (%s %s).",
						 quote_identifier(RelationGetRelationName(heap)),
						 is_expression ? "(expression)" : quote_identifier(NameStr(column->attname)),
						 BrinClassFor(column->atttypid))));
	if (index->rd_opcintype[0] != FilterTypeOid())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the operator class of index \"%s\" is not for filters", RelationGetRelationName(index)),
				 errhint("Leave the operator class out: bloomx_ops is the default for filters.")));
}

IndexBuildResult *
bloomxbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	BloomxBuildState *state = palloc0(sizeof(BloomxBuildState));

	CheckColumn(heap, index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	WriteMetaPage(index);
	state->index = index;
	state->options = BloomxGetOptions(index);
	state->keys = BloomxReadStructure(index, NULL)->meta.keys;
	state->tids = palloc(MAX_SEGMENT_ROWS * sizeof(ItemPointerData));
	state->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build row", ALLOCSET_DEFAULT_SIZES);
	state->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build segment", ALLOCSET_DEFAULT_SIZES);
	if (state->keys.parts == 0)
		ChooseByType(index, &state->options, &state->keys);
	if (state->keys.parts > 0)	/* set by an option or the type: no filters need wait */
		StartRows(state);

	if (heap->rd_rel->reltuples > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) heap->rd_rel->reltuples);
	EnterPhase(SCANNING_PHASE);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, true, BuildRow, state, NULL);
	/* a small table: its filters still wait */
	if (state->signatures == NULL && state->rows > 0)
		StartRows(state);
	if (state->rows > 0)
		FlushRows(state);
	LockAndWriteKeys(index, &state->keys);	/* the last rows may have brought the key type */
	result->index_tuples = state->indexed;
	if (state->signatures != NULL)
		pfree(state->signatures);
	return result;
}

/* The init fork, to which an unlogged index is reset after a crash. */
void
bloomxbuildempty(Relation index)
{
	Buffer		buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	BloomxInitMetaPage(index, BufferGetPage(buffer));
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* ---- INSERT ---- */

/* Lets keys include those of f; returns true if f's keys are of the index's type. */
static bool
JoinKeys(Relation index, BloomxKeys *keys, const blx_filter *f)
{
	/* the first row of an empty index */
	if (keys->parts == 0)
	{
		blx_geometry own = BloomxOwnGeometry(f);

		BloomxWidenKeys(index, keys, &own);
		keys->provisional = true;
	}
	return BloomxJoinKeyType(keys, f);
}

static bool
SameKeys(const BloomxKeys *a, const BloomxKeys *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static void
ReadKeys(Relation index, Buffer buffer, BloomxKeys *keys)
{
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*keys = BloomxGetMetaForInsert(index, BufferGetPage(buffer))->keys;
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

/*
 * Makes *keys those of the index, which it may know already, and the index's those
 * that include f's.  Returns true if f's keys are of the index's type.
 */
static bool
KnowKeys(Relation index, Buffer buffer, const blx_filter *f, BloomxKeys *keys)
{
	BloomxKeys	joined;
	bool		comparable;

	if (keys->parts == 0)
		ReadKeys(index, buffer, keys);
	joined = *keys;
	comparable = JoinKeys(index, &joined, f);
	if (!SameKeys(&joined, keys))
	{
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		*keys = BloomxGetMeta(index, BufferGetPage(buffer))->keys;
		comparable = JoinKeys(index, keys, f);
		WriteKeys(index, buffer, keys);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	return comparable;
}

/* The first word of a row.  If the geometry is provisional, sees to it that it holds f. */
static BloomxRowHead
MakeHead(Relation index, Buffer buffer, const blx_filter *f, ItemPointer tid, BloomxKeys *keys)
{
	BloomxRowHead head = {.tid = *tid};

	if (keys->provisional)
	{
		blx_geometry own = BloomxOwnGeometry(f);

		if (BloomxWidenPending(index, keys, &own))
			ReadKeys(index, buffer, keys);
		head.log2_blocks = (uint8) pg_leftmost_one_pos32(own.blocks);
		head.parts = (uint8) own.parts;
	}
	return head;
}

/* The row as the list of pending rows has it: a word with the TID, then the signature. */
static uint64 *
MakeRow(Relation index, Buffer buffer, const blx_filter *f, ItemPointer tid, BloomxKeys *keys)
{
	bool		comparable = KnowKeys(index, buffer, f, keys);
	BloomxRowHead head = MakeHead(index, buffer, f, tid, keys);
	blx_geometry geometry = BloomxGeometryOf(keys);
	uint64	   *row = palloc(BloomxPendingWords(&geometry) * sizeof(uint64));

	memcpy(row, &head, sizeof head);
	BloomxMakeSignature(row + 1, &geometry, f, comparable);
	return row;
}

/* What the INSERTs of one statement keep, in IndexInfo.ii_AmCache. */
typedef struct BloomxInsertState
{
	MemoryContext memory;		/* reset after every row */
	BloomxKeys	keys;			/* of the index when they were read; 0 parts: not read yet */
} BloomxInsertState;

static BloomxInsertState *
GetInsertState(IndexInfo *info)
{
	BloomxInsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		state = info->ii_AmCache = MemoryContextAllocZero(info->ii_Context, sizeof(BloomxInsertState));
		state->memory = AllocSetContextCreate(info->ii_Context, "bloomx insert", ALLOCSET_DEFAULT_SIZES);
	}
	return state;
}

typedef enum BloomxAppended
{
	APPENDED,
	OTHER_KEYS,					/* the index has other keys by now than those that the row was made for */
	NO_ROOM						/* on the last page, or, under the exclusive lock, among the free pages */
} BloomxAppended;

/* Appends a row under a lock of the metapage; *step is the step of a merge that is due then. */
static BloomxAppended
AppendRow(Relation index, Buffer buffer, int mode, const BloomxKeys *keys, const uint64 *row, uint32 *step)
{
	const BloomxMeta *meta;
	BloomxAppended result = NO_ROOM;
	uint32		rows;

	LockBuffer(buffer, mode);
	meta = BloomxGetMetaForInsert(index, BufferGetPage(buffer));
	if (!SameKeys(&meta->keys, keys))
		result = OTHER_KEYS;
	else if (BloomxAppendToLastPage(index, meta, row, &rows) ||
			 (mode == BUFFER_LOCK_EXCLUSIVE && BloomxAppendToNewPages(index, buffer, row, &rows)))
	{
		result = APPENDED;
		*step = BloomxInsertStep(meta, rows, index);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

/*
 * Makes a filter a pending row; returns the step of a merge that is due then, or
 * 0.  The signature is made without a lock, because a large filter takes its time.
 */
static uint32
InsertFilter(Relation index, const blx_filter *f, ItemPointer tid, BloomxKeys *keys)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	BloomxAppended result = OTHER_KEYS;
	uint64	   *row = NULL;
	uint32		step = 0;

	while (result != APPENDED)
	{
		if (result == OTHER_KEYS)
		{
			if (row != NULL)
				keys->parts = 0;	/* read them again */
			row = MakeRow(index, buffer, f, tid, keys);
		}
		result = AppendRow(index, buffer, BUFFER_LOCK_SHARE, keys, row, &step);
		if (result == NO_ROOM)
			result = AppendRow(index, buffer, BUFFER_LOCK_EXCLUSIVE, keys, row, &step);
		if (result == NO_ROOM)
			BloomxExtendIndex(index, NEW_PAGES);
	}
	ReleaseBuffer(buffer);
	return step;
}

/*
 * An INSERT does not wait for a merge, VACUUM or a check.  It waits only for page
 * locks, for a process that extends the index by a few pages, and, while there is
 * no segment, for one that works on the pending rows.  If a step of a merge is due and nobody else holds the structure lock, the step follows.  By
 * then the row is in the index, so a cancel loses no more than the step.
 */
bool
bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			 IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	BloomxInsertState *state;
	MemoryContext old;
	uint32		step;

	if (isnull[0])
		return false;
	state = GetInsertState(info);
	old = MemoryContextSwitchTo(state->memory);
	step = InsertFilter(index, DatumGetFilter(values[0]), tid, &state->keys);
	if (step > 0 && BloomxTryLockStructure(index))
	{
		(void) BloomxMergeStep(index, step, MERGE_PAGES);
		BloomxUnlockStructure(index);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->memory);
	return false;
}
