/*
 * test_hashes.c - the open set: a growing set of hashes that becomes a filter
 * once their number is known.
 */
#include <time.h>

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

		blx_hashes_pour(poured, open_set(random_between(4, 30), &g, &no_identity, hashes, n));
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
		blx_hashes_pour(poured, set);
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

int
main(void)
{
	random_seed(4);
	sets();
	pouring();
	adversaries();
	return report();
}
