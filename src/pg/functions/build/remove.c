/*
 * remove.c - filters that count their keys: taking keys out, reading their
 * counters, and dropping the counters.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

/*
 * f without these keys, as a new value.  Keys that f does not hold change
 * nothing but the count of refusals, which = does not look at.
 */
static blx_filter *
WithoutHashes(const blx_filter *f, const uint64 *hashes, size_t n)
{
	static TimestampTz last_notice;
	blx_filter *result = CopyFilter(f);
	size_t		removed;

	CheckCore(blx_remove(result, hashes, n, &removed, &core_error));
	if (removed < n && FirstInStatement(&last_notice))
		ereport(NOTICE,
				(n == 1
				 ? errmsg("key is not in the filter")
				 : errmsg("%zu of %zu keys are not in the filter", n - removed, n),
				 errdetail_plural("It was not removed; bloom_info counts such refusals.",
								  "They were not removed; bloom_info counts such refusals.", n - removed)));
	return result;
}

/* bloom_remove(f bloomfilter, v anycompatible) */
PG_FUNCTION_INFO_V1(bloom_remove);
Datum
bloom_remove(PG_FUNCTION_ARGS)
{
	blx_filter *f;
	uint64		hash;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	f = PG_GETARG_FILTER(0);
	hash = KeyArgumentHash(fcinfo, 1, f);
	PG_RETURN_FILTER(WithoutHashes(f, &hash, 1));
}

/* bloom_remove_all(f bloomfilter, vs anycompatiblearray): NULL elements are skipped */
PG_FUNCTION_INFO_V1(bloom_remove_all);
Datum
bloom_remove_all(PG_FUNCTION_ARGS)
{
	blx_filter *f;
	uint64	   *hashes;
	int			n;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	f = PG_GETARG_FILTER(0);
	hashes = ElementHashes(fcinfo, 1, f, &n);
	PG_RETURN_FILTER(WithoutHashes(f, hashes, n));
}

/* bloom_remove_hash(f bloomfilter, hash bigint): a hash as in bloom_add_hash */
PG_FUNCTION_INFO_V1(bloom_remove_hash);
Datum
bloom_remove_hash(PG_FUNCTION_ARGS)
{
	uint64		hash;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	hash = (uint64) PG_GETARG_INT64(1);
	PG_RETURN_FILTER(WithoutHashes(PG_GETARG_FILTER(0), &hash, 1));
}

/* A block has as many planes as a counter has bits, so the filter is read whole. */
static const blx_filter *
FilterToCount(FunctionCallInfo fcinfo)
{
	return GetTestedFilter(GetCallCache(fcinfo->flinfo), PG_GETARG_DATUM(0), PG_INT32_MAX).filter;
}

/* The least of a key's counters. */
static Datum
CountOf(const blx_filter *f, uint64 hash)
{
	unsigned	count;

	CheckCore(blx_count(f, hash, &count, &core_error));
	PG_RETURN_INT32((int32) count);
}

/* bloom_key_count(f bloomfilter, v anycompatible) */
PG_FUNCTION_INFO_V1(bloom_key_count);
Datum
bloom_key_count(PG_FUNCTION_ARGS)
{
	const blx_filter *f = FilterToCount(fcinfo);

	return CountOf(f, KeyArgumentHash(fcinfo, 1, f));
}

/* bloom_key_count_hash(f bloomfilter, hash bigint) */
PG_FUNCTION_INFO_V1(bloom_key_count_hash);
Datum
bloom_key_count_hash(PG_FUNCTION_ARGS)
{
	return CountOf(FilterToCount(fcinfo), (uint64) PG_GETARG_INT64(1));
}

/* bloom_drop_counters(f bloomfilter) */
PG_FUNCTION_INFO_V1(bloom_drop_counters);
Datum
bloom_drop_counters(PG_FUNCTION_ARGS)
{
	const blx_filter *f = PG_GETARG_FILTER(0);
	blx_identity identity = blx_identity_of(f);
	blx_geometry geometry;
	blx_filter *result;

	CheckCore(blx_to_bits_geometry(f, &geometry, &core_error));
	result = NewFilter(&geometry, &identity, f->capacity);
	blx_to_bits(result, f);
	PG_RETURN_FILTER(result);
}
