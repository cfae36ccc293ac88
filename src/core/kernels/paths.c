/*
 * paths.c - which kernels this processor runs.
 *
 * The first call chooses, in whatever thread it comes; blx_simd_set changes the
 * choice for a test, a comparison or a suspicion.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/kernels/kernels.h"

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

_Atomic(const blx_kernels *) blx_path;

static bool first_test(const blx_filter *f, uint64_t hash);

_Atomic(blx_test_function) blx_test_default = first_test;

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
	const blx_kernels *kernels;

	if (!runs(p))
		return;
	if (p == BLX_SIMD_AUTO)
		for (p = BLX_SIMD_PATHS - 1; !runs(p);)
			p--;
	kernels = paths[p].kernels;
#if defined(__x86_64__)
	if (p == BLX_SIMD_AVX512 && __builtin_cpu_supports("avx512vpopcntdq"))
		kernels = &blx_kernels_avx512_vpopcntdq;
#endif
	atomic_store_explicit(&blx_path, kernels, memory_order_relaxed);
	atomic_store_explicit(&blx_test_default, kernels->test_filter, memory_order_relaxed);
}

const blx_kernels *
blx_choose_path(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
#endif
	blx_simd_set(BLX_SIMD_AUTO);
	return atomic_load_explicit(&blx_path, memory_order_relaxed);
}

/* Stands for the test of every path until one is chosen. */
static bool
first_test(const blx_filter *f, uint64_t hash)
{
	return blx_choose_path()->test_filter(f, hash);
}

const char *
blx_simd_name(void)
{
	return blx_kernels_in_use()->name;
}
