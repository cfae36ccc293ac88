/*
 * test_dynamic_blocked.c - blocks that grow: no key is lost, however it was
 * added; the rate agrees with the formula and never exceeds its bound; and no
 * bytes from outside can lead a chain astray.
 */
#include "exercise.h"

/* Words of the body. */
enum
{
	GROWTH, TIGHTENING, FILL, USED, TOTAL, FIRST_BLOCK
};

static blx_geometry
planned(uint64_t capacity, double rate, const char *text)
{
	blx_options options;
	blx_geometry g = {0};
	blx_error	error;

	if (!CHECK(blx_parse_options(BLX_DYNAMIC_BLOCKED, text, &options, &error), "%s", error.message) ||
		!CHECK(blx_plan(BLX_DYNAMIC_BLOCKED, capacity, rate, &options, &g, &error), "%s", error.message))
		exit(1);
	return g;
}

/* A small geometry of any shape. */
static blx_geometry
random_shape(void)
{
	blx_geometry g = {
		.layout = BLX_DYNAMIC_BLOCKED,
		.blocks = (uint32_t) random_between(1, 20),
		.parts = 1,
		.probes = (uint16_t) (one_in(10) ? random_between(1, BLX_MAX_K) : random_between(1, 12)),
		.part_bits = 64 * random_between(1, one_in(5) ? 511 : 10),
		.parameters = {random_between(1, 8), one_in(2) ? 8192 : random_between(1, 65535), one_in(2) ? 32768 : random_between(1, 65535)},
	};

	return g;
}

static blx_filter *
made(const blx_geometry *g, const uint64_t *hashes, size_t n)
{
	return with_keys(blank(g, &no_identity, n), hashes, n);
}

static bool
holds(const blx_filter *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!blx_test(f, hashes[i]))
			return false;
	return true;
}

/* Checks that f passes every check of bytes from outside and comes back unchanged. */
static bool
sound(const blx_filter *f)
{
	bytes		b = exported(f);
	blx_error	error;
	blx_filter *g = imported(b.data, b.length, &error);

	return CHECK(g != NULL, "%s", error.message) && identical(f, g) && blx_check(f, blx_size(f), &error);
}

static void
find_detail(void *arg, const char *name, double number, const char *text)
{
	(void) text;
	if (strcmp(name, ((char **) arg)[0]) == 0)
		*((double **) arg)[1] = number;
}

static double
detail(const blx_filter *f, const char *name)
{
	double		number = NAN;
	const void *arg[2] = {name, &number};

	blx_details(f, find_detail, arg);
	return number;
}

/* The fraction of n absent keys that the filter says yes to. */
static double
measured_rate(const blx_filter *f, uint64_t n)
{
	uint64_t	yes = 0;

	for (uint64_t i = 0; i < n; i++)
		yes += blx_test(f, random64());
	return (double) yes / (double) n;
}

static void
test_keys(void)
{
	TEST("no key is lost: growing, export and import, adding again")
		for (int round = 0; round < 300; round++)
		{
			blx_geometry g = random_shape();
			size_t		n = random_between(0, one_in(10) ? 20000 : 2000);
			uint64_t   *hashes = random_hashes(n);
			blx_filter *f = made(&g, hashes, n),
					   *again;
			blx_error	error;

			CHECK(blx_geometry_check(&g, &error), "%s", error.message);
			CHECK(holds(f, hashes, n), "%s lost a key", describe(&g));
			CHECK(sound(f), "%s", describe(&g));
			again = with_keys(f, hashes, n);
			CHECK(again == f && blx_bits_set(again) == blx_bits_set(f), "%s grew by its own keys", describe(&g));
			release();
		}

	TEST("the spare memory of a filter with many keys is at most a sixteenth")
	{
		blx_geometry g = planned(10000, 0.01, "");
		blx_filter *f = made(&g, new_hashes(40000), 40000);

		CHECK(detail(f, "spare_bytes") < (double) blx_size(f) / 16, "%g", detail(f, "spare_bytes"));
		CHECK(detail(f, "longest_chain") >= 2 && detail(f, "longest_chain") <= 6, "%g", detail(f, "longest_chain"));
		release();
	}

	TEST("the same keys in the same order make the same bytes")
	{
		blx_geometry g = planned(1000, 0.01, "");
		uint64_t   *hashes = new_hashes(3000);

		CHECK(identical(made(&g, hashes, 3000), made(&g, hashes, 3000)), "they differ");
		release();
	}
}

static void
test_rates(void)
{
	static const double rates[] = {0.1, 0.01, 0.001};
	static const char *const shapes[] = {"", "block_bits=4096", "growth=4, tightening=0.5", "growth=1, block_bits=1024", "block_bits=32768"};

	TEST("with more keys than any filter holds, the rate is still a rate")
	{
		blx_geometry g = planned(1, 0.01, "");
		static const uint64_t many[] = {INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_C(14450793957430419971), UINT64_MAX};

		for (size_t i = 0; i < LENGTH(many); i++)
			CHECK(blx_fpr_expected(&g, many[i]) > 0.9 && blx_fpr_expected(&g, many[i]) <= 1, "%" PRIu64 ": %g", many[i], blx_fpr_expected(&g, many[i]));
	}

	TEST("the rate by the bits is the expected one, at a half, once and three times the capacity")
		for (size_t s = 0; s < LENGTH(shapes); s++)
			for (size_t r = 0; r < LENGTH(rates); r++)
				for (int load = 1; load <= 6; load = load < 2 ? 2 : load * 3)
				{
					enum
					{
						N = 8000, FILTERS = 12
					};
					blx_geometry g = planned(N, rates[r], shapes[s]);
					size_t		n = (size_t) load * N / 2;
					double		expected = blx_fpr_expected(&g, n),
								sum = 0,
								squares = 0,
								sigma;

					for (int i = 0; i < FILTERS; i++)
					{
						double		rate = blx_fpr(made(&g, new_hashes(n), n));

						sum += rate;
						squares += rate * rate;
						release();
					}
					sum /= FILTERS;
					sigma = sqrt((squares / FILTERS - sum * sum) / (FILTERS - 1));
					/* a hundredth, because stages are taken to be full at their expected time */
					CHECK(fabs(sum - expected) < 4 * sigma + 1e-2 * expected, "%s %s load %g: %g is not %g, %.1f sigma", describe(&g), shapes[s],
						  load / 2.0, sum, expected, (sum - expected) / sigma);
					CHECK(sum < rates[r], "%s at load %g: %g", describe(&g), load / 2.0, sum);
				}

	TEST("the rate by probes is the rate by the bits")
		for (size_t r = 0; r < LENGTH(rates); r++)
		{
			blx_geometry g = planned(2000, rates[r], "");
			blx_filter *f = made(&g, new_hashes(5000), 5000);
			double		rate = blx_fpr(f),
						n = 2000 / rate;

			CHECK(fabs(measured_rate(f, (uint64_t) n) - rate) < 4 * sqrt(rate / n), "%g", rate);
			release();
		}

	TEST("a tenth of the blocks gets all keys: the bound holds, where plain blocks of the same memory fail")
		for (size_t r = 0; r < LENGTH(rates); r++)
		{
			enum
			{
				N = 20000
			};
			blx_geometry g = planned(N, rates[r], ""),
						plain;
			uint64_t   *hashes = new_hashes(N);
			blx_filter *f,
					   *blocked;
			blx_error	error;
			uint64_t	yes = 0,
						yes_blocked = 0;

			for (size_t i = 0; i < N; i++)
				hashes[i] /= 10;
			f = made(&g, hashes, N);
			CHECK(holds(f, hashes, N) && sound(f), "%s", describe(&g));
			CHECK(blx_plan_bits(BLX_BLOCKED, 8 * (int64_t) blx_size(f), g.probes, NULL, &plain, &error), "%s", error.message);
			blocked = built(&plain, N, hashes, N);
			for (size_t i = 0; i < 200000; i++)
			{
				uint64_t	hash = random64() / 10;

				yes += blx_test(f, hash);
				yes_blocked += blx_test(blocked, hash);
			}
			CHECK((double) yes / 200000 < rates[r], "%g", (double) yes / 200000);
			CHECK((double) yes_blocked / 200000 > 2 * rates[r], "plain blocks: %g", (double) yes_blocked / 200000);
			release();
		}

	TEST("the number of keys is told within a per cent")
		for (size_t n = 1000; n <= 64000; n *= 4)
		{
			blx_geometry g = planned(16000, 0.01, "");
			blx_filter *f = made(&g, new_hashes(n), n);

			CHECK(fabs(blx_cardinality(f) / (double) n - 1) < 0.012, "%g of %zu", blx_cardinality(f), n);
			release();
		}
}

static void
test_plans(void)
{
	static const double rates[] = {0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9};
	static const uint64_t capacities[] = {1, 40, 1000, 1000000};

	TEST("a plan meets its rate for any number of keys")
		for (size_t r = 0; r < LENGTH(rates); r++)
			for (size_t c = 0; c < LENGTH(capacities); c++)
			{
				blx_geometry g = planned(capacities[c], rates[r], "");

				for (uint64_t n = capacities[c]; n < 100 * capacities[c]; n = 5 * n + 1)
					CHECK(blx_fpr_expected(&g, n) < rates[r], "%s with %" PRIu64 " keys: %g", describe(&g), n, blx_fpr_expected(&g, n));
			}

	TEST("plans that cannot be")
	{
		blx_options options;
		blx_geometry g;
		blx_error	error;

		CHECK(blx_parse_options(BLX_DYNAMIC_BLOCKED, "block_bits=500", &options, &error), "%s", error.message);
		CHECK(!blx_plan(BLX_DYNAMIC_BLOCKED, 100, 0.01, &options, &g, &error) && error.code == BLX_INVALID_PARAMETER, "block_bits=500");
		CHECK(!blx_plan_bits(BLX_DYNAMIC_BLOCKED, 10000, 5, &options, &g, &error) && error.code == BLX_INVALID_PARAMETER, "block_bits=500");
		CHECK(!blx_parse_options(BLX_DYNAMIC_BLOCKED, "growth=9", &options, &error), "growth=9");
		CHECK(!blx_parse_options(BLX_DYNAMIC_BLOCKED, "tightening=1", &options, &error), "tightening=1");
		CHECK(!blx_plan(BLX_DYNAMIC_BLOCKED, 1000000000, 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "a billion keys");
		CHECK(!blx_plan(BLX_DYNAMIC_BLOCKED, INT64_MAX, 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "2^63 keys");
		CHECK(!blx_plan(BLX_DYNAMIC_BLOCKED, 1, 1e-100, NULL, &g, &error) && error.code == BLX_LIMIT, "1e-100");
		CHECK(!blx_plan_bits(BLX_DYNAMIC_BLOCKED, 511, 5, NULL, &g, &error) && error.code == BLX_INVALID_PARAMETER, "less than a block");
		CHECK(blx_plan_bits(BLX_DYNAMIC_BLOCKED, 1024, 5, NULL, &g, &error) && g.blocks == 2, "two blocks");
	}
}

static void
test_unions(void)
{
	TEST("a union holds the keys of both, and takes more")
		for (int round = 0; round < 300; round++)
		{
			blx_geometry g = random_shape();
			size_t		na = random_between(0, 2000),
						nb = random_between(0, one_in(2) ? 50 : 2000);
			uint64_t   *ha = new_hashes(na),
					   *hb = new_hashes(nb);
			blx_filter *a = made(&g, ha, na),
					   *b = made(&g, hb, nb),
					   *u = united(a, b);

			CHECK(holds(u, ha, na) && holds(u, hb, nb), "%s lost a key", describe(&g));
			CHECK(sound(u), "%s", describe(&g));
			u = with_keys(u, ha, na);
			ha = new_hashes(1000);
			u = with_keys(u, ha, 1000);
			CHECK(holds(u, ha, 1000) && holds(u, hb, nb) && sound(u), "%s lost a key after the union", describe(&g));
			release();
		}

	TEST("a union's rate is at most twice the bound, whatever the two hold")
		for (int round = 0; round < 30; round++)
		{
			blx_geometry g = planned(1000, 0.01, "");
			size_t		na = random_between(0, 5000),
						nb = random_between(0, 5000);

			CHECK(blx_fpr(united(made(&g, new_hashes(na), na), made(&g, new_hashes(nb), nb))) < 0.02, "%zu and %zu keys", na, nb);
			release();
		}

	TEST("parts of the planned keys unite to a filter of about the size and rate of one that got them all")
	{
		enum
		{
			N = 50000, PARTS = 5
		};
		blx_geometry g = planned(N, 0.01, "");
		uint64_t   *hashes = new_hashes(N);
		blx_filter *all = made(&g, hashes, N),
				   *u = made(&g, hashes, N / PARTS);

		for (size_t i = 1; i < PARTS; i++)
			u = united(u, made(&g, hashes + i * (N / PARTS), N / PARTS));
		CHECK(holds(u, hashes, N) && sound(u), "lost a key");
		CHECK((double) blx_size(u) < 1.1 * (double) blx_size(all), "%" PRIu64 " and %" PRIu64 " bytes", blx_size(u), blx_size(all));
		CHECK(blx_fpr(u) < 1.2 * blx_fpr(all), "%g and %g", blx_fpr(u), blx_fpr(all));
		CHECK(fabs(blx_cardinality(u) / N - 1) < 0.02, "%g keys", blx_cardinality(u));
		release();
	}

	TEST("many full filters: chains do not get longer than their twins allow")
	{
		blx_geometry g = planned(1000, 0.01, "");
		blx_filter *u = blank(&g, &no_identity, 0);
		uint64_t   *hashes = new_hashes(20 * 3000);

		for (size_t i = 0; i < 20; i++)
			u = united(made(&g, hashes + 3000 * i, 3000), u);
		CHECK(holds(u, hashes, 20 * 3000) && sound(u), "lost a key");
		CHECK(detail(u, "longest_chain") <= 5 * 4, "%g blocks", detail(u, "longest_chain"));
		release();
	}

	TEST("filters of other options or seeds do not unite; what has no meaning is refused with the reason")
	{
		blx_geometry g = planned(1000, 0.01, ""),
					h = g;
		blx_identity seeded = {.seed = 1};
		blx_filter *f = made(&g, new_hashes(100), 100);
		uint64_t	bytes;
		bool		certain;
		blx_error	error;

		h.parameters[GROWTH] = 3;
		CHECK(!blx_union_bytes(f, blank(&h, &no_identity, 0), 0, &bytes, &error) && error.code == BLX_MISMATCH, "growth");
		h = g;
		h.blocks++;
		CHECK(!blx_union_bytes(f, blank(&h, &no_identity, 0), 0, &bytes, &error) && error.code == BLX_MISMATCH, "blocks");
		CHECK(!blx_union_bytes(f, blank(&g, &seeded, 0), 0, &bytes, &error) && error.code == BLX_MISMATCH, "seeds");
		CHECK(!blx_combined_geometry(BLX_INTERSECTION, f, f, &h, &error) && error.code == BLX_UNSUPPORTED && error.detail[0], "&");
		CHECK(!blx_disjoint(f, f, &certain, &error) && error.code == BLX_UNSUPPORTED && error.detail[0], "!&&");
		CHECK(!blx_common_geometry(f, f, &h, &error) && error.code == BLX_UNSUPPORTED && error.detail[0], "estimates");
		CHECK(!blx_prefix_geometry(f, 1, &h, &error) && error.code == BLX_UNSUPPORTED && error.detail[0], "prefix");
		CHECK(!blx_fold_geometry(f, 1, &h, &error) && error.code == BLX_UNSUPPORTED && error.detail[0], "fold");
		release();
	}
}

/* Changes word i of the body: the import must refuse the filter, and it must be safe on disk. */
static bool
refused(const blx_filter *f, uint64_t i, uint64_t value)
{
	bytes		b = exported(f);
	uint8_t    *at = b.data + b.length - 8 * ((blx_size(f) - blx_header_bytes(0)) / 8 - i);
	blx_filter *g = take(blx_size(f));
	blx_error	error;
	uint64_t	size;

	for (unsigned j = 0; j < 8; j++)
		at[j] = (uint8_t) (value >> 8 * j);
	memcpy(g, f, blx_size(f));
	blx_words(g)[i] = value;
	if (blx_check(g, blx_size(f), &error))
	{
		uint64_t	hashes[200];

		/* every operation is safe, and a key that is added is found */
		for (size_t j = 0; j < LENGTH(hashes); j++)
			hashes[j] = random64();
		blx_fpr(g), blx_bits_set(g), blx_bits_in(g), blx_cardinality(g), blx_compare(g, f);
		blx_details(g, find_detail, (const void *[]) {"", NULL});
		CHECK(blx_union_bytes(g, g, 0, &size, &error), "%s", error.message);
		united(g, f);
		g = with_keys(g, hashes, LENGTH(hashes));
	}
	return !acceptable(b.data, b.length, &error);
}

static void
test_damage(void)
{
	TEST("links to anywhere but an overflow block of its own, wrong counts and stages, and bits in spare memory are refused")
	{
		blx_geometry g = planned(400, 0.01, "");
		blx_filter *f = grown(made(&g, new_hashes(1000), 1000));
		const uint64_t *words = blx_cwords(f);
		uint64_t	linked = FIRST_BLOCK;
		uint64_t	record;

		while (words[linked] >> 37 == 0)
			linked += 8;
		record = words[linked];
		CHECK(sound(f), "sound");
		for (uint64_t link = 0; link < words[TOTAL] + 10; link++)
			if (link != record >> 37)
				CHECK(refused(f, linked, record % (UINT64_C(1) << 37) | link << 37), "a link to block %" PRIu64, link);
		CHECK(refused(f, linked, record | ~UINT64_C(0) << 37), "the last link");
		CHECK(refused(f, linked, record + 1), "one bit too many");
		CHECK(refused(f, linked, record ^ 1), "a wrong number of bits");
		for (uint64_t stage = 1; stage < 32; stage++)
			CHECK(refused(f, linked, record | stage << 32), "a home block of stage %" PRIu64, stage);
		record >>= 37;
		for (uint64_t stage = 0; stage < 32; stage++)
			if (stage != (words[FIRST_BLOCK + 8 * record] >> 32) % 32)
				CHECK(refused(f, FIRST_BLOCK + 8 * record, words[FIRST_BLOCK + 8 * record] >> 37 << 37 | stage << 32 | (uint32_t) words[FIRST_BLOCK + 8 * record]),
					  "an overflow block of stage %" PRIu64, stage);
		CHECK(refused(f, FIRST_BLOCK + 8 * words[USED], 1), "spare memory");
		CHECK(refused(f, FIRST_BLOCK + 1, words[FIRST_BLOCK + 1] ^ 1), "a bit");
		release();
	}

	TEST("parameters and sizes")
	{
		blx_geometry g = planned(400, 0.01, "");
		blx_filter *f = made(&g, new_hashes(1000), 1000);
		const uint64_t *words = blx_cwords(f);
		static const uint64_t odd[] = {0, 1 << 16, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX};

		for (size_t i = 0; i < LENGTH(odd); i++)
			for (uint64_t word = 0; word < FIRST_BLOCK; word++)
				CHECK(refused(f, word, odd[i]), "word %" PRIu64 " = %" PRIu64, word, odd[i]);
		for (uint64_t used = 0; used <= words[TOTAL]; used++)
			CHECK(used == words[USED] || refused(f, USED, used), "%" PRIu64 " blocks in use", used);
		CHECK(refused(f, TOTAL, words[TOTAL] - 1) && refused(f, TOTAL, words[TOTAL] + 1), "total");
		release();
	}

	TEST("random damage: refused, or every operation is safe")
		for (int round = 0; round < 1000; round++)
		{
			blx_geometry g = random_shape();
			blx_filter *f;
			bytes		b;

			g.part_bits = 64 * random_between(1, 8);
			f = made(&g, new_hashes(200), 200);
			b = exported(f);
			for (uint64_t i = random_between(1, 4); i > 0; i--)
				b.data[one_in(2) ? random64() % b.length : random64() % 100] ^= (uint8_t) (1 << random64() % 8);
			exercise_bytes(b.data, b.length);
			release();
		}
}

int
main(void)
{
	random_seed(9);
	test_keys();
	test_plans();
	test_rates();
	test_unions();
	test_damage();
	return report();
}
