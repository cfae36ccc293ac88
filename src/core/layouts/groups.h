/*
 * groups.h - parts of 64 bits in groups of eight, over 2^e blocks: the
 * addressing of partitioned_blocked (docs/FORMAT.md, "Layouts"; Almeida 2022, section 6.1),
 * on bare words, for the layouts that are built of it.
 *
 * In each group of up to eight parts a key picks one of 2^e blocks by the top
 * bits of the group's hash and has one bit in each of its words: one cache
 * line a group, and an absent key rarely needs a second.  Groups stand one
 * after another, each as its blocks, each block as its parts.
 *
 * A part is 64 cells: bits, one word, or counters, four words.  A block of
 * counters is four planes, each the parts of a block of bits.
 */
#ifndef BLX_GROUPS_H
#define BLX_GROUPS_H

#include "core/base/hash.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"
#include "core/layouts/counters.h"
#include "core/layouts/layout.h"

#pragma GCC visibility push(hidden)

typedef struct blx_groups
{
	unsigned	log2;			/* e, below 32: an e and no power, so that a shift by 64 cannot happen */
	unsigned	parts;			/* 1 .. BLX_MAX_K, in all groups */
	bool		counting;		/* cells are counters (counters.h), not bits */
} blx_groups;

static inline unsigned
blx_groups_count(blx_groups shape)
{
	return (shape.parts + BLX_GROUP - 1) / BLX_GROUP;
}

static inline unsigned
blx_part_words(blx_groups shape)
{
	return shape.counting ? BLX_PLANES : 1;
}

static inline uint64_t
blx_groups_words(blx_groups shape)
{
	return (uint64_t) blx_part_words(shape) * shape.parts << shape.log2;
}

/* Parts of group number 0, 1, ... */
static inline unsigned
blx_group_parts(blx_groups shape, unsigned group)
{
	unsigned	left = shape.parts - BLX_GROUP * group;

	return left < BLX_GROUP ? left : BLX_GROUP;
}

/* Words of one block of a group of that many parts. */
static inline unsigned
blx_block_words(blx_groups shape, unsigned parts)
{
	return blx_part_words(shape) * parts;
}

/* Words of group number 0, 1, ... */
static inline uint64_t
blx_group_words(blx_groups shape, unsigned group)
{
	return (uint64_t) blx_block_words(shape, blx_group_parts(shape, group)) << shape.log2;
}

/* Words of the groups that have the first `parts` parts. */
static inline uint64_t
blx_groups_prefix_words(blx_groups shape, unsigned parts)
{
	unsigned	whole = (parts + BLX_GROUP - 1) / BLX_GROUP * BLX_GROUP;

	if (whole < shape.parts)
		shape.parts = whole;
	return blx_groups_words(shape);
}

/* The cells of part j of a block that are not 0. */
static inline uint64_t
blx_block_part(blx_groups shape, const uint64_t *block, unsigned parts, unsigned j)
{
	return shape.counting ? blx_counters_nonzero(block + j, parts) : block[j];
}

/* The same test for a whole block of bits or counters. */
static inline bool
blx_block_has(blx_groups shape, const uint64_t *block, unsigned parts, uint64_t mixed)
{
	uint64_t	all = 1;

	for (unsigned j = 0; j < parts; j++)
		all &= blx_block_part(shape, block, parts, j) >> blx_group_bit(mixed, j);
	return all & 1;
}

/* Of groups that begin at word `first` of what fetch brings. */
static inline __attribute__((always_inline)) bool
blx_groups_test_fetched(blx_groups shape, uint64_t first, uint64_t hash, blx_fetch fetch, void *arg)
{
	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);
		unsigned	words = blx_block_words(shape, parts);
		uint64_t	h = blx_derive(hash, g);

		if (!blx_block_has(shape, fetch(arg, first + blx_group_block(h, shape.log2) * words, words), parts, blx_group_mix(h)))
			return false;
		first += (uint64_t) words << shape.log2;
	}
	return true;
}

/* Inlined, so that a shape never goes through memory: written in pieces and read as a whole it would stall each test. */
static inline __attribute__((always_inline)) bool
blx_groups_test(const uint64_t *words, blx_groups shape, uint64_t hash)
{
	if (shape.counting)
		return blx_groups_test_fetched(shape, 0, hash, blx_fetch_memory, (void *) (uintptr_t) words);
	return blx_kernels_in_use()->test(words, UINT64_C(1) << shape.log2, shape.parts, hash);
}

/* Bit i of the answer: the test of hash i.  n is at most BLX_BATCH. */
static inline __attribute__((always_inline)) uint64_t
blx_groups_test_batch(const uint64_t *words, blx_groups shape, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	if (!shape.counting)
		return blx_kernels_in_use()->test_batch(words, UINT64_C(1) << shape.log2, shape.parts, hashes, n);
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) blx_groups_test(words, shape, hashes[i]) << i;
	return found;
}

/* ---- groups.c ---- */

/* Sets the bits of each key, or counts it. */
extern void blx_groups_add(uint64_t *words, blx_groups shape, const uint64_t *hashes, size_t n);

/* Counters: takes out a key that the test finds. */
extern void blx_groups_remove(uint64_t *words, blx_groups shape, uint64_t hash);

/* rates[p] = the exact rate of the first p parts as they are, p = 1 .. parts. */
extern void blx_groups_fpr_prefixes(const uint64_t *words, blx_groups shape, double *rates);

/*
 * dst op= src over the parts both have, at the finer resolution (dst's for
 * BLX_AND).  For counters, BLX_OR is their sum and there is no BLX_AND.
 */
extern void blx_groups_merge(uint64_t *dst, blx_groups dst_shape, const uint64_t *src, blx_groups src_shape, blx_op op);

/* No key can be in both. */
extern bool blx_groups_disjoint(const uint64_t *a, blx_groups a_shape, const uint64_t *b, blx_groups b_shape);

#pragma GCC visibility pop

#endif							/* BLX_GROUPS_H */
