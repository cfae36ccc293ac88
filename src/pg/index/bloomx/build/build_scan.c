/*
 * build_scan.c - CREATE INDEX reads the rows of the table and adds segments, alone or with others.
 */
#include "pg/base/base.h"

#include "access/tableam.h"
#include "commands/progress.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/concurrent.h"
#include "pg/index/bloomx/directory/snapshot.h"

typedef struct BuildState
{
	BloomxBuilder *builder;
	MemoryContext row_memory;	/* reset after every row */
	BufFile    *tids;			/* if they are asked for later */
	bool		progress;
} BuildState;

static void
BuildRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	BuildState *state = arg;
	MemoryContext old = MemoryContextSwitchTo(state->row_memory);

	state->builder->add_row(state->builder, tid, values, isnull);
	if (state->tids != NULL)
		BloomxNoteTid(state->tids, tid);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_memory);
	if (state->progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, state->builder->indexed);
}

double
BloomxScanTable(BloomxBuilder *builder, Relation heap, IndexInfo *info, BufFile *tids, TableScanDesc scan, bool progress)
{
	BuildState	state = {.builder = builder, .tids = tids, .progress = progress};
	double		tuples;

	state.row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build row", ALLOCSET_DEFAULT_SIZES);
	tuples = table_index_build_scan(heap, builder->index, info, true, progress, BuildRow, &state, scan);
	MemoryContextDelete(state.row_memory);
	return tuples;
}

void
BloomxAddSegment(BloomxBuilder *builder, uint32 slices, const BloomxRowSource *source)
{
	BloomxSegment segment = {.rows = source->rows, .slices = slices, .tuples = source->tuples};

	if (!builder->in_vacuum)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, WRITING_PHASE);
	BloomxCreateSegment(builder->index, &segment, source);
	BloomxUpdateDirectory(builder->index, NULL, &(BloomxUpdate) {.results = &segment, .n = 1});
	if (!builder->in_vacuum)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, SCANNING_PHASE);
}
