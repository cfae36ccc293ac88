/*
 * inline.h - the test and the addition of one key, for callers that are compiled
 * with the core.
 *
 * Nearly every filter has the default layout: its kernel is called without a
 * detour through the table of layouts, for which a call costs more than the
 * test.  Most of these have eight parts, and a kernel of their own that has
 * nothing to decide.
 */
#ifndef BLX_INLINE_H
#define BLX_INLINE_H

#include <string.h>

#include "core/bloomx.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"

#pragma GCC visibility push(hidden)

/* Test and addition by the table of layouts. */
extern bool blx_test_other(const blx_filter *f, uint64_t hash);
extern size_t blx_add_other(blx_filter *f, const uint64_t *hashes, size_t n);

/*
 * True if f has the default layout and a key type without a name, so that its
 * words follow the header directly.  The four bytes from the layout on are
 * compared as one word, without key type and hashing: one comparison in either
 * byte order.
 */
static inline bool
blx_is_default(const blx_filter *f)
{
	static const uint8_t compared[4] = {0xff, 0, 0xff, 0},
				wanted[4] = {BLX_PARTITIONED_BLOCKED, 0, 0, 0};
	uint32_t	word,
				mask,
				value;

	memcpy(&word, (const char *) f + offsetof(blx_filter, layout), sizeof word);
	memcpy(&mask, compared, sizeof mask);
	memcpy(&value, wanted, sizeof value);
	return (word & mask) == value;
}

static inline bool
blx_test_inline(const blx_filter *f, uint64_t hash)
{
	if (!blx_is_default(f))
		return blx_test_other(f, hash);
	if (__builtin_expect(f->parts == BLX_GROUP, true))
		return atomic_load_explicit(&blx_test_plain, memory_order_relaxed) (f, hash);
	return atomic_load_explicit(&blx_test_default, memory_order_relaxed) (f, hash);
}

/* blx_add (filter.h), which takes the short way for one key, too. */
static inline size_t
blx_add_inline(blx_filter *f, const uint64_t *hashes, size_t n)
{
	if (n != 1 || !blx_is_default(f))
		return blx_add_other(f, hashes, n);
	if (__builtin_expect(f->parts == BLX_GROUP, true))
		atomic_load_explicit(&blx_add_plain, memory_order_relaxed) (f, *hashes);
	else
		atomic_load_explicit(&blx_add_default, memory_order_relaxed) (f, *hashes);
	return 1;
}

#pragma GCC visibility pop

#endif							/* BLX_INLINE_H */
