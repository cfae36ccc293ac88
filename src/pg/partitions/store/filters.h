/*
 * filters.h - the filters in the store's pages.
 */
#pragma once

#include "pg/base/base.h"

#include "pg/partitions/store/store.h"

/* A bit for each column of a filter, in the order of the bytes and of the bits in each. */
__extension__ typedef unsigned __int128 ColumnBits;

static inline bool
HasColumn(ColumnBits bits, uint32 column)
{
	return HasRow((const uint8 *) &bits, column);
}

/* The columns of a filter that may have the key.  If the page is not the filter's, *is_damaged becomes true, and all of them may. */
extern ColumnBits ColumnsWithKey(Relation rel, const StoreSlot *filter, uint64 hash, bool *is_damaged);

/* The blocks that a filter for that many keys has: one of eight sizes between two powers of two, so that leaves of about the same size share a segment. */
extern uint32 BlocksForKeys(double keys);

/*
 * Adds a key to a filter that inserts change, unless it is there.  False, with nothing
 * done, if the directory is no longer the one that the caller has read, or, with *is_damaged, if the page is not the filter's.
 */
extern bool AddToOpenFilter(Relation rel, const Store *store, uint32 number, uint64 hash, bool *is_damaged);

/* True if the page on which a key of an open filter is has as many bits as it should have at most. */
extern bool IsPageFull(Relation rel, const StoreSlot *filter, uint64 hash);

/*
 * Pages of a filter that is reserved: makes them empty; sets the bits of keys, sorted;
 * writes them to the WAL.  Nobody else knows them.
 */
extern void StartPages(Relation rel, const StoreSlot *filter);
extern void FillPages(Relation rel, const StoreSlot *filter, const uint64 *hashes, uint64 n);
extern void LogPages(Relation rel, const StoreSlot *filter);

/* A leaf that gets a column of a wider filter. */
typedef struct NewColumn
{
	uint32		number;			/* of its slot */
	StoreSlot	leaf;
	StoreSlot	source;			/* its main filter */
} NewColumn;

/* Writes the pages of a reserved filter from the main filters of some leaves, all of as many blocks.  Of a damaged page all bits are set. */
extern void WriteColumns(Relation rel, const StoreSlot *filter, const NewColumn *columns, int n);

/* The share of a column's bits that are set, and the false positive rate that follows, from some of its blocks. */
extern double ShareOfColumn(Relation rel, const StoreSlot *filter, uint32 column, double *rate);
