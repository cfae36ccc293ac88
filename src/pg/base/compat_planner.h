/*
 * compat_planner.h - differences between the supported PostgreSQL versions that only
 * those meet who plan a statement again.
 */
#pragma once

#include "pg/base/compat.h"

#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"

/* what the planner's hook is called with: since 19 EXPLAIN's state, too */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS Query *parse, const char *source, int options, ParamListInfo params, struct ExplainState *es
#define PLANNER_ARGUMENTS parse, source, options, params, es
#define PlanAgain(parse, source, options, params) planner(parse, source, options, params, NULL)
#else
#define PLANNER_PARAMETERS Query *parse, const char *source, int options, ParamListInfo params
#define PLANNER_ARGUMENTS parse, source, options, params
#define PlanAgain(parse, source, options, params) planner(parse, source, options, params)
#endif

/*
 * What a role must be allowed to do stands in the range table, and since 16 in a list beside it.  The planner may work on
 * a copy of the query from the start, which has the same list.
 */
#if PG_VERSION_NUM >= 160000
#define IsSameQuery(a, b) ((a) == (b) || ((a)->rteperminfos != NIL && (a)->rteperminfos == (b)->rteperminfos))
#define PermissionsOfQuery(query) (query)->rteperminfos
#define PermissionsOfPlan(plan) (plan)->permInfos

static inline bool
CheckPermissions(List *infos, bool fail)
{
	List	   *tables = NIL;
	ListCell   *lc;

	/* the server wants a table for each */
	foreach(lc, infos)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);

		rte->rtekind = RTE_RELATION;
		rte->relid = lfirst_node(RTEPermissionInfo, lc)->relid;
		rte->perminfoindex = foreach_current_index(lc) + 1;
		tables = lappend(tables, rte);
	}
	return ExecCheckPermissions(tables, infos, fail);
}
#else
#define IsSameQuery(a, b) ((a) == (b))
#define PermissionsOfQuery(query) (query)->rtable
#define PermissionsOfPlan(plan) (plan)->rtable
#define CheckPermissions(tables, fail) ExecCheckRTPerms(tables, fail)
#endif

/* until 16, with old_snapshot_threshold */
#if PG_VERSION_NUM >= 170000
#define SNAPSHOTS_GROW_TOO_OLD false
#else
#define SNAPSHOTS_GROW_TOO_OLD (old_snapshot_threshold >= 0)
#endif

/* whether the valid children of an Append are known is told by a flag since 17 */
#if PG_VERSION_NUM >= 170000
#define SetValidChildren(append, set) ((append)->as_valid_subplans = (set), (append)->as_valid_subplans_identified = true)
#else
#define SetValidChildren(append, set) ((append)->as_valid_subplans = (set))
#endif

/* the children of an Append that its run-time pruning leaves */
#if PG_VERSION_NUM >= 180000
#define UnprunedChildren(pruning) ExecFindMatchingSubPlans(pruning, false, NULL)
#else
#define UnprunedChildren(pruning) ExecFindMatchingSubPlans(pruning, false)
#endif
