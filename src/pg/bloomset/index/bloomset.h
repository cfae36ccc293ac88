/*
 * bloomset.h - the index access method bloomset: what it offers to PostgreSQL, and at
 * load time.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"
#include "utils/relcache.h"

/* Options of an index (CREATE INDEX ... WITH). */
typedef struct BloomsetOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	double		capacity;		/* 0: the set grows */
	double		fpr;
	int			stage_size;		/* kB */
} BloomsetOptions;

/* At load time. */
extern void BloomsetInitOptions(void);

extern BloomsetOptions BloomsetGetOptions(Relation index);
extern bytea *bloomsetoptions(Datum reloptions, bool validate);

/* ---- build.c, insert.c, vacuum.c ---- */

extern IndexBuildResult *bloomsetbuild(Relation heap, Relation index, struct IndexInfo *info);
extern void bloomsetbuildempty(Relation index);
extern bool bloomsetinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
						   IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);
extern IndexBulkDeleteResult *bloomsetbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
												 IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *bloomsetvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
