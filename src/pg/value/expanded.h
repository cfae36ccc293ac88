/*
 * expanded.h - a filter that changes in memory, as an expanded object of PostgreSQL.
 *
 * An expanded object is a version of a filter that a variable of a function holds
 * (bloom_add), or the state of an aggregate (bloom_agg).
 */
#pragma once

#include "pg/base/base.h"

#include "pg/keys/keys.h"

/*
 * The size from which a filter that changes becomes an expanded object.  The object
 * has a memory context of its own, which costs a kilobyte and the time to create
 * it; a smaller filter is copied as fast.
 */
#define EXPANDED_BYTES 8192

/* Every expanded object of type bloomfilter is an expanded filter. */
static inline bool
DatumIsExpanded(Datum datum)
{
	return VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum));
}

/* The filter of an expanded object, with all its keys; it must not be changed. */
extern blx_filter *ExpandedFilterOf(Datum datum);

/* The same to look at the seed, the key type and the layout only: keys may still be missing. */
extern const blx_filter *ExpandedHeaderOf(Datum datum);

/* ---- versions: variables ---- */

/* A first version: f and n hashes of such keys. */
extern Datum MakeVersion(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n);

/* The version of an expanded object with n more hashes of such keys, or with one more key: the object itself if the datum is read-write. */
extern Datum NextVersion(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n);
extern Datum NextVersionWithKey(Datum datum, KeyType *type, Datum key);

/* ---- states: aggregates ---- */

/* An empty state below parent, for about `expected` keys (0 = not known).  SetState gives it a filter. */
extern Datum MakeState(MemoryContext parent, double expected);

extern bool ExpandedIsState(Datum datum);

/* True for a state that may be changed in place. */
static inline bool
DatumIsState(Datum datum)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) && ExpandedIsState(datum);
}

/* f, made in the context of the state, takes the place of the filter before.  Returns the filter, which may have moved. */
extern MemoryContext StateContext(Datum state);
extern blx_filter *SetState(Datum state, blx_filter *f);

/* Adds a hash, or a key of the filter's type.  AddKeyToState returns false, and does nothing, if it is no state. */
extern void AddToState(Datum state, uint64 hash);
extern bool AddKeyToState(Datum datum, KeyType *type, Datum key);
