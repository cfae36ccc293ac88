/*
 * probe_set.c - sets of keys as the right side of ?& and ?|.
 *
 * An operator class cannot take `f @> v`: the consistent function of an index
 * would not learn the type of v.  So an index condition is `f ?& bloomx_probe(v)`
 * (planner/index_condition.c).  Its right side is a bloomfilter too: the open set
 * of the keys' hashes (core/layouts/growing/hashes.c), with their key type, made with
 * seed 0.  The condition is lossy: the original one is asked again for every row
 * found.
 *
 * The hashes of an untyped key depend on the filters' key type, so an index takes
 * its text (ProbeOfTexts).
 *
 * These hashes say nothing about a filter with another seed: it may hold any
 * key.  So may a filter of another key type, and there the original condition
 * raises the error.
 */
#include "pg/functions/functions.h"

#include "miscadmin.h"

#include "core/base/base.h"
#include "core/layouts/growing/hashes.h"
#include "pg/value/growth.h"

blx_filter *
ProbeOfHashes(const KeyType *key, const uint64 *hashes, int n)
{
	blx_filter *probe = NewHashes(NULL, &key->identity, 0, n);

	CheckCore(blx_grow_add(&probe, hashes, n, &FilterMemory, &core_error));
	return probe;
}

const blx_filter *
ProbeOfTexts(KeyType *untyped, Datum texts, bool is_array, const blx_identity *keys)
{
	Datum	   *values = &texts;
	int			n = 1;
	uint64	   *hashes;

	if (!ReadAs(untyped, keys))
		return NULL;
	if (is_array)
		values = TextsOf(texts, &n);
	hashes = palloc(sizeof(uint64) * Max(n, 1));
	for (int i = 0; i < n; i++)
		if (!HashTextSoftly(untyped, values[i], 0, &hashes[i]))
			return NULL;
	return ProbeOfHashes(untyped, hashes, n);
}

/* bloomx_probe(v anycompatible) */
PG_FUNCTION_INFO_V1(bloomx_probe);
Datum
bloomx_probe(PG_FUNCTION_ARGS)
{
	KeyType    *key = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 0);
	uint64		hash = HashKey(key, PG_GETARG_DATUM(0), 0);

	PG_RETURN_FILTER(ProbeOfHashes(key, &hash, 1));
}

/* bloomx_probe_all(vs anycompatiblearray): leaves out NULL elements */
PG_FUNCTION_INFO_V1(bloomx_probe_all);
Datum
bloomx_probe_all(PG_FUNCTION_ARGS)
{
	KeyType    *key = ElementKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 0);
	int			n;
	bool		nulls;
	uint64	   *hashes = HashArray(key, PG_GETARG_DATUM(0), 0, &n, &nulls);

	PG_RETURN_FILTER(ProbeOfHashes(key, hashes, n));
}

/* bloomx_probe_hash(hash bigint): has no key type, so it goes with every filter */
PG_FUNCTION_INFO_V1(bloomx_probe_hash);
Datum
bloomx_probe_hash(PG_FUNCTION_ARGS)
{
	const KeyType none = {0};
	uint64		hash = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_FILTER(ProbeOfHashes(&none, &hash, 1));
}

bool
ProbeSaysNothing(const blx_filter *f, const blx_filter *probe)
{
	blx_identity of_filter = blx_identity_of(f),
				of_probe = blx_identity_of(probe);

	return !blx_same_keys(&of_filter, &of_probe);
}

bool
FilterMayHold(const blx_filter *f, const blx_filter *probe, bool all)
{
	uint64		cursor = 0,
				hashes[BLX_BATCH];
	size_t		n;

	if (probe == NULL)
		return true;
	/* of no keys, all are held and none is, whatever the types */
	if (blx_hashes_count(probe) == 0)
		return all;
	if (ProbeSaysNothing(f, probe))
		return true;
	/* there may be a hundred million, each with a cache miss or several */
	while ((n = blx_hashes_next(probe, &cursor, hashes, lengthof(hashes))) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < n; i++)
			if (blx_test_inline(f, hashes[i]) != all)
				return !all;
	}
	return all;
}

const blx_filter *
DatumGetProbe(Datum datum)
{
	const blx_filter *probe = DatumGetFilterForTests(datum);

	if (probe->layout != BLX_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the right side of an index condition on filters must be a set of keys, not a filter of layout %s",
						blx_layout_name(probe->layout)),
				 errhint("Use bloomx_probe(key) or bloomx_probe_all(keys).")));
	return probe;
}

/* f ?& probe: false if f lacks one of the keys */
PG_FUNCTION_INFO_V1(bloomx_holds_all);
Datum
bloomx_holds_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(DatumGetFilterForTests(PG_GETARG_DATUM(0)), DatumGetProbe(PG_GETARG_DATUM(1)), true));
}

/* f ?| probe: false if f lacks all of the keys */
PG_FUNCTION_INFO_V1(bloomx_holds_any);
Datum
bloomx_holds_any(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(DatumGetFilterForTests(PG_GETARG_DATUM(0)), DatumGetProbe(PG_GETARG_DATUM(1)), false));
}
