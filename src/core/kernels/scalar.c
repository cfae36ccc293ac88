/*
 * scalar.c - the kernels in plain C, for any processor.
 *
 * This path defines what is right: the others must agree with it bit for bit.
 */
#include "core/kernels/block.h"

#define PATH "scalar"
#define KERNELS blx_kernels_scalar
#define TARGET
#define VECTOR 16				/* nearly every 64-bit processor has such registers; elsewhere the compiler splits them */

static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, uint64_t parts, uint64_t mixed)
{
	return blx_parts_have(block, 0, (unsigned) parts, mixed);
}

static inline __attribute__((always_inline)) void
block_set(uint64_t *block, uint64_t parts, uint64_t mixed)
{
	blx_parts_set(block, 0, (unsigned) parts, mixed);
}

static inline bool
blocks_meet(const uint64_t *a, const uint64_t *b)
{
	bool		all = true;

	for (unsigned j = 0; j < BLX_GROUP; j++)
		all &= (a[j] & b[j]) != 0;
	return all;
}

#include "core/kernels/template.h"
