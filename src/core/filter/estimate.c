/*
 * estimate.c - what a filter knows about itself: set bits, rate and cardinality
 * (docs/internals/design.md, "What a filter knows about itself").
 *
 * The rate is that of the bits as they are, exact over random hashes.  The
 * cardinality is an estimate from the number of set bits, with its standard
 * error.  A layout with more than bits in its body brings functions of its own.
 */
#include <math.h>

#include "core/filter/filter.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

uint64_t
blx_bits_in(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g = blx_geometry_of(f);

	return row->bits_in ? row->bits_in(f) : blx_bits(&g);
}

uint64_t
blx_bits_set(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g = blx_geometry_of(f);

	if (row->bits_set != NULL)
		return row->bits_set(f);
	return blx_popcount(blx_cwords(f), blx_body_words(&g));
}

/*
 * Of k probes that each pick one of S bits, `share` of which are given: each
 * misses these with probability 1 - share, and a probe that only a fraction of the
 * keys have with 1 - fraction share.
 */
static double
log_miss(const blx_geometry *g, double bits)
{
	double		k = blx_bits_per_key(g) / g->parts,
				whole = floor(k),
				share = fmin(1, bits / (double) g->part_bits);

	return (whole > 0 ? whole * log1p(-share) : 0) + log1p(-(k - whole) * share);
}

/* Its block is picked with probability 1/B. */
double
blx_hit_probability(const blx_geometry *g)
{
	return -expm1(log_miss(g, 1)) / g->blocks;
}

/*
 * Swamidass and Baldi 2007, n* = -(m/k) ln(1 - X/m), but with the exact chance r
 * that a key sets a given bit in place of k/m, which matters for filters of a few
 * dozen bits.  This holds for blocked layouts, too: after n keys a bit is unset
 * with probability (1 - r)^n, however the keys are spread over the blocks.
 */
static double
keys_of_fill(const blx_geometry *g, uint64_t bits_set)
{
	double		unset = 1 - (double) bits_set / (double) blx_bits(g),
				hit = blx_hit_probability(g);

	if (unset >= 1)
		return 0;
	if (unset <= 0)
		return INFINITY;
	return log(unset) / log1p(-hit);
}

/* A block that was copied tells no more than the block itself: count what the expansion began with. */
double
blx_cardinality(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g;

	if (f->expanded == 0)
		return blx_keys_as_full(f);
	g = blx_unexpanded_geometry(f);
	return keys_of_fill(&g, row->folded_bits_set(f, f->expanded));
}

double
blx_keys_as_full(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g;

	if (row->cardinality != NULL)
		return row->cardinality(f);
	g = blx_geometry_of(f);
	return keys_of_fill(&g, blx_bits_set(f));
}

/*
 * By the delta method: sd(n*) = sd(X) / (dX/dn).  sd(X) follows from pairs of
 * bits.  One key hits two bits of one part of a block as H throws hit two bins.  It
 * hits bits of different parts independently, given the block.  It never hits
 * bits of different blocks.  In partitioned_blocked, parts of different groups are
 * closer to independent, so the value is a slight overestimate.
 */
double
blx_cardinality_error(const blx_geometry *g, double n)
{
	if (!blx_geometry_check(g, NULL))
		return g->layout == BLX_HASHES ? 0 : NAN;	/* a set counts */
	if (blx_is_sealed(g->layout))
		return 0;
	double		blocks = g->blocks,
				bits = (double) blx_bits(g),
				block_bits = (double) g->parts * (double) g->part_bits;
	double		hit = blx_hit_probability(g);
	double		log1 = log_miss(g, 1),
				log2 = blx_layout_row(g->layout)->folds ? log_miss(g, 2) : 2 * log1;	/* most pairs of variable_blocked are in two blocks */
	double		unset = exp(n * log1p(-hit));

	/*
	 * P(both bits unset) / P(one unset)^2 - 1, from the chance that one key hits
	 * at least one of the two bits: same part, same block, other block.  The
	 * logarithms keep the digits that a difference of powers would lose.
	 */
#define EXCESS(either) expm1(n * (log1p(-(either)) - 2 * log1p(-hit)))
	double		covariance =
		((double) g->part_bits - 1) * EXCESS(-expm1(log2) / blocks)
		+ (block_bits - (double) g->part_bits) * EXCESS(-expm1(2 * log1) / blocks)
		+ (blocks > 1 ? (bits - block_bits) * EXCESS(-2 * expm1(log1) / blocks) : 0);
#undef EXCESS
	double		variance = bits * (unset * (1 - unset) + unset * unset * covariance);

	if (!(variance > 0))
		return 0;
	return sqrt(variance) / (bits * unset * -log1p(-hit));
}

double
blx_fpr(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	double		rates[BLX_MAX_K + 1];

	if (row->fpr != NULL)
		return row->fpr(f);
	row->fpr_prefixes(f, rates);
	return rates[f->parts];
}

void
blx_details(const blx_filter *f, blx_emit emit, void *arg)
{
	const blx_layout *row = blx_layout_row(f->layout);

	if (row->flat)
		emit(arg, "hashing", 0, blx_hashing_name(f->hashing));
	if (row->details != NULL)
		row->details(f, emit, arg);
}
