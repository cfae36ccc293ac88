/*
 * construct.c - empty filters, adding keys to a filter, the key hash itself and its seed.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

static uint8
ParseLayout(const char *name, const char *text, blx_options *options)
{
	uint8		layout = 0;

	CheckCore(blx_layout_by_name(name, &layout, &core_error) && blx_parse_options(layout, text, options, &core_error));
	return layout;
}

/* The geometry for these arguments, or an error.  options as in blx_parse_options. */
static blx_geometry
PlanGeometry(int64 capacity, double fpr, const char *layout, const char *options)
{
	blx_options parsed;
	uint8		number = ParseLayout(layout, options, &parsed);

	return PlanLayout(number, (uint64) capacity, fpr, &parsed);
}

/* bloom_plan(capacity bigint, fpr float8, layout text, options text): as bloom_empty's */
PG_FUNCTION_INFO_V1(bloom_plan);
Datum
bloom_plan(PG_FUNCTION_ARGS)
{
	int64		capacity = PG_GETARG_INT64(0);
	blx_geometry geometry = PlanGeometry(capacity, PG_GETARG_FLOAT8(1), text_to_cstring(PG_GETARG_TEXT_PP(2)),
										 text_to_cstring(PG_GETARG_TEXT_PP(3)));
	Datum		values[8];
	bool		nulls[8] = {false};
	int			i = 0;

	values[i++] = CStringGetTextDatum(blx_layout_name(geometry.layout));
	values[i++] = Int64GetDatum((int64) blx_bits(&geometry));
	values[i++] = Int64GetDatum((int64) blx_bytes(&geometry, 0));
	values[i++] = Int64GetDatum(geometry.blocks);
	values[i++] = Int32GetDatum(geometry.parts);
	values[i++] = Int64GetDatum((int64) geometry.part_bits);
	values[i++] = Int32GetDatum((int32) blx_bits_per_key(&geometry));
	values[i++] = Float8GetDatum(blx_fpr_planned(&geometry, (uint64) capacity));
	Assert(i == lengthof(values));
	return MakeRow(fcinfo, values, nulls);
}

/*
 * Arguments 3 and 5 of bloom_empty and bloom_empty_bits: seed bigint and
 * key_type regtype.  NULL or - is no key type: that of the first key.
 */
static blx_identity
IdentityArguments(FunctionCallInfo fcinfo)
{
	KeyType		key = {0};
	Oid			type = PG_ARGISNULL(5) ? InvalidOid : PG_GETARG_OID(5);

	if (OidIsValid(type) && !SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type with OID %u does not exist", type)));
	if (OidIsValid(type))
		LookupKeyType(&key, type, InvalidOid, CurrentMemoryContext);
	if (key.row_context != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type record does not say which columns the keys have"),
				 errhint("Give a composite type.")));
	key.identity.seed = (uint64) PG_GETARG_INT64(3);
	return key.identity;
}

/* The functions are not strict because of the key type, but any other NULL makes them NULL. */
static bool
AnyOtherIsNull(FunctionCallInfo fcinfo)
{
	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i))
			return true;
	return false;
}

/* bloom_empty(capacity bigint, fpr float8, layout text, seed bigint, options text, key_type regtype) */
PG_FUNCTION_INFO_V1(bloom_empty);
Datum
bloom_empty(PG_FUNCTION_ARGS)
{
	int64		capacity;
	blx_geometry geometry;
	blx_identity identity;

	if (AnyOtherIsNull(fcinfo))
		PG_RETURN_NULL();
	capacity = PG_GETARG_INT64(0);
	geometry = PlanGeometry(capacity, PG_GETARG_FLOAT8(1), text_to_cstring(PG_GETARG_TEXT_PP(2)), text_to_cstring(PG_GETARG_TEXT_PP(4)));
	identity = IdentityArguments(fcinfo);
	/* the size of a sealed filter follows from its keys, and so does what it promises: here there are none */
	if (blx_is_sealed(geometry.layout))
	{
		geometry = PlanGeometry(1, PG_GETARG_FLOAT8(1), text_to_cstring(PG_GETARG_TEXT_PP(2)), text_to_cstring(PG_GETARG_TEXT_PP(4)));
		capacity = 0;
	}
	PG_RETURN_FILTER(NewFilter(&geometry, &identity, (uint64) capacity));
}

/* bloom_empty_bits(bits bigint, k float8, layout text, seed bigint, options text, key_type regtype) */
PG_FUNCTION_INFO_V1(bloom_empty_bits);
Datum
bloom_empty_bits(PG_FUNCTION_ARGS)
{
	blx_options options;
	uint8		layout;
	blx_identity identity;
	blx_geometry geometry;

	if (AnyOtherIsNull(fcinfo))
		PG_RETURN_NULL();
	layout = ParseLayout(text_to_cstring(PG_GETARG_TEXT_PP(2)), text_to_cstring(PG_GETARG_TEXT_PP(4)), &options);
	CheckCore(blx_plan_bits(layout, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), &options, &geometry, &core_error));
	identity = IdentityArguments(fcinfo);
	PG_RETURN_FILTER(NewFilter(&geometry, &identity, 0));
}

/* The header of the filter, which the keys to be added must agree with. */
static const blx_filter *
HeaderOf(Datum datum)
{
	return DatumIsExpanded(datum) ? ExpandedHeaderOf(datum) : DatumGetFilter(datum);
}

/* Whose keys KeyArgumentHash and ElementHashes have hashed. */
static const blx_identity *
KeysOfCall(FunctionCallInfo fcinfo)
{
	return &GetCallCache(fcinfo->flinfo)->key.identity;
}

/* The filter, whose header HeaderOf gave, and more keys, as a new value. */
static Datum
WithHashes(Datum datum, const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	blx_filter *copy,
			   *result;

	if (DatumIsExpanded(datum))
		return NextVersion(datum, keys, hashes, n);
	if (blx_size(f) >= EXPANDED_BYTES)
		return MakeVersion(f, keys, hashes, n);
	copy = CopyForKeys(f, keys);
	result = AddHashes(copy, hashes, n);
	if (result != copy)
		pfree(copy);
	ReportOverfill(result, KEYS_ADDED);
	return PointerGetDatum(result);
}

/* bloom_add(f bloomfilter, v anycompatible) */
PG_FUNCTION_INFO_V1(bloom_add);
Datum
bloom_add(PG_FUNCTION_ARGS)
{
	const blx_filter *f;
	uint64		hash;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	if (DatumIsExpanded(PG_GETARG_DATUM(0)))
		return NextVersionWithKey(PG_GETARG_DATUM(0), ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1), PG_GETARG_DATUM(1));
	f = DatumGetFilter(PG_GETARG_DATUM(0));
	hash = KeyArgumentHash(fcinfo, 1, f);
	PG_RETURN_DATUM(WithHashes(PG_GETARG_DATUM(0), f, KeysOfCall(fcinfo), &hash, 1));
}

/* bloom_add_all(f bloomfilter, vs anycompatiblearray): NULL elements are skipped */
PG_FUNCTION_INFO_V1(bloom_add_all);
Datum
bloom_add_all(PG_FUNCTION_ARGS)
{
	const blx_filter *f;
	uint64	   *hashes;
	int			n;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	f = HeaderOf(PG_GETARG_DATUM(0));
	hashes = ElementHashes(fcinfo, 1, f, &n);
	PG_RETURN_DATUM(WithHashes(PG_GETARG_DATUM(0), f, KeysOfCall(fcinfo), hashes, n));
}

/*
 * bloom_test_and_add(f bloomfilter, v anycompatible, OUT filter bloomfilter, OUT is_new
 * boolean).  The key is added in any case: some layouts count keys, or forget old ones.
 */
PG_FUNCTION_INFO_V1(bloom_test_and_add);
Datum
bloom_test_and_add(PG_FUNCTION_ARGS)
{
	Datum		values[2] = {PG_GETARG_DATUM(0), BoolGetDatum(false)};
	bool		nulls[2] = {PG_ARGISNULL(0), PG_ARGISNULL(0) || PG_ARGISNULL(1)};

	if (!HasNothingToChange(fcinfo))
	{
		const blx_filter *f = DatumGetFilter(PG_GETARG_DATUM(0));
		uint64		hash = KeyArgumentHash(fcinfo, 1, f);

		values[1] = BoolGetDatum(!blx_test_inline(f, hash));
		values[0] = WithHashes(PG_GETARG_DATUM(0), f, KeysOfCall(fcinfo), &hash, 1);
	}
	return MakeRow(fcinfo, values, nulls);
}

/*
 * bloom_add_hash(f bloomfilter, hash bigint): a hash made by bloom_hash, or by
 * another program, for the filter's own key type.  A filter without a key type
 * is from then on a filter of hashes.
 */
PG_FUNCTION_INFO_V1(bloom_add_hash);
Datum
bloom_add_hash(PG_FUNCTION_ARGS)
{
	const blx_identity hashes = {.key_type = BLX_KEY_HASH};
	uint64		hash;

	if (HasNothingToChange(fcinfo))
		return UnchangedFilter(fcinfo);
	hash = (uint64) PG_GETARG_INT64(1);
	PG_RETURN_DATUM(WithHashes(PG_GETARG_DATUM(0), HeaderOf(PG_GETARG_DATUM(0)), &hashes, &hash, 1));
}

/* Tells the planner that bloom_add may change its first argument, if that is the variable that its result goes to. */
PG_FUNCTION_INFO_V1(bloomx_add_support);
Datum
bloomx_add_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(ArgumentChangedInPlace((Node *) PG_GETARG_POINTER(0)));
}

/* bloom_hash(v anycompatible, seed bigint) */
PG_FUNCTION_INFO_V1(bloom_hash);
Datum
bloom_hash(PG_FUNCTION_ARGS)
{
	KeyType    *key = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 0);

	PG_RETURN_INT64((int64) HashKey(key, PG_GETARG_DATUM(0), (uint64) PG_GETARG_INT64(1)));
}

/*
 * bloom_random_seed(): a seed that nobody can guess.  It is PARALLEL RESTRICTED:
 * workers that each drew a seed of their own could not combine their filters.
 */
PG_FUNCTION_INFO_V1(bloom_random_seed);
Datum
bloom_random_seed(PG_FUNCTION_ARGS)
{
	int64		seed;

	if (!pg_strong_random(&seed, sizeof seed))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random seed")));
	PG_RETURN_INT64(seed);
}
