/*
 * Every public function with every kind of filter and every number: open sets,
 * planned and not, empty and full; each layout; any capacity.  Nothing may
 * crash, read what is not its own, run on, or answer with a rate that is none.
 * Under sanitizers this says more than here.
 */
#include <math.h>

#include "core/theory/theory.h"
#include "core/layouts/layout.h"
#include "exercise.h"

static const uint64_t numbers[] = {0, 1, 2, 63, 64, 1000, UINT64_C(1) << 32, UINT64_C(1) << 40, INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX};
static const double rates[] = {-INFINITY, -1, 0, 1e-300, 1e-30, 0.01, 0.5, 1, 2, INFINITY, NAN};

/* ---- the filters ---- */

static blx_filter *filters[2000];
static unsigned filters_count;

static void
add_filter(blx_filter *f)
{
	static const uint64_t capacities[] = {0, 1, INT64_MAX};
	blx_error	error;

	for (unsigned i = 0; i < LENGTH(capacities); i++)
	{
		blx_filter *copy = take(blx_size(f));

		memcpy(copy, f, blx_size(f));
		copy->capacity = capacities[i];
		CHECK(blx_check(copy, blx_size(copy), &error), "%s", error.message);
		filters[filters_count++] = copy;
	}
}

static blx_filter *
filled(blx_filter *f)
{
	uint64_t	batch[64];

	for (unsigned round = 0; round < 200; round++)
	{
		for (unsigned i = 0; i < LENGTH(batch); i++)
			batch[i] = random64();
		blx_add(f, batch, LENGTH(batch));
	}
	return f;
}

static void
add_layout(uint8_t layout, const blx_identity *id)
{
	blx_geometry g;
	blx_error	error;

	if (!blx_plan(layout, 100, 0.01, NULL, &g, &error))
	{
		CHECK(false, "%s", error.message);
		return;
	}
	add_filter(blank(&g, id, 0));
	add_filter(with_keys(blank(&g, id, 0), random_hashes(50), 50));
	add_filter(filled(blank(&g, id, 0)));
	if (blx_plan_bits(layout, 512, 1, NULL, &g, &error))
		add_filter(filled(blank(&g, id, 0)));
	if (blx_plan_bits(layout, 8192, 64, NULL, &g, &error))
		add_filter(with_keys(blank(&g, id, 0), random_hashes(50), 50));
}

static void
make_filters(void)
{
	static const blx_identity identities[] = {
		{0, BLX_KEY_NONE, 0, NULL}, {0, 1, 0, NULL}, {7, 4, 0, NULL}, {0, BLX_KEY_HASH, 0, NULL}, {0, BLX_KEY_NAMED, 4, "abcd"}
	};
	static const uint8_t planned[] = {0, BLX_STANDARD, BLX_PARTITIONED, BLX_BLOCKED, BLX_PARTITIONED_BLOCKED, BLX_VARIABLE_BLOCKED, BLX_BINARY_FUSE};
	blx_error	error;

	filters_count = 0;
	for (unsigned i = 0; i < LENGTH(identities); i++)
	{
		for (unsigned layout = BLX_STANDARD; layout < BLX_LAYOUTS; layout++)
			add_layout((uint8_t) layout, &identities[i]);
		for (unsigned j = 0; j < LENGTH(planned); j++)
		{
			blx_geometry g;

			if (planned[j] != 0 && !blx_plan(planned[j], 100, 0.01, NULL, &g, &error))
				continue;
			for (unsigned n = 0; n <= 6; n += 3)	/* empty, some, full: 7 of 8 slots */
				add_filter(open_set(8, planned[j] ? &g : NULL, &identities[i], random_hashes(n + (n == 6)), n + (n == 6)));
		}
	}
}

static bool
is_rate(double rate)
{
	return rate >= 0 && rate <= 1;
}

/* ---- one filter ---- */

static const uint64_t *
fetch(void *arg, uint64_t first, unsigned n)
{
	return blx_fetch_memory(arg, first, n);
}

static void
emit(void *arg, const char *name, double number, const char *text)
{
	(void) arg, (void) number, (void) text;
	CHECK(name != NULL, "a detail without a name");
}

static void
ask(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f),
				other;
	blx_identity id = blx_identity_of(f);
	blx_error	error;
	uint64_t	hashes[64];
	char		name[BLX_MAX_NAME + 1];

	for (unsigned i = 0; i < LENGTH(hashes); i++)
		hashes[i] = random64();
	CHECK(blx_key_type_name(&id, name) != NULL, "a key type without a name");
	CHECK(blx_layout_name(f->layout) != NULL, "a layout without a name");
	CHECK(blx_traits(f->layout) < 32, "traits");
	CHECK(blx_size(f) >= sizeof *f, "%" PRIu64, blx_size(f));
	CHECK(blx_bytes(&g, f->name_len) >= sizeof *f, "%" PRIu64, blx_bytes(&g, f->name_len));
	CHECK(blx_bits_per_key(&g) >= 0 && blx_k(&g) <= BLX_MAX_K, "%g", blx_bits_per_key(&g));
	CHECK(blx_bits_in(f) >= blx_bits_set(f), "%" PRIu64 " of %" PRIu64, blx_bits_set(f), blx_bits_in(f));
	CHECK(blx_geometry_equal(&g, &g), "a geometry equals itself");
	other = blx_unexpanded_geometry(f);
	CHECK(blx_body_words(&other) <= blx_body_words(&g), "unexpanded");
	CHECK(is_rate(blx_fpr(f)), "%s: %g", describe(&g), blx_fpr(f));
	CHECK(blx_cardinality(f) >= 0, "%s: %g", describe(&g), blx_cardinality(f));
	CHECK(blx_compare(f, f) == 0 && blx_value_hash(f, 1) == blx_value_hash(f, 1), "equal to itself");
	blx_details(f, emit, NULL);
	CHECK(blx_test_batch(f, hashes, 64) == blx_test_batch(f, hashes, 64), "tests");
	CHECK(!blx_test(f, hashes[0]) || blx_test_fetched(f, hashes[0], fetch, (void *) (uintptr_t) blx_cwords(f)), "in memory, but not when fetched");
	for (unsigned i = 0; i < LENGTH(numbers); i++)
	{
		CHECK(is_rate(blx_fpr_expected(&g, numbers[i])), "%s, %" PRIu64 " keys: %g", describe(&g), numbers[i], blx_fpr_expected(&g, numbers[i]));
		CHECK(is_rate(blx_fpr_planned(&g, numbers[i])), "%s, %" PRIu64 " keys", describe(&g), numbers[i]);
		CHECK(!(blx_cardinality_error(&g, (double) numbers[i]) < 0), "%s, %" PRIu64 " keys", describe(&g), numbers[i]);
		blx_prefix_geometry(f, (int64_t) numbers[i], &other, &error);
		blx_fold_geometry(f, (int64_t) numbers[i], &other, &error);
	}
	blx_to_bits_geometry(f, &other, &error);
	CHECK(blx_hashes_room(f) <= blx_hashes_slots(f) && blx_hashes_count(f) <= blx_hashes_slots(f) + 1, "a set larger than itself");
	blx_hashes_prefetch(f, 1);
	if (f->layout != BLX_DYNAMIC_BLOCKED)	/* the most expensive formula, 40 times */
		for (unsigned i = 0; i < LENGTH(rates); i++)
			blx_capacity(&g, rates[i]);
}

static void
change(const blx_filter *f)
{
	static const blx_identity identities[] = {{0, BLX_KEY_NONE, 0, NULL}, {9, BLX_KEY_NAMED, 20, "abcdefghijklmnopqrst"}};
	uint64_t	size = blx_size(f);
	blx_geometry g = blx_geometry_of(f),
				other;
	blx_identity id = blx_identity_of(f);
	blx_error	error;
	uint64_t	hashes[64];
	blx_filter *copy = take(size);
	blx_filter *scratch = take(blx_shrink_scratch(f));
	size_t		removed;

	memcpy(copy, f, size);
	for (unsigned i = 0; i < LENGTH(hashes); i++)
		hashes[i] = random64();
	CHECK(blx_add(copy, hashes, 64) <= 64, "more than there are");
	CHECK(blx_check(copy, size, &error), "%s", error.message);
	blx_remove(copy, hashes, 64, &removed, &error);
	memcpy(copy, f, size);
	if (blx_set_all(copy))
		CHECK(blx_test(copy, hashes[0]), "all bits are set");
	memcpy(copy, f, size);
	if (blx_grown(f, &memory_of_tests, &error) != NULL)
	{
		copy = grown(f);
		CHECK(blx_check(copy, blx_size(copy), &error), "%s: %s", describe(&g), error.message);
	}
	/* a sealed filter of keys always has a key type */
	for (unsigned i = blx_is_sealed(f->layout) && blx_cardinality(f) > 0; f->layout != BLX_HASHES && i < LENGTH(identities); i++)
	{
		copy = take(size + 64);
		blx_copy_as(copy, f, &identities[i]);
		CHECK(blx_check(copy, blx_size(copy), &error), "%s", error.message);
	}
	if (g.layout != BLX_HASHES)
	{
		copy = take(blx_bytes(&g, f->name_len));
		blx_init(copy, &g, &id, f->capacity);
		CHECK(blx_check(copy, blx_bytes(&g, f->name_len), &error), "the empty filter of %s: %s", describe(&g), error.message);
	}
	CHECK(blx_to_bits(copy, f) == (f->layout == BLX_COUNTING), "only counters can be dropped");
	for (unsigned i = 0; i < LENGTH(rates); i++)
		if (blx_shrink_geometry(f, rates[i], false, scratch, &other, &error))
			CHECK(blx_geometry_check(&other, &error), "%s", error.message);
	copy = imported(exported(f).data, exported(f).length, &error);
	CHECK(copy != NULL && blx_compare(copy, f) == 0, "not the same when it comes back");
}

static void
one_by_one(void)
{
	TEST("every filter can be asked everything, and changed in every way")
	{
		make_filters();
		for (unsigned i = 0; i < filters_count; i++)
		{
			size_t		before = taken_count;

			if (i % 3 == 0)
				change(filters[i]);
			ask(filters[i]);
			while (taken_count > before)
				free(taken[--taken_count]);
		}
		note("%u filters", filters_count);
		release();
	}
}

/* ---- two filters ---- */

static void
pair(const blx_filter *a, const blx_filter *b)
{
	blx_geometry g;
	blx_identity id = blx_identity_of(a),
				other = blx_identity_of(b);
	blx_error	error;
	uint64_t	bytes;
	bool		certain;
	blx_filter *f = take(blx_size(a));

	blx_identity_check(&id, "a", &other, "b", &error);
	CHECK((blx_compare(a, b) > 0) == (blx_compare(b, a) < 0), "an order");
	if (blx_combined_geometry(BLX_UNION, a, b, &g, &error))
		CHECK(blx_geometry_check(&g, &error), "%s", error.message);
	if (blx_combined_geometry(BLX_INTERSECTION, a, b, &g, &error))
		CHECK(blx_geometry_check(&g, &error), "%s", error.message);
	blx_common_geometry(a, b, &g, &error);
	blx_disjoint(a, b, &certain, &error);
	if (blx_union_bytes(a, b, id.name_len, &bytes, &error))
	{
		blx_filter *both = take(bytes);

		blx_union(both, bytes, a, b, &id);
		CHECK(blx_check(both, bytes, &error), "%s", error.message);
	}
	memcpy(f, a, blx_size(a));
	blx_or_into(f, b);
	blx_and_into(f, b);
	blx_add_set(f, b);
	CHECK(blx_hashes_union_count(a, b) >= blx_hashes_count(a), "fewer than in one");
}

static void
in_pairs(void)
{
	TEST("any two filters: combined, or refused")
	{
		make_filters();
		for (unsigned i = 0; i < 20u * ROUNDS; i++)
		{
			size_t		before = taken_count;

			pair(filters[random64() % filters_count], filters[random64() % filters_count]);
			while (taken_count > before)
				free(taken[--taken_count]);
		}
		release();
	}
}

/* ---- plans ---- */

static void
planning(void)
{
	static const double values[] = {-INFINITY, -1, 0, 0.5, 1, 2, 3, 64, 65, 512, 513, 1e18, 1e300, INFINITY, NAN};

	TEST("a plan of anything is a sound geometry or an error, whatever the layout's number")
	for (unsigned layout = 0; layout < 256; layout++)
	{
		blx_geometry g;
		blx_error	error = {0};
		bool		known = layout >= BLX_STANDARD && layout < BLX_LAYOUTS;
		blx_options options = blx_default_options((uint8_t) layout);

		CHECK(blx_layout_name((uint8_t) layout) != NULL, "%u", layout);
		for (unsigned i = 0; i < (known ? LENGTH(numbers) : 2); i++)
			for (unsigned j = 0; j < LENGTH(rates); j++)
			{
				if (blx_plan((uint8_t) layout, numbers[i], rates[j], j % 2 ? NULL : &options, &g, &error))
					CHECK(known && blx_geometry_check(&g, &error) && blx_fpr_planned(&g, numbers[i]) < rates[j] * (1 + 1e-9), "%s", describe(&g));
				else
					CHECK(error.code != BLX_OK && error.message[0] != '\0', "no reason");
				if (blx_plan_within((uint8_t) layout, numbers[(i + j) % LENGTH(numbers)], numbers[i], rates[j], &g))
					CHECK(known && blx_geometry_check(&g, &error), "%s", describe(&g));
				if (blx_plan_bytes(numbers[i], rates[j], &g, &error))
					CHECK(blx_geometry_check(&g, &error), "%s", describe(&g));
			}
		for (unsigned i = 0; i < LENGTH(numbers); i++)
			for (unsigned j = 0; j < LENGTH(values); j++)
				if (blx_plan_bits((uint8_t) layout, (int64_t) numbers[i], values[j], NULL, &g, &error))
					CHECK(known && blx_geometry_check(&g, &error), "%s", describe(&g));
		CHECK(blx_parse_options((uint8_t) layout, "", &options, &error) == known, "layout %u", layout);
		for (unsigned operation = 0; operation < 10; operation++)
			blx_check_operation((uint8_t) layout, (enum blx_operation) operation, &error);
	}

	TEST("an option that is out of range is refused, also where nobody parsed it")
	for (unsigned layout = BLX_STANDARD; layout < BLX_LAYOUTS; layout++)
		for (unsigned option = 0; option < BLX_OPTIONS; option++)
			for (unsigned i = 0; i < LENGTH(values); i++)
			{
				blx_options options = blx_default_options((uint8_t) layout);
				blx_geometry g;
				blx_error	error;

				options.value[option] = values[i];
				if (blx_plan((uint8_t) layout, 100, 0.01, &options, &g, &error))
					CHECK(blx_geometry_check(&g, &error), "%s: %s", describe(&g), error.message);
				if (blx_plan_bits((uint8_t) layout, 100000, 4, &options, &g, &error))
					CHECK(blx_geometry_check(&g, &error), "%s: %s", describe(&g), error.message);
			}

	TEST("a geometry of any numbers is refused or has a rate")
	for (unsigned round = 0; round < 20u * ROUNDS; round++)
	{
		blx_geometry g = {
			.layout = (uint8_t) random_between(0, 14), .blocks = (uint32_t) numbers[random64() % LENGTH(numbers)],
			.parts = (uint16_t) numbers[random64() % LENGTH(numbers)], .probes = (uint16_t) numbers[random64() % LENGTH(numbers)],
			.part_bits = numbers[random64() % LENGTH(numbers)], .hashing = (uint8_t) random_between(0, 5),
			.fraction = one_in(2) ? 0 : (uint16_t) random64(),
			.parameters = {numbers[random64() % LENGTH(numbers)], numbers[random64() % LENGTH(numbers)], numbers[random64() % LENGTH(numbers)]},
		};
		uint64_t	n = numbers[random64() % LENGTH(numbers)];
		blx_error	error;
		bool		sound = blx_geometry_check(&g, &error);
		double		rate = blx_fpr_expected(&g, n);

		CHECK(sound || g.layout == 0 ? is_rate(rate) : isnan(rate), "%s: %g", describe(&g), rate);
		blx_fpr_planned(&g, n);
		blx_cardinality_error(&g, (double) n);
		blx_capacity(&g, NAN);
	}
}

/* ---- formulas ---- */

static void
formulas(void)
{
	static const double counts[] = {0, 1, 2, 3, 10, 63, 64, 65, 1000, 1e6, 1e9, 1e12, 4294967296., 9223372036854775807.};
	static const unsigned ks[] = {1, 2, 3, 8, 31, 63, 64};

	TEST("every formula is a probability, for any numbers")
	for (unsigned i = 0; i < LENGTH(counts); i++)
		for (unsigned j = 1; j < LENGTH(counts); j++)
			for (unsigned l = 0; l < LENGTH(ks); l++)
			{
				double		n = counts[i],
							m = counts[j];
				unsigned	k = ks[l];

				CHECK(is_rate(blx_fpr_approx(n, m, k)), "%g, %g, %u: %.17g", n, m, k, blx_fpr_approx(n, m, k));
				CHECK(m < 2 || is_rate(blx_fpr_goel_gupta(n, m, k)), "%g, %g, %u", n, m, k);
				CHECK(is_rate(blx_fpr_standard(n, (uint64_t) fmin(m, 0x1p63), k)), "%g, %g, %u", n, m, k);
				CHECK(m < k || is_rate(blx_fpr_partitioned(n, m, k)), "%g, %g, %u", n, m, k);
				for (unsigned d = 1; d <= k && d <= m; d++)
					CHECK(is_rate(blx_fpr_element(n, m, k, d)), "%g, %g, %u, %u: %.17g", n, m, k, d, blx_fpr_element(n, m, k, d));
				CHECK(is_rate(blx_fpr_rational(n, m, k)) && (k == 64 || is_rate(blx_fpr_rational(n, m, k + 0.3))), "%g, %g, %u", n, m, k);
				for (unsigned c = 0; c < k; c++)
					CHECK(is_rate(blx_collisions(m, k, c)), "%g, %u, %u: %.17g", m, k, c, blx_collisions(m, k, c));
				for (unsigned o = 0; o < LENGTH(counts); o++)
				{
					CHECK(is_rate(blx_overlap_standard(m, k, n, counts[o])), "%g, %u, %g, %g: %.17g", m, k, n, counts[o], blx_overlap_standard(m, k, n, counts[o]));
					CHECK(m < k || is_rate(blx_overlap_partitioned(m, k, n, counts[o])), "%g, %u, %g, %g", m, k, n, counts[o]);
				}
				for (unsigned e = 0; e <= 24; e += 8)
					CHECK(is_rate(blx_fpr_blocked((uint64_t) fmin(n, 0x1p63), (uint64_t) fmin(m, 0x1p63), UINT64_C(1) << e, k)), "%g, %g, 2^%u, %u", n, m, e, k);
				CHECK(is_rate(blx_fpr_partitioned_blocked((uint64_t) fmin(n, 0x1p63), UINT32_C(1) << (i + j), k)), "%g, 2^%u, %u", n, i + j, k);
				CHECK(is_rate(blx_fpr_age_partitioned(k, i * j, i % 2)), "%u, %u", k, i * j);
			}

	TEST("many loads: every so many of them stand for all")
	for (unsigned log2 = 12; log2 <= 24; log2 += 2)
		for (unsigned k = 1; k <= 8; k += 7)
		{
			/* two blocks of half the bits; a load that is left out changes nothing that counts */
			uint64_t	bits = UINT64_C(1) << log2;
			double		blocked = blx_fpr_blocked((uint64_t) ((double) bits * 2 * 0.7 / k), 2, bits, k),
						standard = blx_fpr_standard(floor((double) bits * 0.7 / k), bits, k);

			CHECK(fabs(blocked / standard - 1) < 40. * k / (double) bits, "2^%u bits, k = %u: %.12g, %.12g", log2, k, blocked, standard);
		}

	TEST("the standard analysis: Table 1 of the paper")
	{
		static const struct
		{
			unsigned	m,
						k,
						n;
			double		approx,
						standard,
						partitioned;
		}			table[] = {
			{512, 4, 88, 0.06126247, 0.06148344, 0.06176528}, {512, 8, 44, 0.00375309, 0.00381650, 0.00389940},
			{512, 16, 22, 0.00001409, 0.00001513, 0.00001661}, {4096, 4, 709, 0.06233016, 0.06235819, 0.06239353},
			{4096, 8, 354, 0.00385474, 0.00386284, 0.00387308}, {4096, 16, 177, 0.00001486, 0.00001499, 0.00001516},
			{64, 4, 11, 0.06244514, 0.06423247, 0.06676410}, {64, 8, 5, 0.00227672, 0.00260362, 0.00316870},
		};

		for (unsigned i = 0; i < LENGTH(table); i++)
		{
			double		approx = blx_fpr_approx(table[i].n, table[i].m, table[i].k),
						standard = blx_fpr_standard(table[i].n, table[i].m, table[i].k),
						partitioned = blx_fpr_partitioned(table[i].n, table[i].m, table[i].k);

			CHECK(fabs(approx - table[i].approx) < 5.1e-9, "m = %u, k = %u: %.8f", table[i].m, table[i].k, approx);
			CHECK(fabs(standard - table[i].standard) < 5.1e-9, "m = %u, k = %u: %.8f", table[i].m, table[i].k, standard);
			CHECK(fabs(partitioned - table[i].partitioned) < 5.1e-9, "m = %u, k = %u: %.8f", table[i].m, table[i].k, partitioned);
		}
	}
}

int
main(void)
{
	random_seed(77);
	one_by_one();
	in_pairs();
	planning();
	formulas();
	return report();
}
