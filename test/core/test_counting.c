/*
 * test_counting.c - counters in place of bits: what they count, what removal
 * restores, and what it cannot restore.
 *
 * The yardstick for counters.h is an array of 64 small numbers.  The yardstick
 * for the filter is the default layout, filled with the keys that are left.
 */
#include "core/layouts/counters.h"
#include "exercise.h"

static blx_geometry
random_counting(void)
{
	return random_geometry(BLX_COUNTING);
}

static size_t
removed_of(blx_filter *f, const uint64_t *keys, size_t n)
{
	size_t		removed = 0;
	blx_error	error;

	CHECK(blx_remove(f, keys, n, &removed, &error), "%s", error.message);
	return removed;
}

static double told;
static const char *wanted;

static void
hear(void *arg, const char *name, double number, const char *text)
{
	(void) arg;
	(void) text;
	if (strcmp(name, wanted) == 0)
		told = number;
}

static double
detail(const blx_filter *f, const char *name)
{
	told = -1;
	wanted = name;
	blx_details(f, hear, NULL);
	return told;
}

static size_t
missing(const blx_filter *f, const uint64_t *keys, size_t n)
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
		count += !blx_test(f, keys[i]);
	return count;
}

static unsigned
count_of(const blx_filter *f, uint64_t key)
{
	unsigned	count = 99;
	blx_error	error;

	CHECK(blx_count(f, key, &count, &error), "%s", error.message);
	return count;
}

/* The plain filter of the same geometry with these keys. */
static blx_filter *
plain_of(const blx_geometry *g, const uint64_t *keys, size_t n)
{
	blx_geometry plain = *g;

	plain.layout = BLX_PARTITIONED_BLOCKED;
	return built(&plain, 7, keys, n);
}

/* True if no counter of f is smaller than the same counter of g. */
static bool
covers(const blx_filter *f, const blx_filter *g)
{
	uint64_t	words = (blx_size(f) - blx_header_bytes(f->name_len)) / 8;
	const uint64_t *a = blx_cwords(f) + 1,
			   *b = blx_cwords(g) + 1;

	for (unsigned first = 0; first < f->parts; first += 8)
	{
		size_t		parts = f->parts - first < 8u ? f->parts - first : 8u;

		for (uint64_t block = 0; block < f->blocks; block++, a += 4 * parts, b += 4 * parts)
			for (size_t j = 0; j < parts; j++)
				for (unsigned c = 0; c < 64; c++)
				{
					unsigned	x = 0,
								y = 0;

					for (unsigned p = 0; p < 4; p++)
					{
						x |= (unsigned) (a[p * parts + j] >> c & 1) << p;
						y |= (unsigned) (b[p * parts + j] >> c & 1) << p;
					}
					if (x < y)
						return false;
				}
	}
	CHECK((uint64_t) (a - blx_cwords(f)) == words, "the counters are %" PRIu64 " words, not %td", words, a - blx_cwords(f));
	return true;
}

/* ---- counters.h compared with small numbers ---- */

typedef struct numbers
{
	unsigned	value[64];
} numbers;

static numbers
numbers_of(const uint64_t *planes, size_t stride)
{
	numbers		n = {{0}};

	for (unsigned c = 0; c < 64; c++)
		for (unsigned p = 0; p < BLX_PLANES; p++)
			n.value[c] |= (unsigned) (planes[p * stride] >> c & 1) << p;
	return n;
}

static void
random_planes(uint64_t *planes, size_t words)
{
	for (size_t i = 0; i < words; i++)
		planes[i] = one_in(2) ? random64() : random64() | random64() | random64();
}

static void
counters(void)
{
	TEST("64 counters: increment, decrement, add and the two masks are those of single numbers that stop at 15")
	for (int round = 0; round < 20000; round++)
	{
		uint64_t	planes[4 * 8],
					others[4 * 8],
					before[4 * 8],
					which = random64() & random64();
		size_t		stride = random_between(1, 8),
					other_stride = random_between(1, 8),
					used = 3 * stride + 1;
		numbers		old,
					other,
					now;

		random_planes(planes, LENGTH(planes));
		random_planes(others, LENGTH(others));
		old = numbers_of(planes, stride);
		other = numbers_of(others, other_stride);
		memcpy(before, planes, sizeof planes);

		for (unsigned c = 0; c < 64; c++)
		{
			CHECK((blx_counters_nonzero(planes, stride) >> c & 1) == (old.value[c] != 0), "%u", old.value[c]);
			CHECK((blx_counters_saturated(planes, stride) >> c & 1) == (old.value[c] == 15), "%u", old.value[c]);
		}

		blx_counters_add(planes, stride, others, other_stride);
		now = numbers_of(planes, stride);
		for (unsigned c = 0; c < 64; c++)
			CHECK(now.value[c] == (old.value[c] + other.value[c] > 15 ? 15 : old.value[c] + other.value[c]),
				  "%u + %u = %u", old.value[c], other.value[c], now.value[c]);

		memcpy(planes, before, sizeof planes);
		blx_counters_increment(planes, stride, which);
		now = numbers_of(planes, stride);
		for (unsigned c = 0; c < 64; c++)
			CHECK(now.value[c] == (old.value[c] == 15 ? 15 : old.value[c] + (which >> c & 1)), "%u + 1 = %u", old.value[c], now.value[c]);

		memcpy(planes, before, sizeof planes);
		which &= blx_counters_nonzero(planes, stride);
		blx_counters_decrement(planes, stride, which);
		now = numbers_of(planes, stride);
		for (unsigned c = 0; c < 64; c++)
			CHECK(now.value[c] == (old.value[c] == 15 ? 15 : old.value[c] - (which >> c & 1)), "%u - 1 = %u", old.value[c], now.value[c]);

		/* the words between and after the planes belong to others */
		for (size_t i = 0; i < LENGTH(planes); i++)
			CHECK(planes[i] == before[i] || (i < used && i % stride == 0), "word %zu of planes %zu apart has changed", i, stride);
	}
}

/* ---- the filter ---- */

static void
as_bits(void)
{
	TEST("without counters: byte for byte the default layout's filter, which answers and estimates alike")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting();
		size_t		n = random_between(0, 400);
		uint64_t   *keys = random_hashes(n),
				   *others = new_hashes(100);
		blx_filter *f = built(&g, 7, keys, n),
				   *plain = plain_of(&g, keys, n);

		CHECK(missing(f, keys, n) == 0, "%s lost a key", describe(&g));
		CHECK(identical(bits_of(f), plain), "%s", describe(&g));
		for (int i = 0; i < 100; i++)
			CHECK(blx_test(f, others[i]) == blx_test(plain, others[i]), "%s", describe(&g));
		CHECK(blx_fpr(f) == blx_fpr(plain) && blx_bits_set(f) == blx_bits_set(plain) && blx_bits_in(f) == blx_bits_in(plain) &&
			  blx_cardinality(f) == blx_cardinality(plain), "%s", describe(&g));
		CHECK(blx_size(f) == 8 + 4 * blx_size(plain) - 3 * sizeof(blx_filter), "%" PRIu64 " bytes", blx_size(f));
	}

	TEST("plan: the default layout's geometry, for every capacity and rate and number of bits")
	for (double size = 1; size < 5e6; size *= 1.7)
		for (double rate = 0.5; rate > 1e-10; rate /= 3.1)
		{
			blx_geometry counting,
						plain;
			blx_error	error;
			uint64_t	n = (uint64_t) size;

			CHECK(blx_plan(BLX_COUNTING, n, rate, NULL, &counting, &error), "%s", error.message);
			CHECK(blx_plan(BLX_PARTITIONED_BLOCKED, n, rate, NULL, &plain, &error), "%s", error.message);
			CHECK(blx_fpr_expected(&counting, n) == blx_fpr_expected(&plain, n), "%s", describe(&counting));
			plain.layout = BLX_COUNTING;
			CHECK(blx_geometry_equal(&counting, &plain), "%s, not %s", describe(&counting), describe(&plain));
			if (blx_plan_bits(BLX_PARTITIONED_BLOCKED, (int64_t) n, 7, NULL, &plain, &error))
			{
				plain.layout = BLX_COUNTING;
				CHECK(blx_plan_bits(BLX_COUNTING, (int64_t) n, 7, NULL, &counting, &error) && blx_geometry_equal(&counting, &plain),
					  "%" PRIu64 " bits", n);
			}
		}

	TEST("plan: within 1 GB with four times the bytes, or an error that says how many keys fit")
	{
		unsigned long long most = 0;
		blx_geometry g;
		blx_error	error;

		CHECK(!blx_plan(BLX_COUNTING, UINT64_C(10000000000), 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "10^10 keys");
		CHECK(sscanf(error.hint, "At this rate at most %llu keys fit", &most) == 1, "%s", error.hint);
		CHECK(blx_plan(BLX_COUNTING, most, 0.01, NULL, &g, &error) && blx_bytes(&g, BLX_MAX_NAME) <= BLX_MAX_BYTES, "%llu", most);
		CHECK(!blx_plan(BLX_COUNTING, most + 1, 0.01, NULL, &g, &error), "%llu and one more", most);
		CHECK(!blx_plan_bits(BLX_COUNTING, INT64_C(1) << 32, 8, NULL, &g, &error) && error.code == BLX_LIMIT, "2^32 counters");
	}
}

/* A multiset of keys, as counts, and a filter that should hold it. */
enum
{
	POOL = 300
};

static void
removal(void)
{
	TEST("a multiset of keys added and removed at random: no key in it is ever missing; unsaturated, the filter is that of the keys left")
	for (int round = 0; round < 400; round++, release())
	{
		blx_geometry g = random_counting();
		uint64_t   *pool = random_hashes(POOL),
					left[POOL] = {0};
		unsigned	count[POOL] = {0};
		size_t		present = 0;
		blx_filter *f = blank(&g, &no_identity, 7);
		/* towards many copies and full cells, or towards few of both */
		unsigned	keys = (unsigned) random_between(1, one_in(2) ? 10 : POOL);
		unsigned	steps = (unsigned) random_between(1, 600);
		unsigned	adds = (unsigned) random_between(1, 3);

		for (unsigned step = 0; step < steps; step++)
		{
			size_t		i = random64() % keys;

			if (random64() % 4 < adds)
			{
				blx_add(f, &pool[i], 1);
				count[i]++;
			}
			else if (count[i] > 0)
			{
				CHECK(removed_of(f, &pool[i], 1) == 1, "%s: a key of the filter was not removed", describe(&g));
				count[i]--;
			}
			CHECK(count[i] == 0 || blx_test(f, pool[i]), "%s: a key with %u copies is missing", describe(&g), count[i]);
		}
		for (size_t i = 0; i < keys; i++)
		{
			CHECK(count[i] == 0 || blx_test(f, pool[i]), "%s: a key with %u copies is missing", describe(&g), count[i]);
			if (count[i] > 0)
				left[present++] = pool[i];
		}
		if (detail(f, "saturated_cells") == 0)
		{
			blx_filter *again = blank(&g, &no_identity, 7);

			for (size_t i = 0; i < keys; i++)
				for (unsigned c = 0; c < count[i]; c++)
					blx_add(again, &pool[i], 1);
			CHECK(identical(f, again), "%s: not the filter of the keys left", describe(&g));
			CHECK(identical(bits_of(f), plain_of(&g, left, present)), "%s: other bits than the keys left have", describe(&g));
		}
		CHECK(detail(f, "refused_removals") == 0, "a removal was refused");
	}

	TEST("all keys in, all keys out: an empty filter")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting();
		size_t		n = random_between(0, 100);
		uint64_t   *keys = random_hashes(n);
		blx_filter *f = built(&g, 7, keys, n);
		double		saturated = detail(f, "saturated_cells");

		CHECK(removed_of(f, keys, n) == n, "%s", describe(&g));
		CHECK(saturated == (double) blx_bits_set(f), "%s: %" PRIu64 " cells are left of %g saturated ones", describe(&g), blx_bits_set(f), saturated);
		if (saturated == 0)
			CHECK(identical(f, blank(&g, &no_identity, 7)), "%s", describe(&g));
	}

	TEST("a key that is not found is not removed: the cells stay, the refusal is counted, and = does not see it")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting();
		size_t		n = random_between(0, 50),
					refused = 0;
		uint64_t   *keys = random_hashes(n),
				   *others = new_hashes(20);
		blx_filter *f = built(&g, 7, keys, n),
				   *before = built(&g, 7, keys, n);

		for (int i = 0; i < 20; i++)
			if (!blx_test(f, others[i]))
			{
				CHECK(removed_of(f, &others[i], 1) == 0, "removed");
				refused++;
			}
		CHECK(blx_compare(f, before) == 0 && blx_value_hash(f, 3) == blx_value_hash(before, 3), "%s has changed", describe(&g));
		CHECK(detail(f, "refused_removals") == (double) refused, "%zu refused, %g counted", refused, detail(f, "refused_removals"));
		CHECK(refused == 0 || !bytes_equal(exported(f), exported(before)), "the count is not exported");
		blx_or_into(before, f);
		CHECK(detail(before, "refused_removals") == (double) refused, "a union has the refusals of both");
	}

	TEST("a saturated cell sticks: sixteen copies of a key in, any number out, and it is still there")
	for (unsigned copies = 1; copies <= 40; copies++, release())
	{
		blx_geometry g = {BLX_COUNTING, 4, 11, 1, 64};
		uint64_t	key = random64();
		blx_filter *f = blank(&g, &no_identity, 0);

		for (unsigned i = 0; i < copies; i++)
			blx_add(f, &key, 1);
		CHECK(detail(f, "saturated_cells") == (copies >= 15 ? 11 : 0), "%u copies: %g", copies, detail(f, "saturated_cells"));
		CHECK(count_of(f, key) == (copies < 15 ? copies : 15), "%u copies: %u", copies, count_of(f, key));
		for (unsigned i = 0; i < 60; i++)
			CHECK(removed_of(f, &key, 1) == (copies >= 15 || i < copies), "%u copies, removal %u", copies, i + 1);
		CHECK(blx_test(f, key) == (copies >= 15), "%u copies", copies);
	}

	TEST("the count of a key is never too low, 0 just where the test says no, and mostly exact")
	{
		int			exact = 0,
					counted = 0;

		for (int round = 0; round < ROUNDS; round++, release())
		{
			blx_geometry g = random_counting();
			size_t		n = random_between(1, 100);
			uint64_t   *keys = random_hashes(n),
					   *others = new_hashes(20);
			unsigned	times[100];
			blx_filter *f = blank(&g, &no_identity, 7);

			for (size_t i = 0; i < n; i++)
			{
				times[i] = (unsigned) random_between(0, 18);
				for (unsigned j = 0; j < times[i]; j++)
					blx_add(f, &keys[i], 1);
			}
			if (one_in(3))
				f = folded(f, (int64_t) random_between(0, (uint64_t) most_folds(f)));
			for (size_t i = 0; i < n; i++, counted++)
			{
				unsigned	least = times[i] < 15 ? times[i] : 15,
							count = count_of(f, keys[i]);

				CHECK(count >= least && count <= 15, "%s: %u for %u", describe(&g), count, times[i]);
				exact += count == least;
			}
			for (int i = 0; i < 20; i++)
				CHECK((count_of(f, others[i]) > 0) == blx_test(f, others[i]), "%s: %u", describe(&g), count_of(f, others[i]));
		}
		CHECK(exact > counted / 4, "%d of %d", exact, counted);
		printf("# %d of %d counts are exact\n", exact, counted);
	}

	TEST("only counting filters have removal and counters; the others say why not")
	{
		uint64_t	key = 1;

		for (size_t i = 0; i < LENGTH(static_layouts); i++, release())
		{
			blx_geometry g = random_geometry(static_layouts[i]);
			blx_filter *f = built(&g, 0, &key, 1);
			size_t		removed;
			unsigned	count;
			blx_error	error;

			CHECK(!blx_remove(f, &key, 1, &removed, &error) && error.code == BLX_UNSUPPORTED && strstr(error.hint, "counting"), "%s", error.message);
			CHECK(!blx_remove(f, NULL, 0, &removed, &error), "no keys");
			CHECK(!blx_count(f, key, &count, &error) && error.code == BLX_UNSUPPORTED && strstr(error.hint, "counting"), "%s", error.message);
			CHECK(!blx_to_bits_geometry(f, &g, &error) && error.code == BLX_UNSUPPORTED, "%s", error.message);
		}
	}
}

static void
algebra(void)
{
	TEST("union at one geometry: the filter of both streams, cell by cell; commutative and associative")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting();
		size_t		n = random_between(0, 300),
					half = n / 2,
					third = half + n / 4;
		uint64_t   *keys = random_hashes(n);
		blx_filter *a,
				   *b,
				   *c,
				   *all;

		/* some keys twice or more */
		for (size_t i = 0; i < n / 3; i++)
			keys[random64() % n] = keys[random64() % n];
		a = built(&g, 7, keys, half);
		b = built(&g, 7, keys + half, third - half);
		c = built(&g, 7, keys + third, n - third);
		all = built(&g, 7, keys, n);
		CHECK(identical(union_of(union_of(a, b), c), all), "%s with %zu keys", describe(&g), n);
		CHECK(identical(union_of(c, union_of(b, a)), all), "%s with %zu keys", describe(&g), n);
		blx_or_into(a, b);
		blx_or_into(a, c);
		CHECK(identical(a, all), "%s with %zu keys, in place", describe(&g), n);
	}

	TEST("prefix and fold: the filter that would have been built smaller, which keys can be removed from")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting(),
					h = g;
		size_t		n = random_between(0, 200);
		uint64_t   *keys = random_hashes(n);
		int			times = (int) random_between(0, (uint64_t) __builtin_ctz(g.blocks));
		blx_filter *f = built(&g, 7, keys, n),
				   *small;

		h.parts = (uint16_t) random_between(1, g.parts);
		h.blocks >>= times;
		small = folded(prefix(f, h.parts), times);
		CHECK(identical(small, built(&h, 7, keys, n)), "%s to %s", describe(&g), describe(&h));
		CHECK(identical(small, prefix(folded(f, times), h.parts)), "%s to %s", describe(&g), describe(&h));
		CHECK(removed_of(small, keys, n / 2) == n / 2, "%s", describe(&h));
		CHECK(missing(small, keys + n / 2, n - n / 2) == 0, "%s lost a key", describe(&h));
	}

	TEST("union of unequal sizes: answers as the plain filters' union does, and loses no key when others are removed")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting(),
					h = random_relative(&g);
		size_t		n = random_between(0, 200),
					n2 = random_between(0, 200);
		uint64_t   *keys = random_hashes(n),
				   *keys2 = random_hashes(n2);
		blx_filter *u = union_of(built(&g, 7, keys, n), built(&h, 7, keys2, n2)),
				   *plain = union_of(plain_of(&g, keys, n), plain_of(&h, keys2, n2)),
				   *left;
		blx_geometry joint = blx_geometry_of(u);

		CHECK(identical(bits_of(u), plain), "%s | %s", describe(&g), describe(&h));
		CHECK(removed_of(u, keys, n / 2) == n / 2 && removed_of(u, keys2, n2 / 2) == n2 / 2, "%s | %s", describe(&g), describe(&h));
		CHECK(missing(u, keys + n / 2, n - n / 2) + missing(u, keys2 + n2 / 2, n2 - n2 / 2) == 0, "%s | %s lost a key", describe(&g), describe(&h));
		left = blank(&joint, &no_identity, 7);
		blx_add(left, keys + n / 2, n - n / 2);
		blx_add(left, keys2 + n2 / 2, n2 - n2 / 2);
		CHECK(covers(u, left), "%s | %s: a counter is smaller than its keys", describe(&g), describe(&h));
	}

	TEST("disjoint: as the plain filters are; shrink: to the same geometry; estimates of two: the same")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting(),
					h = random_relative(&g),
					small,
					plain_small;
		size_t		n = random_between(0, 60),
					n2 = random_between(0, 60);
		uint64_t   *keys = random_hashes(n),
				   *keys2 = random_hashes(n2);
		blx_filter *a = built(&g, 7, keys, n),
				   *b = built(&h, 7, keys2, n2),
				   *plain_a = plain_of(&g, keys, n),
				   *plain_b = plain_of(&h, keys2, n2);
		double		rate = pow(10, -(double) random_between(1, 60) / 10);
		blx_error	error;
		bool		found = blx_shrink_geometry(a, rate, false, take(blx_shrink_scratch(a)), &small, &error);

		CHECK(certainly_disjoint(a, b) == certainly_disjoint(plain_a, plain_b), "%s !&& %s", describe(&g), describe(&h));
		CHECK(found == blx_shrink_geometry(plain_a, rate, false, take(blx_shrink_scratch(plain_a)), &plain_small, &error), "%s to %g", describe(&g), rate);
		plain_small.layout = BLX_COUNTING;
		CHECK(!found || blx_geometry_equal(&small, &plain_small), "%s to %g: %s", describe(&g), rate, describe(&small));

		CHECK(blx_common_geometry(a, b, &small, &error) && blx_common_geometry(plain_a, plain_b, &plain_small, &error), "%s", error.message);
		a = resized(a, &small);
		b = resized(b, &small);
		plain_a = resized(plain_a, &plain_small);
		plain_b = resized(plain_b, &plain_small);
		blx_or_into(a, b);
		blx_or_into(plain_a, plain_b);
		CHECK(blx_cardinality(a) == blx_cardinality(plain_a), "%s | %s: %g", describe(&g), describe(&h), blx_cardinality(a));
	}

	TEST("intersection is refused with the reason, a plain filter beside a counting one with the way out")
	{
		blx_geometry g = {BLX_COUNTING, 4, 8, 1, 64},
					out;
		blx_filter *f = blank(&g, &no_identity, 0);
		blx_error	error;

		CHECK(!blx_combined_geometry(BLX_INTERSECTION, f, f, &out, &error) && error.code == BLX_UNSUPPORTED && strstr(error.detail, "counters"), "%s", error.detail);
		CHECK(!blx_combined_geometry(BLX_UNION, f, bits_of(f), &out, &error) && error.code == BLX_MISMATCH && strstr(error.hint, "counters"), "%s", error.hint);
		CHECK(!blx_combined_geometry(BLX_UNION, bits_of(f), f, &out, &error) && strstr(error.hint, "counters"), "%s", error.hint);
		release();
	}
}

static void
from_outside(void)
{
	TEST("interchange: the same bytes again, and any bytes in the cells are safe")
	for (int round = 0; round < ROUNDS; round++, release())
	{
		blx_geometry g = random_counting();
		size_t		n = random_between(0, 100);
		uint64_t   *keys = random_hashes(n);
		blx_filter *f = built(&g, 7, keys, n),
				   *again;
		bytes		wire;
		blx_error	error;

		removed_of(f, keys, n / 3);
		wire = exported(f);
		again = imported(wire.data, wire.length, &error);
		if (CHECK(again != NULL, "%s", error.message))
			CHECK(identical(f, again), "%s", describe(&g));
		for (uint64_t i = 44; i < wire.length; i++)
			wire.data[i] = (uint8_t) (one_in(4) ? 0xFF : random64() & random64());
		CHECK(exercise_bytes(wire.data, wire.length), "%s was refused", describe(&g));
	}

	TEST("bytes of another length, or a geometry that the layout cannot have, are refused")
	{
		blx_geometry g = {BLX_COUNTING, 4, 11, 1, 64};
		uint64_t	keys[] = {1, 2, 3};
		blx_filter *f = built(&g, 0, keys, 3),
				   *longer = take(blx_size(f) + 8);
		bytes		wire = exported(f);
		blx_error	error;
		static const struct
		{
			unsigned	offset;
			uint8_t		value;
		}			damage[] = {{8, 3}, {8, 8}, {28, 65}, {36, 10}, {36, 12}, {38, 2}, {7, 1}, {40, 1}, {42, 3}};

		for (uint64_t length = 0; length < wire.length; length++)
			CHECK(!acceptable(wire.data, length, &error), "%" PRIu64 " of %" PRIu64 " bytes", length, wire.length);
		for (size_t i = 0; i < LENGTH(damage); i++)
		{
			uint8_t		was = wire.data[damage[i].offset];

			wire.data[damage[i].offset] = damage[i].value;
			CHECK(!acceptable(wire.data, wire.length, &error) && error.code == BLX_CORRUPT, "byte %u = %u", damage[i].offset, damage[i].value);
			wire.data[damage[i].offset] = was;
		}
		CHECK(acceptable(wire.data, wire.length, &error), "%s", error.message);
		memset(longer, 0, blx_size(f) + 8);
		memcpy(longer, f, blx_size(f));
		CHECK(!blx_check(longer, blx_size(f) + 8, &error) && blx_check(f, blx_size(f), &error), "a word more");
		release();
	}

	TEST("damaged headers in memory: an error, or safe")
	for (int round = 0; round < 5000; round++, release())
	{
		blx_geometry g = random_counting();
		blx_filter *f = built(&g, 7, new_hashes(20), 20);
		uint64_t	size = blx_size(f);
		blx_error	error;

		for (unsigned damages = (unsigned) random_between(1, 3); damages > 0; damages--)
			((uint8_t *) f)[random_between(4, sizeof(blx_filter) - 1)] ^= (uint8_t) (1 << random64() % 8);
		if (blx_check(f, size, &error) && f->layout == BLX_COUNTING)
			exercise_filter(f, false);
	}
}

/*
 * What cannot be prevented.  Removing a false positive subtracts 1 from k cells.
 * A key that was alone in one of these cells is lost.  In a block of i keys, a
 * given key is alone in the cell, which is not 0, with probability
 *
 *		s(i) = 1/64 (1 - 1/64)^(i-1) / F(i),	F(i) = 1 - (1 - 1/64)^i
 *
 * So a group of p parts loses i (1 - (1 - s(i))^p) keys.  False positives occur
 * mostly in blocks of many keys: the weight of i is F(i)^p.
 */
static double
keys_lost_by_group(unsigned parts, double load)
{
	double		weight = exp(-load),
				found = 0,
				lost = 0;

	for (unsigned i = 1; i < 20 * load; i++)
	{
		double		fill = 1 - pow(1 - 1.0 / 64, i);

		weight *= load / i;		/* Poisson */
		found += weight * pow(fill, parts);
		lost += weight * pow(fill, parts) * i * (1 - pow(1 - pow(1 - 1.0 / 64, i - 1) / 64 / fill, parts));
	}
	return lost / found;
}

static void
false_positives(void)
{
	static const double rates[] = {0.1, 0.01, 0.003, 0.001};

	enum
	{
		CAPACITY = 20000,
		REMOVALS = 150
	};

	TEST("removing false positives: each makes as many keys absent as the distribution of the counters says")
	for (size_t i = 0; i < LENGTH(rates); i++, release())
	{
		uint64_t   *keys = new_hashes(CAPACITY);
		blx_geometry g;
		blx_filter *f;
		double		load,
					expected = 0,
					mean = 0,
					squares = 0,
					sigma;
		unsigned	removals = 0,
					harmless = 0;
		blx_error	error;

		CHECK(blx_plan(BLX_COUNTING, CAPACITY, rates[i], NULL, &g, &error), "%s", error.message);
		f = built(&g, 0, keys, CAPACITY);
		load = (double) CAPACITY / g.blocks;
		for (unsigned parts = g.parts; parts > 0; parts -= parts < 8 ? parts : 8)
			expected += keys_lost_by_group(parts < 8 ? parts : 8, load);
		while (removals < REMOVALS)
		{
			uint64_t	stranger = random64();
			double		lost;

			if (removed_of(f, &stranger, 1) == 0)
				continue;
			removals++;
			lost = (double) missing(f, keys, CAPACITY);
			harmless += lost == 0;
			mean += lost / REMOVALS;
			squares += lost * lost / REMOVALS;
			blx_add(f, &stranger, 1);	/* repairs it */
		}
		sigma = sqrt((squares - mean * mean) / REMOVALS);
		note("planned for %g: k = %u, %.1f keys a block; a removed false positive loses %.2f keys (%.2f expected), none in %u of %u cases",
			 rates[i], g.parts, load, mean, expected, harmless, removals);
		CHECK(fabs(mean - expected) < 4 * sigma, "%g keys, not %g", mean, expected);
		CHECK(missing(f, keys, CAPACITY) == 0, "adding a false positive after its removal does not repair the filter");
	}
}

int
main(void)
{
	random_seed(11);
	counters();
	as_bits();
	removal();
	algebra();
	from_outside();
	false_positives();
	return report();
}
