/*
 * inline.h - the test and the addition of one key, for callers that are compiled
 * with the core.
 *
 * Nearly every filter has the default layout: its kernel is called without a
 * detour through the table of layouts, for which a call costs more than the
 * test.  Most of these have eight parts, and a kernel of their own that has
 * nothing to decide.
 */
#pragma once

#include <string.h>

#include "core/bloomx.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"

/* Test and addition by the table of layouts. */
extern bool blx_test_other(const blx_filter *f, uint64_t hash);
extern size_t blx_add_other(blx_filter *f, const uint64_t *hashes, size_t n);

/*
 * The next two functions recognise a filter of the default layout by comparing
 * bytes of its header as one word, in either byte order.  Each is a single
 * instruction that needs no register: while many tests wait for memory, the
 * registers that the processor can hand out are what limits their number
 * (measured: each further one takes a twentieth of the time of a single test in
 * DRAM).
 */

/*
 * True if f has a key type without a name, so that its words follow the header
 * directly, and the default layout or none yet (BLX_HASHES).
 */
static inline bool
blx_maybe_default(const blx_filter *f)
{
	static const uint8_t bytes[4] = {(uint8_t) ~BLX_PARTITIONED_BLOCKED, 0, 0xff, 0};	/* layout, key_type, name_len, hashing */
	uint32_t	word,
				none;

	memcpy(&word, (const char *) f + offsetof(blx_filter, layout), sizeof word);
	memcpy(&none, bytes, sizeof none);
	return (word & none) == 0;
}

/*
 * True if such an f has the default layout, eight parts, and is neither open
 * nor expanded.  An open set is not: it has a planned layout in `pending`, or no
 * parts (layouts/growing/hashes.c).
 */
static inline bool
blx_is_plain(const blx_filter *f)
{
	static const struct
	{
		uint16_t	parts,
					probes,
					fraction;
		uint8_t		expanded,
					pending;
	}			plain = {.parts = BLX_GROUP, .probes = 1};
	uint64_t	word,
				wanted;

	memcpy(&word, (const char *) f + offsetof(blx_filter, parts), sizeof word);
	memcpy(&wanted, &plain, sizeof wanted);
	return word == wanted;
}

static inline bool
blx_test_inline(const blx_filter *f, uint64_t hash)
{
	if (!blx_maybe_default(f))
		return blx_test_other(f, hash);
	if (__builtin_expect(blx_is_plain(f), true))
		return atomic_load_explicit(&blx_test_plain, memory_order_relaxed) (f, hash);
	if (f->layout != BLX_PARTITIONED_BLOCKED)
		return blx_test_other(f, hash);
	return atomic_load_explicit(&blx_test_default, memory_order_relaxed) (f, hash);
}

/* blx_add (filter.h), which takes the short way for one key, too. */
static inline size_t
blx_add_inline(blx_filter *f, const uint64_t *hashes, size_t n)
{
	if (n != 1 || !blx_maybe_default(f))
		return blx_add_other(f, hashes, n);
	if (__builtin_expect(blx_is_plain(f), true))
		atomic_load_explicit(&blx_add_plain, memory_order_relaxed) (f, *hashes);
	else if (f->layout != BLX_PARTITIONED_BLOCKED)
		return blx_add_other(f, hashes, n);
	else
		atomic_load_explicit(&blx_add_default, memory_order_relaxed) (f, *hashes);
	return 1;
}
