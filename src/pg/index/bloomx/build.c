/*
 * build.c - CREATE INDEX and INSERT.
 *
 * The index's geometry is chosen from the first filters, unless an option says
 * it, and stays until REINDEX.  CREATE INDEX collects rows in memory and writes
 * a segment whenever maintenance_work_mem or a segment is full; INSERT appends
 * to the pending rows and, when they are too many, does one step of a merge now and then.
 */
#include "pg/index/bloomx/index.h"

#include "access/tableam.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/value/value.h"

/*
 * By how much an INSERT that finds no free page makes the index longer: enough
 * for the row of the largest signatures, and few enough to wait for.
 */
#define NEW_PAGES 32

/* Pending rows of so many pages become a segment: each step of the merge reads them again. */
#define MERGE_PAGES 1024

/* So many filters are enough to choose a geometry from. */
#define SAMPLE_FILTERS 1000

typedef struct BuildState
{
	Relation	index;
	IndexOptions options;
	Meta		keys;			/* geometry and key type so far */
	int64		indexed;

	/* filters that wait for the geometry to be chosen */
	GeometrySample sample;
	blx_filter *filters[SAMPLE_FILTERS];
	Size		sample_bytes;

	/* rows that wait to be written; the TIDs first belong to the waiting filters */
	ItemPointerData *tids;
	uint64	   *signatures;
	uint32		rows;
	uint32		max_rows;
	uint32		stride;

	MemoryContext row_memory;	/* emptied after every row */
	MemoryContext segment_memory;	/* after every segment */
} BuildState;

static void
FlushRows(BuildState *state)
{
	blx_geometry geometry = GeometryOf(&state->keys);
	RowSource	source = {.tids = state->tids, .rows = state->rows, .signatures = state->signatures, .stride = state->stride};
	MemoryContext old = MemoryContextSwitchTo(state->segment_memory);

	AddSegment(state->index, &geometry, &source);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->segment_memory);
	state->rows = 0;
}

static void
AddRow(BuildState *state, const ItemPointerData *tid, const blx_filter *f)
{
	blx_geometry geometry = GeometryOf(&state->keys);

	MakeSignature(state->signatures + (Size) state->rows * state->stride, &geometry, f, JoinKeyType(&state->keys, f));
	state->tids[state->rows++] = *tid;
	if (state->rows == state->max_rows)
		FlushRows(state);
}

/* The geometry, and the key type that the rows have had so far. */
static void
WriteKeys(Relation index, const Meta *keys)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state;
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	meta->log2_blocks = keys->log2_blocks;
	meta->parts = keys->parts;
	meta->key_type = keys->key_type;
	meta->name_len = keys->name_len;
	memcpy(meta->name, keys->name, sizeof meta->name);
	SealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* Chooses the geometry, unless it is known, and makes room for rows of it. */
static void
StartRows(BuildState *state)
{
	uint32		waiting = state->rows;
	blx_geometry geometry;

	if (state->keys.parts == 0)
	{
		geometry = ChooseGeometry(&state->options, &state->sample);
		SetGeometry(&state->keys, &geometry);
	}
	WriteKeys(state->index, &state->keys);
	geometry = GeometryOf(&state->keys);
	state->stride = (uint32) blx_body_words(&geometry);
	state->max_rows = (uint32) Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / (8 * state->stride)));
	state->signatures = MemoryContextAllocHuge(CurrentMemoryContext, 8 * (Size) state->stride * state->max_rows);
	state->rows = 0;
	/* a row never overtakes the TID of one that waits */
	for (uint32 i = 0; i < waiting; i++)
	{
		AddRow(state, &state->tids[i], state->filters[i]);
		pfree(state->filters[i]);
	}
}

static void
HoldFilter(BuildState *state, const ItemPointerData *tid, const blx_filter *f)
{
	SampleGeometry(&state->sample, f);
	state->sample_bytes += blx_size(f);
	state->filters[state->rows] = CopyFilter(f);
	state->tids[state->rows++] = *tid;
	if (state->rows == SAMPLE_FILTERS || state->sample_bytes > maintenance_work_mem * (Size) 1024 / 2)
		StartRows(state);
}

static void
BuildRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BuildState *state = arg;
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
	state->indexed++;
}

static void
WriteMetaPage(Relation index)
{
	Buffer		buffer = ReadBuffer(index, P_NEW);
	GenericXLogState *state;

	Assert(BufferGetBlockNumber(buffer) == META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	InitMetaPage(index, GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

IndexBuildResult *
BuildIndex(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	BuildState *state = palloc0(sizeof(BuildState));

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	WriteMetaPage(index);
	state->index = index;
	state->options = GetIndexOptions(index);
	state->keys = ReadStructure(index, NULL)->meta;
	state->tids = palloc(MAX_SEGMENT_ROWS * sizeof(ItemPointerData));
	state->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build row", ALLOCSET_DEFAULT_SIZES);
	state->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build segment", ALLOCSET_DEFAULT_SIZES);
	if (state->keys.parts > 0)
		StartRows(state);

	result->heap_tuples = table_index_build_scan(heap, index, info, true, true, BuildRow, state, NULL);
	if (state->signatures == NULL && state->rows > 0)
		StartRows(state);
	if (state->rows > 0)
		FlushRows(state);
	WriteKeys(index, &state->keys);
	result->index_tuples = state->indexed;
	if (state->signatures != NULL)
		pfree(state->signatures);
	return result;
}

/* What an unlogged index is reset to after a crash. */
void
BuildEmptyIndex(Relation index)
{
	Buffer		buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	InitMetaPage(index, BufferGetPage(buffer));
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* ---- INSERT ---- */

/* What the metapage will say of geometry and key type, and the row, all under the metapage's lock. */
static bool
AppendRow(Relation index, Buffer buffer, ItemPointer tid, const blx_filter *f, Meta *meta)
{
	blx_geometry geometry;
	bool		comparable,
				appended;
	uint64	   *row;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	*meta = *GetMeta(index, BufferGetPage(buffer));
	if (meta->parts == 0)
	{
		IndexOptions options = GetIndexOptions(index);
		GeometrySample sample = {0};

		SampleGeometry(&sample, f);
		geometry = ChooseGeometry(&options, &sample);
		SetGeometry(meta, &geometry);
	}
	geometry = GeometryOf(meta);
	comparable = JoinKeyType(meta, f);
	row = palloc(PendingWords(&geometry) * sizeof(uint64));
	MakeSignature(row + 1, &geometry, f, comparable);
	appended = AppendPending(index, buffer, meta, tid, row);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	pfree(row);
	return appended;
}

/*
 * Nothing here waits for a merge, for VACUUM or for a check: only for a page's
 * lock, or for somebody who makes the index a few pages longer.  If a step of
 * a merge is due and nobody else is at it, it follows.  The row is in the
 * index by then; a cancel in that step loses no more than the step.
 */
bool
InsertRow(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
		  IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	MemoryContext memory,
				old;
	Buffer		buffer;
	blx_filter *f;
	Meta	   *meta;
	uint32		step;

	if (isnull[0])
		return false;
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx insert", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	f = DatumGetFilter(values[0]);
	meta = palloc(sizeof(Meta));
	buffer = ReadBuffer(index, META_BLOCK);
	while (!AppendRow(index, buffer, tid, f, meta))
		ExtendIndex(index, NEW_PAGES);
	ReleaseBuffer(buffer);
	step = InsertStep(meta, index);
	if (step > 0 && TryLockStructure(index))
	{
		(void) MergeStep(index, step, MERGE_PAGES);
		UnlockStructure(index);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return false;
}
