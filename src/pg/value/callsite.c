/*
 * callsite.c - what a call site keeps between rows.
 *
 * A query that tests one filter for many rows passes the same datum each time.
 * What does not change between rows is looked up, detoasted and checked once.
 */
#include "pg/value/callsite.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/value/value.h"

CallCache *
MakeCallCache(FmgrInfo *function)
{
	CallCache  *cache = MemoryContextAllocZero(function->fn_mcxt, sizeof(CallCache));

	cache->context = function->fn_mcxt;
	function->fn_extra = cache;
	return cache;
}

/* ---- the key type ---- */

static void
RequireType(Oid type)
{
	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the bloom filter key")));
}

KeyType *
LookupCallKey(CallCache *cache, Oid type, Oid collation)
{
	RequireType(type);
	LookupKeyType(&cache->key, type, collation, cache->context);
	return &cache->key;
}

KeyType *
LookupCallElement(CallCache *cache, Oid array, Oid collation)
{
	Oid			element;

	RequireType(array);
	element = get_base_element_type(array);
	if (!OidIsValid(element))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("bloom filter keys must be given as an array, not as %s", format_type_be(array))));
	LookupKeyType(&cache->key, element, collation, cache->context);
	return &cache->key;
}

/* ---- the filter ---- */

/*
 * A filter that is no TOAST pointer.  If its layout can be checked by header and
 * length alone, one with an equal header needs no second check.
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

/* True if the datum is the TOASTed value that the call site saw last.  If not, it is from now on. */
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

static TestedFilter
DetoastIntoCache(CallCache *site, struct varlena *value)
{
	FilterCache *cache = &site->filter;
	TestedFilter whole = {0};

	if (cache->detoasted == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(site->context);
		blx_filter *f = (blx_filter *) detoast_attr(value);

		MemoryContextSwitchTo(old);
		cache->detoasted = AlignFilter(CheckFilter(f), &cache->detoasted_chunk);
	}
	whole.filter = cache->detoasted;
	return whole;
}

TestedFilter
GetTestedFilter(CallCache *cache, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	TestedFilter tested = {0};

	/* in memory */
	if (!VARATT_IS_EXTERNAL_ONDISK(value))
	{
		tested.filter = GetFlatFilter(&cache->filter, datum);
		return tested;
	}
	/* in TOAST, and new to this call site: perhaps only its head */
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (!SeenBefore(&cache->filter, &pointer) && PiecesPay(value))
	{
		tested.filter = FetchHead(value, pointer.va_rawsize);
		tested.stored = value;
		if (blx_traits(tested.filter->layout) & TESTABLE_IN_PIECES)
			return tested;
	}
	return DetoastIntoCache(cache, value);
}

void
PrepareTests(CallCache *cache, TestedFilter *tested, int n)
{
	if (tested->stored != NULL && !PiecesPayFor(tested->stored, n))
		*tested = DetoastIntoCache(cache, tested->stored);
}

/* From now on f is ready, unless more than its header decides whether it is valid and takes these keys. */
static void
SetReady(CallCache *cache, const blx_filter *f)
{
	if ((blx_traits(f->layout) & BLX_FETCHABLE) && f->key_type != BLX_KEY_NAMED)
		cache->ready = *f;
}

bool
CheckAndTestKey(CallCache *cache, Datum filter, Datum key, Oid type, Oid collation)
{
	TestedFilter tested = GetTestedFilter(cache, filter);
	KeyType    *key_type = GetCallKey(cache, type, collation);

	CheckKeyType(tested.filter, key_type);
	if (tested.stored == NULL)
		SetReady(cache, tested.filter);
	return TestFilter(&tested, HashKey(key_type, key, tested.filter->seed));
}
