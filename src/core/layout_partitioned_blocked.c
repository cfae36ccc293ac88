/*
 * layout_partitioned_blocked.c - the default: blocks of 64-bit parts, in
 * groups of eight parts (DESIGN 2.1; Almeida 2022, section 6.1).
 *
 * In each group of up to eight parts a key picks one of 2^e blocks by the top
 * bits of the group's hash and sets one bit in each of its words: one cache
 * line a group, and an absent key rarely needs a second.  Groups stand one
 * after another, each as its blocks, each block as its parts.
 *
 * The bit numbers come from the hash times an odd constant.  Taken from the
 * low end of the hash itself they would double the false positives of filters
 * of more than 2^16 blocks (measured), as block and bits then share hash bits.
 *
 * Because a block is named by top bits, the filter of half the blocks has at
 * block b the OR of blocks 2b and 2b+1: fold and expand are exact, and any two
 * filters combine (DESIGN 2.2).
 */
#include <math.h>

#include "core/hash.h"
#include "core/layout.h"

#define GROUP 8					/* parts in a full group */
#define MIX UINT64_C(0x9E3779B97F4A7C15)

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->part_bits != 64 || g->probes != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a partitioned_blocked filter has parts of 64 bits with one probe, not %llu with %u",
						(unsigned long long) g->part_bits, g->probes);
	if ((g->blocks & (g->blocks - 1)) != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a partitioned_blocked filter has a power of two of blocks, not %u", g->blocks);
	return true;
}

/* A step doubles the blocks. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << (step - 1), .parts = (uint16_t) k, .probes = 1, .part_bits = 64};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k;
	uint64_t	step = 1;

	if (bits < 64 * k)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least 64 * k for a partitioned_blocked filter, %u, not %llu",
						64 * k, (unsigned long long) bits);
	while (step < 32 && UINT64_C(64) * k << step <= bits)
		step++;
	at_step(k, step, options, g);
	return true;
}

/* The blocks of a group as block_log2, so that a shift by 64 cannot happen. */
static inline unsigned
block_log2(const blx_filter *f)
{
	return (unsigned) __builtin_ctz(f->blocks);
}

static inline uint64_t
block_of(uint64_t group_hash, unsigned e)
{
	return group_hash >> 1 >> (63 - e);
}

static inline unsigned
parts_of_group(unsigned parts, unsigned group)
{
	unsigned	left = parts - GROUP * group;

	return left < GROUP ? left : GROUP;
}

static inline unsigned
groups_of(unsigned parts)
{
	return (parts + GROUP - 1) / GROUP;
}

static inline uint64_t
bit_of(uint64_t mixed, unsigned part)
{
	return mixed >> (58 - 6 * part) & 63;
}

/* Keys whose blocks are fetched ahead: enough to hide a memory access, few enough to stay in the cache. */
#define BATCH 64

static inline void
set_bits(uint64_t *block, unsigned parts, uint64_t mixed)
{
	if (parts == GROUP)
		for (unsigned j = 0; j < GROUP; j++)
			block[j] |= UINT64_C(1) << bit_of(mixed, j);
	else
		for (unsigned j = 0; j < parts; j++)
			block[j] |= UINT64_C(1) << bit_of(mixed, j);
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

		mixed[i] = h * MIX;
		blocks[i] = group + block_of(h, e) * parts;
		__builtin_prefetch(blocks[i], 1);
	}
	for (size_t i = 0; i < n; i++)
		set_bits(blocks[i], parts, mixed[i]);
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	unsigned	e = block_log2(f);
	size_t		taken = n;

	while (n > 0)
	{
		size_t		batch = n < BATCH ? n : BATCH;
		uint64_t   *group = blx_words(f);

		for (unsigned g = 0; g < groups_of(f->parts); g++)
		{
			unsigned	parts = parts_of_group(f->parts, g);

			add_batch(group, parts, e, g, hashes, batch);
			group += (uint64_t) f->blocks * parts;
		}
		hashes += batch;
		n -= batch;
	}
	return taken;
}

/* Without a branch between the parts: at 50 % hits one would cost three times the test. */
static inline bool
block_has(const uint64_t *block, unsigned parts, uint64_t mixed)
{
	uint64_t	all = 1;

	if (parts == GROUP)
		for (unsigned j = 0; j < GROUP; j++)
			all &= block[j] >> bit_of(mixed, j);
	else
		for (unsigned j = 0; j < parts; j++)
			all &= block[j] >> bit_of(mixed, j);
	return all & 1;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	unsigned	e = block_log2(f);
	uint64_t	group = 0;

	for (unsigned g = 0; g < groups_of(f->parts); g++)
	{
		unsigned	parts = parts_of_group(f->parts, g);
		uint64_t	h = blx_derive(hash, g);

		if (!block_has(fetch(arg, group + block_of(h, e) * parts, parts), parts, h * MIX))
			return false;
		group += (uint64_t) f->blocks * parts;
	}
	return true;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

/* A block of i keys: chance that `parts` parts all have the bit asked for. */
static double
block_rate(uint64_t load, const void *parts)
{
	return blx_power(-expm1((double) load * log1p(-1.0 / 64)), *(const unsigned *) parts);
}

/* DESIGN 2.1: groups are independent, so their mean rates multiply. */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	unsigned	full = GROUP,
				rest = g->parts % GROUP;
	double		rate = 1;

	if (g->parts >= GROUP)
		rate = blx_power(blx_mean_over_loads(n, g->blocks, block_rate, &full), g->parts / GROUP);
	if (rest > 0)
		rate *= blx_mean_over_loads(n, g->blocks, block_rate, &rest);
	return rate;
}

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	const uint64_t *block = blx_cwords(f);
	double		groups_before = 1;

	for (unsigned g = 0; g < groups_of(f->parts); g++)
	{
		unsigned	parts = parts_of_group(f->parts, g);
		double		sums[GROUP] = {0};

		for (uint64_t b = 0; b < f->blocks; b++, block += parts)
		{
			double		rate = 1;

			for (unsigned j = 0; j < parts; j++)
			{
				rate *= (double) __builtin_popcountll(block[j]) / 64;
				sums[j] += rate;
			}
		}
		for (unsigned j = 0; j < parts; j++)
			rates[GROUP * g + j + 1] = groups_before * sums[j] / f->blocks;
		groups_before *= sums[parts - 1] / f->blocks;
	}
}

static uint64_t
resolution(const blx_geometry *g)
{
	return g->blocks;
}

static void
set_resolution(blx_geometry *g, uint64_t value)
{
	g->blocks = (uint32_t) value;
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

static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	unsigned	parts = dst->parts < src->parts ? dst->parts : src->parts;
	uint64_t   *d = blx_words(dst);
	const uint64_t *s = blx_cwords(src);

	for (unsigned g = 0; g < groups_of(parts); g++)
	{
		unsigned	dst_parts = parts_of_group(dst->parts, g);
		unsigned	src_parts = parts_of_group(src->parts, g);
		uint64_t	dst_words = (uint64_t) dst->blocks * dst_parts;
		uint64_t	src_words = (uint64_t) src->blocks * src_parts;

		if (dst_words == src_words && dst_parts == src_parts)
			(op == BLX_OR ? blx_or_words : blx_and_words) (d, s, dst_words);
		else
			merge_group(d, block_log2(dst), dst_parts, s, block_log2(src), src_parts, op);
		d += dst_words;
		s += src_words;
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
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	unsigned	parts = a->parts < b->parts ? a->parts : b->parts;
	const uint64_t *x = blx_cwords(a);
	const uint64_t *y = blx_cwords(b);

	for (unsigned g = 0; g < groups_of(parts); g++)
	{
		unsigned	a_parts = parts_of_group(a->parts, g);
		unsigned	b_parts = parts_of_group(b->parts, g);

		if (group_disjoint(x, block_log2(a), a_parts, y, block_log2(b), b_parts))
			return true;
		x += (uint64_t) a->blocks * a_parts;
		y += (uint64_t) b->blocks * b_parts;
	}
	return false;
}

const blx_layout blx_layout_partitioned_blocked = {
	.name = "partitioned_blocked",
	.traits = BLX_FETCHABLE,
	.check = check,
	.at_step = at_step,
	.max_step = 28,
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.resolution = resolution,
	.set_resolution = set_resolution,
	.merge = merge,
	.disjoint = disjoint,
};
