/*
 * fuse_sizes.c - the sizes of a sealed filter (binary_fuse.c): how many slots its blocks
 * have.
 */
#include "core/layouts/sealed/fuse_sizes.h"

/*
 * Sizes are computed in integers, so that every machine makes the same filter:
 * fractions are in 1/65536, and log2 n = k + n / 2^k - 1 with the largest k that leaves
 * this positive.  A block is up to 1 % larger than by the true logarithm.
 */
#define ONE 65536

static uint64_t
log2_of(uint64_t n)
{
	unsigned	k = 63 - (unsigned) __builtin_clzll(n);

	return (uint64_t) k * ONE + ((n * ONE >> k) - ONE);
}

/* log2 n / log2 2.91 - 1/2, rounded down (Graf and Lemire 2022); log2 2.91 is 1.541. */
static unsigned
segment_for(uint64_t log2)
{
	uint64_t	s = log2 * 1000 / 1541;

	s = s < ONE / 2 ? 0 : (s - ONE / 2) / ONE;
	return s < 1 ? 1 : s > BLX_FUSE_MAX_SEGMENT ? BLX_FUSE_MAX_SEGMENT : (unsigned) s;
}

/*
 * max(1.075, 0.77 + 5.855 / log2 n) slots for each key, in whole segments.  One attempt to build such a block (seal.c) fails with a
 * probability of 0.47 at worst, for 14 keys, 0.06 for 1,000, and 0.001 for 10,000.
 */
blx_geometry
blx_fuse_geometry(uint64_t blocks, uint64_t fullest, unsigned fingerprint_bits, unsigned value_bits)
{
	unsigned	segment = 0;
	uint64_t	slots = 4;

	if (fullest > 1)
	{
		uint64_t	log2 = log2_of(fullest),
					per_key = 50463 + UINT64_C(383713) * ONE / log2,	/* 0.77, 5.855 */
					length;

		per_key = per_key < 70451 ? 70451 : per_key;	/* 1.075 */
		segment = segment_for(log2);
		length = UINT64_C(1) << segment;
		slots = (fullest * per_key + ONE - 1) / ONE;
		slots = (slots + length - 1) / length * length;
		slots = slots < 4 * length ? 4 * length : slots;
	}
	return (blx_geometry) {.layout = BLX_BINARY_FUSE, .blocks = (uint32_t) blocks, .parts = (uint16_t) (fingerprint_bits + value_bits),
		.probes = 4, .part_bits = slots, .parameters = {segment | (uint64_t) value_bits << 8}};
}
