/*
 * bloomx.h - what the access method offers to PostgreSQL, and at load time.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"

#include "pg/index/bloomx/format/options.h"

/* ---- rebuild.c ---- */

/* Rebuilds the segments of an index of values, if they have many more rows than the table, which has `tuples`. */
extern void BloomxRebuildEntries(Relation index, double tuples);

/* ---- nulls.c ---- */

/* At load time: tells the planner that rows without a filter are not in the index. */
extern void BloomxInitNulls(void);

/* ---- scan.c, vacuum.c, cost.c ---- */

extern IndexScanDesc bloomxbeginscan(Relation index, int keys, int orderbys);
extern void bloomxrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 bloomxgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void bloomxendscan(IndexScanDesc scan);
extern IndexBulkDeleteResult *bloomxbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *bloomxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
extern void bloomxcostestimate(struct PlannerInfo *root, struct IndexPath *path, double loops, Cost *startup, Cost *total,
							   Selectivity *selectivity, double *correlation, double *pages);
