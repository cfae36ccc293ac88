/*
 * heaprows.h - all rows of a table, for something that is made of them beside its life.
 */
#pragma once

#include "pg/base/base.h"

#include "access/tableam.h"
#include "executor/executor.h"

typedef struct HeapRows
{
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	Bitmapset  *predicate_columns;
	Bitmapset  *key_columns;
	TableScanDesc scan;
	TupleTableSlot *slot;		/* the row */
	BlockNumber block;			/* of the row before */
	bool		is_heap_only;
	Datum		values[INDEX_MAX_KEYS]; /* of the index */
	bool		isnull[INDEX_MAX_KEYS];
} HeapRows;

typedef enum HeapRow
{
	ROW_NOT_INDEXED,
	ROW_WITHOUT_VALUES,			/* its TOASTed values are gone: no snapshot anywhere sees it */
	ROW_HAS_VALUES
} HeapRow;

/*
 * With SnapshotAny every row that is still in the table is read, also one that no snapshot
 * of this server sees any more, and each member of a HOT chain.
 */
extern HeapRows *StartHeapRows(Relation heap, Relation index, Snapshot snapshot);
extern bool NextHeapRow(HeapRows *rows);
extern void EndHeapRows(HeapRows *rows);

/* Computes what the index would have of the row, in the memory that is reset after it. */
extern HeapRow ReadHeapRow(HeapRows *rows);
#define HeapRowMemory(rows) GetPerTupleMemoryContext((rows)->estate)
