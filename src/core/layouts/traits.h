/*
 * traits.h - what the rest of the world must know of a layout (table.c).
 */
#pragma once

#include "core/bloomx.h"

/* Operations that a layout may not have. */
enum blx_operation
{
	BLX_UNION,
	BLX_INTERSECTION,
	BLX_DISJOINT,
	BLX_COMPARISON,				/* estimates of two filters */
	BLX_PREFIX,
	BLX_FOLD,
	BLX_OPERATIONS
};

/* True if the layout has that operation.  If not, the error says why. */
extern bool blx_check_operation(uint8_t layout, enum blx_operation operation, blx_error *error);

/* What other code must know of a layout. */
enum blx_trait
{
	/* Adding a key twice is not the same as adding it once, or the order of keys counts: distinct hashes are no substitute. */
	BLX_STREAM = 1,
	/* Takes any number of keys, by growing or by forgetting: never overfilled. */
	BLX_UNBOUNDED = 2,
	/* The header says all about the size, and blx_test_fetched works. */
	BLX_FETCHABLE = 4,
	/* blx_test_fetched works, but it, blx_check, blx_size and blx_bits_in need the first BLX_HEAD_BYTES. */
	BLX_HEAD_FETCHABLE = 8,
	/* Made of all its keys at once, as a set of distinct hashes (`seal` in its row); takes no key afterwards.  Their number is exact. */
	BLX_SEALED = 16
};

/* A size that PostgreSQL stores in one piece. */
#define BLX_HEAD_BYTES 1736

extern unsigned blx_traits(uint8_t layout);

/* True if keys may wait as distinct hashes: a layout that counts, orders or grows has no use for these. */
static inline bool
blx_takes_sets(uint8_t layout)
{
	return (blx_traits(layout) & (BLX_STREAM | BLX_UNBOUNDED)) == 0;
}

static inline bool
blx_is_sealed(uint8_t layout)
{
	return (blx_traits(layout) & BLX_SEALED) != 0;
}
