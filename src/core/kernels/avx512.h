/*
 * avx512.h - what the paths with 512-bit registers share.  A part of their files,
 * like template.h: TARGET is defined before.
 *
 * A full block is one register, and one instruction tests all its parts.  The
 * mask of a part is a rotated 1.  A rotation takes its count modulo 64, so the
 * six bits of a bit number need not be cut out.  A group of fewer parts is a
 * register whose other lanes are masked out, in the memory access too.
 *
 * Functions for one key use only registers that AVX-512 added.  If they used the
 * others, these would have to be cleared (vzeroupper) before the caller goes on
 * with older instructions, which takes a tenth of the time of a single test.
 * They are written in assembler because no intrinsic names a register.
 *
 * What a file defines itself is the test of a full block, full_has and
 * full_batch_has: block_has and batch_has for 8 parts.
 */
#pragma once

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
#include "core/kernels/mulx.h"

#define VECTOR 64
#define batch_has batch_has
#define batch_set batch_set
#define deposit _pdep_u64

/* How far each part's bit number lies above the lowest bits of a mixed hash. */
static const uint64_t places[BLX_GROUP] __attribute__((aligned(64))) = {58, 52, 46, 40, 34, 28, 22, 16};
static const uint64_t one = 1;

/* The lanes of the first 0 .. BLX_GROUP parts. */
static const uint8_t lanes[BLX_GROUP + 1] = {0x00, 0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff};

/* A block as an operand of assembler.  Of a smaller block only the lanes of its parts are touched. */
typedef uint64_t whole_block[BLX_GROUP];

/* Leaves the key's bit in each of eight parts in zmm16. */
#define MASK_TO_ZMM16 \
	"vpbroadcastq %[mixed], %%zmm16\n\t" \
	"vpbroadcastq %[one], %%zmm17\n\t" \
	"vpsrlvq %[places], %%zmm16, %%zmm16\n\t" \
	"vprolvq %%zmm16, %%zmm17, %%zmm16\n\t"

#define MASK_OPERANDS(hash) [mixed] "r"(hash), [one] "m"(one), [places] "m"(places)

/* Returns the key's bit in each of eight parts. */
TARGET static inline __attribute__((always_inline)) __m512i
mask_of(uint64_t mixed)
{
	__m512i		numbers = _mm512_srlv_epi64(_mm512_set1_epi64((long long) mixed), _mm512_load_si512(places));

	return _mm512_rolv_epi64(_mm512_set1_epi64(1), numbers);
}

TARGET static inline __attribute__((always_inline)) bool full_has(const uint64_t *block, uint64_t mixed);
TARGET static inline __attribute__((always_inline)) uint64_t full_batch_has(uint64_t found, const uint64_t *block, uint64_t mixed);

TARGET static inline __attribute__((always_inline)) bool
block_has(const uint64_t *block, uint64_t parts, uint64_t mixed)
{
	bool		all;

	if (parts == BLX_GROUP)
		return full_has(block, mixed);
	__asm__(MASK_TO_ZMM16
			"kmovb %[lanes], %%k1\n\t"
			"vptestnmq %[block], %%zmm16, %%k1%{%%k1%}\n\t"
			"kortestb %%k1, %%k1"
			: "=@ccz" (all)
			: MASK_OPERANDS(mixed), [lanes] "m"(lanes[parts]), [block] "m"(*(const whole_block *) block)
			: "xmm16", "xmm17", "k1");
	return all;
}

TARGET static inline __attribute__((always_inline)) void
block_set(uint64_t *block, uint64_t parts, uint64_t mixed)
{
	if (parts == BLX_GROUP)
		__asm__(MASK_TO_ZMM16
				"vporq %[block], %%zmm16, %%zmm16\n\t"
				"vmovdqu64 %%zmm16, %[block]"
				: [block] "+m"(*(whole_block *) block)
				: MASK_OPERANDS(mixed)
				: "xmm16", "xmm17");
	else
		__asm__(MASK_TO_ZMM16
				"kmovb %[lanes], %%k1\n\t"
				"vporq %[block], %%zmm16, %%zmm16%{%%k1%}%{z%}\n\t"
				"vmovdqu64 %%zmm16, %[block]%{%%k1%}"
				: [block] "+m"(*(whole_block *) block)
				: MASK_OPERANDS(mixed), [lanes] "m"(lanes[parts])
				: "xmm16", "xmm17", "k1");
}

/*
 * Returns found shifted right, with a top bit that is set if `has` has all of
 * the lanes.  The bit comes through the carry flag: two instructions, where
 * taking it out as a bool and placing it needs six.
 */
TARGET static inline __attribute__((always_inline)) uint64_t
push_all(uint64_t found, __mmask8 has, __mmask8 wanted)
{
	__asm__("kortestb %[has], %[others]\n\t"
			"rcrq $1, %[found]"
			: [found] "+r"(found)
			: [has] "k"(has), [others] "k"((__mmask8) ~wanted)
			: "cc");
	return found;
}

TARGET static inline __attribute__((always_inline)) uint64_t
batch_has(uint64_t found, const uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts == BLX_GROUP)
		return full_batch_has(found, block, mixed);
	return push_all(found, _mm512_test_epi64_mask(_mm512_maskz_loadu_epi64(lanes[parts], block), mask_of(mixed)), lanes[parts]);
}

/* Unlike block_set it leaves it to the compiler to keep the constants in registers. */
TARGET static inline __attribute__((always_inline)) void
batch_set(uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts == BLX_GROUP)
		_mm512_storeu_si512(block, _mm512_or_si512(_mm512_loadu_si512(block), mask_of(mixed)));
	else
		_mm512_mask_storeu_epi64(block, lanes[parts], _mm512_or_si512(_mm512_maskz_loadu_epi64(lanes[parts], block), mask_of(mixed)));
}

TARGET static inline bool
blocks_meet(const uint64_t *a, const uint64_t *b)
{
	return _mm512_testn_epi64_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b)) == 0;
}
