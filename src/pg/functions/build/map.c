/*
 * map.c - bloom_map_agg and bloom_get: sealed filters with a value for each key.
 *
 * The state is no bloomfilter, as that of the other aggregates is, but an array of
 * hashes with their values: a map cannot be made of parts, and one whose state could
 * travel would be a second kind of open set for parallel plans only.  jsonb_object_agg,
 * which takes the same arguments, has no partial states, either.
 */
#include "pg/functions/functions.h"

#include "core/base/base.h"
#include "pg/value/growth.h"

#define MOST_VALUE ((1 << 24) - 1)

typedef struct MapState
{
	blx_filter *empty;			/* the map without keys: its fingerprints, seed and key type are those of the result */
	blx_entry  *entries;
	uint64		n;
	uint64		room;
} MapState;

/* The map of n entries, whose fingerprints are as planned. */
static blx_filter *
BuildMap(const blx_geometry *planned, const blx_identity *identity, blx_entry *entries, uint64 n)
{
	blx_filter *map = blx_build_map(planned, identity, entries, n, &FilterMemory, PollInterrupts, &core_error);

	if (map == NULL && core_error.code == BLX_AMBIGUOUS)
		snprintf(core_error.hint, sizeof core_error.hint, "Choose one value for each key first, as in SELECT key, max(value) ... GROUP BY key.");
	return CheckResult(map);
}

/* The map without keys for the default rate. */
static blx_filter *
DefaultMap(const blx_identity *keys)
{
	const blx_options options = blx_default_options(BLX_BINARY_FUSE);
	blx_geometry planned = PlanLayout(BLX_BINARY_FUSE, 1, BLX_DEFAULT_FPR, &options);

	return BuildMap(&planned, keys, NULL, 0);
}

/* The map without keys that follows from the arguments: the template's geometry, seed and key type, if there is one. */
static blx_filter *
EmptyMap(FunctionCallInfo fcinfo)
{
	blx_identity keys = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1)->identity;
	blx_geometry planned;
	const blx_filter *template;
	blx_identity of_template;

	if (PG_NARGS() < 4)
		return DefaultMap(&keys);
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("template of bloom_map_agg must not be null")));
	template = PG_GETARG_FILTER(3);
	CheckKeyType(template, ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1));
	planned = blx_geometry_of(template);
	of_template = blx_identity_of(template);
	keys = blx_joint_identity(&keys, &of_template);
	keys.seed = template->seed;
	return BuildMap(&planned, &keys, NULL, 0);
}

static MapState *
StartMap(FunctionCallInfo fcinfo, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	MapState   *state = palloc0(sizeof(MapState));

	state->empty = EmptyMap(fcinfo);
	MemoryContextSwitchTo(old);
	return state;
}

static void
AddEntry(MapState *state, MemoryContext context, uint64 hash, int32 value)
{
	if (state->n == state->room)
	{
		state->room = Max(8, 2 * state->room);
		if (state->entries == NULL)
			state->entries = MemoryContextAlloc(context, state->room * sizeof(blx_entry));
		else
			state->entries = repalloc_huge(state->entries, state->room * sizeof(blx_entry));
	}
	state->entries[state->n++] = (blx_entry) {.hash = hash, .value = (uint32) value};
}

/* Argument 2. */
static int32
ValueArgument(FunctionCallInfo fcinfo)
{
	int32		value = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);

	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("value of a key in bloom_map_agg must not be null"),
				 errhint("Leave such keys out, as in FILTER (WHERE value IS NOT NULL).")));
	if (value < 0 || value > MOST_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value of a key in bloom_map_agg must be between 0 and %d, not %d", MOST_VALUE, value),
				 errhint("Number the values, and keep the numbers in a table.")));
	return value;
}

/* bloom_map_agg(key anycompatible, value integer [, template bloomfilter]) */
PG_FUNCTION_INFO_V1(bloomx_map_agg_transfn);
Datum
bloomx_map_agg_transfn(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	MapState   *state;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloom filter transition function called outside an aggregate")));
	state = PG_ARGISNULL(0) ? StartMap(fcinfo, context) : (MapState *) PG_GETARG_POINTER(0);
	if (!PG_ARGISNULL(1))
	{
		KeyType    *key = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1);

		CheckKeyType(state->empty, key);
		if (state->empty->key_type == BLX_KEY_NONE) /* rows before had a record that was null */
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			state->empty = CopyForKeys(state->empty, &key->identity);
			MemoryContextSwitchTo(old);
		}
		AddEntry(state, context, HashKey(key, PG_GETARG_DATUM(1), state->empty->seed), ValueArgument(fcinfo));
	}
	PG_RETURN_POINTER(state);
}

/* The entries may be sorted and made distinct more than once: a window asks for the result of each row. */
PG_FUNCTION_INFO_V1(bloomx_map_agg_finalfn);
Datum
bloomx_map_agg_finalfn(PG_FUNCTION_ARGS)
{
	const MapState *state = PG_ARGISNULL(0) ? NULL : (MapState *) PG_GETARG_POINTER(0);
	blx_geometry planned;
	blx_identity identity;

	if (state == NULL)
		PG_RETURN_FILTER(DefaultMap(&ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1)->identity));
	planned = blx_geometry_of(state->empty);
	identity = blx_identity_of(state->empty);
	PG_RETURN_FILTER(BuildMap(&planned, &identity, state->entries, state->n));
}

/* bloom_get(f bloomfilter, v anycompatible): NULL if the key is definitely not there */
PG_FUNCTION_INFO_V1(bloom_get);
Datum
bloom_get(PG_FUNCTION_ARGS)
{
	TestedFilter tested = GetTestedFilter(GetCallCache(fcinfo->flinfo), PG_GETARG_DATUM(0), 1);
	uint32		value;

	if (!GetValue(&tested, KeyArgumentHash(fcinfo, 1, tested.filter), &value))
		PG_RETURN_NULL();
	PG_RETURN_INT32((int32) value);
}
