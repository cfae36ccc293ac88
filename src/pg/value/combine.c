/*
 * combine.c - a filter made of others: the core's algebra in palloc's memory.
 */
#include "pg/value/combine.h"

#include "core/filter/algebra/union.h"
#include "pg/value/growth.h"

blx_filter *
CopyForKeys(const blx_filter *f, const blx_identity *keys)
{
	blx_error	error;

	return CheckResult(blx_copy_for(f, keys, &FilterMemory, &error), &error);
}

blx_filter *
UnionFilters(const blx_filter *a, const blx_filter *b)
{
	blx_growth	growth = GrowthFor(0);
	blx_error	error;

	return CheckResult(blx_unite_within(a, b, &growth, &error), &error);
}

blx_filter *
IntersectFilters(const blx_filter *a, const blx_filter *b)
{
	blx_error	error;

	return CheckResult(blx_intersect(a, b, &FilterMemory, &error), &error);
}
