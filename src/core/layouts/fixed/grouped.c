/*
 * grouped.c - what the layouts of one filter of groups share (grouped.h).
 *
 * This is the geometry, in which the number of blocks is a power of two and k
 * tunes the size, and groups.c applied to a whole filter.
 */
#include "core/layouts/fixed/grouped.h"
#include "core/theory/theory.h"

static uint64_t
notes_of(const blx_filter *f)
{
	return blx_layout_row(f->layout)->notes;
}

uint64_t *
blx_grouped_cells(blx_filter *f)
{
	return blx_words(f) + notes_of(f);
}

const uint64_t *
blx_grouped_ccells(const blx_filter *f)
{
	return blx_cwords(f) + notes_of(f);
}

bool
blx_grouped_check(const blx_geometry *g, blx_error *error)
{
	if (g->part_bits != 64)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a %s filter has parts of 64 bits, not %llu",
						blx_layout_name(g->layout), (unsigned long long) g->part_bits);
	if ((g->blocks & (g->blocks - 1)) != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a %s filter has a power of two of blocks, not %u", blx_layout_name(g->layout), g->blocks);
	return true;
}

/* A step doubles the number of blocks. */
void
blx_grouped_at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << (step - 1), .parts = (uint16_t) k, .probes = 1, .part_bits = 64};
}

bool
blx_grouped_test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	return blx_groups_test_fetched(blx_grouped_shape(f), notes_of(f), hash, fetch, arg);
}

double
blx_grouped_fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_fpr_partitioned_blocked(n, g->blocks, g->parts);
}

void
blx_grouped_fpr_prefixes(const blx_filter *f, double *rates)
{
	blx_groups_fpr_prefixes(blx_grouped_ccells(f), blx_grouped_shape(f), rates);
}

uint64_t
blx_grouped_folded_bits_set(const blx_filter *f, unsigned times)
{
	return blx_groups_folded_bits_set(blx_grouped_ccells(f), blx_grouped_shape(f), times);
}

/* A sum of counters counts the keys of both streams, and its note the removals that either filter refused. */
void
blx_grouped_merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	for (uint64_t i = 0; i < notes_of(dst); i++)
		blx_words(dst)[i] += blx_cwords(src)[i];
	blx_groups_merge(blx_grouped_cells(dst), blx_grouped_shape(dst), blx_grouped_ccells(src), blx_grouped_shape(src), op);
}

bool
blx_grouped_disjoint(const blx_filter *a, const blx_filter *b)
{
	return blx_groups_disjoint(blx_grouped_ccells(a), blx_grouped_shape(a), blx_grouped_ccells(b), blx_grouped_shape(b));
}
