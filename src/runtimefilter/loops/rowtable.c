/*
 * rowtable.c - rows of a loop's inner side, kept in the order in which they came, and
 * found by codes of their keys.
 *
 * A row is the columns that the join reads, as Datums, and for each arm of the join
 * condition a code and the next row of its bucket.  Chains are in the rows' order, so that
 * whoever goes along one gets its rows as the inner side would have returned them.
 *
 * All rows are in one bucket until the first lookup: if there is none, nothing
 * was sorted.  When buckets become more, each chain is divided in its order.
 *
 * Memory is handed out piece by piece from blocks.  The first block is kept by the
 * backend for the next table: memory that the system gives and takes with each query costs
 * more than everything else that is done for some thousand rows.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "runtimefilter/loops/rowtable.h"

/* The block that is kept: for 6,300 rows of two columns.  Others begin smaller and grow. */
#define KEPT_BLOCK (512 * 1024)
#define FIRST_BLOCK (64 * 1024)
#define LAST_BLOCK (1024 * 1024)

#define LEAST_BUCKETS 64

typedef struct RowChain
{
	KeptRow    *first,
			   *last;
} RowChain;

static char *kept_block;
static RowTable *kept_for;		/* the table that uses it; NULL if it is free */

/* ---- memory ---- */

/* Called when the table's memory is freed. */
static void
ReleaseKeptBlock(void *table)
{
	if (kept_for == table)
		kept_for = NULL;
}

static void
TakeKeptBlock(RowTable *table)
{
	MemoryContextCallback *at_end = MemoryContextAlloc(table->context, sizeof(MemoryContextCallback));

	if (kept_block == NULL)
		kept_block = MemoryContextAlloc(TopMemoryContext, KEPT_BLOCK);
	at_end->func = ReleaseKeptBlock;
	at_end->arg = table;
	MemoryContextRegisterResetCallback(table->context, at_end);
	kept_for = table;
	table->free = kept_block;
	table->end = kept_block + KEPT_BLOCK;
}

/* The present block has no room. */
static void
AddBlock(RowTable *table, Size size)
{
	Size		block = Max(size, table->next_block);

	if (kept_for == NULL && table->free == NULL && size <= KEPT_BLOCK)
	{
		TakeKeptBlock(table);
		return;
	}
	table->next_block = Min(table->next_block * 2, LAST_BLOCK);
	table->free = MemoryContextAllocHuge(table->context, block);
	table->end = table->free + block;
}

static inline void *
Allocate(RowTable *table, Size size)
{
	void	   *piece;

	size = MAXALIGN(size);
	if (unlikely(size > (Size) (table->end - table->free)))
		AddBlock(table, size);
	piece = table->free;
	table->free += size;
	return piece;
}

/* ---- the table ---- */

RowTable *
NewRowTable(MemoryContext context, TupleDesc desc, const Bitmapset *columns, int n_arms)
{
	RowTable   *table = MemoryContextAllocZero(context, sizeof(RowTable));
	int			n = bms_num_members(columns),
				column = -1;

	table->context = AllocSetContextCreate(context, "runtime lookup", ALLOCSET_SMALL_SIZES);
	table->n_arms = n_arms;
	table->columns = MemoryContextAlloc(context, Max(n, 1) * sizeof(AttrNumber));
	table->lengths = MemoryContextAlloc(context, Max(n, 1) * sizeof(int16));
	table->all_by_value = true;
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, column - 1);

		table->last_column = (AttrNumber) column;
		table->columns[table->n_columns] = (AttrNumber) column;
		table->lengths[table->n_columns++] = attribute->attbyval ? 0 : attribute->attlen;
		table->all_by_value = table->all_by_value && attribute->attbyval;
	}
	table->values_at = offsetof(KeptRow, links) + n_arms * sizeof(RowLink);
	table->nulls_at = table->values_at + n * sizeof(Datum);
	table->row_size = MAXALIGN(table->nulls_at + n * sizeof(bool));
	/* at most two buckets per row */
	table->bytes_per_row = table->row_size + 2 * n_arms * sizeof(RowChain);
	return table;
}

void
EmptyRowTable(RowTable *table, Size limit)
{
	MemoryContextReset(table->context);
	table->limit = limit;
	table->n_rows = 0;
	table->bytes = table->n_arms * sizeof(RowChain) * LEAST_BUCKETS;
	table->free = table->end = NULL;
	table->next_block = FIRST_BLOCK;
	table->n_buckets = 0;
	table->buckets = NULL;
}

/* Copies a value that is no Datum by itself.  False if there is not enough memory. */
static bool
KeepValue(RowTable *table, int16 length, Datum *value)
{
	struct varlena *old = (struct varlena *) DatumGetPointer(*value);
	bool		is_expanded = length == -1 && VARATT_IS_EXTERNAL_EXPANDED(old);
	ExpandedObjectHeader *expanded = is_expanded ? DatumGetEOHP(*value) : NULL;
	Size		size = is_expanded ? EOH_get_flat_size(expanded) : datumGetSize(*value, false, length);
	void	   *copy;

	table->bytes += MAXALIGN(size);
	if (table->bytes > table->limit)
		return false;
	copy = Allocate(table, size);
	if (is_expanded)
		EOH_flatten_into(expanded, copy, size);
	else
		memcpy(copy, old, size);
	*value = PointerGetDatum(copy);
	return true;
}

/* The number of the code's bucket: the highest bits of a product that all of its bits have a part in. */
static inline uint64
BucketOf(uint64 code, uint64 n_buckets)
{
	return ((code * UINT64CONST(0x9E3779B97F4A7C15)) >> 32) * n_buckets >> 32;
}

static inline void
AddToChain(RowChain *chain, KeptRow *row, int arm)
{
	row->links[arm].next = NULL;
	if (chain->first == NULL)
		chain->first = row;
	else
		chain->last->links[arm].next = row;
	chain->last = row;
}

bool
KeepRow(RowTable *table, TupleTableSlot *slot, const ArmCode *codes)
{
	KeptRow    *row;
	Datum	   *values;
	bool	   *nulls;

	table->bytes += table->bytes_per_row;
	if (unlikely(table->bytes > table->limit))
		return false;
	if (unlikely(table->n_buckets == 0))
	{
		table->buckets = Allocate(table, table->n_arms * sizeof(RowChain));
		memset(table->buckets, 0, table->n_arms * sizeof(RowChain));
		table->n_buckets = 1;
	}
	row = Allocate(table, table->row_size);
	values = (Datum *) ((char *) row + table->values_at);
	nulls = (bool *) row + table->nulls_at;
	for (int i = 0; i < table->n_columns; i++)
	{
		values[i] = slot->tts_values[table->columns[i] - 1];
		nulls[i] = slot->tts_isnull[table->columns[i] - 1];
	}
	for (int i = 0; !table->all_by_value && i < table->n_columns; i++)
		if (table->lengths[i] != 0 && !nulls[i] && !KeepValue(table, table->lengths[i], &values[i]))
			return false;
	row->number = table->n_rows++;
	for (int arm = 0; arm < table->n_arms; arm++)
	{
		if (codes[arm].is_null)
			continue;
		row->links[arm].code = codes[arm].code;
		AddToChain(&table->buckets[arm * table->n_buckets + BucketOf(codes[arm].code, table->n_buckets)], row, arm);
	}
	return true;
}

void
SortIntoBuckets(RowTable *table)
{
	uint64		n = Max(table->n_buckets, LEAST_BUCKETS);
	RowChain   *old = table->buckets;
	Size		size;
	RowChain   *buckets;

	if (table->n_rows <= table->n_buckets || table->n_buckets > UINT32_MAX)
		return;
	while (n < table->n_rows && n <= UINT32_MAX)
		n *= 2;
	size = table->n_arms * sizeof(RowChain) * n;
	buckets = Allocate(table, size);
	memset(buckets, 0, size);
	for (int arm = 0; arm < table->n_arms; arm++)
		for (uint64 i = 0; i < table->n_buckets; i++)
		{
			KeptRow    *next;

			/* all rows of a new bucket were in one old bucket, so they keep their order */
			for (KeptRow *row = old[arm * table->n_buckets + i].first; row != NULL; row = next)
			{
				next = row->links[arm].next;
				AddToChain(&buckets[arm * n + BucketOf(row->links[arm].code, n)], row, arm);
			}
		}
	table->buckets = buckets;
	table->n_buckets = n;
}

static inline KeptRow *
WithCode(KeptRow *row, int arm, uint64 code)
{
	while (row != NULL && row->links[arm].code != code)
		row = row->links[arm].next;
	return row;
}

KeptRow *
FirstKeptRow(const RowTable *table, int arm, uint64 code)
{
	if (table->n_buckets == 0)
		return NULL;
	return WithCode(table->buckets[arm * table->n_buckets + BucketOf(code, table->n_buckets)].first, arm, code);
}

KeptRow *
NextKeptRow(const KeptRow *row, int arm)
{
	return WithCode(row->links[arm].next, arm, row->links[arm].code);
}

TupleTableSlot *
ShowKeptRow(const RowTable *table, KeptRow *row, TupleTableSlot *slot)
{
	Datum	   *values = (Datum *) ((char *) row + table->values_at);
	bool	   *nulls = (bool *) row + table->nulls_at;

	ExecClearTuple(slot);
	for (int i = 0; i < table->n_columns; i++)
	{
		slot->tts_values[table->columns[i] - 1] = values[i];
		slot->tts_isnull[table->columns[i] - 1] = nulls[i];
	}
	return ExecStoreVirtualTuple(slot);
}
