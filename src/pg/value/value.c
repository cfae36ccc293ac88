/*
 * value.c - a filter as a PostgreSQL value.
 *
 * A value is the core's struct blx_filter with the varlena length in its first
 * word.  Whatever comes in passes blx_check before its geometry is used.
 */
#include "pg/base/bloomx.h"

#include <math.h>

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

StaticAssertDecl(BLX_MAX_BYTES <= MaxAllocSize, "a filter must fit a palloc chunk");

static int
SqlState(blx_code code)
{
	switch (code)
	{
		case BLX_INVALID_PARAMETER:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case BLX_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case BLX_CORRUPT:
			return ERRCODE_DATA_CORRUPTED;
		case BLX_MISMATCH:
			return ERRCODE_DATATYPE_MISMATCH;
		case BLX_UNSUPPORTED:
			return ERRCODE_FEATURE_NOT_SUPPORTED;
		case BLX_NO_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case BLX_OK:
			break;
	}
	return ERRCODE_INTERNAL_ERROR;
}

void
ThrowCoreError(const blx_error *error)
{
	int			length = (int) strlen(error->message);

	/* the core knows no encodings: a message that it cut may end within a character */
	length = pg_mbcliplen(error->message, length, length);
	ereport(ERROR,
			(errcode(SqlState(error->code)),
			 errmsg("%.*s", length, error->message),
			 error->detail[0] ? errdetail("%s", error->detail) : 0,
			 error->hint[0] ? errhint("%s", error->hint) : 0));
}

blx_filter *
AllocFilter(uint64 size)
{
	blx_filter *f;

	if (size > BLX_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a bloom filter of " UINT64_FORMAT " bytes exceeds the limit of 1 GB", size),
				 errhint("Split the keys over several filters.")));
	f = palloc(size);
	SET_VARSIZE(f, size);
	return f;
}

static void *
AllocForCore(void *arg, size_t size)
{
	return AllocFilter(size);
}

static void
FreeForCore(void *arg, void *filter)
{
	pfree(filter);
}

const blx_memory FilterMemory = {AllocForCore, FreeForCore, NULL};

/* A filter that is smaller comes from the cache, whole lines or not. */
#define ALIGNED_BYTES 65536
#define CACHE_LINE 64

blx_filter *
AlignFilter(blx_filter *f, void **chunk)
{
	uint64		size = VARSIZE(f);
	size_t		header = blx_header_bytes(f->name_len);
	blx_filter *aligned;

	*chunk = f;
	if (size < ALIGNED_BYTES || f->layout == BLX_HASHES)
		return f;
	*chunk = repalloc_huge(f, size + CACHE_LINE);
	aligned = (blx_filter *) (TYPEALIGN(CACHE_LINE, (char *) *chunk + header) - header);
	memmove(aligned, *chunk, size);
	return aligned;
}

blx_filter *
NewFilter(const blx_geometry *geometry, const blx_identity *identity, uint64 capacity)
{
	blx_filter *f = AllocFilter(blx_bytes(geometry, identity->name_len));

	blx_init(f, geometry, identity, capacity);
	return f;
}

blx_filter *
NewEmptyFilter(const blx_identity *identity)
{
	blx_geometry geometry;
	blx_error	error;

	if (!blx_plan(BLX_PARTITIONED_BLOCKED, 1, DEFAULT_FPR, NULL, &geometry, &error))
		ThrowCoreError(&error);
	return NewFilter(&geometry, identity, 0);
}

blx_filter *
CopyFilter(const blx_filter *f)
{
	uint64		size = blx_size(f);
	blx_filter *copy = AllocFilter(size);

	memcpy(copy, f, size);
	SET_VARSIZE(copy, size);
	return copy;
}

blx_filter *
ResizeFilter(const blx_filter *f, const blx_geometry *geometry)
{
	blx_identity identity = blx_identity_of(f);
	blx_filter *result = NewFilter(geometry, &identity, f->capacity);

	blx_or_into(result, f);
	return result;
}

static blx_filter *
CheckFilter(blx_filter *f)
{
	blx_error	error;

	if (!blx_check(f, VARSIZE(f), &error))
		ThrowCoreError(&error);
	return f;
}

blx_filter *
DatumGetFilter(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (DatumIsExpandedFilter(datum))
		return ExpandedFilterGet(datum);
	return CheckFilter((blx_filter *) PG_DETOAST_DATUM(PointerGetDatum(value)));
}

/*
 * A filter that is no TOAST pointer.  Where the check depends on header and
 * length alone, equal ones need no second look.
 */
static const blx_filter *
GetFlatFilter(FilterCache *cache, Datum datum)
{
	const blx_filter *f = (const blx_filter *) DatumGetPointer(datum);

	if (VARATT_IS_4B_U(f) && VARSIZE(f) >= sizeof(blx_filter) &&
		memcmp(f, &cache->checked, sizeof(blx_filter)) == 0)
		return f;
	f = DatumGetFilter(datum);
	if (blx_traits(f->layout) & BLX_FETCHABLE)
		cache->checked = *f;
	return f;
}

/* Is the datum the TOASTed value that the call site saw last?  If not it is from now on. */
static bool
SeenBefore(FilterCache *cache, const struct varatt_external *pointer)
{
	if (cache->toast_relation == pointer->va_toastrelid && cache->toast_value == pointer->va_valueid)
		return true;
	if (cache->detoasted != NULL)
		pfree(cache->detoasted_chunk);
	cache->detoasted = NULL;
	cache->toast_relation = pointer->va_toastrelid;
	cache->toast_value = pointer->va_valueid;
	return false;
}

/*
 * A query that probes one stored filter for many rows passes the same TOAST
 * pointer each time: fetch it once.
 */
static blx_filter *
DetoastIntoCache(FunctionCallInfo fcinfo, struct varlena *value)
{
	FilterCache *cache = &GetCallCache(fcinfo)->filter;

	if (cache->detoasted == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		blx_filter *f = (blx_filter *) detoast_attr(value);

		MemoryContextSwitchTo(old);
		cache->detoasted = AlignFilter(CheckFilter(f), &cache->detoasted_chunk);
	}
	return cache->detoasted;
}

/* Layouts that can be probed by slices. */
#define SLICEABLE (BLX_FETCHABLE | BLX_HEAD_FETCHABLE)

/* Is it a stored value of which two slices cost less than the whole? */
static bool
CanSlice(const struct varlena *value)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	return pointer.va_rawsize >= SLICE_BYTES && !VARATT_EXTERNAL_IS_COMPRESSED(pointer);
}

/* That many bytes of a stored filter, which the length word counts among them. */
static struct varlena *
FetchSlice(struct varlena *value, uint64 from, uint64 bytes)
{
	struct varlena *slice = detoast_attr_slice(value, (int32) (from - VARHDRSZ), (int32) bytes);

	if (VARSIZE_ANY_EXHDR(slice) != bytes)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored bloom filter is shorter than its header says")));
	return slice;
}

/* The header of a TOASTed filter, and what else one chunk has of it, checked against the size of the whole. */
static blx_filter *
FetchHeader(struct varlena *value, uint64 size)
{
	blx_filter *header = (blx_filter *) FetchSlice(value, VARHDRSZ, Min(size, BLX_HEAD_BYTES) - VARHDRSZ);
	blx_error	error;

	if ((size < sizeof(blx_filter) || (blx_traits(header->layout) & SLICEABLE)) && !blx_check(header, size, &error))
		ThrowCoreError(&error);
	return header;
}

const blx_filter *
FetchFilterHeader(Datum datum, Size size)
{
	const blx_filter *header = FetchHeader((struct varlena *) DatumGetPointer(datum), size);

	return blx_traits(header->layout) & BLX_FETCHABLE ? header : NULL;
}

const blx_filter *
DatumGetFilterHead(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	const blx_filter *head;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return DatumGetFilter(datum);
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	head = FetchHeader(value, pointer.va_rawsize);
	return blx_traits(head->layout) & SLICEABLE ? head : DatumGetFilter(datum);
}

/*
 * A prefix of a large stored filter is made of the beginning of its body: the
 * rest need not be read.
 */
blx_filter *
DatumGetFilterPrefix(Datum datum, int64 parts)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	const blx_filter *f = NULL;
	blx_filter *start;
	blx_geometry geometry;
	blx_error	error;
	bool		sliced;

	if (CanSlice(value))
		f = FetchFilterHeader(datum, toast_raw_datum_size(datum));
	sliced = f != NULL;
	if (!sliced)
		f = DatumGetFilter(datum);
	if (!blx_prefix_geometry(f, parts, &geometry, &error))
		ThrowCoreError(&error);
	if (!sliced)
		return ResizeFilter(f, &geometry);
	start = (blx_filter *) FetchSlice(value, VARHDRSZ,
									  blx_header_bytes(f->name_len) - VARHDRSZ + 8 * blx_prefix_words(f, &geometry));
	return blx_cut(start, &geometry) ? start : ResizeFilter(start, &geometry);
}

/*
 * A query that looks into many stored filters sees each once: it reads the
 * header and the blocks that the key has, and not the megabyte around them.
 */
ProbedFilter
GetProbedFilter(FunctionCallInfo fcinfo, int n)
{
	Datum		datum = PG_GETARG_DATUM(n);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	ProbedFilter probed = {0};

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
	{
		probed.filter = GetFlatFilter(&GetCallCache(fcinfo)->filter, datum);
		return probed;
	}
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (!SeenBefore(&GetCallCache(fcinfo)->filter, &pointer) && CanSlice(value))
	{
		probed.filter = FetchHeader(value, pointer.va_rawsize);
		probed.toasted = value;
		if (blx_traits(probed.filter->layout) & SLICEABLE)
			return probed;
	}
	probed.filter = DetoastIntoCache(fcinfo, value);
	probed.toasted = NULL;
	return probed;
}

/* Each key's slice costs a search in the TOAST index, as the header's did. */
void
PrepareProbes(FunctionCallInfo fcinfo, ProbedFilter *probed, int keys)
{
	struct varatt_external pointer;

	if (probed->toasted == NULL)
		return;
	VARATT_EXTERNAL_GET_POINTER(pointer, probed->toasted);
	if (pointer.va_rawsize >= (1 + (double) keys) * (SLICE_BYTES / 2))
		return;
	probed->filter = DetoastIntoCache(fcinfo, probed->toasted);
	probed->toasted = NULL;
}

/* blx_fetch: words of the body, from what came with the header, or else from TOAST. */
static const uint64 *
FetchWords(void *arg, uint64 first, unsigned n)
{
	const ProbedFilter *probed = arg;
	static uint64 words[BLX_MAX_FETCH];
	uint64		from = blx_header_bytes(probed->filter->name_len) + 8 * first;
	struct varlena *slice;

	if (from + 8 * n <= VARSIZE(probed->filter))
		return blx_cwords(probed->filter) + first;
	slice = FetchSlice(probed->toasted, from, 8 * n);
	memcpy(words, VARDATA_ANY(slice), 8 * n);
	pfree(slice);
	return words;
}

bool
ProbeToastedFilter(const ProbedFilter *probed, uint64 hash)
{
	return blx_test_fetched(probed->filter, hash, FetchWords, (void *) (uintptr_t) probed);
}

const blx_filter *
EstimableFilter(const blx_filter *f)
{
	blx_geometry geometry;

	if (f->expanded == 0)
		return f;
	geometry = blx_unexpanded_geometry(f);
	return ResizeFilter(f, &geometry);
}

/*
 * What a filter of capacity 0 promised nobody knows; but one that says yes to
 * everything is none any more.  A small filter for a high rate, or one that was
 * folded, may be full with no more keys than its capacity.  It leaves U bits
 * unset on average; none at all happens with a chance of about e^-U, which is
 * that of five standard deviations where U is 15.
 */
static bool
FullBeyondCapacity(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);
	double		bits = (double) blx_bits(&geometry);

	return f->capacity == 0 ||
		bits * exp(-(double) f->capacity * blx_bits_per_key(&geometry) / bits) >= 15;
}

/* The most keys that a filter is taken to hold by chance when it holds n. */
static double
MostKeys(const blx_geometry *geometry, double n)
{
	return n + 5 * blx_cardinality_error(geometry, n);
}

/*
 * The rate that a union of filters of different sizes owes.  Its capacity is the
 * largest of its sources', mostly the finest one's.  Keys that leave nine bits
 * in ten unset are not what that size was planned for (it may not have been
 * planned at all): then the capacity is a coarser one's.
 */
static double
PromisedRate(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);
	double		capacity = (double) f->capacity;

	if (capacity * blx_bits_per_key(&geometry) < 0.1 * (double) blx_bits(&geometry))
		geometry = blx_unexpanded_geometry(f);
	return blx_fpr_expected(&geometry, (uint64) ceil(MostKeys(&geometry, capacity)));
}

/*
 * Beyond five standard errors of the estimate: of many filters within their
 * plans none is accused.
 *
 * The bits are counted as they are.  A union of filters of different sizes has
 * the keys of a coarse one in many places (blx_filter's `expanded`), and each
 * place costs the rate what a key would: so the union of a small full filter
 * and a large full one has few more keys than the large one, and a much higher
 * rate.  A coarse filter's keys are spread more evenly than so many keys would
 * be, however.  It is the rate that was promised: it decides for such a union.
 */
bool
FilterIsOverfilled(const blx_filter *f)
{
	blx_geometry geometry;
	double		keys;

	if (blx_traits(f->layout) & BLX_UNBOUNDED)
		return false;
	if (f->layout == BLX_HASHES)
		return f->pending && f->capacity > 0 && blx_hashes_count(f) > f->capacity;
	keys = blx_cardinality(f);
	if (isinf(keys))
		return FullBeyondCapacity(f);
	geometry = blx_geometry_of(f);
	if (f->capacity == 0 || keys <= MostKeys(&geometry, (double) f->capacity))
		return false;
	return f->expanded == 0 || blx_fpr(f) > PromisedRate(f);
}

/*
 * What a client sends in one message is one statement, with all that functions
 * run for it: then the start of the statement is the same.  A parallel worker
 * takes it from its leader, but cannot know what others have said.
 */
bool
FirstInStatement(TimestampTz *last)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	bool		first = *last != statement;

	*last = statement;
	return first;
}

int
OverfillLevel(OverfillCause cause)
{
	static TimestampTz last_notice[VALUES_SUMMARISED + 1];

	if (bloomx_overfill == OVERFILL_ERROR)
		return ERROR;
	if (bloomx_overfill == OVERFILL_OFF)
		return 0;
	return FirstInStatement(&last_notice[cause == VALUES_SUMMARISED ? VALUES_SUMMARISED : KEYS_ADDED]) ? NOTICE : 0;
}

static const char *
OverfillHint(OverfillCause cause)
{
	switch (cause)
	{
		case FILTERS_UNITED:
			return "Give filters that are to be united one capacity for the keys of all, as in bloom_agg(v, capacity), or set bloomx.overfill to off.";
		case MEMORY_EXHAUSTED:
			return "Raise work_mem or bloomx.build_mem, give bloom_agg the capacity, or set bloomx.overfill to off.";
		default:
			return "Plan a larger capacity, or set bloomx.overfill to off.";
	}
}

/* What is wrong with an overfilled filter. */
static char *
DescribeOverfill(const blx_filter *f)
{
	double		keys = blx_cardinality(f);

	if (isinf(keys) && f->capacity == 0)
		return pstrdup("bloom filter is full, it takes every key for one of its own");
	if (isinf(keys))
		return psprintf("bloom filter is full, its capacity is " UINT64_FORMAT " keys", f->capacity);
	if (f->expanded > 0)
		return psprintf("union of bloom filters of different sizes is as full as one of about %.0f keys, more than its capacity of " UINT64_FORMAT,
						keys, f->capacity);
	return psprintf("bloom filter holds about %.0f keys, more than its capacity of " UINT64_FORMAT, keys, f->capacity);
}

void
ReportOverfill(const blx_filter *f, OverfillCause cause)
{
	int			level;

	if (bloomx_overfill == OVERFILL_OFF || !FilterIsOverfilled(f))
		return;
	level = OverfillLevel(cause);
	if (level == ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", DescribeOverfill(f)),
				 errdetail("Its false positive rate is %.2g now.", blx_fpr(f)),
				 errhint("%s", OverfillHint(cause))));
	else if (level != 0)
		ereport(level,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s; its false positive rate is %.2g", DescribeOverfill(f), blx_fpr(f)),
				 errhint("%s", OverfillHint(cause))));
}
