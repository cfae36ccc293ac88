/*
 * partitioned.c - the partitioned Bloom filter: k parts of S bits, one probe in
 * each.
 *
 * Mullin 1983; Almeida 2022.  Every key sets exactly k bits, so no key has a
 * higher rate than another.  A prefix of the parts is a filter, and an empty part
 * of an intersection proves disjointness.  The probes are in flat.c.  Unlike the
 * default layout, it costs a present key k cache lines.
 */
#include <math.h>

#include "core/layouts/fixed/flat.h"

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->blocks != 1 || g->probes != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a partitioned filter has one block with one probe per part, not %u with %u", g->blocks, g->probes);
	return true;
}

/* A step is one word more in each part. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED, .blocks = 1, .parts = (uint16_t) k, .probes = 1, .part_bits = 64 * step};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k;

	if (bits < k)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least k for a partitioned filter, %u, not %llu", k, (unsigned long long) bits);
	*g = (blx_geometry) {.layout = BLX_PARTITIONED, .blocks = 1, .parts = (uint16_t) k, .probes = 1, .part_bits = bits / k,
	.hashing = (uint8_t) options->value[BLX_OPT_HASHING]};
	return true;
}

/* Almeida 2022, eq. 11: every key hits every part once. */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	double		fill = g->part_bits == 1 ? n > 0 : -expm1((double) n * log1p(-1.0 / (double) g->part_bits));

	return blx_power(fill, g->parts);
}

static const blx_option_range option_ranges[] = {BLX_FLAT_HASHING, {0}};

const blx_layout blx_layout_partitioned = {
	.name = "partitioned",
	BLX_FLAT_ROW,
	.options = option_ranges,
	.check = check,
	.at_step = at_step,
	.at_bits = at_bits,
	.fpr_expected = fpr_expected,
};
