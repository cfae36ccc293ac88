/*
 * build.c - collects the keys of one join.
 *
 * A private hash table reads the inner side row by row until it ends: the child of
 * the Hash node is a site that passes each row through, and collects its keys on
 * the way.  A row after the end means that the table is built anew; then the sets
 * start from nothing.
 *
 * A table that parallel workers build together has its rows from all of them, so
 * no worker sees all keys.  Each reads them from the shared table when its outer
 * side starts, which is after the table is complete.  That is possible while the
 * table has one batch, and all of it is in memory.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "joinfilter/joinfilter.h"

uint64		completed_filters;

static void
StartSets(JoinFilter *filter)
{
	ListCell   *lc;

	filter->is_complete = false;
	filter->is_collecting = true;
	filter->rows = 0;
	MemoryContextReset(filter->sets);
	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		/* a key that is only tested together with others: its bounds, for pages and partitions */
		KeySetInit(&key->set, filter->sets, IsInteger(&key->reader), !key->is_alone,
				   filter->budget, filter->expected);
		if (key->order != NULL)
			KeySetKeepValues(&key->set, key->order);
	}
	foreach(lc, filter->combined)
		KeySetInit(&((CombinedKey *) lfirst(lc))->set, filter->sets, false, false,
				   filter->budget, filter->expected);
	StartSentKeys(filter);
}

static void
FinishSets(JoinFilter *filter)
{
	ListCell   *lc;

	for (int i = 0; i < filter->n_keys; i++)
		if (filter->keys[i].is_used)
			KeySetFinish(&filter->keys[i].set);
	foreach(lc, filter->combined)
		KeySetFinish(&((CombinedKey *) lfirst(lc))->set);
	FinishSentKeys(filter);
	WatchBuild(filter);
	filter->is_collecting = false;
	filter->is_complete = true;
	filter->generation++;
	completed_filters++;
}

/* Reads the words of a row's keys.  False if a key is NULL: then the row matches nothing. */
static bool
ReadKeys(JoinFilter *filter, TupleTableSlot *slot)
{
	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];
		Datum		value;
		bool		is_null;

		if (!key->is_used)
			continue;
		if (key->expr == NULL)
			value = slot_getattr(slot, key->attno, &is_null);
		else
		{
			filter->econtext->ecxt_outertuple = slot;
			value = ExecEvalExprSwitchContext(key->expr, filter->econtext, &is_null);
		}
		if (is_null)
			return false;
		key->word = WordOf(&key->reader, value);
		key->value = value;
	}
	return true;
}

static void
AddKeys(JoinFilter *filter)
{
	ListCell   *lc;

	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		if (!key->is_used)
			continue;
		KeySetAddWord(&key->set, key->word);
		if (key->order != NULL)
			KeySetAddValue(&key->set, key->word, key->value);
	}
	foreach(lc, filter->combined)
	{
		CombinedKey *combined = lfirst(lc);
		uint64		word = 0;
		int			i = -1;

		while ((i = bms_next_member(combined->keys, i)) >= 0)
			word = CombineWords(word, filter->keys[i].word);
		KeySetAddWord(&combined->set, word);
	}
}

static void
AddRow(JoinFilter *filter, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(filter->scratch);

	filter->rows++;
	if (ReadKeys(filter, slot))
	{
		AddKeys(filter);
		if (filter->sends_keys)
			AddSentKeys(filter);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(filter->scratch);
	if (filter->econtext != NULL)
		ResetExprContext(filter->econtext);
}

void
CollectRow(JoinFilter *filter, TupleTableSlot *slot)
{
	if (!filter->is_collecting)
		StartSets(filter);
	if (TupIsNull(slot))
		FinishSets(filter);
	else
		AddRow(filter, slot);
}

/* Called when the memory of a shared hash table is freed. */
static void
ForgetShared(void *arg)
{
	((JoinFilter *) arg)->is_complete = false;
}

/* Every row of a shared table of one batch. */
static void
ReadSharedTable(JoinFilter *filter, HashJoinTable table)
{
	for (int i = 0; i < table->nbuckets; i++)
	{
		dsa_pointer at = dsa_pointer_atomic_read(&table->buckets.shared[i]);

		while (DsaPointerIsValid(at))
		{
			HashJoinTuple tuple = dsa_get_address(table->area, at);

			CHECK_FOR_INTERRUPTS();
			ExecStoreMinimalTuple(HJTUPLE_MINTUPLE(tuple), filter->hash_join->hj_HashTupleSlot, false);
			AddRow(filter, filter->hash_join->hj_HashTupleSlot);
			at = tuple->next.shared;
		}
	}
	ExecClearTuple(filter->hash_join->hj_HashTupleSlot);
}

/*
 * The outer side of a shared table is read only after the table is complete, so
 * whoever calls this while there is a table may read it.  What was read is
 * forgotten together with the table, whose memory context says when that is.
 */
void
CollectShared(JoinFilter *filter)
{
	HashJoinTable table = filter->hash_join->hj_HashTable;
	MemoryContextCallback *at_end;

	if (filter->is_complete || table == NULL || table->parallel_state == NULL ||
		table->nbatch != 1 || table->curbatch != 0 || table->buckets.shared == NULL)
		return;
	/* each worker reads all of the table: a large one costs more than it gains */
	if (table->batches[0].shared->ntuples > filter->most_shared)
		return;
	StartSets(filter);
	ReadSharedTable(filter, table);
	at_end = MemoryContextAlloc(table->hashCxt, sizeof(MemoryContextCallback));
	at_end->func = ForgetShared;
	at_end->arg = filter;
	MemoryContextRegisterResetCallback(table->hashCxt, at_end);
	FinishSets(filter);
}
