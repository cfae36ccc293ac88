/*
 * build.h - CREATE INDEX and INSERT, for PostgreSQL.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"

extern IndexBuildResult *bloomxbuild(Relation heap, Relation index, struct IndexInfo *info);
extern void bloomxbuildempty(Relation index);
extern char *bloomxbuildphasename(int64 phase);

/* ---- insert.c ---- */

extern bool bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
						 IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);
