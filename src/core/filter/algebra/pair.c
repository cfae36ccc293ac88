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
 * The standard errors are by the delta method from the covariances of A, B and C.
 * These follow from pairs of bits, as in blx_cardinality_error, with the same
 * approximations.
 */
#include <math.h>

#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/filter/growth.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

enum {A, B, C, SHARES};

/*
 * Pairs of bits i and j that lie alike.  Of one key: the chances that it sets at
 * least one of the two.  A coarse bit is what i expands from.
 */
typedef struct kind
{
	double		pairs;			/* j for each i */
	double		coarse;			/* coarse bit of i, coarse bit of j */
	double		mixed;			/* coarse bit of i, bit j */
	double		fine;			/* bit i, bit j */
} kind;

#define MAX_KINDS 7

/* The two geometries, and what follows from them. */
typedef struct shape
{
	double		bits;			/* at the finer resolution */
	double		coarse_hit;		/* the chance that a key sets a given bit */
	double		fine_hit;
	kind		kinds[MAX_KINDS];
	unsigned	n;
} shape;

/* The keys that only the coarser filter has, only the finer one, and both. */
typedef struct keys
{
	double		coarse,
				fine,
				both;
} keys;

static void
add_kind(shape *s, double pairs, double coarse, double mixed, double fine)
{
	s->kinds[s->n++] = (kind) {pairs, coarse, mixed, fine};
}

/* Returns the chance that a key sets one of `bits` given bits of a part, when it has picked the block. */
static double
hit(const blx_geometry *g, double bits)
{
	return -expm1(blx_log_miss(g, bits));
}

/* Returns the chance that a key sets one of some bits of a part, or one of some of another part of the block. */
static double
hit_two_parts(const blx_geometry *g, double bits, double others)
{
	return -expm1(blx_log_miss(g, bits) + blx_log_miss(g, others));
}

/* Where the finer filter has more blocks: a coarse bit is the same bit in `ratio` blocks. */
static void
by_blocks(shape *s, const blx_geometry *g, double ratio)
{
	double		fine = 1.0 / g->blocks,
				coarse = ratio * fine,
				parts = g->parts,
				part_bits = (double) g->part_bits,
				one = hit(g, 1),
				two = hit(g, 2),
				two_parts = hit_two_parts(g, 1, 1);

	s->coarse_hit = coarse * one;
	s->fine_hit = fine * one;
	/* the bit itself, and its place in other blocks of one coarse block */
	add_kind(s, 1, coarse * one, coarse * one, fine * one);
	add_kind(s, ratio - 1, coarse * one, coarse * one, 2 * fine * one);
	/* the same part: of the block, of other blocks of the coarse block */
	add_kind(s, part_bits - 1, coarse * two, fine * two + (coarse - fine) * one, fine * two);
	add_kind(s, (ratio - 1) * (part_bits - 1), coarse * two, fine * two + (coarse - fine) * one, 2 * fine * one);
	/* other parts, likewise */
	add_kind(s, (parts - 1) * part_bits, coarse * two_parts, fine * two_parts + (coarse - fine) * one, fine * two_parts);
	add_kind(s, (ratio - 1) * (parts - 1) * part_bits, coarse * two_parts, fine * two_parts + (coarse - fine) * one, 2 * fine * one);
	/* other coarse blocks */
	add_kind(s, s->bits - ratio * parts * part_bits, 2 * coarse * one, (coarse + fine) * one, 2 * fine * one);
}

/* Where the finer filter has larger parts: a coarse bit is `ratio` bits of the part. */
static void
by_part_bits(shape *s, const blx_geometry *g, double ratio)
{
	double		block = 1.0 / g->blocks,
				parts = g->parts,
				part_bits = (double) g->part_bits;

	s->coarse_hit = block * hit(g, ratio);
	s->fine_hit = block * hit(g, 1);
	/* the bit itself, and the others of its coarse bit */
	add_kind(s, 1, s->coarse_hit, s->coarse_hit, s->fine_hit);
	add_kind(s, ratio - 1, s->coarse_hit, s->coarse_hit, block * hit(g, 2));
	/* the same part, other parts, other blocks */
	add_kind(s, part_bits - ratio, block * hit(g, 2 * ratio), block * hit(g, ratio + 1), block * hit(g, 2));
	add_kind(s, (parts - 1) * part_bits, block * hit_two_parts(g, ratio, ratio), block * hit_two_parts(g, ratio, 1),
			 block * hit_two_parts(g, 1, 1));
	add_kind(s, s->bits - parts * part_bits, 2 * s->coarse_hit, s->coarse_hit + s->fine_hit, 2 * s->fine_hit);
}

static shape
shape_of(const blx_geometry *coarse, const blx_geometry *fine)
{
	shape		s = {.bits = (double) blx_bits(fine)};

	if (coarse->part_bits == fine->part_bits)
		by_blocks(&s, fine, (double) fine->blocks / coarse->blocks);
	else
		by_part_bits(&s, fine, (double) fine->part_bits / (double) coarse->part_bits);
	return s;
}

/*
 * Returns the covariance of two shares over the product of both.  The logarithms
 * keep the digits that a difference of powers would lose.
 */
static double
relative_covariance(const shape *s, const keys *n, int x, int y)
{
	double		in_coarse = n->coarse + n->both,
				in_fine = n->fine + n->both,
				coarse = log1p(-s->coarse_hit),
				fine = log1p(-s->fine_hit);
	const double log_share[SHARES] = {in_coarse * coarse, in_fine * fine, in_coarse * coarse + n->fine * fine};
	double		sum = 0;

	for (unsigned i = 0; i < s->n; i++)
	{
		const kind *k = &s->kinds[i];
		double		two_coarse = log1p(-k->coarse),
					mixed = log1p(-k->mixed),
					two_fine = log1p(-k->fine),
					both_unset;

		if (k->pairs <= 0)
			continue;
		if (x == A && y == A)
			both_unset = in_coarse * two_coarse;
		else if (x == A && y == B)
			both_unset = n->coarse * coarse + n->fine * fine + n->both * mixed;
		else if (x == A && y == C)
			both_unset = in_coarse * two_coarse + n->fine * fine;
		else if (x == B && y == B)
			both_unset = in_fine * two_fine;
		else if (x == B && y == C)
			both_unset = n->coarse * coarse + n->fine * two_fine + n->both * mixed;
		else
			both_unset = in_coarse * two_coarse + n->fine * two_fine;
		sum += k->pairs * expm1(both_unset - log_share[x] - log_share[y]);
	}
	return sum / s->bits;
}

/* Returns the standard error of a number whose derivatives by the logarithms of the shares are given. */
static double
error_of(double covariances[SHARES][SHARES], const double derivatives[SHARES])
{
	double		variance = 0;

	for (int x = 0; x < SHARES; x++)
		for (int y = 0; y < SHARES; y++)
			variance += derivatives[x] * derivatives[y] * covariances[x < y ? x : y][x < y ? y : x];
	return sqrt(fmax(0, variance));
}

static void
set_errors(const shape *s, const keys *n, blx_pair *pair)
{
	double		covariances[SHARES][SHARES],
				per_coarse = -1 / log1p(-s->coarse_hit),	/* keys per unit of the logarithm */
				per_fine = -1 / log1p(-s->fine_hit);
	const double either[SHARES] = {[A] = per_fine - per_coarse, [C] = -per_fine};
	const double both[SHARES] = {[A] = -per_fine, [B] = -per_fine, [C] = per_fine};
	double		jaccard[SHARES];

	for (int x = 0; x < SHARES; x++)
		for (int y = x; y < SHARES; y++)
			covariances[x][y] = relative_covariance(s, n, x, y);
	for (int x = 0; x < SHARES; x++)
		jaccard[x] = (both[x] - pair->jaccard * either[x]) / fmax(1, pair->in_either);
	pair->in_either_error = error_of(covariances, either);
	pair->in_both_error = error_of(covariances, both);
	pair->jaccard_error = error_of(covariances, jaccard);
}

/* Sets what follows from the three shares of unset bits. */
static void
estimate(const blx_geometry *coarse, const blx_geometry *fine, const double share[SHARES], blx_pair *pair)
{
	shape		s = shape_of(coarse, fine);
	double		in_coarse = log(share[A]) / log1p(-s.coarse_hit),
				in_fine = log(share[B]) / log1p(-s.fine_hit),
				only_fine = log(share[C] / share[A]) / log1p(-s.fine_hit);
	keys		n;

	pair->in_either = in_coarse + only_fine + 0;	/* of empty filters both are -0 */
	pair->in_both = in_fine - only_fine;
	n.both = fmax(0, fmin(pair->in_both, fmin(in_coarse, in_fine)));
	n.coarse = in_coarse - n.both;
	n.fine = in_fine - n.both;
	pair->jaccard = pair->in_either > 0 ? n.both / pair->in_either : 1;
	set_errors(&s, &n, pair);
}

static double
share_unset(const blx_filter *f)
{
	return 1 - (double) blx_bits_set(f) / (double) blx_bits_in(f);
}

/* Nothing is known of the keys in both; there are at most as many in either. */
static void
set_unknown(double keys, blx_pair *pair)
{
	*pair = (blx_pair) {.in_either = keys, .in_either_error = NAN, .in_both = NAN, .in_both_error = NAN, .jaccard = NAN, .jaccard_error = NAN};
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
	else
		set_unknown(keys, pair);
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
