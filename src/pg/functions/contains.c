/*
 * contains.c - tests whether a set may contain a key.
 *
 * What does not change between rows (key type, detoasted filter) is kept in
 * fn_extra.  A row costs the hash of its key and the test.  A large stored
 * filter that differs from row to row is read in pieces.
 */
#include "pg/functions/functions.h"

#include "utils/array.h"

static pg_noinline Datum
ContainsKeySlowly(FunctionCallInfo fcinfo, int filter, int element)
{
	CallCache  *cache = GetCallCache(fcinfo->flinfo);

	ArgumentKeyType(fcinfo, cache, element);
	PG_RETURN_BOOL(CheckAndTestKey(cache, PG_GETARG_DATUM(filter), PG_GETARG_DATUM(element)));
}

static pg_attribute_always_inline Datum
ContainsKey(FunctionCallInfo fcinfo, int filter, int element)
{
	CallCache  *cache = fcinfo->flinfo->fn_extra;
	const blx_filter *f = cache ? PreparedFilter(cache, PG_GETARG_DATUM(filter)) : NULL;

	if (f == NULL)
		return ContainsKeySlowly(fcinfo, filter, element);
	PG_RETURN_BOOL(blx_test_inline(f, HashKey(&cache->key, PG_GETARG_DATUM(element), f->seed)));
}

/* f @> v; and bloom_prefilter(f, v), which the planner takes for implied by a join */
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

PG_FUNCTION_INFO_V1(bloom_contains_hash);
Datum
bloom_contains_hash(PG_FUNCTION_ARGS)
{
	TestedFilter tested = GetTestedFilter(GetCallCache(fcinfo->flinfo), PG_GETARG_DATUM(0), 1);

	PG_RETURN_BOOL(TestFilter(&tested, (uint64) PG_GETARG_INT64(1)));
}

/* True if one of the keys is found; or, with found = false, if one is not found. */
static bool
AnyIs(bool found, const TestedFilter *tested, const uint64 *hashes, int n)
{
	if (tested->stored != NULL)
	{
		for (int i = 0; i < n; i++)
			if (TestStoredFilter(tested, hashes[i]) == found)
				return true;
		return false;
	}
	for (int i = 0; i < n; i += BLX_BATCH)
	{
		unsigned	batch = Min(n - i, BLX_BATCH);
		uint64		are = blx_test_batch(tested->filter, hashes + i, batch);

		if (found ? are != 0 : are != ~UINT64CONST(0) >> (BLX_BATCH - batch))
			return true;
	}
	return false;
}

/*
 * NULLs are treated as by = ANY and = ALL: a NULL element makes the answer NULL
 * unless the other elements decide it.
 */
static Datum
ContainsArray(FunctionCallInfo fcinfo, bool decisive)
{
	CallCache  *cache = GetCallCache(fcinfo->flinfo);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	TestedFilter tested = GetTestedFilter(cache, PG_GETARG_DATUM(0), ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
	KeyType    *key = ElementKeyType(fcinfo, cache, 1);
	int			n;
	bool		nulls;
	uint64	   *hashes;

	CheckKeyType(tested.filter, key);
	hashes = HashArray(key, PointerGetDatum(array), tested.filter->seed, &n, &nulls);
	if (AnyIs(decisive, &tested, hashes, n))
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

/*
 * ---- texts read as keys ----
 *
 * An untyped key as an index condition: its text, whatever expression it comes
 * from, is read as a key of the filter's type.
 */

/* f ?& text */
PG_FUNCTION_INFO_V1(bloomx_holds_text);
Datum
bloomx_holds_text(PG_FUNCTION_ARGS)
{
	GetTextKey(GetCallCache(fcinfo->flinfo), PG_GET_COLLATION());
	return ContainsKey(fcinfo, 0, 1);
}

/* f ?& text[] */
PG_FUNCTION_INFO_V1(bloomx_holds_all_texts);
Datum
bloomx_holds_all_texts(PG_FUNCTION_ARGS)
{
	GetTextKey(GetCallCache(fcinfo->flinfo), PG_GET_COLLATION());
	return ContainsArray(fcinfo, false);
}

/* f ?| text[] */
PG_FUNCTION_INFO_V1(bloomx_holds_any_text);
Datum
bloomx_holds_any_text(PG_FUNCTION_ARGS)
{
	GetTextKey(GetCallCache(fcinfo->flinfo), PG_GET_COLLATION());
	return ContainsArray(fcinfo, true);
}
