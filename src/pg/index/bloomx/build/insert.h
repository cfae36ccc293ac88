/*
 * insert.h - INSERT, for PostgreSQL.
 */
#ifndef BLOOMX_INSERT_H
#define BLOOMX_INSERT_H

#include "pg/base/base.h"

#include "access/amapi.h"

#pragma GCC visibility push(hidden)

extern bool bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
						 IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);

#pragma GCC visibility pop

#endif							/* BLOOMX_INSERT_H */
