/*
 * stored.h - a filter in a TOAST table: its header, its beginning and single
 * words are read as pieces, without the rest.
 */
#pragma once

#include "pg/base/base.h"

#include "core/filter/inline.h"

/*
 * A stored filter of this size or more is tested by reading two pieces of it,
 * its header and the key's block.  Each piece costs a search in the TOAST index,
 * as the whole value does.  As measured, the two cost 1.1 times as much as the
 * whole of 8 kB, 0.94 of 12 kB, 0.8 of 16 kB and 0.4 of 48 kB.
 */
#define PIECES_BYTES 12288

/* Traits of layouts that can be tested in pieces. */
#define TESTABLE_IN_PIECES (BLX_FETCHABLE | BLX_HEAD_FETCHABLE)

/* True if the value is stored, and its header and one piece for each of the keys cost less than the whole. */
extern bool PiecesPay(const struct varlena *value, int keys);

/* The head of a stored filter of `size` bytes: the header and whatever else the first chunk contains. */
extern blx_filter *FetchHead(struct varlena *value, uint64 size);

/* The header of a stored filter of `size` bytes, for reading.  NULL if the header of its layout does not tell its size. */
extern const blx_filter *FetchFilterHeader(Datum datum, Size size);

/*
 * A filter, for its header, blx_size and blx_bits_in.  If the head of a stored
 * filter suffices for these, only the head is read.
 */
extern const blx_filter *DatumGetFilterHead(Datum datum);

/* A filter to be tested: in memory, or only its head, with the rest to be fetched from TOAST. */
typedef struct TestedFilter
{
	const blx_filter *filter;
	struct varlena *stored;		/* NULL if all of the filter is in memory */
} TestedFilter;

extern bool TestStoredFilter(const TestedFilter *tested, uint64 hash);

/* The value that a map has for a key.  False if the key is definitely not there. */
extern bool GetValue(const TestedFilter *tested, uint64 hash, uint32 *value);

static inline bool
TestFilter(const TestedFilter *tested, uint64 hash)
{
	return tested->stored == NULL ? blx_test_inline(tested->filter, hash) : TestStoredFilter(tested, hash);
}
