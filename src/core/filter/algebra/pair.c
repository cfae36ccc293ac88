/*
 * pair.c - how many keys two filters share: union, intersection and Jaccard
 * index of the sets, with standard errors (docs/internals/design.md, "What a filter knows
 * about itself").
 *
 * Two filters are compared over the parts that both have, at the finer of their
 * two resolutions.  Let A be the share of unset bits in the coarser one, B that
 * in the finer one, and C that in the union of both, for which the coarser one is
 * expanded.  A bit that the coarser one leaves unset is hit by no key of it, and
 * by a key of the finer one alone with the same chance r as any bit.  So
 *
 *     C / A = (1 - r)^(keys of the finer one alone),
 *
 * which tells these keys; the coarser one's number of keys follows from A, the
 * finer one's from B.  For filters of one resolution this is inclusion-exclusion
 * on the three estimates of Swamidass and Baldi (2007).
 *
 * The standard errors are by the delta method.  With v(n) the variance of an estimate of
 * n keys (blx_cardinality_error), the estimates of a set and of a larger one have the
 * covariance v of the smaller, and those of two sets that of what they share: whatever
 * other keys a filter has, their bits are independent.  So the keys of the finer filter
 * alone have the variance v(union) - v(coarser), and no covariance with the coarser one's
 * number.  With filters of different resolutions that is an approximation: v is the finer
 * one's, and the coarser one counts as of as many keys as would fill it there.
 */
#include <math.h>

#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/filter/growth.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

enum {A, B, C, SHARES};

static double
variance_of(const blx_geometry *g, double keys)
{
	double		error = blx_cardinality_error(g, keys);

	return error * error;
}

/* Sets what follows from the three shares of unset bits. */
static void
estimate(const blx_geometry *coarse, const blx_geometry *fine, const double share[SHARES], blx_pair *pair)
{
	double		per_fine = 1 / log1p(-blx_hit_probability(fine)),	/* keys per unit of the logarithm */
				in_coarse = log(share[A]) / log1p(-blx_hit_probability(coarse)),
				in_fine = log(share[B]) * per_fine,
				only_fine = log(share[C] / share[A]) * per_fine,
				both,
				of_only_fine,
				of_either,
				of_both,
				of_fine;

	pair->in_either = in_coarse + only_fine + 0;	/* of empty filters both are -0 */
	pair->in_both = in_fine - only_fine;
	both = fmax(0, fmin(pair->in_both, fmin(in_coarse, in_fine)));
	pair->jaccard = pair->in_either > 0 ? both / pair->in_either : 1;

	of_fine = variance_of(fine, in_fine);
	of_only_fine = variance_of(fine, log(share[C]) * per_fine) - variance_of(fine, log(share[A]) * per_fine);
	of_either = variance_of(coarse, in_coarse) + of_only_fine;
	of_both = of_only_fine - of_fine + 2 * variance_of(fine, both);
	pair->in_either_error = sqrt(fmax(0, of_either));
	pair->in_both_error = sqrt(fmax(0, of_both));
	/* of a quotient; the covariance of both and either is of_fine - of_only_fine */
	pair->jaccard_error = sqrt(fmax(0, of_both - 2 * pair->jaccard * (of_fine - of_only_fine) + pair->jaccard * pair->jaccard * of_either)) /
		fmax(1, pair->in_either);
}

static double
share_unset(const blx_filter *f)
{
	return 1 - (double) blx_bits_set(f) / (double) blx_bits_in(f);
}

/* A filter beside an empty one of no size. */
static void
beside_blank(const blx_filter *f, blx_pair *pair)
{
	blx_geometry g = blx_unexpanded_geometry(f);
	double		keys = blx_cardinality(f);

	*pair = (blx_pair) {.in_either = keys, .in_either_error = isinf(keys) ? NAN : blx_cardinality_error(&g, keys), .jaccard = keys == 0};
}

/* The first `parts` parts of f, as it was before any expansion. */
static blx_filter *
first_parts(const blx_filter *f, uint16_t parts, const blx_memory *memory, blx_error *error)
{
	blx_geometry g = blx_unexpanded_geometry(f);

	g.parts = parts;
	return blx_resize(f, &g, memory, error);
}

/* The finer of two filters of the same parts takes in the coarser one. */
static bool
compare_parts(blx_filter *a, blx_filter *b, blx_pair *pair)
{
	/* of one size: the one with more bits set, so that the order of arguments changes nothing */
	bool		a_is_finer = blx_bits_in(a) == blx_bits_in(b) ? blx_bits_set(a) > blx_bits_set(b) : blx_bits_in(a) > blx_bits_in(b);
	blx_filter *coarser = a_is_finer ? b : a,
			   *finer = a_is_finer ? a : b;
	blx_geometry coarse = blx_geometry_of(coarser),
				fine = blx_geometry_of(finer);
	double		share[SHARES] = {share_unset(coarser), share_unset(finer)},
				keys = blx_cardinality(a) + blx_cardinality(b);

	if (!blx_or_into(finer, coarser))
		return false;
	share[C] = share_unset(finer);
	if (share[C] > 0)
		estimate(&coarse, &fine, share, pair);
	else						/* nothing is known of the keys in both; there are at most as many in either */
		*pair = (blx_pair) {.in_either = keys, .in_either_error = NAN, .in_both = NAN, .in_both_error = NAN, .jaccard = NAN, .jaccard_error = NAN};
	return true;
}

bool
blx_estimate_pair(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_pair *pair, blx_error *error)
{
	blx_geometry common;
	blx_filter *of_a,
			   *of_b;
	bool		done;

	if (blx_is_blank(a) || blx_is_blank(b))
	{
		if (!blx_check_blank(a, b, error))
			return false;
		beside_blank(blx_is_blank(a) ? b : a, pair);
		return true;
	}
	if (!blx_common_geometry(a, b, &common, error))
		return false;
	of_a = first_parts(a, common.parts, memory, error);
	of_b = of_a ? first_parts(b, common.parts, memory, error) : NULL;
	done = of_b != NULL && compare_parts(of_a, of_b, pair);
	blx_free(of_b, memory);
	blx_free(of_a, memory);
	return done;
}
