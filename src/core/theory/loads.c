/*
 * loads.c - how many keys fall into one of many blocks: the binomial
 * distribution behind the formulas of blocked filters.
 */
#include <float.h>
#include <math.h>

#include "core/theory/loads.h"

#define NEGLIGIBLE 1e-18

/*
 * n of a header or of a formula's argument may be any number.  The sum below
 * takes some 18 standard deviations of terms: where that is many terms, f and
 * the weights change little from one to the next, and every so many of them
 * stand for all.  The trapezoid rule's error for a bell is e^(-2 (pi/h)^2) with
 * steps of h standard deviations: nothing with an eighth.
 */
#define MANY_LOADS 128			/* standard deviation */
#define STEPS_A_DEVIATION 8

/* (1 + e) ln(1 + e) - e: the deviance of a count that is 1 + e times its mean, in units of the mean (Loader 2000). */
static double
deviance(double e)
{
	return e <= -1 ? 1 : (1 + e) * log1p(e) - e;
}

/* The binomial's weight of a load over that of the mean, by Stirling's formula: both are large. */
static double
weight_of(double load, double mean, double n)
{
	double		others = n - load,
				mean_others = n - mean;

	return exp(-mean * deviance((load - mean) / mean) - mean_others * deviance((mean - load) / mean_others)
			   - (1 / load - 1 / mean + 1 / others - 1 / mean_others) / 12)
		* sqrt(mean / load * (mean_others / others));
}

/* The same mean for loads of such a deviation. */
static double
mean_over_many_loads(double n, double blocks, double (*f) (uint64_t i, const void *arg), const void *arg)
{
	double		mean = n / blocks,
				middle = floor(mean),
				step = floor(sqrt(mean * (1 - 1 / blocks)) / STEPS_A_DEVIATION),
				weights = 0,
				sum = 0;

	/* 9 deviations below the mean, to where neither weight nor term matters, which is at most 40 above */
	for (int i = -9 * STEPS_A_DEVIATION; i <= 40 * STEPS_A_DEVIATION; i++)
	{
		double		load = middle + i * step,
					weight,
					term;

		if (load < 1 || load > n - 1)
			continue;
		weight = weight_of(load, mean, n);
		term = weight * f((uint64_t) fmin(load, 0x1p63), arg);
		weights += weight;
		sum += term;
		if (i > 0 && weight < NEGLIGIBLE && term <= sum * DBL_EPSILON / 16)
			break;
	}
	return sum / weights;
}

/*
 * Starts below the loads that count and sums upward, with each weight from its
 * neighbour's, and divides by the sum of the weights: no logarithm of a large
 * factorial is needed, whose rounding error would grow with n.  f must not
 * fall: then loads below the mode count by their weights alone, those above it
 * for as long as f grows faster than the weight falls.  The number of terms is
 * bounded: by 18 times MANY_LOADS, and by what f makes of rare loads.
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

	if (blocks == 1)
		return f(n, arg);
	if ((double) n / (double) blocks > MANY_LOADS * MANY_LOADS)
		return mean_over_many_loads((double) n, (double) blocks, f, arg);
	odds = 1.0 / (double) (blocks - 1);
	mode = (uint64_t) (((double) n + 1) / (double) blocks);
	if (mode > n)
		mode = n;

	for (low = mode; low > 0 && weight >= NEGLIGIBLE; low--)
		weight *= (double) low / ((double) (n - low + 1) * odds);
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

bool
blx_all_set(double n, double blocks, double block_bits, unsigned k)
{
	double		hit = -expm1(k * log1p(-1 / block_bits)) / blocks;

	return k * exp(n * log1p(-hit)) < NEGLIGIBLE;
}
