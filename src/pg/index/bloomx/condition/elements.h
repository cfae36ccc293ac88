/*
 * elements.h - the elements of a long array, and the rows that have one of them.
 */
#pragma once

#include "pg/base/base.h"

#include "access/skey.h"
#include "nodes/tidbitmap.h"
#include "utils/snapshot.h"

#include "pg/index/bloomx/condition/columns.h"

/* The elements of a long array, by the hashes of their keys. */
typedef struct BloomxElements BloomxElements;

extern BloomxElements *BloomxNewElements(uint32 most);
extern void BloomxAddElement(BloomxElements *set, uint64 hash, Datum value);
extern bool BloomxHasElement(const BloomxElements *set, uint64 hash);

/* Which rows of some blocks meet all conditions of a search. */
typedef struct BloomxRowsAsked
{
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;
	BloomxColumns *columns;
	int			nkeys;
	ScanKeyData **keys;
	const BloomxElements **elements;	/* of their arrays, or NULL */
	const uint8 *in;			/* a bit for each block */
	BlockNumber blocks;			/* of the table */
} BloomxRowsAsked;

/* True if the rows of such a table can be found, and the predicate of the index may run. */
extern bool BloomxCanFindRows(Relation heap, Relation index, Snapshot snapshot, BlockNumber blocks);

/* Adds them to the bitmap; returns how many there are. */
extern int64 BloomxFindRows(const BloomxRowsAsked *asked, TIDBitmap *bitmap);
