/*
 * blocked.c - the blocked Bloom filter: many small standard filters of one size,
 * the blocks, of which a key picks one.
 *
 * Putze, Sanders and Singler 2009.  A key touches one cache line, or one page if
 * the blocks are that large (Kaler).  There may be any number of blocks, of any
 * size: the block is the key's hash, scaled by its top bits.  The bits within the
 * block come from the derived hashes w_1, w_2, ..., because bits of the hash
 * that picked the block would depend on the block.
 *
 * Each derived hash x gives several positions.  The upper half of the product
 * x * S is a position, and the lower half takes the place of x for the next one.
 * If S is a power of two, this takes the bits of x from its top, until they
 * are used up.  For other sizes each position uses up log2 S bits, too, but when
 * few bits are left, the values of x fall on the positions unevenly.  Therefore
 * at least SPARE bits stay unused.
 *
 * The block is found by the top of the hash, and the bits in it do not depend on
 * the number of blocks.  So if that number is even, blocks 2i and 2i + 1 fold into
 * block i, exactly.  Filters combine if their blocks have one size and their
 * numbers of blocks differ by a power of two.  A block has no parts to drop.
 */
#include "core/layouts/geometry.h"
#include "core/layouts/digits.h"
#include "core/layouts/layout.h"
#include "core/theory/theory.h"

/*
 * The preset size of a block: one cache line per key.  Larger blocks have a
 * lower rate and cost more misses (docs/internals/theory.md).
 */
#define CACHE_LINE 512

/* A position takes at most 32 bits of a derived hash, so that every hash gives at least one and SPARE is kept. */
#define MAX_BLOCK_BITS (UINT64_C(1) << 32)

/*
 * Bits of a derived hash that stay unused if S is not a power of two.  With 20,
 * the chances of two positions differ by less than one part in 2^20, far below
 * what any filter can show; more would cost more hashes per key.
 */
#define SPARE 20

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->part_bits > MAX_BLOCK_BITS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a blocked filter's block has at most %llu bits, not %llu",
						(unsigned long long) MAX_BLOCK_BITS, (unsigned long long) g->part_bits);
	return true;
}

/* A step is one block more. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	*g = (blx_geometry) {.layout = BLX_BLOCKED, .blocks = (uint32_t) step, .parts = 1, .probes = (uint16_t) k,
	.part_bits = (uint64_t) options->value[BLX_OPT_BLOCK_BITS]};
}

/* FORMAT.md says how many positions one derived hash gives: at least 1, for the width is at most 32. */
static inline blx_digits
probes_of(uint64_t hash, uint64_t block_bits)
{
	unsigned	width = block_bits <= 2 ? 1 : 64 - (unsigned) __builtin_clzll(block_bits - 1);	/* log2, rounded up */
	unsigned	spare = (block_bits & (block_bits - 1)) == 0 ? 0 : SPARE;

	return (blx_digits) {.hash = hash, .base = block_bits, .derived = 1, .each = (64 - spare) / width};
}

static inline uint64_t
block_words(const blx_filter *f)
{
	return blx_words_for_bits(f->part_bits);
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint64_t   *block = blx_words(f) + blx_scale(hashes[i], f->blocks) * block_words(f);
		blx_digits	s = probes_of(hashes[i], f->part_bits);

		for (unsigned j = 0; j < f->probes; j++)
		{
			uint64_t	bit = blx_next_digit(&s);

			block[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
	return n;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint64_t	block = blx_scale(hash, f->blocks) * block_words(f);
	blx_digits	s = probes_of(hash, f->part_bits);

	for (unsigned j = 0; j < f->probes; j++)
	{
		uint64_t	bit = blx_next_digit(&s);

		if (!(*fetch(arg, block + bit / 64, 1) >> bit % 64 & 1))
			return false;
	}
	return true;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_fpr_blocked(n, g->blocks, g->part_bits, g->probes);
}

/* An absent key picks any block with equal chance: the mean over the blocks of fill^k. */
static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	const uint64_t *block = blx_cwords(f);
	double		sum = 0;

	for (uint64_t i = 0; i < f->blocks; i++, block += block_words(f))
		sum += blx_power((double) blx_popcount(block, block_words(f)) / (double) f->part_bits, f->probes);
	rates[1] = sum / f->blocks;
}

static uint64_t
folded_bits_set(const blx_filter *f, unsigned times)
{
	uint64_t	words = block_words(f),
				children = UINT64_C(1) << times,
				set = 0;
	const uint64_t *block = blx_cwords(f);

	for (uint64_t i = 0; i < f->blocks; i += children, block += children * words)
		for (uint64_t w = 0; w < words; w++)
		{
			uint64_t	any = 0;

			for (uint64_t c = 0; c < children; c++)
				any |= block[c * words + w];
			set += (uint64_t) __builtin_popcountll(any);
		}
	return set;
}

/* Returns by how many bits the number of a block is shifted, from a filter of `finer` blocks to f. */
static unsigned
coarser_by(const blx_filter *f, uint64_t finer)
{
	return (unsigned) __builtin_ctzll(finer / f->blocks);
}

static inline uint64_t
more_blocks(const blx_filter *a, const blx_filter *b)
{
	return a->blocks > b->blocks ? a->blocks : b->blocks;
}

/* A block of the coarser filter stands for all blocks of the finer one that it covers. */
static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	uint64_t	words = block_words(src),
				finer = more_blocks(dst, src);
	unsigned	d = coarser_by(dst, finer),
				s = coarser_by(src, finer);

	/* equal filters are one array of words */
	if (dst->blocks == src->blocks)
	{
		blx_combine_words(blx_words(dst), blx_cwords(src), finer * words, op);
		return;
	}
	for (uint64_t b = 0; b < finer; b++)
		blx_combine_words(blx_words(dst) + (b >> d) * words, blx_cwords(src) + (b >> s) * words, words, op);
}

/* A common key would leave a common bit in its block. */
static bool
disjoint(const blx_filter *x, const blx_filter *y)
{
	uint64_t	words = block_words(x),
				finer = more_blocks(x, y);
	unsigned	i = coarser_by(x, finer),
				j = coarser_by(y, finer);

	if (x->blocks == y->blocks)
		return !blx_words_meet(blx_cwords(x), blx_cwords(y), finer * words);
	for (uint64_t b = 0; b < finer; b++)
		if (blx_words_meet(blx_cwords(x) + (b >> i) * words, blx_cwords(y) + (b >> j) * words, words))
			return false;
	return true;
}

static const blx_option_range option_ranges[] = {{BLX_OPT_BLOCK_BITS, 1, (double) MAX_BLOCK_BITS, CACHE_LINE}, {0}};

const blx_layout blx_layout_blocked = {
	.name = "blocked",
	.traits = BLX_FETCHABLE,
	.options = option_ranges,
	.one = BLX_ONE_PART,
	.check = check,
	.at_step = at_step,
	.max_step = BLX_MAX_BYTES / 8,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.folds = BLX_FOLDS_BLOCKS,
	.folded_bits_set = folded_bits_set,
	.merge = merge,
	.disjoint = disjoint,
};
