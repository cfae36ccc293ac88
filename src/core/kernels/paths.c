/*
 * paths.c - chooses the kernels for the processor, when the library is loaded.
 *
 * blx_simd_set changes the choice, for tests, comparisons and diagnosis.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/base.h"
#include "core/kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

/*
 * Bits of XCR0: which registers the operating system saves.  SAVES_YMM is the
 * 128-bit and 256-bit registers (bits 1 and 2); SAVES_ZMM adds the mask
 * registers and both halves of the 512-bit ones (bits 5 to 7).
 */
#define SAVES_YMM 0x06
#define SAVES_ZMM 0xe6

/* True if the operating system saves those registers; otherwise their instructions must not be used. */
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

/* The constructor below may run before the compiler's own, which asks the processor. */
static bool
has_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		__builtin_cpu_supports("popcnt") && system_saves(SAVES_YMM);
}

static bool
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && system_saves(SAVES_ZMM);
}

static bool
has_avx512_vbmi(void)
{
	return has_avx512() && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg") &&
		__builtin_cpu_supports("avx512vpopcntdq");
}
#endif

static bool
always(void)
{
	return true;
}

static const char *const names[BLX_SIMD_PATHS] = {
	[BLX_SIMD_SCALAR] = "scalar",
	[BLX_SIMD_AVX2] = "avx2",
	[BLX_SIMD_AVX512] = "avx512",
	[BLX_SIMD_AVX512_VBMI] = "avx512_vbmi",
	[BLX_SIMD_NEON] = "neon",
};

/* Those of this architecture, in order of speed: the automatic choice is the last path that runs here. */
static const struct
{
	bool		(*runs) (void);	/* NULL: it belongs to another one */
	const blx_kernels *kernels;
}			paths[BLX_SIMD_PATHS] = {
	[BLX_SIMD_SCALAR] = {always, &blx_kernels_scalar},
#if defined(__x86_64__)
	[BLX_SIMD_AVX2] = {has_avx2, &blx_kernels_avx2},
	[BLX_SIMD_AVX512] = {has_avx512, &blx_kernels_avx512},
	[BLX_SIMD_AVX512_VBMI] = {has_avx512_vbmi, &blx_kernels_avx512_vbmi},
#elif defined(__aarch64__)
	[BLX_SIMD_NEON] = {always, &blx_kernels_neon},
#endif
};

_Atomic(const blx_kernels *) blx_path;
_Atomic(blx_test_function) blx_test_default;
_Atomic(blx_test_function) blx_test_plain;
_Atomic(blx_add_function) blx_add_default;
_Atomic(blx_add_function) blx_add_plain;

/* ---- the choice ---- */

/* True if this processor runs the path; BLX_SIMD_AUTO always runs. */
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
			snprintf(hint + strlen(hint), sizeof hint - strlen(hint), ", %s", names[other]);
	snprintf(hint + strlen(hint), sizeof hint - strlen(hint), ".");
	return blx_fail(error, BLX_UNSUPPORTED, NULL, hint, "this processor does not run %s",
					(unsigned) p < BLX_SIMD_PATHS ? names[p] : "unknown kernels");
}

void
blx_simd_set(enum blx_simd_path p)
{
	const blx_kernels *kernels;

	if (!runs(p))
		return;
	/* Automatic: the fastest path that runs here.  Scalar always does. */
	if (p == BLX_SIMD_AUTO)
		for (p = BLX_SIMD_PATHS - 1; !runs(p);)
			p--;
	kernels = paths[p].kernels;
	atomic_store_explicit(&blx_path, kernels, memory_order_relaxed);
	atomic_store_explicit(&blx_test_default, kernels->test_default, memory_order_relaxed);
	atomic_store_explicit(&blx_test_plain, kernels->test_plain, memory_order_relaxed);
	atomic_store_explicit(&blx_add_default, kernels->add_default, memory_order_relaxed);
	atomic_store_explicit(&blx_add_plain, kernels->add_plain, memory_order_relaxed);
}

/* 101: before the constructors of a program that the library is linked into, which may already use it. */
static void __attribute__((constructor(101)))
choose(void)
{
	blx_simd_set(BLX_SIMD_AUTO);
}

const char *
blx_simd_name(void)
{
	return blx_kernels_in_use()->name;
}
