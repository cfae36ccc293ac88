/*
 * build.h - CREATE INDEX and INSERT, for PostgreSQL.
 */
#ifndef BLOOMX_BUILD_H
#define BLOOMX_BUILD_H

#include "pg/base/base.h"

#include "access/amapi.h"

#pragma GCC visibility push(hidden)

extern IndexBuildResult *bloomxbuild(Relation heap, Relation index, struct IndexInfo *info);
extern void bloomxbuildempty(Relation index);
extern char *bloomxbuildphasename(int64 phase);

/* ---- insert.c ---- */

extern bool bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
						 IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);

#pragma GCC visibility pop

#endif							/* BLOOMX_BUILD_H */
