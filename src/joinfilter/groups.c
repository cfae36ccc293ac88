/*
 * groups.c - filters below nodes that make groups of rows.
 *
 * A group without a match may lose its rows if it yields nothing but rows with its
 * key, and none if it has no rows.  So the key must be one of the columns by which
 * the groups are made.  Of several grouping sets one is enough: in the rows of the
 * others that column is NULL, so they match nothing, whatever is counted in them.
 * Without GROUP BY there is no such column.
 *
 * All rows of a group must have one word.  They are equal by the operator that makes
 * the groups, so that has to be an equality that the words know (CarryWordReader).
 * An expression of the column is no key here: equal values may differ in it, as
 * 1.0::text and 1.00::text do.
 *
 * Filters drop whole groups, but not always: they pause, and page ranges are skipped
 * where a Bloom filter passes a key.  So a group without a match may have some of its
 * rows left.  It ends at the join, but before that expressions are computed for it:
 * 1 / (count(*) - 2), or a HAVING of that kind, must not fail for a group of three
 * rows because only two are left.  So what is computed of
 * aggregates has to consist of leakproof functions, which never fail, and of
 * comparisons of numeric.  The aggregates have to be the server's own: rows come in
 * any order, so a transition function takes any of them first; and none of the
 * server's final functions fails for some of the values that it takes.
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"

#include "joinfilter/groups.h"

/* ---- by which columns ---- */

/* True if one of the n columns of groups is that one, compared as the reader reads it. */
static bool
IsOneOf(const AttrNumber *columns, const Oid *operators, const Oid *collations, int n,
		AttrNumber column, const WordReader *reader)
{
	for (int i = 0; i < n; i++)
	{
		WordReader	other;

		if (columns[i] == column && CarryWordReader(reader, operators[i], true, collations[i], &other))
			return true;
	}
	return false;
}

static bool
IsAggregatedBy(const Agg *agg, AttrNumber column, const WordReader *reader)
{
	ListCell   *lc;

	if (IsOneOf(agg->grpColIdx, agg->grpOperators, agg->grpCollations, agg->numCols, column, reader))
		return true;
	/* other sorts or hash tables, of other grouping sets */
	foreach(lc, agg->chain)
		if (IsAggregatedBy(lfirst_node(Agg, lc), column, reader))
			return true;
	return false;
}

bool
IsGroupedBy(Plan *plan, AttrNumber column, const WordReader *reader)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			return IsAggregatedBy((Agg *) plan, column, reader);
		case T_Group:
			{
				Group	   *group = (Group *) plan;

				return IsOneOf(group->grpColIdx, group->grpOperators, group->grpCollations, group->numCols, column, reader);
			}
		case T_Unique:
			{
				Unique	   *unique = (Unique *) plan;

				return IsOneOf(unique->uniqColIdx, unique->uniqOperators, unique->uniqCollations, unique->numCols, column, reader);
			}
		default:
			return false;
	}
}

/* ---- groups that lack rows ---- */

/* True for a comparison of numeric: not marked as leakproof, but it does not fail, and sums of bigint are often compared. */
static bool
IsNumericComparison(Node *node)
{
	static const Oid comparisons[] = {F_NUMERIC_EQ, F_NUMERIC_NE, F_NUMERIC_LT, F_NUMERIC_LE, F_NUMERIC_GT, F_NUMERIC_GE};

	for (int i = 0; i < lengthof(comparisons); i++)
		if (IsA(node, OpExpr) && ((OpExpr *) node)->opfuncid == comparisons[i])
			return true;
	return false;
}

/*
 * What a node that makes groups computes, as it is to be judged.  The server's
 * aggregates become columns.  Columns become constants, and so does GROUPING(): they
 * are the same in all rows of a group, so what is computed of them alone does not
 * depend on which rows are there.
 */
static Node *
OfGroups(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsNumericComparison(node))
		return expression_tree_mutator((Node *) ((OpExpr *) node)->args, OfGroups, context);
	if (IsA(node, Aggref) && ((Aggref *) node)->aggfnoid < FirstUnpinnedObjectId)
		return (Node *) makeVar(OUTER_VAR, 1, exprType(node), -1, exprCollation(node), 0);
	if (IsA(node, Var) || IsA(node, GroupingFunc))
		return (Node *) makeNullConst(exprType(node), -1, exprCollation(node));
	return expression_tree_mutator(node, OfGroups, context);
}

static bool
MightFail(const Plan *plan, Node *expression)
{
	if (IsA(plan, Agg))
		expression = OfGroups(expression, NULL);
	return contain_leaked_vars(expression);
}

/* The clauses by which a join finds the rows that match. */
static List *
MatchClauses(const Plan *plan)
{
	return IsA(plan, HashJoin) ? ((HashJoin *) plan)->hashclauses : IsA(plan, MergeJoin) ? ((MergeJoin *) plan)->mergeclauses : NIL;
}

static bool
IsJoin(const Plan *plan)
{
	return IsA(plan, HashJoin) || IsA(plan, MergeJoin) || IsA(plan, NestLoop);
}

bool
PartOfGroupMightFail(const Taker *taker)
{
	Plan	   *plan = taker->plan;
	ListCell   *lc;

	/* their operators are equalities of indexable types, which do not fail; what they compare is computed of each row */
	foreach(lc, MatchClauses(plan))
		if (MightFail(plan, (Node *) lfirst_node(OpExpr, lc)->args))
			return true;
	/* the rest is computed for rows that match */
	if (taker->is_filtered)
		return false;
	foreach(lc, plan->targetlist)
		if (MightFail(plan, (Node *) lfirst_node(TargetEntry, lc)->expr))
			return true;
	if (MightFail(plan, (Node *) plan->qual) || (IsJoin(plan) && MightFail(plan, (Node *) ((Join *) plan)->joinqual)))
		return true;
	/* what becomes of the parameters is not looked at */
	return IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;
}
