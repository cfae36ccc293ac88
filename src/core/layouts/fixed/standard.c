/*
 * standard.c - the standard Bloom filter: one part of m bits, k probes.
 *
 * Bloom 1970.  The probes are in flat.c.  This is the baseline of the
 * literature: it needs the fewest bits, but keys whose probes collide have a
 * higher false positive rate than others ("weak spots", Almeida 2022, section 4).
 * It can be folded (the same, section 6.3), but has no parts to drop.
 */
#include "core/layouts/fixed/flat.h"

/* A step is one word more. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_STANDARD, .blocks = 1, .parts = 1, .probes = (uint16_t) k, .part_bits = 64 * step};
}

/* Almeida 2022, eq. 10. */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_occupancy_power(g->part_bits, g->probes, (double) n * g->probes);
}

static const blx_option_range option_ranges[] = {BLX_FLAT_HASHING, {0}};

const blx_layout blx_layout_standard = {
	.name = "standard",
	BLX_FLAT_ROW,
	.options = option_ranges,
	.one = BLX_ONE_BLOCK | BLX_ONE_PART,
	.at_step = at_step,
	.fpr_expected = fpr_expected,
};
