/*
 * inline.h - the test of one key, for callers that are compiled with the core.
 *
 * Nearly every filter has the default layout: its kernel is called without a
 * detour through the table of layouts, for which a call costs more than the test.
 */
#ifndef BLX_INLINE_H
#define BLX_INLINE_H

#include "core/bloomx.h"
#include "core/kernels/kernels.h"

#pragma GCC visibility push(hidden)

/* The test by the table of layouts. */
extern bool blx_test_other(const blx_filter *f, uint64_t hash);

static inline bool
blx_test_inline(const blx_filter *f, uint64_t hash)
{
	if (f->layout == BLX_PARTITIONED_BLOCKED)
		return atomic_load_explicit(&blx_test_default, memory_order_relaxed) (f, hash);
	return blx_test_other(f, hash);
}

#pragma GCC visibility pop

#endif							/* BLX_INLINE_H */
