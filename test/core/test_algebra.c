/*
 * test_algebra.c - the algebra of filters (docs/internals/design.md, "The algebra"), on
 * random geometries and random keys.
 *
 * The yardstick is never the algebra itself: a folded, cut or united filter
 * must equal, byte for byte, the filter to which the keys were added directly.
 */
#include "filters.h"

/* A random filter and its keys. */
typedef struct sample
{
	int			number;
	uint8_t		layout;
	blx_geometry g;
	size_t		n;
	uint64_t   *keys;
	blx_filter *f;
} sample;

static bool
next_sample(sample *s)
{
	int			number = s->number++;

	release();
	if (number == ROUNDS * (int) LENGTH(static_layouts))
		return false;
	s->layout = static_layouts[number / ROUNDS];
	s->g = random_geometry(s->layout);
	s->n = random_between(0, 400);
	s->keys = random_hashes(s->n);
	s->f = built(&s->g, 7, s->keys, s->n);
	return true;
}

#define EACH_RANDOM_FILTER(s) for (sample s = {0}; next_sample(&s);)

static size_t
missing(const blx_filter *f, const uint64_t *keys, size_t n)
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
		count += !blx_test(f, keys[i]);
	return count;
}

/* Disjointness by its definition, on the bits of a & b: true if in some group every block has an empty part. */
static bool
provably_disjoint(const blx_filter *a, const blx_filter *b)
{
	unsigned	parts = a->parts < b->parts ? a->parts : b->parts;
	const blx_filter *both = intersection_of(has_parts(a->layout) ? prefix(a, parts) : a,
											 has_parts(a->layout) ? prefix(b, parts) : b);
	const uint64_t *word = blx_cwords(both);
	uint64_t	part_words = (both->part_bits + 63) / 64;

	if (both->layout == BLX_VARIABLE_BLOCKED)
	{
		uint64_t	first = 0,
					k = (uint64_t) both->probes << 16 | both->fraction;
		int			top = 63 - __builtin_clzll(both->part_bits);

		/* a block in which every key has a bit, but the filters have no bit in common */
		for (int log2 = top; log2 >= 0; log2--)
		{
			bool		empty = true;

			if (!(both->part_bits >> log2 & 1))
				continue;
			for (uint64_t bit = first; bit < first + (UINT64_C(1) << log2); bit++)
				empty &= !(word[bit / 64] >> bit % 64 & 1);
			if (empty && k >> (top - log2) >= 65536)
				return true;
			first += UINT64_C(1) << log2;
		}
		return false;
	}
	if (both->layout == BLX_PARTITIONED_BLOCKED)
	{
		for (unsigned first = 0; first < parts; first += 8)
		{
			unsigned	group_parts = parts - first < 8 ? parts - first : 8;
			bool		each_lacks = true;

			for (uint64_t block = 0; block < both->blocks; block++)
			{
				bool		lacks = false;

				for (unsigned j = 0; j < group_parts; j++)
					lacks |= *word++ == 0;
				each_lacks &= lacks;
			}
			if (each_lacks)
				return true;
		}
		return false;
	}
	if (both->layout == BLX_RATIONAL && both->probes == 0)
		return false;			/* some keys have no bit */
	/* flat and blocked layouts: a part in which the filters have no bit in common, in any block */
	for (unsigned part = 0; part < parts; part++)
	{
		bool		empty = true;

		for (uint64_t i = 0; i < both->blocks * part_words; i++)
			empty &= *word++ == 0;
		if (empty)
			return true;
	}
	return false;
}

static void
membership(void)
{
	TEST("a filter has every key that was added, in one call or in many, in any order")
	EACH_RANDOM_FILTER(s)
	{
		blx_filter *backwards = blank(&s.g, &no_identity, 7);

		CHECK(missing(s.f, s.keys, s.n) == 0, "%s with %zu keys", describe(&s.g), s.n);
		for (size_t i = s.n; i-- > 0;)
			blx_add(backwards, &s.keys[i], 1);
		CHECK(identical(s.f, backwards), "%s with %zu keys", describe(&s.g), s.n);
	}

	TEST("an empty filter has no key, unless some keys have no bit (rational, k below 1)")
	EACH_RANDOM_FILTER(s)
	{
		blx_filter *empty = blank(&s.g, &no_identity, 0);
		double		k = blx_bits_per_key(&s.g);

		CHECK(k < 1 || missing(empty, s.keys, s.n) == s.n, "%s", describe(&s.g));
		CHECK(blx_bits_set(empty) == 0 && blx_cardinality(empty) == 0 && blx_fpr(empty) == fmax(0, 1 - k), "%s", describe(&s.g));
	}
}

static void
folds(void)
{
	TEST("fold: the filter that fewer blocks, or shorter parts, would have given")
	EACH_RANDOM_FILTER(s)
	{
		for (int times = 0; times <= most_folds(s.f) && resizes(&s.g); times++)
		{
			blx_filter *small = folded(s.f, times);
			blx_geometry h = blx_geometry_of(small);

			CHECK(resolution_of(&h) << times == resolution_of(&s.g), "%s", describe(&h));
			CHECK(identical(small, built(&h, 7, s.keys, s.n)), "%s folded %d times", describe(&s.g), times);
		}
	}

	TEST("fold: only as often as the resolution halves evenly, and only in layouts that fold")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h;
		blx_error	error;

		CHECK(!blx_fold_geometry(s.f, resizes(&s.g) ? most_folds(s.f) + 1 : 1, &h, &error), "%s", describe(&s.g));
		CHECK(error.code == (resizes(&s.g) ? BLX_INVALID_PARAMETER : BLX_UNSUPPORTED), "%s", error.message);
		CHECK(!blx_fold_geometry(s.f, -1, &h, &error), "%s", describe(&s.g));
		CHECK(!blx_fold_geometry(s.f, INT64_MAX, &h, &error), "%s", describe(&s.g));
		CHECK(!blx_fold_geometry(s.f, INT64_MIN, &h, &error), "%s", describe(&s.g));
	}

	TEST("prefix: the filter that fewer parts would have given")
	EACH_RANDOM_FILTER(s)
	{
		unsigned	parts = (unsigned) random_between(1, pieces(&s.g));
		blx_geometry h = first_pieces(s.g, parts);
		blx_error	error;

		CHECK(identical(prefix(s.f, parts), built(&h, 7, s.keys, s.n)), "%s cut to %u parts", describe(&s.g), parts);
		CHECK(!blx_prefix_geometry(s.f, 0, &h, &error) && error.code == BLX_INVALID_PARAMETER, "0 parts");
		CHECK(!blx_prefix_geometry(s.f, pieces(&s.g) + 1, &h, &error), "more parts than there are");
		CHECK(!blx_prefix_geometry(s.f, INT64_C(0x10000) + 1, &h, &error), "does not wrap round");
		CHECK(!blx_prefix_geometry(s.f, -1, &h, &error), "negative");
	}

	TEST("fold and prefix commute, and folding twice is folding by the sum")
	EACH_RANDOM_FILTER(s)
	{
		if (!resizes(&s.g))
			continue;
		int			times = (int) random_between(0, (uint64_t) most_folds(s.f));
		int			first = (int) random_between(0, (uint64_t) times);
		unsigned	parts = (unsigned) random_between(1, s.g.parts);

		CHECK(identical(prefix(folded(s.f, times), parts), folded(prefix(s.f, parts), times)), "%s", describe(&s.g));
		CHECK(identical(folded(folded(s.f, first), times - first), folded(s.f, times)), "%s", describe(&s.g));
	}
}

static void
expansion(void)
{
	TEST("expand: answers every query as before, and folds back to the same bytes")
	EACH_RANDOM_FILTER(s)
	{
		if (!resizes(&s.g))
			continue;
		blx_geometry h = s.g;
		int			times = (int) random_between(1, 5);
		blx_filter *large;

		h = finer(h, times);
		large = union_of(s.f, blank(&h, &no_identity, 0));
		CHECK(large->expanded == times, "%s expanded %d times says %u", describe(&s.g), times, large->expanded);
		for (int i = 0; i < 200; i++)
		{
			uint64_t	probe = random64();

			CHECK(blx_test(large, probe) == blx_test(s.f, probe), "%s expanded %d times", describe(&s.g), times);
		}
		CHECK(missing(large, s.keys, s.n) == 0, "%s", describe(&s.g));
		CHECK(identical(folded(large, times), s.f), "%s expanded %d times", describe(&s.g), times);
		h = blx_unexpanded_geometry(large);
		CHECK(blx_geometry_equal(&h, &s.g), "%s unexpanded to %s", describe(&s.g), describe(&h));
		CHECK(blx_cardinality(large) == blx_cardinality(s.f), "%s expanded %d times: %g keys, not %g", describe(&s.g), times,
			  blx_cardinality(large), blx_cardinality(s.f));
	}
}

static void
unions(void)
{
	TEST("union: at the common geometry, the filter of both key sets; equal geometries need no fold")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = one_in(3) ? s.g : random_relative(&s.g),
					common,
					joint;
		size_t		n2 = random_between(0, 400);
		uint64_t   *keys2 = random_hashes(n2);
		blx_filter *b = built(&h, 9, keys2, n2);
		blx_filter *u = union_of(s.f, b);
		blx_filter *direct;
		blx_error	error;

		CHECK(missing(u, s.keys, s.n) + missing(u, keys2, n2) == 0, "%s | %s", describe(&s.g), describe(&h));
		if (s.g.layout == BLX_VARIABLE_BLOCKED)	/* has none, as it is not compared; its unions are of equal geometries */
			continue;
		if (!CHECK(blx_common_geometry(s.f, b, &common, &error), "%s", error.message))
			continue;
		direct = built(&common, 9, s.keys, s.n);
		blx_add(direct, keys2, n2);
		CHECK(identical(resized(u, &common), direct), "%s | %s at %s", describe(&s.g), describe(&h), describe(&common));
		if (blx_geometry_equal(&s.g, &h))
			CHECK(identical(u, direct), "%s", describe(&s.g));

		/* the finer resolution, the fewer parts */
		joint = blx_geometry_of(u);
		CHECK(joint.parts == (s.g.parts < h.parts ? s.g.parts : h.parts), "%s", describe(&joint));
		if (resizes(&s.g))
			CHECK(resolution_of(&joint) == (resolution_of(&s.g) > resolution_of(&h) ? resolution_of(&s.g) : resolution_of(&h)),
				  "%s", describe(&joint));
	}

	TEST("union: answers yes exactly where a finer union of the parts would; never less than either")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = random_relative(&s.g);
		size_t		n2 = random_between(0, 400);
		blx_filter *b = built(&h, 9, random_hashes(n2), n2);
		blx_filter *u = union_of(s.f, b);

		for (int i = 0; i < 100; i++)
		{
			uint64_t	probe = random64();

			CHECK(blx_test(u, probe) || !(blx_test(s.f, probe) || blx_test(b, probe)), "%s | %s", describe(&s.g), describe(&h));
		}
	}

	TEST("union: commutative, associative, idempotent, an empty filter of the same geometry is neutral")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = random_relative(&s.g),
					i = random_relative(&s.g);
		blx_filter *b = built(&h, 9, random_hashes(50), 50);
		blx_filter *c;
		blx_geometry joint;
		blx_error	error;

		/* three random part sizes are not always related by powers of two */
		c = built(&i, 8, random_hashes(50), 50);
		if (!blx_combined_geometry(BLX_UNION, b, c, &joint, &error))
			continue;
		CHECK(identical(union_of(s.f, b), union_of(b, s.f)), "%s | %s", describe(&s.g), describe(&h));
		CHECK(identical(union_of(union_of(s.f, b), c), union_of(s.f, union_of(b, c))),
			  "%s | %s | %s", describe(&s.g), describe(&h), describe(&i));
		CHECK(identical(union_of(s.f, s.f), s.f), "%s", describe(&s.g));
		CHECK(identical(union_of(s.f, blank(&s.g, &no_identity, 0)), s.f), "%s", describe(&s.g));
	}
}

static void
intersections(void)
{
	TEST("intersection: answers yes exactly when both filters do, whatever their sizes")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = one_in(3) ? s.g : random_relative(&s.g);
		size_t		n2 = random_between(0, 400),
					shared = s.n < n2 ? s.n / 2 : n2 / 2;
		uint64_t   *keys2 = random_hashes(n2);
		blx_filter *b,
				   *both,
				   *made;
		blx_error	error;

		memcpy(keys2, s.keys, 8 * shared);
		b = built(&h, 9, keys2, n2);
		both = intersection_of(s.f, b);
		made = blx_intersect(s.f, b, NULL, &error);
		CHECK(made != NULL && identical(made, both), "%s & %s", describe(&s.g), describe(&h));
		blx_free(made, NULL);
		CHECK(missing(both, s.keys, shared) == 0, "%s & %s", describe(&s.g), describe(&h));
		for (int i = 0; i < 300; i++)
		{
			uint64_t	probe = i < 100 && s.n > 0 ? s.keys[(size_t) i % s.n] : i < 200 && n2 > 0 ? keys2[(size_t) i % n2] : random64();

			CHECK(blx_test(both, probe) == (blx_test(s.f, probe) && blx_test(b, probe)), "%s & %s", describe(&s.g), describe(&h));
		}
	}

	TEST("intersection: commutative, associative, idempotent; spare bits stay 0")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = random_relative(&s.g),
					i = random_relative(&s.g);
		blx_filter *b = built(&h, 9, random_hashes(50), 50);
		blx_filter *c = built(&i, 8, random_hashes(50), 50);
		blx_geometry joint;
		blx_error	error;
		bytes		wire;

		if (!blx_combined_geometry(BLX_UNION, b, c, &joint, &error))
			continue;
		CHECK(identical(intersection_of(s.f, b), intersection_of(b, s.f)), "%s & %s", describe(&s.g), describe(&h));
		CHECK(identical(intersection_of(intersection_of(s.f, b), c), intersection_of(s.f, intersection_of(b, c))),
			  "%s & %s & %s", describe(&s.g), describe(&h), describe(&i));
		CHECK(identical(intersection_of(s.f, s.f), s.f), "%s", describe(&s.g));
		wire = exported(intersection_of(s.f, b));
		CHECK(imported(wire.data, wire.length, &error) != NULL, "%s: %s", describe(&s.g), error.message);
	}
}

static void
disjointness(void)
{
	TEST("disjoint: never certain when there is a common key")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = one_in(3) ? s.g : random_relative(&s.g);
		size_t		n2 = random_between(1, 30);
		uint64_t   *keys2 = random_hashes(n2);

		if (s.n == 0)
			continue;
		keys2[n2 - 1] = s.keys[random64() % s.n];
		blx_filter *b = built(&h, 9, keys2, n2);

		CHECK(!certainly_disjoint(s.f, b) && !certainly_disjoint(b, s.f), "%s, %s", describe(&s.g), describe(&h));
	}

	TEST("disjoint: certain exactly when some group of the common parts proves it")
	{
		size_t		proofs = 0,
					rounds = 0;

		EACH_RANDOM_FILTER(s)
		{
			blx_geometry h = one_in(3) ? s.g : random_relative(&s.g);
			size_t		n1 = random_between(0, 12),
						n2 = random_between(0, one_in(2) ? 2 : 40);
			blx_filter *a = built(&s.g, 9, random_hashes(n1), n1),
					   *b = built(&h, 9, random_hashes(n2), n2);
			bool		provable = provably_disjoint(a, b);

			rounds++;
			proofs += provable;
			CHECK(certainly_disjoint(a, b) == provable, "%s, %s", describe(&s.g), describe(&h));
			CHECK(certainly_disjoint(b, a) == provable, "%s, %s", describe(&h), describe(&s.g));
		}
		note("%zu of %zu random pairs were provably disjoint", proofs, rounds);
		CHECK(proofs > rounds / 10 && proofs < rounds - rounds / 10, "both cases occur: %zu of %zu", proofs, rounds);
	}

	TEST("disjoint: certain with an empty filter, unless some keys have no bit (rational, k below 1)")
	EACH_RANDOM_FILTER(s)
	{
		blx_geometry h = random_relative(&s.g);

		CHECK(certainly_disjoint(s.f, blank(&h, &no_identity, 0)) == (blx_bits_per_key(&h) >= 1), "%s, %s", describe(&s.g), describe(&h));
	}

	TEST("disjoint: 50 keys against 50 others are nearly always recognised at 16 parts of 64 blocks (and of 8)")
	{
		blx_geometry g = {BLX_PARTITIONED_BLOCKED, 64, 16, 1, 64},
					h = {BLX_PARTITIONED_BLOCKED, 8, 13, 1, 64};
		int			equal = 0,
					unequal = 0;

		for (int round = 0; round < 1000; round++, release())
		{
			blx_filter *a = built(&g, 0, new_hashes(50), 50);

			equal += certainly_disjoint(a, built(&g, 0, new_hashes(50), 50));
			unequal += certainly_disjoint(a, built(&h, 0, new_hashes(5), 5));
		}
		CHECK(equal >= 990, "%d of 1000", equal);
		CHECK(unequal >= 990, "%d of 1000", unequal);
	}
}

static void
chains(void)
{
	TEST("no false negative after any chain of add, fold, prefix, expand, union, intersection, export and import")
	for (size_t at = 0; at < LENGTH(static_layouts); at++)
		for (int round = 0; round < ROUNDS / 2; round++, release())
		{
			blx_geometry g = random_geometry(static_layouts[at]);
			size_t		n = random_between(0, 50);
			uint64_t   *keys = take(8 * 2000);
			blx_filter *f = blank(&g, &no_identity, 0);
			char		history[21] = "";

			memcpy(keys, random_hashes(n), 8 * n);
			blx_add(f, keys, n);
			for (int step = 0; step < 20; step++)
			{
				blx_geometry now = blx_geometry_of(f),
							relative = random_relative(&now);
				size_t		more = random_between(0, 40);
				uint64_t   *others = random_hashes(more);
				int			what = (int) random_between(0, 5);

				history[step] = "afpuix"[what];
				switch (what)
				{
					case 0:
						blx_add(f, others, more);
						memcpy(keys + n, others, 8 * more);
						n += more;
						break;
					case 1:
						if (resizes(&now))
							f = folded(f, (int64_t) random_between(0, (uint64_t) most_folds(f)));
						break;
					case 2:
						f = prefix(f, (int64_t) random_between(1, pieces(&now)));
						break;
					case 3:
						f = union_of(f, built(&relative, 0, others, more));
						memcpy(keys + n, others, 8 * more);
						n += more;
						break;
					case 4:		/* with a filter that holds the same keys and more */
						{
							blx_filter *super = built(&relative, 0, others, more);

							blx_add(super, keys, n);
							f = intersection_of(f, super);
						}
						break;
					case 5:
						{
							bytes		wire = exported(f);
							blx_error	error;
							blx_filter *again = imported(wire.data, wire.length, &error);

							if (CHECK(again != NULL, "%s", error.message))
							{
								CHECK(identical(f, again), "%s", describe(&now));
								f = again;
							}
						}
						break;
				}
				now = blx_geometry_of(f);
				if (!CHECK(missing(f, keys, n) == 0, "%zu of %zu keys lost: %s, after %s", missing(f, keys, n), n, describe(&now), history))
					break;
				if (blx_size(f) > 200000)
					break;
			}
		}
}

static void
refuse(const blx_filter *a, const blx_filter *b, blx_code code, const char *word)
{
	blx_geometry g;
	bool		certain;
	blx_error	error;

	for (int i = 0; i < 4; i++)
	{
		memset(&error, 0, sizeof error);
		bool		accepted = i == 0 ? blx_combined_geometry(BLX_UNION, a, b, &g, &error)
			: i == 1 ? blx_combined_geometry(BLX_INTERSECTION, a, b, &g, &error)
			: i == 2 ? blx_common_geometry(a, b, &g, &error)
			: blx_disjoint(a, b, &certain, &error);

		CHECK(!accepted && error.code == code, "operation %d, \"%s\": code %d", i, word, error.code);
		CHECK(strstr(error.message, word) != NULL, "\"%s\" is not in \"%s\"", word, error.message);
	}
}

static void
refusals(void)
{
	static const blx_geometry standard = {BLX_STANDARD, 1, 1, 7, 1000},
				partitioned = {BLX_PARTITIONED, 1, 7, 1, 100},
				blocked = {BLX_BLOCKED, 10, 1, 7, 512},
				partitioned_blocked = {BLX_PARTITIONED_BLOCKED, 16, 7, 1, 64};

	TEST("filters that do not combine are refused with the name of the field that differs")
	{
		const struct
		{
			const char *word;
			blx_geometry a,
						b;
		}			cases[] = {
			{"layout", standard, partitioned},
			{"layout", blocked, partitioned_blocked},
			{"layout", partitioned_blocked, partitioned},
			{"part_bits", standard, {BLX_STANDARD, 1, 1, 7, 1001}},
			{"part_bits", standard, {BLX_STANDARD, 1, 1, 7, 3000}},
			{"probes", standard, {BLX_STANDARD, 1, 1, 8, 1000}},
			{"blocks", blocked, {BLX_BLOCKED, 30, 1, 7, 512}},
			{"part_bits", blocked, {BLX_BLOCKED, 20, 1, 7, 256}},
			{"probes", blocked, {BLX_BLOCKED, 10, 1, 6, 512}},
			{"part_bits", blocked, {BLX_BLOCKED, 10, 1, 7, 256}},
			{"part_bits", partitioned, {BLX_PARTITIONED, 1, 7, 1, 300}},
			{"part_bits", partitioned, {BLX_PARTITIONED, 1, 7, 1, 101}},
		};

		for (size_t i = 0; i < LENGTH(cases); i++, release())
		{
			blx_filter *a = blank(&cases[i].a, &no_identity, 0),
					   *b = blank(&cases[i].b, &no_identity, 0);

			refuse(a, b, BLX_MISMATCH, cases[i].word);
			refuse(b, a, BLX_MISMATCH, cases[i].word);
		}
	}

	TEST("different seeds and key types are refused; a filter without key type goes with any")
	{
		const blx_identity ids[] = {
			{0, 1, 0, NULL}, {5, 1, 0, NULL}, {0, 4, 0, NULL},
			{0, BLX_KEY_NAMED, 9, "integer[]"}, {0, BLX_KEY_NAMED, 6, "text[]"}, {0, BLX_KEY_NAMED, 9, "integer]["},
			{0, BLX_KEY_HASH, 0, NULL},
		};
		blx_filter *with[LENGTH(ids)],
				   *none = blank(&partitioned_blocked, &no_identity, 0);
		blx_geometry g;
		blx_error	error;

		for (size_t i = 0; i < LENGTH(ids); i++)
			with[i] = blank(&partitioned_blocked, &ids[i], 0);
		refuse(with[0], with[1], BLX_MISMATCH, "seed");
		refuse(with[0], with[2], BLX_MISMATCH, "integer and text");
		refuse(with[2], with[3], BLX_MISMATCH, "text and integer[]");
		refuse(with[3], with[4], BLX_MISMATCH, "integer[] and text[]");
		refuse(with[3], with[5], BLX_MISMATCH, "integer[] and integer][");
		refuse(with[0], with[6], BLX_MISMATCH, "integer and hash");
		CHECK(blx_combined_geometry(BLX_UNION, with[3], blank(&partitioned_blocked, &ids[3], 0), &g, &error), "%s", error.message);
		for (size_t i = 0; i < LENGTH(ids); i++)
			if (ids[i].seed == 0)
				CHECK(blx_combined_geometry(BLX_UNION, with[i], none, &g, &error) && blx_combined_geometry(BLX_UNION, none, with[i], &g, &error),
					  "%s", error.message);
		refuse(none, with[1], BLX_MISMATCH, "seed");
		release();
	}

	TEST("an intersection or union beyond 1 GB is refused before anything is built")
	{
		/* only headers: none of these functions may read words */
		blx_filter	a = {.magic = {'B', 'L', 'X', 1}, .layout = BLX_PARTITIONED_BLOCKED, .blocks = 1 << 22,
			.part_bits = 64, .parts = 1, .probes = 1};
		blx_filter	b = a;
		blx_geometry g;
		blx_error	error;

		b.blocks = 1;
		b.parts = 64;
		CHECK(!blx_combined_geometry(BLX_INTERSECTION, &a, &b, &g, &error) && error.code == BLX_LIMIT, "2 GB");
		CHECK(blx_combined_geometry(BLX_UNION, &a, &b, &g, &error), "32 MB: %s", error.message);
	}

	TEST("an open set of hashes has no algebra of filters")
	{
		uint64_t	keys[] = {1, 2, 3};
		blx_filter *set = open_set(8, NULL, &no_identity, keys, 3),
				   *planned = open_set(8, &partitioned_blocked, &no_identity, keys, 3),
				   *filter = built(&partitioned_blocked, 0, keys, 3),
				   *scratch = take(10000);
		blx_geometry g;
		blx_error	error;

		refuse(set, filter, BLX_MISMATCH, "layout");
		refuse(filter, planned, BLX_MISMATCH, "layout");
		refuse(planned, planned, BLX_UNSUPPORTED, "hashes");
		for (int i = 0; i < 2; i++)
		{
			blx_filter *open = i == 0 ? set : planned;

			CHECK(!blx_fold_geometry(open, 0, &g, &error) && error.code == BLX_UNSUPPORTED, "fold");
			CHECK(!blx_prefix_geometry(open, open->parts, &g, &error), "prefix of %s set", i == 0 ? "a" : "a planned");
			CHECK(!blx_shrink_geometry(open, 0.1, false, scratch, &g, &error), "shrink");
		}
		release();
	}
}

static void
shrinking(void)
{
	TEST("shrink: the smallest of all prefixes and folds that meets the rate")
	EACH_RANDOM_FILTER(s)
	{
		if (!resizes(&s.g) || s.number % 3 != 0)
			continue;
		double		target = pow(10, -(double) random_between(1, 80) / 10);
		uint64_t	smallest = UINT64_MAX;
		blx_geometry chosen;
		blx_error	error;
		bool		found;

		for (int times = 0; times <= most_folds(s.f); times++)
		{
			blx_filter *small = folded(s.f, times);

			for (unsigned parts = 1; parts <= s.g.parts; parts++)
			{
				blx_filter *candidate = prefix(small, parts);
				blx_geometry h = blx_geometry_of(candidate);

				if (blx_fpr(candidate) <= target && blx_body_words(&h) < smallest)
					smallest = blx_body_words(&h);
			}
		}
		found = blx_shrink_geometry(s.f, target, false, take(blx_shrink_scratch(s.f)), &chosen, &error);
		CHECK(found == (smallest < UINT64_MAX), "%s to %g: %s", describe(&s.g), target, found ? "found" : error.message);
		if (found)
		{
			CHECK(blx_body_words(&chosen) == smallest, "%s to %g: %s, but %" PRIu64 " words are enough",
				  describe(&s.g), target, describe(&chosen), smallest);
			CHECK(blx_fpr(resized(s.f, &chosen)) <= target, "%s to %g: %s", describe(&s.g), target, describe(&chosen));
		}
		else
			CHECK(error.code == BLX_INVALID_PARAMETER, "%s", error.message);
	}

	TEST("shrink: an empty filter of many parts folds to the last bit within its scratch")
	for (int log2 = 0; log2 <= 20; log2 += 4)
	{
		const unsigned odd[] = {1, 3, 63};

		for (size_t i = 0; i < LENGTH(odd); i++)
		{
			blx_geometry g = {BLX_PARTITIONED, 1, 64, 1, (uint64_t) odd[i] << log2},
						chosen;
			blx_filter *f = blank(&g, &no_identity, 0);
			blx_error	error;
			uint64_t	need = 0,
						scratch = blx_shrink_scratch(f);
			blx_filter *room = take(scratch);

			for (int times = 1; times <= most_folds(f); times++)
				need += blx_size(folded(f, times));
			CHECK(need <= scratch, "%s: %llu bytes of folds, %llu of scratch", describe(&g),
				  (unsigned long long) need, (unsigned long long) scratch);
			if (need <= scratch)
				CHECK(blx_shrink_geometry(f, 0.5, false, room, &chosen, &error) && chosen.parts == 1, "%s", describe(&g));
			release();
		}
	}

	TEST("shrink: rates outside 0 .. 1 and layouts that cannot shrink are refused")
	{
		const double wrong[] = {0, 1, -0.5, 1.5, NAN, INFINITY};
		blx_geometry g = {BLX_PARTITIONED_BLOCKED, 4, 8, 1, 64},
					v = {BLX_VARIABLE_BLOCKED, 1, 1, 8, 512};
		blx_filter *f = blank(&g, &no_identity, 0),
				   *variable = blank(&v, &no_identity, 0);
		blx_error	error;

		for (size_t i = 0; i < LENGTH(wrong); i++)
			CHECK(!blx_shrink_geometry(f, wrong[i], false, take(blx_shrink_scratch(f)), &g, &error) &&
				  error.code == BLX_INVALID_PARAMETER, "%g", wrong[i]);
		CHECK(!blx_shrink_geometry(variable, 0.1, false, take(blx_shrink_scratch(variable)), &g, &error) &&
			  error.code == BLX_UNSUPPORTED, "variable_blocked");
		release();
	}
}

int
main(void)
{
	random_seed(1);
	membership();
	folds();
	expansion();
	unions();
	intersections();
	disjointness();
	chains();
	refusals();
	shrinking();
	return report();
}
