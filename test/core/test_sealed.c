/*
 * Sealed filters and maps (layouts/sealed): made of a set at once, the same bytes
 * whatever its order, exact numbers, prefixes that equal smaller filters, and tests
 * that stay within any body.
 */
#include "core/filter/growth.h"
#include "core/layouts/sealed/fuse_sizes.h"
#include "exercise.h"

static const blx_identity texts = {7, BLX_KEY_TEXT, 0, NULL};
static const blx_identity ready_made = {0, BLX_KEY_HASH, 0, NULL};

static blx_geometry
plan_of_bits(unsigned bits)
{
	blx_options options = blx_default_options(BLX_BINARY_FUSE);
	blx_geometry g;
	blx_error	error;

	options.value[BLX_OPT_FINGERPRINT_BITS] = bits;
	if (!CHECK(blx_plan(BLX_BINARY_FUSE, 1, 0.01, &options, &g, &error), "%s", error.message))
		exit(1);
	return g;
}

static void
shuffle(uint64_t *hashes, size_t n)
{
	for (size_t i = n; i > 1; i--)
	{
		size_t		j = random64() % i;
		uint64_t	other = hashes[j];

		hashes[j] = hashes[i - 1];
		hashes[i - 1] = other;
	}
}

static void
check_filter(const blx_filter *f, const uint64_t *hashes, size_t n, unsigned bits)
{
	blx_error	error;
	size_t		missing = 0;

	for (size_t i = 0; i < n; i++)
		missing += !blx_test(f, hashes[i]);
	CHECK(missing == 0, "%zu of %zu keys are missing", missing, n);
	CHECK(blx_cardinality(f) == (double) n && f->capacity == n, "%g keys of %zu, capacity %" PRIu64, blx_cardinality(f), n, f->capacity);
	CHECK(blx_fpr(f) == (n == 0 ? 0 : ldexp(1, -(int) bits)), "rate %g of %u bits", blx_fpr(f), bits);
	CHECK(blx_check(f, blx_size(f), &error), "%s", error.message);
	CHECK(identical(imported(exported(f).data, exported(f).length, &error), f), "comes back as another");
	CHECK(n > 0 || !blx_test(f, 5), "an empty filter says yes");
}

static void
sizes(void)
{
	TEST("filters of any number of keys have all of them, and know how many")
	for (unsigned n = 0; n < 400; n += n < 40 ? 1 : 37, release())
		for (unsigned bits = 1; bits <= 32; bits += 1 + bits % 4)
		{
			blx_geometry g = plan_of_bits(bits);
			uint64_t   *hashes = random_hashes(n);

			check_filter(sealed(&g, n % 2 ? &texts : &ready_made, hashes, n), hashes, n, bits);
		}

	TEST("of blocks of 2^18 keys: 8.9 bits per key at 8 bits and 17.8 at 16 from 10^6 keys on, and few blocks need a second salt")
	for (unsigned n = 262144; n <= 1000000; n += n < 262146 ? 1 : 368927, release())
		for (unsigned bits = 8; bits <= 16; bits *= 2)
		{
			blx_geometry g = plan_of_bits(bits);
			uint64_t   *hashes = new_hashes(n);
			blx_filter *f = sealed(&g, &texts, hashes, n);
			unsigned	again = 0;

			check_filter(f, hashes, n, bits);
			CHECK(f->blocks == (n + 262143) / 262144, "%u blocks", f->blocks);
			CHECK(8.0 * (double) blx_size(f) / n < (n < 1000000 ? 1.12 : 1.1112) * bits, "%g bits per key", 8.0 * (double) blx_size(f) / n);
			for (unsigned i = 0; i < f->blocks; i++)
				again += blx_fuse_shape(f).salts[i] != (f->blocks == 1 ? 1 : blx_hash_int64(0, 0) | 1);
			CHECK(again <= 1, "%u blocks of %u", again, f->blocks);
		}

	TEST("a plan tells the size")
	for (unsigned n = 1; n <= 1000000; n = n * 3 + 1, release())
	{
		blx_geometry g;
		blx_error	error;
		blx_filter *f;

		if (!CHECK(blx_plan(BLX_BINARY_FUSE, n, 0.004, NULL, &g, &error), "%s", error.message))
			continue;
		f = sealed(&g, &texts, new_hashes(n), n);
		CHECK(n <= 262144 ? blx_bytes(&g, 0) == blx_size(f) : fabs((double) blx_bytes(&g, 0) / (double) blx_size(f) - 1) < 0.02,
			  "%u keys: %" PRIu64 " bytes, not %" PRIu64, n, blx_size(f), blx_bytes(&g, 0));
	}

	TEST("fingerprints are the shortest that meet the rate, or whole bytes if they are little longer")
	{
		static const struct
		{
			double		fpr;
			unsigned	bits;
		}			plans[] = {{0.9, 1}, {0.5, 1}, {0.3, 2}, {0.02, 6}, {0.01, 8}, {0.004, 8}, {0.0039, 9}, {1e-4, 16}, {1e-9, 32}, {3e-10, 32}};

		for (unsigned i = 0; i < LENGTH(plans); i++)
		{
			blx_geometry g;
			blx_error	error;

			CHECK(blx_plan(BLX_BINARY_FUSE, 1000, plans[i].fpr, NULL, &g, &error) && g.parts == plans[i].bits, "%g: %u bits", plans[i].fpr, g.parts);
			CHECK(blx_fpr_planned(&g, 1000) <= plans[i].fpr, "%g", plans[i].fpr);
		}
	}
}

/* Hashes that begin alike: a set of them gets a salt. */
static uint64_t *
crowded_hashes(size_t n)
{
	uint64_t   *hashes = take(8 * n);

	for (size_t i = 0; i < n; i++)
		hashes[i] = UINT64_C(0x123) << 48 | random64() >> 16;
	return hashes;
}

static void
orders(void)
{
	TEST("one set has one filter, byte for byte: in any order, with keys that come again, in tables of any size")
	for (unsigned round = 0; round < ROUNDS / 20u; round++, release())
	{
		size_t		n = random_between(0, one_in(4) ? 3000 : 200);
		blx_geometry g = plan_of_bits((unsigned) random_between(1, 32));
		const blx_identity *id = one_in(2) ? &texts : &ready_made;
		uint64_t   *hashes = random_hashes(n);
		blx_filter *f = sealed(&g, id, hashes, n),
				   *again,
				   *other;
		blx_error	error;

		shuffle(hashes, n);
		CHECK(identical(f, sealed(&g, id, hashes, n)), "%s", describe(&g));
		again = collected(&g, id, hashes, n);
		CHECK(blx_grow_add(&again, hashes, n, NULL, &error), "%s", error.message);
		CHECK(identical(f, taken_over(blx_finish(again, 0.01, NULL, &error))), "again");
		CHECK(identical(f, taken_over(blx_finish(again, 0.01, NULL, &error))), "finished once more");
		other = open_set(8, &g, id, hashes, n);
		CHECK(identical(f, taken_over(blx_finish(other, 0.5, NULL, &error))), "a table of other size");
		blx_free(again, NULL);
	}

	TEST("the union of open sets is as one set")
	for (unsigned round = 0; round < ROUNDS / 20u; round++, release())
	{
		size_t		n = random_between(1, 2000),
					half = random_between(0, n);
		blx_geometry g = plan_of_bits(8);
		uint64_t   *hashes = random_hashes(n);
		blx_filter *a = collected(&g, &texts, hashes, half),
				   *b = collected(&g, &texts, hashes + half / 2, n - half / 2),
				   *both;
		blx_error	error;

		both = blx_unite(b, a, NULL, &error);
		CHECK(identical(sealed(&g, &texts, hashes, n), taken_over(blx_finish(both, 0.01, NULL, &error))), "%zu and %zu", half, n);
		blx_free(a, NULL);
		blx_free(b, NULL);
		blx_free(both, NULL);
	}

	TEST("a set whose table has a salt, and ready-made hashes that are no random ones")
	for (unsigned round = 0; round < 4; round++, release())
	{
		size_t		n = 20000;
		blx_geometry g = plan_of_bits(12);
		uint64_t   *hashes = crowded_hashes(n);
		blx_filter *set = collected(&g, round < 2 ? &texts : &ready_made, hashes, n),
				   *f;
		blx_error	error;

		CHECK((round < 2) == !blx_hashes_ordered(set), "a salt");
		f = taken_over(blx_finish(set, 0.01, NULL, &error));
		check_filter(f, hashes, n, 12);
		shuffle(hashes, n);
		CHECK(identical(f, sealed(&g, round < 2 ? &texts : &ready_made, hashes, n)), "in another order");
		blx_free(set, NULL);

		for (size_t i = 0; i < n; i++)
			hashes[i] = (uint64_t) i << 32;
		check_filter(sealed(&g, &ready_made, hashes, n), hashes, n, 12);
	}

	TEST("many blocks: hashes at the ends of blocks and of the table")
	for (unsigned round = 0; round < 2; round++, release())
	{
		size_t		n = 600000;
		blx_geometry g = plan_of_bits(4);
		const blx_identity *id = round == 0 ? &texts : &ready_made;
		uint64_t   *hashes = new_hashes(n);
		blx_filter *f;

		hashes[0] = 0;
		for (unsigned i = 1; i < 600; i++)	/* some of them walk around the end */
			hashes[i] = UINT64_MAX - 7 * (i - 1);
		for (unsigned i = 0; i < 4; i++)
			hashes[600 + i] = UINT64_MAX / 3 * (i / 2 + 1) + i % 2;
		f = sealed(&g, id, hashes, n);
		CHECK(f->blocks == 3, "%u", f->blocks);
		check_filter(f, hashes, n, 4);
		shuffle(hashes, n);
		CHECK(identical(f, sealed(&g, id, hashes, n)), "in another order");
	}
}

static void
prefixes(void)
{
	TEST("a prefix, and what blx_shrink gives, is the filter that would have been built")
	for (unsigned round = 0; round < ROUNDS / 20u; round++, release())
	{
		size_t		n = random_between(0, one_in(4) ? 3000 : 100);
		unsigned	bits = (unsigned) random_between(1, 32),
					fewer = (unsigned) random_between(1, bits);
		blx_geometry g = plan_of_bits(bits),
					h = plan_of_bits(fewer);
		const blx_identity *id = one_in(2) ? &texts : &ready_made;
		uint64_t   *hashes = random_hashes(n);
		blx_filter *f = sealed(&g, id, hashes, n),
				   *small = sealed(&h, id, hashes, n),
				   *cut;
		blx_error	error;

		cut = blx_prefix(f, fewer, NULL, &error);
		CHECK(cut != NULL && identical(taken_over(cut), small), "%u of %u bits, %zu keys", fewer, bits, n);
		cut = blx_shrink(f, n == 0 ? 0.5 : ldexp(1.01, -(int) fewer), NULL, &error);
		CHECK(cut != NULL && (n == 0 || identical(taken_over(cut), small)), "%s", error.message);
		if (cut != NULL && n == 0)
			CHECK(cut->parts == 1, "%u", cut->parts), blx_free(cut, NULL);
		CHECK(n == 0 || blx_shrink(f, ldexp(0.99, -(int) bits), NULL, &error) == NULL, "a lower rate than it has");
		CHECK(blx_prefix(f, bits + 1, NULL, &error) == NULL && blx_prefix(f, 0, NULL, &error) == NULL, "%s", error.message);
		CHECK(blx_fold(f, 1, NULL, &error) == NULL && error.code == BLX_INVALID_PARAMETER, "%s", error.message);
	}
}

static void
rates(void)
{
	TEST("measured rates are 2^-bits, within four standard errors")
	for (unsigned bits = 1; bits <= 16; bits = bits < 4 ? bits + 1 : 2 * bits, release())
		for (int i = 0; i < 4; i++)
		{
			static const size_t counts[] = {1, 30, 1000, 300000};
			blx_geometry g = plan_of_bits(bits);
			blx_filter *f = sealed(&g, i % 2 ? &texts : &ready_made, new_hashes(counts[i]), counts[i]);
			double		tests = 2000 * ROUNDS,
						yes = 0,
						expected = ldexp(1, -(int) bits);

			for (int j = 0; j < (int) tests / 64; j++)
			{
				uint64_t	batch[64];

				for (unsigned k = 0; k < 64; k++)
					batch[k] = i % 2 ? random64() : (uint64_t) (64 * j + (int) k) << 20;	/* made hashes need not be random */
				yes += __builtin_popcountll(blx_test_batch(f, batch, 64));
			}
			CHECK(fabs(yes / tests - expected) < 4 * sqrt(expected / tests), "%u bits, %zu keys: %g", bits, counts[i], yes / tests);
		}
}

/* A geometry of any shape, small. */
static blx_geometry
any_shape(void)
{
	unsigned	s = (unsigned) random_between(0, one_in(9) ? 10 : 5),
				v = (unsigned) random_between(0, 24),
				w = (unsigned) random_between(v == 0, 32);

	return (blx_geometry) {.layout = BLX_BINARY_FUSE, .blocks = (uint32_t) random_between(1, 9), .parts = (uint16_t) (v + w),
		.probes = BLX_FUSE_SLOTS, .part_bits = random_between(4, 13) << s, .parameters = {s | v << 8}};
}

/* A filter of that shape whose slots are rubbish. */
static blx_filter *
any_body(const blx_geometry *g, const blx_identity *id)
{
	blx_filter *f = blank(g, id, 0);
	uint64_t	words = blx_body_words(g),
				bits = blx_bits(g);

	for (uint64_t i = 2; i < words - 1; i++)
		blx_words(f)[i] = random64() | (i < 2u + g->blocks);
	if (bits % 64 != 0)
		blx_words(f)[words - 2] &= ~UINT64_C(0) >> (64 - bits % 64);
	blx_words(f)[1] = one_in(9) ? 0 : random_between(0, g->blocks * g->part_bits);
	return f;
}

static void
bodies(void)
{
	TEST("any body: tests stay within it, and agree one by one, in batches by every path, and fetched")
	for (unsigned round = 0; round < 4u * ROUNDS; round++, release())
	{
		blx_geometry g = any_shape();
		blx_filter *f = any_body(&g, one_in(2) ? &texts : &ready_made);
		uint64_t   *hashes = random_hashes(64),
					one = 0,
					fetched = 0;
		unsigned	n = (unsigned) random_between(1, 64);

		for (unsigned i = 0; i < n; i++)
		{
			one |= (uint64_t) blx_test(f, hashes[i]) << i;
			fetched |= (uint64_t) blx_test_fetched(f, hashes[i], blx_fetch_memory, blx_words(f)) << i;
		}
		CHECK(one == fetched, "%s", describe(&g));
		for (enum blx_simd_path path = BLX_SIMD_AUTO; path < BLX_SIMD_PATHS; path++)
		{
			blx_simd_set(path);
			CHECK(blx_test_batch(f, hashes, n) == one, "%s of %u: %s, %u value bits", describe(&g), n, blx_simd_name(), blx_fuse_value_bits(&g));
		}
		blx_simd_set(BLX_SIMD_AUTO);
		exercise_bytes(exported(f).data, exported(f).length);
	}

	TEST("large ones, whose slots are fetched ahead")
	for (unsigned bits = 3; bits <= 32; bits += one_in(3) ? 5 : 13, release())
	{
		blx_geometry g = plan_of_bits(bits);
		size_t		n = 2000000 / bits + 300000;
		blx_filter *f = sealed(&g, &texts, new_hashes(n), n);

		for (unsigned i = 0; i < 2000; i++)
		{
			uint64_t   *hashes = new_hashes(61),
						one = 0;

			for (unsigned j = 0; j < 61; j++)
				one |= (uint64_t) blx_test(f, hashes[j]) << j;
			for (enum blx_simd_path path = BLX_SIMD_AUTO; path < BLX_SIMD_PATHS; path++)
			{
				blx_simd_set(path);
				CHECK(blx_test_batch(f, hashes, 61) == one, "%u bits: %s", bits, blx_simd_name());
			}
			blx_simd_set(BLX_SIMD_AUTO);
		}
	}

	TEST("an import is refused for what does not fit")
	{
		static const struct
		{
			unsigned	at,
						byte;
			const char *message;
		}			changes[] = {
			{38, 5, "slots for each key"}, {38, 3, "slots for each key"}, {44, 19, "segments of 2^19"}, {44, 7, "segments of 2^7"},
			{45, 9, "slots of 8 bits, 9 of them"}, {45, 25, "25 of them"}, {46, 1, "segments"}, {36, 33, "slots of 33 bits"}, {36, 57, "slots of 57 bits"},
			{36, 9, "words"}, {28, 99, "segments"}, {8, 2, "words"}, {53, 99, "keys"}, {60, 2, "even salt"}, {5, 0, "without a key type"}, {43, 1, "wait for keys"},
		};
		blx_geometry g = plan_of_bits(8);
		bytes		whole = exported(sealed(&g, &texts, new_hashes(100), 100));
		blx_error	error;

		for (unsigned i = 0; i < LENGTH(changes); i++)
		{
			uint8_t    *copy = take(whole.length);

			memcpy(copy, whole.data, whole.length);
			copy[changes[i].at] = (uint8_t) changes[i].byte;
			CHECK(!acceptable(copy, whole.length, &error) && strstr(error.message, changes[i].message) != NULL, "byte %u: %s", changes[i].at, error.message);
		}
		whole.data[whole.length - 1] = 1;
		CHECK(!acceptable(whole.data, whole.length, &error) && strstr(error.message, "zeros") != NULL, "%s", error.message);
		release();
	}
}

/* ---- memory ---- */

static uint64_t in_use,
			most_in_use;

static void *
counted_alloc(void *arg, size_t size)
{
	uint64_t   *memory = malloc(size + 16);

	(void) arg;
	in_use += *memory = size;
	most_in_use = in_use > most_in_use ? in_use : most_in_use;
	return memory + 2;
}

static void
counted_free(void *arg, void *memory)
{
	uint64_t   *start = (uint64_t *) memory - 2;

	(void) arg;
	in_use -= *start;
	free(start);
}

static unsigned polls;

static void
poll(void)
{
	polls++;
}

static void
memory(void)
{
	const blx_memory counted = {counted_alloc, counted_free, NULL};

	TEST("beside set and filter 4 MB are enough, whatever the number of keys; each block polls")
	for (size_t n = 100000; n <= 900000; n += 800000, release())
	{
		blx_geometry g = plan_of_bits(8);
		blx_filter *set = collected(&g, &texts, new_hashes(n), n),
				   *f;
		blx_error	error;

		in_use = most_in_use = polls = 0;
		f = blx_finish_as(set, &g, 0.01, &counted, poll, &error);
		CHECK(most_in_use - blx_size(f) < 4000000, "%" PRIu64, most_in_use - blx_size(f));
		CHECK(in_use == blx_size(f), "%" PRIu64 " bytes were not freed", in_use - blx_size(f));
		CHECK(polls == f->blocks, "%u", polls);
		counted_free(NULL, f);
		blx_free(set, NULL);
	}

	TEST("a set that will be sealed stays a set, beyond all limits of others")
	{
		blx_growth	growth = {.memory = NULL, .early_bytes = 1000, .set_bytes = 1000, .filter_bytes = 8000};
		blx_geometry g = plan_of_bits(8);
		blx_filter *set = collected(&g, &texts, NULL, 0);
		uint64_t   *hashes = new_hashes(50000);
		blx_error	error;

		for (unsigned i = 0; i < 50; i++)
		{
			blx_filter *larger = blx_add_growing(set, hashes + 1000 * i, 1000, &growth, &error);

			if (larger != set)
				blx_free(set, NULL);
			set = larger;
		}
		CHECK(set->layout == BLX_HASHES && blx_hashes_count(set) == 50000, "%s", blx_layout_name(set->layout));
		check_filter(taken_over(blx_finish(set, 0.01, NULL, &error)), hashes, 50000, 8);
		blx_free(set, NULL);
		release();
	}
}

/* ---- what it refuses ---- */

static void
refusals(void)
{
	TEST("what a sealed filter cannot do is refused with a reason and what to do instead")
	{
		blx_geometry g = plan_of_bits(8);
		uint64_t   *hashes = new_hashes(100);
		blx_filter *f = sealed(&g, &texts, hashes, 100),
				   *moved = f,
				   *set = collected(&g, &texts, hashes, 50);
		blx_error	error;
		blx_pair	both;
		uint32_t	value;
		unsigned	count;
		bool		yes;

#define REFUSED(call, text) \
		do { \
			error = (blx_error) {0}; \
			CHECK(!(call), #call); \
			CHECK(error.code == BLX_UNSUPPORTED && strstr(error.message, text) != NULL && error.hint[0] != '\0', "%s | %s | %s", error.message, error.detail, error.hint); \
		} while (0)

		REFUSED(blx_unite(f, f, NULL, &error), "merged");
		REFUSED(blx_unite(f, set, NULL, &error), "merged");
		REFUSED(blx_unite(set, f, NULL, &error), "merged");
		REFUSED(blx_intersect(f, f, NULL, &error), "intersected");
		REFUSED(blx_disjoint(f, f, &yes, &error), "disjointness");
		REFUSED(blx_estimate_pair(f, f, NULL, &both, &error), "compared");
		REFUSED(blx_grow_add(&moved, hashes, 1, NULL, &error), "takes no more keys");
		REFUSED(blx_remove(f, hashes, 1, NULL, &error), "cannot be removed");
		REFUSED(blx_count(f, hashes[0], &count, &error), "not counted");
		REFUSED(blx_get(f, hashes[0], &yes, &value, &error), "no values");
		REFUSED(blx_plan_bits(BLX_BINARY_FUSE, 1000, 4, NULL, &g, &error), "follows from its keys");
		CHECK(!blx_or_into(f, f) && blx_add(f, hashes, 1) == 0, "changed in place");
		CHECK(!blx_plan(BLX_BINARY_FUSE, 100, 1e-10, NULL, &g, &error) && error.code == BLX_LIMIT, "%s", error.message);
		CHECK(!blx_plan(BLX_BINARY_FUSE, INT64_MAX, 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "%s", error.message);
		CHECK(!blx_plan(BLX_BINARY_FUSE, UINT64_C(2000000000), 0.01, NULL, &g, &error) && error.code == BLX_LIMIT, "%s", error.message);
		blx_free(set, NULL);
		release();
	}

	TEST("hashes that no salt separates are an error")
	{
		unsigned	n = 20000;
		blx_entry  *entries = take(n * sizeof(blx_entry));
		blx_geometry g = plan_of_bits(8);
		blx_error	error = {0};

		/* multiples of 2^32: so are their products with any salt, and keys that share their first slots share all */
		for (unsigned i = 0; i < n; i++)
			entries[i] = (blx_entry) {.hash = random64() >> 32 << 32};
		CHECK(blx_build_map(&g, &texts, entries, n, NULL, NULL, &error) == NULL && error.code == BLX_LIMIT && strstr(error.hint, "seed"), "%s", error.message);
		release();
	}
}

/* ---- maps ---- */

static void
maps(void)
{
	TEST("a map has the value of each key, and few of others; its prefixes have them, too")
	for (unsigned round = 0; round < ROUNDS / 20u; round++, release())
	{
		size_t		n = random_between(0, one_in(4) ? 3000 : 100);
		unsigned	bits = (unsigned) random_between(0, 32);
		uint32_t	most = (uint32_t) random_between(0, one_in(3) ? 0xffffff : one_in(2) ? 1 : 1000);
		blx_geometry g = plan_of_bits(bits);
		const blx_identity *id = one_in(2) ? &texts : &ready_made;
		uint64_t   *hashes = random_hashes(n);
		blx_entry  *entries = take(sizeof(blx_entry) * (2 * n + 1)),
				   *again = take(sizeof(blx_entry) * (2 * n + 1));
		blx_filter *f,
				   *g2;
		blx_error	error;
		unsigned	value_bits;

		/* some come twice */
		for (size_t i = 0; i < 2 * n; i++)
			entries[i] = (blx_entry) {hashes[i % n], (uint32_t) (hashes[i % n] * 31 % ((uint64_t) most + 1))};
		memcpy(again, entries, 2 * n * sizeof(blx_entry));
		for (size_t i = 0; i < n; i++)
			again[i] = entries[2 * n - 1 - i];
		f = blx_build_map(&g, id, entries, n + n / 2, NULL, NULL, &error);
		g2 = blx_build_map(&g, id, again, n, NULL, NULL, &error);
		if (!CHECK(f != NULL && g2 != NULL, "%s", error.message))
			continue;
		f = taken_over(f);
		CHECK(identical(f, taken_over(g2)), "in another order");
		check_filter(f, hashes, n, bits);
		g = blx_geometry_of(f);
		value_bits = blx_fuse_value_bits(&g);
		for (unsigned p = 0; p < 3; p++)
		{
			for (size_t i = 0; i < n; i++)
			{
				bool		found = false;
				uint32_t	value = ~0u;

				CHECK(blx_get(f, hashes[i], &found, &value, &error) && found && value == hashes[i] * 31 % ((uint64_t) most + 1), "%u", value);
			}
			f = prefix(f, (int64_t) random_between(value_bits, f->parts));
		}
		CHECK(blx_prefix(f, value_bits - 1, NULL, &error) == NULL, "a prefix without all of the value");
	}

	TEST("two values of one key are an error that names them")
	{
		blx_entry	entries[] = {{5, 7}, {9, 1}, {5, 3}};
		blx_geometry g = plan_of_bits(8);
		blx_error	error = {0};

		CHECK(blx_build_map(&g, &texts, entries, 3, NULL, NULL, &error) == NULL && error.code == BLX_AMBIGUOUS &&
			  strcmp(error.message, "a key has two values, 3 and 7") == 0, "%s", error.message);
		entries[0].value = 1u << 24;
		CHECK(blx_build_map(&g, &texts, entries, 1, NULL, NULL, &error) == NULL && error.code == BLX_INVALID_PARAMETER, "%s", error.message);
	}

	TEST("a set of keys cannot become a map, nor a map be made of another layout")
	{
		blx_geometry g = plan_of_bits(0),
					blocked;
		blx_error	error = {0};

		CHECK(blx_open(&g, &texts, 0, NULL, &error) == NULL && error.code == BLX_UNSUPPORTED, "%s", error.message);
		CHECK(blx_plan(BLX_BLOCKED, 10, 0.1, NULL, &blocked, &error), "%s", error.message);
		CHECK(blx_build_map(&blocked, &texts, NULL, 0, NULL, NULL, &error) == NULL && error.code == BLX_UNSUPPORTED, "%s", error.message);
	}

	TEST("a closed universe: a filter of 4 bits, and a bit of value for what it finds: below 7 bits per member, and no wrong answer")
	{
		size_t		members = ROUNDS < 1000 ? 20000 : 200000,
					universe = 20 * members,
					n = 0,
					wrong = 0;
		blx_geometry four = plan_of_bits(4),
					none = plan_of_bits(0);
		uint64_t   *hashes = new_hashes(universe);
		blx_filter *f = sealed(&four, &texts, hashes, members),
				   *bit;
		blx_entry  *entries = take(sizeof(blx_entry) * universe);
		blx_error	error;
		double		bits;

		for (size_t i = 0; i < universe; i++)
			if (blx_test(f, hashes[i]))
				entries[n++] = (blx_entry) {hashes[i] * 0x9E3779B97F4A7C15 ^ hashes[i] >> 29, i < members};	/* the hash of another seed */
		bit = blx_build_map(&none, &texts, entries, n, NULL, NULL, &error);
		if (CHECK(bit != NULL, "%s", error.message))
		{
			for (size_t i = 0; i < universe; i++)
			{
				bool		found;
				uint32_t	value = 0;

				if (blx_test(f, hashes[i]))
					blx_get(bit, hashes[i] * 0x9E3779B97F4A7C15 ^ hashes[i] >> 29, &found, &value, &error);
				wrong += (value == 1) != (i < members);
			}
			bits = 8.0 * (double) (blx_size(f) + blx_size(bit)) / (double) members;
			CHECK(wrong == 0 && bits < (ROUNDS < 1000 ? 7.4 : 7), "%zu wrong, %g bits per member", wrong, bits);
			note("%.2f bits per member", bits);
			blx_free(bit, NULL);
		}
		release();
	}
}

int
main(void)
{
	random_seed(28);
	sizes();
	orders();
	prefixes();
	rates();
	bodies();
	memory();
	refusals();
	maps();
	return report();
}
