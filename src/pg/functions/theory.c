/*
 * theory.c - the functions of the extension bloomx_theory: the arguments of the
 * papers' formulas checked, the core's answer returned.
 */
#include "pg/base/base.h"

#include "utils/builtins.h"

#include "core/theory/theory.h"

/* The loads of larger blocks spread too far for a prompt sum. */
#define MAX_BLOCK_BITS (INT64CONST(1) << 24)

/* The most blocks that a geometry can count. */
#define MAX_BLOCKS (INT64CONST(1) << 31)

static int64
CheckRange(const char *what, int64 value, int64 low, int64 high)
{
	if (value < low)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least " INT64_FORMAT ", not " INT64_FORMAT, what, low, value)));
	if (value > high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at most " INT64_FORMAT ", not " INT64_FORMAT, what, high, value)));
	return value;
}

/* Argument i as a number of keys, of bits, of probes. */
static int64
GetKeys(FunctionCallInfo fcinfo, int i)
{
	return CheckRange("n, the number of keys,", PG_GETARG_INT64(i), 0, PG_INT64_MAX);
}

static int64
GetBits(FunctionCallInfo fcinfo, int i, int64 least)
{
	return CheckRange("m, the number of bits,", PG_GETARG_INT64(i), least, PG_INT64_MAX);
}

static unsigned
GetProbes(FunctionCallInfo fcinfo, int i)
{
	return (unsigned) CheckRange("k, the number of probes,", PG_GETARG_INT32(i), 1, BLX_MAX_K);
}

static void
CheckMultiple(int64 bits, int64 unit, const char *what)
{
	if (bits % unit != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("m, the number of bits, must be a multiple of %s " INT64_FORMAT ", not " INT64_FORMAT, what, unit, bits)));
}

/* A function of n, m and k alone. */
#define FORMULA(name, formula, least_bits) \
PG_FUNCTION_INFO_V1(name); \
Datum \
name(PG_FUNCTION_ARGS) \
{ \
	unsigned	k = GetProbes(fcinfo, 2); \
	\
	PG_RETURN_FLOAT8(formula(GetKeys(fcinfo, 0), GetBits(fcinfo, 1, least_bits), k)); \
}

FORMULA(bloom_fpr_approx, blx_fpr_approx, 1)
FORMULA(bloom_fpr_goel_gupta, blx_fpr_goel_gupta, 2)
FORMULA(bloom_fpr_standard, blx_fpr_standard, 1)
FORMULA(bloom_fpr_distinct, blx_fpr_distinct, k)
FORMULA(bloom_fpr_partitioned, blx_fpr_partitioned, k)	/* a part has at least one bit */

/* bloom_fpr_element(n, m, k, d) */
PG_FUNCTION_INFO_V1(bloom_fpr_element);
Datum
bloom_fpr_element(PG_FUNCTION_ARGS)
{
	unsigned	k = GetProbes(fcinfo, 2);
	unsigned	d = (unsigned) CheckRange("d, the number of different bits,", PG_GETARG_INT32(3), 1, k);

	PG_RETURN_FLOAT8(blx_fpr_element(GetKeys(fcinfo, 0), GetBits(fcinfo, 1, d), k, d));
}

/* bloom_fpr_rational(n, m, k float8) */
PG_FUNCTION_INFO_V1(bloom_fpr_rational);
Datum
bloom_fpr_rational(PG_FUNCTION_ARGS)
{
	double		k = PG_GETARG_FLOAT8(2);

	if (!(k > 0 && k <= BLX_MAX_K))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k, the number of probes, must be above 0 and at most %d, not %g", BLX_MAX_K, k)));
	PG_RETURN_FLOAT8(blx_fpr_rational(GetKeys(fcinfo, 0), GetBits(fcinfo, 1, 1), k));
}

/* bloom_fpr_blocked(n, m, k, block_bits) */
PG_FUNCTION_INFO_V1(bloom_fpr_blocked);
Datum
bloom_fpr_blocked(PG_FUNCTION_ARGS)
{
	int64		bits = GetBits(fcinfo, 1, 1);
	int64		block_bits = CheckRange("the number of bits of a block", PG_GETARG_INT64(3), 1, MAX_BLOCK_BITS);

	CheckMultiple(bits, block_bits, "the block size");
	PG_RETURN_FLOAT8(blx_fpr_blocked((uint64) GetKeys(fcinfo, 0), (uint64) (bits / block_bits), (uint64) block_bits,
									 GetProbes(fcinfo, 2)));
}

/* bloom_fpr_partitioned_blocked(n, blocks, parts) */
PG_FUNCTION_INFO_V1(bloom_fpr_partitioned_blocked);
Datum
bloom_fpr_partitioned_blocked(PG_FUNCTION_ARGS)
{
	int64		blocks = CheckRange("the number of blocks", PG_GETARG_INT64(1), 1, MAX_BLOCKS);
	unsigned	parts = (unsigned) CheckRange("the number of parts", PG_GETARG_INT32(2), 1, BLX_MAX_K);

	if ((blocks & (blocks - 1)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of blocks must be a power of two, not " INT64_FORMAT, blocks)));
	PG_RETURN_FLOAT8(blx_fpr_partitioned_blocked((uint64) GetKeys(fcinfo, 0), (uint32) blocks, parts));
}

/* bloom_fpr_age_partitioned(k, l, linear) */
PG_FUNCTION_INFO_V1(bloom_fpr_age_partitioned);
Datum
bloom_fpr_age_partitioned(PG_FUNCTION_ARGS)
{
	unsigned	k = GetProbes(fcinfo, 0);
	unsigned	l = (unsigned) CheckRange("l, the number of further parts,", PG_GETARG_INT32(1), 0, BLX_MAX_RING - (int) k);

	PG_RETURN_FLOAT8(blx_fpr_age_partitioned(k, l, PG_GETARG_BOOL(2)));
}

/* bloom_collisions(m, k, c) */
PG_FUNCTION_INFO_V1(bloom_collisions);
Datum
bloom_collisions(PG_FUNCTION_ARGS)
{
	unsigned	k = GetProbes(fcinfo, 1);
	unsigned	c = (unsigned) CheckRange("c, the number of collisions,", PG_GETARG_INT32(2), 0, (int) k - 1);

	PG_RETURN_FLOAT8(blx_collisions(GetBits(fcinfo, 0, 1), k, c));
}

/* bloom_false_overlap(layout, m, k, n1, n2) */
PG_FUNCTION_INFO_V1(bloom_false_overlap);
Datum
bloom_false_overlap(PG_FUNCTION_ARGS)
{
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	unsigned	k = GetProbes(fcinfo, 2);
	int64		bits = GetBits(fcinfo, 1, 1);
	int64		a = CheckRange("n1, the number of keys of one filter,", PG_GETARG_INT64(3), 0, PG_INT64_MAX);
	int64		b = CheckRange("n2, the number of keys of the other filter,", PG_GETARG_INT64(4), 0, PG_INT64_MAX);
	uint8		layout;

	CheckCore(blx_layout_by_name(name, &layout, &core_error));
	switch (layout)
	{
		case BLX_STANDARD:
			PG_RETURN_FLOAT8(blx_overlap_standard(bits, k, a, b));
		case BLX_PARTITIONED:
			CheckMultiple(bits, k, "the number of parts");
			PG_RETURN_FLOAT8(blx_overlap_partitioned(bits, k, a, b));
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("there is no formula for the false overlap of %s filters", name),
					 errhint("Layouts with a formula are partitioned and standard.")));
	}
}
