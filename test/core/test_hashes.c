/*
 * test_hashes.c - the open set: a growing set of hashes that becomes a filter
 * once their number is known.
 */
#include <time.h>

#include "core/filter/growth.h"
#include "filters.h"

/* The most slots that a search has to visit. */
static uint64_t
longest_run(const blx_filter *set)
{
	const uint64_t *slots = (const uint64_t *) ((const char *) set + blx_hashes_bytes(0, set->name_len));
	uint64_t	longest = 0,
				run = 0;

	for (uint64_t i = 0; i < blx_hashes_slots(set); i++)
	{
		run = slots[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void
sets(void)
{
	TEST("a set counts every hash once and finds exactly the hashes that were added")
	for (int round = 0; round < 2000; round++, release())
	{
		size_t		n = random_between(0, 500);
		uint64_t   *hashes = random_hashes(n),
				   *strangers = new_hashes(100);
		uint64_t   *twice = take(16 * n);
		blx_filter *once = open_set(random_between(4, 40), NULL, &no_identity, hashes, n),
				   *again;

		memcpy(twice, hashes, 8 * n);
		memcpy(twice + n, hashes, 8 * n);
		again = open_set(random_between(4, 2000), NULL, &no_identity, twice, 2 * n);
		CHECK(blx_hashes_count(once) == n, "%" PRIu64 " of %zu", blx_hashes_count(once), n);
		CHECK(blx_hashes_count(again) == n, "%" PRIu64 " of %zu", blx_hashes_count(again), n);
		CHECK(blx_cardinality(once) == (double) n, "exact");
		for (size_t i = 0; i < n; i++)
			CHECK(blx_test(once, hashes[i]) && blx_test(again, hashes[i]), "a member is missing");
		for (size_t i = 0; i < 100; i++)
			CHECK(!blx_test(once, strangers[i]), "a stranger was found");
	}

	TEST("the hash 0 is a hash like any other, though an empty slot is 0")
	{
		uint64_t	zero[] = {0, 0};
		blx_filter *none = open_set(8, NULL, &no_identity, zero, 0),
				   *one = open_set(8, NULL, &no_identity, zero, 2);
		uint64_t	cursor = 0,
					out[4] = {9};

		CHECK(!blx_test(none, 0) && blx_hashes_count(none) == 0, "not in an empty set");
		CHECK(blx_test(one, 0) && blx_hashes_count(one) == 1, "in this one, once");
		CHECK(blx_hashes_next(one, &cursor, out, 4) == 1 && out[0] == 0, "handed out");
		CHECK(blx_hashes_next(one, &cursor, out, 4) == 0, "and only once");
		release();
	}

	TEST("next hands out every hash exactly once, in batches of any size, in either order")
	for (int round = 0; round < 500; round++, release())
	{
		size_t		n = random_between(0, 200),
					max = random_between(1, 70),
					got,
					total = 0;
		uint64_t   *out = take(8 * (n + 70)),
					cursor = 0;
		blx_filter *set = open_set(8, NULL, &no_identity, random_hashes(n), n),
				   *copy = take(blx_hashes_bytes(2 * n + 8, 0));

		while ((got = blx_hashes_next_for(round % 2 ? BLX_SCALABLE : BLX_STANDARD, set, &cursor, out + total, max)) > 0 && total < n)
			total += got;
		CHECK(total == n, "%zu of %zu", total, n);
		blx_hashes_init(copy, 2 * n + 8, NULL, &no_identity, 0);
		for (size_t i = 0; i < total; i++)
			CHECK(blx_hashes_add(copy, out[i]), "full");
		CHECK(blx_hashes_count(copy) == n, "%" PRIu64 " different ones of %zu", blx_hashes_count(copy), n);
	}

	TEST("a set of any number of slots keeps one free until it says that it is full: a search always ends")
	for (unsigned slots = 1; slots < 40; slots++, release())
	{
		blx_filter *f = take(blx_hashes_bytes(slots, 0));
		uint64_t	added = 0;

		blx_hashes_init(f, slots, NULL, &no_identity, 0);
		while (!blx_hashes_full(f))
		{
			CHECK(blx_hashes_add(f, random64() | 1), "full");
			added++;
		}
		CHECK(added < slots, "%" PRIu64 " of %u slots used", added, slots);
	}

	TEST("a set with room for another's hashes takes them, ascending as they come, without ever becoming a queue")
	for (int round = 0; round < 20; round++, release())
	{
		size_t		n = random_between(20000, 100000),
					more = random_between(1, n),
					shared = random_between(0, more),
					count = 0;
		uint64_t   *hashes = random_hashes(n + more),
					cursor = 0,
					hash;
		uint64_t	slots = random_between(4 * n / 3 + 4, 2 * n);
		blx_filter *set = open_set(slots, NULL, &no_identity, hashes, n),
				   *other = open_set(8, NULL, &no_identity, hashes + n - shared, more);

		CHECK(blx_hashes_union_count(set, other) == n + more - shared, "%" PRIu64, blx_hashes_union_count(set, other));
		CHECK(blx_hashes_union_count(other, set) == n + more - shared, "%" PRIu64, blx_hashes_union_count(other, set));
		set = open_set((n + more - shared) * 4 / 3 + 4, NULL, &no_identity, hashes, n);
		CHECK(blx_hashes_room(set) >= n + more - shared, "%" PRIu64, blx_hashes_room(set));
		while (blx_hashes_next(other, &cursor, &hash, 1) > 0)
		{
			CHECK(blx_hashes_add(set, hash), "full");
			if (++count % (more / 8 + 1) == 0)
				CHECK(longest_run(set) < 2000, "%" PRIu64 " slots in a row after %zu of %zu", longest_run(set), count, more);
		}
		CHECK(blx_hashes_count(set) == n + more - shared, "%" PRIu64, blx_hashes_count(set));
	}

	TEST("a wide set takes the hashes that it was made for without growing, and searches are short")
	for (int round = 0; round < 200; round++, release())
	{
		size_t		n = random_between(0, 5000);
		uint64_t   *hashes = new_hashes(n + 1);
		blx_filter *set = blx_open_wide(&no_identity, n, NULL, NULL);
		uint64_t	slots = blx_hashes_slots(set);

		for (size_t i = 0; i < n; i++)
			CHECK(blx_hashes_add(set, hashes[i]) && blx_hashes_add(set, hashes[i / 2]), "%zu of %zu", i, n);
		CHECK(blx_hashes_count(set) == n && blx_hashes_slots(set) == slots && slots >= 2 * n, "%zu hashes in %" PRIu64 " slots", n, slots);
		CHECK(longest_run(set) < 64, "a search of %" PRIu64, longest_run(set));
		for (size_t i = 0; i < n; i++)
			CHECK(blx_test(set, hashes[i]), "a member is missing");
		blx_free(set, NULL);
	}

	TEST("the key type's name and the planned geometry travel with the set")
	{
		blx_identity id = {77, BLX_KEY_NAMED, 9, "integer[]"};
		blx_geometry plan = {BLX_BLOCKED, 5, 1, 7, 512},
					seen;
		uint64_t	hashes[] = {1, 2, 3};
		blx_filter *f = open_set(4, &plan, &id, hashes, 3);
		char		name[BLX_MAX_NAME + 1];

		id = blx_identity_of(f);
		seen = blx_geometry_of(f);
		CHECK(strcmp(blx_key_type_name(&id, name), "integer[]") == 0 && id.seed == 77, "%s", name);
		CHECK(blx_geometry_equal(&plan, &seen), "%s", describe(&seen));
		release();
	}
}

static void
pouring(void)
{
	TEST("pouring a set makes the filter that adding the keys makes")
	for (int round = 0; round < 2000; round++, release())
	{
		blx_geometry g = random_geometry(static_layouts[random64() % LENGTH(static_layouts)]);
		size_t		n = random_between(0, 700);
		uint64_t   *hashes = random_hashes(n);
		blx_filter *poured = blank(&g, &no_identity, 7);

		blx_add_set(poured, open_set(random_between(4, 30), &g, &no_identity, hashes, n));
		CHECK(identical(poured, built(&g, 7, hashes, n)), "%s with %zu keys", describe(&g), n);
	}
}

/* Hashes that no hash function made: given to bloom_add_hash, or chosen by an attacker. */
static void
adversaries(void)
{
	static const char *const shapes[] = {
		"1, 2, 3 ...", "all at the top", "32-bit hashes", "multiples of 2^52", "two heaps", "one heap in an eighth"
	};

	enum
	{
		N = 3000
	};

	TEST("sets of clustered hashes are slower, but right")
	for (size_t shape = 0; shape < LENGTH(shapes); shape++, release())
	{
		uint64_t   *hashes = take(8 * N);
		blx_geometry g = {BLX_PARTITIONED_BLOCKED, 64, 9, 1, 64};
		blx_filter *set,
				   *poured = blank(&g, &no_identity, 7);

		for (uint64_t i = 0; i < N; i++)
			hashes[i] = shape == 0 ? i + 1 : shape == 1 ? UINT64_MAX - i
				: shape == 2 ? (i * 2654435761u) & 0xFFFFFFFF : shape == 3 ? i << 52
				: shape == 4 ? (i & 1) << 63 | i : (i * UINT64_C(0x9E3779B97F4A7C15)) >> 3;
		set = open_set(8, NULL, &no_identity, hashes, N);
		CHECK(blx_hashes_count(set) == N, "%s: %" PRIu64, shapes[shape], blx_hashes_count(set));
		for (uint64_t i = 0; i < N; i++)
			CHECK(blx_test(set, hashes[i]), "%s: lost", shapes[shape]);
		CHECK(!blx_test(set, UINT64_C(0x1234567812345678)), "%s: a stranger", shapes[shape]);
		blx_add_set(poured, set);
		CHECK(identical(poured, built(&g, 7, hashes, N)), "%s", shapes[shape]);
	}

	TEST("an import that passed the check takes time in proportion to its size, also of hashes crowded into an eighth of the range")
	{
		uint64_t   *hashes = take(8 * 160000);
		double		seconds[2];

		for (int large = 0; large < 2; large++)
		{
			uint64_t	n = large ? 160000 : 10000;
			blx_error	error;
			clock_t		start;
			blx_filter *sorted = take(blx_hashes_bytes(4 * n, 0));
			bytes		wire = {take(blx_export_bytes(open_set(8, NULL, &no_identity, hashes, 0)) + 8 * n), 0};

			/* made by hand: ascending, evenly spread over the lowest seventh of the range */
			blx_hashes_init(sorted, 4 * n, NULL, &no_identity, 0);
			blx_export(sorted, wire.data);
			wire.length = blx_export_bytes(sorted) + 8 * n;
			for (uint64_t i = 0; i <= n; i++)
			{
				uint64_t	value = blx_to_le64(i == 0 ? n : i * (UINT64_MAX / n / 7));

				memcpy(wire.data + 44 + 8 * i, &value, 8);
			}
			start = clock();
			CHECK(imported(wire.data, wire.length, &error) != NULL, "%s", error.message);
			seconds[large] = (double) (clock() - start) / CLOCKS_PER_SEC;
		}
		note("%.4f s for 10000 hashes, %.4f s for 160000", seconds[0], seconds[1]);
		CHECK(seconds[1] < 64 * (seconds[0] + 0.001), "16 times the hashes took %.0f times as long", seconds[1] / seconds[0]);
		release();
	}
}

/* Hashes of one shape, n of them. */
static uint64_t *
chosen(unsigned shape, size_t n)
{
	uint64_t   *hashes = take(8 * n);

	for (size_t i = 0; i < n; i++)
		if (shape == 0)			/* of keys whose hash begins with a zero byte */
			hashes[i] = random64() >> 8;
		else if (shape == 1)	/* dense: each at its own home, and one long row of them */
			hashes[i] = (i + 1) * (UINT64_MAX / 8 / n);
		else					/* of no known key type: by the first home that such hashes have */
			do
				hashes[i] = random64();
			while (blx_derive(hashes[i], 1) >> 58 != 0);
	return hashes;
}

/* The seconds that a set of n such hashes takes to be built, checked, sent, read, united and compared. */
static double
seconds_of(unsigned shape, size_t n)
{
	const blx_identity integers = {0, 1, 0, NULL},
			   *id = shape < 2 ? &integers : &no_identity;
	uint64_t   *hashes = chosen(shape, 2 * n);
	clock_t		start = clock();
	blx_filter *a = open_set(8, NULL, id, hashes, n),
			   *b = open_set(8, NULL, id, hashes + n, n),
			   *back;
	bytes		wire = exported(a);
	blx_error	error;

	CHECK(blx_check(a, blx_size(a), &error) && blx_check(b, blx_size(b), &error), "%s", error.message);
	back = imported(wire.data, wire.length, &error);
	CHECK(back != NULL, "%s", error.message);
	CHECK(blx_compare(a, back) == 0 && blx_compare(a, b) != 0, "compared");
	CHECK(blx_hashes_union_count(a, b) <= 2 * n, "%" PRIu64, blx_hashes_union_count(a, b));
	for (size_t i = 0; i < n; i++)
		CHECK(blx_test(a, hashes[i]), "lost");
	return (double) (clock() - start) / CLOCKS_PER_SEC;
}

static void
time_and_room(void)
{
	static const char *const shapes[] = {"one first byte", "a dense eighth", "one place by the first home"};

	TEST("hashes that were chosen to crowd: everything takes time in proportion to their number")
	for (unsigned shape = 0; shape < LENGTH(shapes); shape++)
	{
		double		few = seconds_of(shape, 4000),
					many;

		release();
		many = seconds_of(shape, 64000);
		note("%s: %.4f s for 4000, %.4f s for 64000", shapes[shape], few, many);
		CHECK(many < 80 * (few + 0.001), "%s: 16 times the hashes took %.0f times as long", shapes[shape], many / few);
		release();
	}

	TEST("and no more than a few times the room")
	for (unsigned shape = 0; shape < LENGTH(shapes); shape++, release())
	{
		const blx_identity integers = {0, 1, 0, NULL};
		blx_filter *set = open_set(8, NULL, shape < 2 ? &integers : &no_identity, chosen(shape, 50000), 50000);

		CHECK(blx_hashes_slots(set) < 16 * 50000, "%s: %" PRIu64 " slots", shapes[shape], blx_hashes_slots(set));
	}

	TEST("a set in memory with a hash in the wrong place is refused, wherever the place is")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		size_t		n = random_between(1, 40);
		blx_filter *f = open_set(random_between(8, 60), NULL, &no_identity, new_hashes(n), n),
				   *spoilt = take(blx_size(f));
		uint64_t	slots = blx_hashes_slots(f),
					from = random_between(0, slots - 1),
					to = random_between(0, slots - 1);
		uint64_t   *words;
		bool		sound = true;
		blx_error	error;

		memcpy(spoilt, f, blx_size(f));
		words = blx_words(spoilt) + 3;
		if (words[to] == 0)
		{
			words[to] = words[from];
			words[from] = 0;
		}
		/* sound exactly when every hash is still found where it is */
		for (uint64_t i = 0; i < slots; i++)
			if (words[i] != 0)
				sound = blx_test(spoilt, words[i]) && sound;
		CHECK(blx_check(spoilt, blx_size(spoilt), &error) == sound, "%" PRIu64 " to %" PRIu64 " of %" PRIu64 " slots: %s", from, to, slots, sound ? "sound" : "not");
	}
}

/* f as a filter that is to be cut, and meets `rate` then. */
static blx_filter *
pending(blx_filter *f, double rate)
{
	f->pending = 1;
	f->capacity = blx_capacity_of_rate(rate);
	return f;
}

static void
rates(void)
{
	TEST("open set: the rate that the result is to meet survives growth and unions, the lower of two; it is no capacity")
	{
		blx_identity id = {.key_type = BLX_KEY_INTEGER};
		uint64_t   *hashes = new_hashes(5000);
		blx_filter *open = blx_open(NULL, &id, blx_capacity_of_rate(0.001), NULL, NULL),
				   *stricter = blx_open(NULL, &id, blx_capacity_of_rate(1e-4), NULL, NULL),
				   *plain = blx_open(NULL, &id, blx_capacity_of_rate(0.01), NULL, NULL),
				   *of_both,
				   *of_three;

		CHECK(plain->capacity == 0 && blx_rate_wanted(plain) == 0.01, "%g", blx_rate_wanted(plain));
		CHECK(blx_grow_add(&open, hashes, 4000, NULL, NULL) && blx_grow_add(&plain, hashes + 4000, 1000, NULL, NULL), "no room");
		CHECK(blx_rate_wanted(open) == 0.001 && blx_capacity_promised(open) == 0, "%g", blx_rate_wanted(open));
		of_both = blx_unite(plain, open, NULL, NULL);
		of_three = blx_unite(of_both, stricter, NULL, NULL);
		CHECK(blx_rate_wanted(of_both) == 0.001 && blx_rate_wanted(of_three) == 1e-4, "%g, %g", blx_rate_wanted(of_both), blx_rate_wanted(of_three));
		CHECK(blx_hashes_count(of_three) == 5000, "%" PRIu64, blx_hashes_count(of_three));
		CHECK(!blx_is_rate(0) && !blx_is_rate(UINT64_C(1) << 40) && !blx_is_rate(INT64_MAX), "a capacity");
		CHECK(blx_is_rate(blx_capacity_of_rate(5e-324)) && blx_is_rate(blx_capacity_of_rate(0.9999)), "a rate");
		blx_free(open, NULL);
		blx_free(stricter, NULL);
		blx_free(plain, NULL);
		blx_free(of_both, NULL);
		blx_free(of_three, NULL);
		release();
	}

	TEST("pending filters of two sizes: united at the coarser one while that is enough for the keys of both, else at the finer")
	for (unsigned n = 300; n <= 3000; n += 300, release())
	{
		blx_geometry coarse = {BLX_PARTITIONED_BLOCKED, 32, 8, 1, 64},
					fine = {BLX_PARTITIONED_BLOCKED, 256, 8, 1, 64};
		uint64_t   *hashes = new_hashes(n);
		blx_filter *a = pending(built(&coarse, 0, hashes, n / 2), 0.01),
				   *b = pending(built(&fine, 0, hashes + n / 2, n - n / 2), 0.01),
				   *both = blx_unite(a, b, NULL, NULL);

		CHECK(both->pending == 1 && both->blocks == (n <= 1500 ? 32 : 256), "%u keys: %u blocks", n, both->blocks);
		if (both->blocks == 32)
			CHECK(memcmp(blx_cwords(both), blx_cwords(built(&coarse, 0, hashes, n)), 8 * 32 * 8) == 0, "%u keys: not the filter of all", n);
		for (unsigned i = 0; i < n; i++)
			CHECK(blx_test(both, hashes[i]), "key %u of %u is lost", i, n);
		blx_free(both, NULL);
	}
}

/* The filter of keys whose number was expected to be `expected`, cut at the end. */
static blx_filter *
cut_filter(const uint64_t *hashes, size_t n, double expected, double rate)
{
	blx_growth	growth = blx_unlimited_growth(NULL);
	blx_filter *open = blx_open(NULL, &no_identity, blx_capacity_of_rate(rate), NULL, NULL),
			   *grown,
			   *result;

	growth.early_bytes = 65536;
	growth.expected = expected;
	grown = blx_add_growing(open, hashes, n, &growth, NULL);
	CHECK(grown->layout == BLX_PARTITIONED_BLOCKED && grown->pending == 1, "%zu keys, %g expected: still a set", n, expected);
	result = blx_finish(grown, rate, NULL, NULL);
	if (grown != open)
		blx_free(grown, NULL);
	blx_free(open, NULL);
	return result;
}

/*
 * A plan meets the rate on average, a filter that is cut with the bits that it has:
 * near the most keys that a plan is good for it may be the plan of a few more.
 */
#define MORE_KEYS 1.005

static void
cuts(void)
{
	const double wanted[] = {0.2, 0.1, 0.03, 0.01, 0.003, 1e-3, 1e-4, 1e-6};

	TEST("a filter that is cut at the end meets its rate, and is at most 5 % larger than the plan, whatever the keys and the rate")
	for (size_t r = 0; r < sizeof wanted / sizeof *wanted; r++)
	{
		double		largest = 0,
					sum = 0;
		int			filters = 0;

		for (double step = 0; step < 1; step += 1.0 / 24, release())
		{
			size_t		n = (size_t) (60000 * exp2(step));
			uint64_t   *hashes = new_hashes(n);
			double		expected = (double) n * (1 + (double) random_between(0, 300) / 100);
			blx_filter *f = cut_filter(hashes, n, expected, wanted[r]);
			blx_geometry g = blx_geometry_of(f),
						planned;
			double		ratio;

			CHECK(blx_plan(BLX_PARTITIONED_BLOCKED, (uint64_t) (MORE_KEYS * (double) n), wanted[r], NULL, &planned, NULL), "no plan");
			ratio = (double) blx_body_words(&g) / (double) blx_body_words(&planned);
			CHECK(blx_fpr(f) <= wanted[r], "%zu keys at %g, %g expected: %g", n, wanted[r], expected, blx_fpr(f));
			CHECK(ratio <= 1.05, "%zu keys at %g, %g expected: %s is %.3f times %s", n, wanted[r], expected, describe(&g), ratio, describe(&planned));
			for (size_t i = 0; i < n; i++)
				CHECK(blx_test(f, hashes[i]), "key %zu of %zu is lost", i, n);
			largest = fmax(largest, ratio);
			sum += ratio;
			filters++;
			blx_free(f, NULL);
		}
		note("at %g: %.4f times the plan on average, at most %.4f", wanted[r], sum / filters, largest);
	}
}

int
main(void)
{
	random_seed(4);
	rates();
	cuts();
	sets();
	pouring();
	adversaries();
	time_and_room();
	return report();
}
