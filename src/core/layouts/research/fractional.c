/*
 * fractional.c - layouts whose k need not be a whole number: rational and
 * variable_blocked.
 *
 * Both are blocks, each of which is a filter of all keys.  In a block every key sets
 * floor(k) bits, and a fraction k - floor(k) of the keys sets one more.  The key's own
 * hash decides whether it does, so that adding and testing agree.  The extra probe has a
 * derived hash w of its own.  As for every probe, its top bits give the position; its
 * lowest 16 bits switch the probe on if they are below the fraction, in 1/65536.  The two
 * are independent: m is at most 2^33, so a position stands for at least 2^31
 * adjacent values of w, in which all values of the low bits are equally frequent.
 *
 * rational (Walther, Mansour and Werner 2025) is one block: a standard filter.  A fraction
 * averages over keys, and an arithmetic mean is never below the geometric one.  So the
 * false positive rate is lowest at a whole k, and a plan by capacity has a whole k: it is
 * the standard filter's.  The exception is a k below 1, for filters of fewer bits than
 * keys.  Then a fraction k of the keys has one bit, and the others have none: they are
 * found in every such filter, an empty one included.  So two filters are never proven
 * disjoint.
 *
 * variable_blocked (the same authors' VSBBF) has one block for each bit
 * that is set in m, the largest first.  Every key goes into every block and sets
 * a number of bits in proportion to the block's size: a block of 2^i bits takes
 * k_i = K / 2^(top - i), where K belongs to the largest block, of 2^top bits.
 * So all blocks fill alike, and n keys fill them to a half if K is
 * (2^top / n) ln 2.  A position is the top bits of a hash.  The first
 * blocks alone are a smaller and less exact filter of the same keys.
 *
 * The k_i need not be whole.  A block with k_i below 1 has a bit of only that fraction
 * of the keys.  K is at least 1, because a key without any bit would be found in an empty
 * filter.
 *
 * K is the header's probes and fraction, a fixed-point number, and k_i is that
 * number shifted, so a prefix has exactly the same k_i.  To the rest of the core
 * the filter is one part of m bits, in which the blocks lie one after another.
 * m says how many blocks there are.
 */
#include <math.h>

#include "core/base/hash.h"
#include "core/layouts/fixed/flat.h"
#include "core/layouts/geometry.h"
#include "core/theory/theory.h"

/*
 * Derived hashes are numbered by block, and within a block by probe: at most 64
 * probes, the extra one included.  Part of the format.
 */
#define HASHES_A_BLOCK 64

static inline uint64_t
k_of_largest(unsigned probes, unsigned fraction)
{
	return (uint64_t) probes * BLX_FRACTION_ONE + fraction;
}

/* A position in the walk through the blocks. */
typedef struct block
{
	uint64_t	first;			/* its first bit */
	uint64_t	size;
	uint64_t	k;				/* k_i, in 1/65536 */
	unsigned	hash;			/* the number of its first derived hash */
	uint64_t	left;			/* bits of m from this block on */
	bool		whole;			/* all of them are one block: rational */
} block;

static inline block
before_first(uint8_t layout, uint64_t bits, unsigned probes, unsigned fraction)
{
	return (block) {.left = bits, .k = k_of_largest(probes, fraction), .whole = layout == BLX_RATIONAL};
}

/* Goes to the first or the next block.  False if there is none. */
static inline bool
next_block(block *b)
{
	uint64_t	size;

	b->first += b->size;
	b->left -= b->size;
	if (b->left == 0)
		return false;
	/* The block's size is the highest bit of what is left; k_i shrinks in proportion. */
	size = b->whole ? b->left : UINT64_C(1) << (63 - __builtin_clzll(b->left));
	if (b->size > 0)
	{
		b->k >>= __builtin_ctzll(b->size) - __builtin_ctzll(size);
		b->hash += HASHES_A_BLOCK;
	}
	b->size = size;
	return true;
}

#define EACH_BLOCK(b, x) for (block b = before_first((x)->layout, (x)->part_bits, (x)->probes, (x)->fraction); next_block(&b);)

/* ---- geometry ---- */

static double
bits_per_key(const blx_geometry *g)
{
	uint64_t	sum = 0;

	EACH_BLOCK(b, g)
		sum += b.k;
	return (double) sum / BLX_FRACTION_ONE;
}

static bool
variable_check(const blx_geometry *g, blx_error *error)
{
	return g->probes > 0 ||
		blx_fail(error, BLX_CORRUPT, NULL, NULL, "a variable_blocked filter has at least one probe in the largest block");
}

static double
size_of_largest(uint64_t bits)
{
	return (double) (UINT64_C(1) << (63 - __builtin_clzll(bits)));
}

/*
 * Returns the geometry of m bits with that K, rounded to fixed point and
 * brought between 1 and what keeps the sum of all k_i within BLX_MAX_K.
 */
static blx_geometry
of_k(uint64_t bits, double k_largest)
{
	double		most = floor(BLX_MAX_K * BLX_FRACTION_ONE * (size_of_largest(bits) / (double) bits));
	uint64_t	fixed = (uint64_t) fmin(fmax(round(k_largest * BLX_FRACTION_ONE), BLX_FRACTION_ONE), most);

	return (blx_geometry) {.layout = BLX_VARIABLE_BLOCKED, .blocks = 1, .parts = 1, .part_bits = bits,
		.probes = (uint16_t) (fixed / BLX_FRACTION_ONE), .fraction = (uint16_t) (fixed % BLX_FRACTION_ONE)};
}

/* k is the bits per key in all blocks together.  Half a unit of the fixed point is the tolerance of the check. */
static bool
variable_at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	double		share = size_of_largest(bits) / (double) bits;

	(void) options;
	if (k * share < 1 - 0.5 / BLX_FRACTION_ONE)
		return blx_fail(error, BLX_INVALID_PARAMETER, "Every key has at least one bit in the largest block.", NULL,
						"k must be at least %.6g for a variable_blocked filter of %llu bits, not %.6g",
						1 / share, (unsigned long long) bits, k);
	*g = of_k(bits, k * share);
	return true;
}

/* The blocks are independent, and each is a rational filter.  If k_i < 1, a key may have no bit in the block. */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	double		rate = 1;

	EACH_BLOCK(b, g)
		rate *= blx_fpr_rational((double) n, (double) b.size, (double) b.k / BLX_FRACTION_ONE);
	return rate;
}

/*
 * The geometry of the fewest words that meets the rate, with blocks that n keys
 * fill to a half.  The rate falls with every word more, because half-full blocks
 * err less when two of them are replaced by one of twice the size.  So bisection
 * finds it.
 */
static bool
variable_plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	const uint64_t most = BLX_MAX_BYTES / 8 - BLX_MAX_NAME;
	uint64_t	low = 1,
				high = most + 1;

	(void) options;
	while (low < high)
	{
		uint64_t	words = low + (high - low) / 2;

		*g = of_k(64 * words, size_of_largest(64 * words) * log(2) / (double) capacity);
		if (fpr_expected(g, capacity) < fpr)
			high = words;
		else
			low = words + 1;
	}
	*g = of_k(64 * high, size_of_largest(64 * high) * log(2) / (double) capacity);
	return high <= most ||
		blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters, or choose a higher rate.",
				 "a variable_blocked filter for %llu keys at a false positive rate of %g exceeds the limit of 1 GB",
				 (unsigned long long) capacity, fpr);
}

/* Keeps the largest blocks: clears the lowest bits of m. */
static bool
variable_prefix(blx_geometry *g, int64_t blocks, blx_error *error)
{
	int			most = __builtin_popcountll(g->part_bits);

	if (blocks < 1 || blocks > most)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"blocks must be between 1 and the filter's %d, not %lld", most, (long long) blocks);
	for (int i = most; i > blocks; i--)
		g->part_bits &= g->part_bits - 1;
	return true;
}

/* ---- keys ---- */

/*
 * Sets *bit to the bit of probe j of a block, the last of which is the extra
 * one.  False if this key does not use it.
 */
static inline bool
probe_of(const block *b, uint64_t hash, uint64_t j, uint64_t *bit)
{
	uint64_t	w = blx_derive(hash, b->hash + (unsigned) j);

	*bit = b->first + blx_scale(w, b->size);
	return j < b->k / BLX_FRACTION_ONE || w % BLX_FRACTION_ONE < b->k % BLX_FRACTION_ONE;
}

/* Returns the most probes that a key has in the block, the extra one included. */
static inline uint64_t
probes_in(const block *b)
{
	return b->k / BLX_FRACTION_ONE + (b->k % BLX_FRACTION_ONE > 0);
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *words = blx_words(f);
	uint64_t	bit;

	for (size_t i = 0; i < n; i++)
		EACH_BLOCK(b, f)
			for (uint64_t j = 0; j < probes_in(&b); j++)
				if (probe_of(&b, hashes[i], j, &bit))
					words[bit / 64] |= UINT64_C(1) << bit % 64;
	return n;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint64_t	bit;

	EACH_BLOCK(b, f)
		for (uint64_t j = 0; j < probes_in(&b); j++)
			if (probe_of(&b, hash, j, &bit) && !(*fetch(arg, bit / 64, 1) >> bit % 64 & 1))
				return false;
	return true;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

/* ---- bits ---- */

/*
 * Returns the bits of a block of less than a word.  They lie within one word,
 * because all blocks before it are multiples of its size.
 */
static inline uint64_t
bits_of_small(const block *b, const uint64_t *words)
{
	return words[b->first / 64] >> b->first % 64 & ((UINT64_C(1) << b->size) - 1);
}

/* Returns the share of the block's bits that are set. */
static double
fill_of(const block *b, const uint64_t *words)
{
	uint64_t	set = b->size < 64
		? (uint64_t) __builtin_popcountll(bits_of_small(b, words))
		: blx_popcount(words + b->first / 64, blx_words_for_bits(b->size));

	return (double) set / (double) b->size;
}

/*
 * The product over the blocks.  Of each the mean over absent keys: F^floor(k) (1 - f + f F),
 * with fill F and fraction f of keys that have one more probe.
 */
static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	rates[1] = 1;
	EACH_BLOCK(b, f)
	{
		double		fill = fill_of(&b, blx_cwords(f));

		rates[1] *= blx_power(fill, (unsigned) (b.k / BLX_FRACTION_ONE)) *
			(1 - (double) (b.k % BLX_FRACTION_ONE) / BLX_FRACTION_ONE * (1 - fill));
	}
}

/* dst may be a prefix of src, whose blocks are the first bits of its body.  It may end within a word of src. */
static void
variable_merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	uint64_t	words = blx_words_for_bits(dst->part_bits);

	blx_combine_words(blx_words(dst), blx_cwords(src), words, op);
	if (dst->part_bits % 64 != 0)
		blx_words(dst)[words - 1] &= ~UINT64_C(0) >> (64 - dst->part_bits % 64);
}

/*
 * A common key would leave a common bit in every block of which every key has a
 * bit: those with k_i >= 1, which come first.
 */
static bool
variable_disjoint(const blx_filter *f, const blx_filter *g)
{
	const uint64_t *x = blx_cwords(f);
	const uint64_t *y = blx_cwords(g);

	EACH_BLOCK(b, f)
	{
		if (b.k < BLX_FRACTION_ONE)
			return false;
		if (b.size < 64 ? (bits_of_small(&b, x) & bits_of_small(&b, y)) == 0
			: !blx_words_meet(x + b.first / 64, y + b.first / 64, b.size / 64))
			return true;
	}
	return false;
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	blx_geometry g = blx_geometry_of(f);

	emit(arg, "k", blx_bits_per_key(&g), NULL);
	if (f->layout == BLX_RATIONAL)
		return;
	emit(arg, "k_of_largest_block", (double) k_of_largest(g.probes, g.fraction) / BLX_FRACTION_ONE, NULL);
	emit(arg, "variable_blocks", __builtin_popcountll(g.part_bits), NULL);
}

#define DIFFERENT_SIZES "Its blocks have different sizes, and a key has bits in each of them."

const blx_layout blx_layout_variable_blocked = {
	.name = "variable_blocked",
	.traits = BLX_FETCHABLE,
	.fractional = true,
	.why_not = {
		[BLX_COMPARISON] = DIFFERENT_SIZES,
		[BLX_FOLD] = DIFFERENT_SIZES,
	},
	.instead = {[BLX_FOLD] = "Take a prefix of its blocks."},
	.one = BLX_ONE_BLOCK | BLX_ONE_PART,
	.check = variable_check,
	.bits_per_key = bits_per_key,
	.plan = variable_plan,
	.at_bits = variable_at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.prefix = variable_prefix,
	.merge = variable_merge,
	.disjoint = variable_disjoint,
	.details = details,
};

/* ---- rational ---- */

/* A step is one word more.  k is whole here. */
static void
rational_at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_RATIONAL, .blocks = 1, .parts = 1, .probes = (uint16_t) k, .part_bits = 64 * step};
}

static bool
rational_at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	uint32_t	fixed = (uint32_t) llround(k * BLX_FRACTION_ONE);

	(void) options;
	(void) error;
	*g = (blx_geometry) {.layout = BLX_RATIONAL, .blocks = 1, .parts = 1, .probes = (uint16_t) (fixed / BLX_FRACTION_ONE),
	.fraction = (uint16_t) (fixed % BLX_FRACTION_ONE), .part_bits = bits};
	return true;
}

/* A common key would leave a common bit, if every key has a bit. */
static bool
rational_disjoint(const blx_filter *a, const blx_filter *b)
{
	return a->probes > 0 && blx_flat_disjoint(a, b);
}

const blx_layout blx_layout_rational = {
	.name = "rational",
	.traits = BLX_FETCHABLE,
	.fractional = true,
	.one = BLX_ONE_BLOCK | BLX_ONE_PART,
	.at_step = rational_at_step,
	.max_step = BLX_MAX_BYTES / 8,
	.at_bits = rational_at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.folds = BLX_FOLDS_PARTS,
	.folded_bits_set = blx_flat_folded_bits_set,
	.merge = blx_flat_merge,
	.disjoint = rational_disjoint,
	.details = details,
};
