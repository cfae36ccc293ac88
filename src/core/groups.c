/*
 * groups.c - adding, merging and measuring parts in groups (groups.h).
 *
 * Because a block is named by top bits, the filter of half the blocks has at
 * block b the OR of blocks 2b and 2b+1: fold and expand are exact, and any two
 * filters combine (DESIGN 2.2).
 */
#include <math.h>

#include "core/groups.h"

/* Keys whose blocks are fetched ahead: enough to hide a memory access, few enough to stay in the cache. */
#define BATCH 64

static inline void
set_bits(uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts == BLX_GROUP)
		for (unsigned j = 0; j < BLX_GROUP; j++)
			block[j] |= UINT64_C(1) << blx_group_bit(mixed, j);
	else
		for (unsigned j = 0; j < parts; j++)
			block[j] |= UINT64_C(1) << blx_group_bit(mixed, j);
}

/* One group of up to BATCH keys. */
static void
add_batch(uint64_t *group, unsigned parts, unsigned e, unsigned number, const uint64_t *hashes, size_t n)
{
	uint64_t   *blocks[BATCH];
	uint64_t	mixed[BATCH];

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	h = blx_derive(hashes[i], number);

		mixed[i] = blx_group_mix(h);
		blocks[i] = group + blx_group_block(h, e) * parts;
		__builtin_prefetch(blocks[i], 1);
	}
	for (size_t i = 0; i < n; i++)
		set_bits(blocks[i], parts, mixed[i]);
}

void
blx_groups_add(uint64_t *words, blx_groups shape, const uint64_t *hashes, size_t n)
{
	while (n > 0)
	{
		size_t		batch = n < BATCH ? n : BATCH;
		uint64_t   *group = words;

		for (unsigned g = 0; g < blx_groups_count(shape); g++)
		{
			unsigned	parts = blx_group_parts(shape, g);

			add_batch(group, parts, shape.log2, g, hashes, batch);
			group += (uint64_t) parts << shape.log2;
		}
		hashes += batch;
		n -= batch;
	}
}

/* A block of i keys: chance that `parts` parts all have the bit asked for. */
static double
block_rate(uint64_t load, const void *parts)
{
	return blx_power(-expm1((double) load * log1p(-1.0 / 64)), *(const unsigned *) parts);
}

/* DESIGN 2.1: groups are independent, so their mean rates multiply. */
double
blx_groups_fpr_expected(blx_groups shape, uint64_t n)
{
	const uint64_t blocks = UINT64_C(1) << shape.log2;
	unsigned	full = BLX_GROUP,
				rest = shape.parts % BLX_GROUP;
	double		rate = 1;

	if (shape.parts >= BLX_GROUP)
		rate = blx_power(blx_mean_over_loads(n, blocks, block_rate, &full), shape.parts / BLX_GROUP);
	if (rest > 0)
		rate *= blx_mean_over_loads(n, blocks, block_rate, &rest);
	return rate;
}

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

		for (uint64_t b = 0; b < blocks; b++, block += parts)
		{
			double		rate = 1;

			for (unsigned j = 0; j < parts; j++)
			{
				rate *= (double) __builtin_popcountll(block[j]) / 64;
				sums[j] += rate;
			}
		}
		for (unsigned j = 0; j < parts; j++)
			rates[BLX_GROUP * g + j + 1] = groups_before * sums[j] / (double) blocks;
		groups_before *= sums[parts - 1] / (double) blocks;
	}
}

/* Walks the finer of the two; the coarser one's block stands for all its descendants. */
static void
merge_group(uint64_t *dst, unsigned dst_log2, unsigned dst_parts,
			const uint64_t *src, unsigned src_log2, unsigned src_parts, blx_op op)
{
	unsigned	finer = dst_log2 > src_log2 ? dst_log2 : src_log2;
	unsigned	parts = dst_parts < src_parts ? dst_parts : src_parts;

	for (uint64_t b = 0; b < UINT64_C(1) << finer; b++)
	{
		uint64_t   *d = dst + (b >> (finer - dst_log2)) * dst_parts;
		const uint64_t *s = src + (b >> (finer - src_log2)) * src_parts;

		if (op == BLX_OR)
			for (unsigned j = 0; j < parts; j++)
				d[j] |= s[j];
		else
			for (unsigned j = 0; j < parts; j++)
				d[j] &= s[j];
	}
}

void
blx_groups_merge(uint64_t *dst, blx_groups dst_shape, const uint64_t *src, blx_groups src_shape, blx_op op)
{
	blx_groups	both = {dst_shape.log2, dst_shape.parts < src_shape.parts ? dst_shape.parts : src_shape.parts};

	for (unsigned g = 0; g < blx_groups_count(both); g++)
	{
		unsigned	dst_parts = blx_group_parts(dst_shape, g);
		unsigned	src_parts = blx_group_parts(src_shape, g);
		uint64_t	dst_words = (uint64_t) dst_parts << dst_shape.log2;
		uint64_t	src_words = (uint64_t) src_parts << src_shape.log2;

		if (dst_words == src_words && dst_parts == src_parts)
			(op == BLX_OR ? blx_or_words : blx_and_words) (dst, src, dst_words);
		else
			merge_group(dst, dst_shape.log2, dst_parts, src, src_shape.log2, src_parts, op);
		dst += dst_words;
		src += src_words;
	}
}

/* In this group, does every block of a & b have a part without a common bit? */
static bool
group_disjoint(const uint64_t *a, unsigned a_log2, unsigned a_parts,
			   const uint64_t *b, unsigned b_log2, unsigned b_parts)
{
	unsigned	finer = a_log2 > b_log2 ? a_log2 : b_log2;
	unsigned	parts = a_parts < b_parts ? a_parts : b_parts;

	for (uint64_t i = 0; i < UINT64_C(1) << finer; i++)
	{
		const uint64_t *x = a + (i >> (finer - a_log2)) * a_parts;
		const uint64_t *y = b + (i >> (finer - b_log2)) * b_parts;
		bool		all_meet = true;

		for (unsigned j = 0; j < parts; j++)
			all_meet &= (x[j] & y[j]) != 0;
		if (all_meet)
			return false;
	}
	return true;
}

/* A common key would leave, in every group, a block whose parts all have a common bit. */
bool
blx_groups_disjoint(const uint64_t *a, blx_groups a_shape, const uint64_t *b, blx_groups b_shape)
{
	blx_groups	both = {a_shape.log2, a_shape.parts < b_shape.parts ? a_shape.parts : b_shape.parts};

	for (unsigned g = 0; g < blx_groups_count(both); g++)
	{
		unsigned	a_parts = blx_group_parts(a_shape, g);
		unsigned	b_parts = blx_group_parts(b_shape, g);

		if (group_disjoint(a, a_shape.log2, a_parts, b, b_shape.log2, b_parts))
			return true;
		a += (uint64_t) a_parts << a_shape.log2;
		b += (uint64_t) b_parts << b_shape.log2;
	}
	return false;
}
