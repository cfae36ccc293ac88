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
 * The bit numbers come from the hash times an odd constant.  Taken from the
 * low end of the hash itself they would double the false positives of filters
 * of more than 2^16 blocks (measured), as block and bits then share hash bits.
 *
 * A part is 64 cells: bits, one word, or counters, four words.  A block of
 * counters is four planes, each the parts of a block of bits.
 */
#ifndef BLX_GROUPS_H
#define BLX_GROUPS_H

#include "core/counters.h"
#include "core/hash.h"
#include "core/layout.h"
#include "core/simd.h"

#pragma GCC visibility push(hidden)

#define BLX_GROUP 8				/* parts in a full group */

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

/* Where a key is in a group: in which block, and in which cell of each part. */
static inline uint64_t
blx_group_block(uint64_t group_hash, unsigned log2)
{
	return group_hash >> 1 >> (63 - log2);
}

static inline uint64_t
blx_group_mix(uint64_t group_hash)
{
	return group_hash * UINT64_C(0x9E3779B97F4A7C15);
}

static inline unsigned
blx_group_bit(uint64_t mixed, unsigned part)
{
	return (unsigned) (mixed >> (58 - 6 * part) & 63);
}

/* Have parts from .. parts-1 of a block of bits the key's?  Without a branch between them: at 50 % hits one would cost three times the test. */
static inline __attribute__((always_inline)) bool
blx_parts_have(const uint64_t *block, unsigned from, unsigned parts, uint64_t mixed)
{
	uint64_t	all = 1;

	for (unsigned j = from; j < parts; j++)
		all &= block[j] >> blx_group_bit(mixed, j);
	return all & 1;
}

static inline __attribute__((always_inline)) void
blx_parts_set(uint64_t *block, unsigned from, unsigned parts, uint64_t mixed)
{
	for (unsigned j = from; j < parts; j++)
		block[j] |= UINT64_C(1) << blx_group_bit(mixed, j);
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
	return blx_simd.test(words, UINT64_C(1) << shape.log2, shape.parts, hash);
}

/* Bit i of the answer: the test of hash i.  n is at most BLX_BATCH. */
static inline __attribute__((always_inline)) uint64_t
blx_groups_test_batch(const uint64_t *words, blx_groups shape, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	if (!shape.counting)
		return blx_simd.test_batch(words, UINT64_C(1) << shape.log2, shape.parts, hashes, n);
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) blx_groups_test(words, shape, hashes[i]) << i;
	return found;
}

/* ---- groups.c ---- */

/* Sets the bits of each key, or counts it. */
extern void blx_groups_add(uint64_t *words, blx_groups shape, const uint64_t *hashes, size_t n);

/* Counters: takes out a key that the test finds. */
extern void blx_groups_remove(uint64_t *words, blx_groups shape, uint64_t hash);

/* The formula: expected rate with n random keys. */
extern double blx_groups_fpr_expected(blx_groups shape, uint64_t n);

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
