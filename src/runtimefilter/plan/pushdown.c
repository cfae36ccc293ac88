/*
 * pushdown.c - finds the points of a key below a join.
 *
 * A row of the filtered side that matches nothing yields nothing.  It may be removed
 * further below, wherever its key is known, as long as each node on the way hands
 * the key's columns through, and yields for that row nothing but rows with the same
 * key, which would be removed above:
 *
 *   - projections, appends, sorts and the like;
 *   - joins, from the outer side unless it is the side that is filled with NULLs,
 *     and from the inner side unless that is filled or only looked at (semijoin,
 *     antijoin).
 *
 * Nodes that count or number rows (Limit, WindowAgg, SetOp, projections of sets)
 * would see other rows: the way ends above them.  It also ends where a node computes
 * something volatile, which would be computed for fewer rows, and at a join whose
 * other side does, which is run for each row of this one, or not at all without any.
 * And it ends at Gather, since what is below runs in other processes.
 *
 * Groups (Agg, Group, Unique) are made of rows with one key, if the key is a column
 * that all of them are made by (grouping.c).  Then a group without a match may lose
 * its rows.
 *
 * Some nodes keep their rows from one rescan to the next: sorts, Material, and the
 * hash tables of groups and of joins below.  Rows that were removed for one set of keys would be
 * missing when the join above has another.  So a way goes through such a node only
 * if each build of the join has the same keys: nothing on the side that is built
 * depends on a parameter or is volatile (volatility.c).
 *
 * A filter must not make anything be read that would not have been: a LIMIT, a cursor
 * or an EXISTS above may stop the query at any row.  Nodes that hand up each row before
 * they ask for the next one read no more if rows are removed below them.  But there are
 * nodes that look ahead, or that stop by themselves.  A merge join stops to read a side
 * when the other one is at its end, and a merge of sorted inputs reads a row of each of
 * them.  Sorted groups that are aggregated, and an incremental sort, read a row of the
 * next group.  A nested loop goes to its next outer row after one match, if one is
 * enough.  Whoever removes rows below would go on to the next row that passes, however far
 * away that is.  So the way goes on there only to a sort, which reads all of its input
 * anyway.
 *
 * A key may be an expression.  Then it is computed at the point, and once more by the
 * join for the rows that pass.  An expression that might fail must not be computed for
 * a row that would not have come to the join.  So unless all of its functions are
 * leakproof, which says that they never fail, its way only goes through nodes that
 * hand up each row as it comes: Append, and projections and subqueries without
 * conditions.
 *
 * A condition that hides rows from the user comes before anything that might tell of
 * them.  Where there is one, an equality that is not leakproof sees the rows that come to
 * the join, and no others, as it does without a filter.
 *
 * Other columns that equal the key.  If a join on the way says f.k = g.k, where f.k
 * is the key, then a row of g without a match above only takes part in rows whose
 * f.k has no match either, and these yield nothing above.  So g is filtered, too:
 *
 *   - Inner joins and semijoins only.  There, fewer rows of g mean fewer rows of the
 *     join.  Of a left join or an antijoin they would make rows that were not there
 *     before.  Those would be removed above as well, but on the way something might
 *     be computed of them that fails.
 *   - The equality must be one that the codes of keys know (CarryKeyCoder).
 *   - All that is below the filtered side of a join is read by that join alone, and
 *     not before the other side is complete.  So g is read after the build, too.
 *     (Rescans, and nodes that keep rows: the rules above hold for g's way as well.)
 *   - If g is the inner side of a nested loop that is searched by the key, for a column of f, the condition of the
 *     search is that equality.  The way ends at such a loop in all other cases: its inner side depends on the outer row.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"

#include "runtimefilter/plan/grouping.h"
#include "runtimefilter/plan/pushdown.h"
#include "runtimefilter/query/volatility.h"

/*
 * The planner's cost of a node, one of very many, that is worth a filter point.  To make a filter point and
 * to report of it takes some microseconds, and a unit of cost at least one.
 */
#define LEAST_COST_OF_POINT 50

typedef struct Pushdown
{
	bool		builds_alike;	/* each build of the join has the same keys */
	List	   *targets;
	bool		keeps_way;
	List	   *way;			/* of PushdownTarget: the nodes that the key came to */
} Pushdown;

/* A key on its way: an expression over the rows of a node, whose columns are Vars of OUTER_VAR. */
typedef struct PushedKey
{
	Node	   *expression;
	bool		might_fail;
	KeyCoder	coder;
	const ParentNode *parent;	/* of these rows */
} PushedKey;

static void PushDown(Pushdown *pushdown, PlanState *ps, const PushedKey *key);

static PushdownTarget *
NewTarget(PlanState *ps, const PushedKey *key)
{
	PushdownTarget *target = palloc(sizeof(PushdownTarget));

	target->ps = ps;
	target->key = key->expression;
	target->coder = key->coder;
	return target;
}

/* The method of a parallel hash join is set anew when its shared memory is. */
static void
AddTarget(Pushdown *pushdown, PlanState *ps, const PushedKey *key)
{
	if (!(IsA(ps, HashJoinState) && ps->plan->parallel_aware))
		pushdown->targets = lappend(pushdown->targets, NewTarget(ps, key));
}

/* ---- the columns of a node in terms of its inputs ---- */

typedef struct Translation
{
	List	   *targets;
	int			side;			/* whose columns they are: OUTER_VAR, INNER_VAR or a scan's; 0 = none seen yet */
	bool		is_possible;
} Translation;

static Node *
TranslateColumn(Node *node, void *context)
{
	Translation *translation = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		AttrNumber	attno = ((Var *) node)->varattno;
		TargetEntry *target = attno <= list_length(translation->targets) ? list_nth(translation->targets, attno - 1) : NULL;
		Node	   *expression = target != NULL && target->resno == attno ? (Node *) target->expr : NULL;
		Var		   *column = expression != NULL ? PlainColumn(expression) : NULL;

		if (column == NULL || column->varattno <= 0 ||
			(translation->side != 0 && translation->side != column->varno))
		{
			translation->is_possible = false;
			return node;
		}
		translation->side = column->varno;
		expression = copyObject(expression);
		PlainColumn(expression)->varno = OUTER_VAR;
		return expression;
	}
	return expression_tree_mutator(node, TranslateColumn, context);
}

/* The key over the rows of an input of the node, and which input that is.  False if it is not a matter of the columns of one input. */
static bool
TranslateKey(Plan *plan, const PushedKey *key, const ParentNode *parent, PushedKey *below, int *side)
{
	Translation translation = {.targets = plan->targetlist, .is_possible = true};

	*below = *key;
	below->parent = parent;
	below->expression = TranslateColumn(key->expression, &translation);
	*side = translation.side;
	return translation.is_possible && translation.side != 0;
}

/* ---- nodes on the way ---- */

/* Goes on to the inputs of an Append, which have the same columns. */
static void
PushDownAll(Pushdown *pushdown, PlanState **inputs, int n, const PushedKey *key)
{
	for (int i = 0; i < n; i++)
		PushDown(pushdown, inputs[i], key);
}

/* True if rows of the outer side of a join may be removed below it. */
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

/* True if the node reads all of its input before its first row. */
static bool
ReadsAllAtOnce(PlanState *ps)
{
	if (IsA(ps, MaterialState))
		ps = outerPlanState(ps);
	return IsA(ps, SortState);
}

/* True if a join may stop to read that side before its end. */
static bool
MayStopEarly(PlanState *join, PlanState *side)
{
	if (IsA(join, NestLoopState))
		return side == innerPlanState(join) && ((JoinState *) join)->single_match;
	return IsA(join, MergeJoinState) && !ReadsAllAtOnce(side);
}

/* True if some groups of an Agg end with the first row of the next one. */
static bool
AggregatesInOrder(const Agg *agg)
{
	ListCell   *lc;

	foreach(lc, agg->chain)
		if (AggregatesInOrder(lfirst_node(Agg, lc)))
			return true;
	return agg->aggstrategy == AGG_SORTED;
}

/* True if a node that makes groups reads a row of the next group before it yields one.  (Group and Unique yield the first row of each.) */
static bool
LooksAhead(PlanState *ps)
{
	return IsA(ps, AggState) && AggregatesInOrder((Agg *) ps->plan) && !ReadsAllAtOnce(outerPlanState(ps));
}

/* True if the way may go on into the inner side of a join, where that type of join lets it. */
static bool
InnerSideIsReachable(const Pushdown *pushdown, PlanState *ps)
{
	if (!bms_is_empty(innerPlanState(ps)->plan->extParam) || MayStopEarly(ps, innerPlanState(ps)))
		return false;
	/* a loop that looks rows up keeps those that came through (loops/nestloop.c) */
	if (IsA(ps, NestLoopState))
		return pushdown->builds_alike || ((NestLoop *) ps->plan)->nestParams != NIL;
	/* the table of a Parallel Hash has rows of other processes, too */
	return !IsA(ps, HashJoinState) || (!ps->plan->parallel_aware && pushdown->builds_alike);
}

/* If the clause says that a column of the other side equals the key, which is one of that side: goes on there. */
static bool
PushDownEqual(Pushdown *pushdown, PlanState *ps, Node *clause, const PushedKey *key, int side)
{
	int			other_side = side == OUTER_VAR ? INNER_VAR : OUTER_VAR;
	OpExpr	   *equality = (OpExpr *) clause;
	Var		   *left,
			   *right,
			   *known,
			   *other;
	PushedKey	equal = {.parent = key->parent};

	if (!IsA(clause, OpExpr) || list_length(equality->args) != 2)
		return false;
	left = PlainColumn(linitial(equality->args));
	right = PlainColumn(lsecond(equality->args));
	if (left == NULL || right == NULL)
		return false;
	known = left->varno == side ? left : right;
	other = left->varno == side ? right : left;
	if (known->varno != side || known->varattno != PlainColumn(key->expression)->varattno ||
		other->varno != other_side || other->varattno <= 0 ||
		!CarryKeyCoder(&key->coder, equality->opno, known == left, equality->inputcollid, &equal.coder) ||
		!HasCodes(&equal.coder, other->vartype) ||
		!PlanHasNoSideEffect(side == OUTER_VAR ? outerPlanState(ps) : innerPlanState(ps)))
		return false;
	other = copyObject(other);
	other->varno = OUTER_VAR;
	equal.expression = (Node *) other;
	PushDown(pushdown, other_side == INNER_VAR ? innerPlanState(ps) : outerPlanState(ps), &equal);
	return true;
}

/*
 * Goes on to columns of the other side of a join that equal the key.  To the outer
 * side of a hash join there is no need to: its own filter has the keys of its inner
 * side, where the rows are removed.
 */
static void
PushDownEquals(Pushdown *pushdown, PlanState *ps, const PushedKey *key, int side)
{
	JoinType	type = ((Join *) ps->plan)->jointype;
	ListCell   *lc;

	if (PlainColumn(key->expression) == NULL || (type != JOIN_INNER && !(type == JOIN_SEMI && side == OUTER_VAR)))
		return;
	if (side == OUTER_VAR ? !InnerSideIsReachable(pushdown, ps) :
		IsA(ps, HashJoinState) || MayStopEarly(ps, outerPlanState(ps)))
		return;
	foreach(lc, IsA(ps, NestLoopState) ? ((Join *) ps->plan)->joinqual : MatchClauses(ps->plan))
		(void) PushDownEqual(pushdown, ps, lfirst(lc), key, side);
}

/* The column of the outer side of a nested loop that it hands to the inner side as that argument; NULL if it is none. */
static Var *
ColumnOfParameter(const NestLoop *loop, Node *argument)
{
	ListCell   *lc;

	while (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	if (!IsA(argument, Param) || ((Param *) argument)->paramkind != PARAM_EXEC)
		return NULL;
	foreach(lc, loop->nestParams)
		if (lfirst_node(NestLoopParam, lc)->paramno == ((Param *) argument)->paramid)
			return lfirst_node(NestLoopParam, lc)->paramval;
	return NULL;
}

/*
 * If the inner side of a nested loop is searched by the key, for a column of the outer one: goes on there.  A row that matches
 * nothing would cost a search, and the page of each row that it finds, before the key could be tested.
 */
static bool
PushDownSearched(Pushdown *pushdown, PlanState *ps, const PushedKey *key)
{
	PlanState  *inner = innerPlanState(ps);
	Node	   *column;
	List	   *conditions;
	ListCell   *lc;

	if (!IsA(ps, NestLoopState) || ((Join *) ps->plan)->jointype != JOIN_INNER || PlainColumn(key->expression) == NULL)
		return false;
	/* the columns of a Memoize are those of its input */
	if (IsA(inner, MemoizeState))
		inner = outerPlanState(inner);
	if (!IsA(inner, IndexScanState) && !IsA(inner, BitmapHeapScanState))
		return false;
	column = KeyOfTable(inner, key->expression);
	conditions = IsA(inner, IndexScanState) ? ((IndexScan *) inner->plan)->indexqualorig : ((BitmapHeapScan *) inner->plan)->bitmapqualorig;
	if (column == NULL || PlainColumn(column) == NULL)
		return false;
	foreach(lc, conditions)
	{
		OpExpr	   *condition = lfirst(lc);
		Var		   *left;
		Var		   *outer;

		if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
			continue;
		/* an index has its column on the left */
		left = PlainColumn(linitial(condition->args));
		outer = ColumnOfParameter((NestLoop *) ps->plan, lsecond(condition->args));
		if (left == NULL || left->varattno != PlainColumn(column)->varattno || outer == NULL || !IsA(outer, Var))
			continue;
		left = copyObject(PlainColumn(key->expression));
		left->varno = INNER_VAR;
		condition = copyObject(condition);
		condition->args = list_make2(left, outer);
		if (PushDownEqual(pushdown, ps, (Node *) condition, key, INNER_VAR))
			return true;
	}
	return false;
}

/* Goes on below a join; false if the way ends above it. */
static bool
PushDownJoin(Pushdown *pushdown, PlanState *ps, const PushedKey *key, int side)
{
	Join	   *join = (Join *) ps->plan;

	/* what the join hashes by may have subplans */
	if (IsVolatile((Node *) join->joinqual) || IsVolatile((Node *) MatchClauses(ps->plan)) ||
		!PlanHasNoSideEffect(side == OUTER_VAR ? innerPlanState(ps) : outerPlanState(ps)))
		return false;
	if (side == INNER_VAR && PushDownSearched(pushdown, ps, key))
		return true;
	PushDownEquals(pushdown, ps, key, side);
	if (side == OUTER_VAR && OuterSideIsOpen(join->jointype) && !MayStopEarly(ps, outerPlanState(ps)))
	{
		PushDown(pushdown, outerPlanState(ps), key);
		return true;
	}
	if (side != INNER_VAR || !InnerSideIsOpen(join->jointype) || !InnerSideIsReachable(pushdown, ps))
		return false;
	PushDown(pushdown, innerPlanState(ps), key);
	return true;
}

/* True if the node hands up each row of its input as soon as it has it. */
static bool
HandsUpEachRow(PlanState *ps)
{
	return IsA(ps, AppendState) || ((IsA(ps, ResultState) || IsA(ps, SubqueryScanState)) && ps->plan->qual == NIL);
}

/*
 * True if the way may go on below a node that makes groups.  A filter may pause or
 * skip a page, so a group may lose some of its rows only.  It is removed above, but
 * what is computed of it on the way there must not fail.
 */
static bool
GroupsAreOpen(const Pushdown *pushdown, PlanState *ps, const PushedKey *key)
{
	if (!pushdown->builds_alike || PlainColumn(key->expression) == NULL || LooksAhead(ps) ||
		!IsGroupedBy(ps->plan, PlainColumn(key->expression)->varattno, &key->coder))
		return false;
	for (const ParentNode *parent = key->parent; parent != NULL; parent = parent->above)
		if (PartOfGroupMightFail(parent, parent == key->parent))
			return false;
	return true;
}

/* True if it would take longer to make a filter point of each input of an Append, on average, than a filter may cost there. */
static bool
InputsAreSmall(PlanState *ps)
{
	return bloomx_runtime_filter_min_removed > 0 && ps->plan->total_cost < ((AppendState *) ps)->as_nplans * LEAST_COST_OF_POINT;
}

/* Goes on below a node; false if the way ends at it.  The key is over the rows of the input on that side. */
static bool
PushDownNode(Pushdown *pushdown, PlanState *ps, const PushedKey *key, int side)
{
	if (key->might_fail && !HandsUpEachRow(ps))
		return false;
	switch (nodeTag(ps))
	{
		case T_ResultState:
			if (outerPlanState(ps) == NULL || side != OUTER_VAR)
				return false;
			break;
		case T_SortState:
		case T_MaterialState:
		case T_HashState:
			if (!pushdown->builds_alike)
				return false;
			break;
		case T_AggState:
		case T_GroupState:
		case T_UniqueState:
			if (!GroupsAreOpen(pushdown, ps, key))
				return false;
			break;
		case T_SubqueryScanState:
			PushDown(pushdown, ((SubqueryScanState *) ps)->subplan, key);
			return true;
		case T_AppendState:
			if (InputsAreSmall(ps))
				return false;
			PushDownAll(pushdown, ((AppendState *) ps)->appendplans, ((AppendState *) ps)->as_nplans, key);
			return true;
		case T_MergeAppendState:
			for (int i = 0; i < ((MergeAppendState *) ps)->ms_nplans; i++)
				if (!ReadsAllAtOnce(((MergeAppendState *) ps)->mergeplans[i]))
					return false;
			PushDownAll(pushdown, ((MergeAppendState *) ps)->mergeplans, ((MergeAppendState *) ps)->ms_nplans, key);
			return true;
		case T_NestLoopState:
		case T_MergeJoinState:
		case T_HashJoinState:
			return PushDownJoin(pushdown, ps, key, side);
		default:
			return false;
	}
	PushDown(pushdown, outerPlanState(ps), key);
	return true;
}

static void
PushDown(Pushdown *pushdown, PlanState *ps, const PushedKey *key)
{
	ParentNode	parent = {.plan = ps->plan, .above = key->parent};
	PushedKey	below;
	int			side;

	check_stack_depth();
	/* no row comes from a Hash */
	if (pushdown->keeps_way && !IsA(ps, HashState))
		pushdown->way = lappend(pushdown->way, NewTarget(ps, key));
	if (TranslateKey(ps->plan, key, &parent, &below, &side) &&
		!IsVolatile((Node *) ps->plan->targetlist) && !IsVolatile((Node *) ps->plan->qual) &&
		PushDownNode(pushdown, ps, &below, side))
		return;
	AddTarget(pushdown, ps, key);
}

/* ---- where the way begins ---- */

typedef struct Contents
{
	int			side;
	bool		has_column,
				is_usable;
} Contents;

static bool
InspectKey(Node *node, void *context)
{
	Contents   *contents = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		contents->has_column = true;
		if (((Var *) node)->varno != contents->side || ((Var *) node)->varattno <= 0)
			contents->is_usable = false;
	}
	return expression_tree_walker(node, InspectKey, context);
}

/* Makes all columns those of *varno. */
static Node *
RenameColumns(Node *node, void *varno)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *column = copyObject((Var *) node);

		column->varno = *(int *) varno;
		return (Node *) column;
	}
	return expression_tree_mutator(node, RenameColumns, varno);
}

Node *
KeyOfTable(PlanState *ps, Node *key)
{
	PushedKey	of_rows = {.expression = key},
				of_table;
	int			side,
				table = 1;

	if (!ScansTable(ps) || !TranslateKey(ps->plan, &of_rows, NULL, &of_table, &side) ||
		side != ((Scan *) ps->plan)->scanrelid)
		return NULL;
	return RenameColumns(of_table.expression, &table);
}

/*
 * The expressions of keys count, not only what the rows come from: a Hash has those of
 * a hash join.  A merge join mostly has its keys from the sort.
 */
bool
BuildsAreAlike(const RuntimeFilter *filter)
{
	PlanState  *built = filter->hash_join != NULL ? innerPlanState(filter->join) : outerPlanState(filter->join);

	return bms_is_empty(built->plan->extParam) && PlanIsStable(built) &&
		(filter->hash_join != NULL || !HasParameter((Node *) ((MergeJoin *) filter->join->plan)->mergeclauses));
}

List *
FindTargets(RuntimeFilter *filter, Node *expression, int side, bool is_always_computed, const KeyCoder *coder, List **way)
{
	Pushdown	pushdown = {0};
	ParentNode	join = {.plan = filter->join->plan, .is_filtered = true};
	PushedKey	key = {.parent = &join, .might_fail = PlainColumn(expression) == NULL && contain_leaked_vars(expression), .coder = *coder};
	Contents	contents = {.side = side, .is_usable = true};
	int			rows = OUTER_VAR;

	InspectKey(expression, &contents);
	if (!contents.has_column || !contents.is_usable || HasParameter(expression) || IsVolatile(expression) || (key.might_fail && !is_always_computed))
		return NIL;
	key.expression = RenameColumns(expression, &rows);
	pushdown.builds_alike = BuildsAreAlike(filter);
	pushdown.keeps_way = filter->n_keys > 1;
	/* of a merge join, see above */
	if (filter->hash_join == NULL && (!ReadsAllAtOnce(filter->filtered) || !pushdown.builds_alike))
		return NIL;
	if (MayTestEarly(filter->query, coder->operator))
		PushDown(&pushdown, filter->filtered, &key);
	else if (filter->hash_join != NULL)
		AddTarget(&pushdown, filter->filtered, &key);
	*way = pushdown.way;
	return pushdown.targets;
}
