/*
 * value.c - a filter as a PostgreSQL value.
 *
 * A value is the core's struct blx_filter with the varlena length in its first
 * word.  Whatever comes in passes blx_check before its geometry is used.
 */
#include "bloomx.h"

#include <math.h>

#include "access/detoast.h"
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
		case BLX_OK:
			break;
	}
	return ERRCODE_INTERNAL_ERROR;
}

void
ThrowCoreError(const blx_error *error)
{
	ereport(ERROR,
			(errcode(SqlState(error->code)),
			 errmsg("%s", error->message),
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

	if (!blx_plan(BLX_PARTITIONED_BLOCKED, 1, DEFAULT_FPR, &geometry, &error))
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
 * A query that probes one stored filter for many rows passes the same TOAST
 * pointer each time: fetch it once.
 */
const blx_filter *
GetCachedFilter(FunctionCallInfo fcinfo, int n)
{
	Datum		datum = PG_GETARG_DATUM(n);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	FilterCache *cache;
	MemoryContext old;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return DatumGetFilter(datum);

	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	cache = &GetCallCache(fcinfo)->filter;
	if (cache->filter != NULL &&
		cache->toast_relation == pointer.va_toastrelid &&
		cache->toast_value == pointer.va_valueid)
		return cache->filter;

	if (cache->filter != NULL)
		pfree(cache->filter);
	cache->filter = NULL;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	cache->filter = (blx_filter *) detoast_attr(value);
	MemoryContextSwitchTo(old);
	CheckFilter(cache->filter);
	cache->toast_relation = pointer.va_toastrelid;
	cache->toast_value = pointer.va_valueid;
	return cache->filter;
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

/* Beyond five standard errors of the estimate: of many filters within their plans none is accused. */
bool
FilterIsOverfilled(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);
	double		capacity = (double) f->capacity;

	if (f->capacity == 0)
		return false;
	if (f->layout == BLX_HASHES)
		return blx_hashes_count(f) > f->capacity;
	return blx_cardinality(EstimableFilter(f)) > capacity + 5 * blx_cardinality_error(&geometry, capacity);
}

void
ReportOverfill(const blx_filter *f)
{
	if (bloomx_overfill == OVERFILL_OFF || !FilterIsOverfilled(f))
		return;
	ereport(bloomx_overfill == OVERFILL_ERROR ? ERROR : NOTICE,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("bloom filter holds about %.0f keys, more than its capacity of " UINT64_FORMAT,
					blx_cardinality(EstimableFilter(f)), f->capacity),
			 errdetail("Its false positive rate is %.2g now.", blx_fpr(f)),
			 errhint("Plan a larger capacity, or set bloomx.overfill to off.")));
}
