/*
 * avx512.c - the kernels for x86-64 with 512-bit registers and the instructions
 * that all servers with AVX-512 have (avx512.h).
 */
#include "core/kernels/kernels.h"

#if defined(__x86_64__)

#define PATH "avx512"
#define KERNELS blx_kernels_avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2")))

#include "core/kernels/avx512.h"

TARGET static inline __attribute__((always_inline)) bool
full_has(const uint64_t *block, uint64_t mixed)
{
	bool		all;

	__asm__(MASK_TO_ZMM16
			"vptestnmq %[block], %%zmm16, %%k1\n\t"
			"kortestb %%k1, %%k1"
			: "=@ccz" (all)
			: MASK_OPERANDS(mixed), [block] "m"(*(const whole_block *) block)
			: "xmm16", "xmm17", "k1");
	return all;
}

TARGET static inline __attribute__((always_inline)) uint64_t
full_batch_has(uint64_t found, const uint64_t *block, uint64_t mixed)
{
	return push_all(found, _mm512_test_epi64_mask(_mm512_loadu_si512(block), mask_of(mixed)), lanes[BLX_GROUP]);
}

#include "core/kernels/template.h"

#endif
