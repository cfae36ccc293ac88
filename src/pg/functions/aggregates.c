/*
 * aggregates.c - bloom_agg, bloom_union_agg and bloom_intersection_agg.
 *
 * The transition type is bloomfilter itself, so that partial states can be
 * combined by parallel workers, stored and sent anywhere.  A state of a few
 * kilobytes is flat memory, which the executor copies when it moves; a larger
 * one is an expanded object, changed where it is.
 */
#include "pg/base/bloomx.h"

#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* From this size on a state is an expanded object, whose context costs a kilobyte. */
#define EXPANDED_STATE_BYTES 8192

/* A state while a function works on it. */
typedef struct AggState
{
	FunctionCallInfo call;
	MemoryContext context;		/* the aggregate's */
	blx_filter *filter;			/* NULL before the first row */
	Datum		expanded;		/* the object that holds filter, or 0 when it is flat */
} AggState;

/* The state in argument 0, which the aggregate owns: it may be changed in place. */
static AggState
OpenState(FunctionCallInfo fcinfo)
{
	AggState	state = {.call = fcinfo};

	if (!AggCheckCallContext(fcinfo, &state.context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloom filter transition function called outside an aggregate")));
	GetCallCache(fcinfo)->in_aggregate = true;
	if (PG_ARGISNULL(0))
		return state;
	if (VARATT_IS_EXTERNAL_EXPANDED_RW(PG_GETARG_POINTER(0)) && !DatumIsFilterVersion(PG_GETARG_DATUM(0)))
	{
		state.expanded = PG_GETARG_DATUM(0);
		state.filter = ExpandedFilterGet(state.expanded);
	}
	else if (DatumIsExpandedFilter(PG_GETARG_DATUM(0)))
		state.filter = CopyFilter(PG_GETARG_FILTER(0));
	else						/* made by these functions: no need to check it for every row */
		state.filter = (blx_filter *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	return state;
}

/* Where a filter of that size belongs that is to become the state. */
static MemoryContext
StateContext(AggState *state, uint64 size)
{
	if (state->expanded == (Datum) 0 && size >= EXPANDED_STATE_BYTES)
		state->expanded = MakeExpandedFilter(state->context, ExpectedKeys(state->call));
	return state->expanded ? ExpandedFilterContext(state->expanded) : CurrentMemoryContext;
}

static void
SetState(AggState *state, blx_filter *f)
{
	state->filter = state->expanded ? ExpandedFilterSet(state->expanded, f) : f;
}

static Datum
CloseState(AggState *state)
{
	return state->expanded ? state->expanded : PointerGetDatum(state->filter);
}

static void
SetStateToCopy(AggState *state, const blx_filter *f)
{
	MemoryContext old = MemoryContextSwitchTo(StateContext(state, blx_size(f)));

	SetState(state, CopyFilter(f));
	MemoryContextSwitchTo(old);
}

/* The set gets room for so many hashes, or becomes a filter. */
static void
GrowState(AggState *state, uint64 count)
{
	blx_geometry planned = blx_geometry_of(state->filter);
	uint64		size = Max(2 * blx_size(state->filter), state->filter->pending ? blx_bytes(&planned, 0) : 0);
	MemoryContext old = MemoryContextSwitchTo(StateContext(state, Max(size, 2 * sizeof(uint64) * count)));

	SetState(state, MakeRoomForHashes(state->filter, count, ExpectedKeys(state->call)));
	MemoryContextSwitchTo(old);
}

static void
AddHash(AggState *state, uint64 hash)
{
	if (state->expanded == (Datum) 0 && state->filter->layout == BLX_HASHES && blx_hashes_full(state->filter))
		GrowState(state, blx_hashes_count(state->filter) + 1);
	if (state->expanded)
		ExpandedFilterAdd(state->expanded, hash);
	else
	{
		blx_filter *before = state->filter;

		state->filter = AddHashes(before, &hash, 1);
		if (state->filter != before && blx_size(state->filter) >= EXPANDED_STATE_BYTES)
			SetStateToCopy(state, state->filter);
	}
}

/* A state for these keys, open where its layout allows that; planned NULL = sized at the end. */
static void
StartState(FunctionCallInfo fcinfo, AggState *state, const KeyType *key, const blx_geometry *planned, uint64 seed, uint64 capacity)
{
	blx_identity identity = key->identity;

	identity.seed = seed;
	if (planned == NULL || (LayoutTakesHashes(planned->layout) && !BeginsAsFilter(fcinfo, planned)))
		SetState(state, NewHashes(planned, &identity, capacity, planned ? 0 : ExpectedRows(fcinfo)));
	else
	{
		MemoryContext old = MemoryContextSwitchTo(StateContext(state, blx_bytes(planned, identity.name_len)));

		SetState(state, NewFilter(planned, &identity, capacity));
		MemoryContextSwitchTo(old);
	}
}

/* The state takes the key type of its first key. */
static void
SetStateToCopyFor(AggState *state, const blx_identity *keys)
{
	MemoryContext old = MemoryContextSwitchTo(StateContext(state, blx_size(state->filter)));

	SetState(state, CopyForKeys(state->filter, keys));
	MemoryContextSwitchTo(old);
}

static Datum
AddRow(FunctionCallInfo fcinfo, AggState *state)
{
	if (!PG_ARGISNULL(1))
	{
		KeyType    *key = GetKeyType(fcinfo, 1);

		CheckKeyType(state->filter, key);
		if (state->filter->key_type == BLX_KEY_NONE)	/* INITCOND of somebody's own aggregate */
			SetStateToCopyFor(state, &key->identity);
		AddHash(state, HashKey(key, PG_GETARG_DATUM(1), state->filter->seed));
	}
	return CloseState(state);
}

/* The usual row of a large state: into its batch. */
static bool
QueueRow(FunctionCallInfo fcinfo)
{
	CallCache  *cache = fcinfo->flinfo->fn_extra;

	if (cache == NULL || !cache->in_aggregate || !OidIsValid(cache->key.type) ||
		PG_ARGISNULL(0) || !VARATT_IS_EXTERNAL_EXPANDED_RW(PG_GETARG_POINTER(0)))
		return false;
	return PG_ARGISNULL(1) || ExpandedFilterAddKey(PG_GETARG_DATUM(0), &cache->key, PG_GETARG_DATUM(1));
}

/* bloom_agg(v) */
PG_FUNCTION_INFO_V1(bloom_agg_transfn);
Datum
bloom_agg_transfn(PG_FUNCTION_ARGS)
{
	AggState	state;

	if (QueueRow(fcinfo))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	state = OpenState(fcinfo);
	if (state.filter == NULL)
	{
		if (PG_ARGISNULL(1))
			PG_RETURN_NULL();
		StartState(fcinfo, &state, GetKeyType(fcinfo, 1), NULL, 0, 0);
	}
	return AddRow(fcinfo, &state);
}

static void
RequireArgument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s of bloom_agg must not be null", name)));
}

/* bloom_agg(v, capacity bigint [, fpr float8]): the first row's arguments count */
PG_FUNCTION_INFO_V1(bloom_agg_capacity_transfn);
Datum
bloom_agg_capacity_transfn(PG_FUNCTION_ARGS)
{
	AggState	state;

	if (QueueRow(fcinfo))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	state = OpenState(fcinfo);
	if (state.filter == NULL)
	{
		CallCache  *cache = GetCallCache(fcinfo);
		double		fpr = DEFAULT_FPR;
		int64		capacity;

		RequireArgument(fcinfo, 2, "capacity");
		capacity = PG_GETARG_INT64(2);
		if (PG_NARGS() > 3)
		{
			RequireArgument(fcinfo, 3, "false positive rate");
			fpr = PG_GETARG_FLOAT8(3);
		}
		if (cache->planned.blocks == 0 || cache->planned_capacity != capacity || cache->planned_fpr != fpr)
		{
			cache->planned = PlanGeometry(capacity, fpr, blx_layout_name(BLX_PARTITIONED_BLOCKED), "");
			cache->planned_capacity = capacity;
			cache->planned_fpr = fpr;
		}
		StartState(fcinfo, &state, GetKeyType(fcinfo, 1), &cache->planned, 0, (uint64) capacity);
	}
	return AddRow(fcinfo, &state);
}

/*
 * What filters made after the template are like.  A set of keys that is still
 * open has the geometry of the filter that it is to become; one that is to be
 * sized by its keys has none, and its keys are not to count.
 */
static blx_geometry
TemplateGeometry(const blx_filter *template)
{
	if (template->layout == BLX_HASHES && template->pending == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a set of keys without a planned size cannot be the template of bloom_agg"),
				 errhint("Use a filter, such as bloom_empty(capacity), or give bloom_agg the capacity.")));
	return blx_geometry_of(template);
}

/* bloom_agg(v, template bloomfilter): the template's geometry, seed, key type and capacity, not its keys */
PG_FUNCTION_INFO_V1(bloom_agg_template_transfn);
Datum
bloom_agg_template_transfn(PG_FUNCTION_ARGS)
{
	AggState	state;

	if (QueueRow(fcinfo))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	state = OpenState(fcinfo);
	if (state.filter == NULL)
	{
		const blx_filter *template;
		KeyType    *key = GetKeyType(fcinfo, 1);
		blx_geometry planned;

		RequireArgument(fcinfo, 2, "template");
		template = PG_GETARG_FILTER(2);
		CheckKeyType(template, key);
		planned = TemplateGeometry(template);
		StartState(fcinfo, &state, key, &planned, template->seed, template->capacity);
	}
	return AddRow(fcinfo, &state);
}

/* Adds the keys of other, in place where the sizes allow it. */
static void
UniteState(AggState *state, const blx_filter *other)
{
	blx_filter *f = state->filter;
	blx_geometry mine = blx_geometry_of(f),
				theirs = blx_geometry_of(other);
	blx_identity my_identity = blx_identity_of(f),
				their_identity = blx_identity_of(other);
	blx_error	error;
	bool		same_keys = f->key_type != BLX_KEY_NONE && blx_identity_check(&my_identity, "", &their_identity, "", &error);
	MemoryContext old;

	if (same_keys && other->layout == BLX_HASHES && !blx_is_blank(f) && (blx_traits(f->layout) & BLX_STREAM) == 0)
	{
		uint64		count = f->layout == BLX_HASHES ? blx_hashes_union_count(f, other) : 0,
					cursor = 0,
					batch[64];
		size_t		n;

		if (f->layout == BLX_HASHES && blx_hashes_room(f) < count)
			GrowState(state, count);
		while ((n = blx_hashes_next_for(mine.layout, other, &cursor, batch, lengthof(batch))) > 0)
			for (size_t i = 0; i < n; i++)
				AddHash(state, batch[i]);
		if (state->expanded)
			state->filter = ExpandedFilterGet(state->expanded);
		return;
	}
	if (same_keys && f->layout == other->layout && blx_geometry_equal(&mine, &theirs) &&
		(blx_traits(f->layout) & BLX_UNBOUNDED) == 0)
	{
		blx_or_into(f, other);
		return;
	}
	old = MemoryContextSwitchTo(StateContext(state, Max(blx_size(f), blx_size(other))));
	SetState(state, UnionFilters(f, other));
	MemoryContextSwitchTo(old);
}

static void
IntersectState(AggState *state, const blx_filter *other)
{
	MemoryContext old = MemoryContextSwitchTo(StateContext(state, blx_size(state->filter) + blx_size(other)));

	SetState(state, IntersectFilters(state->filter, other));
	MemoryContextSwitchTo(old);
}

/* The filter in argument 1.  A partial state was made by these functions, too: a large set takes as long to check as to unite. */
static blx_filter *
GetCombined(FunctionCallInfo fcinfo)
{
	Aggref	   *call = AggGetAggref(fcinfo);
	Datum		datum = PG_GETARG_DATUM(1);

	if (call != NULL && DO_AGGSPLIT_COMBINE(call->aggsplit) && !DatumIsExpandedFilter(datum))
		return (blx_filter *) PG_DETOAST_DATUM(datum);
	return DatumGetFilter(datum);
}

/* The state combined with the filter in argument 1, which it begins as a copy of. */
static Datum
CombineRow(FunctionCallInfo fcinfo, void (*combine) (AggState *state, const blx_filter *other))
{
	AggState	state = OpenState(fcinfo);

	if (!PG_ARGISNULL(1))
	{
		blx_filter *f = GetCombined(fcinfo);

		if (state.filter == NULL)
			SetStateToCopy(&state, f);
		else
			combine(&state, f);
		PG_FREE_FILTER_IF_COPY(f, 1);
	}
	if (state.filter == NULL)
		PG_RETURN_NULL();
	return CloseState(&state);
}

/* bloom_union_agg(f), and what combines the partial states of every bloom_agg */
PG_FUNCTION_INFO_V1(bloom_union_transfn);
Datum
bloom_union_transfn(PG_FUNCTION_ARGS)
{
	return CombineRow(fcinfo, UniteState);
}

/* bloom_intersection_agg(f) */
PG_FUNCTION_INFO_V1(bloom_intersection_transfn);
Datum
bloom_intersection_transfn(PG_FUNCTION_ARGS)
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

/* bloom_agg's result; over no keys an empty filter that knows its key type */
PG_FUNCTION_INFO_V1(bloom_agg_finalfn);
Datum
bloom_agg_finalfn(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_FILTER(NewEmptyFilter(&GetKeyType(fcinfo, 1)->identity));
	PG_RETURN_FILTER(FinishState(PG_GETARG_FILTER(0), KEYS_ADDED));
}

/* bloom_union_agg's result; over no filters an empty one, which every union leaves out */
PG_FUNCTION_INFO_V1(bloom_union_finalfn);
Datum
bloom_union_finalfn(PG_FUNCTION_ARGS)
{
	const blx_identity no_keys = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_FILTER(NewEmptyFilter(&no_keys));
	PG_RETURN_FILTER(FinishState(PG_GETARG_FILTER(0), FILTERS_UNITED));
}

/* bloom_intersection_agg's result; over no filters it is unknown */
PG_FUNCTION_INFO_V1(bloom_intersection_finalfn);
Datum
bloom_intersection_finalfn(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_FILTER(CopyFilter(PG_GETARG_FILTER(0)));
}
