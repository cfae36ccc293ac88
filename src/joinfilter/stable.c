/*
 * stable.c - what a plan yields, each time that it runs.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "joinfilter/stable.h"

Var *
PlainColumn(Node *expression)
{
	while (IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return IsA(expression, Var) ? (Var *) expression : NULL;
}

bool
ScansTable(PlanState *ps)
{
	switch (nodeTag(ps))
	{
		case T_SeqScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidRangeScanState:
			return true;
		case T_ForeignScanState:
			/* a join of foreign tables has no table of its own */
			return ((Scan *) ps->plan)->scanrelid > 0;
		default:
			return false;
	}
}

static bool
FunctionIsVolatile(Oid function, void *context)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE;
}

/* As contain_volatile_functions and contain_subplans, in one walk: a query that is soon done feels each. */
static bool
IsVolatileNode(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var))
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, NextValueExpr) ||
		check_functions_in_node(node, FunctionIsVolatile, NULL))
		return true;
	return expression_tree_walker(node, IsVolatileNode, context);
}

bool
IsVolatile(Node *expression)
{
	return IsVolatileNode(expression, NULL);
}

static bool
IsParameter(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return (IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN) ||
		expression_tree_walker(node, IsParameter, context);
}

bool
HasParameter(Node *expression)
{
	return IsParameter(expression, NULL);
}

/* The expressions of a node that are not in its target list or its qual.  False if the node is of no known kind. */
static bool
OtherExpressions(Plan *plan, List **expressions)
{
	*expressions = NIL;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_BitmapAnd:
		case T_BitmapOr:
		case T_SubqueryScan:
		case T_Append:
		case T_MergeAppend:
		case T_Sort:
		case T_IncrementalSort:
		case T_Material:
		case T_Unique:
		case T_Agg:
		case T_Group:
			return true;
		case T_Hash:
			*expressions = ((Hash *) plan)->hashkeys;
			return true;
		case T_Result:
			*expressions = (List *) ((Result *) plan)->resconstantqual;
			return true;
		case T_IndexScan:
			*expressions = ((IndexScan *) plan)->indexqual;
			return true;
		case T_IndexOnlyScan:
			*expressions = ((IndexOnlyScan *) plan)->indexqual;
			return true;
		case T_BitmapIndexScan:
			*expressions = ((BitmapIndexScan *) plan)->indexqual;
			return true;
		case T_BitmapHeapScan:
			*expressions = ((BitmapHeapScan *) plan)->bitmapqualorig;
			return true;
		case T_ValuesScan:
			*expressions = ((ValuesScan *) plan)->values_lists;
			return true;
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			/* clauses that a join sorts by are never volatile, those that it hashes by may have subplans: see Hash */
			*expressions = ((Join *) plan)->joinqual;
			return true;
		default:
			return false;
	}
}

static bool
IsUnstable(PlanState *ps, void *context)
{
	List	   *expressions;

	if (!OtherExpressions(ps->plan, &expressions) || IsVolatile((Node *) expressions) ||
		IsVolatile((Node *) ps->plan->targetlist) || IsVolatile((Node *) ps->plan->qual))
		return true;
	return planstate_tree_walker(ps, IsUnstable, context);
}

bool
PlanIsStable(PlanState *ps)
{
	return !IsUnstable(ps, NULL);
}
