/*
 * inline.h - the test of one key, for callers that are compiled with the core.
 *
 * Nearly every filter has the default layout: its kernel is called without a
 * detour through the table of layouts, for which a call costs more than the test.
 */
#ifndef BLX_INLINE_H
#define BLX_INLINE_H

#include "core/kernels/kernels.h"
#include "core/bloomx.h"

static inline bool
blx_test_inline(const blx_filter *f, uint64_t hash)
{
	if (f->layout == BLX_PARTITIONED_BLOCKED)
		return atomic_load_explicit(&blx_test_default, memory_order_relaxed) (f, hash);
	return blx_test(f, hash);
}

#endif							/* BLX_INLINE_H */
