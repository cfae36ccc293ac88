/*
 * avx2.c - the kernels for x86-64 with 256-bit registers.
 *
 * A full block is two registers, and one of five to seven parts is two that
 * overlap.  The test shifts the block rather than a mask: it shifts each part
 * right by the number of its bit and requires the lowest bit of every part to be
 * set.  There is no branch between the halves: at 50 % hits it would cost more
 * than the second half (measured: 11 ns instead of 3).
 */
#include "core/kernels/kernels.h"

#if defined(__x86_64__)

/*
 * GCC clears the upper halves of the registers (vzeroupper) only from -O2 on.
 * What is left in them makes every older instruction that follows several times
 * slower, libm's most of all, so a build with -O1 must clear them, too.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("expensive-optimizations")
#endif

#include <immintrin.h>

#include "core/kernels/block.h"

#define PATH "avx2"
#define KERNELS blx_kernels_avx2
#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define VECTOR 32

#include "core/kernels/mulx.h"

#define batch_has batch_has
#define deposit _pdep_u64

/* How far each part's bit number lies below the top bits of a mixed hash. */
static const uint64_t places[BLX_GROUP] __attribute__((aligned(32))) = {0, 6, 12, 18, 24, 30, 36, 42};

/* Returns the bit numbers of four parts, from part `first` on: two shifts cut out six bits without a mask in a register. */
TARGET static inline __attribute__((always_inline)) __m256i
bits_of(uint64_t mixed, uint64_t first)
{
	__m256i		above = _mm256_loadu_si256((const __m256i *) (places + first));

	return _mm256_srli_epi64(_mm256_sllv_epi64(_mm256_set1_epi64x((long long) mixed), above), 58);
}

/* Returns four parts of the block, each shifted so that the key's bit is the lowest. */
TARGET static inline __attribute__((always_inline)) __m256i
four_shifted(const uint64_t *block, uint64_t first, uint64_t mixed)
{
	return _mm256_srlv_epi64(_mm256_loadu_si256((const __m256i *) (block + first)), bits_of(mixed, first));
}

/* Returns four parts of the block with the key's bit set. */
TARGET static inline __attribute__((always_inline)) __m256i
four_set(const uint64_t *block, uint64_t first, uint64_t mixed)
{
	return _mm256_or_si256(_mm256_loadu_si256((const __m256i *) (block + first)),
						   _mm256_sllv_epi64(_mm256_set1_epi64x(1), bits_of(mixed, first)));
}

/*
 * Returns the first four parts and the last four, ANDed.  In a block of four to
 * seven parts the two overlap, and some parts are looked at twice.  This needs
 * no masks, and touches no memory outside the block.
 */
TARGET static inline __attribute__((always_inline)) __m256i
all_shifted(const uint64_t *block, uint64_t parts, uint64_t mixed)
{
	return _mm256_and_si256(four_shifted(block, 0, mixed), four_shifted(block, parts - 4, mixed));
}

TARGET static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, uint64_t parts, uint64_t mixed)
{
	if (parts < 4)
		return blx_parts_have(block, 0, (unsigned) parts, mixed);
	return _mm256_testc_si256(all_shifted(block, parts, mixed), _mm256_set1_epi64x(1));
}

/*
 * The answer comes through the carry flag: two instructions, where taking it out
 * as a bool and placing it needs five.
 */
TARGET static inline __attribute__((always_inline)) uint64_t
batch_has(uint64_t found, const uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts < 4)
		return found >> 1 | (uint64_t) blx_parts_have(block, 0, parts, mixed) << 63;
	__asm__("vptest %[lowest], %[all]\n\t"
			"rcrq $1, %[found]"
			: [found] "+r"(found)
			: [all] "x"(all_shifted(block, parts, mixed)), [lowest] "x"(_mm256_set1_epi64x(1))
			: "cc");
	return found;
}

TARGET static inline __attribute__((always_inline)) void
block_set(uint64_t *block, uint64_t parts, uint64_t mixed)
{
	__m256i		first,
				last;

	if (parts < 4)
	{
		blx_parts_set(block, 0, (unsigned) parts, mixed);
		return;
	}
	/* both are computed before either is written: where they overlap, they are equal */
	first = four_set(block, 0, mixed);
	last = four_set(block, parts - 4, mixed);
	_mm256_storeu_si256((__m256i *) block, first);
	_mm256_storeu_si256((__m256i *) (block + parts - 4), last);
}

TARGET static inline bool
blocks_meet(const uint64_t *a, const uint64_t *b)
{
	const __m256i *x = (const __m256i *) a,
			   *y = (const __m256i *) b;
	__m256i		low = _mm256_and_si256(_mm256_loadu_si256(x), _mm256_loadu_si256(y));
	__m256i		high = _mm256_and_si256(_mm256_loadu_si256(x + 1), _mm256_loadu_si256(y + 1));
	const __m256i none = _mm256_setzero_si256();
	/* a lane of all ones where a part has no common bit */
	__m256i		empty = _mm256_or_si256(_mm256_cmpeq_epi64(low, none), _mm256_cmpeq_epi64(high, none));

	return _mm256_testz_si256(empty, empty);
}

#include "core/kernels/template.h"

#endif
