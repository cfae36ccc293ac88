/*
 * block.h - where a key is in a group of parts, on bare words: which block it
 * picks, and which bit of each part of that block (docs/design.md, "The default
 * layout"; Almeida 2022, section 6.1).
 *
 * The bit numbers come from the hash times an odd constant.  Taken from the
 * low end of the hash itself they would double the false positives of filters
 * of more than 2^16 blocks (measured), as block and bits then share hash bits.
 */
#ifndef BLX_BLOCK_H
#define BLX_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define BLX_GROUP 8				/* parts in a full group */

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

#endif							/* BLX_BLOCK_H */
