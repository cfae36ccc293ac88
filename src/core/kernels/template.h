/*
 * template.h - the kernels of one path (kernels.h), made from the few functions
 * that differ between processors.  The file of each path includes this template
 * once.
 *
 * Before that, it defines
 *   PATH          the name of the path
 *   KERNELS       the table that this file fills
 *   TARGET        the function attribute that allows the instructions, or nothing
 *   VECTOR        bytes of a register
 *   block_has(block, parts, mixed)   true if the block has the key's bit in each of its parts
 *   block_set(block, parts, mixed)   sets these bits
 *   blocks_meet(a, b)                true if two blocks of 8 parts have a common bit in each part
 * and, as macros, those that have a faster way than the one below:
 *   batch_has(found, block, parts, mixed)   found shifted right, with the answer of block_has as its top bit
 *   batch_set(block, parts, mixed)          block_set in a loop over many keys
 *   scale(n, h)                             blx_scale
 *   deposit(bits, places)                   bit i of bits, moved to the i-th set bit of places
 *   popcount(words, n)                      the number of set bits
 *   count_words(counts, words, n)           that of each word
 *
 * Where speed matters, the functions of blocks are called with a constant 8 for
 * parts, so that the compiler drops the other cases.
 */
#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"

/* A register of words.  aligned(8): filters are aligned to words, not to registers. */
typedef uint64_t vector __attribute__((vector_size(VECTOR), aligned(8), may_alias));

#define VECTOR_WORDS (VECTOR / 8)

/*
 * Memory decides the speed of large filters, so a batch prefetches the blocks of
 * all its keys before it looks at the first.  Up to this size a group is in a
 * second-level cache, or soon will be: there the prefetches are nothing but one
 * more instruction per key (measured: a sixth of the time of a batch).
 *
 * The prefetches fill the second-level cache and not the first: that one has a
 * dozen buffers for the lines that it waits for, where the second has several
 * times as many (measured in DRAM: a tenth of the time of tests, a fifth of that
 * of adds; no difference in the third-level cache).
 */
#define CACHED_WORDS ((UINT64_C(1) << 20) / 8)
#define PREFETCH(address, for_write) __builtin_prefetch(address, for_write, 2)

#ifndef batch_has
#define batch_has(found, block, parts, mixed) ((found) >> 1 | (uint64_t) block_has(block, parts, mixed) << 63)
#endif

#ifndef batch_set
#define batch_set block_set
#endif

#ifndef scale
#define scale blx_scale
#endif

/*
 * ---- blocks ----
 *
 * The number of blocks is a power of two, so scaling by it and shifting by its
 * logarithm are the same.  Scaling needs no logarithm: block_at is for one key.
 * A batch computes the logarithm once: block_by_shift takes 63 less it.
 */

/* Returns the first word of the block that blx_group_block names. */
TARGET static inline __attribute__((always_inline)) uint64_t
block_at(uint64_t blocks, uint64_t parts, uint64_t group_hash)
{
	return scale(blocks, group_hash) * parts;
}

static inline __attribute__((always_inline)) unsigned
shift_of(uint64_t blocks)
{
	return 63 - (unsigned) __builtin_ctzll(blocks);
}

/* The same.  In a full group one shift leaves the block's number times 8, with bits below it. */
static inline __attribute__((always_inline)) uint64_t
block_by_shift(unsigned shift, unsigned parts, uint64_t group_hash)
{
	return parts == BLX_GROUP ? group_hash >> (shift - 2) & ~UINT64_C(7) : (group_hash >> 1 >> shift) * parts;
}

/* ---- derived hashes ---- */

/*
 * Sets out[i] to blx_derive(in[i], g), g at least 1.  XXH3 of eight bytes is a
 * few operations on one word, here on a register of words: this is the function
 * of the xxHash specification for lengths of 4 to 8, whose constants are the
 * specification's.  Narrow registers have no multiplication of words and gain
 * nothing.
 */
TARGET static inline __attribute__((always_inline)) void
derive_all(uint64_t *out, const uint64_t *in, size_t n, unsigned g)
{
	size_t		i = 0;

#if VECTOR >= 32
	const uint64_t flip = UINT64_C(0xC73AB174C5ECD5A2) - ((uint64_t) __builtin_bswap32(g) << 32 ^ g);

	for (; i + VECTOR_WORDS <= n; i += VECTOR_WORDS)
	{
		vector		x = *(const vector *) (in + i);

		x = (x << 32 | x >> 32) ^ flip;
		x ^= (x << 49 | x >> 15) ^ (x << 24 | x >> 40);
		x *= UINT64_C(0x9FB21C651E98DF25);
		x ^= (x >> 35) + 8;
		x *= UINT64_C(0x9FB21C651E98DF25);
		*(vector *) (out + i) = x ^ x >> 28;
	}
#endif
	for (; i < n; i++)
		out[i] = blx_derive(in[i], g);
}

/* ---- tests ---- */

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
test_words(const uint64_t *words, uint64_t blocks, uint64_t parts, uint64_t hash)
{
	uint64_t	mixed = blx_group_mix(hash);

	if (parts < BLX_GROUP)
		return block_has(words + block_at(blocks, parts, hash), parts, mixed);
	return block_has(words + block_at(blocks, BLX_GROUP, hash), BLX_GROUP, mixed) &&
		(parts == BLX_GROUP || test_rest(words + BLX_GROUP * blocks, blocks, (unsigned) parts - BLX_GROUP, hash));
}

TARGET static bool
test(const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash)
{
	return test_words(words, blocks, parts, hash);
}

TARGET static bool
test_default(const blx_filter *f, uint64_t hash)
{
	return test_words((const uint64_t *) (f + 1), f->blocks, f->parts, hash);
}

TARGET static bool
test_plain(const blx_filter *f, uint64_t hash)
{
	return test_words((const uint64_t *) (f + 1), f->blocks, BLX_GROUP, hash);
}

/*
 * Tests up to BLX_BATCH keys in one group, at least one, by their hashes for
 * this group.  Bit i of the result is the answer for hash i.
 */
TARGET static inline __attribute__((always_inline)) uint64_t
test_group(const uint64_t *group, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n)
{
	const unsigned shift = shift_of(blocks);
	uint64_t	found = 0;

	if (parts * blocks > CACHED_WORDS)
		for (unsigned i = 0; i < n; i++)
			PREFETCH(group + block_by_shift(shift, parts, hashes[i]), 0);
	for (unsigned i = 0; i < n; i++)
		found = batch_has(found, group + block_by_shift(shift, parts, hashes[i]), parts, blx_group_mix(hashes[i]));
	return found >> (64 - n);
}

#ifndef deposit
static inline uint64_t
deposit(uint64_t bits, uint64_t places)
{
	uint64_t	moved = 0;

	for (; places != 0; places &= places - 1, bits >>= 1)
		moved |= (places & -places) & -(bits & 1);
	return moved;
}
#endif

/* Tests each group only for those keys that all groups before it had. */
TARGET static uint64_t
test_batch(const uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
	uint64_t	left[BLX_BATCH];

	for (unsigned g = 0; parts > 0 && found != 0; g++)
	{
		unsigned	in_group = parts < BLX_GROUP ? parts : BLX_GROUP;
		const uint64_t *group_hashes = hashes;

		/* The keys that are left, by their hashes for this group; group 0 takes the hashes as they are. */
		if (g > 0)
		{
			n = 0;
			for (uint64_t rest = found; rest != 0; rest &= rest - 1)
				left[n++] = hashes[__builtin_ctzll(rest)];
			derive_all(left, left, n, g);
			group_hashes = left;
		}
		/* Answer i belongs to the i-th key that is left. */
		found = deposit(in_group == BLX_GROUP ? test_group(words, blocks, BLX_GROUP, group_hashes, n)
						: test_group(words, blocks, in_group, group_hashes, n), found);
		words += in_group * blocks;
		parts -= in_group;
	}
	return found;
}

/* ---- adds ---- */

/* Adds one key to the groups after the first. */
TARGET static __attribute__((noinline)) void
add_rest(uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash)
{
	for (unsigned g = 1; parts > 0; g++)
	{
		unsigned	in_group = parts < BLX_GROUP ? parts : BLX_GROUP;
		uint64_t	h = blx_derive(hash, g);
		uint64_t   *block = words + block_at(blocks, in_group, h);

		if (in_group == BLX_GROUP)
			block_set(block, BLX_GROUP, blx_group_mix(h));
		else
			block_set(block, in_group, blx_group_mix(h));
		words += in_group * blocks;
		parts -= in_group;
	}
}

TARGET static inline __attribute__((always_inline)) void
add_words(uint64_t *words, uint64_t blocks, uint64_t parts, uint64_t hash)
{
	uint64_t	mixed = blx_group_mix(hash);

	if (parts < BLX_GROUP)
	{
		block_set(words + block_at(blocks, parts, hash), parts, mixed);
		return;
	}
	block_set(words + block_at(blocks, BLX_GROUP, hash), BLX_GROUP, mixed);
	if (parts > BLX_GROUP)
		add_rest(words + BLX_GROUP * blocks, blocks, (unsigned) parts - BLX_GROUP, hash);
}

/* Adds n keys to one group, by their hashes for this group. */
TARGET static inline __attribute__((always_inline)) void
add_group(uint64_t *group, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n)
{
	const unsigned shift = shift_of(blocks);

	if (parts * blocks > CACHED_WORDS)
		for (size_t i = 0; i < n; i++)
			PREFETCH(group + block_by_shift(shift, parts, hashes[i]), 1);
	for (size_t i = 0; i < n; i++)
		batch_set(group + block_by_shift(shift, parts, hashes[i]), parts, blx_group_mix(hashes[i]));
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
				derive_all(derived, hashes, batch, g);
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
	if (n == 1)					/* one key at a time skips the loops */
		add_words(words, blocks, parts, *hashes);
	else
		add_batches(words, blocks, parts, hashes, n);
}

TARGET static void
add_default(blx_filter *f, uint64_t hash)
{
	add_words((uint64_t *) (f + 1), f->blocks, f->parts, hash);
}

TARGET static void
add_plain(blx_filter *f, uint64_t hash)
{
	add_words((uint64_t *) (f + 1), f->blocks, BLX_GROUP, hash);
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

/* Each block of src is combined with the `ratio` adjacent blocks of dst that it stands for. */
TARGET static inline __attribute__((always_inline)) void
expand_by(uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2, blx_op op)
{
	const uint64_t ratio = UINT64_C(1) << (dst_log2 - src_log2);

	for (uint64_t b = 0; b < UINT64_C(1) << src_log2; b++, src += BLX_GROUP, dst += BLX_GROUP * ratio)
		for (unsigned w = 0; w < BLX_GROUP; w += VECTOR_WORDS)
			for (uint64_t r = 0; r < ratio; r++)
			{
				vector	   *d = (vector *) (dst + BLX_GROUP * r + w);

				*d = op == BLX_OR ? *d | *(const vector *) (src + w) : *d & *(const vector *) (src + w);
			}
}

TARGET static void
expand(uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2, blx_op op)
{
	if (op == BLX_OR)
		expand_by(dst, dst_log2, src, src_log2, BLX_OR);
	else
		expand_by(dst, dst_log2, src, src_log2, BLX_AND);
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

TARGET static inline __attribute__((always_inline)) void
combine_words_by(uint64_t *dst, const uint64_t *src, uint64_t n, blx_op op)
{
	for (; n >= 4 * VECTOR_WORDS; n -= 4 * VECTOR_WORDS, dst += 4 * VECTOR_WORDS, src += 4 * VECTOR_WORDS)
	{
		vector	   *d = (vector *) dst;
		const vector *s = (const vector *) src;

		for (unsigned i = 0; i < 4; i++)
			d[i] = op == BLX_OR ? d[i] | s[i] : d[i] & s[i];
	}
	for (uint64_t i = 0; i < n; i++)
		dst[i] = op == BLX_OR ? dst[i] | src[i] : dst[i] & src[i];
}

TARGET static void
combine_words(uint64_t *dst, const uint64_t *src, uint64_t n, blx_op op)
{
	if (op == BLX_OR)
		combine_words_by(dst, src, n, BLX_OR);
	else
		combine_words_by(dst, src, n, BLX_AND);
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

/* ---- set bits ---- */

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

#ifndef count_words
TARGET static void
count_words(uint64_t *counts, const uint64_t *words, uint64_t n)
{
	for (; n >= VECTOR_WORDS; n -= VECTOR_WORDS, counts += VECTOR_WORDS, words += VECTOR_WORDS)
	{
		vector		v = *(const vector *) words;

		count_lanes(&v);
		*(vector *) counts = v;
	}
	for (uint64_t i = 0; i < n; i++)
		counts[i] = (uint64_t) __builtin_popcountll(words[i]);
}
#endif

#ifndef popcount

/* A full adder for every column of bits: *ones + *a + *b becomes 2 * *twos + *ones. */
static inline __attribute__((always_inline)) void
add_columns(vector *twos, vector *ones, const vector *a, const vector *b)
{
	vector		half = *ones ^ *a;

	*twos = (*ones & *a) | (half & *b);
	*ones = half ^ *b;
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

#endif

const blx_kernels KERNELS = {
	.name = PATH,
	.add = add,
	.test = test,
	.test_batch = test_batch,
	.test_default = test_default,
	.test_plain = test_plain,
	.add_default = add_default,
	.add_plain = add_plain,
	.fold = fold,
	.expand = expand,
	.disjoint = disjoint,
	.combine_words = combine_words,
	.words_meet = words_meet,
	.popcount = popcount,
	.count_words = count_words,
};
