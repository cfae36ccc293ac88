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

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->blocks != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a hybrid filter has one block, not %u", g->blocks);
	return true;
}

/* Returns h. */
static unsigned
probes_in(const blx_options *options)
{
	return (unsigned) options->value[BLX_OPT_PROBES];
}

/* A step is one word more in each part.  If k is not a multiple of h, there is no filter. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	unsigned	h = probes_in(options);

	*g = (blx_geometry) {.layout = BLX_HYBRID, .blocks = 1, .parts = k % h == 0 ? (uint16_t) (k / h) : 0, .probes = (uint16_t) h,
	.part_bits = 64 * step};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k,
				h = probes_in(options);

	if (k % h != 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, "Each part of a hybrid filter has the same number of probes.",
						"Option probes is the number in each part, 2 if not given.",
						"k must be a multiple of the %u probes in each part of a hybrid filter, not %u", h, k);
	if (bits < k / h)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least the number of parts of a hybrid filter, %u, not %llu",
						k / h, (unsigned long long) bits);
	*g = (blx_geometry) {.layout = BLX_HYBRID, .blocks = 1, .parts = (uint16_t) (k / h), .probes = (uint16_t) h,
	.part_bits = bits / (k / h), .hashing = (uint8_t) options->value[BLX_OPT_HASHING]};
	return true;
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
	.check = check,
	.at_step = at_step,
	.at_bits = at_bits,
	.fpr_expected = fpr_expected,
};
