/*
 * theory.c - the formulas of the papers, for study and for planning.
 *
 * Sums of positive terms only: where a paper prints an inclusion-exclusion
 * sum, whose terms cancel, another exact way to the same number is taken.
 */
#include <math.h>

#include "core/layout.h"
#include "core/theory.h"

/*
 * Walks along the trials with the distribution of the current run's length;
 * what reaches k stays there.
 */
double
blx_run_probability(const double *r, unsigned n, unsigned k)
{
	double		run[BLX_MAX_K + 1] = {1};	/* P(the current run is that long, none was of length k) */
	double		found = 0;

	if (k == 0)
		return 1;
	for (unsigned i = 0; i < n; i++)
	{
		double		open = 0;	/* P(no run of length k so far) */

		for (unsigned length = k; length-- > 0;)
		{
			open += run[length];
			run[length + 1] = run[length] * r[i];
		}
		found += run[k];
		run[0] = open * (1 - r[i]);
	}
	return found;
}
