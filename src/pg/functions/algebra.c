/*
 * algebra.c - union, intersection, disjointness and size reduction in SQL.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

PG_FUNCTION_INFO_V1(bloom_union);
Datum
bloom_union(PG_FUNCTION_ARGS)
{
	blx_filter *result = UnionFilters(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1));

	ReportOverfill(result, FILTERS_UNITED);
	PG_RETURN_FILTER(result);
}

PG_FUNCTION_INFO_V1(bloom_intersection);
Datum
bloom_intersection(PG_FUNCTION_ARGS)
{
	PG_RETURN_FILTER(IntersectFilters(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1)));
}

static bool
CertainlyDisjoint(FunctionCallInfo fcinfo)
{
	const blx_filter *a = PG_GETARG_FILTER(0);
	const blx_filter *b = PG_GETARG_FILTER(1);
	bool		certain = true;

	CheckCore(blx_disjoint(a, b, &certain, &core_error));
	return certain;
}

/* a !&& b: no key can be in both */
PG_FUNCTION_INFO_V1(bloom_disjoint);
Datum
bloom_disjoint(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(CertainlyDisjoint(fcinfo));
}

/* a && b: a key may be in both */
PG_FUNCTION_INFO_V1(bloom_overlaps);
Datum
bloom_overlaps(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!CertainlyDisjoint(fcinfo));
}

/* bloom_prefix(f, parts int) */
PG_FUNCTION_INFO_V1(bloom_prefix);
Datum
bloom_prefix(PG_FUNCTION_ARGS)
{
	PG_RETURN_FILTER(CheckResult(blx_prefix(PG_GETARG_FILTER(0), PG_GETARG_INT32(1), &FilterMemory, &core_error)));
}

/* bloom_fold(f, times int) */
PG_FUNCTION_INFO_V1(bloom_fold);
Datum
bloom_fold(PG_FUNCTION_ARGS)
{
	PG_RETURN_FILTER(CheckResult(blx_fold(PG_GETARG_FILTER(0), PG_GETARG_INT32(1), &FilterMemory, &core_error)));
}

/* bloom_shrink(f, fpr float8) */
PG_FUNCTION_INFO_V1(bloom_shrink);
Datum
bloom_shrink(PG_FUNCTION_ARGS)
{
	PG_RETURN_FILTER(CheckResult(blx_shrink(PG_GETARG_FILTER(0), PG_GETARG_FLOAT8(1), &FilterMemory, &core_error)));
}
