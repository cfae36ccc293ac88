/*
 * callsite.h - what a call site keeps between rows: the type of its keys and the
 * last filter, checked and detoasted.
 */
#pragma once

#include "pg/base/base.h"

#include "access/detoast.h"

#include "pg/keys/keys.h"
#include "pg/value/stored.h"

/* The last filters of a call site. */
typedef struct FilterCache
{
	blx_filter	checked;		/* header of the last one that was checked in flat memory */
	/* the last one that came by a TOAST pointer */
	Oid			toast_relation;
	Oid			toast_value;
	blx_filter *detoasted;		/* or NULL */
	void	   *detoasted_chunk;	/* its memory */
} FilterCache;

/* Stands in fn_extra of a function that has a filter or a key among its arguments. */
typedef struct CallCache
{
	MemoryContext context;		/* as long as the call site lives */
	KeyType		key;			/* of its one key argument, whose type does not change */
	FilterCache filter;
	blx_filter	prepared;		/* header of the last filter that was checked, also against the key type */
	bool		in_aggregate;	/* the call site is an aggregate's transition */
} CallCache;

extern CallCache *MakeCallCache(FmgrInfo *function);

static inline CallCache *
GetCallCache(FmgrInfo *function)
{
	return function->fn_extra != NULL ? function->fn_extra : MakeCallCache(function);
}

/* True if the value is the same for all rows and executions, or depends on parameters only. */
extern bool IsConstantExpression(Node *expression);

/*
 * The type of the call site's one key argument, the nth: the argument is a key, or
 * an array of keys.  Looked up for the first row.
 */
extern KeyType *LookupCallKey(CallCache *cache, FmgrInfo *function, int n, Oid collation);
extern KeyType *LookupCallElement(CallCache *cache, FmgrInfo *function, int n, Oid collation);

/* The same if the argument is a text, or an array of texts, that is read as a key of whatever type the filter has. */
static inline KeyType *
GetTextKey(CallCache *cache, Oid collation)
{
	if (unlikely(!OidIsValid(cache->key.type)))
		LookupTextKey(&cache->key, collation, cache->context);
	return &cache->key;
}

/*
 * The filter behind a datum if the call site has checked it before, also against
 * the type of its keys; else NULL.  Most rows take this short way.
 */
static inline const blx_filter *
PreparedFilter(const CallCache *cache, Datum datum)
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
	/* the first word is the varlena header: a datum that equals it is as long */
	if (f->host != cache->prepared.host || memcmp(f, &cache->prepared, sizeof(blx_filter)) != 0)
		return NULL;
	return f;
}

/*
 * The filter behind a datum, to be tested for `keys` keys.  A TOASTed one is
 * detoasted once for as long as the same value is passed.  If pieces for the keys
 * cost less than all of it, it is not detoasted before it comes a second time.
 */
extern TestedFilter GetTestedFilter(CallCache *cache, Datum datum, int keys);

/* The slow way of a row, for one without a prepared filter: checks it against the call site's key type, and tests the key. */
extern bool CheckAndTestKey(CallCache *cache, Datum filter, Datum key);
