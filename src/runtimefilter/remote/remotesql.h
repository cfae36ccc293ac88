/*
 * remotesql.h - one more condition in the query that postgres_fdw has written for a
 * table.
 */
#ifndef RUNTIMEFILTER_REMOTESQL_H
#define RUNTIMEFILTER_REMOTESQL_H

#include "pg/base/compat.h"

#pragma GCC visibility push(hidden)

/* True if the query is one that postgres_fdw writes for a table whose rows it only reads. */
extern bool TakesCondition(const char *query);

/* Such a query with one more condition. */
extern char *AddCondition(const char *query, const char *condition);

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_REMOTESQL_H */
