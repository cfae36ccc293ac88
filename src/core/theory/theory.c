/*
 * theory.c - the formulas of the papers, for study and for planning.
 *
 * Each function names its paper and equation in theory.h.  They use sums of
 * positive terms, or integrals in which nothing cancels.  Where a paper prints
 * a sum by inclusion and exclusion, another exact way to the same number is
 * taken (occupancy.c).  They do not measure filters: the rate of a filter as it
 * is comes from its bits (fpr_prefixes of a layout).
 */
#include <math.h>

#include "core/kernels/block.h"
#include "core/theory/loads.h"
#include "core/theory/occupancy.h"
#include "core/theory/theory.h"

double
blx_fpr_approx(double n, double m, unsigned k)
{
	return n == 0 ? 0 : blx_power(-expm1(k * n * log1p(-1 / m)), k);
}

double
blx_fpr_goel_gupta(double n, double m, unsigned k)
{
	return blx_power(-expm1(-(k * (n + 0.5) / (m - 1))), k);
}

double
blx_fpr_standard(double n, uint64_t m, unsigned k)
{
	return blx_occupancy_power(m, k, n * k);
}

/*
 * Returns the chance that a key, k different bits of m, has exactly `hits` of u
 * given bits.  All factors are positive: k choose hits ways to order them, the
 * hits, the misses.
 */
static double
hits_chance(double m, unsigned k, unsigned u, unsigned hits)
{
	double		chance = 1;

	for (unsigned j = 0; j < hits; j++)
		chance *= (k - j) / (j + 1.0) * ((u - j) / (m - j));
	for (unsigned j = 0; j < k - hits; j++)
		chance *= fmax(0, (m - u - j) / (m - hits - j));
	return chance;
}

/* Returns the logarithm of the chance that a key has none of u given bits.  Exact also where that is close to 1. */
static double
log_no_hit(double m, unsigned k, unsigned u)
{
	double		sum = 0;

	for (unsigned j = 0; j < k; j++)
		sum += log1p(-fmin(1, u / (m - j)));
	return sum;
}

/*
 * The number of the absent key's k bits that are set only grows.  One key is a
 * step of this chain, a triangular matrix, and n keys are its nth power, by
 * repeated squaring: 63 squarings take a few milliseconds.  All entries are
 * positive, so no digits cancel.  The diagonal is computed anew for each power,
 * because its rounding errors would double with every squaring.
 */
double
blx_fpr_distinct(uint64_t n, double m, unsigned k)
{
	double		power[BLX_MAX_K + 1][BLX_MAX_K + 1],	/* [bits set before][and after] 2^i keys */
				square[BLX_MAX_K + 1],
				set[BLX_MAX_K + 1] = {1};
	double		keys = 1;

	for (unsigned before = 0; before <= k; before++)
		for (unsigned after = before; after <= k; after++)
			power[before][after] = hits_chance(m, k, k - before, after - before);
	for (; n > 0; n >>= 1, keys *= 2)
	{
		/* from the top, because only entries below the one computed are needed */
		if (n & 1)
			for (unsigned after = k + 1; after-- > 0;)
			{
				double		sum = 0;

				for (unsigned before = 0; before <= after; before++)
					sum += set[before] * power[before][after];
				set[after] = sum;
			}
		/* row by row, because only rows below the one computed are needed */
		for (unsigned before = 0; before <= k; before++)
		{
			square[before] = exp(2 * keys * log_no_hit(m, k, k - before));
			for (unsigned after = before + 1; after <= k; after++)
			{
				square[after] = 0;
				for (unsigned between = before; between <= after; between++)
					square[after] += power[before][between] * power[between][after];
			}
			for (unsigned after = before; after <= k; after++)
				power[before][after] = square[after];
		}
	}
	return fmin(set[k], 1);		/* the last digit may be rounded up */
}

double
blx_fpr_partitioned(double n, double m, unsigned k)
{
	return n == 0 ? 0 : blx_power(-expm1(n * log1p(-(k / m))), k);
}

double
blx_fpr_element(double n, double m, unsigned k, unsigned d)
{
	blx_cover	cover;

	blx_cover_keys(&cover, m, d, n, k, 0);
	return cover.set[d];
}

/* A mean over absent keys: those with the extra probe and those without. */
double
blx_fpr_rational(double n, double m, double k)
{
	unsigned	whole = (unsigned) k,
				most = whole + (k > whole);
	double		fraction = k - whole,
				distinct[BLX_MAX_K + 1],
				sum = 0;
	blx_cover	cover;

	/* 1 minus the chance that the key has a bit, and that bit is unset */
	if (whole == 0)
		return 1 - k * exp(n * log1p(-k / m));
	blx_cover_keys(&cover, m, most, n, whole, fraction);
	blx_distinct(m, whole, distinct);
	for (unsigned d = 0; d <= whole; d++)
		sum += (1 - fraction) * distinct[d] * cover.set[d];
	if (fraction > 0)
	{
		blx_distinct(m, most, distinct);
		for (unsigned d = 0; d <= most; d++)
			sum += fraction * distinct[d] * cover.set[d];
	}
	return fmin(sum, 1);
}

/* A block whose load grows from one evaluation to the next, so that earlier throws need not be repeated. */
typedef struct block
{
	unsigned	k;
	uint64_t	load;
	double		distinct[BLX_MAX_K + 1];
	blx_cover	cover;
} block;

/*
 * Returns the rate of a standard filter with `load` keys.  arg points to a
 * pointer to the block, whose load must not exceed it.
 */
static double
block_rate(uint64_t load, const void *arg)
{
	block	   *b = *(block *const *) arg;
	double		sum = 0;

	/* One key more: throw its probes.  A larger step, or the first: start anew, which takes bounded time. */
	if (load - b->load > 1)
		blx_cover_keys(&b->cover, b->cover.m, b->k, (double) load, b->k, 0);
	else if (load > b->load)
		for (unsigned j = 0; j < b->k; j++)
			blx_cover_throw(&b->cover, 1);
	b->load = load;
	for (unsigned d = 0; d <= b->k; d++)
		sum += b->distinct[d] * b->cover.set[d];
	return sum;
}

double
blx_fpr_blocked(uint64_t n, uint64_t blocks, uint64_t block_bits, unsigned k)
{
	block		state = {.k = k},
			   *b = &state;

	if (blx_all_set((double) n, (double) blocks, (double) block_bits, k))
		return 1;
	blx_distinct((double) block_bits, k, state.distinct);
	blx_cover_blank(&state.cover, (double) block_bits, k);
	return fmin(blx_mean_over_loads(n, blocks, block_rate, &b), 1);
}

/* Returns the chance that `parts` parts of a block with `load` keys all have a given bit. */
static double
parts_rate(uint64_t load, const void *parts)
{
	return blx_power(-expm1((double) load * log1p(-1.0 / 64)), *(const unsigned *) parts);
}

/* The groups of a key are independent, so their mean rates multiply.  All full groups have the same rate. */
double
blx_fpr_partitioned_blocked(uint64_t n, uint64_t blocks, unsigned parts)
{
	unsigned	full = BLX_GROUP,
				rest = parts % BLX_GROUP;
	double		rate = 1;

	if (blx_all_set((double) n, (double) blocks, 64, 1))
		return 1;
	if (parts >= BLX_GROUP)
		rate = blx_power(blx_mean_over_loads(n, blocks, parts_rate, &full), parts / BLX_GROUP);
	if (rest > 0)
		rate *= blx_mean_over_loads(n, blocks, parts_rate, &rest);
	return fmin(rate, 1);
}

double
blx_fpr_age_partitioned(unsigned k, unsigned l, bool linear)
{
	double		fill[BLX_MAX_RING];

	for (unsigned i = 0; i < k + l; i++)
	{
		double		age = i < k ? (i + 1.0) / k : 1;

		fill[i] = linear ? age / 2 : -expm1(-age * log(2));
	}
	return blx_run_probability(fill, k + l, k);
}

double
blx_collisions(double m, unsigned k, unsigned c)
{
	double		distinct[BLX_MAX_K + 1];

	blx_distinct(m, k, distinct);
	return distinct[k - c];
}

/*
 * Up to this number of throws of the smaller set the overlap is computed by a
 * walk, which is exact also where the answer is close to 0.  The walk takes half
 * the square of the number in steps, half a million at 1024, and a table of 8 kB
 * on the stack.  With more throws, two circles take a few hundred terms.
 */
#define MANY_THROWS 1024

/* The few throws hit d different bits.  Each of the many throws misses these with probability 1 - d/bits. */
static double
overlap_of_few(double bits, unsigned few, double many)
{
	double		distinct[MANY_THROWS + 1];
	double		sum = 0;

	blx_distinct(bits, few, distinct);
	/* The mean over d of the chance that a throw of the larger set hits one of them. */
	for (unsigned d = 1; d <= few && d <= bits; d++)
		sum += distinct[d] * -expm1(many * log1p(-(d / bits)));
	return sum;
}

/*
 * If the throws of both sets were Poisson processes with means x and y, the bits
 * would be independent, and no bit would be common with probability
 * (1 - (1 - e^(-x/bits)) (1 - e^(-y/bits)))^bits.  Two circles take the
 * coefficient of a and b throws out of this function (occupancy.c).
 */
static double
overlap_by_circles(double bits, double a, double b)
{
	blx_circle	x,
				y;
	double		sum = 0;

	blx_circle_init(&x, a);
	blx_circle_init(&y, b);
	for (unsigned i = 0; i <= x.last; i++)
		for (int l = i == 0 ? 0 : -(int) y.last; l <= (int) y.last; l++)
		{
			unsigned	j = (unsigned) (l < 0 ? -l : l);
			double		sign = l < 0 ? -1 : 1,
						twice = i > 0 || l > 0 ? 2 : 1,
						w = x.weight[i] * y.weight[j] - x.weight_i[i] * sign * y.weight_i[j],
						v = x.weight[i] * sign * y.weight_i[j] + x.weight_i[i] * y.weight[j];
			double		p,
						p_i,
						q,
						q_i,
						common,
						common_i,
						logarithm,
						angle;

			/* p and q: a given bit is hit by one set, and by the other; their product: it is common */
			blx_hit(a / bits * x.cosine[i], a / bits * x.sine[i], &p, &p_i);
			blx_hit(b / bits * y.cosine[j], b / bits * sign * y.sine[j], &q, &q_i);
			common = p * q - p_i * q_i;
			common_i = p * q_i + p_i * q;
			/* 1 - (1 - common)^bits, by its logarithm and angle; its product with the weight, the real part */
			logarithm = bits * log1p(common * (common - 2) + common_i * common_i) / 2;
			angle = bits * atan2(-common_i, 1 - common);
			sum += twice * (w * (-expm1(logarithm) + 2 * exp(logarithm) * sin(angle / 2) * sin(angle / 2))
							+ v * exp(logarithm) * sin(angle));
		}
	return sum;
}

/* Returns the probability that a throws and b throws into the same bits hit a common one. */
static double
overlap(double bits, double a, double b)
{
	double		few = fmin(a, b),
				many = fmax(a, b);

	if (few <= MANY_THROWS)
		return fmin(overlap_of_few(bits, (unsigned) few, many), 1);
	return fmax(0, fmin(overlap_by_circles(bits, few, many), 1));	/* rounding may end below 0 */
}

double
blx_overlap_standard(double m, unsigned k, double a, double b)
{
	return overlap(m, k * a, k * b);
}

double
blx_overlap_partitioned(double m, unsigned k, double a, double b)
{
	return blx_power(overlap(m / k, a, b), k);
}

/*
 * Walks along the trials with the distribution of the length of the current run.
 * A run that reaches k is counted as found and goes no further.
 */
double
blx_run_probability(const double *r, unsigned n, unsigned k)
{
	double		run[BLX_MAX_K + 1] = {1};	/* P(the current run has this length, and none has reached k) */
	double		found = 0;

	if (k == 0)
		return 1;
	for (unsigned i = 0; i < n; i++)
	{
		double		open = 0;	/* P(no run of length k so far) */

		/* a success lengthens every run by one; from the longest, so that none is moved twice */
		for (unsigned length = k; length-- > 0;)
		{
			open += run[length];
			run[length + 1] = run[length] * r[i];
		}
		/* a failure ends them all */
		found += run[k];
		run[0] = open * (1 - r[i]);
	}
	return fmin(found, 1);		/* the last digit may be rounded up */
}
