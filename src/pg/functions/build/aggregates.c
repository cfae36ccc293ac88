/*
 * aggregates.c - bloom_agg, bloom_union_agg and bloom_intersection_agg.
 *
 * The transition type is bloomfilter itself, so that partial states can be
 * combined by parallel workers, stored and sent anywhere.  A state of a few
 * kilobytes is flat memory, which the executor copies when it moves; a larger
 * one is an expanded object, changed where it is.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

#include "nodes/primnodes.h"

#include "core/base/base.h"
#include "core/filter/growth.h"
#include "core/layouts/geometry.h"
#include "core/layouts/growing/hashes.h"

/* The state of an aggregate while a function works on it. */
typedef struct Transition
{
	FunctionCallInfo call;
	CallCache  *cache;			/* of the call site */
	MemoryContext context;		/* the aggregate's */
	blx_filter *filter;			/* NULL before the first row */
	Datum		object;			/* the expanded object that holds filter, or 0 when it is flat */
	MemoryContext outside;		/* what SetFilter switches back to */
} Transition;

/* The state in argument 0, which the aggregate owns: it may be changed in place. */
static Transition
OpenState(FunctionCallInfo fcinfo)
{
	Transition	state = {.call = fcinfo, .cache = GetCallCache(fcinfo->flinfo)};

	if (!AggCheckCallContext(fcinfo, &state.context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloom filter transition function called outside an aggregate")));
	state.cache->in_aggregate = true;
	if (PG_ARGISNULL(0))
		return state;
	if (DatumIsState(PG_GETARG_DATUM(0)))
	{
		state.object = PG_GETARG_DATUM(0);
		state.filter = ExpandedFilterOf(state.object);
	}
	else if (DatumIsExpanded(PG_GETARG_DATUM(0)))
		state.filter = CopyFilter(PG_GETARG_FILTER(0));
	else						/* made by these functions: no need to check it for every row */
		state.filter = (blx_filter *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	return state;
}

/* Switches to where a filter of that size is to be made that becomes the state.  SetFilter switches back. */
static void
EnterContextFor(Transition *state, uint64 size)
{
	if (state->object == (Datum) 0 && size >= EXPANDED_BYTES)
		state->object = MakeState(state->context, ExpectedKeys(state->call, 0));
	state->outside = MemoryContextSwitchTo(state->object ? StateContext(state->object) : CurrentMemoryContext);
}

static void
SetFilter(Transition *state, blx_filter *f)
{
	state->filter = state->object ? SetState(state->object, f) : f;
	MemoryContextSwitchTo(state->outside);
}

static Datum
CloseState(Transition *state)
{
	return state->object ? state->object : PointerGetDatum(state->filter);
}

static void
SetStateToCopy(Transition *state, const blx_filter *f)
{
	EnterContextFor(state, blx_size(f));
	SetFilter(state, CopyFilter(f));
}

/* Makes room for `count` hashes in the set, or makes it a filter. */
static void
GrowState(Transition *state, uint64 count)
{
	blx_geometry planned = blx_geometry_of(state->filter);
	uint64		size = Max(2 * blx_size(state->filter), state->filter->pending ? blx_bytes(&planned, 0) : 0);

	EnterContextFor(state, Max(size, 2 * sizeof(uint64) * count));
	SetFilter(state, MakeRoomForHashes(state->filter, count, ExpectedKeys(state->call, count)));
}

static void
AddHash(Transition *state, uint64 hash)
{
	if (state->object == (Datum) 0 && state->filter->layout == BLX_HASHES && blx_hashes_full(state->filter))
		GrowState(state, blx_hashes_count(state->filter) + 1);
	if (state->object)
		AddToState(state->object, hash);
	else
	{
		blx_filter *before = state->filter;

		state->filter = AddHashes(before, &hash, 1);
		if (state->filter != before && blx_size(state->filter) >= EXPANDED_BYTES)
			SetStateToCopy(state, state->filter);
	}
}

/* A state for these keys, open where its layout allows that; planned NULL = sized at the end. */
static void
StartState(Transition *state, const blx_identity *keys, const blx_geometry *planned, uint64 seed, uint64 capacity)
{
	blx_identity identity = *keys;

	identity.seed = seed;
	if (planned == NULL || blx_is_sealed(planned->layout) ||
		(blx_takes_sets(planned->layout) && !BeginsAsFilter(state->call, planned)))
		state->filter = NewHashes(planned, &identity, capacity, planned ? 0 : ExpectedRows(state->call));
	else
	{
		EnterContextFor(state, blx_bytes(planned, identity.name_len));
		SetFilter(state, NewFilter(planned, &identity, capacity));
	}
}

static Datum
AddRow(FunctionCallInfo fcinfo, Transition *state)
{
	if (!PG_ARGISNULL(1))
	{
		KeyType    *key = ArgumentKeyType(fcinfo, state->cache, 1);

		CheckKeyType(state->filter, key);
		if (state->filter->key_type == BLX_KEY_NONE)	/* INITCOND of somebody's own aggregate */
		{
			EnterContextFor(state, blx_size(state->filter));
			SetFilter(state, CopyForKeys(state->filter, &key->identity));
		}
		AddHash(state, HashKey(key, PG_GETARG_DATUM(1), state->filter->seed));
	}
	return CloseState(state);
}

/*
 * The short way of most rows of a large state: the key joins the queue of its
 * batch.  Not for rows without a named type: the last one, perhaps of another
 * group, has set the key type.
 */
static pg_attribute_always_inline bool
QueueRow(FunctionCallInfo fcinfo)
{
	CallCache  *cache = fcinfo->flinfo->fn_extra;

	if (cache == NULL || !cache->in_aggregate || !OidIsValid(cache->key.type) ||
		cache->key.row_context != NULL ||
		PG_ARGISNULL(0) || !VARATT_IS_EXTERNAL_EXPANDED_RW(PG_GETARG_POINTER(0)))
		return false;
	return PG_ARGISNULL(1) || AddKeyToState(PG_GETARG_DATUM(0), &cache->key, PG_GETARG_DATUM(1));
}

/* A row of any bloom_agg.  `start` makes the state of the first row, unless it leaves that to a later one. */
static pg_attribute_always_inline Datum
AggregateRow(FunctionCallInfo fcinfo, void (*start) (FunctionCallInfo fcinfo, Transition *state))
{
	Transition	state;

	if (QueueRow(fcinfo))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	state = OpenState(fcinfo);
	if (state.filter == NULL)
		start(fcinfo, &state);
	if (state.filter == NULL)
		PG_RETURN_NULL();
	return AddRow(fcinfo, &state);
}

static void
StartUnplanned(FunctionCallInfo fcinfo, Transition *state)
{
	if (!PG_ARGISNULL(1))
		StartState(state, &ArgumentKeyType(fcinfo, state->cache, 1)->identity, NULL, 0, 0);
}

/* bloom_agg(v) */
PG_FUNCTION_INFO_V1(bloomx_agg_transfn);
Datum
bloomx_agg_transfn(PG_FUNCTION_ARGS)
{
	return AggregateRow(fcinfo, StartUnplanned);
}

static void
RequireArgument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s of bloom_agg must not be null", name)));
}

/* A NULL capacity is not known: sized at the end. */
static void
StartPlanned(FunctionCallInfo fcinfo, Transition *state)
{
	KeyType    *key = ArgumentKeyType(fcinfo, state->cache, 1);
	double		fpr = BLX_DEFAULT_FPR;
	blx_geometry planned;

	if (PG_NARGS() > 3)
	{
		RequireArgument(fcinfo, 3, "false positive rate");
		fpr = PG_GETARG_FLOAT8(3);
	}
	if (!PG_ARGISNULL(2))
	{
		planned = PlanDefaultLayout((uint64) PG_GETARG_INT64(2), fpr);
		StartState(state, &key->identity, &planned, 0, (uint64) PG_GETARG_INT64(2));
	}
	else
	{
		CheckCore(blx_check_rate(fpr, &core_error));
		StartState(state, &key->identity, NULL, 0, blx_capacity_of_rate(fpr));
	}
}

/* bloom_agg(v, capacity bigint [, fpr float8]): the first row's arguments count */
PG_FUNCTION_INFO_V1(bloom_agg_capacity_transfn);
Datum
bloom_agg_capacity_transfn(PG_FUNCTION_ARGS)
{
	return AggregateRow(fcinfo, StartPlanned);
}

/*
 * An open set has the geometry of the filter that it is to become.  A set that is
 * to be sized by its keys has none, for the template's keys do not count.
 */
static void
StartByTemplate(FunctionCallInfo fcinfo, Transition *state)
{
	KeyType    *key = ArgumentKeyType(fcinfo, state->cache, 1);
	const blx_filter *template;
	blx_geometry planned;
	blx_identity of_template,
				joint;

	RequireArgument(fcinfo, 2, "template");
	template = PG_GETARG_FILTER(2);
	CheckKeyType(template, key);
	if (template->layout == BLX_HASHES && !blx_is_planned(template))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a set of keys without a planned size cannot be the template of bloom_agg"),
				 errhint("Use a filter, such as bloom_empty(capacity), or give bloom_agg the capacity.")));
	planned = blx_geometry_of(template);
	of_template = blx_identity_of(template);
	joint = blx_joint_identity(&key->identity, &of_template);	/* a null row has no key type */
	StartState(state, &joint, &planned, template->seed, template->capacity);
}

/* bloom_agg(v, template bloomfilter): the template's geometry, seed, key type and capacity, not its keys */
PG_FUNCTION_INFO_V1(bloom_agg_template_transfn);
Datum
bloom_agg_template_transfn(PG_FUNCTION_ARGS)
{
	return AggregateRow(fcinfo, StartByTemplate);
}

/* Adds the keys of other, in place where the sizes allow it. */
static void
UniteState(Transition *state, const blx_filter *other)
{
	blx_filter *f = state->filter;
	blx_geometry mine = blx_geometry_of(f),
				theirs = blx_geometry_of(other);
	blx_identity my_identity = blx_identity_of(f),
				their_identity = blx_identity_of(other);
	bool		same_keys = f->key_type != BLX_KEY_NONE && blx_same_keys(&my_identity, &their_identity);

	/* a set: add its hashes one by one, after making room for all of them */
	if (same_keys && other->layout == BLX_HASHES && !blx_is_blank(f) && (blx_traits(f->layout) & (BLX_STREAM | BLX_SEALED)) == 0)
	{
		uint64		count = f->layout == BLX_HASHES ? blx_hashes_union_count(f, other) : 0,
					cursor = 0,
					batch[BLX_BATCH];
		size_t		n;

		if (f->layout == BLX_HASHES && blx_hashes_room(f) < count)
			GrowState(state, count);
		while ((n = blx_hashes_next_for(mine.layout, other, &cursor, batch, lengthof(batch))) > 0)
			for (size_t i = 0; i < n; i++)
				AddHash(state, batch[i]);
		if (state->object)
			state->filter = ExpandedFilterOf(state->object);
		return;
	}
	/* equal geometries: or the bits in place */
	if (same_keys && f->layout == other->layout && blx_geometry_equal(&mine, &theirs) &&
		(blx_traits(f->layout) & (BLX_UNBOUNDED | BLX_SEALED)) == 0)
	{
		blx_or_into(f, other);
		return;
	}
	/* anything else: a new filter */
	EnterContextFor(state, Max(blx_size(f), blx_size(other)));
	SetFilter(state, UnionFilters(f, other));
}

static void
IntersectState(Transition *state, const blx_filter *other)
{
	EnterContextFor(state, blx_size(state->filter) + blx_size(other));
	SetFilter(state, IntersectFilters(state->filter, other));
}

/*
 * The filter in argument 1.  A partial state was made by these functions, too, and
 * is not checked: to check a large set takes as long as to unite it.
 */
static blx_filter *
GetCombined(FunctionCallInfo fcinfo)
{
	Aggref	   *call = AggGetAggref(fcinfo);
	Datum		datum = PG_GETARG_DATUM(1);

	if (call != NULL && DO_AGGSPLIT_COMBINE(call->aggsplit) && !DatumIsExpanded(datum))
		return (blx_filter *) PG_DETOAST_DATUM(datum);
	return DatumGetFilter(datum);
}

/* The state combined with the filter in argument 1.  The first filter is copied. */
static Datum
CombineRow(FunctionCallInfo fcinfo, void (*combine) (Transition *state, const blx_filter *other))
{
	Transition	state = OpenState(fcinfo);

	if (!PG_ARGISNULL(1))
	{
		blx_filter *f = GetCombined(fcinfo);

		if (state.filter == NULL)
			SetStateToCopy(&state, f);
		else
			combine(&state, f);
		FreeIfCopy(fcinfo, f, 1);
	}
	if (state.filter == NULL)
		PG_RETURN_NULL();
	return CloseState(&state);
}

/* bloom_union_agg(f), and what combines the partial states of every bloom_agg */
PG_FUNCTION_INFO_V1(bloomx_union_transfn);
Datum
bloomx_union_transfn(PG_FUNCTION_ARGS)
{
	return CombineRow(fcinfo, UniteState);
}

/* bloom_intersection_agg(f) */
PG_FUNCTION_INFO_V1(bloomx_intersection_transfn);
Datum
bloomx_intersection_transfn(PG_FUNCTION_ARGS)
{
	return CombineRow(fcinfo, IntersectState);
}

/* The result of a state that keys were added to, or that was united of filters. */
static blx_filter *
FinishState(const blx_filter *state, OverfillCause cause)
{
	blx_filter *result = FinishFilter(state);

	if (state->layout != BLX_HASHES)
		ReportOverfill(result, state->pending ? MEMORY_EXHAUSTED : cause);
	else if (state->pending)	/* else it was sized by its exact count */
		ReportOverfill(result, cause);
	return result;
}

/* bloom_agg's result: over no keys an empty filter that knows its key type */
PG_FUNCTION_INFO_V1(bloomx_agg_finalfn);
Datum
bloomx_agg_finalfn(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_FILTER(NewEmptyFilter(&ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), 1)->identity));
	PG_RETURN_FILTER(FinishState(PG_GETARG_FILTER(0), KEYS_ADDED));
}

/* bloom_union_agg's result: over no filters an empty one, which every union leaves out */
PG_FUNCTION_INFO_V1(bloomx_union_finalfn);
Datum
bloomx_union_finalfn(PG_FUNCTION_ARGS)
{
	const blx_identity no_keys = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_FILTER(NewEmptyFilter(&no_keys));
	PG_RETURN_FILTER(FinishState(PG_GETARG_FILTER(0), FILTERS_UNITED));
}

/* bloom_intersection_agg's result: unknown over no filters */
PG_FUNCTION_INFO_V1(bloomx_intersection_finalfn);
Datum
bloomx_intersection_finalfn(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_FILTER(CopyFilter(PG_GETARG_FILTER(0)));
}
