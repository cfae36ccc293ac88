/*
 * lookup_rescan.c - a nested loop reads only the partitions that may have the row's key.
 *
 * An Append whose children all have the condition `column = parameter` asks for the parameter's value when
 * a scan of it begins.  The value comes from the outer row of a nested loop, from a correlated subquery or from
 * a subquery that has one value.  Questions are younger than the snapshot by then.
 *
 * The node gets an array of the chosen children, because at each new scan it goes through its array, and a
 * thousand children cost more than the question.  What is missed by children that are not in the array they
 * are told when they come in.  Who goes through all nodes before and afterwards, as EXPLAIN and
 * the end of the executor do, finds the whole array (EndLookups).  Only scans are chosen among: whatever else has to be
 * shut down when a query has been run.
 */
#include "pg/partitions/lookup/lookup_point.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "pg/base/compat_planner.h"

static dlist_head all_started = DLIST_STATIC_INIT(all_started);
static LookupPoint *last_point;

/* ---- statements ---- */

/* The memory of the query is freed. */
static void
ForgetStarted(void *arg)
{
	last_point = NULL;
	dlist_delete(&((StartedLookup *) arg)->node);
}

StartedLookup *
FindStartedLookup(const EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all_started)
	{
		StartedLookup *started = dlist_container(StartedLookup, node, iter.cur);

		if (started->estate == estate)
			return started;
	}
	return NULL;
}

StartedLookup *
NewStartedLookup(EState *estate)
{
	StartedLookup *started = MemoryContextAllocZero(estate->es_query_cxt, sizeof(StartedLookup));

	started->estate = estate;
	started->at_end.func = ForgetStarted;
	started->at_end.arg = started;
	dlist_push_head(&all_started, &started->node);
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &started->at_end);
	return started;
}

static LookupPoint *
FindPoint(const PlanState *ps)
{
	dlist_iter	iter;
	ListCell   *lc;

	dlist_foreach(iter, &all_started)
		foreach(lc, dlist_container(StartedLookup, node, iter.cur)->points)
		if (((LookupPoint *) lfirst(lc))->ps == ps)
			return lfirst(lc);
	elog(ERROR, "no partition lookup belongs to this node");
}

/* ---- children ---- */

/* Gives the node an array of its children; the first n of `array`. */
static void
SetChildren(LookupPoint *point, PlanState **array, int n)
{
	if (bms_num_members(point->valid) != n)
	{
		MemoryContext old = MemoryContextSwitchTo(point->ps->state->es_query_cxt);

		bms_free(point->valid);
		point->valid = n == 0 ? NULL : bms_add_range(NULL, 0, n - 1);
		MemoryContextSwitchTo(old);
	}
	if (IsA(point->ps, AppendState))
	{
		AppendState *append = (AppendState *) point->ps;

		append->appendplans = array;
		append->as_nplans = n;
		SetValidChildren(append, point->valid);
	}
	else
	{
		MergeAppendState *append = (MergeAppendState *) point->ps;

		append->mergeplans = array;
		append->ms_nplans = n;
		append->ms_valid_subplans = point->valid;
	}
}

void
EndLookups(EState *estate)
{
	StartedLookup *started = dlist_is_empty(&all_started) ? NULL : FindStartedLookup(estate);
	ListCell   *lc;

	foreach(lc, started == NULL ? NIL : started->points)
	{
		LookupPoint *point = lfirst(lc);

		SetChildren(point, point->children, point->n);
	}
}

/* A child that comes into the array has missed which parameters have changed. */
static void
TellChild(PlanState *child)
{
	MemoryContext old = MemoryContextSwitchTo(child->state->es_query_cxt);

	child->chgParam = bms_add_members(child->chgParam, child->plan->allParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	MemoryContextSwitchTo(old);
}

/* The numbers of the children that may have rows with the parameter's value; false if there is no answer. */
static bool
AskForValue(LookupPoint *point, Bitmapset **numbers)
{
	LookupQuestion question = {.root_index = point->lookup->root_index, .column = point->lookup->column};
	bool		is_null;
	Datum		value;

	ResetExprContext(point->expression);
	value = ExecEvalExprSwitchContext(point->state, point->expression, &is_null);
	if (!HashLookupValue(&point->value, value, is_null, &question))
		return false;
	if (!AskStore(&question, point->ps->state->es_snapshot))
		return false;
	if (question.serial != point->columns.serial)
	{
		/* that rarely, that what was there before may stay until the end */
		MemoryContext old = MemoryContextSwitchTo(point->ps->state->es_query_cxt);

		NumberColumns(question.root_index, &point->leaves, &point->columns);
		MemoryContextSwitchTo(old);
	}
	*numbers = bms_add_members(NumbersOfCandidates(&point->columns, question.candidates), point->always);
	CountLookups(LOOKUP_QUESTIONS, 1);
	return question.serial == point->columns.serial;
}

/*
 * To compute the value may fail, and to execute a subquery that has the value.  A search in an index does it when it
 * begins, so nothing fails that would not fail in the first child.  A scan of a whole table does it for a row only, and so does a
 * search for another column.
 */
static bool
MayAsk(const LookupPoint *point)
{
	const Node *expr = WithoutRelabels(point->value.expr);

	if (point->is_searched)
		return true;
	return IsA(expr, Param) && (((const Param *) expr)->paramkind != PARAM_EXEC ||
								point->ps->state->es_param_exec_vals[((const Param *) expr)->paramid].execPlan == NULL);
}

static void
ChooseChildren(LookupPoint *point, PlanState **chosen)
{
	Bitmapset  *numbers,
			   *candidates;
	int			n = 0;
	MemoryContext old;

	MemoryContextReset(point->of_question);
	old = MemoryContextSwitchTo(point->of_question);
	numbers = point->pruning != NULL ? UnprunedChildren(point->pruning) : bms_add_range(NULL, 0, point->n - 1);
	if (numbers != NULL && MayAsk(point) && AskForValue(point, &candidates))
		numbers = bms_int_members(numbers, candidates);
	for (int i = -1; (i = bms_next_member(numbers, i)) >= 0;)
		chosen[n++] = point->children[i];
	MemoryContextSwitchTo(old);
	for (int i = 0; i < n; i++)
		TellChild(chosen[i]);
	SetChildren(point, chosen, n);
	point->scans++;
	point->scanned += n;
	CountLookups(LOOKUP_PARTITIONS, point->n);
	CountLookups(LOOKUP_PRUNED, point->n - n);
}

TupleTableSlot *
ExecLookupPoint(PlanState *ps)
{
	LookupPoint *point = last_point;

	if (point == NULL || point->ps != ps)
		point = last_point = FindPoint(ps);
	if (IsA(ps, AppendState) ? !((AppendState *) ps)->as_begun : !((MergeAppendState *) ps)->ms_initialized)
		ChooseChildren(point, point->chosen);
	return point->own(ps);
}
