/*
 * hashes.h - the open set: the distinct key hashes of a filter whose size is
 * not known yet (hashes.c).
 */
#ifndef BLX_HASHES_H
#define BLX_HASHES_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* The memory of a set with that many slots. */
extern uint64_t blx_hashes_bytes(uint64_t slots, unsigned name_len);

/* An empty set.  planned: the geometry that it is to become, or NULL when the count decides. */
extern void blx_hashes_init(blx_filter *f, uint64_t slots, const blx_geometry *planned,
							const blx_identity *id, uint64_t capacity);
extern uint64_t blx_hashes_slots(const blx_filter *f);
extern uint64_t blx_hashes_count(const blx_filter *f);

/* How many hashes a set takes before it must grow into one with more slots: before it is full. */
extern uint64_t blx_hashes_room(const blx_filter *f);
extern bool blx_hashes_full(const blx_filter *f);

/*
 * Adds a hash.  False if it has no room, as the set is full or the hashes that
 * it has stand too close: then the set must grow first, whatever its count.
 */
extern bool blx_hashes_add(blx_filter *f, uint64_t hash) __attribute__((warn_unused_result));

/* Adds hashes until one finds no room; returns how many. */
extern size_t blx_hashes_add_some(blx_filter *f, const uint64_t *hashes, size_t n);

/* Hands out hashes, up to max at a time, as blx_hashes_next does; none: there are no more. */
typedef size_t (*blx_hashes_source) (const void *source, uint64_t *cursor, uint64_t *out, size_t max);

/*
 * Adds the hashes that `next` hands out, twice or more often if asked again, to
 * an empty set; or those of another set.  The set must have room for all of them.
 * False if they still stand too close: then it is spoilt, and a larger one is needed.
 */
extern bool blx_hashes_fill(blx_filter *f, blx_hashes_source next, const void *source) __attribute__((warn_unused_result));
extern bool blx_hashes_copy(blx_filter *dst, const blx_filter *src) __attribute__((warn_unused_result));

/*
 * The number of different hashes in two sets.  A set that gets those of another
 * must have the room for all of them first: they come ascending, and would crowd
 * in its first slots long before the whole set is full.
 */
extern uint64_t blx_hashes_union_count(const blx_filter *a, const blx_filter *b);

/* Fetches the slot where a hash will be looked for. */
extern void blx_hashes_prefetch(const blx_filter *f, uint64_t hash);

/* Hands out the hashes, roughly ascending, up to max at a time; *cursor starts at 0; returns how many. */
extern size_t blx_hashes_next(const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max);

/*
 * The same, to be added to a filter of that layout.  One that grows is given them
 * scattered: ascending ones would crowd into its first blocks before it sees that
 * it is full.
 */
extern size_t blx_hashes_next_for(uint8_t layout, const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max);

/* Adds all hashes of a set to a filter of a fixed size; false if another did not take all. */
extern bool blx_hashes_pour(blx_filter *dst, const blx_filter *src);

/* True if the hash is in the set. */
extern bool blx_hashes_test(const blx_filter *f, uint64_t hash);

#pragma GCC visibility pop

#endif							/* BLX_HASHES_H */
