/*
 * exercise.h - every operation of the core on one filter that came from
 * outside.  Whatever the filter's bits are, no operation may touch memory that
 * is not its own, run forever or break a promise of the filter.
 */
#ifndef EXERCISE_H
#define EXERCISE_H

#include "filters.h"

static inline void
exercise_set(const blx_filter *f)
{
	uint64_t	cursor = 0,
				batch[7],
				last = 0,
				count = 0;
	size_t		n;
	blx_geometry planned = blx_geometry_of(f),
				g = {BLX_PARTITIONED_BLOCKED, 4, 8, 1, 64};
	blx_identity id = blx_identity_of(f);
	blx_filter *filter;
	blx_error	error;

	while ((n = blx_hashes_next(f, &cursor, batch, LENGTH(batch))) > 0)
	{
		count += n;
		last = batch[n - 1];
	}
	CHECK(count == blx_hashes_count(f), "%" PRIu64 " hashes of %" PRIu64, count, blx_hashes_count(f));
	CHECK(count == 0 || blx_test(f, last), "a member is not found");
	for (int i = 0; i < 10; i++)
		blx_test(f, random64());
	CHECK(blx_cardinality(f) == (double) count && blx_fpr(f) == 0, "a set is exact");
	CHECK(blx_compare(f, f) == 0, "equal to itself");
	blx_value_hash(f, 1);

	/* pour the set only into small plans */
	if (f->pending == 0 || blx_bytes(&planned, 0) > 1 << 20)
		planned = g;
	CHECK(blx_geometry_check(&planned, &error), "%s", error.message);
	filter = blank(&planned, &id, f->capacity);
	blx_add_set(filter, f);
	CHECK(count == 0 || blx_test(filter, last), "a member was not poured");
}

/* Counters with any contents: removing keys is safe, and estimates of the counters are those of the bits. */
static inline void
exercise_counters(blx_filter *f, const uint64_t *keys, size_t n)
{
	blx_filter *plain = bits_of(f);
	size_t		removed;
	blx_error	error;

	CHECK(blx_bits_set(plain) == blx_bits_set(f) && blx_fpr(plain) == blx_fpr(f), "other rates without the counters");
	CHECK(blx_remove(f, keys, n, &removed, &error) && removed == n, "%zu of %zu keys removed", removed, n);
	CHECK(blx_remove(f, new_hashes(100), 100, &removed, &error) && removed <= 100, "%s", error.message);
	for (size_t i = 0; i < n; i++)
		CHECK(blx_test(plain, keys[i]), "the bits lost a key");
}

/* Number of the n keys added last that the layout promises to find. */
static inline size_t
newest_kept(const blx_geometry *g, size_t n)
{
	uint64_t	window;

	if (g->layout != BLX_AGE_PARTITIONED)
		return n;
	window = (g->parts - g->parameters[0]) * g->parameters[1];
	return window < n ? window : n;
}

static inline void
ignore_detail(void *arg, const char *name, double number, const char *text)
{
	(void) arg;
	(void) text;
	CHECK(name[0] != '\0' && !isnan(number), "detail %s = %g", name, number);
}

/* A chain with any stages: it takes keys, unites and keeps growing. */
static inline void
exercise_chain(blx_filter *f)
{
	uint64_t	hashes[100];
	blx_filter *joint;
	uint64_t	bytes;
	bool		certain;
	blx_error	error;

	for (size_t i = 0; i < LENGTH(hashes); i++)
		hashes[i] = i == 0 ? 0 : i == 1 ? UINT64_MAX : random64();
	if (blx_add(f, hashes, 1) == 0 && blx_grown(f, &memory_of_tests, &error) == NULL)
		return;
	blx_details(f, ignore_detail, NULL);
	f = with_keys(f, hashes, LENGTH(hashes));
	CHECK(blx_cardinality(f) >= 0, "%g keys", blx_cardinality(f));
	CHECK(blx_check(f, blx_size(f), &error), "grown: %s", error.message);
	if (blx_union_bytes(f, f, f->name_len, &bytes, &error))
		CHECK(blx_compare(united(f, f), united(f, f)) == 0, "f | f");
	joint = built(&(blx_geometry) {BLX_SCALABLE, 4, 3, 1, 64, .parameters = {2, 32768}}, 0, NULL, 0);
	joint = with_keys(joint, hashes, LENGTH(hashes));
	joint->seed = f->seed;
	CHECK(blx_disjoint(f, joint, &certain, &error) && !certain, "disjoint from its own keys");
	if (blx_union_bytes(f, joint, f->name_len, &bytes, &error))
	{
		joint = united(f, joint);
		CHECK(blx_check(joint, blx_size(joint), &error), "united: %s", error.message);
		for (size_t i = 0; i < LENGTH(hashes); i++)
			CHECK(blx_test(joint, hashes[i]), "the union lost a key");
	}
}

/*
 * tidy: spare bits and the padding of the name are known to be 0, as the import
 * guarantees.  In memory they are not checked.  Then the answers may be odd, but
 * every operation is still safe.
 */
/* A sealed filter takes no keys, and does not combine.  Its slots may be anything: a prefix says yes to what it says yes to. */
static inline void
exercise_sealed(const blx_filter *f)
{
	uint64_t	hash = random64();
	uint32_t	value;
	blx_geometry g;
	blx_error	error;
	bool		found;
	blx_filter *small;

	CHECK(!blx_unite(f, f, NULL, &error) && !blx_intersect(f, f, NULL, &error), "united");
	CHECK(blx_fpr(f) >= 0 && blx_fpr(f) <= 1 && blx_cardinality(f) >= 0, "%g", blx_fpr(f));
	if (blx_get(f, hash, &found, &value, &error))
		CHECK(found == blx_test(f, hash), "found, or not");
	for (int64_t parts = f->parts; blx_prefix_geometry(f, parts, &g, &error); parts -= 7)
	{
		small = prefix(f, parts);
		CHECK(blx_check(small, blx_size(small), &error), "%s", error.message);
		CHECK(!blx_test(f, hash) || blx_test(small, hash), "a prefix that says no");
	}
	CHECK(!blx_fold_geometry(f, 1, &g, &error), "folded");
	blx_shrink_geometry(f, 0.5, false, take(blx_shrink_scratch(f)), &g, &error);
}

static inline void
exercise_filter(blx_filter *f, bool tidy)
{
	blx_geometry g = blx_geometry_of(f),
				h;
	blx_identity id = blx_identity_of(f);
	uint64_t	hashes[20];
	bool		certain,
				counting = f->layout == BLX_COUNTING;
	double		fpr = blx_fpr(f);
	blx_error	error;
	char		name[BLX_MAX_NAME + 1];

	CHECK(blx_geometry_check(&g, &error), "%s", error.message);
	CHECK(blx_key_type_name(&id, name) != NULL, "a key type without a name");
	CHECK(blx_layout_name(g.layout) != NULL, "a layout without a name");
	CHECK(fpr >= 0 && (fpr <= 1 + 1e-9 || !tidy), "rate %g of %s", fpr, describe(&g));
	CHECK(blx_bits_set(f) <= blx_bits_in(f) || !tidy, "%s", describe(&g));
	CHECK(blx_fpr_expected(&g, 100) <= 1 + 1e-9 && blx_fpr_expected(&g, 100) >= 0, "%s: %g", describe(&g), blx_fpr_expected(&g, 100));
	CHECK(blx_cardinality_error(&g, 10) >= 0, "%s: %g", describe(&g), blx_cardinality_error(&g, 10));
	CHECK(blx_compare(f, f) == 0, "equal to itself");
	blx_value_hash(f, 1);

	for (size_t i = 0; i < LENGTH(hashes); i++)
	{
		hashes[i] = i == 0 ? 0 : i == 1 ? UINT64_MAX : random64();
		blx_test(f, hashes[i]);
	}
	if (f->layout == BLX_SCALABLE)
	{
		exercise_chain(f);
		return;
	}
	blx_details(f, ignore_detail, NULL);
	if (blx_is_sealed(f->layout))
	{
		exercise_sealed(f);
		return;
	}
	f = with_keys(f, hashes, LENGTH(hashes));
	for (size_t i = LENGTH(hashes) - newest_kept(&g, LENGTH(hashes)); i < LENGTH(hashes); i++)
		CHECK(blx_test(f, hashes[i]), "%s lost a key", describe(&g));
	blx_details(f, ignore_detail, NULL);

	if (g.layout == BLX_AGE_PARTITIONED)	/* does not combine */
	{
		CHECK(blx_cardinality(f) >= 0, "%s", describe(&g));
		return;
	}
	if (blx_traits(g.layout) & BLX_UNBOUNDED)
	{
		blx_filter *joint = united(f, f);

		for (size_t i = 0; i < LENGTH(hashes); i++)
			CHECK(blx_test(joint, hashes[i]), "%s lost a key", describe(&g));
		CHECK(blx_cardinality(f) >= 0, "%s", describe(&g));
		return;
	}

	h = blx_unexpanded_geometry(f);
	if (CHECK(blx_geometry_check(&h, &error), "unexpanded: %s", error.message))
		CHECK(blx_cardinality(resized(f, &h)) >= 0, "%s", describe(&g));

	prefix(f, (1 + g.parts) / 2);
	if (counting)
	{
		CHECK(blx_compare(bits_of(union_of(f, f)), bits_of(f)) == 0, "%s: f | f", describe(&g));
		CHECK(!blx_combined_geometry(BLX_INTERSECTION, f, f, &h, &error), "%s: f & f", describe(&g));
		exercise_counters(f, hashes, LENGTH(hashes));
		blx_add(f, hashes, LENGTH(hashes));
	}
	else
	{
		CHECK(identical(union_of(f, f), f) || f->pending != 0 || !tidy, "%s: f | f", describe(&g));
		CHECK(identical(intersection_of(f, f), f) || f->pending != 0 || !tidy, "%s: f & f", describe(&g));
	}
	CHECK(blx_disjoint(f, f, &certain, &error) && !certain, "%s is not disjoint from itself", describe(&g));
	if (!resizes(&g) && g.hashing == BLX_INDEPENDENT)
	{
		CHECK(!blx_shrink_geometry(f, 0.5, false, take(blx_shrink_scratch(f)), &h, &error), "shrink %s", describe(&g));
		return;
	}

	/* combine it with a relative of another size */
	{
		blx_filter *relative = most_folds(f) > 0 ? folded(f, most_folds(f) / 2) : f;

		relative = prefix(relative, 1 + relative->parts / 3);
		CHECK(!certainly_disjoint(f, relative) && !certainly_disjoint(relative, f), "%s", describe(&g));
		CHECK(blx_common_geometry(f, relative, &h, &error), "%s", error.message);
		for (int i = 0; i < 2 - counting; i++)
		{
			blx_filter *joint = i == 0 ? union_of(f, relative) : intersection_of(relative, f);

			for (size_t j = 0; j < LENGTH(hashes); j++)
				CHECK(blx_test(joint, hashes[j]), "%s lost a key", describe(&g));
		}
		if (blx_shrink_geometry(f, 0.5, false, take(blx_shrink_scratch(f)), &h, &error))
			CHECK(blx_fpr(resized(f, &h)) <= 0.5, "shrink %s", describe(&g));
	}
}

/*
 * Arbitrary bytes: they are refused with a message, or they are a filter on which
 * every operation is safe and whose export has the same bytes.  Returns true if
 * they were accepted.
 */
static inline bool
exercise_bytes(const uint8_t *data, uint64_t length)
{
	blx_error	error = {.code = BLX_OK};
	blx_filter *f = imported(data, length, &error);

	if (f == NULL)
	{
		CHECK(error.code != BLX_OK && error.message[0] != '\0', "refused without a message");
		return false;
	}
	CHECK(blx_check(f, blx_size(f), &error), "imported, but not valid: %s", error.message);
	CHECK(bytes_equal(exported(f), (bytes) {(uint8_t *) data, length}), "the export differs from the import");
	if (f->layout == BLX_HASHES)
		exercise_set(f);
	else
		exercise_filter(f, true);
	return true;
}

#endif							/* EXERCISE_H */
