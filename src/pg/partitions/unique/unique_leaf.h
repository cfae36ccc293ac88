/*
 * unique_leaf.h - rows of a partition that have a key which another row has.
 */
#pragma once

#include "pg/base/base.h"

#include "storage/itemptr.h"

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
