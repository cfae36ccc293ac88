/*
 * groups.h - parts of 64 cells in groups of eight, over 2^e blocks: what
 * partitioned_blocked, counting and scalable are built of (docs/internals/FORMAT.md,
 * "Layouts"; Almeida 2022, section 6.1).
 *
 * In each group of up to eight parts a key picks one of 2^e blocks, by the top
 * bits of the group's hash, and has one cell in each part of that block.  So a
 * group costs one cache line, and an absent key rarely needs a second group.
 * Groups are stored one after another, each as its blocks, each block as its
 * parts.
 *
 * Cells are bits or counters.  A part of bits is one word.  A block of counters
 * is four planes (counters.h), each of them like a block of bits.
 *
 * These functions work on bare words and a shape.  They know nothing of headers;
 * the shape is the caller's to check.
 */
#pragma once

#include "core/base/hash.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"
#include "core/layouts/counters.h"
#include "core/layouts/layout.h"

typedef struct blx_groups
{
	unsigned	log2;			/* e, less than 32; not 2^e, so that no code shifts by 64 */
	unsigned	parts;			/* in all groups together, 1 .. BLX_MAX_K */
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

/* Returns the parts of group number 0, 1, ... */
static inline unsigned
blx_group_parts(blx_groups shape, unsigned group)
{
	unsigned	left = shape.parts - BLX_GROUP * group;

	return left < BLX_GROUP ? left : BLX_GROUP;
}

/* Returns the words of one block, in a group of `parts` parts. */
static inline unsigned
blx_block_words(blx_groups shape, unsigned parts)
{
	return blx_part_words(shape) * parts;
}

/* Returns the words of group number 0, 1, ... */
static inline uint64_t
blx_group_words(blx_groups shape, unsigned group)
{
	return (uint64_t) blx_block_words(shape, blx_group_parts(shape, group)) << shape.log2;
}

/* Returns the mask of the cells of part j that are not 0, in a block of `parts` parts. */
static inline uint64_t
blx_block_part(blx_groups shape, const uint64_t *block, unsigned parts, unsigned j)
{
	return shape.counting ? blx_counters_nonzero(block + j, parts) : block[j];
}

/* True if the key's cell is not 0 in any part of the block; no branch between parts (block.h). */
static inline bool
blx_block_has(blx_groups shape, const uint64_t *block, unsigned parts, uint64_t mixed)
{
	uint64_t	all = 1;

	for (unsigned j = 0; j < parts; j++)
		all &= blx_block_part(shape, block, parts, j) >> blx_group_bit(mixed, j);
	return all & 1;
}

/* True if the key is in every group.  The groups begin at word `first` of what `fetch` reads. */
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

/*
 * The same for words in memory.  Inlined, so that the shape stays in registers:
 * written in pieces and read as a whole, it would stall each test.
 */
static inline __attribute__((always_inline)) bool
blx_groups_test(const uint64_t *words, blx_groups shape, uint64_t hash)
{
	if (shape.counting)
		return blx_groups_test_fetched(shape, 0, hash, blx_fetch_memory, (void *) (uintptr_t) words);
	return blx_kernels_in_use()->test(words, UINT64_C(1) << shape.log2, shape.parts, hash);
}

/* ---- groups.c ---- */

/* Adds n keys: sets their bits, or increments their counters. */
extern void blx_groups_add(uint64_t *words, blx_groups shape, const uint64_t *hashes, size_t n);

/* Decrements the counters of a key.  The shape is counting, and the test must have found the key. */
extern void blx_groups_remove(uint64_t *words, blx_groups shape, uint64_t hash);

/* Returns the least counter of a key.  The shape is counting. */
extern unsigned blx_groups_least_counter(const uint64_t *words, blx_groups shape, uint64_t hash);

/* Counts the cells that are not 0 after `times` folds. */
extern uint64_t blx_groups_folded_bits_set(const uint64_t *words, blx_groups shape, unsigned times);

/* Sets rates[p], p = 1 .. parts, to the exact false positive rate that the first p parts have as they are. */
extern void blx_groups_fpr_prefixes(const uint64_t *words, blx_groups shape, double *rates);

/*
 * Combines src into dst over the parts that both have.  src is folded or
 * expanded to dst's resolution; for BLX_AND it must not be the finer one.
 * For counters BLX_OR is their sum, and there is no BLX_AND.
 */
extern void blx_groups_merge(uint64_t *dst, blx_groups dst_shape, const uint64_t *src, blx_groups src_shape, blx_op op);

/* True if no key can be in both. */
extern bool blx_groups_disjoint(const uint64_t *a, blx_groups a_shape, const uint64_t *b, blx_groups b_shape);
