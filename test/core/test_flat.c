/*
 * test_flat.c - what only the flat layouts have: the hashing schemes with the
 * anomalies that Almeida 2022, section 5 describes, the shapes of hybrid, and
 * what cannot be planned or combined.
 */
#include "core/layouts/layout.h"
#include "exercise.h"

static blx_geometry
by_bits(uint8_t layout, int64_t bits, unsigned k, const char *text)
{
	blx_geometry g = {0};
	blx_options options;
	blx_error	error = {.message = ""};

	CHECK(blx_parse_options(layout, text, &options, &error) && blx_plan_bits(layout, bits, k, &options, &g, &error),
		  "%s, %" PRId64 " bits, k = %u, \"%s\": %s", blx_layout_name(layout), bits, k, text, error.message);
	return g;
}

/* The positions of a key by the definitions, in integer arithmetic.  Probe i of the k goes to part i / H. */
static uint64_t
position_of(uint64_t key, uint64_t s, uint8_t hashing, uint64_t i)
{
	uint64_t	h1 = blx_scale(key, s),
				h2 = blx_scale(blx_derive(key, 1), s),
				h3 = blx_scale(blx_derive(key, 2), s);
	uint64_t	x = h1,
				step = h2;

	if (hashing == BLX_INDEPENDENT)
		return blx_scale(blx_derive(key, (unsigned) i), s);
	/* the papers' loops, in which the step itself grows */
	for (uint64_t j = 1; j <= i; j++)
	{
		x = (x + step) % s;
		step = (step + (hashing == BLX_ENHANCED_DOUBLE ? j : hashing == BLX_TRIPLE ? h3 : 0)) % s;
	}
	return x;
}

static void
definitions(void)
{
	TEST("every scheme and layout sets the bits of its definition")
	for (int round = 0; round < 3000; round++, release())
	{
		const uint8_t layouts[] = {BLX_STANDARD, BLX_PARTITIONED, BLX_HYBRID};
		blx_geometry g = random_geometry(layouts[round % 3]);
		uint64_t	key = random64();
		uint64_t   *words = take(8 * blx_body_words(&g));
		blx_filter *f;

		g.hashing = (uint8_t) random_between(BLX_INDEPENDENT, BLX_TRIPLE);
		f = built(&g, 0, &key, 1);
		memset(words, 0, 8 * blx_body_words(&g));
		for (uint64_t i = 0; i < blx_k(&g); i++)
		{
			uint64_t	bit = position_of(key, g.part_bits, g.hashing, i);

			words[i / g.probes * ((g.part_bits + 63) / 64) + bit / 64] |= UINT64_C(1) << bit % 64;
		}
		CHECK(memcmp(words, blx_cwords(f), 8 * blx_body_words(&g)) == 0, "%s, %s", describe(&g), blx_hashing_name(g.hashing));
		CHECK(blx_test(f, key) && blx_test_fetched(f, key, blx_fetch_memory, blx_words(f)), "%s lost its key", describe(&g));
	}

	TEST("hybrid of one part is standard, hybrid of one probe a part is partitioned, bit for bit")
	for (int round = 0; round < 500; round++, release())
	{
		blx_geometry g = random_geometry(round % 2 ? BLX_STANDARD : BLX_PARTITIONED),
					h = g;
		uint64_t   *keys = random_hashes(50);

		h.layout = BLX_HYBRID;
		CHECK(memcmp(blx_cwords(built(&g, 0, keys, 50)), blx_cwords(built(&h, 0, keys, 50)), 8 * blx_body_words(&g)) == 0,
			  "%s", describe(&g));
		CHECK(round % 2 || fabs(blx_fpr_expected(&g, 50) / blx_fpr_expected(&h, 50) - 1) < 1e-9, "%s", describe(&g));
	}
}

/* ---- Almeida 2022, section 5 ---- */

enum
{
	BITS = 512, K = 8, KEYS = 2000000
};

/* shares[d] = the number of KEYS random keys that set exactly d bits of an empty filter. */
static void
count_bits_of_keys(const blx_geometry *g, unsigned shares[K + 1])
{
	blx_filter *f = blank(g, &no_identity, 0);

	memset(shares, 0, (K + 1) * sizeof shares[0]);
	for (int i = 0; i < KEYS; i++)
	{
		uint64_t	key = random64();

		blx_add(f, &key, 1);
		shares[blx_bits_set(f)]++;
		memset(blx_words(f), 0, 8 * blx_body_words(g));
	}
	release();
}

/* |seen - n p| in standard deviations of the binomial. */
static double
deviations(double seen, double n, double p)
{
	return fabs(seen - n * p) / sqrt(n * p * (1 - p));
}

static void
weak_keys(void)
{
	unsigned	shares[K + 1];

	TEST("double hashing in one part: one key in 512 has a single bit, others 2 and 4, as 512 / gcd(h2, 512) says")
	{
		blx_geometry g = by_bits(BLX_STANDARD, BITS, K, "hashing=double");
		double		chance[K + 1] = {0};

		for (unsigned h2 = 0; h2 < BITS; h2++)
		{
			unsigned	cycle = h2 == 0 ? 1 : BITS / (h2 & -h2);	/* 512 / gcd: the lowest bit of h2 */

			chance[cycle < K ? cycle : K] += 1.0 / BITS;
		}
		count_bits_of_keys(&g, shares);
		note("of %d keys %u have one bit (1/%.1f), %u two, %u four", KEYS, shares[1], (double) KEYS / shares[1], shares[2], shares[4]);
		for (unsigned d = 1; d <= K; d++)
			if (chance[d] == 0)
				CHECK(shares[d] == 0, "%u keys have %u bits", shares[d], d);
			else
				CHECK(deviations(shares[d], KEYS, chance[d]) < 4, "%u keys have %u bits, expected %.1f", shares[d], d, KEYS * chance[d]);
		CHECK(chance[1] == 1.0 / 512, "one in 512");
	}

	TEST("triple hashing in one part: a single bit only when h2 and h3 are 0; enhanced double: never")
	{
		blx_geometry triple = by_bits(BLX_STANDARD, BITS, K, "hashing=triple"),
					enhanced = by_bits(BLX_STANDARD, BITS, K, "hashing=enhanced_double");

		count_bits_of_keys(&triple, shares);
		note("triple: of %d keys %u have one bit, %u two", KEYS, shares[1], shares[2]);
		CHECK(deviations(shares[1], KEYS, 1.0 / BITS / BITS) < 4, "%u", shares[1]);
		count_bits_of_keys(&enhanced, shares);
		note("enhanced double: of %d keys %u have one bit, %u two, %u all eight", KEYS, shares[1], shares[2], shares[K]);
		CHECK(shares[1] == 0 && shares[2] == 0, "%u and %u", shares[1], shares[2]);
	}

	TEST("independent hashes in one part: the collisions of k throws, no key of one bit")
	{
		blx_geometry g = by_bits(BLX_STANDARD, BITS, K, "");
		double		chance[K + 1] = {1};	/* of d distinct bits after the throws so far */

		for (unsigned t = 0; t < K; t++)
			for (unsigned d = K + 1; d-- > 0;)
				chance[d] = chance[d] * d / BITS + (d > 0 ? chance[d - 1] * (BITS - d + 1) / BITS : 0);
		count_bits_of_keys(&g, shares);
		for (unsigned d = K - 2; d <= K; d++)
			CHECK(deviations(shares[d], KEYS, chance[d]) < 4, "%u keys have %u bits, expected %.1f", shares[d], d, KEYS * chance[d]);
		CHECK(shares[1] + shares[2] == 0, "%u and %u", shares[1], shares[2]);
	}

	TEST("with parts every key has k bits, whatever the scheme")
	for (uint8_t hashing = BLX_INDEPENDENT; hashing <= BLX_TRIPLE; hashing++)
	{
		blx_geometry g = by_bits(BLX_PARTITIONED, BITS, K, "");

		g.hashing = hashing;
		count_bits_of_keys(&g, shares);
		CHECK(shares[K] == KEYS, "%s: %u of %d", blx_hashing_name(hashing), shares[K], KEYS);
	}
}

static int
compare_words(const void *a, const void *b)
{
	return memcmp(a, b, BITS / 8);
}

/* The number of pairs with the same bits among n random keys. */
static double
twins(const blx_geometry *g, size_t n)
{
	blx_filter *f = blank(g, &no_identity, 0);
	uint8_t    *sets = take(n * BITS / 8);
	double		pairs = 0,
				run = 1;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	key = random64();

		blx_add(f, &key, 1);
		memcpy(sets + i * BITS / 8, blx_cwords(f), BITS / 8);
		memset(blx_words(f), 0, BITS / 8);
	}
	qsort(sets, n, BITS / 8, compare_words);
	for (size_t i = 1; i < n; i++)
	{
		run = compare_words(sets + (i - 1) * BITS / 8, sets + i * BITS / 8) == 0 ? run + 1 : 1;
		pairs += run - 1;
	}
	release();
	return pairs;
}

/* The bits that the walks (h1, h2) and (g1, g2) of K steps share, in one part of BITS bits or in parts of BITS/K. */
static unsigned
overlap(unsigned h1, unsigned h2, unsigned g1, unsigned g2, bool parts)
{
	unsigned	modulus = parts ? BITS / K : BITS,
				shared = 0;

	for (unsigned i = 0; i < K; i++)
	{
		bool		found = false;

		for (unsigned j = 0; j < K; j++)
			found |= (!parts || i == j) && (h1 + i * h2) % modulus == (g1 + j * g2) % modulus;
		shared += found;
	}
	return shared;
}

static void
overlaps(void)
{
	TEST("double hashing in one part: a key and its backward walk have the same bits, and neighbours share k - 1")
	{
		double		same = 0,
					pairs,
					n = 20000;
		size_t		shared[K + 1] = {0};
		blx_geometry g = by_bits(BLX_STANDARD, BITS, K, "hashing=double");

		/* by the definition: every walk, compared with one of odd step */
		for (unsigned h1 = 0; h1 < BITS; h1++)
			for (unsigned h2 = 0; h2 < BITS; h2++)
				shared[overlap(100, 37, h1, h2, false)]++;
		CHECK(shared[K] == 2, "%zu walks have the same bits: itself and backwards", shared[K]);
		CHECK(shared[K - 1] == 4, "%zu share all but one: shifted by one step, each way, forward and backward", shared[K - 1]);
		memset(shared, 0, sizeof shared);
		for (unsigned h1 = 0; h1 < BITS / K; h1++)
			for (unsigned h2 = 0; h2 < BITS / K; h2++)
				shared[overlap(10, 37, h1, h2, true)]++;
		CHECK(shared[K] == 1 && shared[K - 1] == 0, "with parts only itself, and nothing nearly: %zu and %zu", shared[K], shared[K - 1]);

		/* the filters: the chance of a pair is the sum over steps of the walks with the same bits */
		for (unsigned h2 = 0; h2 < BITS; h2++)
			for (unsigned g1 = 0; g1 < BITS; g1++)
			{
				unsigned	cycle = h2 == 0 ? 1 : BITS / (h2 & -h2);

				if (cycle > K)	/* the walk itself, and its reverse */
					same += g1 < 2;
				else			/* a coset: any start, any step with that cycle length */
					same += g1 < cycle * (cycle == 1 ? 1 : cycle / 2);
			}
		same /= pow(BITS, 3);
		pairs = twins(&g, (size_t) n);
		note("%g of %g pairs of keys have the same bits, expected %.1f", pairs, n * (n - 1) / 2, same * n * (n - 1) / 2);
		CHECK(fabs(pairs - same * n * (n - 1) / 2) < 5 * sqrt(same * n * (n - 1) / 2) + 20, "%g", pairs);
		g.hashing = BLX_INDEPENDENT;
		CHECK(twins(&g, (size_t) n) == 0, "independent");
	}
}

/* The share of absent keys that test true, over many filters of n keys. */
static double
measured(const blx_geometry *g, size_t n, double *sigma)
{
	enum
	{
		FILTERS = 1000, PROBES = 2000
	};
	double		sum = 0,
				squares = 0;

	for (int i = 0; i < FILTERS; i++, release())
	{
		blx_filter *f = built(g, 0, new_hashes(n), n);
		double		yes = 0;

		for (int j = 0; j < PROBES; j++)
			yes += blx_test(f, random64());
		sum += yes / PROBES;
		squares += yes / PROBES * yes / PROBES;
	}
	*sigma = sqrt((squares / FILTERS - sum / FILTERS * sum / FILTERS) / FILTERS);
	return sum / FILTERS;
}

static void
rates(void)
{
	TEST("the rate of 512 bits with 44 keys: as the formula with independent hashes, far above it with double hashing")
	{
		const char *options[] = {"", "hashing=double", "hashing=enhanced_double", "hashing=triple"};

		for (size_t i = 0; i < LENGTH(options); i++)
		{
			blx_geometry g = by_bits(BLX_STANDARD, BITS, K, options[i]);
			double		sigma,
						rate = measured(&g, 44, &sigma),
						expected = blx_fpr_expected(&g, 44);

			note("%-16s %.3e, %+.1f sigma from %.3e", blx_hashing_name(g.hashing), rate, (rate - expected) / sigma, expected);
			if (i == 0)
				CHECK(fabs(rate - expected) < 4 * sigma, "%g, not %g", rate, expected);
			else if (i == 1)
				CHECK(rate > 1.5 * expected, "%g", rate);
			else
				CHECK(rate > expected - 4 * sigma && rate < 1.2 * expected, "%g", rate);
		}
	}
}

/* ---- what is refused ---- */

static void
refusals(void)
{
	blx_geometry g;
	blx_options options;
	blx_error	error;

	TEST("hybrid: k is a multiple of the probes in each part; planning finds one for every number of probes")
	{
		for (unsigned h = 1; h <= BLX_MAX_K; h++)
		{
			char		text[40];

			snprintf(text, sizeof text, "probes=%u", h);
			CHECK(blx_parse_options(BLX_HYBRID, text, &options, &error), "%s", error.message);
			for (unsigned k = 1; k <= BLX_MAX_K; k++)
			{
				bool		ok = blx_plan_bits(BLX_HYBRID, 10000, k, &options, &g, &error);

				CHECK(ok == (k % h == 0), "k = %u of parts with %u", k, h);
				if (ok)
					CHECK(g.probes == h && g.parts == k / h && g.part_bits == 10000 / g.parts, "%s", describe(&g));
				else
					CHECK(strstr(error.message, "multiple") && error.code == BLX_INVALID_PARAMETER, "%s", error.message);
			}
			for (double rate = 0.9; rate > 1e-4; rate /= 10)
				if (CHECK(blx_plan(BLX_HYBRID, 1000, rate, &options, &g, &error), "%u probes at %g: %s", h, rate, error.message))
					CHECK(g.probes == h && blx_fpr_expected(&g, 1000) < rate, "%s", describe(&g));
		}
		CHECK(!blx_parse_options(BLX_HYBRID, "probes=65", &options, &error), "65");
		CHECK(!blx_parse_options(BLX_HYBRID, "probes=0", &options, &error), "0");
		CHECK(!blx_parse_options(BLX_STANDARD, "probes=2", &options, &error), "standard");
		CHECK(!blx_parse_options(BLX_BLOCKED, "hashing=double", &options, &error), "blocked");
	}

	TEST("hashing for study: not planned by capacity, not folded, not expanded; prefix, union and shrink work")
	for (uint8_t hashing = BLX_DOUBLE; hashing <= BLX_TRIPLE; hashing++, release())
	{
		blx_geometry parts = {BLX_PARTITIONED, 1, 8, 1, 512, hashing},
					finer = {BLX_PARTITIONED, 1, 8, 1, 1024, hashing},
					fewer = {BLX_PARTITIONED, 1, 5, 1, 512, hashing};
		uint64_t   *keys = random_hashes(60);
		blx_filter *f = built(&parts, 0, keys, 60),
				   *half = built(&fewer, 0, keys, 30);

		options = blx_default_options(BLX_STANDARD);
		options.value[BLX_OPT_HASHING] = hashing;
		CHECK(!blx_plan(BLX_STANDARD, 100, 0.01, &options, &g, &error) && strstr(error.message, blx_hashing_name(hashing)), "%s", error.message);
		CHECK(!blx_fold_geometry(f, 1, &g, &error) && error.code == BLX_UNSUPPORTED, "%s", error.message);
		CHECK(!blx_combined_geometry(BLX_UNION, f, blank(&finer, &no_identity, 0), &g, &error) && error.code == BLX_MISMATCH, "%s", error.message);
		parts.hashing = BLX_INDEPENDENT;
		CHECK(!blx_combined_geometry(BLX_UNION, f, blank(&parts, &no_identity, 0), &g, &error) && strstr(error.message, "hashing"), "%s", error.message);
		CHECK(identical(prefix(f, 5), built(&fewer, 0, keys, 60)), "prefix");
		CHECK(identical(union_of(prefix(f, 5), half), prefix(f, 5)), "union");
		CHECK(identical(intersection_of(prefix(f, 5), half), half), "intersection");
		CHECK(!certainly_disjoint(f, half), "disjoint");
		CHECK(blx_shrink_geometry(f, 0.01, false, take(blx_shrink_scratch(f)), &g, &error) && g.part_bits == 512 && g.parts < 8, "%s", describe(&g));
	}

	TEST("hybrid filters of different probes do not combine")
	{
		blx_geometry two = {BLX_HYBRID, 1, 4, 2, 512},
					four = {BLX_HYBRID, 1, 2, 4, 512};

		CHECK(!blx_combined_geometry(BLX_UNION, blank(&two, &no_identity, 0), blank(&four, &no_identity, 0), &g, &error) &&
			  strstr(error.message, "probes"), "%s", error.message);
		release();
	}
}

int
main(void)
{
	random_seed(3000000000);
	definitions();
	weak_keys();
	overlaps();
	rates();
	refusals();
	return report();
}
