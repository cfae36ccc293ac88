/*
 * grouped.h - the layouts whose body is one filter of groups (groups.h): of bits,
 * partitioned_blocked, and of counters, counting.
 */
#pragma once

#include "core/layouts/groups.h"

/* Their groups, which follow the notes. */
static inline blx_groups
blx_grouped_shape(const blx_filter *f)
{
	return (blx_groups) {.log2 = (unsigned) __builtin_ctz(f->blocks), .parts = f->parts, .counting = f->layout == BLX_COUNTING};
}

extern uint64_t *blx_grouped_cells(blx_filter *f);
extern const uint64_t *blx_grouped_ccells(const blx_filter *f);

/* ---- members of struct blx_layout ---- */
extern bool blx_grouped_check(const blx_geometry *g, blx_error *error);
extern void blx_grouped_at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g);
extern bool blx_grouped_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);
extern double blx_grouped_fpr_expected(const blx_geometry *g, uint64_t n);
extern void blx_grouped_fpr_prefixes(const blx_filter *f, double *rates);
extern uint64_t blx_grouped_folded_bits_set(const blx_filter *f, unsigned times);
extern void blx_grouped_merge(blx_filter *dst, const blx_filter *src, blx_op op);
extern bool blx_grouped_disjoint(const blx_filter *a, const blx_filter *b);

/* What their rows have in common.  2^27 blocks: one part of them is 1 GB. */
#define BLX_GROUPED_ROW \
	.one = BLX_ONE_PROBE, \
	.check = blx_grouped_check, \
	.max_step = 28, \
	.line_k = BLX_GROUP, \
	.test_fetched = blx_grouped_test_fetched, \
	.fpr_expected = blx_grouped_fpr_expected, \
	.fpr_prefixes = blx_grouped_fpr_prefixes, \
	.folded_bits_set = blx_grouped_folded_bits_set, \
	.folds = BLX_FOLDS_BLOCKS, \
	.merge = blx_grouped_merge, \
	.disjoint = blx_grouped_disjoint
