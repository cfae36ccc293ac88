/*
 * test_theory.c - properties that the papers' formulas must have.  Their
 * values are compared with exact arithmetic in test/python/theory.py.
 */
#include "core/layout.h"
#include "core/theory.h"
#include "harness.h"

static void
runs(void)
{
	TEST("a run of k among n: counted over all outcomes")
	for (unsigned n = 1; n <= 12; n++)
		for (unsigned k = 0; k <= n + 1; k++)
		{
			double		r[12],
						counted = 0,
						ours;

			for (unsigned i = 0; i < n; i++)
				r[i] = (double) random_between(0, 8) / 8;
			for (unsigned outcome = 0; outcome < 1u << n; outcome++)
			{
				unsigned	length = 0,
							longest = 0;
				double		chance = 1;

				for (unsigned i = 0; i < n; i++)
				{
					bool		hit = outcome >> i & 1;

					length = hit ? length + 1 : 0;
					longest = length > longest ? length : longest;
					chance *= hit ? r[i] : 1 - r[i];
				}
				counted += longest >= k ? chance : 0;
			}
			ours = blx_run_probability(r, n, k);
			CHECK(fabs(ours - counted) < 1e-14, "n = %u, k = %u: %.17g, not %.17g", n, k, ours, counted);
		}
}

int
main(void)
{
	random_seed(8);
	runs();
	return report();
}
