/*
 * layout_standard.c - the standard Bloom filter: one part of m bits, k probes.
 *
 * Bloom 1970 with independent hashes (w_j, hash.h).  The baseline of the
 * literature: no set operation survives a change of size, and keys whose
 * probes collide have a worse false positive rate than others ("weak spots",
 * Almeida 2022, section 4).  Kept for comparison and for exchange.
 */
#include "core/hash.h"
#include "core/layout.h"

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->blocks != 1 || g->parts != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a standard filter has one block of one part, not %u of %u", g->blocks, g->parts);
	return true;
}

/* A step is one word. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_STANDARD, .blocks = 1, .parts = 1, .probes = (uint16_t) k, .part_bits = 64 * step};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k;
	(void) options;
	(void) error;
	*g = (blx_geometry) {.layout = BLX_STANDARD, .blocks = 1, .parts = 1, .probes = (uint16_t) k, .part_bits = bits};
	return true;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *words = blx_words(f);

	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < f->probes; j++)
		{
			uint64_t	bit = blx_scale(blx_derive(hashes[i], j), f->part_bits);

			words[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	return n;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	for (unsigned j = 0; j < f->probes; j++)
	{
		uint64_t	bit = blx_scale(blx_derive(hash, j), f->part_bits);

		if (!(*fetch(arg, bit / 64, 1) >> bit % 64 & 1))
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
	return blx_occupancy_power(g->part_bits, g->probes, (double) n * g->probes);
}

/* A part of fill F passes a key that is not in it with probability F^k. */
static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	double		fill = (double) blx_bits_set(f) / (double) f->part_bits;

	rates[1] = blx_power(fill, f->probes);
}

static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	(op == BLX_OR ? blx_or_words : blx_and_words) (blx_words(dst), blx_cwords(src), blx_words_for_bits(src->part_bits));
}

/* A common key would leave at least one common bit. */
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	return !blx_words_meet(blx_cwords(a), blx_cwords(b), blx_words_for_bits(a->part_bits));
}

const blx_layout blx_layout_standard = {
	.name = "standard",
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
	.merge = merge,
	.disjoint = disjoint,
};
