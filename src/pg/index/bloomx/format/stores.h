/*
 * stores.h - the stores of an index.
 */
#ifndef BLOOMX_STORES_H
#define BLOOMX_STORES_H

#include "pg/base/base.h"

#include "storage/block.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/*
 * A set of segments, with a metapage, a directory and pending rows of its own.  The
 * metapages are the first pages of the index, in the order of the stores.
 */
typedef struct BloomxStore
{
	Relation	index;
	BlockNumber meta_block;		/* the number of the store, and of its metapage */
	bool		of_values;		/* of all columns of values, and of NULL in any column */
	int			column;			/* of filters, numbered from 0 */
} BloomxStore;

/* If there are several, the first one is of values: every row of the table is in it. */
typedef struct BloomxStores
{
	int			n;
	BloomxStore store[FLEXIBLE_ARRAY_MEMBER];
} BloomxStores;

/* In the current memory context. */
extern BloomxStores *BloomxOpenStores(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_STORES_H */
