/*
 * loads.c - the two distributions behind the formulas.
 *
 * How many keys fall into one of many blocks (binomial), and how many bits of
 * a part are set after some throws (occupancy).  Both work with positive terms
 * only: the textbook inclusion-exclusion sums cancel catastrophically.
 */
#include <math.h>

#include "core/layout.h"

/*
 * Sums outward from the most likely load, with each weight from its
 * neighbour's, and divides by the sum of the weights: no logarithm of a large
 * factorial is needed, whose rounding error would grow with n.
 */
double
blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg)
{
	const double negligible = 1e-25;
	double		odds,
				weight,
				weights = 0,
				sum = 0;
	uint64_t	mode;

	if (blocks == 1)
		return f(n, arg);
	odds = 1.0 / (double) (blocks - 1);
	mode = (uint64_t) (((double) n + 1) / (double) blocks);
	if (mode > n)
		mode = n;

	weight = 1;
	for (uint64_t i = mode;; i++)
	{
		weights += weight;
		sum += weight * f(i, arg);
		if (i == n || weight < negligible)
			break;
		weight *= (double) (n - i) / (double) (i + 1) * odds;
	}
	weight = 1;
	for (uint64_t i = mode; i > 0 && weight >= negligible; i--)
	{
		weight *= (double) i / ((double) (n - i + 1) * odds);
		weights += weight;
		sum += weight * f(i - 1, arg);
	}
	return sum / weights;
}

/* The exact distribution of the number of set bits, for small m: a recurrence without subtraction. */
static double
occupancy_power_exact(unsigned m, unsigned k, unsigned throws)
{
	double		p[257] = {1};
	double		sum = 0;

	for (unsigned t = 0; t < throws; t++)
	{
		unsigned	top = t + 1 < m ? t + 1 : m;

		for (unsigned x = top; x > 0; x--)
			p[x] = p[x] * x / m + p[x - 1] * (m - x + 1) / m;
		p[0] = 0;
	}
	for (unsigned x = 1; x <= m; x++)
		sum += p[x] * blx_power((double) x / m, k);
	return sum;
}

/*
 * E[(X/m)^k].  Exact for small cases; otherwise from the exact mean and
 * variance of X and the moments of a normal variable, whose skewness is
 * negligible by then.  Almeida 2022, eq. 10 is the value approximated.
 */
double
blx_occupancy_power(uint64_t m, unsigned k, double throws)
{
	double		mean,
				variance,
				c2,
				kk = k;

	if (m <= 256 && throws * (double) m <= 65536)
		return occupancy_power_exact((unsigned) m, k, (unsigned) throws);
	if (throws == 0)
		return 0;
	if (m == 1)
		return 1;

	{
		double		md = (double) m;
		double		unset1 = exp(throws * log1p(-1 / md));	/* P(a bit is unset) */
		double		unset2 = exp(throws * log1p(-2 / md));	/* P(two given bits are) */

		mean = md * -expm1(throws * log1p(-1 / md));
		variance = md * (unset1 - unset2) + md * md * (unset2 - unset1 * unset1);
		if (variance < 0)
			variance = 0;
	}
	c2 = variance / (mean * mean);
	return pow(mean / (double) m, kk) *
		(1 + kk * (kk - 1) / 2 * c2
		 * (1 + (kk - 2) * (kk - 3) / 4 * c2
			* (1 + (kk - 4) * (kk - 5) / 6 * c2)));
}
