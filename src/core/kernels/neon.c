/*
 * neon.c - the kernels for 64-bit ARM.
 *
 * A full block is four registers of two parts.  As with AVX2, the test shifts
 * the block rather than a mask.  NEON shifts right by shifting left by a negative
 * number.
 */
#include "core/kernels/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "core/kernels/block.h"

#define PATH "neon"
#define KERNELS blx_kernels_neon
#define TARGET
#define VECTOR 16

/* Returns the bit numbers of parts j and j+1. */
static inline __attribute__((always_inline)) int64x2_t
bits_of(uint64_t mixed, unsigned j)
{
	const int64x2_t shift = {6 * (int64_t) j - 58, 6 * (int64_t) j - 52};

	return vreinterpretq_s64_u64(vandq_u64(vshlq_u64(vdupq_n_u64(mixed), shift), vdupq_n_u64(63)));
}

/* Returns parts j and j+1 of the block, each shifted so that the key's bit is the lowest. */
static inline __attribute__((always_inline)) uint64x2_t
pair_shifted(const uint64_t *block, unsigned j, uint64_t mixed)
{
	return vshlq_u64(vld1q_u64(block + j), vnegq_s64(bits_of(mixed, j)));
}

static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, uint64_t parts, uint64_t mixed)
{
	uint64x2_t	all = vdupq_n_u64(1);
	unsigned	pairs = (unsigned) parts / 2 * 2;

	for (unsigned j = 0; j < pairs; j += 2)
		all = vandq_u64(all, pair_shifted(block, j, mixed));
	return (vgetq_lane_u64(all, 0) & vgetq_lane_u64(all, 1)) != 0 && blx_parts_have(block, pairs, (unsigned) parts, mixed);
}

static inline __attribute__((always_inline)) void
block_set(uint64_t *block, uint64_t parts, uint64_t mixed)
{
	unsigned	pairs = (unsigned) parts / 2 * 2;

	for (unsigned j = 0; j < pairs; j += 2)
		vst1q_u64(block + j, vorrq_u64(vld1q_u64(block + j), vshlq_u64(vdupq_n_u64(1), bits_of(mixed, j))));
	blx_parts_set(block, pairs, (unsigned) parts, mixed);
}

static inline bool
blocks_meet(const uint64_t *a, const uint64_t *b)
{
	uint64x2_t	all = vdupq_n_u64(~UINT64_C(0));

	for (unsigned j = 0; j < BLX_GROUP; j += 2)
		all = vandq_u64(all, vtstq_u64(vld1q_u64(a + j), vld1q_u64(b + j)));
	return (vgetq_lane_u64(all, 0) & vgetq_lane_u64(all, 1)) != 0;
}

#include "core/kernels/template.h"

#endif
