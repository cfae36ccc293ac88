/*
 * places.c - finds the sites of a key below a join.
 *
 * A row of the outer side that matches nothing yields nothing.  It may be dropped
 * further below, wherever its key is a column, as long as each node on the way
 * hands the column through, and yields for that row nothing but rows with the same
 * key, which would be dropped above:
 *
 *   - projections, appends, sorts and the like;
 *   - joins, from the outer side unless it is the side that is filled with NULLs,
 *     and from the inner side unless that is filled or only looked at (semijoin,
 *     antijoin).
 *
 * Nodes that count, number or group rows (Limit, Unique, WindowAgg, SetOp, Agg,
 * projections of sets) would see other rows: the way ends above them.  It also ends
 * where a node computes something volatile, which would be computed for fewer rows,
 * and at Gather, since what is below runs in other processes.
 *
 * Some nodes keep their rows from one rescan to the next: sorts, Material, and the
 * hash tables of joins below.  Rows that were dropped for one set of keys would be
 * missing when the join above has another.  So a way goes through such a node only
 * if each build of the join's hash table has the same keys: nothing on its inner
 * side depends on a parameter or is volatile (stable.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "joinfilter/joinfilter.h"
#include "joinfilter/stable.h"

typedef struct Way
{
	bool		builds_alike;	/* each build of the join has the same keys */
	List	   *places;
} Way;

static void FollowColumn(Way *way, PlanState *ps, AttrNumber attno);

static void
StopAt(Way *way, PlanState *ps, AttrNumber attno)
{
	Place	   *place = palloc(sizeof(Place));

	place->ps = ps;
	place->attno = attno;
	way->places = lappend(way->places, place);
}

/* The plain column that a node's target list has in that place; NULL if it is something else. */
static Var *
ColumnOfTarget(Plan *plan, AttrNumber attno)
{
	TargetEntry *target = attno <= list_length(plan->targetlist) ? list_nth(plan->targetlist, attno - 1) : NULL;

	return target != NULL && target->resno == attno ? PlainColumn((Node *) target->expr) : NULL;
}

/* Goes on to the inputs of an Append, which have the same columns. */
static void
FollowAll(Way *way, PlanState **inputs, int n, AttrNumber attno)
{
	for (int i = 0; i < n; i++)
		FollowColumn(way, inputs[i], attno);
}

/* True if rows of the outer side of a join may be dropped below it. */
static bool
OuterSideIsOpen(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI || type == JOIN_ANTI;
}

/* The same of the inner side. */
static bool
InnerSideIsOpen(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_RIGHT || IS_RIGHT_SEMI_OR_ANTI(type);
}

/* Goes on below a join; false if the way ends above it. */
static bool
FollowJoin(Way *way, PlanState *ps, Var *column)
{
	Join	   *join = (Join *) ps->plan;
	PlanState  *inner = innerPlanState(ps);

	if (IsVolatile((Node *) join->joinqual))
		return false;
	if (column->varno == OUTER_VAR && OuterSideIsOpen(join->jointype))
	{
		FollowColumn(way, outerPlanState(ps), column->varattno);
		return true;
	}
	if (column->varno != INNER_VAR || !InnerSideIsOpen(join->jointype) ||
		!bms_is_empty(inner->plan->extParam))
		return false;
	/* the table of a Parallel Hash has rows of other processes, too */
	if (IsA(ps, HashJoinState) && (join->plan.parallel_aware || !way->builds_alike))
		return false;
	FollowColumn(way, inner, column->varattno);
	return true;
}

/* Goes on below a node; false if the way ends at it. */
static bool
FollowNode(Way *way, PlanState *ps, Var *column)
{
	switch (nodeTag(ps))
	{
		case T_ResultState:
			if (outerPlanState(ps) == NULL || column->varno != OUTER_VAR)
				return false;
			break;
		case T_SortState:
		case T_IncrementalSortState:
		case T_MaterialState:
		case T_HashState:
			if (!way->builds_alike)
				return false;
			break;
		case T_SubqueryScanState:
			FollowColumn(way, ((SubqueryScanState *) ps)->subplan, column->varattno);
			return true;
		case T_AppendState:
			FollowAll(way, ((AppendState *) ps)->appendplans, ((AppendState *) ps)->as_nplans, column->varattno);
			return true;
		case T_MergeAppendState:
			FollowAll(way, ((MergeAppendState *) ps)->mergeplans, ((MergeAppendState *) ps)->ms_nplans, column->varattno);
			return true;
		case T_NestLoopState:
		case T_MergeJoinState:
		case T_HashJoinState:
			return FollowJoin(way, ps, column);
		default:
			return false;
	}
	FollowColumn(way, outerPlanState(ps), column->varattno);
	return true;
}

static void
FollowColumn(Way *way, PlanState *ps, AttrNumber attno)
{
	Var		   *column = ColumnOfTarget(ps->plan, attno);

	check_stack_depth();
	if (column != NULL && column->varattno > 0 &&
		!IsVolatile((Node *) ps->plan->targetlist) && !IsVolatile((Node *) ps->plan->qual) &&
		FollowNode(way, ps, column))
		return;
	/* the method of a parallel hash join is set anew when its shared memory is */
	if (!(IsA(ps, HashJoinState) && ps->plan->parallel_aware))
		StopAt(way, ps, attno);
}

List *
FindPlaces(JoinFilter *filter, AttrNumber attno)
{
	Way			way = {0};

	way.builds_alike = bms_is_empty(filter->hash->ps.plan->extParam) && PlanIsStable(outerPlanState(filter->hash));
	FollowColumn(&way, outerPlanState(filter->join), attno);
	return way.places;
}
