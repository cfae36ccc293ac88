/*
 * layout_blocked.c - the blocked Bloom filter: small standard filters of one
 * block size, one of which a key picks.
 *
 * Putze, Sanders and Singler 2009: a key touches one cache line.  Any number
 * of blocks (the top bits of the key hash, scaled); the block size a power of
 * two.  The bits within the block come from the derived hashes w_1, w_2, ...:
 * cut from the hash that picked the block they would repeat the block's choice.
 */
#include "core/hash.h"
#include "core/layout.h"
#include "core/theory.h"

#define DEFAULT_BLOCK_BITS 512	/* a cache line */
#define MAX_BLOCK_BITS (UINT64_C(1) << 32)

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->parts != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a blocked filter's block has one part, not %u", g->parts);
	if (g->part_bits < 64 || g->part_bits > MAX_BLOCK_BITS || (g->part_bits & (g->part_bits - 1)) != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a blocked filter's block size is a power of two of at least 64 bits, not %llu",
						(unsigned long long) g->part_bits);
	return true;
}

/* A step is one block. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_BLOCKED, .blocks = (uint32_t) step, .parts = 1, .probes = (uint16_t) k, .part_bits = DEFAULT_BLOCK_BITS};
}

static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k;
	if (bits < DEFAULT_BLOCK_BITS)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least one block for a blocked filter, %u, not %llu",
						DEFAULT_BLOCK_BITS, (unsigned long long) bits);
	at_step(k, bits / DEFAULT_BLOCK_BITS, options, g);
	return true;
}

/* The bits of one key in its block, several from each derived hash. */
typedef struct probe_sequence
{
	uint64_t	hash;
	uint64_t	word;			/* the derived hash, used up from the top */
	unsigned	derived;		/* its number */
	unsigned	width;			/* bits of an index */
	unsigned	left;			/* unused bits of word */
} probe_sequence;

static inline probe_sequence
probes_of(uint64_t hash, uint64_t block_bits)
{
	probe_sequence s = {.hash = hash, .width = (unsigned) __builtin_ctzll(block_bits)};

	return s;
}

static inline uint64_t
next_probe(probe_sequence *s)
{
	uint64_t	bit;

	if (s->left < s->width)
	{
		s->word = blx_derive(s->hash, ++s->derived);
		s->left = 64;
	}
	bit = s->word >> (64 - s->width);
	s->word <<= s->width;
	s->left -= s->width;
	return bit;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint64_t   *block = blx_words(f) + blx_scale(hashes[i], f->blocks) * (f->part_bits / 64);
		probe_sequence s = probes_of(hashes[i], f->part_bits);

		for (unsigned j = 0; j < f->probes; j++)
		{
			uint64_t	bit = next_probe(&s);

			block[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
	return n;
}

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint64_t	block = blx_scale(hash, f->blocks) * (f->part_bits / 64);
	probe_sequence s = probes_of(hash, f->part_bits);

	for (unsigned j = 0; j < f->probes; j++)
	{
		uint64_t	bit = next_probe(&s);

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

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	uint64_t	block_words = f->part_bits / 64;
	const uint64_t *block = blx_cwords(f);
	double		sum = 0;

	for (uint64_t i = 0; i < f->blocks; i++, block += block_words)
		sum += blx_power((double) blx_popcount(block, block_words) / (double) f->part_bits, f->probes);
	rates[1] = sum / f->blocks;
}

static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	(op == BLX_OR ? blx_or_words : blx_and_words) (blx_words(dst), blx_cwords(src), src->blocks * (src->part_bits / 64));
}

/* A common key would leave a common bit in its block. */
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	return !blx_words_meet(blx_cwords(a), blx_cwords(b), a->blocks * (a->part_bits / 64));
}

const blx_layout blx_layout_blocked = {
	.name = "blocked",
	.traits = BLX_FETCHABLE,
	.check = check,
	.at_step = at_step,
	.max_step = BLX_MAX_BYTES / (DEFAULT_BLOCK_BITS / 8),
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.merge = merge,
	.disjoint = disjoint,
};
