/*
 * test_fractional.c - the layouts with a fractional k: rational and
 * variable_blocked.
 */
#include "core/layouts/layout.h"
#include "exercise.h"

/* The bits of a key in a part of `size` bits that begins at bit `first`; k in units of 1/65536, derived hashes from number `hash` on. */
static unsigned
set_by_definition(uint64_t *words, uint64_t key, uint64_t first, uint64_t size, uint64_t k, unsigned hash)
{
	unsigned	bits = 0;

	for (unsigned j = 0; j <= k >> 16; j++)
	{
		uint64_t	w = blx_derive(key, hash + j),
					bit = first + blx_scale(w, size);

		if (j == k >> 16 && (w & 0xffff) >= (k & 0xffff))
			break;
		words[bit / 64] |= UINT64_C(1) << bit % 64;
		bits++;
	}
	return bits;
}

static blx_geometry
by_bits(uint8_t layout, int64_t bits, double k)
{
	blx_geometry g = {0};
	blx_error	error = {.message = ""};

	CHECK(blx_plan_bits(layout, bits, k, NULL, &g, &error), "%s, %" PRId64 " bits, k = %g: %s", blx_layout_name(layout), bits, k, error.message);
	return g;
}

static void
definitions(void)
{
	TEST("rational: a key sets floor(k) bits, and one more when its own hash says so")
	for (int round = 0; round < 3000; round++, release())
	{
		blx_geometry g = random_geometry(BLX_RATIONAL);
		uint64_t	key = random64(),
				   *words = take(8 * blx_body_words(&g));
		blx_filter *f = built(&g, 0, &key, 1);

		memset(words, 0, 8 * blx_body_words(&g));
		set_by_definition(words, key, 0, g.part_bits, (uint64_t) g.probes << 16 | g.fraction, 0);
		CHECK(memcmp(words, blx_cwords(f), 8 * blx_body_words(&g)) == 0, "%s", describe(&g));
		CHECK(blx_test(f, key) && blx_test_fetched(f, key, blx_fetch_memory, blx_words(f)), "%s lost its key", describe(&g));
	}

	TEST("rational of a whole k is standard, bit for bit")
	for (int round = 0; round < 300; round++, release())
	{
		blx_geometry g = random_geometry(BLX_STANDARD),
					h = g;
		uint64_t   *keys = random_hashes(50);

		h.layout = BLX_RATIONAL;
		g.hashing = h.hashing = BLX_INDEPENDENT;
		CHECK(memcmp(blx_cwords(built(&g, 0, keys, 50)), blx_cwords(built(&h, 0, keys, 50)), 8 * blx_body_words(&g)) == 0, "%s", describe(&g));
		CHECK(fabs(blx_fpr_expected(&g, 50) - blx_fpr_expected(&h, 50)) <= 1e-9 * blx_fpr_expected(&g, 50), "%s", describe(&g));
	}

	TEST("variable_blocked: a block for each bit set in m, the largest first; 64 hashes a block; k halves with the size")
	for (int round = 0; round < 3000; round++, release())
	{
		blx_geometry g = random_geometry(BLX_VARIABLE_BLOCKED);
		uint64_t	key = random64(),
					first = 0,
				   *words = take(8 * blx_body_words(&g));
		unsigned	number = 0;
		int			top = -1;
		double		sum = 0;
		blx_filter *f = built(&g, 0, &key, 1);

		memset(words, 0, 8 * blx_body_words(&g));
		for (int log2 = 63; log2 >= 0; log2--)
		{
			uint64_t	k;

			if (!(g.part_bits >> log2 & 1))
				continue;
			top = top < 0 ? log2 : top;
			k = ((uint64_t) g.probes << 16 | g.fraction) >> (top - log2);
			set_by_definition(words, key, first, UINT64_C(1) << log2, k, 64 * number);
			first += UINT64_C(1) << log2;
			sum += (double) k / 65536;
			number++;
		}
		CHECK(memcmp(words, blx_cwords(f), 8 * blx_body_words(&g)) == 0, "%s", describe(&g));
		CHECK(blx_test(f, key), "%s lost its key", describe(&g));
		CHECK(blx_bits_per_key(&g) == sum, "%s: k = %g, not %g", describe(&g), blx_bits_per_key(&g), sum);
		CHECK(number == pieces(&g), "%u blocks", number);
	}
}

static void
coins(void)
{
	enum
	{
		KEYS = 400000, BITS = 96
	};

	TEST("the extra probe: of its share of the keys, and as likely at every bit (4 sigma, chi-square)")
	for (double k = 0.2225; k < 3; k += 0.28)
	{
		blx_geometry g = by_bits(BLX_RATIONAL, BITS, k);
		unsigned	count[BITS] = {0};
		double		extra = 0,
					chi = 0,
					share = g.fraction / 65536.0;

		for (int i = 0; i < KEYS; i++)
		{
			uint64_t	words[2] = {0};

			extra += set_by_definition(words, random64(), 0, BITS, (uint64_t) g.probes << 16 | g.fraction, 0) > g.probes;
		}
		CHECK(fabs(extra - KEYS * share) < 4 * sqrt(KEYS * share * (1 - share)), "k = %g: %g extra of %d keys", k, extra, KEYS);
		for (int i = 0; i < KEYS; i++)
		{
			uint64_t	w = blx_derive(random64(), g.probes);

			if ((w & 0xffff) < g.fraction)
				count[blx_scale(w, BITS)]++;
		}
		extra = 0;
		for (int b = 0; b < BITS; b++)
			extra += count[b];
		for (int b = 0; b < BITS; b++)
			chi += (count[b] - extra / BITS) * (count[b] - extra / BITS) / (extra / BITS);
		CHECK(fabs(chi - (BITS - 1)) < 5 * sqrt(2.0 * BITS), "k = %g: chi-square %.1f of %d", k, chi, BITS - 1);
	}
}

static void
planning(void)
{
	blx_geometry g;
	blx_error	error;

	TEST("plan_bits: k in sixteen binary digits, up to 64; variable_blocked: in all blocks together")
	{
		for (double k = 0.26; k <= 64; k += 0.37)
		{
			g = by_bits(BLX_RATIONAL, 10000, k);
			CHECK(fabs(blx_bits_per_key(&g) - k) <= 0.5 / 65536 && g.part_bits == 10000, "k = %g gives %g", k, blx_bits_per_key(&g));
			if (k > 2)
			{
				g = by_bits(BLX_VARIABLE_BLOCKED, 10000, k);
				CHECK(fabs(blx_bits_per_key(&g) - k) <= 8.0 / 65536 && g.part_bits == 10000, "k = %g gives %g", k, blx_bits_per_key(&g));
			}
		}
		g = by_bits(BLX_RATIONAL, 100, 63.999999);
		CHECK(g.probes == 64 && g.fraction == 0, "%u and %u", g.probes, g.fraction);
		for (int64_t bits = 1; bits < 3000; bits++)
		{
			g = by_bits(BLX_VARIABLE_BLOCKED, bits, 64);
			CHECK(blx_bits_per_key(&g) <= 64 && blx_bits_per_key(&g) > 63.99, "%" PRId64 " bits: %.9g", bits, blx_bits_per_key(&g));
		}
		g = by_bits(BLX_RATIONAL, 100, 0.5);
		CHECK(g.probes == 0 && g.fraction == 32768, "%u and %u", g.probes, g.fraction);
		CHECK(!blx_plan_bits(BLX_RATIONAL, 100, 1e-5, NULL, &g, &error) && strstr(error.message, "1/65536"), "%s", error.message);
		CHECK(!blx_plan_bits(BLX_RATIONAL, 100, 0, NULL, &g, &error), "0");
		CHECK(!blx_plan_bits(BLX_VARIABLE_BLOCKED, 64, 0.5, NULL, &g, &error) && strstr(error.message, "at least 1"), "%s", error.message);
		CHECK(!blx_plan_bits(BLX_RATIONAL, 100, 64.5, NULL, &g, &error), "64.5");
		CHECK(!blx_plan_bits(BLX_VARIABLE_BLOCKED, 96, 1.4, NULL, &g, &error) && strstr(error.message, "at least 1.5"), "%s", error.message);
		g = by_bits(BLX_VARIABLE_BLOCKED, 96, 1.5);
		CHECK(g.probes == 1 && g.fraction == 0, "%u and %u", g.probes, g.fraction);
	}

	TEST("plan, rational: the standard filter's, of a whole k")
	for (uint64_t n = 1; n < 100000; n *= 7)
		for (double rate = 0.3; rate > 1e-7; rate /= 11)
		{
			blx_geometry s;

			CHECK(blx_plan(BLX_RATIONAL, n, rate, NULL, &g, &error) && blx_plan(BLX_STANDARD, n, rate, NULL, &s, &error), "%s", error.message);
			CHECK(g.part_bits == s.part_bits && g.probes == s.probes && g.fraction == 0, "%s, not %s", describe(&g), describe(&s));
		}

	TEST("plan, variable_blocked: half full, and the fewest words of all (every size tried)")
	for (uint64_t n = 1; n < 3000; n = n * 3 + 5)
		for (double rate = 0.9; rate > 1e-9; rate /= 7)
		{
			if (!CHECK(blx_plan(BLX_VARIABLE_BLOCKED, n, rate, NULL, &g, &error), "%s", error.message))
				continue;
			CHECK(blx_fpr_expected(&g, n) < rate, "%s for %" PRIu64 " at %g: %g", describe(&g), n, rate, blx_fpr_expected(&g, n));
			for (uint64_t words = 1; words < g.part_bits / 64; words++)
			{
				double		k = (double) (64 * words) / (double) n * log(2);
				blx_geometry h;

				/* the best k for these bits, within the range of k */
				if (blx_plan_bits(BLX_VARIABLE_BLOCKED, (int64_t) (64 * words), fmin(64, k), NULL, &h, &error))
					CHECK(blx_fpr_expected(&h, n) >= rate * 0.9999, "%s for %" PRIu64 " at %g, but %s has %g", describe(&g), n, rate, describe(&h), blx_fpr_expected(&h, n));
			}
		}

	TEST("plan, variable_blocked: the price over a standard filter is a few per cent")
	for (uint64_t n = 1000; n < 100000000; n *= 9)
		for (double rate = 0.1; rate > 1e-7; rate /= 10)
		{
			blx_geometry s;

			CHECK(blx_plan(BLX_VARIABLE_BLOCKED, n, rate, NULL, &g, &error) && blx_plan(BLX_STANDARD, n, rate, NULL, &s, &error), "%s", error.message);
			CHECK(g.part_bits >= s.part_bits && (double) g.part_bits < 1.08 * (double) s.part_bits + 64, "%s, %s", describe(&g), describe(&s));
		}
}

static void
rates(void)
{
	TEST("rational: measured rates are the mixture's, not those of a power")
	{
		static const double ks[] = {0.5, 1.5, 2.25, 3.5, 4.75, 6.5};

		for (size_t i = 0; i < LENGTH(ks); i++)
		{
			blx_geometry g = by_bits(BLX_RATIONAL, 8192, ks[i]);

			measure_rate(&g, 1200, 100, 20000);
		}
	}

	TEST("rational: with two keys per bit, k = 0.5 is better than 1, measured and computed")
	{
		blx_geometry half = by_bits(BLX_RATIONAL, 4096, 0.5),
					one = by_bits(BLX_RATIONAL, 4096, 1);

		measure_rate(&half, 8192, 100, 20000);
		measure_rate(&one, 8192, 100, 20000);
		CHECK(fabs(blx_fpr_expected(&half, 8192) - (1 - 0.5 * exp(-1))) < 1e-4, "1 - e^-1 / 2, not %g", blx_fpr_expected(&half, 8192));
		CHECK(fabs(blx_fpr_expected(&one, 8192) - (1 - exp(-2))) < 1e-4, "1 - e^-2, not %g", blx_fpr_expected(&one, 8192));
	}

	TEST("variable_blocked: measured rates are the product's, at any m and after a prefix")
	{
		static const int64_t sizes[] = {100, 1000, 8192, 8193, 9999, 16383};

		for (size_t i = 0; i < LENGTH(sizes); i++)
		{
			blx_geometry g = by_bits(BLX_VARIABLE_BLOCKED, sizes[i], 5.3),
						h = first_pieces(g, (pieces(&g) + 1) / 2);

			measure_rate(&g, (size_t) sizes[i] / 8, 100, 20000);
			measure_rate(&h, (size_t) sizes[i] / 8, 100, 20000);
		}
	}

	TEST("rational: over k in quarters, the rate is least at a whole k, and above the power of the fill between")
	for (uint64_t n = 1000; n <= 2000; n += 250)
	{
		double		best = 1,
					best_k = 0;

		for (double k = 1; k <= 12; k += 0.25)
		{
			blx_geometry g = by_bits(BLX_RATIONAL, 16384, k);
			double		rate = blx_fpr_expected(&g, n),
						fill = -expm1((double) n * k * log1p(-1.0 / 16384));

			if (rate < best)
			{
				best = rate;
				best_k = k;
			}
			CHECK(rate >= 0.999 * pow(fill, k), "k = %g: %g, the power %g", k, rate, pow(fill, k));
		}
		CHECK(best_k == floor(best_k), "%g for %" PRIu64 " keys", best_k, n);
	}
}

static void
algebra(void)
{
	TEST("variable_blocked: the first blocks hold every key, and are less exact with each block less")
	{
		blx_geometry g = by_bits(BLX_VARIABLE_BLOCKED, 100000, 7);
		uint64_t   *keys = new_hashes(10000);
		blx_filter *f = built(&g, 0, keys, 10000);
		double		rate = 0;

		for (unsigned blocks = pieces(&g); blocks > 0; blocks--)
		{
			blx_filter *p = prefix(f, blocks);
			size_t		lost = 0;

			for (int i = 0; i < 10000; i++)
				lost += !blx_test(p, keys[i]);
			CHECK(lost == 0, "%zu keys lost with %u blocks", lost, blocks);
			CHECK(blx_fpr(p) > rate, "%u blocks: %g, with one more %g", blocks, blx_fpr(p), rate);
			rate = blx_fpr(p);
		}
		release();
	}

	TEST("other k, sizes that do not fold: refused with the field that differs")
	{
		const struct
		{
			const char *word;
			blx_geometry a,
						b;
		}			cases[] = {
			{"fraction", {BLX_RATIONAL, 1, 1, 3, 1000, .fraction = 1}, {BLX_RATIONAL, 1, 1, 3, 1000, .fraction = 2}},
			{"probes", {BLX_RATIONAL, 1, 1, 3, 1000, .fraction = 1}, {BLX_RATIONAL, 1, 1, 4, 1000, .fraction = 1}},
			{"part_bits", {BLX_RATIONAL, 1, 1, 3, 1000}, {BLX_RATIONAL, 1, 1, 3, 3000}},
			{"part_bits", {BLX_VARIABLE_BLOCKED, 1, 1, 3, 96}, {BLX_VARIABLE_BLOCKED, 1, 1, 3, 64}},
			{"fraction", {BLX_VARIABLE_BLOCKED, 1, 1, 3, 96}, {BLX_VARIABLE_BLOCKED, 1, 1, 3, 96, .fraction = 9}},
			{"layout", {BLX_RATIONAL, 1, 1, 3, 96}, {BLX_VARIABLE_BLOCKED, 1, 1, 3, 96}},
		};

		for (size_t i = 0; i < LENGTH(cases); i++, release())
		{
			blx_filter *a = blank(&cases[i].a, &no_identity, 0),
					   *b = blank(&cases[i].b, &no_identity, 0);
			blx_geometry g;
			bool		certain;
			blx_error	error;

			CHECK(!blx_combined_geometry(BLX_UNION, a, b, &g, &error) && strstr(error.message, cases[i].word), "%s", error.message);
			CHECK(!blx_combined_geometry(BLX_INTERSECTION, b, a, &g, &error) && strstr(error.message, cases[i].word), "%s", error.message);
			CHECK(!blx_disjoint(a, b, &certain, &error), "disjoint");
			CHECK(a->layout == BLX_RATIONAL || (!blx_fold_geometry(a, 1, &g, &error) && error.code == BLX_UNSUPPORTED), "fold");
		}
	}
}

int
main(void)
{
	random_seed(4000000000);
	definitions();
	coins();
	planning();
	rates();
	algebra();
	return report();
}
