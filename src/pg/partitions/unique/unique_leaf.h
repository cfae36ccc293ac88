/*
 * unique_leaf.h - rows of a partition that have a key which another row has.
 */
#ifndef BLOOMX_UNIQUE_LEAF_H
#define BLOOMX_UNIQUE_LEAF_H

#include "pg/base/base.h"

#include "storage/itemptr.h"

#pragma GCC visibility push(hidden)

/* A key, and the row that has it. */
typedef struct UniqueKey
{
	const char *column;			/* its name in all partitions */
	Datum		value;
	Oid			leaf;
	ItemPointerData tid;
} UniqueKey;

/*
 * True if the partition has another row with the key that is there for good, or as long as
 * this transaction is.  Waits for the end of transactions that have inserted such a row, or
 * taken one away.
 */
extern bool AnotherRowHasKey(const UniqueKey *key, Oid leaf);

#pragma GCC visibility pop

#endif							/* BLOOMX_UNIQUE_LEAF_H */
