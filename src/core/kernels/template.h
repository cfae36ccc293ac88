/*
 * template.h - the kernels of one path (kernels.h), made from the few functions
 * that differ between processors.  The file of each path includes this template
 * once.
 *
 * Before that, it defines
 *   PATH          the name of the path
 *   KERNELS       the table that this file fills (KERNEL_TABLE fills another one, with its own popcount)
 *   TARGET        the function attribute that allows the instructions, or nothing
 *   VECTOR        bytes of a register
 *   block_has(block, parts, mixed)   true if the block has the key's bit in each of its parts
 *   block_set(block, parts, mixed)   sets these bits
 *   blocks_meet(a, b)                true if two blocks of 8 parts have a common bit in each part
 * and, if there is a faster way for one key alone,
 *   full_block_has(block, mixed)     block_has for 8 parts
 *
 * Where speed matters, block_has and block_set are called with a constant 8 for
 * parts, so that the compiler drops the other cases.
 *
 * Memory decides the speed of large filters, so a batch prefetches the blocks of
 * all its keys before it looks at the first.
 */
#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"

/* A register of words.  aligned(8): filters are aligned to words, not to registers. */
typedef uint64_t vector __attribute__((vector_size(VECTOR), aligned(8), may_alias));

#define VECTOR_WORDS (VECTOR / 8)

#ifndef full_block_has
#define full_block_has(block, mixed) block_has(block, BLX_GROUP, mixed)
#endif

/*
 * Returns the first word of the block that blx_group_block names.  The number of
 * blocks is a power of two, so scaling by it is the same as a shift, without
 * the logarithm.
 */
static inline __attribute__((always_inline)) uint64_t
block_at(uint64_t blocks, unsigned parts, uint64_t group_hash)
{
	return blx_scale(group_hash, blocks) * parts;
}

/* ---- keys ---- */

/*
 * Tests the groups after the first.  It is not inlined, so that a test of the
 * first group saves no registers for it.
 */
TARGET static __attribute__((noinline)) bool
test_rest(const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash)
{
	for (unsigned g = 1; parts > 0; g++)
	{
		unsigned	in_group = parts < BLX_GROUP ? parts : BLX_GROUP;
		uint64_t	h = blx_derive(hash, g);
		const uint64_t *block = words + block_at(blocks, in_group, h);

		if (!(in_group == BLX_GROUP ? block_has(block, BLX_GROUP, blx_group_mix(h)) : block_has(block, in_group, blx_group_mix(h))))
			return false;
		words += in_group * blocks;
		parts -= in_group;
	}
	return true;
}

TARGET static inline __attribute__((always_inline)) bool
test_words(const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash)
{
	uint64_t	mixed = blx_group_mix(hash);

	if (parts == BLX_GROUP)
		return full_block_has(words + block_at(blocks, BLX_GROUP, hash), mixed);
	if (parts < BLX_GROUP)
		return block_has(words + block_at(blocks, parts, hash), parts, mixed);
	return full_block_has(words + block_at(blocks, BLX_GROUP, hash), mixed) &&
		test_rest(words + BLX_GROUP * blocks, blocks, parts - BLX_GROUP, hash);
}

TARGET static bool
test(const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash)
{
	return test_words(words, blocks, parts, hash);
}

TARGET static bool
test_filter(const blx_filter *f, uint64_t hash)
{
	return test_words(blx_cwords(f), f->blocks, f->parts, hash);
}

/*
 * Tests up to BLX_BATCH keys in one group, by their hashes for this group.  Bit
 * i of the result is the answer for hash i.
 */
TARGET static inline __attribute__((always_inline)) uint64_t
test_group(const uint64_t *group, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(group + block_at(blocks, parts, hashes[i]));
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) block_has(group + block_at(blocks, parts, hashes[i]), parts, blx_group_mix(hashes[i])) << i;
	return found;
}

/* Tests each group only for those keys that all groups before it had. */
TARGET static uint64_t
test_batch(const uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
	uint64_t	derived[BLX_BATCH];

	for (unsigned g = 0; parts > 0 && found != 0; g++)
	{
		unsigned	in_group = parts < BLX_GROUP ? parts : BLX_GROUP;
		uint64_t	hits;

		/* The keys that are left, by their hashes for this group; group 0 takes the hashes as they are. */
		if (g > 0)
		{
			n = 0;
			for (uint64_t rest = found; rest != 0; rest &= rest - 1)
				derived[n++] = blx_derive(hashes[__builtin_ctzll(rest)], g);
		}
		if (in_group == BLX_GROUP)
			hits = test_group(words, blocks, BLX_GROUP, g > 0 ? derived : hashes, n);
		else
			hits = test_group(words, blocks, in_group, g > 0 ? derived : hashes, n);
		/* Answer i belongs to the i-th set bit of found: clear the bits whose answer is no. */
		if (g == 0)
			found = hits;
		else
			for (uint64_t rest = found; rest != 0; rest &= rest - 1, hits >>= 1)
				found ^= (rest & -rest) & ((hits & 1) - 1);
		words += in_group * blocks;
		parts -= in_group;
	}
	return found;
}

/* Adds n keys to one group, by their hashes for this group. */
TARGET static inline __attribute__((always_inline)) void
add_group(uint64_t *group, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(group + block_at(blocks, parts, hashes[i]), 1);
	for (size_t i = 0; i < n; i++)
		block_set(group + block_at(blocks, parts, hashes[i]), parts, blx_group_mix(hashes[i]));
}

/* Adds any number of keys, BLX_BATCH at a time, and each batch group by group. */
TARGET static __attribute__((noinline)) void
add_batches(uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n)
{
	uint64_t	derived[BLX_BATCH];

	for (size_t batch; n > 0; hashes += batch, n -= batch)
	{
		uint64_t   *group = words;
		unsigned	left = parts;

		batch = n < BLX_BATCH ? n : BLX_BATCH;
		for (unsigned g = 0; left > 0; g++)
		{
			unsigned	in_group = left < BLX_GROUP ? left : BLX_GROUP;

			/* group 0 takes the keys' own hashes */
			if (g > 0)
				for (size_t i = 0; i < batch; i++)
					derived[i] = blx_derive(hashes[i], g);
			/* a constant number of parts, where speed counts */
			if (in_group == BLX_GROUP)
				add_group(group, blocks, BLX_GROUP, g > 0 ? derived : hashes, batch);
			else
				add_group(group, blocks, in_group, g > 0 ? derived : hashes, batch);
			group += in_group * blocks;
			left -= in_group;
		}
	}
}

TARGET static void
add(uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n)
{
	if (n == 1 && parts == BLX_GROUP)	/* one key at a time skips the loops */
		block_set(words + block_at(blocks, BLX_GROUP, *hashes), BLX_GROUP, blx_group_mix(*hashes));
	else
		add_batches(words, blocks, parts, hashes, n);
}

/* ---- one full group at two resolutions ---- */

/* Block b of dst takes in the `ratio` adjacent blocks of src whose numbers begin with b's bits. */
TARGET static void
fold(uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2)
{
	const uint64_t ratio = UINT64_C(1) << (src_log2 - dst_log2);

	for (uint64_t b = 0; b < UINT64_C(1) << dst_log2; b++, dst += BLX_GROUP, src += BLX_GROUP * ratio)
		for (unsigned w = 0; w < BLX_GROUP; w += VECTOR_WORDS)
		{
			vector		sum = *(vector *) (dst + w);

			for (uint64_t r = 0; r < ratio; r++)
				sum |= *(const vector *) (src + BLX_GROUP * r + w);
			*(vector *) (dst + w) = sum;
		}
}

/* Each block of src is ORed into the `ratio` adjacent blocks of dst that it stands for. */
TARGET static void
expand_or(uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2)
{
	const uint64_t ratio = UINT64_C(1) << (dst_log2 - src_log2);

	for (uint64_t b = 0; b < UINT64_C(1) << src_log2; b++, src += BLX_GROUP, dst += BLX_GROUP * ratio)
		for (unsigned w = 0; w < BLX_GROUP; w += VECTOR_WORDS)
			for (uint64_t r = 0; r < ratio; r++)
				*(vector *) (dst + BLX_GROUP * r + w) |= *(const vector *) (src + w);
}

/* Each block of src masks the `ratio` adjacent blocks of dst that it stands for. */
TARGET static void
expand_and(uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2)
{
	const uint64_t ratio = UINT64_C(1) << (dst_log2 - src_log2);

	for (uint64_t b = 0; b < UINT64_C(1) << src_log2; b++, src += BLX_GROUP, dst += BLX_GROUP * ratio)
		for (unsigned w = 0; w < BLX_GROUP; w += VECTOR_WORDS)
			for (uint64_t r = 0; r < ratio; r++)
				*(vector *) (dst + BLX_GROUP * r + w) &= *(const vector *) (src + w);
}

/* A common key would leave one block of a that meets its block of b in every part. */
TARGET static bool
disjoint(const uint64_t *a, unsigned a_log2, const uint64_t *b, unsigned b_log2)
{
	for (uint64_t i = 0; i < UINT64_C(1) << a_log2; i++)
		if (blocks_meet(a + BLX_GROUP * i, b + BLX_GROUP * (i >> (a_log2 - b_log2))))
			return false;
	return true;
}

/*
 * ---- arrays of words ----
 *
 * Four registers per round: enough independent loads that one need not wait for
 * another, and more would only lengthen the loop for the words that are left.
 */

TARGET static void
or_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	for (; n >= 4 * VECTOR_WORDS; n -= 4 * VECTOR_WORDS, dst += 4 * VECTOR_WORDS, src += 4 * VECTOR_WORDS)
	{
		vector	   *d = (vector *) dst;
		const vector *s = (const vector *) src;

		d[0] |= s[0];
		d[1] |= s[1];
		d[2] |= s[2];
		d[3] |= s[3];
	}
	for (uint64_t i = 0; i < n; i++)
		dst[i] |= src[i];
}

TARGET static void
and_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	for (; n >= 4 * VECTOR_WORDS; n -= 4 * VECTOR_WORDS, dst += 4 * VECTOR_WORDS, src += 4 * VECTOR_WORDS)
	{
		vector	   *d = (vector *) dst;
		const vector *s = (const vector *) src;

		d[0] &= s[0];
		d[1] &= s[1];
		d[2] &= s[2];
		d[3] &= s[3];
	}
	for (uint64_t i = 0; i < n; i++)
		dst[i] &= src[i];
}

TARGET static bool
words_meet(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	for (; n >= 4 * VECTOR_WORDS; n -= 4 * VECTOR_WORDS, a += 4 * VECTOR_WORDS, b += 4 * VECTOR_WORDS)
	{
		const vector *x = (const vector *) a,
				   *y = (const vector *) b;
		vector		common = (x[0] & y[0]) | (x[1] & y[1]) | (x[2] & y[2]) | (x[3] & y[3]);
		uint64_t	any = 0;

		for (unsigned w = 0; w < VECTOR_WORDS; w++)
			any |= common[w];
		if (any != 0)
			return true;
	}
	for (uint64_t i = 0; i < n; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* A full adder for every column of bits: *ones + *a + *b becomes 2 * *twos + *ones. */
static inline __attribute__((always_inline)) void
add_columns(vector *twos, vector *ones, const vector *a, const vector *b)
{
	vector		half = *ones ^ *a;

	*twos = (*ones & *a) | (half & *b);
	*ones = half ^ *b;
}

/* Replaces each word of a register by the number of its set bits: sums of 2, 4, 8 bits, then of the bytes. */
static inline __attribute__((always_inline)) void
count_lanes(vector *v)
{
	vector		x = *v;

	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x += x >> 8;
	x += x >> 16;
	x += x >> 32;
	*v = x & 0x7f;
}

/*
 * Counts set bits by Harley and Seal's method (Mula, Kurz, Lemire 2016, "Faster
 * population counts using AVX2 instructions").  Sixteen registers are added
 * column by column; ones, twos, fours and eights carry over to the next round,
 * so that only one register of sixteens per round has to be counted.
 */
TARGET static uint64_t
popcount(const uint64_t *words, uint64_t n)
{
	vector		ones = {0},
				twos = {0},
				fours = {0},
				eights = {0},
				total = {0};
	uint64_t	sum = 0;

	for (; n >= 16 * VECTOR_WORDS; n -= 16 * VECTOR_WORDS, words += 16 * VECTOR_WORDS)
	{
		const vector *v = (const vector *) words;
		vector		two_a,
					two_b,
					four_a,
					four_b,
					eight_a,
					eight_b,
					sixteens;

		add_columns(&two_a, &ones, v, v + 1);
		add_columns(&two_b, &ones, v + 2, v + 3);
		add_columns(&four_a, &twos, &two_a, &two_b);
		add_columns(&two_a, &ones, v + 4, v + 5);
		add_columns(&two_b, &ones, v + 6, v + 7);
		add_columns(&four_b, &twos, &two_a, &two_b);
		add_columns(&eight_a, &fours, &four_a, &four_b);
		add_columns(&two_a, &ones, v + 8, v + 9);
		add_columns(&two_b, &ones, v + 10, v + 11);
		add_columns(&four_a, &twos, &two_a, &two_b);
		add_columns(&two_a, &ones, v + 12, v + 13);
		add_columns(&two_b, &ones, v + 14, v + 15);
		add_columns(&four_b, &twos, &two_a, &two_b);
		add_columns(&eight_b, &fours, &four_a, &four_b);
		add_columns(&sixteens, &eights, &eight_a, &eight_b);
		count_lanes(&sixteens);
		total += sixteens << 4;
	}

	/* What the counters still hold, each weighted by what its bits stand for. */
	count_lanes(&ones);
	count_lanes(&twos);
	count_lanes(&fours);
	count_lanes(&eights);
	total += ones + (twos << 1) + (fours << 2) + (eights << 3);

	/* The lanes, and the words that did not fill a round. */
	for (unsigned w = 0; w < VECTOR_WORDS; w++)
		sum += total[w];
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t) __builtin_popcountll(words[i]);
	return sum;
}

#define KERNEL_TABLE(count_bits) { \
	.name = PATH, \
	.add = add, \
	.test = test, \
	.test_filter = test_filter, \
	.test_batch = test_batch, \
	.fold = fold, \
	.expand_or = expand_or, \
	.expand_and = expand_and, \
	.disjoint = disjoint, \
	.or_words = or_words, \
	.and_words = and_words, \
	.words_meet = words_meet, \
	.popcount = count_bits, \
}

const blx_kernels KERNELS = KERNEL_TABLE(popcount);
