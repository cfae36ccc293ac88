/*
 * groups.c - adding, merging and measuring parts in groups (groups.h).
 *
 * A block's number is the top bits of a hash.  So block b of the filter with
 * half as many blocks is the OR of blocks 2b and 2b+1.  Therefore fold and expand
 * are exact, and any two filters combine (filter/algebra/algebra.c).
 */
#include <math.h>
#include <string.h>

#include "core/layouts/groups.h"

/* Increments the counters of up to BLX_BATCH keys in one group. */
static void
count_batch(blx_groups shape, uint64_t *group, unsigned number, const uint64_t *hashes, size_t n)
{
	unsigned	parts = blx_group_parts(shape, number);
	unsigned	words = blx_block_words(shape, parts);
	uint64_t   *blocks[BLX_BATCH];
	uint64_t	mixed[BLX_BATCH];

	/* Find and prefetch all blocks, one cache line per plane, before the first is changed. */
	for (size_t i = 0; i < n; i++)
	{
		uint64_t	h = blx_derive(hashes[i], number);

		mixed[i] = blx_group_mix(h);
		blocks[i] = group + blx_group_block(h, shape.log2) * words;
		for (unsigned w = 0; w < words; w += BLX_GROUP)
			__builtin_prefetch(blocks[i] + w, 1);
	}
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < parts; j++)
			blx_counters_increment(blocks[i] + j, parts, UINT64_C(1) << blx_group_bit(mixed[i], j));
}

void
blx_groups_add(uint64_t *words, blx_groups shape, const uint64_t *hashes, size_t n)
{
	if (!shape.counting)
	{
		blx_kernels_in_use()->add(words, UINT64_C(1) << shape.log2, shape.parts, hashes, n);
		return;
	}
	while (n > 0)
	{
		size_t		batch = n < BLX_BATCH ? n : BLX_BATCH;
		uint64_t   *group = words;

		for (unsigned g = 0; g < blx_groups_count(shape); g++)
		{
			count_batch(shape, group, g, hashes, batch);
			group += blx_group_words(shape, g);
		}
		hashes += batch;
		n -= batch;
	}
}

void
blx_groups_remove(uint64_t *words, blx_groups shape, uint64_t hash)
{
	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);
		uint64_t	h = blx_derive(hash, g);
		uint64_t   *block = words + blx_group_block(h, shape.log2) * blx_block_words(shape, parts);

		for (unsigned j = 0; j < parts; j++)
			blx_counters_decrement(block + j, parts, UINT64_C(1) << blx_group_bit(blx_group_mix(h), j));
		words += blx_group_words(shape, g);
	}
}

unsigned
blx_groups_least_counter(const uint64_t *words, blx_groups shape, uint64_t hash)
{
	unsigned	least = BLX_SATURATED;

	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);
		uint64_t	h = blx_derive(hash, g);
		const uint64_t *block = words + blx_group_block(h, shape.log2) * blx_block_words(shape, parts);

		for (unsigned j = 0; j < parts; j++)
		{
			unsigned	counter = blx_counters_value(block + j, parts, blx_group_bit(blx_group_mix(h), j));

			if (counter < least)
				least = counter;
		}
		words += blx_group_words(shape, g);
	}
	return least;
}

/* Adjacent blocks become one: a part of it has the bits that any of them has. */
uint64_t
blx_groups_folded_bits_set(const uint64_t *words, blx_groups shape, unsigned times)
{
	const uint64_t blocks = UINT64_C(1) << (shape.log2 - times),
				children = UINT64_C(1) << times;
	uint64_t	set = 0;

	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g),
					block_words = blx_block_words(shape, parts);

		for (uint64_t b = 0; b < blocks; b++, words += children * block_words)
			for (unsigned j = 0; j < parts; j++)
			{
				uint64_t	any = 0;

				for (uint64_t c = 0; c < children; c++)
					any |= blx_block_part(shape, words + c * block_words, parts, j);
				set += (uint64_t) __builtin_popcountll(any);
			}
	}
	return set;
}

/*
 * The false positive rate as it is.  A part's fill times 64 is a whole number, its
 * set bits.  So is the product of those of a block's parts, at most 2^48, and the
 * sum of such products over SUMMED blocks, which a word holds.  Sums of whole
 * numbers are exact, in whatever order.
 */
#define SUMMED 8192

/* The words whose bits are counted at once, before their blocks are looked at: a buffer of 4 KB stays in the first-level cache. */
#define COUNTED 512

/* Adds to sums[j] the products of the set bits of parts 0 .. j, over the blocks whose counts are given. */
static inline __attribute__((always_inline)) void
add_products(uint64_t *sums, const uint64_t *counts, uint64_t blocks, unsigned parts)
{
	for (uint64_t b = 0; b < blocks; b++, counts += parts)
	{
		uint64_t	product = 1;

		for (unsigned j = 0; j < parts; j++)
		{
			product *= counts[j];
			sums[j] += product;
		}
	}
}

/* Sets sums[j], j = 0 .. parts-1, to those sums over at most SUMMED blocks of a group. */
static void
sum_products(uint64_t *sums, blx_groups shape, const uint64_t *block, uint64_t blocks, unsigned parts)
{
	uint64_t	counts[COUNTED];
	const uint64_t most = COUNTED / parts;

	memset(sums, 0, parts * sizeof *sums);
	for (uint64_t n; blocks > 0; blocks -= n, block += n * blx_block_words(shape, parts))
	{
		const uint64_t *bits = block;

		n = blocks < most ? blocks : most;
		if (shape.counting)
		{
			uint64_t   *out = counts;

			for (uint64_t b = 0; b < n; b++)
				for (unsigned j = 0; j < parts; j++)
					*out++ = blx_block_part(shape, block + b * blx_block_words(shape, parts), parts, j);
			bits = counts;
		}
		blx_count_words(counts, bits, n * parts);
		/* a constant number of parts, where speed counts */
		if (parts == BLX_GROUP)
			add_products(sums, counts, n, BLX_GROUP);
		else
			add_products(sums, counts, n, parts);
	}
}

/*
 * An absent key picks any block of a group with equal chance, and passes its
 * first parts with the product of their fills.  Groups are independent: the
 * mean over the blocks of one multiplies that of the groups before it.
 */
void
blx_groups_fpr_prefixes(const uint64_t *words, blx_groups shape, double *rates)
{
	const uint64_t blocks = UINT64_C(1) << shape.log2;
	const uint64_t *block = words;
	double		groups_before = 1;

	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);
		double		sums[BLX_GROUP] = {0};

		/* The sums over the blocks, for one part, for two, ... */
		for (uint64_t n, left = blocks; left > 0; left -= n, block += n * blx_block_words(shape, parts))
		{
			uint64_t	products[BLX_GROUP];

			n = left < SUMMED ? left : SUMMED;
			sum_products(products, shape, block, n, parts);
			for (unsigned j = 0; j < parts; j++)
				sums[j] += ldexp((double) products[j], -6 * (int) (j + 1));
		}

		/* The mean of this group times those of the whole groups before it. */
		for (unsigned j = 0; j < parts; j++)
			rates[BLX_GROUP * g + j + 1] = groups_before * sums[j] / (double) blocks;
		groups_before *= sums[parts - 1] / (double) blocks;
	}
}

/* Combines one block into another, over the parts that both have. */
static inline void
merge_block(blx_groups shape, uint64_t *dst, unsigned dst_parts, const uint64_t *src, unsigned src_parts, blx_op op)
{
	unsigned	parts = dst_parts < src_parts ? dst_parts : src_parts;

	if (shape.counting)
		for (unsigned j = 0; j < parts; j++)
			blx_counters_add(dst + j, dst_parts, src + j, src_parts);
	else if (op == BLX_OR)
		for (unsigned j = 0; j < parts; j++)
			dst[j] |= src[j];
	else
		for (unsigned j = 0; j < parts; j++)
			dst[j] &= src[j];
}

/*
 * Walks the blocks of the finer one.  A block of the coarser one stands for all
 * those whose numbers begin with its bits.
 */
static void
merge_group(uint64_t *dst, blx_groups dst_shape, const uint64_t *src, blx_groups src_shape, unsigned number, blx_op op)
{
	unsigned	finer = dst_shape.log2 > src_shape.log2 ? dst_shape.log2 : src_shape.log2;
	unsigned	dst_parts = blx_group_parts(dst_shape, number),
				src_parts = blx_group_parts(src_shape, number);

	for (uint64_t b = 0; b < UINT64_C(1) << finer; b++)
		merge_block(dst_shape,
					dst + (b >> (finer - dst_shape.log2)) * blx_block_words(dst_shape, dst_parts), dst_parts,
					src + (b >> (finer - src_shape.log2)) * blx_block_words(src_shape, src_parts), src_parts, op);
}

/* Returns the number of groups that both have. */
static unsigned
common_groups(blx_groups a, blx_groups b)
{
	return blx_groups_count(a.parts < b.parts ? a : b);
}

/* True if group `number` is a full group of bits in both. */
static bool
both_full(blx_groups a, blx_groups b, unsigned number)
{
	return !a.counting && !b.counting && blx_group_parts(a, number) == BLX_GROUP && blx_group_parts(b, number) == BLX_GROUP;
}

void
blx_groups_merge(uint64_t *dst, blx_groups dst_shape, const uint64_t *src, blx_groups src_shape, blx_op op)
{
	for (unsigned g = 0; g < common_groups(dst_shape, src_shape); g++)
	{
		uint64_t	words = blx_group_words(dst_shape, g);

		if (!dst_shape.counting && dst_shape.log2 == src_shape.log2 && words == blx_group_words(src_shape, g))
			blx_combine_words(dst, src, words, op);
		else if (!both_full(dst_shape, src_shape, g))
			merge_group(dst, dst_shape, src, src_shape, g, op);
		/* the kernels have full groups of bits */
		else if (dst_shape.log2 < src_shape.log2)
			blx_kernels_in_use()->fold(dst, dst_shape.log2, src, src_shape.log2);
		else
			blx_kernels_in_use()->expand(dst, dst_shape.log2, src, src_shape.log2, op);
		dst += words;
		src += blx_group_words(src_shape, g);
	}
}

/* True if, in this group, every block of a & b has a part without a common cell. */
static bool
group_disjoint(const uint64_t *a, blx_groups a_shape, const uint64_t *b, blx_groups b_shape, unsigned number)
{
	unsigned	finer = a_shape.log2 > b_shape.log2 ? a_shape.log2 : b_shape.log2;
	unsigned	a_parts = blx_group_parts(a_shape, number),
				b_parts = blx_group_parts(b_shape, number),
				parts = a_parts < b_parts ? a_parts : b_parts;

	/* The kernels have full groups of bits; they want the finer one first. */
	if (both_full(a_shape, b_shape, number))
		return a_shape.log2 >= b_shape.log2
			? blx_kernels_in_use()->disjoint(a, a_shape.log2, b, b_shape.log2)
			: blx_kernels_in_use()->disjoint(b, b_shape.log2, a, a_shape.log2);
	/* Block i of the finer one against the block of the coarser one that covers it, over the parts that both have. */
	for (uint64_t i = 0; i < UINT64_C(1) << finer; i++)
	{
		const uint64_t *x = a + (i >> (finer - a_shape.log2)) * blx_block_words(a_shape, a_parts);
		const uint64_t *y = b + (i >> (finer - b_shape.log2)) * blx_block_words(b_shape, b_parts);
		bool		all_meet = true;

		for (unsigned j = 0; j < parts; j++)
			all_meet &= (blx_block_part(a_shape, x, a_parts, j) & blx_block_part(b_shape, y, b_parts, j)) != 0;
		if (all_meet)
			return false;
	}
	return true;
}

/*
 * A common key would leave, in every group, one block in which all parts have a
 * common cell.  So one group without such a block is a proof.
 */
bool
blx_groups_disjoint(const uint64_t *a, blx_groups a_shape, const uint64_t *b, blx_groups b_shape)
{
	for (unsigned g = 0; g < common_groups(a_shape, b_shape); g++)
	{
		if (group_disjoint(a, a_shape, b, b_shape, g))
			return true;
		a += blx_group_words(a_shape, g);
		b += blx_group_words(b_shape, g);
	}
	return false;
}
