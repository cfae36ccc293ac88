/*
 * test_theory.c - properties that the papers' formulas must have.
 * test/python/theory.py compares their values with exact arithmetic.
 */
#include "core/layouts/layout.h"
#include "core/theory/theory.h"
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

/* a <= b, except for a difference in the last digits. */
static bool
at_most(double a, double b)
{
	return a <= b * (1 + 1e-12);
}

static void
rates(void)
{
	TEST("parts cost, Goel and Gupta bound, the textbook flatters; more keys never lower a rate, more bits never raise it")
	for (int round = 0; round < 3000; round++)
	{
		unsigned	k = (unsigned) random_between(1, BLX_MAX_K);
		uint64_t	m = random_between(k + 1, UINT64_C(1) << random_between(7, 40)),
					n = random_between(0, m / k);
		double		standard = blx_fpr_standard((double) n, m, k);

		CHECK(standard >= 0 && standard <= 1, "n = %" PRIu64 ", m = %" PRIu64 ", k = %u: %g", n, m, k, standard);
		CHECK(at_most(blx_fpr_approx((double) n, (double) m, k), standard), "n = %" PRIu64 ", m = %" PRIu64 ", k = %u", n, m, k);
		CHECK(at_most(standard, blx_fpr_partitioned((double) n, (double) m, k)), "n = %" PRIu64 ", m = %" PRIu64 ", k = %u", n, m, k);
		CHECK(at_most(standard, blx_fpr_goel_gupta((double) n, (double) m, k)), "n = %" PRIu64 ", m = %" PRIu64 ", k = %u", n, m, k);
		CHECK(at_most(standard, blx_fpr_standard((double) n + 1, m, k)), "n = %" PRIu64 ", m = %" PRIu64 ", k = %u", n, m, k);
		CHECK(at_most(blx_fpr_standard((double) n, m + 1, k), standard), "n = %" PRIu64 ", m = %" PRIu64 ", k = %u", n, m, k);
	}

	TEST("collisions: their probabilities add up to 1, and the rate is the mean over them")
	for (int round = 0; round < 2000; round++)
	{
		unsigned	k = (unsigned) random_between(1, BLX_MAX_K);
		uint64_t	m = random_between(1, UINT64_C(1) << random_between(1, 40)),
					n = random_between(0, m);
		double		all = 0,
					mean = 0,
					standard = blx_fpr_standard((double) n, m, k);

		for (unsigned c = 0; c < k; c++)
		{
			double		share = blx_collisions((double) m, k, c);

			all += share;
			if (k - c <= m)
				mean += share * blx_fpr_element((double) n, (double) m, k, k - c);
			else
				CHECK(share == 0, "%u bits of %" PRIu64, k - c, m);
		}
		CHECK(fabs(all - 1) < 1e-13, "m = %" PRIu64 ", k = %u: %.17g", m, k, all);
		CHECK(fabs(mean - standard) <= 1e-12 * standard, "n = %" PRIu64 ", m = %" PRIu64 ", k = %u: %g, %g", n, m, k, mean, standard);
	}

	TEST("a whole k is no mixture")
	for (int round = 0; round < 500; round++)
	{
		unsigned	k = (unsigned) random_between(1, BLX_MAX_K - 1);
		uint64_t	m = random_between(1, 100000),
					n = random_between(0, 2 * m / k);
		double		whole = blx_fpr_rational((double) n, (double) m, k),
					standard = blx_fpr_standard((double) n, m, k),
					half = blx_fpr_rational((double) n, (double) m, k + 0.5);

		CHECK(fabs(whole - standard) <= 1e-12 * standard, "n = %" PRIu64 ", m = %" PRIu64 ", k = %u: %g, %g", n, m, k, whole, standard);
		CHECK(half >= 0 && half <= 1, "n = %" PRIu64 ", m = %" PRIu64 ", k = %u: %g", n, m, k, half);
	}

	TEST("false overlap: the same from both sides, rises with the keys; parts prove more")
	for (int round = 0; round < 300; round++)
	{
		unsigned	k = (unsigned) random_between(1, 16);
		double		m = (double) (k * random_between(1, UINT64_C(1) << random_between(1, 30))),
					a = (double) random_between(0, 3000),
					b = (double) random_between(0, 3000),
					standard = blx_overlap_standard(m, k, a, b);

		CHECK(standard == blx_overlap_standard(m, k, b, a), "m = %g, k = %u", m, k);
		CHECK(at_most(standard, blx_overlap_standard(m, k, a + 1, b)), "m = %g, k = %u, %g and %g keys", m, k, a, b);
		CHECK(at_most(blx_overlap_partitioned(m, k, a, b), standard), "m = %g, k = %u, %g and %g keys", m, k, a, b);
	}

	TEST("an age-partitioned filter: the expected fill is above the paper's; more parts, more false positives")
	for (unsigned k = 1; k <= BLX_MAX_K; k++)
		for (unsigned l = 0; l < 100; l += 9)
		{
			double		rate = blx_fpr_age_partitioned(k, l, false);

			CHECK(at_most(blx_fpr_age_partitioned(k, l, true), rate), "k = %u, l = %u", k, l);
			CHECK(at_most(rate, blx_fpr_age_partitioned(k, l + 1, false)), "k = %u, l = %u", k, l);
		}
}

int
main(void)
{
	random_seed(8);
	runs();
	rates();
	return report();
}
