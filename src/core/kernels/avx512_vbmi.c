/*
 * avx512_vbmi.c - the kernels for x86-64 with 512-bit registers that can select
 * single bits (VBMI, BITALG) and count them (VPOPCNTDQ): Ice Lake, Zen 4 and
 * later.
 *
 * One instruction moves the number of a part's bit into all eight bytes of its
 * word, and one more takes that bit from the block, once for each byte.  So the
 * block has all its bits if all 64 answers are ones.  This is two operations
 * fewer than making a mask and comparing.  Only the test of a full block is done
 * so; the rest is that of avx512.h.
 */
#include "core/kernels/kernels.h"

#if defined(__x86_64__)

#define PATH "avx512_vbmi"
#define KERNELS blx_kernels_avx512_vbmi
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq,bmi,bmi2,popcnt")))
#define popcount popcount
#define count_words count_words

#include "core/kernels/avx512.h"

/* The same as places, for each byte of a part's word. */
#define EIGHT(place) place, place, place, place, place, place, place, place
static const uint8_t byte_places[8 * BLX_GROUP] __attribute__((aligned(64))) = {
	EIGHT(58), EIGHT(52), EIGHT(46), EIGHT(40), EIGHT(34), EIGHT(28), EIGHT(22), EIGHT(16)
};

TARGET static inline __attribute__((always_inline)) bool
full_has(const uint64_t *block, uint64_t mixed)
{
	bool		all;

	__asm__("vpbroadcastq %[mixed], %%zmm16\n\t"
			"vmovdqa64 %[places], %%zmm17\n\t"
			"vpmultishiftqb %%zmm16, %%zmm17, %%zmm16\n\t"
			"vmovdqu64 %[block], %%zmm17\n\t"
			"vpshufbitqmb %%zmm16, %%zmm17, %%k1\n\t"
			"kortestq %%k1, %%k1"
			: "=@ccc" (all)
			: [mixed] "r"(mixed), [places] "m"(byte_places), [block] "m"(*(const whole_block *) block)
			: "xmm16", "xmm17", "k1");
	return all;
}

TARGET static inline __attribute__((always_inline)) uint64_t
full_batch_has(uint64_t found, const uint64_t *block, uint64_t mixed)
{
	__m512i		numbers = _mm512_multishift_epi64_epi8(_mm512_load_si512(byte_places), _mm512_set1_epi64((long long) mixed));
	__mmask64	has = _mm512_bitshuffle_epi64_mask(_mm512_loadu_si512(block), numbers);

	__asm__("kortestq %[has], %[has]\n\t"
			"rcrq $1, %[found]"
			: [found] "+r"(found)
			: [has] "k"(has)
			: "cc");
	return found;
}

/* Two registers per round: two sums, so that an addition need not wait for the one before. */
TARGET static uint64_t
popcount(const uint64_t *words, uint64_t n)
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

TARGET static void
count_words(uint64_t *counts, const uint64_t *words, uint64_t n)
{
	for (; n >= 8; n -= 8, words += 8, counts += 8)
		_mm512_storeu_si512(counts, _mm512_popcnt_epi64(_mm512_loadu_si512(words)));
	_mm512_mask_storeu_epi64(counts, lanes[n], _mm512_popcnt_epi64(_mm512_maskz_loadu_epi64(lanes[n], words)));
}

#include "core/kernels/template.h"

#endif
