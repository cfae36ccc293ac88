/*
 * test_slices.c - signatures and slices: a bit-sliced index says no only where
 * the filter does.
 */
#include <math.h>

#include "core/filter/slices.h"
#include "filters.h"

/* True if the signature holds the key, by the slices that an index would read. */
static bool
has(const uint64_t *words, const blx_geometry *g, uint64_t hash)
{
	uint32_t	slices[BLX_MAX_K];
	bool		all = true;

	blx_slices_of_key(g, hash, slices);
	for (unsigned i = 0; i < g->parts; i++)
		all &= words[slices[i] / 64] >> slices[i] % 64 & 1;
	return all;
}

static blx_geometry
groups_geometry(unsigned log2, unsigned parts)
{
	return (blx_geometry) {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << log2, .parts = (uint16_t) parts, .probes = 1, .part_bits = 64};
}

/* The rate of a signature of n distinct keys, by the textbook. */
static double
rate_of(const blx_partitioned *s, uint64_t n)
{
	return pow(1 - pow(1 - 1.0 / s->width, (double) n), s->parts);
}

int
main(void)
{
	TEST("transposing moves bit i of word j to bit j of word i, and back")
	{
		uint64_t	a[64],
					b[64];
		bool		moved = true;

		for (int i = 0; i < 64; i++)
			a[i] = b[i] = random64();
		blx_transpose(b);
		for (int i = 0; i < 64; i++)
			for (int j = 0; j < 64; j++)
				moved &= (b[i] >> j & 1) == (a[j] >> i & 1);
		CHECK(moved, "bits are elsewhere");
		blx_transpose(b);
		CHECK(memcmp(a, b, sizeof a) == 0, "not its own inverse");
	}

	TEST("signatures of any width: every key has its bits, all within the signature")
	{
		for (int round = 0; round < 400; round++)
		{
			blx_partitioned shape = {.parts = (uint32_t) random_between(1, BLX_MAX_K), .width = (uint32_t) random_between(1, 3000)};
			uint32_t	bits = shape.parts * shape.width,
						slices[BLX_MAX_K];
			uint64_t   *words = take(8 * (bits + 63) / 64 + 8);
			uint64_t	keys[50];
			bool		lost = false;

			memset(words, 0, 8 * ((bits + 63) / 64));
			for (int i = 0; i < 50; i++)
				keys[i] = random64();
			blx_partitioned_add(words, &shape, keys, 50);
			for (int i = 0; i < 50; i++)
			{
				blx_partitioned_slices(&shape, keys[i], slices);
				for (uint32_t part = 0; part < shape.parts; part++)
				{
					CHECK(slices[part] / shape.width == part, "a bit of part %u is in part %u", part, slices[part] / shape.width);
					lost |= !(words[slices[part] / 64] >> slices[part] % 64 & 1);
				}
			}
			CHECK(!lost, "a key is lost: %u parts of %u bits", shape.parts, shape.width);
			CHECK(bits % 64 == 0 || words[bits / 64] >> bits % 64 == 0, "bits beyond the signature");
			release();
		}
	}

	TEST("the width for n keys has the rate, and one bit less has not; the capacity is its inverse")
	{
		for (int round = 0; round < 2000; round++)
		{
			uint32_t	parts = (uint32_t) random_between(1, 24);
			uint64_t	keys = random_between(1, 50000);
			double		fpr = pow(0.5, (double) parts) * (1 + (double) random_between(0, 50) / 100);
			blx_partitioned shape = {.parts = parts, .width = blx_partitioned_width(parts, keys, fpr)},
						less = {.parts = parts, .width = shape.width - 1};

			if (fpr >= 1)
				continue;
			CHECK(rate_of(&shape, keys) <= fpr * (1 + 1e-9), "too high: %g instead of %g", rate_of(&shape, keys), fpr);
			CHECK(less.width == 0 || rate_of(&less, keys) > fpr * (1 - 1e-9), "width %u would do", less.width);
			CHECK(blx_partitioned_capacity(&shape, fpr) >= keys, "capacity %llu", (unsigned long long) blx_partitioned_capacity(&shape, fpr));
			CHECK(rate_of(&shape, blx_partitioned_capacity(&shape, fpr) + 1) > fpr * (1 - 1e-9), "capacity is too small");
		}
		CHECK(blx_partitioned_capacity(&(blx_partitioned) {.parts = 3, .width = 1}, 0.1) == 0, "one bit holds no key");
	}

	TEST("the rate of such signatures is what the formula says")
	{
		blx_partitioned shape = {.parts = 5, .width = blx_partitioned_width(5, 700, 0.03)};
		uint64_t   *words = take(8 * ((shape.parts * shape.width + 63) / 64));
		uint32_t	slices[BLX_MAX_K];
		int			found = 0;

		memset(words, 0, 8 * ((shape.parts * shape.width + 63) / 64));
		for (int i = 0; i < 700; i++)
		{
			uint64_t	key = random64();

			blx_partitioned_add(words, &shape, &key, 1);
		}
		for (int i = 0; i < 200000; i++)
		{
			bool		all = true;

			blx_partitioned_slices(&shape, random64(), slices);
			for (unsigned part = 0; part < shape.parts; part++)
				all &= words[slices[part] / 64] >> slices[part] % 64 & 1;
			found += all;
		}
		/* 6000 expected; the fill varies by some 2 %, its fifth power by 10 % */
		CHECK(found > 4800 && found < 7200, "%d of 200000", found);
		release();
	}

	TEST("in the filter's own geometry the signature is the filter; in any other it loses no key")
	{
		for (int round = 0; round < 300; round++)
		{
			blx_geometry of_f = groups_geometry((unsigned) random_between(0, 4), (unsigned) random_between(1, 20)),
						g = round % 2 ? of_f : groups_geometry((unsigned) random_between(0, 4), (unsigned) random_between(1, 20));
			blx_filter *f = take(blx_bytes(&of_f, 0));
			uint64_t   *words = take(8 * blx_body_words(&g));
			uint64_t	keys[40];

			for (int i = 0; i < 40; i++)
				keys[i] = random64();
			blx_init(f, &of_f, &no_identity, 0);
			blx_add(f, keys, 40);
			blx_signature(words, &g, f);
			for (int i = 0; i < 40; i++)
				CHECK(has(words, &g, keys[i]), "a key is lost: filter %s, signature of other geometry", describe(&of_f));
			for (int i = 0; i < 1000; i++)
			{
				uint64_t	absent = random64();

				if (round % 2)
					CHECK(has(words, &g, absent) == blx_test(f, absent), "not the filter");
				else if (g.blocks >= of_f.blocks && g.parts >= of_f.parts)
					CHECK(has(words, &g, absent) == blx_test(f, absent), "an expanded filter answers otherwise");
			}
			release();
		}
	}

	TEST("a signature that holds the filter as it is converts to the filter's signature; any other loses no key")
	{
		for (int round = 0; round < 600; round++)
		{
			unsigned	log2 = (unsigned) random_between(0, 4),
						parts = (unsigned) random_between(1, 20);
			bool		holds = round % 2;
			blx_geometry of_f = groups_geometry(log2, parts),
						from = holds ? groups_geometry(log2 + (unsigned) random_between(0, 2), parts + (unsigned) random_between(0, 12))
							: groups_geometry((unsigned) random_between(0, 4), (unsigned) random_between(1, 20)),
						to = groups_geometry((unsigned) random_between(0, 6), (unsigned) random_between(1, 32));
			blx_filter *f = take(blx_bytes(&of_f, 0));
			uint64_t   *signature = take(8 * blx_body_words(&from)),
					   *converted = take(8 * blx_body_words(&to)),
					   *expected = take(8 * blx_body_words(&to));
			uint64_t	keys[40];

			for (int i = 0; i < 40; i++)
				keys[i] = random64();
			blx_init(f, &of_f, &no_identity, 0);
			blx_add(f, keys, 40);
			blx_signature(signature, &from, f);
			blx_signature_convert(converted, &to, signature, &from);
			blx_signature(expected, &to, f);
			if (holds)
				CHECK(memcmp(converted, expected, 8 * blx_body_words(&to)) == 0, "another signature of %s", describe(&of_f));
			for (uint64_t i = 0; i < blx_body_words(&to); i++)
				CHECK((expected[i] & ~converted[i]) == 0, "a bit is lost: filter %s", describe(&of_f));
			for (int i = 0; i < 40; i++)
				CHECK(has(converted, &to, keys[i]), "a key is lost: filter %s", describe(&of_f));
			release();
		}
	}

	TEST("an open state is poured into the geometry; what has no signature may hold anything")
	{
		blx_geometry g = groups_geometry(3, 9),
					standard = {.layout = BLX_STANDARD, .blocks = 1, .parts = 1, .probes = 3, .part_bits = 1000},
					natural;
		blx_filter *open = take(blx_hashes_bytes(200, 0)),
				   *built = take(blx_bytes(&g, 0)),
				   *other = take(blx_bytes(&standard, 0));
		uint64_t   *words = take(8 * blx_body_words(&g));

		blx_hashes_init(open, 200, NULL, &no_identity, 0);
		blx_init(built, &g, &no_identity, 0);
		for (int i = 0; i < 90; i++)
		{
			uint64_t	hash = random64();

			CHECK(blx_hashes_add(open, hash), "full");
			blx_add(built, &hash, 1);
		}
		blx_signature(words, &g, open);
		CHECK(memcmp(words, blx_cwords(built), 8 * blx_body_words(&g)) == 0, "not the filter of the same keys");
		CHECK(blx_signature_geometry(open, &natural) && natural.layout == BLX_PARTITIONED_BLOCKED && blx_fpr_expected(&natural, 90) < 0.01,
			  "not planned for its keys");
		blx_init(other, &standard, &no_identity, 0);
		CHECK(!blx_signature_geometry(other, &natural), "a standard filter has a signature");
		blx_signature(words, &g, other);
		CHECK(has(words, &g, 1), "a filter that cannot be folded says no");
		release();
	}

	TEST("the AND of slices, and whether anything is left")
	{
		uint64_t	a[3] = {7, 0, 8},
					b[3] = {5, 1, 0};

		CHECK(blx_and_slice(a, b, 3) == 5 && a[0] == 5 && a[1] == 0 && a[2] == 0, "not the AND");
		CHECK(blx_and_slice(a, b + 1, 2) == 1 && a[0] == 1, "not the AND");
		CHECK(blx_and_slice(a, b + 2, 1) == 0, "something is left of nothing");
	}
	return report();
}
