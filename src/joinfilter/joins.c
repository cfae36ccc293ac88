/*
 * joins.c - finds the joins of a query that can have a filter.
 *
 * That an outer row without a match yields nothing holds for inner joins and
 * semijoins, and for joins that fill or return the inner side.  It does not hold
 * for left, full and antijoins, which are never filtered.
 *
 * All of this happens after the executor has started, when nothing has run yet.  So
 * it has to be cheap: the nodes of the plan are visited once, and a join that will
 * not pay is left alone.
 */
#include "postgres.h"

#include <float.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "joinfilter/joinfilter.h"
#include "joinfilter/stable.h"

/* The least memory of a set of keys, if work_mem is smallest. */
#define LEAST_BUDGET (64 * 1024)

static bool
JoinIsEligible(const HashJoinState *join)
{
	JoinType	type = join->js.jointype;

	return type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_RIGHT || IS_RIGHT_SEMI_OR_ANTI(type);
}

/*
 * The keys of a filter can be collected.  The method of a parallel hash join is set
 * anew when its shared memory is, so it cannot be a site.
 */
static bool
InputIsEligible(PlanState *input)
{
	return !(IsA(input, HashJoinState) && input->plan->parallel_aware);
}

/* True if the inner side of the join has all rows of its tables. */
static bool
IsUnrestricted(Plan *inner)
{
	return (IsA(inner, SeqScan) || IsA(inner, IndexOnlyScan) || IsA(inner, IndexScan)) && inner->qual == NIL;
}

/* True if so few outer rows are expected to go that a filter does not pay. */
static bool
WillDropTooFew(const HashJoinState *join)
{
	double		outer_rows = outerPlan(join->js.ps.plan)->plan_rows;
	double		left = join->js.ps.plan->plan_rows / Max(outer_rows, 1);

	return bloomx_join_filter_min_drop > 0 && 1 - left < bloomx_join_filter_min_drop &&
		IsUnrestricted(outerPlan(innerPlan(join->js.ps.plan)));
}

/* The planner's number of rows of the largest node that a filter would be applied to. */
static double
RowsAtPlaces(List *places)
{
	double		most = 0;
	ListCell   *lc;

	foreach(lc, places)
		most = Max(most, ((Place *) lfirst(lc))->ps->plan->plan_rows);
	return most;
}

/* The column of the site's table that column attno of its rows is; 0 if it is something else. */
static AttrNumber
ColumnOfTable(PlanState *ps, AttrNumber attno)
{
	TargetEntry *target = list_nth(ps->plan->targetlist, attno - 1);
	Var		   *column;

	switch (nodeTag(ps))
	{
		case T_SeqScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidRangeScanState:
			column = PlainColumn((Node *) target->expr);
			return column != NULL && column->varno == ((Scan *) ps->plan)->scanrelid && column->varattno > 0 ?
				column->varattno : 0;
		default:
			return 0;
	}
}

/* The set of the words of several keys. */
static KeySet *
GetCombined(JoinFilter *filter, Bitmapset *keys)
{
	CombinedKey *combined;
	ListCell   *lc;

	foreach(lc, filter->combined)
		if (bms_equal(((CombinedKey *) lfirst(lc))->keys, keys))
			return &((CombinedKey *) lfirst(lc))->set;
	combined = palloc0(sizeof(CombinedKey));
	combined->keys = keys;
	filter->combined = lappend(filter->combined, combined);
	return &combined->set;
}

/* Adds the filter to a site, with the keys that the site has: attnos[i] is not 0. */
static void
AddSiteFilter(JoinFilter *filter, PlanState *ps, const AttrNumber *attnos)
{
	Site	   *site = GetSite(filter->query, ps, ExecSite);
	SiteFilter *sf = palloc0(sizeof(SiteFilter));
	Bitmapset  *keys = NULL;

	sf->filter = filter;
	sf->site = site;
	sf->keys = palloc(filter->n_keys * sizeof(int));
	sf->attnos = palloc(filter->n_keys * sizeof(AttrNumber));
	sf->columns = palloc(filter->n_keys * sizeof(AttrNumber));
	for (int i = 0; i < filter->n_keys; i++)
		if (attnos[i] != 0)
		{
			sf->keys[sf->n_keys] = i;
			sf->attnos[sf->n_keys] = attnos[i];
			sf->columns[sf->n_keys++] = ColumnOfTable(ps, attnos[i]);
			filter->keys[i].is_used = true;
			keys = bms_add_member(keys, i);
		}
	if (sf->n_keys == 1)
	{
		filter->keys[sf->keys[0]].is_alone = true;
		sf->set = &filter->keys[sf->keys[0]].set;
	}
	else
		sf->set = GetCombined(filter, keys);

	site->filters = site->filters == NULL ? palloc(sizeof(SiteFilter *)) :
		repalloc(site->filters, (site->n_filters + 1) * sizeof(SiteFilter *));
	site->filters[site->n_filters++] = sf;
}

/* Makes sites of the places of all keys: places[i] are those of key i. */
static void
AddSiteFilters(JoinFilter *filter, List **places)
{
	AttrNumber *attnos = palloc(filter->n_keys * sizeof(AttrNumber));

	for (int i = 0; i < filter->n_keys; i++)
		while (places[i] != NIL)
		{
			PlanState  *ps = ((Place *) linitial(places[i]))->ps;

			/* this node's column of each key; lists before the i-th are empty */
			memset(attnos, 0, filter->n_keys * sizeof(AttrNumber));
			for (int j = i; j < filter->n_keys; j++)
			{
				ListCell   *lc;

				foreach(lc, places[j])
					if (((Place *) lfirst(lc))->ps == ps && attnos[j] == 0)
					{
						attnos[j] = ((Place *) lfirst(lc))->attno;
						places[j] = foreach_delete_current(places[j], lc);
					}
			}
			AddSiteFilter(filter, ps, attnos);
		}
}

/* Reads the join's clause i: how to get the key on the inner side, and its column on the outer side, or 0. */
static AttrNumber
SetUpKey(JoinFilter *filter, int i)
{
	HashJoin   *plan = (HashJoin *) filter->join->js.ps.plan;
	Hash	   *hash = (Hash *) filter->hash->ps.plan;
	BuildKey   *key = &filter->keys[i];
	Var		   *outer = PlainColumn(list_nth(plan->hashkeys, i));
	Node	   *expression = list_nth(hash->hashkeys, i);
	Var		   *inner = PlainColumn(expression);

	if (outer == NULL || outer->varno != OUTER_VAR || outer->varattno <= 0 ||
		!MakeWordReaders(list_nth_oid(plan->hashoperators, i), list_nth_oid(plan->hashcollations, i),
						 &key->outer, &key->inner))
		return 0;
	if (inner != NULL && inner->varno == OUTER_VAR && inner->varattno > 0)
		key->attno = inner->varattno;
	else if (IsVolatile(expression))
		return 0;
	else
	{
		if (filter->econtext == NULL)
			filter->econtext = CreateExprContext(filter->query->estate);
		/* no parent: the rows of a shared table come in other slots than those of the inner side */
		key->expr = ExecInitExpr((Expr *) expression, NULL);
	}
	return outer->varattno;
}

/* The rows of a shared table that each worker may read: reading one costs a fraction of what a dropped outer row saves. */
static double
MostSharedRows(const HashJoinState *join)
{
	return bloomx_join_filter_min_drop == 0 ? DBL_MAX : outerPlan(join->js.ps.plan)->plan_rows / 2;
}

static JoinFilter *
NewJoinFilter(FilteredQuery *query, HashJoinState *join)
{
	JoinFilter *filter = palloc0(sizeof(JoinFilter));

	filter->query = query;
	filter->join = join;
	filter->hash = castNode(HashState, innerPlanState(join));
	filter->is_shared = join->js.ps.plan->parallel_aware;
	filter->n_keys = list_length(((HashJoin *) join->js.ps.plan)->hashkeys);
	filter->keys = palloc0(filter->n_keys * sizeof(BuildKey));
	filter->expected = outerPlan(filter->hash->ps.plan)->plan_rows;
	filter->most_shared = MostSharedRows(join);
	return filter;
}

/* Memory is made when the filter is certain to be used. */
static void
StartFilter(JoinFilter *filter)
{
	FilteredQuery *query = filter->query;
	int			n_sets = list_length(filter->combined);

	/* the sets share the memory */
	for (int i = 0; i < filter->n_keys; i++)
		n_sets += filter->keys[i].is_alone;
	filter->budget = Max((uint64) work_mem * 1024 / n_sets, LEAST_BUDGET);
	filter->sets = AllocSetContextCreate(query->context, "join filter", ALLOCSET_DEFAULT_SIZES);
	filter->scratch = AllocSetContextCreate(query->context, "join filter key", ALLOCSET_SMALL_SIZES);
	query->filters = lappend(query->filters, filter);
	if (!filter->is_shared)
	{
		Site	   *input = GetSite(query, outerPlanState(filter->hash), ExecSite);

		input->builds = lappend(input->builds, filter);
	}

	/*
	 * Otherwise the join might fetch an outer row before it builds the table, to
	 * see whether there is one, and the outer scan would begin without a filter.
	 */
	filter->join->hj_OuterNotEmpty = true;
}

static void
ConsiderJoin(FilteredQuery *query, HashJoinState *join)
{
	JoinFilter *filter;
	List	  **places;
	double		rows = 0;

	if (!JoinIsEligible(join) || WillDropTooFew(join))
		return;
	filter = NewJoinFilter(query, join);
	if (!filter->is_shared && !InputIsEligible(outerPlanState(filter->hash)))
		return;
	places = palloc0(filter->n_keys * sizeof(List *));
	for (int i = 0; i < filter->n_keys; i++)
	{
		AttrNumber	attno = SetUpKey(filter, i);

		if (attno != 0)
			places[i] = FindPlaces(filter, attno);
		rows = Max(rows, RowsAtPlaces(places[i]));
	}
	rows = Max(rows, outerPlan(join->js.ps.plan)->plan_rows);
	if (rows < bloomx_join_filter_min_rows)
		return;
	AddSiteFilters(filter, places);
	for (int i = 0; i < filter->n_keys; i++)
		if (filter->keys[i].is_used)
		{
			StartFilter(filter);
			return;
		}
}

static bool
VisitNode(PlanState *ps, void *query)
{
	if (IsA(ps, HashJoinState))
		ConsiderJoin(query, (HashJoinState *) ps);
	return planstate_tree_walker(ps, VisitNode, query);
}

static bool
HasHashJoin(PlanState *ps, void *context)
{
	return IsA(ps, HashJoinState) || planstate_tree_walker(ps, HasHashJoin, context);
}

void
AttachJoinFilters(EState *estate, PlanState *top)
{
	MemoryContext old;
	FilteredQuery *query;
	ListCell   *lc;

	if (!HasHashJoin(top, NULL))
		return;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	query = NewFilteredQuery(estate);
	VisitNode(top, query);
	foreach(lc, query->sites)
	{
		Site	   *site = lfirst(lc);

		if (site->n_filters > 0)
		{
			ConsiderPages(site);
			ConsiderPartition(site);
		}
	}
	PrepareNotes(query);
	MemoryContextSwitchTo(old);
}
