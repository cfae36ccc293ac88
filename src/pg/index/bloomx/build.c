/*
 * build.c - CREATE INDEX and INSERT.
 *
 * The index's geometry is chosen from the first filters, unless an option sets
 * it, and stays until REINDEX.  CREATE INDEX collects rows in memory and writes
 * a segment whenever maintenance_work_mem or a segment is full.  INSERT appends
 * to the pending rows; when there are too many, some inserts do a step of a merge.
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

	BloomxAddSegment(state->index, &geometry, &source);
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

/* Writes the geometry, and the key type of the rows so far, to the metapage. */
static void
WriteKeys(Relation index, const BloomxKeys *keys)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state;
	BloomxMeta *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = BloomxGetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	meta->keys = *keys;
	BloomxSealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
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
	WriteKeys(state->index, &state->keys);
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
	BloomxInitMetaPage(index, GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

IndexBuildResult *
bloomxbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	BloomxBuildState *state = palloc0(sizeof(BloomxBuildState));

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	WriteMetaPage(index);
	state->index = index;
	state->options = BloomxGetOptions(index);
	state->keys = BloomxReadStructure(index, NULL)->meta.keys;
	state->tids = palloc(MAX_SEGMENT_ROWS * sizeof(ItemPointerData));
	state->row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build row", ALLOCSET_DEFAULT_SIZES);
	state->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build segment", ALLOCSET_DEFAULT_SIZES);
	if (state->keys.parts > 0)	/* set by an option: no filters need wait */
		StartRows(state);

	result->heap_tuples = table_index_build_scan(heap, index, info, true, true, BuildRow, state, NULL);
	/* a small table: its filters still wait */
	if (state->signatures == NULL && state->rows > 0)
		StartRows(state);
	if (state->rows > 0)
		FlushRows(state);
	WriteKeys(index, &state->keys); /* the last rows may have brought the key type */
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

/*
 * Appends a row to the pending ones under the metapage's lock, which makes them
 * and the first row's geometry and key type known in one WAL record.  *meta is a
 * copy of the metapage as it is to become: if there are too few free pages, the
 * page itself must not have changed.  Returns false then.
 */
static bool
AppendRow(Relation index, Buffer buffer, ItemPointer tid, const blx_filter *f, BloomxMeta *meta)
{
	blx_geometry geometry;
	bool		comparable,
				appended;
	uint64	   *row;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	*meta = *BloomxGetMeta(index, BufferGetPage(buffer));
	if (meta->keys.parts == 0)
	{
		BloomxOptions options = BloomxGetOptions(index);
		BloomxGeometrySample sample = {0};

		/* the first row of an empty index decides */
		BloomxSampleGeometry(&sample, f);
		geometry = BloomxChooseGeometry(&options, &sample);
		BloomxSetGeometry(&meta->keys, &geometry);
	}
	geometry = BloomxGeometryOf(&meta->keys);
	comparable = BloomxJoinKeyType(&meta->keys, f);
	row = palloc(BloomxPendingWords(&geometry) * sizeof(uint64));
	BloomxMakeSignature(row + 1, &geometry, f, comparable);
	appended = BloomxAppendPending(index, buffer, meta, tid, row);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	pfree(row);
	return appended;
}

/*
 * An INSERT does not wait for a merge, VACUUM or a check.  It waits only for page
 * locks, and for a process that extends the index by a few pages.  If a step of a
 * merge is due and nobody else holds the structure lock, the step follows.  By
 * then the row is in the index, so a cancel loses no more than the step.
 */
bool
bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			 IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	MemoryContext memory,
				old;
	Buffer		buffer;
	blx_filter *f;
	BloomxMeta *meta;
	uint32		step;

	if (isnull[0])
		return false;
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx insert", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	f = DatumGetFilter(values[0]);
	meta = palloc(sizeof(BloomxMeta));
	buffer = ReadBuffer(index, META_BLOCK);
	while (!AppendRow(index, buffer, tid, f, meta))
		BloomxExtendIndex(index, NEW_PAGES);
	ReleaseBuffer(buffer);
	step = BloomxInsertStep(meta, index);
	if (step > 0 && BloomxTryLockStructure(index))
	{
		(void) BloomxMergeStep(index, step, MERGE_PAGES);
		BloomxUnlockStructure(index);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return false;
}
