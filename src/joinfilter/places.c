/*
 * places.c - finds the sites of a key below a join.
 *
 * A row of the filtered side that matches nothing yields nothing.  It may be dropped
 * further below, wherever its key is known, as long as each node on the way hands
 * the key's columns through, and yields for that row nothing but rows with the same
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
 * if each build of the join has the same keys: nothing on the side that is built
 * depends on a parameter or is volatile (stable.c).
 *
 * Other columns that equal the key.  If a join on the way says f.k = g.k, where f.k
 * is the key, then a row of g without a match above only takes part in rows whose
 * f.k has no match either, and these yield nothing above.  So g is filtered, too:
 *
 *   - Inner joins and semijoins only.  There, fewer rows of g mean fewer rows of the
 *     join.  Of a left join or an antijoin they would make rows that were not there
 *     before.  Those would be dropped above as well, but on the way something might
 *     be computed of them that fails.
 *   - The equality must be one that the words of keys know (CarryWordReader).
 *   - All that is below the filtered side of a join is read by that join alone, and
 *     not before the other side is complete.  So g is read after the build, too.
 *     (Rescans, and nodes that keep rows: the rules above hold for g's way as well.)
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

static void FollowColumn(Way *way, PlanState *ps, AttrNumber attno, const WordReader *reader);

static void
StopAt(Way *way, PlanState *ps, AttrNumber attno, const WordReader *reader)
{
	Place	   *place;
	ListCell   *lc;

	/* several clauses may lead to one column */
	foreach(lc, way->places)
		if (((Place *) lfirst(lc))->ps == ps && ((Place *) lfirst(lc))->attno == attno)
			return;
	place = palloc(sizeof(Place));
	place->ps = ps;
	place->attno = attno;
	place->reader = *reader;
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
FollowAll(Way *way, PlanState **inputs, int n, AttrNumber attno, const WordReader *reader)
{
	for (int i = 0; i < n; i++)
		FollowColumn(way, inputs[i], attno, reader);
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

/* True if the way may go on into the inner side of a join, where that type of join lets it. */
static bool
InnerSideIsReachable(const Way *way, PlanState *ps)
{
	if (!bms_is_empty(innerPlanState(ps)->plan->extParam))
		return false;
	/* the table of a Parallel Hash has rows of other processes, too */
	return !IsA(ps, HashJoinState) || (!ps->plan->parallel_aware && way->builds_alike);
}

/* The clauses by which a join finds the rows that match. */
static List *
JoinClauses(PlanState *ps)
{
	switch (nodeTag(ps->plan))
	{
		case T_HashJoin:
			return ((HashJoin *) ps->plan)->hashclauses;
		case T_MergeJoin:
			return ((MergeJoin *) ps->plan)->mergeclauses;
		default:
			return ((Join *) ps->plan)->joinqual;
	}
}

static bool
IsColumn(const Var *column, int side, AttrNumber attno)
{
	return column != NULL && column->varno == side && column->varattno == attno;
}

/* If the clause says that a column of the other side equals the key: goes on there. */
static void
FollowEqual(Way *way, PlanState *ps, Node *clause, const Var *key, const WordReader *reader)
{
	int			other_side = key->varno == OUTER_VAR ? INNER_VAR : OUTER_VAR;
	OpExpr	   *equality = (OpExpr *) clause;
	Var		   *left,
			   *right,
			   *other;
	WordReader	other_reader;

	if (!IsA(clause, OpExpr) || list_length(equality->args) != 2)
		return;
	left = PlainColumn(linitial(equality->args));
	right = PlainColumn(lsecond(equality->args));
	if (left == NULL || right == NULL)
		return;
	other = IsColumn(left, key->varno, key->varattno) ? right : left;
	if (other->varno == other_side && other->varattno > 0 &&
		IsColumn(other == right ? left : right, key->varno, key->varattno) &&
		CarryWordReader(reader, equality->opno, other == right, equality->inputcollid, &other_reader))
		FollowColumn(way, other_side == INNER_VAR ? innerPlanState(ps) : outerPlanState(ps), other->varattno, &other_reader);
}

/*
 * Goes on to columns of the other side of a join that equal the key.  To the outer
 * side of a hash join there is no need to: its own filter has the keys of its inner
 * side, where the rows are dropped.
 */
static void
FollowEquals(Way *way, PlanState *ps, const Var *key, const WordReader *reader)
{
	JoinType	type = ((Join *) ps->plan)->jointype;
	ListCell   *lc;

	if (type != JOIN_INNER && !(type == JOIN_SEMI && key->varno == OUTER_VAR))
		return;
	if (key->varno == OUTER_VAR ? !InnerSideIsReachable(way, ps) : IsA(ps, HashJoinState))
		return;
	foreach(lc, JoinClauses(ps))
		FollowEqual(way, ps, lfirst(lc), key, reader);
}

/* Goes on below a join; false if the way ends above it. */
static bool
FollowJoin(Way *way, PlanState *ps, Var *column, const WordReader *reader)
{
	Join	   *join = (Join *) ps->plan;

	if (IsVolatile((Node *) join->joinqual))
		return false;
	FollowEquals(way, ps, column, reader);
	if (column->varno == OUTER_VAR && OuterSideIsOpen(join->jointype))
	{
		FollowColumn(way, outerPlanState(ps), column->varattno, reader);
		return true;
	}
	if (column->varno != INNER_VAR || !InnerSideIsOpen(join->jointype) || !InnerSideIsReachable(way, ps))
		return false;
	FollowColumn(way, innerPlanState(ps), column->varattno, reader);
	return true;
}

/* Goes on below a node; false if the way ends at it. */
static bool
FollowNode(Way *way, PlanState *ps, Var *column, const WordReader *reader)
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
			FollowColumn(way, ((SubqueryScanState *) ps)->subplan, column->varattno, reader);
			return true;
		case T_AppendState:
			FollowAll(way, ((AppendState *) ps)->appendplans, ((AppendState *) ps)->as_nplans, column->varattno, reader);
			return true;
		case T_MergeAppendState:
			FollowAll(way, ((MergeAppendState *) ps)->mergeplans, ((MergeAppendState *) ps)->ms_nplans, column->varattno, reader);
			return true;
		case T_NestLoopState:
		case T_MergeJoinState:
		case T_HashJoinState:
			return FollowJoin(way, ps, column, reader);
		default:
			return false;
	}
	FollowColumn(way, outerPlanState(ps), column->varattno, reader);
	return true;
}

static void
FollowColumn(Way *way, PlanState *ps, AttrNumber attno, const WordReader *reader)
{
	Var		   *column = ColumnOfTarget(ps->plan, attno);

	check_stack_depth();
	if (column != NULL && column->varattno > 0 &&
		!IsVolatile((Node *) ps->plan->targetlist) && !IsVolatile((Node *) ps->plan->qual) &&
		FollowNode(way, ps, column, reader))
		return;
	/* the method of a parallel hash join is set anew when its shared memory is */
	if (!(IsA(ps, HashJoinState) && ps->plan->parallel_aware))
		StopAt(way, ps, attno, reader);
}

bool
BuildsAreAlike(const JoinFilter *filter)
{
	return bms_is_empty(filter->input->plan->extParam) && PlanIsStable(filter->input);
}

List *
FindPlaces(JoinFilter *filter, AttrNumber attno, const WordReader *reader)
{
	Way			way = {0};

	way.builds_alike = BuildsAreAlike(filter);
	FollowColumn(&way, filter->filtered, attno, reader);
	return way.places;
}
