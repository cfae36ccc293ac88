/*
 * partitioned_blocked.c - the default layout: blocks of 64-bit parts, in groups
 * of eight parts (docs/internals/design.md, "The default layout"; Almeida 2022, section
 * 6.1).
 *
 * groups.h and kernels/block.h say where a key's bits are, and why; counting and
 * scalable are built of the same groups.  This file adds the geometry: the
 * number of blocks is a power of two and k tunes the size.
 */
#include "core/layouts/groups.h"
#include "core/theory/theory.h"

static bool
check(const blx_geometry *g, blx_error *error)
{
	if (g->part_bits != 64 || g->probes != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a %s filter has parts of 64 bits with one probe, not %llu with %u",
						blx_layout_name(g->layout), (unsigned long long) g->part_bits, g->probes);
	if ((g->blocks & (g->blocks - 1)) != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a %s filter has a power of two of blocks, not %u", blx_layout_name(g->layout), g->blocks);
	return true;
}

/* A step doubles the number of blocks. */
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
						"bits must be at least 64 * k for parts of 64 bits, %u, not %llu",
						64 * k, (unsigned long long) bits);
	/* The most doublings that fit.  32 bounds the shift; blx_geometry_check has the limit of 1 GB. */
	while (step < 32 && UINT64_C(64) * k << step <= bits)
		step++;
	at_step(k, step, options, g);
	return true;
}

static inline blx_groups
shape_of(const blx_filter *f)
{
	return (blx_groups) {.log2 = (unsigned) __builtin_ctz(f->blocks), .parts = f->parts};
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	blx_kernels_in_use()->add(blx_words(f), f->blocks, f->parts, hashes, n);
	return n;
}

static bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	return blx_groups_test_fetched(shape_of(f), 0, hash, fetch, arg);
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return blx_kernels_in_use()->test(blx_cwords(f), f->blocks, f->parts, hash);
}

static uint64_t
test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n)
{
	return blx_kernels_in_use()->test_batch(blx_cwords(f), f->blocks, f->parts, hashes, n);
}

static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_fpr_partitioned_blocked(n, g->blocks, g->parts);
}

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	blx_groups_fpr_prefixes(blx_cwords(f), shape_of(f), rates);
}

static uint64_t
folded_bits_set(const blx_filter *f, unsigned times)
{
	return blx_groups_folded_bits_set(blx_cwords(f), shape_of(f), times);
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

static uint64_t
prefix_words(const blx_filter *f, const blx_geometry *g)
{
	return blx_groups_prefix_words(shape_of(f), g->parts);
}

static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	blx_groups_merge(blx_words(dst), shape_of(dst), blx_cwords(src), shape_of(src), op);
}

static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	return blx_groups_disjoint(blx_cwords(a), shape_of(a), blx_cwords(b), shape_of(b));
}

const blx_layout blx_layout_partitioned_blocked = {
	.name = "partitioned_blocked",
	.traits = BLX_FETCHABLE,
	.check = check,
	.at_step = at_step,
	.max_step = 28,				/* 2^27 blocks: one part of them is 1 GB */
	.line_k = BLX_GROUP,
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.test_batch = test_batch,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.folded_bits_set = folded_bits_set,
	.resolution = resolution,
	.set_resolution = set_resolution,
	.prefix_words = prefix_words,
	.merge = merge,
	.disjoint = disjoint,
};
