/*
 * test_sizing.c - plans: the geometry for a capacity and a rate is the smallest
 * that meets the rate strictly, or a little larger and much faster, and errors
 * say what would work.
 */
#include "filters.h"

/* The sizes from which a plan may choose, smallest first: whole words per part, blocks, doublings. */
static blx_geometry
step_geometry(uint8_t layout, unsigned k, uint64_t step)
{
	switch (layout)
	{
		case BLX_STANDARD:
		case BLX_RATIONAL:
			return (blx_geometry) {layout, 1, 1, (uint16_t) k, 64 * step};
		case BLX_PARTITIONED:
			return (blx_geometry) {layout, 1, (uint16_t) k, 1, 64 * step};
		case BLX_HYBRID:		/* with 2 probes per part, its preset */
			return (blx_geometry) {layout, 1, (uint16_t) (k / 2), 2, 64 * step};
		case BLX_BLOCKED:
			return (blx_geometry) {layout, (uint32_t) step, 1, (uint16_t) k, 512};
		default:
			return (blx_geometry) {layout, UINT32_C(1) << (step - 1), (uint16_t) k, 1, 64};
	}
}

/* The words of the smallest geometry of k probes whose rate with n keys is below the target; UINT64_MAX if it has more than `most`. */
static uint64_t
smallest_of_k(uint8_t layout, unsigned k, uint64_t n, double rate, uint64_t most)
{
	for (uint64_t step = 1;; step++)
	{
		blx_geometry g = step_geometry(layout, k, step);

		if (blx_body_words(&g) > most)
			return UINT64_MAX;
		if (blx_fpr_expected(&g, n) < rate)
			return blx_body_words(&g);
	}
}

/* The same of all k: tries every one. */
static uint64_t
smallest_of_all(uint8_t layout, uint64_t n, double rate, uint64_t most)
{
	uint64_t	words = UINT64_MAX;

	for (unsigned k = layout == BLX_HYBRID ? 2 : 1; k <= BLX_MAX_K; k++)
	{
		uint64_t	of_k = smallest_of_k(layout, k, n, rate, most);

		if (of_k < words)
			words = most = of_k;
	}
	return words;
}

/* The plan meets the rate, and is the smallest or, of the default layout, the one of 8 parts that is at most 15 % larger. */
static void
check_plan(uint8_t layout, uint64_t n, double rate)
{
	blx_geometry plan;
	blx_error	error;
	uint64_t	words,
				smallest;

	if (!CHECK(blx_plan(layout, n, rate, NULL, &plan, &error), "%" PRIu64 " at %g: %s", n, rate, error.message))
		return;
	words = blx_body_words(&plan);
	CHECK(blx_geometry_check(&plan, &error), "%s", error.message);
	CHECK(blx_fpr_expected(&plan, n) < rate, "%s for %" PRIu64 " at %g: %g", describe(&plan), n, rate, blx_fpr_expected(&plan, n));
	if (layout == BLX_VARIABLE_BLOCKED)	/* has a search of its own: test_fractional.c */
		return;
	smallest = smallest_of_all(layout, n, rate, words);
	if (layout == BLX_PARTITIONED_BLOCKED)
	{
		uint64_t	of_8 = smallest_of_k(layout, 8, n, rate, smallest + smallest * 3 / 20);

		if (of_8 != UINT64_MAX)
			CHECK(plan.parts == 8 && words == of_8, "%s for %" PRIu64 " at %g, but 8 parts have %" PRIu64 " words, the smallest %" PRIu64,
				  describe(&plan), n, rate, of_8, smallest);
		else
			CHECK(words == smallest, "%s for %" PRIu64 " at %g, the smallest has %" PRIu64 " words", describe(&plan), n, rate, smallest);
	}
	else
		CHECK(words == smallest, "%s for %" PRIu64 " at %g, the smallest has %" PRIu64 " words", describe(&plan), n, rate, smallest);
}

static void
smallest(void)
{
	static const uint64_t capacities[] = {1, 2, 3, 5, 8, 13, 20, 33, 50, 77, 100, 200, 333};
	static const double rates[] = {0.999, 0.9, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.003, 1e-3, 1e-4, 1e-6, 1e-9};

	for (size_t i = 0; i < LENGTH(static_layouts); i++)
	{
		char		name[150];

		snprintf(name, sizeof name, "plan, %s: strictly below the rate, and the smallest (every k and size tried)",
				 blx_layout_name(static_layouts[i]));
		TEST(name)
		for (size_t c = 0; c < LENGTH(capacities); c++)
			for (size_t r = 0; r < LENGTH(rates); r++)
				check_plan(static_layouts[i], capacities[c], rates[r]);
	}

	TEST("plan, partitioned_blocked: the smallest, or 8 parts within 15 %, for 100 .. 30 million keys too")
	for (double size = 100; size < 3e7; size *= 1.37)
		for (size_t r = 3; r < LENGTH(rates); r++)
			check_plan(BLX_PARTITIONED_BLOCKED, (uint64_t) size, rates[r]);
}

static void
price_of_speed(void)
{
	double		sum = 0;

	TEST("plan, partitioned_blocked: preferring 8 parts makes filters of 10^3 .. 10^8 keys 1.2 % larger on average")
	for (int digits = 3; digits <= 8; digits++)
		for (int rate = 2; rate <= 4; rate++)
		{
			uint64_t	n = (uint64_t) pow(10, digits);
			blx_geometry g;

			blx_plan(BLX_PARTITIONED_BLOCKED, n, pow(10, -rate), NULL, &g, NULL);
			sum += (double) blx_body_words(&g) / (double) smallest_of_all(BLX_PARTITIONED_BLOCKED, n, pow(10, -rate), blx_body_words(&g)) / 18;
		}
	CHECK(fabs(sum - 1.012) < 0.0005, "%.4f", sum);

	TEST("plan, partitioned_blocked: 10,000 keys at 1 % take 8 parts for 7, a million at 0.1 % 8 for 15, a million at 1 % stay at 5")
	{
		static const struct
		{
			uint64_t	keys;
			double		rate;
			unsigned	parts;
		}			plans[] = {{10000, 0.01, 8}, {1000000, 0.001, 8}, {1000000, 0.01, 5}, {10000, 0.0001, 13}};

		for (size_t i = 0; i < LENGTH(plans); i++)
		{
			blx_geometry g;

			blx_plan(BLX_PARTITIONED_BLOCKED, plans[i].keys, plans[i].rate, NULL, &g, NULL);
			CHECK(g.parts == plans[i].parts, "%" PRIu64 " at %g: %s", plans[i].keys, plans[i].rate, describe(&g));
		}
	}
}

static void
bits_per_key(void)
{
	static const struct
	{
		double		rate,
					bits;
	}			table[] = {{1e-1, 5.6}, {1e-2, 11.1}, {1e-3, 16.2}, {1e-4, 21.2}, {1e-6, 31.3}};

	TEST("plan, partitioned_blocked: bits per key, averaged over one doubling of n, are those of docs/internals/design.md")
	for (size_t i = 0; i < LENGTH(table); i++)
	{
		double		sum = 0,
					low = 1e9,
					high = 0;
		int			points = 64;

		for (int p = 0; p < points; p++)
		{
			uint64_t	n = (uint64_t) (100000 * exp2((double) p / points));
			blx_geometry g;
			blx_error	error;
			double		bits;

			blx_plan(BLX_PARTITIONED_BLOCKED, n, table[i].rate, NULL, &g, &error);
			bits = (double) blx_bits(&g) / (double) n;
			sum += bits / points;
			low = fmin(low, bits);
			high = fmax(high, bits);
		}
		note("rate %g: %.2f bits per key (%.2f to %.2f)", table[i].rate, sum, low, high);
		CHECK(fabs(sum - table[i].bits) < 0.1, "%.3f, not %.1f", sum, table[i].bits);
	}
}

static void
limits(void)
{
	TEST("plan: a capacity below 1 or a rate outside 0 .. 1 is refused, and the message names it")
	for (size_t i = 0; i < LENGTH(static_layouts); i++)
	{
		static const struct
		{
			uint64_t	capacity;
			double		rate;
			const char *word;
		}			cases[] = {
			{0, 0.01, "capacity must be at least 1, not 0"},
			{(uint64_t) -1, 0.01, "capacity must be at least 1, not -1"},
			{(uint64_t) INT64_MIN, 0.01, "-9223372036854775808"},
			{100, 0, "must be between 0 and 1, not 0"},
			{100, -0.1, "not -0.1"},
			{100, 1, "not 1"},
			{100, 1.5, "false positive rate must be between 0 and 1, not 1.5"},
			{100, NAN, "NaN"},
			{100, INFINITY, "inf"},
		};

		for (size_t c = 0; c < LENGTH(cases); c++)
		{
			blx_geometry g;
			blx_error	error;

			CHECK(!blx_plan(static_layouts[i], cases[c].capacity, cases[c].rate, NULL, &g, &error) &&
				  error.code == BLX_INVALID_PARAMETER, "%s", cases[c].word);
			CHECK(strstr(error.message, cases[c].word), "\"%s\" is not in \"%s\"", cases[c].word, error.message);
		}
	}

	TEST("plan: beyond 1 GB the hint says how many keys fit; that number works, one more does not")
	for (size_t i = 0; i < LENGTH(static_layouts); i++)
	{
		static const double rates[] = {0.9, 0.5, 0.01, 1e-4, 1e-9};
		static const uint64_t capacities[] = {UINT64_C(100000000000)};

		for (size_t r = 0; r < LENGTH(rates); r++)
			for (size_t c = 0; c < LENGTH(capacities); c++)
			{
				unsigned long long most = 0;
				blx_geometry g;
				blx_error	error;

				CHECK(!blx_plan(static_layouts[i], capacities[c], rates[r], NULL, &g, &error) && error.code == BLX_LIMIT,
					  "%s at %g", blx_layout_name(static_layouts[i]), rates[r]);
				if (static_layouts[i] == BLX_VARIABLE_BLOCKED)	/* plans itself */
					continue;
				if (!CHECK(sscanf(error.hint, "At this rate at most %llu keys fit", &most) == 1, "%s", error.hint))
					continue;
				CHECK(blx_plan(static_layouts[i], most, rates[r], NULL, &g, &error), "%s for %llu at %g: %s",
					  blx_layout_name(static_layouts[i]), most, rates[r], error.message);
				CHECK(blx_bytes(&g, BLX_MAX_NAME) <= BLX_MAX_BYTES, "%s", describe(&g));
				CHECK(!blx_plan(static_layouts[i], most + 1, rates[r], NULL, &g, &error), "%s for %llu at %g, one more than the hint, is %s",
					  blx_layout_name(static_layouts[i]), most + 1, rates[r], describe(&g));
			}
	}

	TEST("plan: a rate that no k reaches is refused with a reason")
	{
		blx_geometry g;
		blx_error	error;

		CHECK(!blx_plan(BLX_PARTITIONED_BLOCKED, 1000, 1e-300, NULL, &g, &error) && error.code == BLX_LIMIT, "1e-300");
		CHECK(strstr(error.message, "64 probes"), "%s", error.hint);
		CHECK(!blx_plan(BLX_STANDARD, 1, 5e-324, NULL, &g, &error) || blx_fpr_expected(&g, 1) < 5e-324, "the smallest double");
	}
}

static void
from_bits(void)
{
	TEST("plan_bits: the largest geometry of at most that many bits")
	for (int64_t bits = 1; bits < 20000; bits += bits < 300 ? 1 : 97)
		for (unsigned k = 1; k <= BLX_MAX_K; k += k < 20 ? 1 : 11)
			for (size_t i = 0; i < LENGTH(static_layouts); i++)
			{
				uint8_t		layout = static_layouts[i];
				blx_geometry g = {0};
				blx_error	error;
				int64_t		least = layout == BLX_STANDARD || layout == BLX_RATIONAL ? 1 :
					layout == BLX_VARIABLE_BLOCKED ? (k > 1 || (bits & (bits - 1)) == 0 ? 1 : INT64_MAX) : layout == BLX_PARTITIONED ? k : layout == BLX_HYBRID ? k / 2 : layout == BLX_BLOCKED ? 512 : 64 * k;
				bool		ok = blx_plan_bits(layout, bits, k, NULL, &g, &error);

				if (!CHECK(ok == (bits >= least && (layout != BLX_HYBRID || k % 2 == 0)), "%" PRId64 " bits, k = %u, %s", bits, k, blx_layout_name(layout)) || !ok)
					continue;
				CHECK(fabs(blx_bits_per_key(&g) - k) <= (layout == BLX_VARIABLE_BLOCKED ? 1e-3 : 0), "%s", describe(&g));
				CHECK((int64_t) blx_bits(&g) <= bits, "%s for %" PRId64, describe(&g), bits);
				switch (layout)
				{
					case BLX_STANDARD:
					case BLX_RATIONAL:
					case BLX_VARIABLE_BLOCKED:
						CHECK((int64_t) blx_bits(&g) == bits, "%s", describe(&g));
						break;
					case BLX_HYBRID:
					case BLX_PARTITIONED:
						CHECK((int64_t) blx_bits(&g) > bits - k, "%s", describe(&g));
						break;
					case BLX_BLOCKED:
						CHECK((int64_t) blx_bits(&g) > bits - 512, "%s", describe(&g));
						break;
					default:
						CHECK((int64_t) blx_bits(&g) * 2 > bits, "%s", describe(&g));
				}
			}

	TEST("plan_bits: bits below 1 or above 1 GB, k that is not a whole number from 1 to 64")
	for (size_t i = 0; i < LENGTH(static_layouts); i++)
	{
		static const struct
		{
			int64_t		bits;
			double		k;
			const char *word;
		}			cases[] = {
			{0, 7, "bits must be at least 1, not 0"}, {-5, 7, "not -5"}, {INT64_MIN, 7, "-9223372036854775808"},
			{INT64_MAX, 7, "1 GB"}, {INT64_C(1) << 33, 7, "1 GB"},
			{100000, 0, "k must be"}, {100000, 65, "k must be"}, {100000, -1, "k must be"}, {100000, 6.5, "not 6.5"},
			{100000, NAN, "k must be"}, {100000, INFINITY, "k must be"}, {100000, 1e300, "k must be"},
		};

		for (size_t c = 0; c < LENGTH(cases); c++)
		{
			blx_geometry g;
			blx_error	error;

			if (static_layouts[i] >= BLX_RATIONAL && cases[c].k == 6.5)
				continue;
			CHECK(!blx_plan_bits(static_layouts[i], cases[c].bits, cases[c].k, NULL, &g, &error), "%s", cases[c].word);
			CHECK(strstr(error.message, cases[c].word), "\"%s\" is not in \"%s\"", cases[c].word, error.message);
		}
	}

	TEST("plan_bits: up to the limit, a geometry or an error, never a filter beyond 1 GB")
	for (int64_t bits = (INT64_C(1) << 33) - 20000; bits <= INT64_C(1) << 33; bits += 7)
		for (size_t i = 0; i < LENGTH(static_layouts); i++)
			for (unsigned k = 1; k <= 64; k += 9)
			{
				blx_geometry g;
				blx_error	error;

				if (blx_plan_bits(static_layouts[i], bits, k, NULL, &g, &error))
					CHECK(blx_bytes(&g, BLX_MAX_NAME) <= BLX_MAX_BYTES, "%s is %" PRIu64 " bytes", describe(&g), blx_bytes(&g, BLX_MAX_NAME));
				else
					CHECK(error.code == BLX_LIMIT || (static_layouts[i] == BLX_HYBRID && k % 2 != 0) || (static_layouts[i] == BLX_VARIABLE_BLOCKED && k == 1), "%s", error.message);
			}
}

static void
from_bytes(void)
{
	TEST("plan_bytes: within the bytes with any name, and the most keys of every k at that size")
	for (uint64_t bytes = 0; bytes < UINT64_C(200000000); bytes = bytes < 1200 ? bytes + 1 : bytes * 3)
	{
		blx_geometry g;
		blx_error	error;
		uint64_t	header = blx_header_bytes(BLX_MAX_NAME);
		bool		ok = blx_plan_bytes(bytes, 0.01, &g, &error);

		if (!ok)
		{
			CHECK(error.code == BLX_LIMIT && bytes < header + 100, "%" PRIu64 " bytes: %s", bytes, error.message);
			continue;
		}
		if (!CHECK(blx_bytes(&g, BLX_MAX_NAME) <= bytes, "%s for %" PRIu64 " bytes", describe(&g), bytes))
			continue;
		for (unsigned k = 1; k <= 20; k++)
		{
			blx_geometry h = {BLX_PARTITIONED_BLOCKED, 1, (uint16_t) k, 1, 64};

			if (blx_bytes(&h, BLX_MAX_NAME) > bytes)
				continue;
			while (h.blocks *= 2, blx_bytes(&h, BLX_MAX_NAME) <= bytes)
				;
			h.blocks /= 2;
			CHECK(blx_capacity(&g, 0.01) >= blx_capacity(&h, 0.01), "%" PRIu64 " bytes: %s, but %s holds more",
				  bytes, describe(&g), describe(&h));
		}
	}

	TEST("plan_within: the plan where it fits, else the lowest rate that fits; nothing above a half")
	for (int round = 0; round < 400; round++)
	{
		const uint8_t layouts[] = {BLX_STANDARD, BLX_PARTITIONED_BLOCKED};
		uint8_t		layout = layouts[round % 2];
		uint64_t	bytes = random_between(200, 8200);
		uint64_t	keys = random_between(1, bytes * 4);
		blx_geometry g,
					planned;
		blx_error	error;
		bool		ok = blx_plan_within(layout, bytes, keys, 0.01, &g);

		blx_plan(layout, keys, 0.01, NULL, &planned, &error);
		if (blx_bytes(&planned, BLX_MAX_NAME) <= bytes)
			CHECK(ok && blx_bytes(&g, 0) == blx_bytes(&planned, 0) && blx_fpr_expected(&g, keys) < 0.01,
				  "%s of %" PRIu64 " keys, planned %s", describe(&g), keys, describe(&planned));
		else
			for (unsigned k = 1; k <= 12; k++)
			{
				int64_t		bits = (int64_t) (bytes - blx_header_bytes(BLX_MAX_NAME)) / 8 * 64;

				if (!blx_plan_bits(layout, bits, k, NULL, &planned, &error))
					continue;
				CHECK((!ok && blx_fpr_expected(&planned, keys) >= 0.5) ||
					  (ok && blx_bytes(&g, BLX_MAX_NAME) <= bytes && blx_fpr_expected(&g, keys) <= blx_fpr_expected(&planned, keys)),
					  "%" PRIu64 " keys in %" PRIu64 " bytes: %s", keys, bytes, describe(&planned));
			}
	}

	TEST("capacity: that many keys meet the rate, one more does not")
	for (int round = 0; round < 2000; round++)
	{
		blx_geometry g = random_geometry(static_layouts[random64() % LENGTH(static_layouts)]);
		double		rate = pow(10, -(double) random_between(1, 80) / 10);
		uint64_t	n = blx_capacity(&g, rate);

		CHECK(n == 0 || blx_fpr_expected(&g, n) < rate, "%s at %g: %" PRIu64, describe(&g), rate, n);
		CHECK(blx_fpr_expected(&g, n + 1) >= rate, "%s at %g: %" PRIu64 " and more", describe(&g), rate, n);
	}
}

int
main(void)
{
	random_seed(3);
	smallest();
	price_of_speed();
	bits_per_key();
	limits();
	from_bits();
	from_bytes();
	return report();
}
