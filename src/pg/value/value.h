/*
 * value.h - from a datum to a checked filter.
 *
 *   value.c     a filter as a PostgreSQL value
 *   stored.c    a filter in a TOAST table, read in pieces (stored.h)
 *   callsite.c  what a call site keeps between rows (callsite.h)
 *   expanded.c  a filter that changes in memory: expanded objects (expanded.h)
 *   growth.c    filters whose size is not known yet, and filters made of others (growth.h)
 *   estimate.c  how full a filter is, and the complaint if it is too full (growth.h)
 */
#pragma once

#include "pg/base/base.h"

/* Throws an error unless the memory is a filter; returns it. */
extern blx_filter *CheckFilter(blx_filter *f);

/* The checked filter behind a datum, which must not be changed: flat, detoasted, or inside an expanded object. */
extern blx_filter *DatumGetFilter(Datum datum);

/*
 * The same for tests only, in time that does not depend on the size of a flat
 * value: a call site sees the same one for each row.  Also for the sets on the
 * right side of ?& and ?|.
 */
extern const blx_filter *DatumGetFilterForTests(Datum datum);

#define PG_GETARG_FILTER(n) DatumGetFilter(PG_GETARG_DATUM(n))
#define PG_RETURN_FILTER(f) PG_RETURN_POINTER(f)
