/*
 * flat.c - filters without blocks: P parts of S bits, H probes per key in each.
 *
 * Probe i of a key, i = 0 .. P*H - 1 over all parts, goes to part i / H.  Its
 * position there is the derived hash w_i (hash.h), scaled to S by its top bits.
 * So halving S halves every position, on which fold and expand rest.
 *
 * For study, positions may come from two or three hashes instead (enum
 * blx_hashing).  Each hash is reduced to 0 .. S-1 first, and all arithmetic is
 * modulo S:
 *
 *		double			 h1 + i h2						 Kirsch, Mitzenmacher 2008
 *		enhanced_double	 h1 + i h2 + (i^3 - i) / 6		 Dillinger, Manolios 2004
 *		triple			 h1 + i h2 + i (i - 1) / 2 h3	 the same
 *
 * Most libraries do the first of these, and Almeida 2022, section 5, warns of it.
 * In a single part a key with h2 = 0 has one bit, other keys have few, and two
 * keys of opposite h2 share their bits.  If each probe has a part of its own, a
 * key always has k bits.  docs/internals/theory.md measures all four.  Filters of
 * these schemes cannot be resized, since positions modulo S/2 are different
 * ones, and all formulas suppose independent hashes.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/layouts/fixed/flat.h"
#include "core/layouts/geometry.h"

/* What the positions of one key follow from. */
typedef struct flat_key
{
	uint64_t	hash;
	uint64_t	part_bits;
	uint64_t	h1,				/* only for the schemes that are not independent */
				h2,
				h3;
} flat_key;

static inline __attribute__((always_inline)) flat_key
key_of(const blx_filter *f, uint64_t hash, uint8_t hashing)
{
	flat_key	key = {.hash = hash, .part_bits = f->part_bits};

	if (hashing != BLX_INDEPENDENT)
	{
		key.h1 = blx_scale(hash, f->part_bits);
		key.h2 = blx_scale(blx_derive(hash, 1), f->part_bits);
		key.h3 = blx_scale(blx_derive(hash, 2), f->part_bits);
	}
	return key;
}

/* Returns the position of probe i in its part.  S is at most 2^33 and i at most 63, so no sum overflows. */
static inline __attribute__((always_inline)) uint64_t
position(const flat_key *key, uint8_t hashing, uint64_t i)
{
	switch (hashing)
	{
		case BLX_DOUBLE:
			return (key->h1 + i * key->h2) % key->part_bits;
		case BLX_ENHANCED_DOUBLE:
			return (key->h1 + i * key->h2 + (i * i * i - i) / 6) % key->part_bits;
		case BLX_TRIPLE:
			return (key->h1 + i * key->h2 + i * (i - 1) / 2 * key->h3) % key->part_bits;
		default:
			return blx_scale(blx_derive(key->hash, (unsigned) i), key->part_bits);
	}
}

/*
 * Adding and testing are compiled three times: for independent hashes with one
 * probe per part, for independent hashes, and for the other schemes.  So the
 * loops of the usual cases contain no decision.
 */
static inline __attribute__((always_inline)) void
add_with(blx_filter *f, const uint64_t *hashes, size_t n, unsigned probes, uint8_t hashing)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);

	for (size_t i = 0; i < n; i++)
	{
		uint64_t   *part = blx_words(f);
		flat_key	key = key_of(f, hashes[i], hashing);

		for (unsigned j = 0; j < f->parts; j++, part += part_words)
			for (unsigned h = 0; h < probes; h++)
			{
				uint64_t	bit = position(&key, hashing, j * probes + h);

				part[bit / 64] |= UINT64_C(1) << bit % 64;
			}
	}
}

size_t
blx_flat_add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	if (f->hashing != BLX_INDEPENDENT)
		add_with(f, hashes, n, f->probes, f->hashing);
	else if (f->probes == 1)
		add_with(f, hashes, n, 1, BLX_INDEPENDENT);
	else
		add_with(f, hashes, n, f->probes, BLX_INDEPENDENT);
	return n;
}

static inline __attribute__((always_inline)) bool
test_with(const blx_filter *f, uint64_t hash, unsigned probes, uint8_t hashing, blx_fetch fetch, void *arg)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);
	flat_key	key = key_of(f, hash, hashing);

	for (unsigned j = 0; j < f->parts; j++)
		for (unsigned h = 0; h < probes; h++)
		{
			uint64_t	bit = position(&key, hashing, j * probes + h);

			if (!(*fetch(arg, j * part_words + bit / 64, 1) >> bit % 64 & 1))
				return false;
		}
	return true;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	if (f->hashing != BLX_INDEPENDENT)
		return test_with(f, hash, f->probes, f->hashing, fetch, arg);
	if (f->probes == 1)
		return test_with(f, hash, 1, BLX_INDEPENDENT, fetch, arg);
	return test_with(f, hash, f->probes, BLX_INDEPENDENT, fetch, arg);
}

bool
blx_flat_test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	return test_fetched(f, hash, fetch, arg);
}

bool
blx_flat_test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

/* An absent key passes a part of fill F with probability F^H. */
void
blx_flat_fpr_prefixes(const blx_filter *f, double *rates)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);
	const uint64_t *part = blx_cwords(f);
	double		rate = 1;

	for (unsigned j = 0; j < f->parts; j++, part += part_words)
	{
		rate *= blx_power((double) blx_popcount(part, part_words) / (double) f->part_bits, f->probes);
		rates[j + 1] = rate;
	}
}

uint64_t
blx_flat_resolution(const blx_geometry *g)
{
	return g->part_bits;
}

void
blx_flat_set_resolution(blx_geometry *g, uint64_t resolution)
{
	g->part_bits = resolution;
}

/*
 * Parts of unequal size are combined part by part.  Bit i of the coarser part
 * stands for a power of two of adjacent bits of the finer one.  A ratio of up to
 * 64 is that many halvings of a word; what is beyond it is whole words that
 * become one, a span.  The work is done in tiles, arrays of up to TILE words that
 * stand for as many spans, since looking at single bits would take too long for
 * filters of many megabytes.
 */
#define TILE 64					/* the spans that one word of the coarser part may stand for */

typedef struct ratio
{
	unsigned	halvings;		/* 0 .. 6 */
	uint64_t	span;			/* in words of the finer part; 1 unless there are six halvings */
} ratio;

static ratio
ratio_of(uint64_t fine_bits, uint64_t coarse_bits)
{
	unsigned	log2 = (unsigned) __builtin_ctzll(fine_bits / coarse_bits),
				halvings = log2 < 6 ? log2 : 6;

	return (ratio) {.halvings = halvings, .span = UINT64_C(1) << (log2 - halvings)};
}

/* Returns the words of the coarser part that stand for `spans` spans; the last one may stand for more. */
static inline uint64_t
words_for_spans(uint64_t spans, ratio r)
{
	return (spans + (UINT64_C(1) << r.halvings) - 1) >> r.halvings;
}

/* Folds up to TILE spans of the finer part to the first words of the tile.  Returns how many. */
static uint64_t
fold_tile(uint64_t *tile, const uint64_t *fine, uint64_t spans, ratio r)
{
	uint64_t	n = words_for_spans(spans, r) << r.halvings;

	for (uint64_t i = 0; i < spans; i++, fine += r.span)
	{
		uint64_t	any = *fine;

		for (uint64_t w = 1; w < r.span; w++)
			any |= fine[w];
		tile[i] = any;
	}
	memset(tile + spans, 0, 8 * (n - spans));
	for (unsigned h = 0; h < r.halvings; h++)
	{
		blx_halve_words(tile, n);
		n /= 2;
		for (uint64_t i = 0; i < n; i++)
			tile[i] = tile[2 * i] | tile[2 * i + 1] << 32;
	}
	return n;
}

/* Expands words of the coarser part to the tile, one word for each of up to TILE spans. */
static void
stretch_tile(uint64_t *tile, const uint64_t *coarse, uint64_t spans, ratio r)
{
	uint64_t	n = words_for_spans(spans, r);

	memcpy(tile, coarse, 8 * n);
	for (unsigned h = 0; h < r.halvings; h++)
	{
		for (uint64_t i = n; i-- > 0;)	/* backwards: the halves of a word take the place of later ones */
		{
			tile[2 * i + 1] = tile[i] >> 32;
			tile[2 * i] = tile[i];
		}
		n *= 2;
		blx_double_words(tile, n);
	}
}

/* Returns the spans of the tile that begins at span `at` of a part of `fine_words` words. */
static inline uint64_t
spans_from(uint64_t at, uint64_t fine_words, ratio r)
{
	uint64_t	left = fine_words / r.span - at;

	return left < TILE ? left : TILE;
}

uint64_t
blx_flat_folded_bits_set(const blx_filter *f, unsigned times)
{
	const ratio r = ratio_of(f->part_bits, f->part_bits >> times);
	uint64_t	words = blx_words_for_bits(f->part_bits),
				tile[TILE],
				set = 0;
	const uint64_t *part = blx_cwords(f);

	for (unsigned j = 0; j < f->parts; j++, part += words)
		for (uint64_t n, at = 0; (n = spans_from(at, words, r)) > 0; at += n)
			set += blx_popcount(tile, fold_tile(tile, part + at * r.span, n, r));
	return set;
}

/* ORs a part into a coarser one: a set bit of src sets the bit that covers it. */
static void
fold_part(uint64_t *dst, const uint64_t *src, uint64_t src_words, ratio r)
{
	uint64_t	tile[TILE];

	for (uint64_t n, at = 0; (n = spans_from(at, src_words, r)) > 0; at += n)
		blx_or_words(dst + (at >> r.halvings), tile, fold_tile(tile, src + at * r.span, n, r));
}

/* Combines a part into a finer one: a bit of src stands for the bits that it covers. */
static void
expand_part(uint64_t *dst, uint64_t dst_words, const uint64_t *src, ratio r, blx_op op)
{
	uint64_t	tile[TILE];

	for (uint64_t n, at = 0; (n = spans_from(at, dst_words, r)) > 0; at += n)
	{
		stretch_tile(tile, src + (at >> r.halvings), n, r);
		if (r.span == 1)
			(op == BLX_OR ? blx_or_words : blx_and_words) (dst + at, tile, n);
		else
			/* a word of the tile is all zeros or all ones: only one of them changes anything */
			for (uint64_t i = 0; i < n; i++)
				if ((tile[i] != 0) == (op == BLX_OR))
					memset(dst + (at + i) * r.span, op == BLX_OR ? 0xff : 0, 8 * r.span);
	}
}

void
blx_flat_merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	unsigned	parts = dst->parts < src->parts ? dst->parts : src->parts;
	uint64_t	dst_words = blx_words_for_bits(dst->part_bits);
	uint64_t	src_words = blx_words_for_bits(src->part_bits);
	uint64_t   *d = blx_words(dst);
	const uint64_t *s = blx_cwords(src);

	/* Parts of one size are one array of words. */
	if (dst->part_bits == src->part_bits)
	{
		(op == BLX_OR ? blx_or_words : blx_and_words) (d, s, parts * dst_words);
		return;
	}
	for (unsigned j = 0; j < parts; j++, d += dst_words, s += src_words)
		if (dst->part_bits < src->part_bits)	/* only for BLX_OR */
			fold_part(d, s, src_words, ratio_of(src->part_bits, dst->part_bits));
		else
			expand_part(d, dst_words, s, ratio_of(dst->part_bits, src->part_bits), op);
}

/* True if the parts share a bit.  A bit of the coarser one stands for all the bits that it covers. */
static bool
parts_meet(const uint64_t *fine, uint64_t fine_words, const uint64_t *coarse, ratio r)
{
	uint64_t	tile[TILE];

	if (r.halvings == 0)
		return blx_words_meet(fine, coarse, fine_words);
	for (uint64_t n, at = 0; (n = spans_from(at, fine_words, r)) > 0; at += n)
	{
		uint64_t	folded = fold_tile(tile, fine + at * r.span, n, r);

		if (blx_words_meet(tile, coarse + (at >> r.halvings), folded))
			return true;
	}
	return false;
}

/* A common key would leave at least one common bit in every part, so one part without is a proof. */
bool
blx_flat_disjoint(const blx_filter *a, const blx_filter *b)
{
	const blx_filter *fine = a->part_bits >= b->part_bits ? a : b;
	const blx_filter *coarse = fine == a ? b : a;
	unsigned	parts = a->parts < b->parts ? a->parts : b->parts;
	uint64_t	fine_words = blx_words_for_bits(fine->part_bits);
	uint64_t	coarse_words = blx_words_for_bits(coarse->part_bits);
	const ratio r = ratio_of(fine->part_bits, coarse->part_bits);

	for (unsigned j = 0; j < parts; j++)
		if (!parts_meet(blx_cwords(fine) + j * fine_words, fine_words, blx_cwords(coarse) + j * coarse_words, r))
			return true;
	return false;
}
