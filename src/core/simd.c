/*
 * simd.c - which kernels this processor runs.
 *
 * Chosen when the module is loaded; blx_simd_set changes it for a test, a
 * comparison or a suspicion.
 */
#include <stdio.h>
#include <string.h>

#include "core/layout.h"
#include "core/simd.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Registers that the operating system saves (XCR0): of 128 and 256 bits; of masks and of 512 bits. */
#define SAVES_YMM 0x06
#define SAVES_ZMM 0xe6

/* An instruction set is of no use where the system does not save its registers. */
static bool
system_saves(unsigned registers)
{
	unsigned	a,
				b,
				c,
				d,
				low,
				high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
		return false;
	__asm__ volatile ("xgetbv":"=a" (low), "=d"(high):"c"(0));
	return (low & registers) == registers;
}

static bool
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		system_saves(SAVES_YMM);
}

static bool
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && system_saves(SAVES_ZMM);
}
#endif

static bool
always(void)
{
	return true;
}

typedef struct path
{
	const char *name;
	bool		(*runs) (void);	/* NULL: on another architecture */
	const blx_kernels *kernels;
} path;

/* The later, the faster. */
static const path paths[BLX_SIMD_PATHS] = {
	[BLX_SIMD_SCALAR] = {"scalar", always, &blx_kernels_scalar},
#if defined(__x86_64__)
	[BLX_SIMD_AVX2] = {"avx2", has_avx2, &blx_kernels_avx2},
	[BLX_SIMD_AVX512] = {"avx512", has_avx512, &blx_kernels_avx512},
	[BLX_SIMD_NEON] = {"neon", NULL, NULL},
#elif defined(__aarch64__)
	[BLX_SIMD_AVX2] = {"avx2", NULL, NULL},
	[BLX_SIMD_AVX512] = {"avx512", NULL, NULL},
	[BLX_SIMD_NEON] = {"neon", always, &blx_kernels_neon},
#else
	[BLX_SIMD_AVX2] = {"avx2", NULL, NULL},
	[BLX_SIMD_AVX512] = {"avx512", NULL, NULL},
	[BLX_SIMD_NEON] = {"neon", NULL, NULL},
#endif
};

blx_kernels blx_simd;
bool		(*blx_test_default) (const blx_filter *f, uint64_t hash);

static bool
runs(enum blx_simd_path p)
{
	return p == BLX_SIMD_AUTO || ((unsigned) p < BLX_SIMD_PATHS && paths[p].runs != NULL && paths[p].runs());
}

bool
blx_simd_check(enum blx_simd_path p, blx_error *error)
{
	char		hint[100] = "It runs scalar";

	if (runs(p))
		return true;
	for (enum blx_simd_path other = BLX_SIMD_SCALAR + 1; other < BLX_SIMD_PATHS; other++)
		if (runs(other))
			snprintf(hint + strlen(hint), sizeof hint - strlen(hint), ", %s", paths[other].name);
	snprintf(hint + strlen(hint), sizeof hint - strlen(hint), ".");
	return blx_fail(error, BLX_UNSUPPORTED, NULL, hint, "this processor does not run %s",
					(unsigned) p < BLX_SIMD_PATHS ? paths[p].name : "unknown kernels");
}

void
blx_simd_set(enum blx_simd_path p)
{
	if (!runs(p))
		return;
	if (p == BLX_SIMD_AUTO)
		for (p = BLX_SIMD_PATHS - 1; !runs(p);)
			p--;
	blx_simd = *paths[p].kernels;
	blx_test_default = blx_simd.test_filter;
#if defined(__x86_64__)
	if (p == BLX_SIMD_AVX512 && __builtin_cpu_supports("avx512vpopcntdq"))
		blx_simd.popcount = blx_popcount_avx512;
#endif
}

const char *
blx_simd_name(void)
{
	return blx_simd.name;
}

static __attribute__((constructor)) void
choose(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
#endif
	blx_simd_set(BLX_SIMD_AUTO);
}
