/*
 * test_scalable.c - chains that grow: no key is lost, however a chain was made;
 * the rate stays bounded for any number of keys; and bytes that are not a chain
 * are refused.
 */
#include "exercise.h"

static blx_options
options_of(const char *text)
{
	blx_options options;
	blx_error	error;

	CHECK(blx_parse_options(BLX_SCALABLE, text, &options, &error), "%s", error.message);
	return options;
}

static blx_filter *
chain(uint64_t capacity, double fpr, const char *options)
{
	blx_options parsed = options_of(options);
	blx_geometry g;
	blx_error	error;

	if (!CHECK(blx_plan(BLX_SCALABLE, capacity, fpr, &parsed, &g, &error), "%s", error.message))
		exit(1);
	return blank(&g, &no_identity, capacity);
}

static const char *const random_options[] = {
	"", "", "growth=4", "growth = 16, tightening = 0.9", "tightening=0.8", "tightening=0.1", "growth=8, tightening=0.25",
};

static blx_filter *
random_chain(void)
{
	const double rates[] = {0.5, 0.1, 0.01, 1e-3, 1e-6};

	return chain(random_between(1, one_in(3) ? 2000 : 50), rates[random_between(0, 4)],
				 random_options[random_between(0, LENGTH(random_options) - 1)]);
}

static bool
has_all(const blx_filter *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!blx_test(f, hashes[i]))
			return false;
	return true;
}

/* Checks that the body passes the checks for disk and for import, and comes back unchanged. */
static bool
is_sound(const blx_filter *f)
{
	bytes		b = exported(f);
	blx_filter *back;
	blx_error	error;

	if (!CHECK(blx_check(f, blx_size(f), &error), "%s", error.message))
		return false;
	back = imported(b.data, b.length, &error);
	return CHECK(back != NULL, "%s", error.message) && CHECK(identical(back, f), "changed on its way");
}

/* ---- details, by name ---- */

typedef struct wanted
{
	const char *name;
	double		number;
} wanted;

static void
pick(void *arg, const char *name, double number, const char *text)
{
	wanted	   *w = arg;

	(void) text;
	if (strcmp(name, w->name) == 0)
		w->number = number;
}

static double
detail(const blx_filter *f, const char *name)
{
	wanted		w = {name, NAN};

	blx_details(f, pick, &w);
	return w.number;
}

/* ---- the tests ---- */

static void
test_growth(void)
{
	TEST("no key is lost through growth, and batches do what single keys do")
		for (int round = 0; round < 60; round++)
		{
			size_t		n = random_between(0, 20000);
			uint64_t   *hashes = random_hashes(n);
			blx_filter *f = random_chain(),
					   *single;
			blx_identity id = no_identity;

			single = take(blx_size(f));
			blx_copy_as(single, f, &id);
			f = with_keys(f, hashes, n);
			CHECK(has_all(f, hashes, n), "a key is lost");
			is_sound(f);
			for (size_t i = 0; i < n; i++)
				single = with_keys(single, hashes + i, 1);
			CHECK(identical(single, f), "%zu keys", n);
			CHECK(with_keys(f, hashes, n) == f && identical(single, f), "keys that it has changed it");
			release();
		}
	TEST("a stage takes keys until half of its bits are set")
	{
		blx_filter *f = chain(1000, 0.01, "");
		uint64_t   *hashes = new_hashes(100000);
		size_t		n = blx_add(f, hashes, 100000);

		CHECK(n > 1200 && n < 1600, "%zu keys in 32 blocks", n);
		CHECK(blx_bits_set(f) >= blx_bits_in(f) / 2 && blx_bits_set(f) < blx_bits_in(f) / 2 + 8,
			  "%" PRIu64 " of %" PRIu64 " bits", blx_bits_set(f), blx_bits_in(f));
		CHECK(blx_add(f, hashes, n) == n, "keys that it has are taken");
		f = with_keys(f, hashes + n, 100000 - n);
		CHECK(detail(f, "stages") == 7, "%g stages", detail(f, "stages"));
		CHECK(fabs(blx_cardinality(f) / 100000 - 1) < 0.01, "about %g keys", blx_cardinality(f));
	}
	release();
}

static const uint64_t *
fetch_words(void *whole, uint64_t first, unsigned n)
{
	static uint64_t words[BLX_MAX_FETCH];

	CHECK(n <= BLX_MAX_FETCH && blx_header_bytes(((blx_filter *) whole)->name_len) + 8 * (first + n) <= blx_size(whole),
		  "%u words from %" PRIu64, n, first);
	memcpy(words, blx_words(whole) + first, 8 * n);
	return words;
}

static void
test_fetching(void)
{
	TEST("a chain of which only the head is in memory answers alike")
		for (int round = 0; round < 30; round++)
		{
			const blx_identity named = {0, BLX_KEY_NAMED, BLX_MAX_NAME, "a name of 63 bytes, the longest that there is, with its padding"};
			size_t		n = random_between(0, 20000);
			uint64_t   *hashes = random_hashes(n);
			blx_filter *plain = random_chain(),
					   *f = take(blx_size(plain) + BLX_MAX_NAME + 1),
					   *head = take(BLX_HEAD_BYTES);
			blx_error	error;

			blx_copy_as(f, plain, &named);
			f = with_keys(f, hashes, n);
			memcpy(head, f, blx_size(f) < BLX_HEAD_BYTES ? blx_size(f) : BLX_HEAD_BYTES);
			CHECK(blx_check(head, blx_size(f), &error), "%s", error.message);
			CHECK(!blx_check(head, blx_size(f) + 8, &error), "another size");
			for (size_t i = 0; i < 1000; i++)
			{
				uint64_t	hash = i < n ? hashes[i] : random64();

				CHECK(blx_test_fetched(head, hash, fetch_words, f) == blx_test(f, hash), "another answer");
			}
			release();
		}
}

/* The mean exact rate of a few chains. */
static double
mean_rate(uint64_t capacity, double fpr, const char *options, size_t n, int filters, double *sigma)
{
	double		sum = 0,
				squares = 0;

	for (int i = 0; i < filters; i++)
	{
		blx_filter *f = with_keys(chain(capacity, fpr, options), new_hashes(n), n);
		double		rate = blx_fpr(f);

		sum += rate;
		squares += rate * rate;
		CHECK(detail(f, "fpr_bound") <= fpr * (1 + 1e-12), "bound %g", detail(f, "fpr_bound"));
		release();
	}
	*sigma = sqrt(fmax(squares - sum * sum / filters, 0) / (filters - 1) / filters);
	return sum / filters;
}

static void
test_rates(void)
{
	TEST("the rate is what the formula says and below the target, after 1, 10, 100 and 1,000 times the first capacity")
		for (int i = 0; i < 3; i++)
			for (size_t n = 200; n <= 200000; n *= 10)
			{
				const double target[] = {0.1, 0.01, 0.001};
				int			filters = n < 200000 ? 30 : 5;
				double		sigma,
							rate = mean_rate(200, target[i], "", n, filters, &sigma);
				blx_filter *f = chain(200, target[i], "");
				blx_geometry g = blx_geometry_of(f);
				double		expected = blx_fpr_expected(&g, n);

				note("target %g, %zu keys: %.3e, expected %.3e (%+.1f sigma)", target[i], n, rate, expected, (rate - expected) / sigma);
				CHECK(rate < target[i], "%g", rate);
				CHECK(fabs(rate - expected) < 4 * sigma + 0.01 * expected, "%g, not %g", rate, expected);
			}
	TEST("every mix of growth, tightening and first size keeps below the target")
		for (size_t i = 1; i < LENGTH(random_options); i++)
			for (uint64_t capacity = 1; capacity <= 100; capacity *= 10)
			{
				double		sigma,
							rate = mean_rate(capacity, 0.02, random_options[i], 500 * capacity, capacity < 100 ? 40 : 5, &sigma);

				CHECK(rate < 0.02, "%s, capacity %" PRIu64 ": %g", random_options[i], capacity, rate);
			}
	TEST("probes find as many false positives as the bits say")
	{
		const size_t probes = 3000000;
		blx_filter *f = with_keys(chain(500, 0.05, ""), new_hashes(60000), 60000);
		double		rate = blx_fpr(f);
		size_t		yes = 0;

		for (size_t i = 0; i < probes; i++)
			yes += blx_test(f, random64());
		/* stages share hashes, so their errors are not quite independent */
		CHECK(fabs((double) yes / probes - rate) < 3 * sqrt(rate / probes) + 0.005 * rate, "%g, not %g", (double) yes / probes, rate);
		release();
	}
}

static void
test_unions(void)
{
	TEST("unions of any two chains have every key, are sound, and grow on")
		for (int round = 0; round < 150; round++)
		{
			size_t		n = random_between(0, one_in(3) ? 8000 : 300),
						m = random_between(0, one_in(3) ? 8000 : 300),
						common = one_in(2) ? random_between(0, n) : 0;
			uint64_t   *hashes = random_hashes(n + m + 500);
			blx_filter *a = random_chain(),
					   *b = one_in(3) ? random_chain() : NULL,
					   *joint;
			double		rates;

			if (b == NULL)
			{
				b = take(blx_size(a));
				blx_copy_as(b, a, &no_identity);
			}
			a = with_keys(a, hashes, n);
			b = with_keys(b, hashes + n - common, m + common);
			joint = united(a, b);
			rates = blx_fpr(a) + blx_fpr(b);
			CHECK(has_all(joint, hashes, n + m), "a key is lost");
			is_sound(joint);
			CHECK(has_all(united(b, a), hashes, n + m), "a key is lost the other way");
			CHECK(detail(joint, "fpr_bound") <= detail(a, "fpr_bound") + detail(b, "fpr_bound") + 1e-9,
				  "%g > %g + %g", detail(joint, "fpr_bound"), detail(a, "fpr_bound"), detail(b, "fpr_bound"));
			CHECK(blx_fpr(joint) <= rates + detail(joint, "fpr_bound"), "%g of %g", blx_fpr(joint), rates);
			joint = with_keys(joint, hashes + n + m, 500);
			CHECK(has_all(joint, hashes, n + m + 500), "a key is lost afterwards");
			is_sound(joint);
			release();
		}
	TEST("a chain united with itself, or with what it was before, is itself")
	{
		uint64_t   *hashes = new_hashes(5000);
		blx_filter *before = with_keys(chain(50, 0.01, ""), hashes, 3000),
				   *now = take(blx_size(before));

		blx_copy_as(now, before, &no_identity);
		now = with_keys(now, hashes + 3000, 2000);
		CHECK(identical(united(now, now), now), "itself");
		CHECK(identical(united(now, before), now) && identical(united(before, now), now), "its past");
		release();
	}
	TEST("small chains of one plan become one stage while there is room")
	{
		uint64_t   *hashes = new_hashes(1000);
		blx_filter *joint = chain(1000, 0.01, "");

		for (size_t i = 0; i < 100; i++)
			joint = united(joint, with_keys(chain(1000, 0.01, ""), hashes + 10 * i, 10));
		CHECK(detail(joint, "stages") == 1, "%g stages", detail(joint, "stages"));
		CHECK(identical(joint, with_keys(chain(1000, 0.01, ""), hashes, 1000)), "the chain of all keys");
		release();
	}
	TEST("too many stages are refused, with the reason")
	{
		blx_filter *joint = with_keys(chain(1, 0.01, ""), new_hashes(44), 44);
		uint64_t	bytes;
		blx_error	error;
		int			chains = 1;

		for (;; chains++)
		{
			blx_filter *one = with_keys(chain(1, 0.01, ""), new_hashes(40), 40);

			if (!blx_union_bytes(joint, one, 0, &bytes, &error))
				break;
			joint = united(joint, one);
		}
		CHECK(error.code == BLX_LIMIT && strstr(error.message, "stages") != NULL, "%s", error.message);
		CHECK(chains > 150, "%d chains", chains);
		joint = with_keys(joint, new_hashes(20000), 20000);
		is_sound(joint);
		release();
	}
}

static void
test_disjointness(void)
{
	TEST("disjointness is certain only of chains without a common key")
	{
		int			certain = 0,
					empty = 0;

		for (int round = 0; round < 300; round++)
		{
			size_t		n = random_between(1, 60),
						m = random_between(1, 60);
			uint64_t   *hashes = random_hashes(n + m);
			bool		common = one_in(2);
			blx_filter *a = with_keys(chain(random_between(1, 2000), 1e-4, ""), hashes, n),
					   *b = with_keys(chain(random_between(1, 2000), 1e-6, "growth=4"), hashes + n - common, m + common);

			if (one_in(3))
				a = united(a, with_keys(chain(1, 1e-3, ""), hashes, n));
			CHECK(!common || (!certainly_disjoint(a, b) && !certainly_disjoint(b, a)), "they share a key");
			certain += !common && certainly_disjoint(a, b);
			empty += certainly_disjoint(a, chain(random_between(1, 2000), 0.01, ""));
			release();
		}
		note("%d of about 150 disjoint pairs were provably so", certain);
		CHECK(certain > 30, "only %d", certain);
		CHECK(empty == 300, "an empty chain is disjoint from every one");
	}
}

static void
test_refusals(void)
{
	TEST("plans and options outside their range are refused")
	{
		blx_options options = options_of("");
		blx_geometry g;
		blx_error	error;

		CHECK(!blx_parse_options(BLX_SCALABLE, "growth=1", &options, &error), "growth 1");
		CHECK(!blx_parse_options(BLX_SCALABLE, "growth=2.5", &options, &error), "growth 2.5");
		CHECK(!blx_parse_options(BLX_SCALABLE, "tightening=1", &options, &error), "tightening 1");
		CHECK(!blx_parse_options(BLX_SCALABLE, "tightening=nan", &options, &error), "tightening nan");
		options = options_of("growth=3");
		CHECK(!blx_plan(BLX_SCALABLE, 1000, 0.01, &options, &g, &error) && error.code == BLX_INVALID_PARAMETER &&
			  strstr(error.hint, "2, 4, 8 or 16") != NULL, "%s", error.message);
		CHECK(!blx_plan(BLX_SCALABLE, 1000, 1e-30, NULL, &g, &error) && error.code == BLX_LIMIT, "%s", error.message);
		CHECK(!blx_plan(BLX_SCALABLE, INT64_MAX, 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "%s", error.message);
		CHECK(!blx_plan_bits(BLX_SCALABLE, 100, 2, NULL, &g, &error) && error.code == BLX_INVALID_PARAMETER, "%s", error.message);
		CHECK(blx_plan_bits(BLX_SCALABLE, 1025, 2, NULL, &g, &error) && g.blocks == 8 && g.parts == 2, "%s", error.message);
	}
	TEST("what a chain cannot do is refused with the reason")
	{
		blx_filter *a = with_keys(chain(10, 0.01, ""), new_hashes(1000), 1000);
		blx_geometry g = {BLX_PARTITIONED_BLOCKED, 16, 8, 1, 64};
		blx_filter *plain = built(&g, 0, NULL, 0);
		blx_error	error;
		uint64_t	bytes;

		CHECK(!blx_combined_geometry(BLX_INTERSECTION, a, a, &g, &error) && error.code == BLX_UNSUPPORTED && error.detail[0] != '\0', "%s", error.message);
		CHECK(!blx_common_geometry(a, a, &g, &error) && error.code == BLX_UNSUPPORTED && error.detail[0] != '\0', "%s", error.message);
		CHECK(!blx_prefix_geometry(a, 1, &g, &error) && error.code == BLX_UNSUPPORTED && error.detail[0] != '\0', "%s", error.message);
		CHECK(!blx_fold_geometry(a, 1, &g, &error) && error.code == BLX_UNSUPPORTED && error.detail[0] != '\0', "%s", error.message);
		CHECK(!blx_shrink_geometry(a, 0.5, false, NULL, &g, &error) && error.code == BLX_UNSUPPORTED, "%s", error.message);
		CHECK(blx_shrink_scratch(a) == 0, "nothing to fold");
		CHECK(!blx_union_bytes(a, plain, 0, &bytes, &error) && error.code == BLX_MISMATCH, "%s", error.message);
		CHECK(!blx_union_bytes(plain, a, 0, &bytes, &error) && error.code == BLX_MISMATCH, "%s", error.message);
		release();
	}
	TEST("a chain that cannot grow within the limit says so")
	{
		blx_geometry g = {BLX_SCALABLE, 1, 1, 1, 64, .parameters = {16, 32768}};
		blx_filter *f = built(&g, 0, NULL, 0);
		uint64_t   *stages = blx_words(f) + 2;
		blx_error	error;

		stages[1] |= UINT64_C(26) << 48;	/* only the record is read */
		CHECK(blx_grown(f, NULL, &error) == NULL && error.code == BLX_LIMIT, "%s", error.message);
		release();
	}
}

/* Changes one word of the body. */
static bool
accepts(const blx_filter *f, unsigned word, uint64_t value)
{
	bytes		b = exported(f);
	blx_error	error;

	for (int i = 0; i < 8; i++)
		b.data[44 + 8 * word + i] = (uint8_t) (value >> 8 * i);
	return acceptable(b.data, b.length, &error);
}

static void
test_damage(void)
{
	enum
	{
		GROWTH, TIGHTENING, STAGES, RECORD
	};

	TEST("damaged chains are refused")
	{
		blx_filter *f = with_keys(chain(40, 0.01, ""), new_hashes(500), 500);
		const uint64_t *body = blx_cwords(f);
		uint64_t	first = body[RECORD],
					count = body[STAGES];

		CHECK(accepts(f, GROWTH, 2) && accepts(f, GROWTH, 4), "nothing is wrong");
		CHECK(!accepts(f, GROWTH, 0) && !accepts(f, GROWTH, 1) && !accepts(f, GROWTH, 3) && !accepts(f, GROWTH, 32), "growth");
		CHECK(!accepts(f, TIGHTENING, 0) && !accepts(f, TIGHTENING, 65536) && !accepts(f, TIGHTENING, UINT64_MAX), "tightening");
		CHECK(!accepts(f, STAGES, 0) && !accepts(f, STAGES, count - 1) && !accepts(f, STAGES, count + 1) &&
			  !accepts(f, STAGES, 201) && !accepts(f, STAGES, UINT64_MAX), "stages");
		CHECK(!accepts(f, RECORD, first + 1) && !accepts(f, RECORD, first | UINT64_C(0xffffffffffff)), "bits");
		CHECK(!accepts(f, RECORD, first + (UINT64_C(1) << 48)) && !accepts(f, RECORD, first | UINT64_C(255) << 48), "blocks");
		CHECK(!accepts(f, RECORD, first + (UINT64_C(1) << 56)) && !accepts(f, RECORD, first & ~(UINT64_C(255) << 56)) &&
			  !accepts(f, RECORD, first | UINT64_C(255) << 56), "parts");
		CHECK(!accepts(f, RECORD, body[RECORD + 1]), "order");
		release();
	}
	TEST("any change of any byte of a chain is refused, or a chain that every operation is safe on")
		for (int round = 0; round < 3000; round++)
		{
			blx_filter *f = with_keys(random_chain(), new_hashes(200), random_between(0, 200));
			bytes		b = exported(f);
			uint64_t	head = b.length < 120 ? b.length : 120;

			for (uint64_t changes = random_between(1, 3); changes-- > 0;)
				b.data[random_between(0, (one_in(4) ? b.length : head) - 1)] = (uint8_t) random64();
			exercise_bytes(b.data, one_in(10) ? random_between(0, b.length) : b.length);
			release();
		}
	TEST("a stored chain whose bits do not add up is safe to use")
		for (int round = 0; round < 300; round++)
		{
			blx_filter *f = with_keys(random_chain(), new_hashes(200), random_between(0, 200));
			uint64_t	words = (blx_size(f) - blx_header_bytes(0)) / 8,
						size = blx_size(f);
			blx_error	error;

			for (uint64_t changes = random_between(1, 20); changes-- > 0;)
				blx_words(f)[random_between(2, one_in(2) ? words - 1 : 3)] ^= UINT64_C(1) << random_between(0, 63);
			if (blx_check(f, size, &error))
				exercise_filter(f, false);
			release();
		}
}

int
main(void)
{
	test_growth();
	test_fetching();
	test_rates();
	test_unions();
	test_disjointness();
	test_refusals();
	test_damage();
	return report();
}
