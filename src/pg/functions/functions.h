/*
 * functions.h - what the files of SQL functions share.
 *
 *   typmod.c            bloomfilter(capacity, fpr): types with a modifier
 *   io.c                text, binary and bytea forms
 *   compare.c           = <> < and hashing
 *   build/construct.c   bloom_empty, bloom_plan, bloom_add, bloom_hash
 *   build/remove.c      bloom_remove, bloom_key_count, bloom_drop_counters
 *   build/aggregates.c  bloom_agg, bloom_union_agg, bloom_intersection_agg
 *   build/map.c         bloom_map_agg, bloom_get
 *   build/aggplan.c     what the planner expects of an aggregate
 *   contains.c          @> <@ bloom_contains*
 *   probe_set.c         bloomx_probe, ?& and ?|
 *   algebra.c           | & disjoint, prefix, fold, shrink
 *   inspect.c           bloom_info, bloom_summary, bloom_header, estimates
 *   theory.c            the papers' formulas
 *
 * An SQL function takes its arguments and the cache of its call site out of
 * fcinfo, and hands these down: no lower floor knows an fcinfo.
 */
#pragma once

#include "pg/base/base.h"

#include "pg/value/callsite.h"
#include "pg/value/expanded.h"
#include "pg/value/value.h"

/* ---- arguments ---- */

/* The type of argument n, the call site's one key argument: looked up for the first row only, and that of a row without a named type by its value. */
static inline KeyType *
ArgumentKeyType(FunctionCallInfo fcinfo, CallCache *cache, int n)
{
	KeyType    *key = likely(OidIsValid(cache->key.type)) ? &cache->key : LookupCallKey(cache, fcinfo->flinfo, n, PG_GET_COLLATION());

	if (unlikely(key->row_context != NULL) && !PG_ARGISNULL(n))
		(void) LookupRowOf(key, PG_GETARG_DATUM(n), NULL);
	return key;
}

/* The same where argument n is an array of keys. */
static inline KeyType *
ElementKeyType(FunctionCallInfo fcinfo, CallCache *cache, int n)
{
	KeyType    *key = likely(OidIsValid(cache->key.type)) ? &cache->key : LookupCallElement(cache, fcinfo->flinfo, n, PG_GET_COLLATION());

	if (unlikely(key->row_context != NULL) && !PG_ARGISNULL(n))
		LookupRowOfArray(key, PG_GETARG_DATUM(n));
	return key;
}

/* The hash of argument n, a key, in f; an error if it does not belong there. */
static inline uint64
KeyArgumentHash(FunctionCallInfo fcinfo, int n, const blx_filter *f)
{
	KeyType    *key = ArgumentKeyType(fcinfo, GetCallCache(fcinfo->flinfo), n);

	CheckKeyType(f, key);
	return HashKey(key, PG_GETARG_DATUM(n), f->seed);
}

/* The same of the elements of argument n that are not NULL, *count of them. */
static inline uint64 *
ElementHashes(FunctionCallInfo fcinfo, int n, const blx_filter *f, int *count)
{
	KeyType    *key = ElementKeyType(fcinfo, GetCallCache(fcinfo->flinfo), n);
	bool		nulls;

	CheckKeyType(f, key);
	return HashArray(key, PG_GETARG_DATUM(n), f->seed, count, &nulls);
}

/*
 * Functions that change a filter by keys are not strict, for a NULL key must not
 * wipe the filter: if one of the first two arguments is NULL, the result is
 * argument 0.
 */
static inline bool
HasNothingToChange(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || PG_ARGISNULL(1);
}

static inline Datum
UnchangedFilter(FunctionCallInfo fcinfo)
{
	fcinfo->isnull = PG_ARGISNULL(0);
	return PG_GETARG_DATUM(0);
}

/* Frees the copy that detoasting argument n made, in functions that an index calls often. */
static inline void
FreeIfCopy(FunctionCallInfo fcinfo, blx_filter *f, int n)
{
	if (!DatumIsExpanded(PG_GETARG_DATUM(n)))
		PG_FREE_IF_COPY(f, n);
}

/* ---- build/aggplan.c ---- */

/* The planner's guess of the rows that an aggregate's state gets; 0 = none. */
extern double ExpectedRows(FunctionCallInfo fcinfo);

/* The keys expected at most in an aggregate's result, when `count` have come; 0 = no guess. */
extern double ExpectedKeys(FunctionCallInfo fcinfo, uint64 count);

/* True if a set of the hashes that are expected would be no smaller than the planned filter. */
extern bool BeginsAsFilter(FunctionCallInfo fcinfo, const blx_geometry *planned);

/* ---- inspect.c ---- */

/* The function's result, a row. */
extern Datum MakeRow(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/*
 * The keys that two filters share, with the standard error, which may make them
 * negative.  False if the filters cannot be compared, or tell nothing.
 */
extern bool EstimateOverlap(const blx_filter *a, const blx_filter *b, double *keys, double *error);

/* ---- typmod.c ---- */

/* A type bloomfilter with a modifier. */
typedef struct FilterType
{
	uint64		capacity;
	double		fpr;
	blx_geometry geometry;		/* of bloom_empty(capacity, fpr, layout) */
} FilterType;

/* The type of a modifier from anywhere, or an error.  False if it is negative: a type without a modifier. */
extern bool LookupFilterType(int32 typmod, FilterType *type);

/* What the modifier of a type bloomset_stage says.  False if there is none. */
extern bool ReadSetModifier(int32 typmod, uint64 *capacity, double *fpr);

/*
 * The filter as a value of that type: itself, if it has the type's geometry and
 * seed 0; sized to it, if it is open or holds no keys; folded and cut to it, if
 * it is larger and the cast is explicit.  Anything else is an error, or NULL
 * after a soft one.
 */
extern Datum FitFilter(Datum filter, int32 typmod, bool is_explicit, Node *context);

/* ---- probe_set.c: sets of keys, as an index condition has them on its right side ---- */

/* The set of n hashes, made with seed 0, of keys of that type. */
extern blx_filter *ProbeOfHashes(const KeyType *key, const uint64 *hashes, int n);

/*
 * The set of the keys that a text, or an array of texts, stands for in filters of
 * these keys; NULL if nothing is known of them.
 */
extern const blx_filter *ProbeOfTexts(KeyType *untyped, Datum texts, bool is_array, const blx_identity *keys);

/* The set of hashes on the right side of ?& and ?|; an error if it is a filter of another layout. */
extern const blx_filter *DatumGetProbe(Datum datum);

/* True if the set's hashes say nothing about f, whose seed or key type is another: then any key may be in f. */
extern bool ProbeSaysNothing(const blx_filter *f, const blx_filter *probe);

/* False if f certainly lacks one of the keys (all), or every one of them (not all).  True if probe is NULL: nothing is known. */
extern bool FilterMayHold(const blx_filter *f, const blx_filter *probe, bool all);
