/*
 * builder.h - the parts of CREATE INDEX and INSERT.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"
#include "access/relscan.h"

#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/entries.h"

/*
 * What CREATE INDEX does with each row, in memory that is reset after it, and at the end.
 * A row of values may have none that are known (NULL): it may hold anything.
 */
typedef struct BloomxBuilder
{
	Relation	index;
	int64		indexed;		/* rows */
	bool		in_vacuum;		/* which shows no phases of CREATE INDEX */
	void		(*add_row) (struct BloomxBuilder *builder, const ItemPointerData *tid, const Datum *values, const bool *isnull);
	void		(*finish) (struct BloomxBuilder *builder);
} BloomxBuilder;

/* ---- build_filters.c ---- */

extern BloomxBuilder *BloomxStartFilters(Relation index, const BloomxShare *share);

/* Makes a filter a pending row; returns the step of a merge that is due then, or 0.  *keys is what is known of the index's; 0 parts: nothing. */
extern uint32 BloomxInsertFilter(Relation index, BloomxTarget *target, Datum filter, ItemPointer tid, BloomxKeys *keys);

/* ---- build_values.c ---- */

extern BloomxBuilder *BloomxStartValues(Relation index, const BloomxShare *share);

/* A process writes all rows that it still has to its file; the leader takes the rows in a file, and may use all of the memory from then on. */
extern void BloomxHandOverValues(BloomxBuilder *builder);
extern void BloomxTakeOverValues(BloomxBuilder *builder, BufFile *file);

/* The same for a row of values. */
extern uint32 BloomxInsertValues(Relation index, BloomxTarget *target, BloomxColumns *columns, const Datum *values, const bool *isnull, ItemPointer tid);

/* ---- build_scan.c ---- */

/*
 * Phases in pg_stat_progress_create_index.  The server numbers the one before
 * them, in which the scan of the table begins (PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE).
 */
#define SCANNING_PHASE 2
#define WRITING_PHASE 3

/* Adds a segment of that number of slices.  Several processes may do so at the same time. */
extern void BloomxAddSegment(BloomxBuilder *builder, uint32 slices, const BloomxRowSource *source);

/* Reads the table, or the blocks that a parallel scan gives, and adds the rows; returns how many there were, indexed or not.  tids: takes theirs, or NULL. */
extern double BloomxScanTable(BloomxBuilder *builder, Relation heap, struct IndexInfo *info, BufFile *tids,
							  TableScanDesc scan, bool progress);

/* ---- build_parallel.c ---- */

/* Builds an index of values with workers.  False, with nothing done, if it may have none. */
extern bool BloomxBuildInParallel(Relation heap, Relation index, struct IndexInfo *info, BufFile *tids, IndexBuildResult *result);
