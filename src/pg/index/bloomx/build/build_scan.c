/*
 * build_scan.c - CREATE INDEX reads the rows of the table, alone or with others.
 */
#include "pg/base/base.h"

#include "access/tableam.h"
#include "commands/progress.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/concurrent.h"

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
