/*
 * rowtable.h - rows of a loop's inner side, kept in the order in which they came, and found by codes of
 * their keys.
 */
#pragma once

#include "pg/base/compat.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

/* The code of a row's keys in one arm of the join condition; is_null: it matches nothing there. */
typedef struct ArmCode
{
	uint64		code;
	bool		is_null;
} ArmCode;

/* A row in the chain of its bucket, in one arm. */
typedef struct RowLink
{
	uint64		code;
	struct KeptRow *next;
} RowLink;

typedef struct KeptRow
{
	uint64		number;			/* counted in the order in which rows came */
	RowLink		links[FLEXIBLE_ARRAY_MEMBER];	/* of each arm; behind them the values, and which are NULL */
} KeptRow;

typedef struct RowTable
{
	MemoryContext context;
	int			n_arms;
	int			n_columns;		/* that are kept */
	AttrNumber *columns;		/* ascending */
	AttrNumber	last_column;
	int16	   *lengths;		/* of their types; 0: passed by value */
	bool		all_by_value;
	Size		values_at,		/* in a row */
				nulls_at,
				row_size;

	uint64		n_rows;
	Size		limit;			/* bytes */
	Size		bytes;			/* in use, and for the buckets that the rows will need */
	Size		bytes_per_row;	/* without values that are copied */
	char	   *free,			/* of the present block */
			   *end;
	Size		next_block;
	uint64		n_buckets;		/* a power of two, at most 2^32 */
	struct RowChain *buckets;	/* of each arm n_buckets, one arm after the other */
} RowTable;

/* A table for those columns of rows of that kind. */
extern RowTable *NewRowTable(MemoryContext context, TupleDesc desc, const Bitmapset *columns, int n_arms);

/* Takes all rows out.  limit: bytes that it may use from now on. */
extern void EmptyRowTable(RowTable *table, Size limit);

/*
 * Keeps a row that has been deformed up to last_column, and whose codes are those.  False if that takes more memory than the table may have: then it is of no
 * use any more. 
 */
extern bool KeepRow(RowTable *table, TupleTableSlot *slot, const ArmCode *codes);

/* To be called before rows are looked up, if some have been kept. */
extern void SortIntoBuckets(RowTable *table);

/* The first row with that code in an arm, and the one after a row; NULL: none.  Rows come in their order. */
extern KeptRow *FirstKeptRow(const RowTable *table, int arm, uint64 code);
extern KeptRow *NextKeptRow(const KeptRow *row, int arm);

/* Puts a row into a virtual slot; columns that are not kept stay as they are. */
extern TupleTableSlot *ShowKeptRow(const RowTable *table, KeptRow *row, TupleTableSlot *slot);
