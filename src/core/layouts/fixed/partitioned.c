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

/* A step is one word more in each part. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED, .blocks = 1, .parts = (uint16_t) k, .probes = 1, .part_bits = 64 * step};
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
	.one = BLX_ONE_BLOCK | BLX_ONE_PROBE,
	.at_step = at_step,
	.fpr_expected = fpr_expected,
};
