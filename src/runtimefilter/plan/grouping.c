/*
 * grouping.c - filters below nodes that make groups of rows.
 *
 * A group without a match may lose its rows if it yields nothing but rows with its
 * key, and none if it has no rows.  So the key must be one of the columns by which
 * the groups are made.  Of several grouping sets one is enough: in the rows of the
 * others that column is NULL, so they match nothing, whatever is counted in them.
 * Without GROUP BY there is no such column.
 *
 * All rows of a group must have one code.  They are equal by the operator that makes
 * the groups, so that has to be an equality that the codes know (CarryKeyCoder).
 * An expression of the column is no key here: equal values may differ in it, as
 * 1.0::text and 1.00::text do.
 *
 * Filters remove whole groups, but not always: they pause, and page ranges are skipped
 * where a Bloom filter passes a key.  So a group without a match may have some of its
 * rows left.  It ends at the join, but before that expressions are computed for it:
 * 1 / (count(*) - 2), or a HAVING of that kind, must not fail for a group of three
 * rows because only two are left.  So all that is computed has to consist of leakproof
 * functions, which never fail, and of comparisons of numeric.  That holds for what is
 * computed of columns alone as well: a condition like count(*) < 3 may guard it, and a
 * column of a group is that of one of its rows, of which others may be equal to it
 * without being the same.
 *
 * The aggregates have to be some of the server's own, for which fewer rows are never
 * worse.  Those that check for an overflow are not among them: a sum of 1e308 twice
 * fails unless -1e308 comes in between.  A numeric overflows only with 131,072 digits,
 * but has them if nothing limits it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "runtimefilter/plan/grouping.h"
#include "runtimefilter/query/volatility.h"

/* ---- by which columns ---- */

/* True if one of the n columns of groups is that one, compared as the coder reads it. */
static bool
IsOneOf(const AttrNumber *columns, const Oid *operators, const Oid *collations, int n,
		AttrNumber column, const KeyCoder *coder)
{
	for (int i = 0; i < n; i++)
	{
		KeyCoder	other;

		if (columns[i] == column && CarryKeyCoder(coder, operators[i], true, collations[i], &other))
			return true;
	}
	return false;
}

static bool
IsAggregatedBy(const Agg *agg, AttrNumber column, const KeyCoder *coder)
{
	ListCell   *lc;

	if (IsOneOf(agg->grpColIdx, agg->grpOperators, agg->grpCollations, agg->numCols, column, coder))
		return true;
	/* other sorts or hash tables, of other grouping sets */
	foreach(lc, agg->chain)
		if (IsAggregatedBy(lfirst_node(Agg, lc), column, coder))
			return true;
	return false;
}

bool
IsGroupedBy(Plan *plan, AttrNumber column, const KeyCoder *coder)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			return IsAggregatedBy((Agg *) plan, column, coder);
		case T_Group:
			{
				Group	   *group = (Group *) plan;

				return IsOneOf(group->grpColIdx, group->grpOperators, group->grpCollations, group->numCols, column, coder);
			}
		case T_Unique:
			{
				Unique	   *unique = (Unique *) plan;

				return IsOneOf(unique->uniqColIdx, unique->uniqOperators, unique->uniqCollations, unique->numCols, column, coder);
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

/* True unless the values of the expression have at most some thousand digits. */
static bool
MayBeHuge(Node *node)
{
	static const Oid functions[] = {F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL, F_NUMERIC_UMINUS, F_NUMERIC_INT2, F_NUMERIC_INT4, F_NUMERIC_INT8};
	Oid			type = exprType(node),
				function = IsA(node, OpExpr) ? ((OpExpr *) node)->opfuncid : IsA(node, FuncExpr) ? ((FuncExpr *) node)->funcid : InvalidOid;
	ListCell   *lc;

	if (type == INT2OID || type == INT4OID || type == INT8OID || (type == NUMERICOID && exprTypmod(node) >= 0))
		return false;
	if (IsA(node, Const) && type == NUMERICOID)
		return ((Const *) node)->constisnull || VARSIZE_ANY(DatumGetPointer(((Const *) node)->constvalue)) > 64;
	for (int i = 0; i < lengthof(functions); i++)
		if (functions[i] == function)
		{
			foreach(lc, IsA(node, OpExpr) ? ((OpExpr *) node)->args : ((FuncExpr *) node)->args)
				if (MayBeHuge(lfirst(lc)))
					return true;
			return false;
		}
	return true;
}

/* True if the aggregate fails for no part of the rows for all of which it does not fail. */
static bool
TakesAnyPart(const Aggref *aggregate)
{
	static const Oid aggregates[] = {F_COUNT_, F_COUNT_ANY, F_SUM_INT2, F_SUM_INT4, F_SUM_INT8, F_AVG_INT2, F_AVG_INT4, F_AVG_INT8,
		F_BIT_AND_INT2, F_BIT_AND_INT4, F_BIT_AND_INT8, F_BIT_OR_INT2, F_BIT_OR_INT4, F_BIT_OR_INT8,
	F_ARRAY_AGG_ANYNONARRAY, F_STRING_AGG_TEXT_TEXT, F_STRING_AGG_BYTEA_BYTEA};
	HeapTuple	row;
	bool		has_order;

	for (int i = 0; i < lengthof(aggregates); i++)
		if (aggregates[i] == aggregate->aggfnoid)
			return true;
	if (aggregate->aggfnoid == F_SUM_NUMERIC || aggregate->aggfnoid == F_AVG_NUMERIC)
		return !MayBeHuge((Node *) linitial_node(TargetEntry, aggregate->args)->expr);
	/* min, max and the like return one of the values */
	row = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	has_order = HeapTupleIsValid(row) && OidIsValid(((Form_pg_aggregate) GETSTRUCT(row))->aggsortop);
	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	return has_order && aggregate->aggfnoid < FirstUnpinnedObjectId;
}

/*
 * What a node computes, as it is to be judged: nothing in it is known, so all functions
 * have columns as arguments.  Aggregates are such columns, too, if the rows that they
 * take are those of a table, not of other groups.
 */
static Node *
AsColumns(Node *node, void *of_rows)
{
	if (node == NULL)
		return NULL;
	if (IsNumericComparison(node))
		return expression_tree_mutator((Node *) ((OpExpr *) node)->args, AsColumns, of_rows);
	if (IsA(node, Var) || IsA(node, Const) || IsA(node, Param) || IsA(node, GroupingFunc) ||
		(IsA(node, Aggref) && of_rows != NULL && TakesAnyPart((Aggref *) node)))
		return (Node *) makeVar(OUTER_VAR, 1, exprType(node), -1, exprCollation(node), 0);
	node = expression_tree_mutator(node, AsColumns, of_rows);
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL)
		((FuncExpr *) node)->args = list_make1(makeVar(OUTER_VAR, 1, INT4OID, -1, InvalidOid, 0));
	return node;
}

static bool
MightFail(Node *expression, bool of_rows)
{
	return contain_leaked_vars(AsColumns(expression, of_rows ? &of_rows : NULL));
}

static bool
IsJoin(const Plan *plan)
{
	return IsA(plan, HashJoin) || IsA(plan, MergeJoin) || IsA(plan, NestLoop);
}

bool
PartOfGroupMightFail(const ParentNode *parent, bool is_first)
{
	Plan	   *plan = parent->plan;
	ListCell   *lc;

	/* their operators are equalities of indexable types, which do not fail; what they compare is computed of each row */
	foreach(lc, MatchClauses(plan))
		if (MightFail((Node *) lfirst_node(OpExpr, lc)->args, false))
			return true;
	/* the rest is computed for rows that match */
	if (parent->is_filtered)
		return false;
	foreach(lc, plan->targetlist)
		if (MightFail((Node *) lfirst_node(TargetEntry, lc)->expr, is_first))
			return true;
	if (MightFail((Node *) plan->qual, is_first) || (IsJoin(plan) && MightFail((Node *) ((Join *) plan)->joinqual, false)))
		return true;
	/* what becomes of the parameters is not looked at */
	return IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;
}
