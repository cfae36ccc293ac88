/*
 * bloomx.h - what the files of the SQL face share.
 *
 *   bloomx.c      load time: settings
 *   value.c       a filter as a PostgreSQL value: detoasting, checking, errors
 *   expanded.c    a filter that an aggregate changes in place
 *   versions.c    a filter variable that a function changes again and again
 *   keys.c        SQL keys -> key types and hashes
 *   containers.c  the same for keys that consist of others: arrays, rows, ranges, jsonb
 *   type_io.c     text, binary and bytea forms
 *   compare.c     = <> < and hashing
 *   build.c       bloom_empty, bloom_add, bloom_hash
 *   remove.c      bloom_remove, bloom_to_bits
 *   membership.c  @> <@ bloom_contains*
 *   open_state.c  filters whose size is not known yet
 *   aggregates.c  bloom_agg, bloom_union_agg, bloom_intersection_agg
 *   algebra.c     | & disjoint, prefix, fold, shrink
 *   inspect.c     bloom_info, bloom_header, bloom_plan, estimates
 *   theory.c      the papers' formulas
 *   objects.c     the OIDs of the extension's own objects
 *   planner*.c    selectivity and cost of membership (planner.h)
 *   statistics.c  ANALYZE of a column of filters
 *   brin.c        BRIN operator classes
 *   gist.c        the GiST operator class of filters
 *   probe.c       membership as a condition that an index can take
 *   am_*.c        the index access method bloomx (am.h)
 */
#ifndef BLOOMX_H
#define BLOOMX_H

#include "pg/base/compat.h"

#include "access/detoast.h"
#include "datatype/timestamp.h"

#include "core/bloomx.h"
#include "core/base/identity.h"
#include "core/filter/filter.h"
#include "core/filter/growth.h"
#include "core/filter/inline.h"
#include "core/filter/union.h"
#include "core/layouts/hashes.h"

#pragma GCC visibility push(hidden)

#define DEFAULT_FPR 0.01

/* ---- bloomx.c ---- */
typedef enum OverfillAction
{
	OVERFILL_OFF,
	OVERFILL_NOTICE,
	OVERFILL_ERROR
} OverfillAction;

extern int	bloomx_overfill;
/* The least bloomx.build_mem, in kB. */
#define MIN_BUILD_MEM 64

extern int	bloomx_build_mem;	/* kB; -1 = what a hash table may take */

typedef struct KeyType KeyType;

/* ---- expanded.c ---- */

/* An empty expanded object below parent, for some `expected` keys; its filter is set next, allocated in its context. */
extern Datum MakeExpandedFilter(MemoryContext parent, double expected);
extern MemoryContext ExpandedFilterContext(Datum datum);
extern blx_filter *ExpandedFilterSet(Datum datum, blx_filter *f);
extern blx_filter *ExpandedFilterGet(Datum datum);

/* Adding a hash; a key of the filter's type. */
extern void ExpandedFilterAdd(Datum datum, uint64 hash);
extern bool ExpandedFilterAddKey(Datum datum, KeyType *type, Datum key);	/* false: it is not such an object */
extern bool DatumIsExpandedFilter(Datum datum);

/* ---- versions.c ---- */

/* From this size on bloom_add gives a version, which the next bloom_add need not copy. */
#define VERSION_BYTES 8192

extern bool DatumIsFilterVersion(Datum datum);
extern blx_filter *FilterVersionGet(Datum datum);

/* Only to look at the header. */
extern const blx_filter *FilterVersionHeader(Datum datum);

/* The first version: f and n hashes of such keys. */
extern Datum MakeFilterVersion(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n);

/* The version after that one; itself, changed, when the datum is read-write. */
extern Datum AddToFilterVersion(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n);

/* The same for one key. */
extern Datum AddKeyToFilterVersion(Datum datum, KeyType *key, Datum value);

/* ---- value.c ---- */

pg_noreturn extern void ThrowCoreError(const blx_error *error);

/* Filters from palloc, for the core. */
extern const blx_memory FilterMemory;

/* The filter that a function of the core gave, or its error. */
static inline blx_filter *
CheckResult(blx_filter *f, const blx_error *error)
{
	if (f == NULL)
		ThrowCoreError(error);
	return f;
}

/* Memory for a filter of that size, with its varlena length set. */
extern blx_filter *AllocFilter(uint64 size);

/*
 * f, moved in its memory, which grows by a cache line, so that the blocks of a
 * large one stand in whole lines: one that straddles two is a third slower to
 * find, and twice when the memory is the limit.  *chunk is what pfree takes.
 */
extern blx_filter *AlignFilter(blx_filter *f, void **chunk);

/* An empty filter. */
extern blx_filter *NewFilter(const blx_geometry *geometry, const blx_identity *identity, uint64 capacity);

/* The smallest empty filter, for "no keys at all". */
extern blx_filter *NewEmptyFilter(const blx_identity *identity);

extern blx_filter *CopyFilter(const blx_filter *f);

/* f, in a new geometry that a function of the core gave. */
extern blx_filter *ResizeFilter(const blx_filter *f, const blx_geometry *geometry);

/* The checked filter behind a datum, not to be changed: flat, detoasted, or inside an expanded object. */
extern blx_filter *DatumGetFilter(Datum datum);

#define PG_GETARG_FILTER(n) DatumGetFilter(PG_GETARG_DATUM(n))
#define PG_RETURN_FILTER(f) PG_RETURN_POINTER(f)

/* For functions that an index calls often. */
#define PG_FREE_FILTER_IF_COPY(f, n) \
	do { \
		if (!DatumIsExpandedFilter(PG_GETARG_DATUM(n))) \
			PG_FREE_IF_COPY(f, n); \
	} while (0)

/* What filled a filter: the hint depends on it. */
typedef enum OverfillCause
{
	KEYS_ADDED,
	FILTERS_UNITED,
	MEMORY_EXHAUSTED,			/* the build could not take the memory that its keys asked for */
	VALUES_SUMMARISED			/* by a BRIN index */
} OverfillCause;

/* Do the filter's bits break what its capacity promises? */
extern bool FilterIsOverfilled(const blx_filter *f);

/* Complains, as bloomx.overfill wants, when they do. */
extern void ReportOverfill(const blx_filter *f, OverfillCause cause);

/* Was the last time in another statement of the client?  Notices come once in each, not once per row. */
extern bool FirstInStatement(TimestampTz *last);

/* ERROR, NOTICE, or 0 when nothing is to be said: a notice comes once per statement and kind. */
extern int	OverfillLevel(OverfillCause cause);

/*
 * From here on header and block are read by two slices.  Each costs a search in
 * the TOAST index, as the whole value does; measured, the two cost 1.1 times
 * the whole of 8 kB, 0.94 of 12 kB, 0.8 of 16 kB and 0.4 of 48 kB.
 */
#define SLICE_BYTES 12288

/* The header of a TOASTed filter of `size` bytes, for looking; NULL when that layout's header does not say all. */
extern const blx_filter *FetchFilterHeader(Datum datum, Size size);

/*
 * The filter behind a datum for looking at its header, blx_size and
 * blx_bits_in: of a stored one, no more than these need.
 */
extern const blx_filter *DatumGetFilterHead(Datum datum);

/* Its prefix of that many parts. */
extern blx_filter *DatumGetFilterPrefix(Datum datum, int64 parts);

/* f without expansion, for estimates of cardinality. */
extern const blx_filter *EstimableFilter(const blx_filter *f);

/* The last filters of a call site. */
typedef struct FilterCache
{
	blx_filter	checked;		/* header of the last one that was checked in flat memory */
	/* the last that came by a TOAST pointer */
	Oid			toast_relation;
	Oid			toast_value;
	blx_filter *detoasted;		/* or NULL */
	void	   *detoasted_chunk;	/* its memory */
} FilterCache;

/*
 * A filter to be probed: whole, or only its header, with the rest to be fetched
 * from TOAST.
 */
typedef struct ProbedFilter
{
	const blx_filter *filter;
	struct varlena *toasted;	/* NULL when filter is whole */
} ProbedFilter;

/* ---- keys.c ---- */

struct KeyType
{
	Oid			type;			/* as the call passes it; InvalidOid = not looked up yet */
	blx_identity identity;		/* its seed is unused */
	uint64		(*hash) (KeyType *key, Datum value, uint64 seed);
	int16		length;			/* of the base type, for arrays of it */
	bool		by_value;
	char		align;
	Oid			collation;
	FmgrInfo	hash_function;	/* extended hash, of types that go by it */
	KeyType    *parts;			/* of an array its element, of a row its columns, of a range its bounds */
	int			n_parts;
};

/* What a call site keeps between rows, in fn_extra. */
typedef struct CallCache
{
	KeyType		key;
	FilterCache filter;
	blx_filter	ready;			/* header of the last filter that was checked, also for keys of this type */
	bool		in_aggregate;	/* the call site is an aggregate's transition */
	/* the last plan, for aggregates of many groups */
	int64		planned_capacity;
	double		planned_fpr;
	blx_geometry planned;
} CallCache;

extern CallCache *GetCallCache(FunctionCallInfo fcinfo);

/* The key type of argument n, or of its elements. */
extern KeyType *GetKeyType(FunctionCallInfo fcinfo, int n);
extern KeyType *GetElementKeyType(FunctionCallInfo fcinfo, int n);

/* The key type of an SQL type, for callers that are no call site; what it keeps is in context. */
extern void LookupKeyType(KeyType *key, Oid type, Oid collation, MemoryContext context);

static inline uint64
HashKey(KeyType *key, Datum value, uint64 seed)
{
	return key->hash(key, value, seed);
}

/*
 * The filter behind a datum, if the call site has checked it, and its keys'
 * type, before: the usual row's short way.  Otherwise NULL.
 */
static inline const blx_filter *
ReadyFilter(const CallCache *cache, Datum datum)
{
	const blx_filter *f = (const blx_filter *) DatumGetPointer(datum);

	if (VARATT_IS_EXTERNAL_ONDISK(f))
	{
		struct varatt_external pointer;

		VARATT_EXTERNAL_GET_POINTER(pointer, (struct varlena *) f);
		f = cache->filter.detoasted;
		if (f == NULL || pointer.va_valueid != cache->filter.toast_value ||
			pointer.va_toastrelid != cache->filter.toast_relation)
			return NULL;
	}
	/* the first word is the varlena header: what equals it is as long */
	if (f->host != cache->ready.host || memcmp(f, &cache->ready, sizeof(blx_filter)) != 0)
		return NULL;
	return f;
}

/* From now on f is ready.  Where more than the header decides, it cannot be. */
static inline void
SetReady(CallCache *cache, const blx_filter *f)
{
	if ((blx_traits(f->layout) & BLX_FETCHABLE) && f->key_type != BLX_KEY_NAMED)
		cache->ready = *f;
}

/*
 * The filter in argument n; a TOASTed one is detoasted once for as long as the
 * same value is passed, and a large one not before it comes a second time.
 */
extern ProbedFilter GetProbedFilter(FunctionCallInfo fcinfo, int n);

/* Before so many probes of it: what costs less, slices or the whole? */
extern void PrepareProbes(FunctionCallInfo fcinfo, ProbedFilter *probed, int keys);
extern bool ProbeToastedFilter(const ProbedFilter *probed, uint64 hash);

static inline bool
ProbeFilter(const ProbedFilter *probed, uint64 hash)
{
	return probed->toasted == NULL ? blx_test_inline(probed->filter, hash) : ProbeToastedFilter(probed, hash);
}

extern void CompareKeyTypes(const blx_filter *f, const KeyType *key);

/* Errors unless keys of that type belong into the filter. */
static inline void
CheckKeyType(const blx_filter *f, const KeyType *key)
{
	/* the common case, without a comparison of names */
	if (f->key_type != key->identity.key_type || f->key_type == BLX_KEY_NAMED)
		CompareKeyTypes(f, key);
}

/* The hashes of an array's elements; *n of them, without the NULLs (*nulls says whether there were any). */
extern uint64 *HashArray(KeyType *key, Datum array, uint64 seed, int *n, bool *nulls);

/* The identity of a filter that gets keys of another identity: takes the key type where there was none. */
extern blx_identity JointIdentity(const blx_identity *a, const blx_identity *b);

/* ---- containers.c ---- */

/* Arrays, rows, ranges and multiranges; false for other types. */
extern bool LookupContainer(KeyType *key, Oid base, Oid collation, MemoryContext context);
extern uint64 HashJsonb(KeyType *key, Datum value, uint64 seed);

/*
 * Makes it a named key type.  A name that is too long is cut and ends in a
 * fingerprint of what was cut; one that does not say all ends in a fingerprint
 * of what_else (or NULL).
 */
extern void SetKeyTypeName(KeyType *key, const char *name, const char *what_else, MemoryContext context);

/* ---- inspect.c ---- */

/* The keys that two filters share, by inclusion-exclusion, which may err below 0.  False where they cannot be compared. */
extern bool EstimateOverlap(const blx_filter *a, const blx_filter *b, double *keys);

/* ---- algebra.c ---- */
extern blx_filter *UnionFilters(const blx_filter *a, const blx_filter *b);

extern blx_filter *IntersectFilters(const blx_filter *a, const blx_filter *b);

/* ---- build.c ---- */

/* A copy of f that has taken the key type of `keys` where it had none. */
extern blx_filter *CopyForKeys(const blx_filter *f, const blx_identity *keys);

/* The geometry for these arguments, or an error.  options as in blx_parse_options. */
extern blx_geometry PlanGeometry(int64 capacity, double fpr, const char *layout, const char *options);

/* ---- objects.c ---- */

/* The extension's functions that other code has to recognise. */
typedef enum OwnFunction
{
	BLOOM_CONTAINS,
	BLOOM_CONTAINED,
	BLOOM_CONTAINS_HASH,
	BLOOM_CONTAINS_ANY,
	BLOOM_CONTAINS_ALL,
	BLOOM_PREFILTER,
	BLOOM_HOLDS_ALL,
	BLOOM_HOLDS_ANY,
	BLOOM_PROBE,
	BLOOM_PROBE_ALL,
	BLOOM_PROBE_HASH,
	BLOOM_AGG,
	BLOOM_AGG_CAPACITY,
	BLOOM_AGG_RATE,
	BLOOM_AGG_TEMPLATE,
	BLOOM_UNION_AGG,
	OWN_FUNCTIONS,
	NOT_OWN						/* somebody else's, whatever its name */
} OwnFunction;

typedef enum OwnOperator
{
	HOLDS_ALL_OPERATOR,
	HOLDS_ANY_OPERATOR,
	OWN_OPERATORS
} OwnOperator;

extern OwnFunction WhichFunction(Oid function);

/* InvalidOid when the extension has none, as while it is being created. */
extern Oid	OwnFunctionOid(OwnFunction which);
extern Oid	OwnOperatorOid(OwnOperator which);
extern Oid	FilterTypeOid(void);

/* bloomfilter, or a domain over it */
extern bool IsFilterType(Oid type);

/* ---- open_state.c ---- */

/* May keys of that layout wait as distinct hashes, or must each go into the filter as it comes? */
extern bool LayoutTakesHashes(uint8 layout);

/* An open state in the current context for some `expected` keys; planned NULL = sized at the end. */
extern blx_filter *NewHashes(const blx_geometry *planned, const blx_identity *identity, uint64 capacity, double expected);

/* The planner's guess of the rows that an aggregate's state gets; 0 = none. */
extern double ExpectedRows(FunctionCallInfo fcinfo);

/* How many keys the planner expects at most in an aggregate's result; 0 = no guess. */
extern double ExpectedKeys(FunctionCallInfo fcinfo);

/* Would a set of the hashes that are expected be no smaller than the planned filter? */
extern bool BeginsAsFilter(FunctionCallInfo fcinfo, const blx_geometry *planned);

/* A set of at least that many slots with the hashes of another, in the current context. */
extern blx_filter *CopyHashes(const blx_filter *open, uint64 slots, const blx_identity *identity);

/* A set of at least twice the slots, in the current context. */
extern blx_filter *LargerHashes(const blx_filter *open);

/* f with room for more keys, in the current context. */
extern blx_filter *GrowFilter(const blx_filter *f);

/*
 * Adds n hashes in place; returns f, or what it grew into (f is not freed).  A
 * set that becomes a filter takes one for the `expected` keys, 0 = not known.
 */
extern blx_filter *AddHashes(blx_filter *f, const uint64 *hashes, size_t n);
extern blx_filter *AddExpectedHashes(blx_filter *f, const uint64 *hashes, size_t n, double expected);

/* f, if it is a set, with room for so many; returns f, or what it grew into: a larger set, or the filter that it was to become (f is not freed). */
extern blx_filter *MakeRoomForHashes(blx_filter *f, uint64 count, double expected);

/* The finished filter, in the current context. */
extern blx_filter *FinishFilter(const blx_filter *open);

#pragma GCC visibility pop

#endif							/* BLOOMX_H */
