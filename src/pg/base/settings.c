/*
 * settings.c - the settings bloomx.*.
 */
#include "pg/base/base.h"

#include "utils/guc.h"

int			bloomx_overfill = OVERFILL_NOTICE;
int			bloomx_build_mem = -1;

static int	simd = BLX_SIMD_AUTO;

static const struct config_enum_entry overfill_options[] = {
	{"off", OVERFILL_OFF, false},
	{"notice", OVERFILL_NOTICE, false},
	{"error", OVERFILL_ERROR, false},
	{NULL, 0, false}
};

static const struct config_enum_entry simd_options[] = {
	{"auto", BLX_SIMD_AUTO, false},
	{"scalar", BLX_SIMD_SCALAR, false},
	{"avx2", BLX_SIMD_AVX2, false},
	{"avx512", BLX_SIMD_AVX512, false},
	{"avx512_vbmi", BLX_SIMD_AVX512_VBMI, false},
	{"neon", BLX_SIMD_NEON, false},
	{NULL, 0, false}
};

/* Values between -1 and the minimum are refused here: a GUC's range has no gaps. */
static bool
CheckBuildMemory(int *newval, void **extra, GucSource source)
{
	if (*newval == -1 || *newval >= MIN_BUILD_MEM)
		return true;
	GUC_check_errdetail("It must be at least %d kB, or -1 to follow work_mem and hash_mem_multiplier.", MIN_BUILD_MEM);
	return false;
}

static bool
CheckSimd(int *newval, void **extra, GucSource source)
{
	blx_error	error;

	if (blx_simd_check(*newval, &error))
		return true;
	GUC_check_errcode(ERRCODE_FEATURE_NOT_SUPPORTED);
	GUC_check_errmsg("%s", error.message);
	GUC_check_errhint("%s", error.hint);
	return false;
}

static void
AssignSimd(int newval, void *extra)
{
	blx_simd_set(newval);
}

void
DefineSettings(void)
{
	DefineCustomEnumVariable("bloomx.overfill",
							 "Sets what happens when a filter gets more keys than its planned capacity.",
							 "The filter still finds every key, but its false positive rate rises above the planned one.",
							 &bloomx_overfill, OVERFILL_NOTICE, overfill_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("bloomx.build_mem",
							"Sets the maximum memory in which bloom_agg without a capacity collects distinct keys.",
							"Beyond it the keys go into a filter of at most that size, which is reduced at the end. "
							"-1 means work_mem times hash_mem_multiplier, as for hash tables; "
							"the filter may then be larger if the planner expects more keys than it could hold.",
							&bloomx_build_mem, -1, -1, 1024 * 1024,
							PGC_USERSET, GUC_UNIT_KB, CheckBuildMemory, NULL, NULL);
	DefineCustomEnumVariable("bloomx.simd",
							 "Sets the processor instructions that read and write filters.",
							 "SHOW returns the instructions in use, which auto chooses for the processor. Results do not depend on them.",
							 &simd, BLX_SIMD_AUTO, simd_options,
							 PGC_USERSET, 0, CheckSimd, AssignSimd, blx_simd_name);
}
