/*
 * algebra.c - union, intersection, disjointness and size reduction in SQL.
 */
#include "pg/functions/functions.h"

#include "core/layouts/hashes.h"
#include "pg/value/combine.h"
#include "pg/value/estimate.h"
#include "pg/value/growth.h"

static blx_filter *
UnionWithHashes(const blx_filter *f, const blx_filter *hashes)
{
	blx_identity of_f = blx_identity_of(f),
				of_hashes = blx_identity_of(hashes);
	blx_filter *result;
	uint64		batch[64],
				cursor = 0;
	size_t		n;
	blx_error	error;

	if (!blx_identity_check(&of_f, "The first filter", &of_hashes, "the second", &error) ||
		(f->layout != BLX_HASHES && !blx_check_operation(f->layout, BLX_UNION, &error)))
		ThrowCoreError(&error);
	result = CopyForKeys(f, &of_hashes);
	if (result->layout == BLX_HASHES)
		result = MakeRoomForHashes(result, blx_hashes_union_count(result, hashes), 0);
	while ((n = blx_hashes_next_for(f->layout, hashes, &cursor, batch, lengthof(batch))) > 0)
	{
		blx_filter *before = result;

		result = AddHashes(before, batch, n);
		if (result != before)
			pfree(before);
	}
	result->capacity = Max(result->capacity, hashes->capacity);
	return result;
}

/*
 * Is it the filter of no keys, as bloom_agg gives it over no rows?  It goes with
 * any other of its key type: its own size and seed mean nothing.
 */
bool
FilterIsBlank(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);

	return f->layout == BLX_PARTITIONED_BLOCKED && f->capacity == 0 && f->seed == 0 &&
		blx_bits(&geometry) <= 128 && blx_bits_set(f) == 0;
}

/* Of a filter and another that adds no keys to it. */
static blx_filter *
UnionWithEmpty(const blx_filter *f, const blx_filter *empty)
{
	blx_identity identity = blx_identity_of(empty);
	blx_filter *result;

	CheckBlank(f, empty);
	result = CopyForKeys(f, &identity);
	result->capacity = Max(f->capacity, empty->capacity);
	return result;
}

/* Only the key types of a blank filter and another must agree. */
void
CheckBlank(const blx_filter *f, const blx_filter *blank)
{
	blx_identity of_f = blx_identity_of(f),
				of_blank = blx_identity_of(blank);
	blx_error	error;

	of_blank.seed = of_f.seed;
	if (!blx_identity_check(&of_f, "The first filter", &of_blank, "the second", &error))
		ThrowCoreError(&error);
}

/*
 * a | b.  A filter without any key is left out: the union is the other one, and
 * not cut to the empty one's few parts.
 */
blx_filter *
UnionFilters(const blx_filter *a, const blx_filter *b)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = JointIdentity(&ia, &ib);
	uint64		size;
	blx_error	error;
	blx_filter *result;

	if (FilterIsBlank(b))
		return UnionWithEmpty(a, b);
	if (FilterIsBlank(a))
		return UnionWithEmpty(b, a);
	if (b->layout == BLX_HASHES)
		return UnionWithHashes(a, b);
	if (a->layout == BLX_HASHES)
		return UnionWithHashes(b, a);

	if (!blx_union_bytes(a, b, joint.name_len, &size, &error))
		ThrowCoreError(&error);
	if (blx_bits_set(a) == 0 && blx_bits_set(b) > 0)
		return UnionWithEmpty(b, a);
	if (blx_bits_set(b) == 0 && blx_bits_set(a) > 0)
		return UnionWithEmpty(a, b);
	result = AllocFilter(size);
	blx_union(result, a, b, &joint);
	return result;
}

/* a & b */
blx_filter *
IntersectFilters(const blx_filter *a, const blx_filter *b)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = JointIdentity(&ia, &ib);
	blx_geometry geometry;
	blx_error	error;
	blx_filter *result;

	if (FilterIsBlank(a) || FilterIsBlank(b))
	{
		CheckBlank(a, b);
		return CopyForKeys(FilterIsBlank(a) ? a : b, &joint);
	}
	if (!blx_intersection_geometry(a, b, &geometry, &error))
		ThrowCoreError(&error);
	result = NewFilter(&geometry, &joint, 0);
	blx_set_all(result);
	blx_and_into(result, a);
	blx_and_into(result, b);
	return result;
}

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
	blx_error	error;

	if (FilterIsBlank(a) || FilterIsBlank(b))
		CheckBlank(a, b);
	else if (!blx_disjoint(a, b, &certain, &error))
		ThrowCoreError(&error);
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
	PG_RETURN_FILTER(DatumGetFilterPrefix(PG_GETARG_DATUM(0), PG_GETARG_INT32(1)));
}

/* bloom_fold(f, times int) */
PG_FUNCTION_INFO_V1(bloom_fold);
Datum
bloom_fold(PG_FUNCTION_ARGS)
{
	blx_filter *f = PG_GETARG_FILTER(0);
	blx_geometry geometry;
	blx_error	error;

	if (!blx_fold_geometry(f, PG_GETARG_INT32(1), &geometry, &error))
		ThrowCoreError(&error);
	PG_RETURN_FILTER(ResizeFilter(f, &geometry));
}

/* The smallest fold and prefix of f of rate fpr, or NULL and the error. */
blx_filter *
ShrinkFilter(const blx_filter *f, double fpr, blx_error *error)
{
	blx_filter *scratch = palloc(blx_shrink_scratch(f));
	blx_geometry geometry;
	bool		shrinks = blx_shrink_geometry(f, fpr, scratch, &geometry, error);

	pfree(scratch);
	return shrinks ? ResizeFilter(f, &geometry) : NULL;
}

/* bloom_shrink(f, fpr float8) */
PG_FUNCTION_INFO_V1(bloom_shrink);
Datum
bloom_shrink(PG_FUNCTION_ARGS)
{
	blx_error	error;
	blx_filter *shrunk = ShrinkFilter(PG_GETARG_FILTER(0), PG_GETARG_FLOAT8(1), &error);

	if (shrunk == NULL)
		ThrowCoreError(&error);
	PG_RETURN_FILTER(shrunk);
}
