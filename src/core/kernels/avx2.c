/*
 * avx2.c - the kernels for x86-64 with 256-bit registers.
 *
 * A full block is two registers.  The test shifts the block rather than a mask:
 * it shifts each part right by the number of its bit and requires the lowest
 * bit of every part to be set.  There is no branch between the halves: at 50 %
 * hits it would cost more than the second half (measured: 11 ns instead of 3).
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
#define TARGET __attribute__((target("avx2,bmi,bmi2")))
#define VECTOR 32

/* Returns the bit numbers of four parts, from part `first` (0 or 4) on. */
TARGET static inline __attribute__((always_inline)) __m256i
bits_of(uint64_t mixed, unsigned first)
{
	__m256i		all = _mm256_set1_epi64x((long long) mixed);
	__m256i		places = first == 0 ? _mm256_setr_epi64x(58, 52, 46, 40) : _mm256_setr_epi64x(34, 28, 22, 16);

	return _mm256_and_si256(_mm256_srlv_epi64(all, places), _mm256_set1_epi64x(63));
}

/* Returns four parts of the block, each shifted so that the key's bit is the lowest. */
TARGET static inline __attribute__((always_inline)) __m256i
half_shifted(const uint64_t *block, unsigned first, uint64_t mixed)
{
	return _mm256_srlv_epi64(_mm256_loadu_si256((const __m256i *) (block + first)), bits_of(mixed, first));
}

/* Sets the key's bit in four parts. */
TARGET static inline __attribute__((always_inline)) void
half_set(uint64_t *block, unsigned first, uint64_t mixed)
{
	__m256i		mask = _mm256_sllv_epi64(_mm256_set1_epi64x(1), bits_of(mixed, first));
	__m256i    *half = (__m256i *) (block + first);

	_mm256_storeu_si256(half, _mm256_or_si256(_mm256_loadu_si256(half), mask));
}

TARGET static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, unsigned parts, uint64_t mixed)
{
	const __m256i lowest = _mm256_set1_epi64x(1);

	if (parts == BLX_GROUP)
		return _mm256_testc_si256(_mm256_and_si256(half_shifted(block, 0, mixed), half_shifted(block, 4, mixed)), lowest);
	if (parts >= 4)
		return _mm256_testc_si256(half_shifted(block, 0, mixed), lowest) & blx_parts_have(block, 4, parts, mixed);
	return blx_parts_have(block, 0, parts, mixed);
}

TARGET static inline __attribute__((always_inline)) void
block_set(uint64_t *block, unsigned parts, uint64_t mixed)
{
	unsigned	done = 0;

	if (parts >= 4)
	{
		half_set(block, 0, mixed);
		done = 4;
	}
	if (parts == BLX_GROUP)
		half_set(block, 4, mixed);
	else
		blx_parts_set(block, done, parts, mixed);
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
