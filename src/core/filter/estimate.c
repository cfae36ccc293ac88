/*
 * estimate.c - what a filter knows about itself.
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
 * The logarithm of the chance that a key's probes in a part all miss so many
 * given bits of it: each misses them with 1 - bits/S, the one that only a
 * fraction of the keys have with 1 - fraction bits/S.
 */
static double
log_miss(const blx_geometry *g, double bits)
{
	double		share = fmin(1, bits / (double) g->part_bits),
				k = blx_bits_per_key(g) / g->parts,
				whole = floor(k);

	return (whole > 0 ? whole * log1p(-share) : 0) + log1p(-(k - whole) * share);
}

/* The chance that one key sets a given bit: its block is picked with 1/B. */
static double
hit_probability(const blx_geometry *g)
{
	return -expm1(log_miss(g, 1)) / g->blocks;
}

/*
 * Swamidass and Baldi 2007, n* = -(m/k) ln(1 - X/m), with the exact chance of a
 * hit for k/m: that matters for filters of a few dozen bits.  It holds for the
 * blocked layouts as it stands: a bit is unset after n keys with probability
 * (1 - r)^n whichever way the keys spread over the blocks.
 */
double
blx_cardinality(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g;
	double		unset,
				hit;

	if (row->cardinality != NULL)
		return row->cardinality(f);
	g = blx_geometry_of(f);
	unset = 1 - (double) blx_bits_set(f) / (double) blx_bits(&g);
	hit = hit_probability(&g);
	if (unset >= 1)
		return 0;
	if (unset <= 0)
		return INFINITY;
	return log(unset) / log1p(-hit);
}

/*
 * By the delta method: sd(n*) = sd(X) / (dX/dn).  sd(X) follows from pairs of
 * bits.  Two bits of one part (and block) are hit by one key as two bins are by
 * H throws; bits of different parts of a block are hit independently given the
 * block; bits of different blocks exclude each other.  Parts of different
 * groups (partitioned_blocked) are nearer to independent: the value is then a
 * slight overestimate.  Blocks of variable size are taken for one part; each
 * has a fraction of its own, so that it is a slight underestimate.
 */
double
blx_cardinality_error(const blx_geometry *g, double n)
{

	if (!blx_geometry_check(g, NULL))
		return g->layout == BLX_HASHES ? 0 : NAN;	/* a set counts */
	double		blocks = g->blocks,
				bits = (double) blx_bits(g),
				block_bits = (double) g->parts * (double) g->part_bits;
	double		hit = hit_probability(g);
	double		log1 = log_miss(g, 1);
	double		log2 = log_miss(g, 2);
	double		unset = exp(n * log1p(-hit));

	/*
	 * P(both bits unset) / P(one unset)^2 - 1, from the chance that one key
	 * hits either: same part, same block, other block.  The logarithms keep
	 * the digits that a difference of powers would lose.
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
blx_details(const blx_filter *f, blx_tell tell, void *arg)
{
	const blx_layout *row = blx_layout_row(f->layout);

	if (row->flat)
		tell(arg, "hashing", 0, blx_hashing_name(f->hashing));
	if (row->details != NULL)
		row->details(f, tell, arg);
}
