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

/*
 * Parts of unequal size are combined part by part.  Bit i of the coarser part
 * stands for 2^log2 adjacent bits of the finer one, a word of it for as many
 * words.  These are folded to one word, or one word is stretched to theirs, by
 * halving or doubling words up to six times.  From there on whole words become
 * one bit.
 */
static unsigned
ratio_log2(uint64_t fine_bits, uint64_t coarse_bits)
{
	return (unsigned) __builtin_ctzll(fine_bits / coarse_bits);
}

/* ORs bits 2i and 2i + 1 to bit i: groups of 1, 2, ... 16 bits move together in pairs. */
static inline uint64_t
halved(uint64_t x)
{
	x = (x | x >> 1) & UINT64_C(0x5555555555555555);
	x = (x | x >> 1) & UINT64_C(0x3333333333333333);
	x = (x | x >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
	return (x | x >> 16) & UINT64_C(0x00000000ffffffff);
}

/* Copies bit i of the lower half to bits 2i and 2i + 1: the same steps backwards. */
static inline uint64_t
doubled(uint64_t x)
{
	x &= UINT64_C(0x00000000ffffffff);
	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = (x | x << 2) & UINT64_C(0x3333333333333333);
	x = (x | x << 1) & UINT64_C(0x5555555555555555);
	return x | x << 1;
}

/* Returns word `number` of the coarser part that the finer one, of `words` words, folds to. */
static inline uint64_t
folded_word(const uint64_t *fine, uint64_t words, unsigned log2, uint64_t number)
{
	uint64_t	first = number << log2,
				left = words - first,
				all = UINT64_C(1) << log2,
				folded = 0;

	for (uint64_t i = 0; i < (left < all ? left : all); i++)
	{
		uint64_t	word = fine[first + i];

		if (log2 >= 6)
			folded |= (uint64_t) (word != 0) << (i >> (log2 - 6));
		else
		{
			for (unsigned h = 0; h < log2; h++)
				word = halved(word);
			folded |= word << (64 * i >> log2);
		}
	}
	return folded;
}

/* Returns word `number` of the finer part that the coarser one stretches to. */
static inline uint64_t
stretched_word(const uint64_t *coarse, unsigned log2, uint64_t number)
{
	uint64_t	word = coarse[number >> log2],
				i = number & ((UINT64_C(1) << log2) - 1);

	if (log2 >= 6)
		return -(word >> (i >> (log2 - 6)) & 1);
	word >>= 64 * i >> log2;
	for (unsigned h = 0; h < log2; h++)
		word = doubled(word);
	return word;
}

uint64_t
blx_flat_folded_bits_set(const blx_filter *f, unsigned times)
{
	uint64_t	words = blx_words_for_bits(f->part_bits),
				set = 0;
	const uint64_t *part = blx_cwords(f);

	for (unsigned j = 0; j < f->parts; j++, part += words)
		for (uint64_t i = 0; i << times < words; i++)
			set += (uint64_t) __builtin_popcountll(folded_word(part, words, times, i));
	return set;
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
		blx_combine_words(d, s, parts * dst_words, op);
		return;
	}
	for (unsigned j = 0; j < parts; j++, d += dst_words, s += src_words)
		for (uint64_t i = 0; i < dst_words; i++)
		{
			uint64_t	word = dst->part_bits < src->part_bits
				? folded_word(s, src_words, ratio_log2(src->part_bits, dst->part_bits), i)
				: stretched_word(s, ratio_log2(dst->part_bits, src->part_bits), i);

			d[i] = op == BLX_OR ? d[i] | word : d[i] & word;
		}
}

/* True if the parts share a bit.  A bit of the coarser one stands for all the bits that it covers. */
static bool
parts_meet(const uint64_t *fine, uint64_t fine_words, const uint64_t *coarse, unsigned log2)
{
	if (log2 == 0)
		return blx_words_meet(fine, coarse, fine_words);
	for (uint64_t i = 0; i << log2 < fine_words; i++)
		if (folded_word(fine, fine_words, log2, i) & coarse[i])
			return true;
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
	unsigned	log2 = ratio_log2(fine->part_bits, coarse->part_bits);

	for (unsigned j = 0; j < parts; j++)
		if (!parts_meet(blx_cwords(fine) + j * fine_words, fine_words, blx_cwords(coarse) + j * coarse_words, log2))
			return true;
	return false;
}
