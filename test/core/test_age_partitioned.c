/*
 * test_age_partitioned.c - the sliding window: how long keys are found, the
 * search compared with its definition, plans, and damaged rings.  Rates are
 * measured in test_fpr.c, 10^8 events in test_soak.c.
 */
#include "exercise.h"

/* The body's words before the slices (docs/internals/FORMAT.md). */
enum
{
	K, GENERATION, ADDED, IN_GENERATION, YOUNGEST, SLICES
};

static blx_geometry
ring(unsigned k, unsigned l, uint64_t generation, uint64_t part_bits)
{
	return (blx_geometry) {.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = (uint16_t) (k + l), .probes = 1,
		.part_bits = part_bits, .parameters = {k, generation}};
}

static unsigned
generations(const blx_geometry *g)
{
	return g->parts - blx_k(g);
}

static uint64_t
window(const blx_geometry *g)
{
	return generations(g) * g->parameters[1];
}

/* A small geometry of any shape: one slice more than k, spare bits, generations of one key. */
static blx_geometry
random_ring(void)
{
	unsigned	k = (unsigned) random_between(1, one_in(5) ? 64 : 9),
				l = (unsigned) random_between(1, one_in(5) ? 100 : 12);
	uint64_t	generation = random_between(1, one_in(3) ? 40 : 6);

	return ring(k, l, generation, random_between(1, 3 * k * generation));
}

static void
plan_or_exit(uint64_t capacity, double fpr, blx_geometry *g)
{
	blx_error	error;

	if (!CHECK(blx_plan(BLX_AGE_PARTITIONED, capacity, fpr, NULL, g, &error), "%s", error.message))
		exit(1);
}

/* ---- the definition, implemented literally ---- */

static bool
slice_has(const blx_filter *f, unsigned logical, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);
	unsigned	slice = (unsigned) ((words[YOUNGEST] + logical) % f->parts);
	uint64_t	bit = blx_scale(blx_derive(hash, slice), f->part_bits);

	return words[SLICES + slice * ((f->part_bits + 63) / 64) + bit / 64] >> bit % 64 & 1;
}

static bool
found_by_definition(const blx_filter *f, uint64_t hash)
{
	unsigned	run = 0;

	for (unsigned i = 0; i < f->parts; i++)
	{
		run = slice_has(f, i, hash) ? run + 1 : 0;
		if (run == blx_cwords(f)[K])
			return true;
	}
	return false;
}

/* Rings at any position, half of them with bits that no set of keys would produce. */
static blx_filter *
random_filled(const blx_geometry *g)
{
	blx_filter *f = blank(g, &no_identity, 0);
	uint64_t   *words = blx_words(f);

	if (one_in(2))
	{
		uint64_t	n = random_between(0, 3 * window(g));

		blx_add(f, random_hashes(n), n);
		return f;
	}
	words[YOUNGEST] = random_between(0, g->parts - 1u);
	for (uint64_t part = 0; part < g->parts; part++)
		for (uint64_t bit = 0; bit < g->part_bits; bit++)
			if (!one_in(3))
				words[SLICES + part * ((g->part_bits + 63) / 64) + bit / 64] |= UINT64_C(1) << bit % 64;
	return f;
}

static void
search(void)
{
	TEST("the search finds what k adjacent slices have, and nothing else")
	for (int round = 0; round < 2000; round++)
	{
		blx_geometry g = random_ring();
		const blx_filter *f = random_filled(&g);
		const char *what = describe(&g);

		for (int i = 0; i < 60; i++)
		{
			uint64_t	hash = random64();

			CHECK(blx_test(f, hash) == found_by_definition(f, hash), "%s", what);
		}
		release();
	}
}

/* ---- the window ---- */

/* One event after another, some of them with keys that came before.  Sometimes the filter is exported and imported. */
static void
watch_stream(blx_geometry g)
{
	uint64_t	length = random_between(1, 4 * window(&g) + 3 * g.parts * g.parameters[1]);
	uint64_t   *stream = take(8 * length);
	blx_filter *f = blank(&g, &no_identity, 0);
	const char *what = describe(&g);
	blx_error	error;

	if (length > 1000)
		length = 1000;
	for (uint64_t i = 0; i < length; i++)
	{
		stream[i] = i > 0 && one_in(5) ? stream[random_between(0, i - 1)] : random64();
		CHECK(blx_add(f, stream + i, 1) == 1, "%s took nothing", what);
		/* the window and the key itself */
		for (uint64_t age = 0; age <= window(&g) && age <= i; age++)
			CHECK(blx_test(f, stream[i - age]), "%s lost a key of age %" PRIu64, what, age);
		if (one_in(40))
		{
			bytes		b = exported(f);
			blx_filter *copy = imported(b.data, b.length, &error);

			if (!CHECK(copy != NULL && identical(copy, f) && blx_check(copy, blx_size(copy), &error), "%s: %s", describe(&g), error.message))
				return;
			f = copy;
		}
	}
	release();
}

static void
windows(void)
{
	TEST("the last l generations of keys are found, at every moment")
	for (int round = 0; round < 100; round++)
		watch_stream(random_ring());

	TEST("the last `capacity` keys are found, whatever was planned")
	for (int round = 0; round < 50; round++)
	{
		blx_geometry g;
		uint64_t	capacity = random_between(1, 200);

		plan_or_exit(capacity, pow(10, -(double) random_between(1, 5)), &g);
		CHECK(window(&g) >= capacity, "%s has a window of %" PRIu64, describe(&g), window(&g));
		watch_stream(g);
	}

	TEST("after l + k generations nothing is left of a key")
	for (int round = 0; round < 200; round++)
	{
		blx_geometry g = random_ring();
		uint64_t	early = random_between(0, 2 * window(&g)),
					late = g.parts * g.parameters[1] + g.parameters[1];
		uint64_t   *later = random_hashes(late);
		blx_filter *a = built(&g, 0, random_hashes(early), early),
				   *b = built(&g, 0, random_hashes(early), early);

		blx_add(a, later, late);
		blx_add(b, later, late);
		CHECK(identical(a, b), "%s", describe(&g));
		release();
	}

	TEST("a batch is its keys one after another")
	for (int round = 0; round < 300; round++)
	{
		blx_geometry g = random_ring();
		uint64_t	n = random_between(0, 3 * window(&g));
		uint64_t   *hashes = random_hashes(n);
		blx_filter *a = built(&g, 0, hashes, n),
				   *b = blank(&g, &no_identity, 0);

		for (uint64_t i = 0; i < n; i++)
			blx_add(b, hashes + i, 1);
		CHECK(identical(a, b), "%s", describe(&g));
		CHECK(blx_cwords(a)[ADDED] == n, "%" PRIu64, blx_cwords(a)[ADDED]);
		release();
	}
}

/* ---- estimates ---- */

/* The sum over all patterns of matches, weighted by the fills. */
static double
rate_by_enumeration(const blx_filter *f)
{
	double		rate = 0;

	for (uint32_t pattern = 0; pattern < UINT32_C(1) << f->parts; pattern++)
	{
		double		chance = 1;
		unsigned	run = 0;
		bool		found = false;

		for (unsigned i = 0; i < f->parts; i++)
		{
			unsigned	slice = (unsigned) ((blx_cwords(f)[YOUNGEST] + i) % f->parts);
			uint64_t	words = (f->part_bits + 63) / 64,
						set = 0;

			for (uint64_t w = 0; w < words; w++)
				set += (uint64_t) __builtin_popcountll(blx_cwords(f)[SLICES + slice * words + w]);
			chance *= pattern >> i & 1 ? (double) set / (double) f->part_bits : 1 - (double) set / (double) f->part_bits;
			run = pattern >> i & 1 ? run + 1 : 0;
			found |= run == blx_cwords(f)[K];
		}
		rate += found ? chance : 0;
	}
	return rate;
}

static void
estimates(void)
{
	TEST("the rate of a filter as it is, against all patterns of matches")
	for (int round = 0; round < 200; round++)
	{
		blx_geometry g = ring((unsigned) random_between(1, 5), (unsigned) random_between(1, 6), random_between(1, 20), random_between(1, 100));
		const blx_filter *f = random_filled(&g);

		CHECK(fabs(blx_fpr(f) - rate_by_enumeration(f)) < 1e-13, "%s: %g, not %g", describe(&g), blx_fpr(f), rate_by_enumeration(f));
		release();
	}

	TEST("the expected rate is that of the filter of expected fills, and never above the bound")
	for (int round = 0; round < 20; round++)
	{
		blx_geometry g;
		uint64_t	period;

		plan_or_exit(random_between(20, 500), 0.01, &g);
		period = g.parameters[1];
		CHECK(blx_fpr_expected(&g, 0) == 0, "%g", blx_fpr_expected(&g, 0));
		for (uint64_t n = 1; n < 3 * g.parts * period; n++)
		{
			double		rate = blx_fpr_expected(&g, n);

			CHECK(rate <= blx_fpr_planned(&g, 1) * (1 + 1e-12), "%s: %g after %" PRIu64, describe(&g), rate, n);
			CHECK(n < g.parts * period || blx_fpr_expected(&g, n + period) == rate, "%s is not periodic at %" PRIu64, describe(&g), n);
		}
		CHECK(blx_fpr_expected(&g, 10 * g.parts * period) == blx_fpr_planned(&g, 1), "%s reaches its bound before a turn", describe(&g));
	}

	TEST("the mean rate of many filters is the expected one, full or not")
	for (unsigned n = 5; n < 300; n += 59)
	{
		blx_geometry g = ring(4, 7, 20, 116);
		double		sum = 0,
					squares = 0,
					expected = blx_fpr_expected(&g, n),
					sigma;

		for (int i = 0; i < 1000; i++)
		{
			double		rate = blx_fpr(built(&g, 0, new_hashes(n), n));

			sum += rate;
			squares += rate * rate;
			release();
		}
		sigma = sqrt((squares / 1000 - sum * sum / 1e6) / 1000);
		CHECK(fabs(sum / 1000 - expected) < 4 * sigma + 1e-12, "%u keys: %g, not %g", n, sum / 1000, expected);
	}

	TEST("cardinality counts the distinct keys of the window and the present generation")
	for (unsigned k = 2; k <= 12; k += 5)
	{
		blx_geometry g = ring(k, 9, 2000, (uint64_t) (2000 * k / 0.693));
		blx_filter *f = blank(&g, &no_identity, 0);
		uint64_t	there = 0;

		CHECK(blx_cardinality(f) == 0, "%g keys in an empty filter", blx_cardinality(f));
		for (unsigned batch = 0; batch < 60; batch++)
		{
			uint64_t   *hashes = new_hashes(700);

			for (unsigned i = 0; i < 1400; i++)	/* a duplicate within the same generation counts once */
				blx_add(f, hashes + i / 2, 1);
			there = 1400 * (batch + 1);
			if (there > 20000)
				there = 9 * 2000 + blx_cwords(f)[IN_GENERATION];
			CHECK(fabs(blx_cardinality(f) - (double) there / 2) < 0.04 * (double) there / 2,
				  "k = %u: %g of %" PRIu64, k, blx_cardinality(f), there / 2);
		}
		release();
	}
}

/* ---- plans ---- */

/* The words that k + l slices need to meet the rate. */
static uint64_t
words_for(unsigned k, unsigned l, uint64_t capacity, double fpr)
{
	uint64_t	keys = (capacity + l - 1) / l,
				low = 1,
				high = k * keys + 1;	/* the largest slice that there is */
	blx_geometry g = ring(k, l, keys, 0);

	g.part_bits = 64 * high;
	if (blx_fpr_planned(&g, 1) >= fpr)
		return UINT64_MAX;

	while (low < high)
	{
		g.part_bits = 64 * (low + (high - low) / 2);
		if (blx_fpr_planned(&g, 1) < fpr)
			high = g.part_bits / 64;
		else
			low = g.part_bits / 64 + 1;
	}
	return (k + l) * low;
}

static void
plans(void)
{
	blx_geometry g;
	blx_error	error;
	blx_options options = blx_default_options(BLX_AGE_PARTITIONED);

	TEST("a plan meets its rate at the worst moment, with the fewest slices near the least memory")
	for (unsigned round = 0; round < 8; round++)
	{
		uint64_t	capacity = random_between(1, round < 4 ? 60 : 20000),
					least = UINT64_MAX / 2;
		double		fpr = round % 2 ? 0.1 : 0.005;

		plan_or_exit(capacity, fpr, &g);
		CHECK(blx_fpr_planned(&g, capacity) < fpr, "%s: %g", describe(&g), blx_fpr_planned(&g, capacity));
		CHECK(window(&g) >= capacity, "%s", describe(&g));
		for (unsigned k = 1; k <= 19; k++)
			for (unsigned l = 1; l <= 160; l++)
			{
				uint64_t	words = words_for(k, l, capacity, fpr);

				least = words < least ? words : least;
			}
		CHECK((double) g.parts * (double) (g.part_bits / 64) <= 1.08 * (double) least, "%s: %" PRIu64 " words would do", describe(&g), least);
		for (unsigned k = 1; k <= 19; k++)
			for (unsigned l = 1; k + l < g.parts; l++)
				CHECK(words_for(k, l, capacity, fpr) > least + least / 16, "%s: %u + %u slices would do", describe(&g), k, l);
	}

	TEST("the paper's pairs miss their targets by the exact fills")
	{
		blx_geometry paper = ring(10, 25, 1000000, (uint64_t) ceil(10 * 1e6 / 0.69314718056));

		CHECK(fabs(blx_fpr_planned(&paper, 1) - 0.01032) < 5e-6, "%g", blx_fpr_planned(&paper, 1));
		paper = ring(17, 13, 1000000, (uint64_t) ceil(17 * 1e6 / 0.69314718056));
		CHECK(fabs(blx_fpr_planned(&paper, 1) - 1.341e-5) < 5e-9, "%g", blx_fpr_planned(&paper, 1));
	}

	TEST("the option fixes l; no half-full slices take less")
	{
		static const unsigned ls[] = {1, 2, 5, 25, 100, 1024};

		for (size_t i = 0; i < LENGTH(ls); i++)
		{
			options.value[BLX_OPT_GENERATIONS] = ls[i];
			CHECK(blx_plan(BLX_AGE_PARTITIONED, 1000000, 0.01, &options, &g, &error), "%s", error.message);
			CHECK(generations(&g) == ls[i] && blx_fpr_planned(&g, 1) < 0.01, "%s", describe(&g));
			note("l = %u: k = %u, %.2f bits per key", ls[i], blx_k(&g), (double) blx_bits(&g) / 1e6);
			for (unsigned k = 1; k <= 20; k++)
			{
				blx_geometry half_full = ring(k, ls[i], g.parameters[1], (uint64_t) ((double) (k * g.parameters[1]) / 0.69314718056));

				CHECK(blx_fpr_planned(&half_full, 1) >= 0.01 || blx_bits(&g) < 1.07 * (double) blx_bits(&half_full), "%s", describe(&half_full));
			}
		}
		CHECK(blx_parse_options(BLX_AGE_PARTITIONED, "generations = 30", &options, &error) &&
			  options.value[BLX_OPT_GENERATIONS] == 30, "%s", error.message);
		CHECK(!blx_parse_options(BLX_AGE_PARTITIONED, "generations=0", &options, &error), "accepted");
		CHECK(!blx_parse_options(BLX_AGE_PARTITIONED, "generations=1025", &options, &error), "accepted");
		CHECK(!blx_parse_options(BLX_AGE_PARTITIONED, "growth=2", &options, &error), "accepted");
	}

	TEST("what cannot be planned is refused")
	{
		CHECK(!blx_plan(BLX_AGE_PARTITIONED, 100, 1e-300, NULL, &g, &error) && error.code == BLX_LIMIT, "accepted");
		CHECK(!blx_plan(BLX_AGE_PARTITIONED, INT64_MAX, 0.5, NULL, &g, &error) && error.code == BLX_LIMIT, "accepted");
		CHECK(!blx_plan(BLX_AGE_PARTITIONED, 2000000000, 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "accepted");
		CHECK(!blx_plan(BLX_AGE_PARTITIONED, 0, 0.01, NULL, &g, &error) && error.code == BLX_INVALID_PARAMETER, "accepted");
		CHECK(!blx_plan_bits(BLX_AGE_PARTITIONED, 10, 4, NULL, &g, &error) && error.code == BLX_INVALID_PARAMETER, "accepted");
	}

	TEST("so many bits: twice k generations, slices half full")
	{
		CHECK(blx_plan_bits(BLX_AGE_PARTITIONED, 3000, 5, NULL, &g, &error), "%s", error.message);
		CHECK(g.parts == 15 && g.part_bits == 200 && g.parameters[0] == 5 && g.parameters[1] == 27, "%s", describe(&g));
		options.value[BLX_OPT_GENERATIONS] = 25;
		CHECK(blx_plan_bits(BLX_AGE_PARTITIONED, 3000, 5, &options, &g, &error), "%s", error.message);
		CHECK(g.parts == 30 && g.part_bits == 100 && g.parameters[1] == 13, "%s", describe(&g));
	}
}

/* ---- bytes from outside ---- */

static void
put_word(bytes b, unsigned word, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		b.data[44 + 8 * word + i] = (uint8_t) (value >> 8 * i);
}

static void
damage(void)
{
	static const struct
	{
		unsigned	word;
		uint64_t	value;
	}			broken[] = {
		{K, 0}, {K, 9}, {K, 65}, {K, UINT64_MAX}, {GENERATION, 0}, {GENERATION, UINT64_C(1) << 41}, {GENERATION, UINT64_MAX},
		{GENERATION, 2}, {IN_GENERATION, 21}, {IN_GENERATION, UINT64_MAX}, {YOUNGEST, 9}, {YOUNGEST, UINT64_C(1) << 32}, {SLICES + 1, UINT64_MAX}
	};
	blx_geometry g = ring(4, 5, 20, 116);
	blx_error	error;

	TEST("broken state words, geometries and lengths are refused")
	{
		bytes		good = exported(built(&g, 0, random_hashes(57), 57));

		CHECK(acceptable(good.data, good.length, &error), "%s", error.message);
		for (size_t i = 0; i < LENGTH(broken); i++)
		{
			bytes		b = exported(built(&g, 0, random_hashes(57), 57));

			put_word(b, broken[i].word, broken[i].value);
			CHECK(!acceptable(b.data, b.length, &error), "word %u = %" PRIu64, broken[i].word, broken[i].value);
		}
		for (uint64_t length = 0; length < good.length; length++)
			CHECK(!acceptable(good.data, length, &error), "%" PRIu64 " bytes", length);
		release();
	}

	TEST("geometries outside the rules are refused")
	{
		static const blx_geometry bad[] = {
			{.layout = BLX_AGE_PARTITIONED, .blocks = 2, .parts = 9, .probes = 1, .part_bits = 64, .parameters = {4, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 9, .probes = 2, .part_bits = 64, .parameters = {4, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 4, .probes = 1, .part_bits = 64, .parameters = {4, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 1029, .probes = 1, .part_bits = 64, .parameters = {4, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 100, .probes = 1, .part_bits = 64, .parameters = {65, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 9, .probes = 1, .part_bits = 64 * 81 + 1, .parameters = {4, 20}},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 9, .probes = 1, .part_bits = 64, .parameters = {4, 20}, .hashing = 1},
			{.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = 9, .probes = 1, .part_bits = 64, .parameters = {4, 20}, .fraction = 1},
		};

		for (size_t i = 0; i < LENGTH(bad); i++)
			CHECK(!blx_geometry_check(&bad[i], &error), "%s (%zu)", describe(&bad[i]), i);
		g = ring(64, 1024, 1, 64);
		CHECK(blx_geometry_check(&g, &error), "%s", error.message);
	}

	TEST("any byte changed: refused, or safe in every operation")
	for (int round = 0; round < 4000; round++)
	{
		blx_geometry any = random_ring();
		bytes		b = exported(random_filled(&any));

		for (uint64_t changes = random_between(0, 3); changes > 0; changes--)
			b.data[random_between(0, one_in(3) ? b.length - 1 : 44 + 8 * SLICES - 1)] = (uint8_t) random64();
		exercise_bytes(b.data, b.length);
		release();
	}
}

static void
algebra(void)
{
	TEST("two rings are not combined, cut or folded, and each refusal says why")
	for (int operation = 0; operation < BLX_OPERATIONS; operation++)
	{
		blx_error	error;

		CHECK(!blx_check_operation(BLX_AGE_PARTITIONED, (enum blx_operation) operation, &error) && error.code == BLX_UNSUPPORTED &&
			  error.detail[0] != '\0', "operation %d: %s", operation, error.message);
	}
}

int
main(void)
{
	random_seed(20);
	search();
	windows();
	estimates();
	plans();
	damage();
	algebra();
	return report();
}
