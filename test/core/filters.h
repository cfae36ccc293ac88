/*
 * filters.h - filters to test: random filters, filters built from keys, and the
 * operations of the core with their memory.
 *
 * take() returns exactly the memory that the core asked for, filled with
 * rubbish.  So the address sanitizer sees the first byte beyond it, and a field
 * that was never written is not mistaken for zero.  release() frees everything
 * taken since the last release.
 */
#ifndef FILTERS_H
#define FILTERS_H

#include "core/filter/filter.h"
#include "core/layouts/growing/hashes.h"
#include "core/base/hash.h"
#include "harness.h"

static void *taken[100000];
static size_t taken_count;

static inline void *
take(uint64_t bytes)
{
	void	   *memory = malloc(bytes > 0 ? bytes : 1);

	if (memory == NULL || taken_count == LENGTH(taken))
	{
		printf("Bail out! no memory\n");
		exit(2);
	}
	memset(memory, 0xA5, bytes);
	return taken[taken_count++] = memory;
}

static inline void
release(void)
{
	while (taken_count > 0)
		free(taken[--taken_count]);
}

/* blx_memory by take(), and what was asked for last. */
static uint64_t asked_bytes;

static inline void *
take_for_core(void *arg, size_t bytes)
{
	(void) arg;
	asked_bytes = bytes;
	return take(bytes);
}

static inline void
leave_to_release(void *arg, void *memory)
{
	(void) arg, (void) memory;
}

static const blx_memory memory_of_tests = {take_for_core, leave_to_release, NULL};

static const blx_identity no_identity = {0, BLX_KEY_NONE, 0, NULL};

static const uint8_t static_layouts[] = {BLX_STANDARD, BLX_PARTITIONED, BLX_BLOCKED, BLX_PARTITIONED_BLOCKED, BLX_HYBRID,
BLX_RATIONAL, BLX_VARIABLE_BLOCKED};

/* True if filters of this geometry combine although their sizes differ. */
static inline bool
resizes(const blx_geometry *g)
{
	uint8_t		layout = g->hashing == BLX_INDEPENDENT ? g->layout : 0;

	return layout == BLX_STANDARD || layout == BLX_PARTITIONED || layout == BLX_BLOCKED || layout == BLX_PARTITIONED_BLOCKED ||
		layout == BLX_HYBRID || layout == BLX_RATIONAL || layout == BLX_COUNTING;
}

/* True if folding halves the blocks, false if it halves the bits of a part. */
static inline bool
sized_by_blocks(uint8_t layout)
{
	return layout == BLX_BLOCKED || layout == BLX_PARTITIONED_BLOCKED || layout == BLX_COUNTING;
}

/* True if filters of this layout have parts that can be dropped. */
static inline bool
has_parts(uint8_t layout)
{
	return layout == BLX_PARTITIONED || layout == BLX_PARTITIONED_BLOCKED || layout == BLX_HYBRID || layout == BLX_COUNTING;
}

static inline uint64_t
resolution_of(const blx_geometry *g)
{
	return sized_by_blocks(g->layout) ? g->blocks : g->part_bits;
}

/* The geometry of g expanded that many times. */
static inline blx_geometry
finer(blx_geometry g, int times)
{
	if (sized_by_blocks(g.layout))
		g.blocks <<= times;
	else
		g.part_bits <<= times;
	return g;
}

/* What a prefix counts: parts, or blocks of variable size. */
static inline unsigned
pieces(const blx_geometry *g)
{
	return g->layout == BLX_VARIABLE_BLOCKED ? (unsigned) __builtin_popcountll(g->part_bits) : g->parts;
}

/* The geometry of the first n pieces. */
static inline blx_geometry
first_pieces(blx_geometry g, unsigned n)
{
	if (g.layout == BLX_VARIABLE_BLOCKED)
		while (pieces(&g) > n)
			g.part_bits &= g.part_bits - 1;
	else
		g.parts = (uint16_t) n;
	return g;
}

/* For messages: "partitioned 1x7x100x1". */
static inline const char *
describe(const blx_geometry *g)
{
	static char texts[8][100];
	static unsigned next;
	char	   *text = texts[next++ % 8];

	snprintf(text, 100, "%s %ux%ux%" PRIu64 "x%u", blx_layout_name(g->layout), g->blocks, g->parts, g->part_bits, g->probes);
	return text;
}

/* A small geometry of any shape that the layout allows: spare bits, single bits, 64 probes, incomplete groups. */
static inline blx_geometry
random_geometry(uint8_t layout)
{
	unsigned	k = (unsigned) (one_in(10) ? random_between(1, BLX_MAX_K) : random_between(1, 18));
	blx_geometry g = {layout, 1, 1, 1, 1};

	switch (layout)
	{
		case BLX_STANDARD:
			g.probes = (uint16_t) k;
			g.part_bits = one_in(5) ? random_between(1, 70) : one_in(2) ? random_between(1, 6000) : random_between(1, 40) << random_between(0, 7);
			g.hashing = one_in(3) ? (uint8_t) random_between(BLX_DOUBLE, BLX_TRIPLE) : BLX_INDEPENDENT;
			break;
		case BLX_RATIONAL:
			g.probes = (uint16_t) (one_in(4) ? 0 : k < BLX_MAX_K ? k : k - 1);
			g.fraction = (uint16_t) (random64() | (g.probes == 0));
			g.part_bits = one_in(5) ? random_between(1, 70) : one_in(2) ? random_between(1, 6000) : random_between(1, 40) << random_between(0, 7);
			break;
		case BLX_VARIABLE_BLOCKED:	/* the sum of all k is below twice the k of the largest block */
			g.probes = (uint16_t) (k < 2 ? 1 : k / 2);
			g.fraction = (uint16_t) (random64() | 1);
			g.part_bits = random_between(1, one_in(5) ? 70 : 6000);
			if (k == BLX_MAX_K)
				g.probes--;
			break;
		case BLX_HYBRID:
			g.probes = (uint16_t) random_between(1, k < 4 ? k : 4);
			g.parts = (uint16_t) (k / g.probes);
			g.part_bits = random_between(1, one_in(3) ? 15 : 3) << random_between(0, 9);
			break;
		case BLX_PARTITIONED:
			g.parts = (uint16_t) k;
			g.part_bits = random_between(1, one_in(3) ? 15 : 3) << random_between(0, 9);
			break;
		case BLX_BLOCKED:
			g.probes = (uint16_t) k;
			g.part_bits = one_in(2) ? UINT64_C(64) << random_between(0, one_in(4) ? 7 : 3) : random_between(1, one_in(2) ? 100 : 3000);
			g.blocks = (uint32_t) random_between(1, 40);
			break;
		case BLX_PARTITIONED_BLOCKED:
		case BLX_COUNTING:
			g.parts = (uint16_t) k;
			g.part_bits = 64;
			g.blocks = UINT32_C(1) << random_between(0, 7);
			break;
	}
	return g;
}

/* Another geometry that combines with g. */
static inline blx_geometry
random_relative(const blx_geometry *g)
{
	blx_geometry other = *g;

	if (!resizes(g))
		return other;
	if (has_parts(g->layout))
		other.parts = (uint16_t) random_between(1, (one_in(10) ? 64 : 20) / g->probes);
	if (g->layout == BLX_BLOCKED)
	{
		while (other.blocks % 2 == 0 && one_in(2))
			other.blocks /= 2;
		while (other.blocks < 60 && one_in(3))
			other.blocks *= 2;
	}
	else if (sized_by_blocks(g->layout))
		other.blocks = UINT32_C(1) << random_between(0, 7);
	else
	{
		while (other.part_bits % 2 == 0 && one_in(2))
			other.part_bits /= 2;
		while (other.part_bits < 4000 && one_in(2))
			other.part_bits *= 2;
	}
	return other;
}

/* n hashes that no other call returns. */
static inline uint64_t *
new_hashes(size_t n)
{
	uint64_t   *hashes = take(8 * n);

	for (size_t i = 0; i < n; i++)
		hashes[i] = random64();
	return hashes;
}

/* n random hashes; sometimes the first two are the ends of the range. */
static inline uint64_t *
random_hashes(size_t n)
{
	uint64_t   *hashes = new_hashes(n);

	if (n > 0 && one_in(3))
		hashes[0] = 0;
	if (n > 1 && one_in(3))
		hashes[1] = UINT64_MAX;
	return hashes;
}

static inline blx_filter *
blank(const blx_geometry *g, const blx_identity *id, uint64_t capacity)
{
	blx_filter *f = take(blx_bytes(g, id->name_len));

	blx_init(f, g, id, capacity);
	return f;
}

static inline blx_filter *
built(const blx_geometry *g, uint64_t capacity, const uint64_t *hashes, size_t n)
{
	blx_filter *f = blank(g, &no_identity, capacity);

	blx_add(f, hashes, n);
	return f;
}

/* f, whose layout grows, grown. */
static inline blx_filter *
grown(const blx_filter *f)
{
	blx_error	error;
	blx_filter *larger = blx_grown(f, &memory_of_tests, &error);

	if (!CHECK(larger != NULL, "%s", error.message))
		exit(1);
	CHECK(blx_size(larger) == asked_bytes, "%" PRIu64 " bytes were announced, %" PRIu64 " are used", asked_bytes, blx_size(larger));
	return larger;
}

/* An open set of these hashes, planned for that geometry, as blx_grow_add makes it.  blx_free frees it. */
static inline blx_filter *
collected(const blx_geometry *planned, const blx_identity *id, const uint64_t *hashes, size_t n)
{
	blx_error	error;
	blx_filter *set = blx_open(planned, id, 0, NULL, &error);

	if (!CHECK(set != NULL && blx_grow_add(&set, hashes, n, NULL, &error), "%s", error.message))
		exit(1);
	return set;
}

/* A copy in memory of take() of a filter that the core allocated, which is freed. */
static inline blx_filter *
taken_over(blx_filter *f)
{
	blx_filter *copy = take(blx_size(f));

	memcpy(copy, f, blx_size(f));
	blx_free(f, NULL);
	return copy;
}

/* The sealed filter of these hashes. */
static inline blx_filter *
sealed(const blx_geometry *planned, const blx_identity *id, const uint64_t *hashes, size_t n)
{
	blx_filter *set = collected(planned, id, hashes, n),
			   *f;
	blx_error	error;

	f = blx_finish(set, 0.01, NULL, &error);
	blx_free(set, NULL);
	if (!CHECK(f != NULL, "%s", error.message))
		exit(1);
	return taken_over(f);
}

/* Adds keys to f; returns f, or what it has grown into.  A sealed filter is made of them. */
static inline blx_filter *
with_keys(blx_filter *f, const uint64_t *hashes, size_t n)
{
	blx_geometry g = blx_geometry_of(f);
	blx_identity id = blx_identity_of(f);
	size_t		i = 0;

	if (blx_is_sealed(f->layout))
		return sealed(&g, &id, hashes, n);

	while ((i += blx_add(f, hashes + i, n - i)) < n)
		f = grown(f);
	return f;
}

/* a | b, for layouts whose union has a size of its own. */
static inline blx_filter *
united(const blx_filter *a, const blx_filter *b)
{
	blx_identity id = blx_identity_of(a);
	uint64_t	bytes;
	blx_error	error;
	blx_filter *f;

	if (!CHECK(blx_union_bytes(a, b, id.name_len, &bytes, &error), "%s", error.message))
		exit(1);
	f = take(bytes);
	blx_union(f, bytes, a, b, &id);
	CHECK(blx_size(f) == bytes, "%" PRIu64 " bytes were announced, %" PRIu64 " are used", bytes, blx_size(f));
	return f;
}

/* f in another geometry, which a function of algebra.c returned. */
static inline blx_filter *
resized(const blx_filter *f, const blx_geometry *g)
{
	blx_identity id = blx_identity_of(f);
	blx_filter *r = blank(g, &id, 0);

	blx_or_into(r, f);
	return r;
}

static inline blx_filter *
folded(const blx_filter *f, int64_t times)
{
	blx_geometry g;
	blx_error	error;

	if (!CHECK(blx_fold_geometry(f, times, &g, &error), "%s", error.message))
		exit(1);
	return resized(f, &g);
}

static inline blx_filter *
prefix(const blx_filter *f, int64_t parts)
{
	blx_geometry g;
	blx_error	error;

	if (!CHECK(blx_prefix_geometry(f, parts, &g, &error), "%s", error.message))
		exit(1);
	return resized(f, &g);
}

static inline blx_filter *
union_of(const blx_filter *a, const blx_filter *b)
{
	blx_identity id = blx_identity_of(a);
	blx_geometry g;
	blx_error	error;
	blx_filter *f;

	if (!CHECK(blx_combined_geometry(BLX_UNION, a, b, &g, &error), "%s", error.message))
		exit(1);
	f = blank(&g, &id, 0);
	blx_or_into(f, a);
	blx_or_into(f, b);
	return f;
}

static inline blx_filter *
intersection_of(const blx_filter *a, const blx_filter *b)
{
	blx_identity id = blx_identity_of(a);
	blx_geometry g;
	blx_error	error;
	blx_filter *f;

	if (!CHECK(blx_combined_geometry(BLX_INTERSECTION, a, b, &g, &error), "%s", error.message))
		exit(1);
	f = blank(&g, &id, 0);
	blx_set_all(f);
	blx_and_into(f, a);
	blx_and_into(f, b);
	return f;
}

static inline bool
certainly_disjoint(const blx_filter *a, const blx_filter *b)
{
	bool		certain = false;
	blx_error	error;

	CHECK(blx_disjoint(a, b, &certain, &error), "%s", error.message);
	return certain;
}

/* f without its counters. */
static inline blx_filter *
bits_of(const blx_filter *f)
{
	blx_identity id = blx_identity_of(f);
	blx_geometry g;
	blx_error	error;
	blx_filter *plain;

	if (!CHECK(blx_to_bits_geometry(f, &g, &error), "%s", error.message))
		exit(1);
	plain = blank(&g, &id, f->capacity);
	blx_to_bits(plain, f);
	return plain;
}

typedef struct bytes
{
	uint8_t    *data;
	uint64_t	length;
} bytes;

static inline bytes
exported(const blx_filter *f)
{
	bytes		b = {.length = blx_export_bytes(f)};

	b.data = take(b.length);
	blx_export(f, b.data);
	return b;
}

static inline bool
bytes_equal(bytes a, bytes b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* True if both are one value: equal in SQL, with equal hashes, and equal in every byte that is exported. */
static inline bool
identical(const blx_filter *a, const blx_filter *b)
{
	return blx_compare(a, b) == 0 && blx_compare(b, a) == 0 &&
		blx_value_hash(a, 7) == blx_value_hash(b, 7) &&
		bytes_equal(exported(a), exported(b));
}

/* A filter from interchange bytes; NULL and the error if they are refused. */
static inline blx_filter *
imported(const uint8_t *data, uint64_t length, blx_error *error)
{
	blx_filter *f = blx_import(data, length, &memory_of_tests, error);

	if (f != NULL)
		CHECK(blx_size(f) == asked_bytes, "%" PRIu64 " bytes were announced, %" PRIu64 " are used", asked_bytes, blx_size(f));
	return f;
}

/* True if the bytes can be imported. */
static inline bool
acceptable(const uint8_t *data, uint64_t length, blx_error *error)
{
	return blx_import(data, length, &memory_of_tests, error) != NULL;
}

/* The number of times that f can be folded. */
static inline int
most_folds(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f);
	uint64_t	resolution = resolution_of(&g);
	int			times = 0;

	if (!resizes(&g))
		return 0;
	for (; resolution % 2 == 0; resolution /= 2)
		times++;
	return times;
}

/* An open set of these hashes, which grows as it does in the aggregates: it is doubled when it is full. */
static inline blx_filter *
open_set(uint64_t slots, const blx_geometry *planned, const blx_identity *id, const uint64_t *hashes, size_t n)
{
	blx_filter *f = take(blx_hashes_bytes(slots, id->name_len));

	blx_hashes_init(f, slots, planned, id, 0);
	for (size_t i = 0; i < n; i++)
		while (!blx_hashes_add(f, hashes[i]))
		{
			blx_filter *larger = take(blx_hashes_bytes(2 * blx_hashes_slots(f), id->name_len));

			blx_hashes_init(larger, 2 * blx_hashes_slots(f), planned, id, 0);
			CHECK(blx_hashes_copy(larger, f), "%" PRIu64 " hashes crowd in %" PRIu64 " slots", blx_hashes_count(f), blx_hashes_slots(larger));
			f = larger;
		}
	return f;
}

/* Compares two mean rates over filters of n keys with the formula, to 4 sigma: probes of absent keys, and the rate by the bits. */
static inline void
measure_rate(const blx_geometry *g, size_t n, int filters, int probes)
{
	double		expected = blx_fpr_expected(g, n),
				yes = 0,
				mean = 0,
				squares = 0,
				variance;

	for (int i = 0; i < filters; i++, release())
	{
		blx_filter *f = built(g, 0, new_hashes(n), n);
		double		rate = blx_fpr(f),
					delta = rate - mean;

		mean += delta / (i + 1);
		squares += delta * (rate - mean);
		for (int j = 0; j < probes; j++)
			yes += blx_test(f, random64());
	}
	yes /= (double) filters * probes;
	variance = squares / (filters - 1) / filters;
	note("%-30s k = %.4f %6zu keys: expected %.4e, probes %.4e, bits %.4e", describe(g), blx_bits_per_key(g), n, expected, yes, mean);
	CHECK(fabs(mean - expected) < 4 * sqrt(variance), "the bits say %g, not %g", mean, expected);
	CHECK(fabs(yes - expected) < 4 * sqrt(variance + expected * (1 - expected) / filters / probes), "probes say %g, not %g", yes, expected);
}

#endif							/* FILTERS_H */
