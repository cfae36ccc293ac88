/*
 * test_simd.c - every path of the kernels sets the same bits and gives the
 * same answers as the scalar path.
 *
 * A path that this processor cannot run is skipped, and the output says so.
 */
#define _DEFAULT_SOURCE			/* MAP_ANONYMOUS */
#include <sys/mman.h>
#include <unistd.h>

#include "core/filter/inline.h"
#include "core/layouts/groups.h"
#include "filters.h"

static const char *const names[BLX_SIMD_PATHS] = {"auto", "scalar", "avx2", "avx512", "avx512_vbmi", "neon"};

static void
use(enum blx_simd_path path)
{
	blx_error	error;

	if (!CHECK(blx_simd_check(path, &error), "%s", error.message))
		exit(1);
	blx_simd_set(path);
}

/* n words that begin `off` words after the start of a cache line and end where the memory ends. */
static uint64_t *
take_words(uint64_t n, unsigned off)
{
	char	   *memory = take(8 * n + 64 + 8 * off);

	return (uint64_t *) (void *) (((uintptr_t) memory + 63) / 64 * 64 + 8 * off);
}

static uint64_t *
random_words(uint64_t n, unsigned off)
{
	uint64_t   *words = take_words(n, off);
	int			density = (int) random_between(0, 4);

	for (uint64_t i = 0; i < n; i++)
		words[i] = density == 0 ? 0 : density == 1 ? random64() & random64() & random64() : density == 2 ? random64()
			: density == 3 ? random64() | random64() | random64() : ~UINT64_C(0);
	return words;
}

static uint64_t *
copy_of(const uint64_t *words, uint64_t n, unsigned off)
{
	return memcpy(take_words(n, off), words, 8 * n);
}

static bool
equal(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	return memcmp(a, b, 8 * n) == 0;
}

static blx_groups
random_shape(unsigned parts)
{
	return (blx_groups) {.log2 = (unsigned) random_between(0, 9), .parts = parts};
}

/* Words with eight neighbours on both sides, which must not change. */
static void
compare_adds(enum blx_simd_path path)
{
	for (unsigned parts = 1; parts <= BLX_MAX_K; parts++)
		for (size_t n = 0; n <= 200; n += 1 + random_between(0, 12))
		{
			blx_groups	shape = random_shape(parts);
			uint64_t	size = blx_groups_words(shape);
			unsigned	off = (unsigned) random_between(0, 7);
			uint64_t   *before = random_words(size + 16, off),
					   *ours = copy_of(before, size + 16, off);
			uint64_t   *hashes = random_hashes(n);

			use(BLX_SIMD_SCALAR);
			blx_groups_add(before + 8, shape, hashes, n);
			use(path);
			if (one_in(2))
				blx_groups_add(ours + 8, shape, hashes, n);
			else
				for (size_t i = 0; i < n; i++)
					blx_groups_add(ours + 8, shape, hashes + i, 1);
			CHECK(equal(before, ours, size + 16), "%u parts, 2^%u blocks, %zu keys", parts, shape.log2, n);
			release();
		}
}

static void
compare_tests(enum blx_simd_path path)
{
	for (unsigned parts = 1; parts <= BLX_MAX_K; parts++)
		for (size_t n = 0; n <= 200; n += 1 + random_between(0, 12))
		{
			blx_groups	shape = random_shape(parts);
			unsigned	off = (unsigned) random_between(0, 7);
			uint64_t   *words = random_words(blx_groups_words(shape), off);
			uint64_t   *hashes = random_hashes(n);
			bool		expected[200];

			use(BLX_SIMD_SCALAR);
			blx_groups_add(words, shape, hashes, n / 2);
			for (size_t i = 0; i < n; i++)
			{
				expected[i] = blx_groups_test_fetched(shape, 0, hashes[i], blx_fetch_memory, words);
				CHECK(blx_groups_test(words, shape, hashes[i]) == expected[i], "%u parts, scalar", parts);
				CHECK(expected[i] || i >= n / 2, "%u parts: lost a key", parts);
			}
			use(path);
			for (size_t i = 0; i < n; i++)
				CHECK(blx_groups_test(words, shape, hashes[i]) == expected[i], "%u parts, 2^%u blocks", parts, shape.log2);
			for (size_t at = 0; at <= n; at += BLX_BATCH)
			{
				unsigned	m = (unsigned) (n - at < BLX_BATCH ? n - at : BLX_BATCH);
				uint64_t	found = blx_kernels_in_use()->test_batch(words, UINT64_C(1) << shape.log2, parts, hashes + at, m);

				for (unsigned i = 0; i < m; i++)
					CHECK((found >> i & 1) == expected[at + i], "%u parts, 2^%u blocks, %u of %u keys", parts, shape.log2, i, m);
				CHECK(m == BLX_BATCH || found >> m == 0, "bits beyond the keys");
			}
			release();
		}
}

/*
 * Whole filters, whose single keys have kernels of their own: any number of
 * parts, key types with a name or without, words anywhere in a cache line.  A
 * group of 2^15 blocks is large enough for batches to prefetch.
 */
static void
compare_filters(enum blx_simd_path path)
{
	static const blx_identity identities[] = {{.key_type = BLX_KEY_INTEGER}, {.key_type = BLX_KEY_NAMED, .name_len = 3, .name = "abc"}};

	for (unsigned parts = 1; parts <= BLX_MAX_K; parts++)
		for (unsigned named = 0; named <= 1; named++)
		{
			unsigned	log2 = parts <= 8 && !named ? 15 : (unsigned) random_between(0, 6);
			blx_geometry g = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << log2, .parts = (uint16_t) parts, .probes = 1, .part_bits = 64};
			size_t		n = random_between(1, 200);
			uint64_t   *hashes = random_hashes(n),
						size = blx_bytes(&g, identities[named].name_len) / 8;
			blx_filter *expected = (blx_filter *) (void *) take_words(size, 0),
					   *f = (blx_filter *) (void *) take_words(size, (unsigned) random_between(0, 7));

			blx_init(expected, &g, &identities[named], n);
			blx_init(f, &g, &identities[named], n);
			use(BLX_SIMD_SCALAR);
			blx_groups_add(blx_words(expected), (blx_groups) {.log2 = log2, .parts = parts}, hashes, n / 2);
			use(path);
			if (one_in(2))
				CHECK(blx_add(f, hashes, n / 2) == n / 2, "keys taken");
			else
				for (size_t i = 0; i < n / 2; i++)
					CHECK(blx_add(f, hashes + i, 1) == 1, "a key taken");
			CHECK(equal((uint64_t *) (void *) f, (uint64_t *) (void *) expected, size), "%u parts, 2^%u blocks, named %u", parts, log2, named);
			for (size_t i = 0; i < n; i++)
			{
				bool		has = blx_groups_test_fetched((blx_groups) {.log2 = log2, .parts = parts}, 0, hashes[i], blx_fetch_memory, blx_words(expected));

				CHECK(blx_test(f, hashes[i]) == has, "%u parts, 2^%u blocks, named %u", parts, log2, named);
				CHECK(blx_test_batch(f, hashes + i, 1) == has, "%u parts in a batch of one", parts);
			}
			release();
		}
}

/*
 * One key in f, by the short way that looks at the header's bytes (filter/inline.h)
 * and by the table of layouts, which looks at the layout alone.
 */
static void
compare_short_way(blx_filter *f, const char *what)
{
	uint64_t	size = blx_size(f);
	const blx_layout *row = blx_layout_row(f->layout);
	blx_filter *by_table = take(size);

	for (int i = 0; i < 50; i++)
	{
		uint64_t	hash = random64();
		size_t		taken;

		memcpy(by_table, f, size);
		taken = row->add(by_table, &hash, 1);
		CHECK(blx_test(f, hash) == row->test(f, hash), "test of %s", what);
		CHECK(blx_add(f, &hash, 1) == taken && memcmp(f, by_table, size) == 0, "addition to %s", what);
		CHECK(!taken || blx_test(f, hash), "lost a key of %s", what);
	}
}

/* Filters whose headers have much in common with that of a default filter of eight parts. */
static void
compare_short_ways(enum blx_simd_path path)
{
	blx_identity hash_keys = {.key_type = BLX_KEY_HASH};

	use(path);
	for (unsigned parts = 1; parts <= 16; parts++)
	{
		blx_geometry g = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = 16, .parts = (uint16_t) parts, .probes = 1, .part_bits = 64};
		blx_filter *f = blank(&g, &hash_keys, 0);

		compare_short_way(f, "a filter");
		f->expanded = 1;
		compare_short_way(f, "an expanded filter");
		f->pending = 1;
		compare_short_way(f, "an open filter");
		compare_short_way(open_set(256, &g, &hash_keys, NULL, 0), "a planned set");
		g.layout = BLX_COUNTING;
		compare_short_way(blank(&g, &hash_keys, 0), "a counting filter");
		g.layout = BLX_PARTITIONED;
		compare_short_way(blank(&g, &hash_keys, 0), "a filter of one array per part");
		release();
	}
	compare_short_way(open_set(256, NULL, &hash_keys, NULL, 0), "a set without a plan");
	release();
}

/* Kernels touch no memory outside the words that they are given: those end, or begin, where a page that cannot be read does. */
static void
touch_nothing_else(enum blx_simd_path path)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	char	   *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!CHECK(pages != MAP_FAILED && mprotect(pages, page, PROT_NONE) == 0 && mprotect(pages + 2 * page, page, PROT_NONE) == 0, "pages"))
		return;
	use(path);
	for (unsigned parts = 1; parts <= 16; parts++)
		for (unsigned at_end = 0; at_end <= 1; at_end++)
		{
			blx_groups	shape = {.log2 = (unsigned) random_between(0, 4), .parts = parts};
			uint64_t   *words = (uint64_t *) (void *) (pages + page + (at_end ? page - 8 * blx_groups_words(shape) : 0));
			uint64_t   *hashes = random_hashes(200);

			memset(pages + page, 0, page);
			for (int i = 0; i < 64; i++)
				blx_groups_add(words, shape, hashes + i, 1);
			blx_groups_add(words, shape, hashes, 200);
			for (int i = 0; i < 200; i++)
				CHECK(blx_groups_test(words, shape, hashes[i]), "lost a key");
			CHECK(blx_kernels_in_use()->test_batch(words, UINT64_C(1) << shape.log2, parts, hashes, 64) == ~UINT64_C(0), "lost a key");
			CHECK(blx_popcount(words, blx_groups_words(shape)) > 0, "no bits");
			release();
		}
	munmap(pages, 3 * page);
}

static void
compare_arrays(enum blx_simd_path path)
{
	for (int round = 0; round < 4000; round++)
	{
		uint64_t	n = one_in(4) ? random_between(0, 2000) : random_between(0, 140);
		unsigned	off = (unsigned) random_between(0, 7),
					off2 = (unsigned) random_between(0, 7);
		uint64_t   *a = random_words(n + 1, off),
				   *b = random_words(n + 1, off2),
				   *a2 = copy_of(a, n + 1, off),
				   *other = copy_of(a, n + 1, off);
		uint64_t	count,
					by_hand = 0;
		bool		meet;

		if (one_in(2))			/* disjoint, except perhaps for one bit */
		{
			for (uint64_t i = 0; i < n; i++)
				b[i] = ~a[i];
			if (n > 0 && one_in(2))
				b[random_between(0, n - 1)] = random64();
		}
		use(BLX_SIMD_SCALAR);
		count = blx_popcount(a, n);
		meet = blx_words_meet(a, b, n);
		for (uint64_t i = 0; i < n; i++)
			by_hand += (uint64_t) __builtin_popcountll(a[i]);
		CHECK(count == by_hand, "%" PRIu64 " bits in %" PRIu64 " words, not %" PRIu64, by_hand, n, count);
		use(path);
		CHECK(blx_popcount(a, n) == count, "bits of %" PRIu64 " words", n);
		CHECK(blx_words_meet(a, b, n) == meet, "%" PRIu64 " words meet", n);

		blx_or_words(a2, b, n);
		use(BLX_SIMD_SCALAR);
		blx_or_words(other, b, n);
		CHECK(equal(a2, other, n + 1), "%" PRIu64 " words |", n);
		use(path);
		memcpy(a2, a, 8 * n);
		blx_combine_words(a2, b, n, BLX_AND);
		use(BLX_SIMD_SCALAR);
		memcpy(other, a, 8 * n);
		blx_combine_words(other, b, n, BLX_AND);
		CHECK(equal(a2, other, n + 1), "%" PRIu64 " words &", n);
		release();
	}
}

/* The set bits of each word; the word behind the last one stays as it is. */
static void
compare_counts(enum blx_simd_path path)
{
	use(path);
	for (int round = 0; round < 2000; round++)
	{
		uint64_t	n = random_between(0, 70);
		uint64_t   *words = random_words(n + 1, (unsigned) random_between(0, 7)),
				   *counts = copy_of(words, n + 1, (unsigned) random_between(0, 7));

		blx_count_words(counts, words, n);
		for (uint64_t i = 0; i < n; i++)
			CHECK(counts[i] == (uint64_t) __builtin_popcountll(words[i]), "word %" PRIu64 " of %" PRIu64 " has %" PRIu64 " bits", i, n, counts[i]);
		CHECK(counts[n] == words[n], "one word more than %" PRIu64, n);
		release();
	}
}

/* Union, intersection and disjointness for any two resolutions and numbers of parts. */
static void
compare_algebra(enum blx_simd_path path)
{
	for (int round = 0; round < 3000; round++)
	{
		bool		full = one_in(2);
		blx_groups	s = random_shape(full ? 8 * (unsigned) random_between(1, 3) : (unsigned) random_between(1, 20)),
					t = random_shape(full ? 8 * (unsigned) random_between(1, 3) : (unsigned) random_between(1, 20));
		blx_op		op = s.log2 >= t.log2 && one_in(2) ? BLX_AND : BLX_OR;
		uint64_t	size = blx_groups_words(s);
		unsigned	off = (unsigned) random_between(0, 7);
		uint64_t   *a = random_words(size + 8, off),
				   *b = random_words(blx_groups_words(t), (unsigned) random_between(0, 7)),
				   *ours = copy_of(a, size + 8, off);
		bool		disjoint;

		use(BLX_SIMD_SCALAR);
		disjoint = blx_groups_disjoint(a, s, b, t);
		blx_groups_merge(a, s, b, t, op);
		use(path);
		CHECK(blx_groups_disjoint(ours, s, b, t) == disjoint && blx_groups_disjoint(b, t, ours, s) == disjoint,
			  "disjoint at 2^%u and 2^%u blocks", s.log2, t.log2);
		blx_groups_merge(ours, s, b, t, op);
		CHECK(equal(a, ours, size + 8), "%u parts of 2^%u blocks %s %u of 2^%u", s.parts, s.log2, op == BLX_OR ? "|" : "&", t.parts, t.log2);
		release();
	}
}

int
main(void)
{
	blx_error	error;

	TEST("the choice at load runs here, and is the one that auto makes")
	{
		const char *first = blx_simd_name();

		use(BLX_SIMD_SCALAR);
		CHECK(strcmp(blx_simd_name(), "scalar") == 0, "%s", blx_simd_name());
		use(BLX_SIMD_AUTO);
		CHECK(strcmp(blx_simd_name(), first) == 0, "%s, %s", blx_simd_name(), first);
		note("auto: %s", first);
	}
	for (int path = BLX_SIMD_SCALAR; path < BLX_SIMD_PATHS; path++)
	{
		char		title[100];

		if (!blx_simd_check(path, &error))
		{
			note("SKIPPED: this processor does not run %s", names[path]);
			snprintf(title, sizeof title, "%s is refused", names[path]);
			TEST(title)
				CHECK(error.code == BLX_UNSUPPORTED && strstr(error.message, names[path]) && strstr(error.hint, "scalar"),
					  "%s (%s)", error.message, error.hint);
			continue;
		}
		use(path);
		if (!CHECK(strcmp(blx_simd_name(), names[path]) == 0, "%s calls itself %s", names[path], blx_simd_name()))
			return 1;
		snprintf(title, sizeof title, "%s adds as scalar does, bit for bit", names[path]);
		TEST(title)
			compare_adds(path);
		snprintf(title, sizeof title, "%s tests as scalar does, one by one and in batches", names[path]);
		TEST(title)
			compare_tests(path);
		snprintf(title, sizeof title, "%s adds and tests filters as scalar does, of any size, name and place", names[path]);
		TEST(title)
			compare_filters(path);
		snprintf(title, sizeof title, "%s is not called for filters and sets that look like a default filter", names[path]);
		TEST(title)
			compare_short_ways(path);
		snprintf(title, sizeof title, "%s touches no memory outside the words", names[path]);
		TEST(title)
			touch_nothing_else(path);
		snprintf(title, sizeof title, "%s counts, joins and masks arrays as scalar does", names[path]);
		TEST(title)
			compare_arrays(path);
		snprintf(title, sizeof title, "%s counts the bits of words", names[path]);
		TEST(title)
			compare_counts(path);
		snprintf(title, sizeof title, "%s merges and parts groups as scalar does", names[path]);
		TEST(title)
			compare_algebra(path);
	}
	use(BLX_SIMD_AUTO);
	return report();
}
