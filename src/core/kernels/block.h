/*
 * block.h - the addressing of one group of parts, on bare words: which block a
 * key picks, and which bit it has in each part of that block (docs/internals/design.md,
 * "The default layout"; Almeida 2022, section 6.1).
 *
 * The block is the top bits of the group's hash.  The bit numbers come from the
 * hash times an odd constant (2^64 over the golden ratio).  If they came from
 * the low end of the hash itself, block and bits would share hash bits, which
 * doubles the false positives of filters of more than 2^16 blocks (measured).
 *
 * These formulas are part of the format: every path and every release computes
 * the same positions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BLX_GROUP 8				/* parts in a full group */

/* Returns the block, 0 .. 2^log2 - 1.  Two shifts, because a shift by 64 is undefined for log2 = 0. */
static inline uint64_t
blx_group_block(uint64_t group_hash, unsigned log2)
{
	return group_hash >> 1 >> (63 - log2);
}

/* Returns the word that blx_group_bit takes the bit numbers from. */
static inline uint64_t
blx_group_mix(uint64_t group_hash)
{
	return group_hash * UINT64_C(0x9E3779B97F4A7C15);
}

/* Returns the key's bit in a part, 0 .. 63.  Eight parts use up the top 48 bits. */
static inline unsigned
blx_group_bit(uint64_t mixed, unsigned part)
{
	return (unsigned) (mixed >> (58 - 6 * part) & 63);
}

/*
 * True if parts from .. parts-1 of a block all have the key's bit.  There is no
 * branch between the parts: at 50 % hits a branch would cost three times the
 * test.
 */
static inline __attribute__((always_inline)) bool
blx_parts_have(const uint64_t *block, unsigned from, unsigned parts, uint64_t mixed)
{
	uint64_t	all = 1;

	for (unsigned j = from; j < parts; j++)
		all &= block[j] >> blx_group_bit(mixed, j);
	return all & 1;
}

/* Sets the key's bit in parts from .. parts-1 of a block. */
static inline __attribute__((always_inline)) void
blx_parts_set(uint64_t *block, unsigned from, unsigned parts, uint64_t mixed)
{
	for (unsigned j = from; j < parts; j++)
		block[j] |= UINT64_C(1) << blx_group_bit(mixed, j);
}
