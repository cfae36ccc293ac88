/*
 * membership.c - is this key possibly in that set?
 *
 * What does not change between rows (key type, detoasted filter) is kept in
 * fn_extra; a row costs the key's hash and the probe.  A large stored filter
 * that differs from row to row is read in slices.
 */
#include "pg/base/bloomx.h"

static pg_noinline Datum
ContainsKeySlowly(FunctionCallInfo fcinfo, int filter, int element)
{
	ProbedFilter probed = GetProbedFilter(fcinfo, filter);
	KeyType    *key = GetKeyType(fcinfo, element);

	CheckKeyType(probed.filter, key);
	if (probed.toasted == NULL)
		SetReady(GetCallCache(fcinfo), probed.filter);
	PG_RETURN_BOOL(ProbeFilter(&probed, HashKey(key, PG_GETARG_DATUM(element), probed.filter->seed)));
}

static pg_attribute_always_inline Datum
ContainsKey(FunctionCallInfo fcinfo, int filter, int element)
{
	CallCache  *cache = fcinfo->flinfo->fn_extra;
	const blx_filter *f = cache ? ReadyFilter(cache, PG_GETARG_DATUM(filter)) : NULL;

	if (f == NULL)
		return ContainsKeySlowly(fcinfo, filter, element);
	PG_RETURN_BOOL(blx_test_inline(f, HashKey(&cache->key, PG_GETARG_DATUM(element), f->seed)));
}

/* f @> v */
PG_FUNCTION_INFO_V1(bloom_contains);
Datum
bloom_contains(PG_FUNCTION_ARGS)
{
	return ContainsKey(fcinfo, 0, 1);
}

/* v <@ f */
PG_FUNCTION_INFO_V1(bloom_contained);
Datum
bloom_contained(PG_FUNCTION_ARGS)
{
	return ContainsKey(fcinfo, 1, 0);
}

/* bloom_prefilter(v, f): as v <@ f, but the planner takes it for implied by a join */
PG_FUNCTION_INFO_V1(bloom_prefilter);
Datum
bloom_prefilter(PG_FUNCTION_ARGS)
{
	return ContainsKey(fcinfo, 1, 0);
}

PG_FUNCTION_INFO_V1(bloom_contains_hash);
Datum
bloom_contains_hash(PG_FUNCTION_ARGS)
{
	ProbedFilter probed = GetProbedFilter(fcinfo, 0);

	PG_RETURN_BOOL(ProbeFilter(&probed, (uint64) PG_GETARG_INT64(1)));
}

/* Is one of the keys found, or one not found? */
static bool
AnyIs(bool found, const ProbedFilter *probed, const uint64 *hashes, int n)
{
	if (probed->toasted != NULL)
	{
		for (int i = 0; i < n; i++)
			if (ProbeToastedFilter(probed, hashes[i]) == found)
				return true;
		return false;
	}
	for (int i = 0; i < n; i += 64)
	{
		unsigned	batch = Min(n - i, 64);
		uint64		are = blx_test_batch(probed->filter, hashes + i, batch);

		if (found ? are != 0 : are != ~UINT64CONST(0) >> (64 - batch))
			return true;
	}
	return false;
}

/*
 * As = ANY and = ALL: a NULL element makes the answer NULL where the other
 * elements do not decide it.
 */
static Datum
ContainsArray(FunctionCallInfo fcinfo, bool decisive)
{
	ProbedFilter probed = GetProbedFilter(fcinfo, 0);
	KeyType    *key = GetElementKeyType(fcinfo, 1);
	int			n;
	bool		nulls;
	uint64	   *hashes;

	CheckKeyType(probed.filter, key);
	hashes = HashArray(key, PG_GETARG_DATUM(1), probed.filter->seed, &n, &nulls);
	PrepareProbes(fcinfo, &probed, n);
	if (AnyIs(decisive, &probed, hashes, n))
		PG_RETURN_BOOL(decisive);
	if (nulls)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(!decisive);
}

PG_FUNCTION_INFO_V1(bloom_contains_any);
Datum
bloom_contains_any(PG_FUNCTION_ARGS)
{
	return ContainsArray(fcinfo, true);
}

PG_FUNCTION_INFO_V1(bloom_contains_all);
Datum
bloom_contains_all(PG_FUNCTION_ARGS)
{
	return ContainsArray(fcinfo, false);
}
