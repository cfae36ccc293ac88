/*
 * hashes.h - the open set: the distinct key hashes of a filter whose size is
 * not known yet (hashes.c).
 */
#pragma once

#include "core/base/hash.h"
#include "core/bloomx.h"

/* The memory of a set with `slots` slots. */
extern uint64_t blx_hashes_bytes(uint64_t slots, unsigned name_len);

/* Makes an empty set.  planned is the geometry that it is to become, or NULL if its count decides. */
extern void blx_hashes_init(blx_filter *f, uint64_t slots, const blx_geometry *planned,
							const blx_identity *id, uint64_t capacity);
extern uint64_t blx_hashes_slots(const blx_filter *f);
extern uint64_t blx_hashes_count(const blx_filter *f);

/* How many hashes a set takes before it is full and must grow into one with more slots. */
extern uint64_t blx_hashes_room(const blx_filter *f);
extern bool blx_hashes_full(const blx_filter *f);

/*
 * Adds a hash.  False if it has no room, as the set is full or the hashes that
 * it has stand too close: then the set must grow first, whatever its count.
 */
extern bool blx_hashes_add(blx_filter *f, uint64_t hash) __attribute__((warn_unused_result));

/*
 * Adds the hashes of another set to an empty one, which must have room for all of
 * them.  False if they stand too close: then dst is spoilt, and a larger set is needed.
 */
extern bool blx_hashes_copy(blx_filter *dst, const blx_filter *src) __attribute__((warn_unused_result));

/*
 * The number of different hashes in two sets.  A set that gets those of another
 * must first have room for all of them: they come in ascending order, and would
 * crowd its first slots long before the whole set is full.
 */
extern uint64_t blx_hashes_union_count(const blx_filter *a, const blx_filter *b);

/* Fetches the slot where a hash will be looked for. */
extern void blx_hashes_prefetch(const blx_filter *f, uint64_t hash);

/* Hands out the hashes, roughly ascending, up to max at a time; *cursor starts at 0; returns how many. */
extern size_t blx_hashes_next(const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max);

/*
 * The same, to be added to a filter of that layout.  A layout that grows gets them
 * scattered: ascending ones would crowd its first blocks before it notices that it
 * is full.
 */
extern size_t blx_hashes_next_for(uint8_t layout, const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max);

/*
 * True if the set is in the order of its spread hashes: those of keys, and hash 1 of
 * ready-made ones (blx_spread_hash).  Only a set with a salt is not.
 */
extern bool blx_hashes_ordered(const blx_filter *f);

/*
 * Of a set in that order: hands out the spread hashes with blx_scale(hash, blocks) =
 * block as blx_hashes_next does.  It looks only at the slots where they may be.
 */
extern size_t blx_hashes_next_in(const blx_filter *f, uint64_t block, uint64_t blocks, uint64_t *cursor, uint64_t *out, size_t max);

/* A key's hash, spread evenly: ready-made ones need not be. */
static inline uint64_t
blx_spread_hash(uint8_t key_type, uint64_t hash)
{
	return key_type == BLX_KEY_HASH || key_type == BLX_KEY_NONE ? blx_derive(hash, 1) : hash;
}

/* Adds all hashes of a set to a filter of a fixed size; false if another did not take all. */
extern bool blx_add_set(blx_filter *dst, const blx_filter *src);

/* What `pending` says: an open set knows the filter that it is to become. */
static inline bool
blx_is_planned(const blx_filter *set)
{
	return set->pending != 0;
}

/* What `pending` says of a filter: keys still come, and it is cut to its contents at the end. */
static inline bool
blx_is_uncut(const blx_filter *f)
{
	return f->layout != BLX_HASHES && f->pending != 0;
}

/* True if the number of its keys will decide how large f becomes. */
static inline bool
blx_size_is_open(const blx_filter *f)
{
	return f->layout == BLX_HASHES ? !blx_is_planned(f) : blx_is_uncut(f);
}

/*
 * An unplanned set and an uncut filter have no capacity, but may have the rate
 * that their result is to meet.  It stands in `capacity`, as the bits of the
 * double, which are larger than any number of keys; 0 is the default, 1 %.
 */
extern bool blx_is_rate(uint64_t capacity);
extern uint64_t blx_capacity_of_rate(double fpr);
extern double blx_rate_wanted(const blx_filter *open);

/* The capacity of a filter; 0 if it promises none, or a rate instead. */
extern uint64_t blx_capacity_promised(const blx_filter *f);

/* The capacity of a union: the larger one.  A rate is kept only if the union is open, too: of two rates the lower. */
extern uint64_t blx_joint_capacity(const blx_filter *a, const blx_filter *b, bool open);
