/*
   * probe_set.h - sets of keys, as an index condition has them on its right side.
 */
#ifndef BLOOMX_PROBE_SET_H
#define BLOOMX_PROBE_SET_H

#include "pg/keys/keys.h"

#pragma GCC visibility push(hidden)

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

#pragma GCC visibility pop

#endif							/* BLOOMX_PROBE_SET_H */
