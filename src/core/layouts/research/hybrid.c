/*
 * hybrid.c - between standard and partitioned: k/h parts, h probes per key in
 * each.
 *
 * Almeida 2022, section 1.  Its parts are fewer and larger than those of a
 * partitioned filter, so their fills scatter less, and a prefix is still a
 * filter.  But the h probes of one part may coincide, so the rates of keys
 * differ again, if less than in a standard filter.  The probes are in flat.c.
 */
#include "core/layouts/fixed/flat.h"

/* A step is one word more in each part.  If k is not a multiple of h, there is no filter. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	unsigned	h = (unsigned) options->value[BLX_OPT_PROBES];

	*g = (blx_geometry) {.layout = BLX_HYBRID, .blocks = 1, .parts = k % h == 0 ? (uint16_t) (k / h) : 0, .probes = (uint16_t) h,
	.part_bits = 64 * step};
}

/*
 * The parts are independent.  Each is a standard filter of S bits and h probes
 * (Almeida 2022, eq. 10), so their rates multiply.
 */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_power(blx_occupancy_power(g->part_bits, g->probes, (double) n * g->probes), g->parts);
}

/* Two probes per part unless given: with one it would be partitioned, and with k it is standard. */
static const blx_option_range option_ranges[] = {{BLX_OPT_PROBES, 1, BLX_MAX_K, 2}, BLX_FLAT_HASHING, {0}};

const blx_layout blx_layout_hybrid = {
	.name = "hybrid",
	BLX_FLAT_ROW,
	.options = option_ranges,
	.one = BLX_ONE_BLOCK,
	.at_step = at_step,
	.fpr_expected = fpr_expected,
};
