/*
 * collect.c - collects the keys of one join.
 *
 * A private hash table reads the inner side row by row until it ends: the child of
 * the Hash node is a filter point that passes each row through, and collects its keys on
 * the way.  A row after the end means that the table is built anew; then the sets
 * start from nothing.
 *
 * A table that parallel workers build together has its rows from all of them.  Each
 * collects the keys of the rows that it reads; what becomes of these is a matter of an
 * optional part (parallel).
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/collect.h"

/*
 * The row from which keys are timed first, before which a slow hash function cannot cost much; and how many are timed
 * together.  A table of codes grows when it has a power of two, which takes as long as some hundred rows.
 */
#define FIRST_TIMED 1200
#define ROWS_TIMED 64

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
		if (only != NULL || key->order != NULL || !IsOneInteger(&key->row, 1))
			return NULL;
		only = key;
	}
	return filter->listeners != NIL ? NULL : only;
}

/* ---- the life of a filter ---- */

void
StartCollecting(RuntimeFilter *filter)
{
	ListCell   *lc;

	filter->state = FILTER_COLLECTING;
	filter->rows = 0;
	filter->timed_row = FIRST_TIMED;
	MemoryContextReset(filter->sets);
	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		/* a key that is only tested together with others: its bounds, for pages and partitions */
		KeySetInit(&key->set, filter->sets, IsInteger(&key->row.coder), !key->is_alone,
				   filter->budget, filter->expected);
		if (key->order != NULL)
			KeySetKeepValues(&key->set, key->order);
	}
	foreach(lc, filter->combined)
		KeySetInit(&((CombinedKey *) lfirst(lc))->set, filter->sets, false, false,
				   filter->budget, filter->expected);
	foreach(lc, filter->listeners)
		((BuildListener *) lfirst(lc))->start(lfirst(lc));
	filter->only_integer = OnlyInteger(filter);
}

void
CompleteFilter(RuntimeFilter *filter)
{
	ListCell   *lc;

	for (int i = 0; i < filter->n_keys; i++)
		if (filter->keys[i].is_used)
			KeySetFinish(&filter->keys[i].set);
	foreach(lc, filter->combined)
		KeySetFinish(&((CombinedKey *) lfirst(lc))->set);
	foreach(lc, filter->listeners)
		((BuildListener *) lfirst(lc))->finish(lfirst(lc));
	filter->state = FILTER_COMPLETE;
	/* whoever has learned something of the keys before sees that it is void */
	filter->generation++;
	filter->query->completions++;
}

void
GiveUpFilter(RuntimeFilter *filter)
{
	filter->state = FILTER_GIVEN_UP;
	MemoryContextReset(filter->sets);
}

void
ForgetKeys(RuntimeFilter *filter)
{
	filter->state = FILTER_PLANNED;
	MemoryContextReset(filter->sets);
}

/* ---- rows ---- */

/* Reads the keys of a row.  False if one is NULL: then the row matches nothing. */
static bool
ReadBuildKeys(RuntimeFilter *filter, TupleTableSlot *slot)
{
	for (int i = 0; i < filter->n_keys; i++)
	{
		BuildKey   *key = &filter->keys[i];

		if (key->is_used && !ReadKey(&key->row, slot, filter->econtext, &key->value, &key->code))
			return false;
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

void
AddRow(RuntimeFilter *filter, TupleTableSlot *slot)
{
	MemoryContext old;
	ListCell   *lc;

	filter->rows++;
	if (filter->only_integer != NULL)
	{
		BuildKey   *key = filter->only_integer;
		bool		is_null;
		uint64		code = ReadInteger(&key->row, slot, &is_null);

		if (!is_null)
			KeySetAdd(&key->set, code);
		return;
	}
	old = MemoryContextSwitchTo(filter->scratch);
	if (ReadBuildKeys(filter, slot))
	{
		AddKeys(filter);
		foreach(lc, filter->listeners)
			((BuildListener *) lfirst(lc))->add_row(lfirst(lc));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(filter->scratch);
	if (filter->econtext != NULL)
		ResetExprContext(filter->econtext);
}

/*
 * True if the hash functions of the keys are too slow.  A hash join calls them as well, for
 * each row of both sides.  So where the keys take more than a third of the time in which
 * rows of the inner side come, which is one and a half times what it takes without them, a
 * test of an outer row takes about as long as all that it can save.  An eighth is too much
 * where the planner expects nothing to be saved.  But a small part of what the outer side costs
 * may always be spent: pages may be skipped.
 */
static bool
KeysAreSlow(const RuntimeFilter *filter)
{
	double		spent = filter->timed / ROWS_TIMED * (double) filter->rows;

	return filter->timed > NanosecondsSince(filter->timed_since) / (filter->expects_removal ? 3 : 8) &&
		spent > filter->filtered->plan->total_cost * COST_UNIT / SPENT_PART;
}

/* Adds a row and looks how long that takes: of ROWS_TIMED rows, and again when there are twice as many. */
static void
AddTimedRow(RuntimeFilter *filter, TupleTableSlot *slot)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (filter->rows == filter->timed_row)
	{
		filter->timed_since = start;
		filter->timed = 0;
	}
	AddRow(filter, slot);
	filter->timed += NanosecondsSince(start);
	if (filter->rows < filter->timed_row + ROWS_TIMED)
		return;
	filter->timed_row = 2 * filter->rows;
	if (KeysAreSlow(filter))
		GiveUpFilter(filter);
}

/* True if the time that keys take is measured: the sort of a merge join takes longer, and sent keys save more. */
static bool
IsTimed(const RuntimeFilter *filter)
{
	return filter->only_integer == NULL && filter->hash_join != NULL && filter->listeners == NIL &&
		bloomx_runtime_filter_min_removed > 0;
}

void
CollectRow(RuntimeFilter *filter, TupleTableSlot *slot)
{
	if (filter->state == FILTER_GIVEN_UP && !TupIsNull(slot))
		return;
	if (filter->state != FILTER_COLLECTING && filter->state != FILTER_GIVEN_UP)
	{
		/* the first row, also after the end: the table is built anew */
		StartCollecting(filter);
		if (filter->shared != NULL)
			filter->shared->start_part(filter);
	}
	if (!TupIsNull(slot) && filter->rows >= filter->timed_row && IsTimed(filter))
		AddTimedRow(filter, slot);
	else if (!TupIsNull(slot))
		AddRow(filter, slot);
	else if ((filter->shared != NULL && filter->shared->end_part(filter)) || filter->state == FILTER_GIVEN_UP)
		ForgetKeys(filter);
	else
		CompleteFilter(filter);
}

void
CompleteSharedFor(FilterPoint *point)
{
	for (int i = 0; i < point->n_filters; i++)
		CompleteShared(point->filters[i]->filter);
}
