/*
 * test_formulas.c - the formulas compared with other computations of the same
 * number: exact recurrences in long double, direct sums, and counting.
 */
#include "core/layouts/layout.h"
#include "filters.h"

/* E[(X/m)^k] from the exact distribution of X: a throw hits a new bit with probability (m - x)/m. */
static long double
occupancy_exact(unsigned m, unsigned k, unsigned throws)
{
	long double *p = take(sizeof(long double) * (m + 1)),
				sum = 0;

	for (unsigned x = 0; x <= m; x++)
		p[x] = x == 0;
	for (unsigned t = 0; t < throws; t++)
		for (unsigned x = m + 1; x-- > 0;)
			p[x] = p[x] * x / m + (x > 0 ? p[x - 1] * (m - x + 1) / m : 0);
	for (unsigned x = 1; x <= m; x++)
		sum += p[x] * powl((long double) x / m, k);
	release();
	return sum;
}

static void
occupancy(void)
{
	static const unsigned sizes[] = {1, 2, 3, 8, 64, 100, 255, 256, 257, 300, 512, 1000, 4096};
	static const unsigned probes[] = {1, 2, 3, 5, 8, 12, 16, 20, 30};

	TEST("blx_occupancy_power against the exact recurrence")
	for (size_t s = 0; s < LENGTH(sizes); s++)
	{
		double		worst = 0;
		unsigned	at_k = 0,
					at_throws = 0;
		unsigned	m = sizes[s];

		for (size_t i = 0; i < LENGTH(probes); i++)
			for (unsigned load = 1; load <= 200; load += load < 8 ? 1 : load / 3)
			{
				unsigned	k = probes[i],
							throws = k * load;
				double		exact,
							error;

				if (throws > 3 * m + 64)
					break;
				exact = (double) occupancy_exact(m, k, throws);
				error = fabs(blx_occupancy_power(m, k, throws) / exact - 1);
				if (!(error <= worst))
				{
					worst = error;
					at_k = k;
					at_throws = throws;
				}
			}
		note("m = %4u: largest relative error %.1e (k = %u, %u throws)", m, worst, at_k, at_throws);
		CHECK(worst < 1e-12, "m = %u: %g", m, worst);
	}

	TEST("blx_occupancy_power is a number for every m, k and number of throws")
	for (uint64_t m = 1; m < 2000; m = m < 20 ? m + 1 : m * 2)
		for (double throws = 0; throws < 1e15; throws = throws < 3 ? throws + 1 : throws * 10)
			for (unsigned k = 1; k <= 64; k += 7)
			{
				double		v = blx_occupancy_power(m, k, throws);

				CHECK(v >= 0 && v <= 1 + 1e-12, "m = %" PRIu64 ", k = %u, %g throws: %g", m, k, throws, v);
			}

	TEST("the expected rate of blocked filters with the occupancy by the recurrence in its place")
	{
		static const double rates[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};

		for (size_t r = 0; r < LENGTH(rates); r++)
		{
			blx_geometry g;
			blx_error	error;
			uint64_t	n = 20000;
			double		mean,
						exact = 0;

			blx_plan(BLX_BLOCKED, n, rates[r], NULL, &g, &error);
			mean = (double) n / g.blocks;
			for (unsigned i = 0; i < mean + 15 * sqrt(mean) + 15; i++)
				exact += (double) occupancy_exact(512, g.probes, i * g.probes) *
					exp(lgamma((double) n + 1) - lgamma(i + 1.0) - lgamma((double) n - i + 1)
						- i * log(g.blocks) + ((double) n - i) * log1p(-1.0 / g.blocks));
			note("%g: k = %u, expected %.6e, exact %.6e (%+.1e)", rates[r], g.probes, blx_fpr_expected(&g, n), exact,
				 blx_fpr_expected(&g, n) / exact - 1);
			CHECK(fabs(blx_fpr_expected(&g, n) / exact - 1) < 1e-9, "%s", describe(&g));
		}
	}
}

static double
some_function(uint64_t i, const void *arg)
{
	return pow(-expm1((double) i * log1p(-1.0 / 64)), *(const int *) arg);
}

static void
loads(void)
{
	TEST("blx_mean_over_loads against the binomial by lgammal")
	for (uint64_t n = 1; n < 3000000; n = n * 3 + 1)
		for (uint64_t blocks = 1; blocks <= 1 << 20; blocks *= 4)
			for (int power = 1; power <= 8; power += 7)
			{
				double		ours = blx_mean_over_loads(n, blocks, some_function, &power);
				long double direct = 0;
				long double mean = (long double) n / blocks;

				if (blocks == 1)
					direct = some_function(n, &power);
				else
					for (uint64_t i = (uint64_t) fmaxl(0, mean - 15 * sqrtl(mean) - 40); i <= n && i <= mean + 15 * sqrtl(mean) + 40; i++)
						direct += expl(lgammal(n + 1.0L) - lgammal(i + 1.0L) - lgammal(n - i + 1.0L)
									   - i * logl(blocks) + (n - i) * log1pl(-1.0L / blocks)) * some_function(i, &power);
				CHECK(fabs(ours / (double) direct - 1) < 1e-8, "n = %" PRIu64 ", %" PRIu64 " blocks, power %d: %.12g, not %.12Lg",
					  n, blocks, power, ours, direct);
			}
}

static void
present_rate(void)
{
	TEST("blx_fpr is the share of random hashes that the filter answers yes to, within 4.5 sigma")
	for (int round = 0; round < 120; round++, release())
	{
		blx_geometry g = random_geometry(static_layouts[round % (int) LENGTH(static_layouts)]);

		g.hashing = BLX_INDEPENDENT;	/* as the formula for the rate assumes */

		double		room = (double) blx_bits(&g) / fmax(1, blx_bits_per_key(&g));
		size_t		n = (size_t) random_between(1, 2 + (uint64_t) room);
		blx_filter *f = built(&g, 0, new_hashes(n), n);
		double		rate = blx_fpr(f),
					sigma;
		int			probes = 200000,
					yes = 0;

		for (int i = 0; i < probes; i++)
			yes += blx_test(f, random64());
		sigma = sqrt(rate * (1 - rate) * probes);
		CHECK(fabs(yes - rate * probes) <= 4.5 * sigma + 3, "%s, %zu keys: %d of %d, expected %.1f", describe(&g), n, yes, probes, rate * probes);
	}
}

/* Groups: the product, over groups, of the mean over blocks of the product of the parts' fills, word by word. */
static long double
rate_by_words(const blx_geometry *g, const uint64_t *words)
{
	long double rate = 1;

	for (unsigned left = g->parts; left > 0;)
	{
		unsigned	parts = left < 8 ? left : 8;
		long double sum = 0;

		for (uint32_t b = 0; b < g->blocks; b++)
		{
			long double product = 1;

			for (unsigned j = 0; j < parts; j++)
				product *= __builtin_popcountll(*words++) / 64.0L;
			sum += product;
		}
		rate *= sum / g->blocks;
		left -= parts;
	}
	return rate;
}

static void
rate_of_groups(void)
{
	static const unsigned log2s[] = {0, 1, 5, 9, 13, 14, 17};

	TEST("blx_fpr of partitioned_blocked is its definition, for few blocks and many, empty and full")
	for (unsigned parts = 1; parts <= 17; parts++)
		for (size_t i = 0; i < LENGTH(log2s); i++, release())
		{
			blx_geometry g = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << log2s[i], .parts = (uint16_t) parts, .probes = 1, .part_bits = 64};
			blx_filter *f = blank(&g, &no_identity, 0);
			long double rate;

			for (uint64_t w = 0; w < (uint64_t) parts << log2s[i]; w++)
				blx_words(f)[w] = random64() | (w % 3 == 0 ? random64() : 0);
			rate = rate_by_words(&g, blx_words(f));
			CHECK(fabsl(blx_fpr(f) / rate - 1) < 1e-13L, "%s: %.17g, not %.17Lg", describe(&g), blx_fpr(f), rate);
			blx_set_all(f);
			CHECK(blx_fpr(f) == 1, "%s, full: %.17g", describe(&g), blx_fpr(f));
		}
}

static void
cardinality(void)
{
	static const struct
	{
		blx_geometry g;
		unsigned	n;
		double		low,		/* bounds of the mean square of (estimate - n) / error */
					high;
	}			cases[] = {
		{{BLX_STANDARD, 1, 1, 7, 1000}, 50, 0.75, 1.25},
		{{BLX_STANDARD, 1, 1, 7, 100000}, 10000, 0.75, 1.25},
		{{BLX_STANDARD, 1, 1, 1, 64}, 30, 0.75, 1.5},
		{{BLX_RATIONAL, 1, 1, 6, 100000, .fraction = 30000}, 10000, 0.75, 1.25},
		{{BLX_RATIONAL, 1, 1, 1, 1000, .fraction = 30000}, 300, 0.75, 1.25},
		/* all pairs of bits count as of two blocks: an overestimate */
		{{BLX_VARIABLE_BLOCKED, 1, 1, 4, 100000, .fraction = 30000}, 10000, 0.2, 1.25},
		{{BLX_VARIABLE_BLOCKED, 1, 1, 1, 1000, .fraction = 50000}, 300, 0.3, 1.25},
		{{BLX_VARIABLE_BLOCKED, 1, 1, 6, 9600}, 100, 0.05, 1.25},
		{{BLX_PARTITIONED, 1, 7, 1, 128}, 60, 0.75, 1.25},
		{{BLX_PARTITIONED, 1, 7, 1, 16384}, 10000, 0.75, 1.25},
		{{BLX_BLOCKED, 1, 1, 6, 512}, 40, 0.75, 1.25},
		{{BLX_BLOCKED, 200, 1, 6, 512}, 8000, 0.75, 1.25},
		{{BLX_BLOCKED, 200, 1, 6, 512}, 20000, 0.75, 1.25},
		{{BLX_PARTITIONED_BLOCKED, 1, 8, 1, 64}, 40, 0.75, 1.25},
		{{BLX_PARTITIONED_BLOCKED, 256, 8, 1, 64}, 12000, 0.75, 1.25},
		{{BLX_PARTITIONED_BLOCKED, 256, 8, 1, 64}, 25000, 0.75, 1.25},
		/* more than one group: a slight overestimate, as documented */
		{{BLX_PARTITIONED_BLOCKED, 256, 16, 1, 64}, 12000, 0.4, 1.25},
		{{BLX_PARTITIONED_BLOCKED, 256, 24, 1, 64}, 12000, 0.3, 1.25},
	};

	static const blx_geometry large[] = {
		{BLX_STANDARD, 1, 1, 7, 1000003}, {BLX_STANDARD, 1, 1, 7, 100000007}, {BLX_STANDARD, 1, 1, 7, 7000000001},
		{BLX_PARTITIONED, 1, 7, 1, 1000003}, {BLX_PARTITIONED, 1, 7, 1, 1000000007},
		{BLX_BLOCKED, 30011, 1, 7, 512}, {BLX_BLOCKED, 10000019, 1, 7, 512},
		{BLX_PARTITIONED_BLOCKED, 1 << 12, 8, 1, 64}, {BLX_PARTITIONED_BLOCKED, 1 << 23, 8, 1, 64},
	};

	TEST("cardinality: within 3 standard errors but for 1 %, no bias, and a spread as announced")
	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		int			runs = 400,
					beyond = 0;
		double		error = blx_cardinality_error(&cases[c].g, cases[c].n),
					mean = 0,
					square = 0,
					share = erfc(3 / sqrt(2 * cases[c].high)),
					most = runs / 100;

		/* a spread that may be wider than announced puts more beyond: the share of a normal distribution, within 3 sigma */
		if (cases[c].high > 1.25)
			most = runs * share + 3 * sqrt(runs * share);
		for (int run = 0; run < runs; run++, release())
		{
			double		z = (blx_cardinality(built(&cases[c].g, 0, new_hashes(cases[c].n), cases[c].n)) - cases[c].n) / error;

			beyond += !(fabs(z) <= 3);
			mean += z / runs;
			square += z * z / runs;
		}
		note("%-36s %6u keys: error %8.2f, mean z %+.3f, mean square %.3f, %d of %d beyond 3", describe(&cases[c].g),
			 cases[c].n, error, mean, square, beyond, runs);
		CHECK(beyond <= most, "%d", beyond);
		CHECK(fabs(mean) < 0.3, "%g", mean);
		CHECK(square > cases[c].low && square < cases[c].high, "%g", square);
	}

	TEST("cardinality: an expanded filter, folded to what it was, gives the same estimate")
	for (int round = 0; round < 400; round++, release())
	{
		const uint8_t resizable[] = {BLX_PARTITIONED, BLX_PARTITIONED_BLOCKED, BLX_HYBRID, BLX_STANDARD, BLX_BLOCKED, BLX_RATIONAL};
		blx_geometry g = random_geometry(resizable[round % (int) LENGTH(resizable)]),
					h,
					back;
		blx_filter *f,
				   *large;

		g.hashing = BLX_INDEPENDENT;
		h = finer(g, 3);
		f = built(&g, 0, new_hashes(20), 20);
		large = union_of(f, blank(&h, &no_identity, 0));
		back = blx_unexpanded_geometry(large);
		CHECK(blx_cardinality(resized(large, &back)) == blx_cardinality(f), "%s", describe(&g));
	}

	TEST("the standard error of large filters: the same formula without cancellation, within 1 %")
	for (size_t c = 0; c < LENGTH(large); c++)
		for (double fill = 0.25; fill <= 1; fill *= 2)
		{
			const blx_geometry *g = &large[c];
			long double b = g->blocks,
						s = g->part_bits,
						bits = blx_bits(g),
						block_bits = s * g->parts,
						hit1 = -expm1l(g->probes * log1pl(-1 / s)),
						hit2 = -expm1l(g->probes * log1pl(-2 / s)),
						n = floorl(fill * bits / blx_k(g)),
						once = log1pl(-hit1 / b),
						u = expl(n * once);
			/* P(both unset) - u^2 = u^2 expm1(difference of logarithms) */
			long double part = u * u * expm1l(n * (log1pl(-hit2 / b) - 2 * once)),
						block = u * u * expm1l(n * (log1pl(-(2 * hit1 - hit1 * hit1) / b) - 2 * once)),
						other = u * u * expm1l(n * ((b > 1 ? log1pl(-2 * hit1 / b) : 0) - 2 * once));
			long double variance = bits * (u - u * u + (s - 1) * part + (block_bits - s) * block + (bits - block_bits) * other);
			double		error = (double) (sqrtl(variance) / (bits * u * -once));

			CHECK(fabs(blx_cardinality_error(g, (double) n) / error - 1) < 0.01, "%s, %.0Lf keys: %g, not %g",
				  describe(g), n, blx_cardinality_error(g, (double) n), error);
		}

	TEST("cardinality: nothing in an empty filter, infinite in a full one")
	for (size_t i = 0; i < LENGTH(static_layouts); i++, release())
	{
		blx_geometry g = random_geometry(static_layouts[i]);
		blx_filter *f = blank(&g, &no_identity, 0);

		CHECK(blx_cardinality(f) == 0, "%s", describe(&g));
		blx_set_all(f);
		CHECK(isinf(blx_cardinality(f)) && blx_fpr(f) == 1, "%s", describe(&g));
	}
}

int
main(void)
{
	random_seed(5);
	occupancy();
	loads();
	present_rate();
	cardinality();
	rate_of_groups();
	return report();
}
