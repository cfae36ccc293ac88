/*
 * flat.h - the filters without blocks: P parts of S bits, H probes per key in
 * each.
 *
 * standard (P = 1), partitioned (H = 1) and hybrid (both more than 1) share this
 * scheme.  Their own files have what distinguishes them: the geometry, the
 * sizing and the formula.  rational shares how it is folded.  The functions are
 * members of struct blx_layout, with the contracts that layout.h states.
 */
#pragma once

#include "core/layouts/layout.h"

extern size_t blx_flat_add(blx_filter *f, const uint64_t *hashes, size_t n);
extern bool blx_flat_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);
extern bool blx_flat_test(const blx_filter *f, uint64_t hash);
extern void blx_flat_fpr_prefixes(const blx_filter *f, double *rates);
extern void blx_flat_merge(blx_filter *dst, const blx_filter *src, blx_op op);
extern bool blx_flat_disjoint(const blx_filter *a, const blx_filter *b);

extern uint64_t blx_flat_folded_bits_set(const blx_filter *f, unsigned times);

/* The members that the rows of these layouts have in common. */
#define BLX_FLAT_ROW \
	.traits = BLX_FETCHABLE, \
	.flat = true, \
	.max_step = BLX_MAX_BYTES / 8, \
	.add = blx_flat_add, \
	.test_fetched = blx_flat_test_fetched, \
	.test = blx_flat_test, \
	.fpr_prefixes = blx_flat_fpr_prefixes, \
	.merge = blx_flat_merge, \
	.disjoint = blx_flat_disjoint, \
	.folds = BLX_FOLDS_PARTS, \
	.folded_bits_set = blx_flat_folded_bits_set

/* The option that chooses their hashing scheme. */
#define BLX_FLAT_HASHING {BLX_OPT_HASHING, BLX_INDEPENDENT, BLX_TRIPLE, BLX_INDEPENDENT}
