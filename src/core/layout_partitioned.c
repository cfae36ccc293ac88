/*
 * layout_partitioned.c - the partitioned Bloom filter: k parts of S bits, one
 * probe in each.
 *
 * Mullin 1983; Almeida 2022: every key sets exactly k bits, so that no key has
 * a worse rate than another, a prefix of the parts is a filter, and an empty
 * part of an intersection proves disjointness.  The probe of part j is the
 * derived hash w_j scaled to S, by its top bits: halving S halves the index,
 * which is what fold and expand rest on.
 */
#include <math.h>

#include "core/hash.h"
#include "core/layout.h"

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->blocks != 1 || g->probes != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a partitioned filter has one block with one probe a part, not %u with %u", g->blocks, g->probes);
	return true;
}

/* A step is one word in each part. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED, .blocks = 1, .parts = (uint16_t) k, .probes = 1, .part_bits = 64 * step};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k;
	if (bits < k)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least k for a partitioned filter, %u, not %llu", k, (unsigned long long) bits);
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED, .blocks = 1, .parts = (uint16_t) k, .probes = 1, .part_bits = bits / k};
	return true;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);

	for (size_t i = 0; i < n; i++)
	{
		uint64_t   *part = blx_words(f);

		for (unsigned j = 0; j < f->parts; j++, part += part_words)
		{
			uint64_t	bit = blx_scale(blx_derive(hashes[i], j), f->part_bits);

			part[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
	return n;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);

	for (unsigned j = 0; j < f->parts; j++)
	{
		uint64_t	bit = blx_scale(blx_derive(hash, j), f->part_bits);

		if (!(*fetch(arg, j * part_words + bit / 64, 1) >> bit % 64 & 1))
			return false;
	}
	return true;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

/* Almeida 2022, eq. 11: every part is hit once by every key. */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	double		fill = g->part_bits == 1 ? n > 0 : -expm1((double) n * log1p(-1.0 / (double) g->part_bits));

	return blx_power(fill, g->parts);
}

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);
	const uint64_t *part = blx_cwords(f);
	double		rate = 1;

	for (unsigned j = 0; j < f->parts; j++, part += part_words)
	{
		rate *= (double) blx_popcount(part, part_words) / (double) f->part_bits;
		rates[j + 1] = rate;
	}
}

static uint64_t
resolution(const blx_geometry *g)
{
	return g->part_bits;
}

static void
set_resolution(blx_geometry *g, uint64_t value)
{
	g->part_bits = value;
}

/* Part by part of unequal size: bit i of the coarser stands for `ratio` bits of the finer. */
static void
merge_part(uint64_t *dst, uint64_t dst_bits, const uint64_t *src, uint64_t src_bits, blx_op op)
{
	if (dst_bits < src_bits)	/* fold: a set bit of src sets the bit that covers it */
	{
		uint64_t	ratio = src_bits / dst_bits;

		for (uint64_t w = 0; w < blx_words_for_bits(src_bits); w++)
			for (uint64_t rest = src[w]; rest != 0; rest &= rest - 1)
			{
				uint64_t	bit = (w * 64 + (uint64_t) __builtin_ctzll(rest)) / ratio;

				dst[bit / 64] |= UINT64_C(1) << bit % 64;
			}
	}
	else						/* expand */
	{
		uint64_t	ratio = dst_bits / src_bits;

		for (uint64_t bit = 0; bit < src_bits; bit++)
		{
			bool		set = src[bit / 64] >> bit % 64 & 1;

			for (uint64_t d = bit * ratio; d < (bit + 1) * ratio; d++)
				if (op == BLX_OR)
					dst[d / 64] |= (uint64_t) set << d % 64;
				else
					dst[d / 64] &= ~((uint64_t) !set << d % 64);
		}
	}
}

static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	unsigned	parts = dst->parts < src->parts ? dst->parts : src->parts;
	uint64_t	dst_words = blx_words_for_bits(dst->part_bits);
	uint64_t	src_words = blx_words_for_bits(src->part_bits);
	uint64_t   *d = blx_words(dst);
	const uint64_t *s = blx_cwords(src);

	if (dst->part_bits == src->part_bits)
	{
		(op == BLX_OR ? blx_or_words : blx_and_words) (d, s, parts * dst_words);
		return;
	}
	for (unsigned j = 0; j < parts; j++, d += dst_words, s += src_words)
		merge_part(d, dst->part_bits, s, src->part_bits, op);
}

/* Do the parts share a bit, the coarser one's standing for all that it covers? */
static bool
parts_meet(const uint64_t *fine, uint64_t fine_bits, const uint64_t *coarse, uint64_t coarse_bits)
{
	uint64_t	ratio = fine_bits / coarse_bits;

	if (ratio == 1)
		return blx_words_meet(fine, coarse, blx_words_for_bits(fine_bits));
	for (uint64_t w = 0; w < blx_words_for_bits(fine_bits); w++)
		for (uint64_t rest = fine[w]; rest != 0; rest &= rest - 1)
		{
			uint64_t	bit = (w * 64 + (uint64_t) __builtin_ctzll(rest)) / ratio;

			if (coarse[bit / 64] >> bit % 64 & 1)
				return true;
		}
	return false;
}

/* A common key would leave a common bit in every part. */
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	const blx_filter *fine = a->part_bits >= b->part_bits ? a : b;
	const blx_filter *coarse = fine == a ? b : a;
	unsigned	parts = a->parts < b->parts ? a->parts : b->parts;
	uint64_t	fine_words = blx_words_for_bits(fine->part_bits);
	uint64_t	coarse_words = blx_words_for_bits(coarse->part_bits);

	for (unsigned j = 0; j < parts; j++)
		if (!parts_meet(blx_cwords(fine) + j * fine_words, fine->part_bits,
						blx_cwords(coarse) + j * coarse_words, coarse->part_bits))
			return true;
	return false;
}

const blx_layout blx_layout_partitioned = {
	.name = "partitioned",
	.traits = BLX_FETCHABLE,
	.check = check,
	.at_step = at_step,
	.max_step = BLX_MAX_BYTES / 8,
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
