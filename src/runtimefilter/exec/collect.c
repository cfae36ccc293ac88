/*
 * collect.c - collects the keys of one join.
 *
 * A private hash table reads the inner side row by row until it ends: the child of
 * the Hash node is a filter point that passes each row through, and collects its keys on
 * the way.  A row after the end means that the table is built anew; then the sets
 * start from nothing.
 *
 * A table that parallel workers build together has its rows from all of them.  Each
 * collects the keys of the rows that it reads, and leaves them to the others
 * (sharedbuild.c).
 *
 * If the inner side is itself a parallel hash join, it cannot be a filter point, because its
 * method is set anew when its shared memory is.  Then each worker reads the keys from
 * the complete table when its outer side starts.  That is possible if the table has
 * one batch, so that all of it is in memory.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "runtimefilter/runtimefilter.h"

uint64		completed_filters;

/* The only key of the filter, if it is an integer in a column and its code is all that is needed; otherwise NULL. */
static BuildKey *
OnlyInteger(RuntimeFilter *filter)
{
	BuildKey   *only = NULL;

	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		if (!key->is_used)
			continue;
		if (only != NULL || key->expr != NULL || key->order != NULL || !IsInteger(&key->coder))
			return NULL;
		only = key;
	}
	return filter->sends_keys ? NULL : only;
}

static void
StartSets(RuntimeFilter *filter)
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
		KeySetInit(&key->set, filter->sets, IsInteger(&key->coder), !key->is_alone,
				   filter->budget, filter->expected);
		if (key->order != NULL)
			KeySetKeepValues(&key->set, key->order);
	}
	foreach(lc, filter->combined)
		KeySetInit(&((CombinedKey *) lfirst(lc))->set, filter->sets, false, false,
				   filter->budget, filter->expected);
	StartSentKeys(filter);
	filter->only_integer = OnlyInteger(filter);
}

static void
FinishSets(RuntimeFilter *filter)
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

/* Reads the codes of a row's keys.  False if a key is NULL: then the row matches nothing. */
static bool
ReadKeys(RuntimeFilter *filter, TupleTableSlot *slot)
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
		key->code = CodeOf(&key->coder, value);
		key->value = value;
	}
	return true;
}

static void
AddKeys(RuntimeFilter *filter)
{
	ListCell   *lc;

	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		if (!key->is_used)
			continue;
		KeySetAdd(&key->set, key->code);
		if (key->order != NULL)
			KeySetAddValue(&key->set, key->code, key->value);
	}
	foreach(lc, filter->combined)
	{
		CombinedKey *combined = lfirst(lc);
		uint64		code = 0;
		int			i = -1;

		while ((i = bms_next_member(combined->keys, i)) >= 0)
			code = CombineCodes(code, filter->keys[i].code);
		KeySetAdd(&combined->set, code);
	}
}

static void
AddRow(RuntimeFilter *filter, TupleTableSlot *slot)
{
	MemoryContext old;

	filter->rows++;
	if (filter->only_integer != NULL)
	{
		BuildKey   *key = filter->only_integer;
		bool		is_null;
		Datum		value = slot_getattr(slot, key->attno, &is_null);

		if (!is_null)
			KeySetAdd(&key->set, (uint64) IntegerOf(key->coder.kind, value));
		return;
	}
	old = MemoryContextSwitchTo(filter->scratch);
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

/* True if other processes read the rest of the inner side.  (A Parallel Hash may run without parallelism.) */
static bool
IsBuiltTogether(const RuntimeFilter *filter)
{
	return filter->is_shared && castNode(HashState, innerPlanState(filter->join))->parallel_state != NULL;
}

void
CollectRow(RuntimeFilter *filter, TupleTableSlot *slot)
{
	if (!filter->is_collecting)
	{
		StartSets(filter);
		if (IsBuiltTogether(filter))
			BeginPart(filter);
	}
	if (!TupIsNull(slot))
		AddRow(filter, slot);
	else if (IsBuiltTogether(filter))
	{
		PublishKeys(filter);
		filter->is_collecting = false;
		MemoryContextReset(filter->sets);
	}
	else
		FinishSets(filter);
}

void
ForgetShared(RuntimeFilter *filter)
{
	filter->is_complete = filter->is_given_up = false;
	if (filter->shared_build != NULL)
		DiscardKeys(filter->shared_build, filter->query->area);
}

/* Every row of a shared table of one batch. */
static void
ReadSharedTable(RuntimeFilter *filter, HashJoinTable table)
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

/* True if it is worth to read all of the table, which each process does, and possible. */
static bool
TableIsReadable(const RuntimeFilter *filter, HashJoinTable table)
{
	return table->nbatch == 1 && table->curbatch == 0 && table->buckets.shared != NULL &&
		table->batches[0].shared->ntuples <= filter->most_shared;
}

/*
 * The outer side of a shared table is read only after the table is complete, so
 * whoever calls this while there is a table may have its keys.
 */
void
CollectShared(RuntimeFilter *filter)
{
	HashJoinTable table = filter->hash_join->hj_HashTable;

	if (filter->is_complete || filter->is_given_up || table == NULL || table->parallel_state == NULL ||
		BarrierPhase(&table->parallel_state->build_barrier) <= PHJ_BUILD_HASH_INNER)
		return;
	StartSets(filter);
	if (!filter->reads_table)
		filter->is_given_up = !ImportKeys(filter);
	else if (TableIsReadable(filter, table))
		ReadSharedTable(filter, table);
	else
		filter->is_given_up = true;
	filter->is_collecting = false;
	if (!filter->is_given_up)
		FinishSets(filter);
}

void
CollectSharedFor(FilterPoint *point)
{
	for (int i = 0; i < point->n_filters; i++)
		if (point->filters[i]->filter->is_shared)
			CollectShared(point->filters[i]->filter);
}
