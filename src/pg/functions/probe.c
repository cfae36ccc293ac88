/*
 * probe.c - probes: sets of keys that an index can be asked for.
 *
 * An operator class cannot take `f @> v`: the consistent function of an index
 * would not learn the type of v.  The planner turns it into `f ?& bloom_probe(v)`
 * (planner/index_condition.c), whose right side is a bloomfilter too.  A probe is
 * the set of the keys' hashes, made with seed 0, and their key type.  The
 * condition is lossy: the original one is tested again for every row found.
 *
 * A filter with another seed may hold any key, for these hashes say nothing about
 * it.  So may a filter with another key type, of which the original condition
 * will complain.
 */
#include "pg/functions/functions.h"

#include "core/layouts/hashes.h"
#include "pg/value/growth.h"

/* The set has twice as many slots as hashes, or more if these stand too close. */
blx_filter *
MakeProbe(const KeyType *key, const uint64 *hashes, int n)
{
	uint64		slots = Max(8, 2 * (uint64) n);
	blx_filter *probe = AllocFilter(blx_hashes_bytes(slots, key->identity.name_len));

	blx_hashes_init(probe, slots, NULL, &key->identity, 0);
	for (int i = 0; i < n; i++)
		while (!blx_hashes_add(probe, hashes[i]))
			probe = LargerHashes(probe);
	return probe;
}

/* bloom_probe(v anycompatible) */
PG_FUNCTION_INFO_V1(bloom_probe);
Datum
bloom_probe(PG_FUNCTION_ARGS)
{
	KeyType    *key = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 0);
	uint64		hash = HashKey(key, PG_GETARG_DATUM(0), 0);

	PG_RETURN_FILTER(MakeProbe(key, &hash, 1));
}

/* bloom_probe_all(vs anycompatiblearray): NULL elements are left out */
PG_FUNCTION_INFO_V1(bloom_probe_all);
Datum
bloom_probe_all(PG_FUNCTION_ARGS)
{
	KeyType    *key = ElementKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 0);
	int			n;
	bool		nulls;
	uint64	   *hashes = HashArray(key, PG_GETARG_DATUM(0), 0, &n, &nulls);

	PG_RETURN_FILTER(MakeProbe(key, hashes, n));
}

/* bloom_probe_hash(hash bigint) goes with every key type */
PG_FUNCTION_INFO_V1(bloom_probe_hash);
Datum
bloom_probe_hash(PG_FUNCTION_ARGS)
{
	const KeyType none = {0};
	uint64		hash = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_FILTER(MakeProbe(&none, &hash, 1));
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
				hash;

	/* of no keys all are there and none is, whatever the types */
	if (blx_hashes_count(probe) == 0)
		return all;
	if (ProbeSaysNothing(f, probe))
		return true;
	while (blx_hashes_next(probe, &cursor, &hash, 1) > 0)
		if (blx_test_inline(f, hash) != all)
			return !all;
	return all;
}

const blx_filter *
DatumGetProbe(Datum datum)
{
	const blx_filter *probe = DatumGetFilter(datum);

	if (probe->layout != BLX_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the right side of an index condition on filters must be a set of keys, not a filter of layout %s",
						blx_layout_name(probe->layout)),
				 errhint("Use bloom_probe(key) or bloom_probe_all(keys).")));
	return probe;
}

/* f ?& probe: f may hold all these keys */
PG_FUNCTION_INFO_V1(bloom_holds_all);
Datum
bloom_holds_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(PG_GETARG_FILTER(0), DatumGetProbe(PG_GETARG_DATUM(1)), true));
}

/* f ?| probe: f may hold any of these keys */
PG_FUNCTION_INFO_V1(bloom_holds_any);
Datum
bloom_holds_any(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(PG_GETARG_FILTER(0), DatumGetProbe(PG_GETARG_DATUM(1)), false));
}
