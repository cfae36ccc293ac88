/*
 * registry.c - what is known of running queries, and the way from a plan node to
 * its point.
 *
 * A plan node has no room for a pointer of ours, and its method gets nothing but
 * the node.  So points are found in a hash table, once per row, and mostly the point
 * is that of the row before.  The table belongs to the backend.  Entries leave it
 * when the memory of their query is freed, so after an error as well.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "access/reloptions.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "runtimefilter/query/registry.h"

static dlist_head queries = DLIST_STATIC_INIT(queries);

points_hash *all_points;

static FilterPoint no_point;	/* of no node */
FilterPoint *last_point = &no_point;

#define FIRST_POINTS 64

/* Called when the memory of the query is freed: the last moment at which its lists can be read. */
static void
ForgetQuery(void *arg)
{
	FilteredQuery *query = arg;
	ListCell   *lc;

	foreach(lc, query->points)
		(void) points_delete(all_points, ((FilterPoint *) lfirst(lc))->ps);
	last_point = &no_point;
	dlist_delete(&query->node);
}

/* True if the table has row-level security, or is a view that is a barrier: one whose rows are changed is no subquery. */
static bool
RelationHidesRows(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
	bool		hides = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_VIEW)
	{
		bool		is_null;
		Datum		options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &is_null);
		ViewOptions *view = is_null ? NULL : (ViewOptions *) view_reloptions(options, false);

		hides = view != NULL && view->security_barrier;
	}
	else
		hides = ((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity;
	ReleaseSysCache(tuple);
	return hides;
}

/* True if some condition of the query may hide rows from the user.  The plan does not tell which one. */
static bool
HidesRows(EState *estate)
{
	ListCell   *lc;

	foreach(lc, estate->es_range_table)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->security_barrier || (rte->rtekind == RTE_RELATION && RelationHidesRows(rte->relid)))
			return true;
	}
	return false;
}

bool
MayTestEarly(FilteredQuery *query, Oid equality)
{
	if (get_func_leakproof(get_opcode(equality)))
		return true;
	if (query->hiding == HIDING_UNKNOWN)
		query->hiding = HidesRows(query->estate) ? HIDES_ROWS : HIDES_NOTHING;
	return query->hiding == HIDES_NOTHING;
}

FilteredQuery *
NewFilteredQuery(EState *estate)
{
	FilteredQuery *query = MemoryContextAllocZero(estate->es_query_cxt, sizeof(FilteredQuery));

	query->estate = estate;
	query->context = estate->es_query_cxt;
	query->statement = GetCurrentStatementStartTimestamp();
	query->role = GetUserId();
	query->is_shown_only = (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0;
	query->at_end.func = ForgetQuery;
	query->at_end.arg = query;
	dlist_push_head(&queries, &query->node);
	MemoryContextRegisterResetCallback(query->context, &query->at_end);
	return query;
}

FilteredQuery *
FindFilteredQuery(EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &queries)
	{
		FilteredQuery *query = dlist_container(FilteredQuery, node, iter.cur);

		if (query->estate == estate)
			return query;
	}
	return NULL;
}

bool
WantsReasons(const EState *estate)
{
	return (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || (bloomx_explain_conditions && estate->es_instrument != 0);
}

void
NoFilter(FilteredQuery *query, PlanState *join, const char *reason)
{
	UnfilteredJoin *unfiltered;
	ListCell   *lc;

	if (!WantsReasons(query->estate))
		return;
	foreach(lc, query->unfiltered)
		if (((UnfilteredJoin *) lfirst(lc))->ps == join)
			return;
	unfiltered = palloc(sizeof(UnfilteredJoin));
	*unfiltered = (UnfilteredJoin) {join, reason};
	query->unfiltered = lappend(query->unfiltered, unfiltered);
}

FilterPoint *
GetPoint(FilteredQuery *query, PlanState *ps, ExecProcNodeMtd method)
{
	FilterPoint *point = FindPoint(ps);
	MemoryContext old;
	bool		found;

	if (point != NULL)
		return point;
	if (all_points == NULL)
		all_points = points_create(TopMemoryContext, FIRST_POINTS, NULL);
	old = MemoryContextSwitchTo(query->context);
	point = palloc0(sizeof(FilterPoint));
	point->ps = ps;
	point->query = query;
	point->own = ps->ExecProcNodeReal;
	point->shared_report = -1;
	query->points = lappend(query->points, point);
	MemoryContextSwitchTo(old);
	/* the entry leaves the table with the query's memory (ForgetQuery) */
	points_insert(all_points, ps, &found)->point = point;
	ExecSetExecProcNode(ps, method);
	return point;
}

/*
 * To ask for the
 * program that a function is in takes some 10 us, so answers are kept: PostgreSQL 18
 * has four methods of sequential scans, older versions one.
 */
bool
IsOfServer(ExecProcNodeMtd method)
{
	static ExecProcNodeMtd known[8];
	static int	n_known = 0;
	Dl_info		server,
				its;

	for (int i = 0; i < n_known; i++)
		if (known[i] == method)
			return true;
	if (dladdr((void *) ExecInitNode, &server) == 0 || dladdr((void *) method, &its) == 0 ||
		server.dli_fbase != its.dli_fbase)
		return false;
	if (n_known < lengthof(known))
		known[n_known++] = method;
	return true;
}

typedef struct Walk
{
	bool		(*visit) (PlanState *ps, void *context);
	void	   *context;
	Bitmapset  *seen;			/* numbers of nodes */
} Walk;

/*
 * The server has one plan state for a subplan, and comes to it from each expression that has the subplan: in each
 * partition, say.  A CTE is read where it is scanned, by several nodes: as many as 2^n ways lead to one below n others.
 */
static bool
VisitOnce(PlanState *ps, void *context)
{
	Walk	   *walk = context;

	if (ps->state->es_subplanstates != NIL)
	{
		if (bms_is_member(ps->plan->plan_node_id, walk->seen))
			return false;
		walk->seen = bms_add_member(walk->seen, ps->plan->plan_node_id);
	}
	if (walk->visit(ps, walk->context) || (IsA(ps, CteScanState) && VisitOnce(((CteScanState *) ps)->cteplanstate, walk)))
		return true;
	return planstate_tree_walker(ps, VisitOnce, walk);
}

bool
VisitPlan(PlanState *ps, bool (*visit) (PlanState *ps, void *context), void *context)
{
	Walk		walk = {.visit = visit, .context = context};
	bool		found = VisitOnce(ps, &walk);

	bms_free(walk.seen);
	return found;
}
