/*
 * avx512.c - the kernels for x86-64 with 512-bit registers.
 *
 * A full block is one register, and one instruction tests all its parts.  The
 * mask of a part is a rotated 1.  A rotation takes its count modulo 64, so the
 * six bits of a bit number need not be cut out.  A group of fewer parts is a
 * register whose other lanes are masked out, in the memory access too.
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

#define PATH "avx512"
#define KERNELS blx_kernels_avx512
#define TARGET __attribute__((target("avx512f,bmi,bmi2")))
#define VECTOR 64
#define full_block_has full_block_has

/* Returns the key's bit in each of eight parts. */
TARGET static inline __attribute__((always_inline)) __m512i
mask_of(uint64_t mixed)
{
	__m512i		numbers = _mm512_srlv_epi64(_mm512_set1_epi64((long long) mixed),
											_mm512_setr_epi64(58, 52, 46, 40, 34, 28, 22, 16));

	return _mm512_rolv_epi64(_mm512_set1_epi64(1), numbers);
}

/* Returns the lane mask of the first `parts` parts, 1 .. BLX_GROUP. */
static inline __attribute__((always_inline)) __mmask8
first_parts(unsigned parts)
{
	return (__mmask8) (0xffu >> (BLX_GROUP - parts));
}

TARGET static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts == BLX_GROUP)
		return _mm512_testn_epi64_mask(_mm512_loadu_si512(block), mask_of(mixed)) == 0;
	return _mm512_mask_testn_epi64_mask(first_parts(parts), _mm512_maskz_loadu_epi64(first_parts(parts), block), mask_of(mixed)) == 0;
}

/*
 * The same test in registers that only AVX-512 has.  If it used the others, they
 * would have to be cleared (vzeroupper) before the caller goes on with older
 * instructions, which takes a tenth of the time of a single test.  It is
 * written in assembler because no intrinsic names a register.
 */
TARGET static inline __attribute__((always_inline)) bool
full_block_has(const uint64_t *block, uint64_t mixed)
{
	static const uint64_t places[BLX_GROUP] __attribute__((aligned(64))) = {58, 52, 46, 40, 34, 28, 22, 16};
	static const uint64_t one = 1;
	bool		all;

	__asm__("vpbroadcastq %[mixed], %%zmm16\n\t"
			"vpbroadcastq %[one], %%zmm17\n\t"
			"vpsrlvq %[places], %%zmm16, %%zmm16\n\t"
			"vprolvq %%zmm16, %%zmm17, %%zmm16\n\t"
			"vptestnmq %[block], %%zmm16, %%k1\n\t"
			"kortestw %%k1, %%k1"
			: "=@ccz" (all)
			: [mixed] "r"(mixed), [one] "m"(one), [places] "m"(places), [block] "m"(*(const uint64_t(*)[BLX_GROUP]) block)
			: "xmm16", "xmm17", "k1");
	return all;
}

TARGET static inline __attribute__((always_inline)) void
block_set(uint64_t *block, unsigned parts, uint64_t mixed)
{
	__mmask8	m = first_parts(parts);

	if (parts == BLX_GROUP)
		_mm512_storeu_si512(block, _mm512_or_si512(_mm512_loadu_si512(block), mask_of(mixed)));
	else
		_mm512_mask_storeu_epi64(block, m, _mm512_or_si512(_mm512_maskz_loadu_epi64(m, block), mask_of(mixed)));
}

TARGET static inline bool
blocks_meet(const uint64_t *a, const uint64_t *b)
{
	return _mm512_testn_epi64_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b)) == 0;
}

#include "core/kernels/template.h"

/* Counts set bits, two registers per round: two sums, so that an addition need not wait for the one before. */
static __attribute__((target("avx512f,avx512vpopcntdq,popcnt"))) uint64_t
popcount_by_registers(const uint64_t *words, uint64_t n)
{
	__m512i		a = _mm512_setzero_si512(),
				b = _mm512_setzero_si512();
	uint64_t	sum;

	for (; n >= 16; n -= 16, words += 16)
	{
		a = _mm512_add_epi64(a, _mm512_popcnt_epi64(_mm512_loadu_si512(words)));
		b = _mm512_add_epi64(b, _mm512_popcnt_epi64(_mm512_loadu_si512(words + 8)));
	}
	sum = (uint64_t) _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t) __builtin_popcountll(words[i]);
	return sum;
}

const blx_kernels blx_kernels_avx512_vpopcntdq = KERNEL_TABLE(popcount_by_registers);

#endif
