/*
 * loads.c - means over the load of a block: the binomial distribution behind
 * the formulas of blocked filters.
 *
 * If n keys each pick one of B blocks, a block gets i of them with probability
 * Binomial(i; n, 1/B).  A blocked filter's rate is the mean over i of the rate
 * of a block with i keys (Putze, Sanders and Singler 2009, eq. 3).  The mean is
 * summed term by term, with exact weights; nothing is replaced by a normal or
 * Poisson distribution.
 */
#include <float.h>
#include <math.h>

#include "core/theory/loads.h"

/*
 * A weight, relative to that of the most likely load, that is too small to
 * change a double: 1e-18 is a two-hundredth of its precision.  A bell falls to
 * it some nine standard deviations from its middle (e^(-81/2) = 3e-18).
 */
#define NEGLIGIBLE 1e-18

/*
 * n may be any number, since it comes from a header or from the argument of an
 * SQL function.  The exact sum takes some 18 standard deviations of terms.  From
 * a deviation of MANY_LOADS on, where that would be more than 2300 terms, f
 * and the weights change so little from one load to the next that a few evenly
 * spaced loads stand for all.  For a bell and steps of h deviations, the
 * error of this trapezoid rule is e^(-2 (pi/h)^2): 3e-9 with a whole deviation,
 * nothing with an eighth, which leaves a reserve for an f that changes fast.
 */
#define MANY_LOADS 128			/* standard deviation */
#define STEPS_A_DEVIATION 8

/*
 * Returns (1 + e) ln(1 + e) - e, the deviance of a count that is 1 + e times
 * its mean, in units of the mean (Loader 2000).
 */
static double
deviance(double e)
{
	return e <= -1 ? 1 : (1 + e) * log1p(e) - e;
}

/*
 * Returns the binomial weight of a load relative to that of the mean.  Both are
 * large, so Stirling's formula is exact enough.
 */
static double
weight_of(double load, double mean, double n)
{
	double		others = n - load,
				mean_others = n - mean;

	return exp(-mean * deviance((load - mean) / mean) - mean_others * deviance((mean - load) / mean_others)
			   - (1 / load - 1 / mean + 1 / others - 1 / mean_others) / 12)
		* sqrt(mean / load * (mean_others / others));
}

/* Returns the mean of blx_mean_over_loads if the loads have a standard deviation of at least about MANY_LOADS. */
static double
mean_over_many_loads(double n, double blocks, double (*f) (uint64_t i, const void *arg), const void *arg)
{
	double		mean = n / blocks,
				middle = floor(mean),
				step = floor(sqrt(mean * (1 - 1 / blocks)) / STEPS_A_DEVIATION),
				weights = 0,
				sum = 0;

	/*
	 * From 9 deviations below the mean, where the weight is negligible, upwards
	 * until neither weight nor term matters.  f may grow as fast as the weights
	 * fall, but 40 deviations above the mean they are below 1e-300.
	 */
	for (int i = -9 * STEPS_A_DEVIATION; i <= 40 * STEPS_A_DEVIATION; i++)
	{
		/* whole loads, a whole step apart: f takes no others */
		double		load = middle + i * step,
					weight,
					term;

		if (load < 1 || load > n - 1)
			continue;
		weight = weight_of(load, mean, n);
		term = weight * f((uint64_t) fmin(load, 0x1p63), arg);
		/* the term must be so small that even a sum of many like it would not count */
		weights += weight;
		sum += term;
		if (i > 0 && weight < NEGLIGIBLE && term <= sum * DBL_EPSILON / 16)
			break;
	}
	return sum / weights;
}

/*
 * Starts below the loads that count and sums upwards.  Each weight follows from
 * its neighbour's, and the sum is divided by the sum of the weights.  So no
 * logarithm of a large factorial is needed, whose rounding error would grow
 * with n.
 *
 * f must not fall as the load grows.  Then a load below the mode matters only
 * by its weight, and one above it only for as long as f grows faster than the
 * weight falls.  The number of terms is bounded by 18 times MANY_LOADS and
 * the few more for which f makes rare loads matter.
 */
double
blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg)
{
	double		odds,
				weight = 1,
				weights = 0,
				sum = 0;
	uint64_t	mode,
				low;

	/* The cases without a sum of their own: one block has all keys; many loads are sampled. */
	if (blocks == 1)
		return f(n, arg);
	if ((double) n / (double) blocks > MANY_LOADS * MANY_LOADS)
		return mean_over_many_loads((double) n, (double) blocks, f, arg);

	/* The most likely load has weight 1. */
	odds = 1.0 / (double) (blocks - 1);
	mode = (uint64_t) (((double) n + 1) / (double) blocks);
	if (mode > n)
		mode = n;

	/* Walk down to the first load that does not matter. */
	for (low = mode; low > 0 && weight >= NEGLIGIBLE; low--)
		weight *= (double) low / ((double) (n - low + 1) * odds);

	/* Sum upwards from there, until beyond the mode neither weight nor term matters. */
	for (uint64_t i = low;; i++)
	{
		double		term = weight * f(i, arg);

		weights += weight;
		sum += term;
		if (i == n || (i > mode && weight < NEGLIGIBLE && term <= sum * DBL_EPSILON / 16))
			break;
		weight *= (double) (n - i) / (double) (i + 1) * odds;
	}
	return sum / weights;
}

/* k e^(n ln(1 - hit)) bounds the chance that one of a key's k bits is unset. */
bool
blx_all_set(double n, double blocks, double block_bits, unsigned k)
{
	double		hit = -expm1(k * log1p(-1 / block_bits)) / blocks;

	return k * exp(n * log1p(-hit)) < NEGLIGIBLE;
}
