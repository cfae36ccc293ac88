/*
 * build.h - CREATE INDEX, for PostgreSQL.
 */
#ifndef BLOOMX_BUILD_H
#define BLOOMX_BUILD_H

#include "pg/base/base.h"

#include "access/amapi.h"

#pragma GCC visibility push(hidden)

extern IndexBuildResult *bloomxbuild(Relation heap, Relation index, struct IndexInfo *info);
extern void bloomxbuildempty(Relation index);
extern char *bloomxbuildphasename(int64 phase);

#pragma GCC visibility pop

#endif							/* BLOOMX_BUILD_H */
