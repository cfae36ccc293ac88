/*
 * loads.c - how many keys fall into one of many blocks: the binomial
 * distribution behind the formulas of blocked filters.
 */
#include <float.h>

#include "core/theory/loads.h"

/*
 * Starts below the loads that count and sums upward, with each weight from its
 * neighbour's, and divides by the sum of the weights: no logarithm of a large
 * factorial is needed, whose rounding error would grow with n.  f must not
 * fall: then loads below the mode count by their weights alone, those above it
 * for as long as f grows faster than the weight falls.
 */
double
blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg)
{
	const double negligible = 1e-18;
	double		odds,
				weight = 1,
				weights = 0,
				sum = 0;
	uint64_t	mode,
				low;

	if (blocks == 1)
		return f(n, arg);
	odds = 1.0 / (double) (blocks - 1);
	mode = (uint64_t) (((double) n + 1) / (double) blocks);
	if (mode > n)
		mode = n;

	for (low = mode; low > 0 && weight >= negligible; low--)
		weight *= (double) low / ((double) (n - low + 1) * odds);
	for (uint64_t i = low;; i++)
	{
		double		term = weight * f(i, arg);

		weights += weight;
		sum += term;
		if (i == n || (i > mode && weight < negligible && term <= sum * DBL_EPSILON / 16))
			break;
		weight *= (double) (n - i) / (double) (i + 1) * odds;
	}
	return sum / weights;
}
