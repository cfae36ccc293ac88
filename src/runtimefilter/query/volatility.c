/*
 * volatility.c - what a plan yields, each time that it runs.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "runtimefilter/query/registry.h"
#include "runtimefilter/query/volatility.h"

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

List *
MatchClauses(const Plan *plan)
{
	return IsA(plan, HashJoin) ? ((HashJoin *) plan)->hashclauses : IsA(plan, MergeJoin) ? ((MergeJoin *) plan)->mergeclauses : NIL;
}

static bool
FunctionIsVolatile(Oid function, void *context)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE;
}

/*
 * As contain_volatile_functions and contain_subplans, in one walk: a query that is soon done feels each.
 * Aggregates are immutable in the catalog, whatever functions users have made them of.
 */
static bool
IsVolatileNode(Node *node, void *but_subplans)
{
	if (node == NULL || IsA(node, Var))
		return false;
	if ((IsA(node, SubPlan) && but_subplans == NULL) || IsA(node, AlternativeSubPlan) || IsA(node, NextValueExpr) ||
		(IsA(node, Aggref) && ((Aggref *) node)->aggfnoid >= FirstUnpinnedObjectId) ||
		check_functions_in_node(node, FunctionIsVolatile, NULL))
		return true;
	return expression_tree_walker(node, IsVolatileNode, but_subplans);
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

/* What is known of a node, apart from its expressions. */
typedef enum NodeClass
{
	UNKNOWN_NODE,				/* also one that changes or locks rows */
	ANY_ROWS,
	SAME_ROWS					/* each time, if its inputs yield the same */
} NodeClass;

/* Also finds the expressions that are not in its target list or its qual. */
static NodeClass
ClassOfNode(Plan *plan, List **expressions)
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
			return SAME_ROWS;
		case T_Hash:
			*expressions = ((Hash *) plan)->hashkeys;
			return SAME_ROWS;
		case T_Result:
			*expressions = (List *) ((Result *) plan)->resconstantqual;
			return SAME_ROWS;
		case T_IndexScan:
			*expressions = ((IndexScan *) plan)->indexqual;
			return SAME_ROWS;
		case T_IndexOnlyScan:
			*expressions = ((IndexOnlyScan *) plan)->indexqual;
			return SAME_ROWS;
		case T_BitmapIndexScan:
			*expressions = ((BitmapIndexScan *) plan)->indexqual;
			return SAME_ROWS;
		case T_BitmapHeapScan:
			*expressions = ((BitmapHeapScan *) plan)->bitmapqualorig;
			return SAME_ROWS;
		case T_ValuesScan:
			*expressions = ((ValuesScan *) plan)->values_lists;
			return SAME_ROWS;
		case T_NestLoop:
			*expressions = ((Join *) plan)->joinqual;
			return SAME_ROWS;
		case T_MergeJoin:
			*expressions = list_make2(((Join *) plan)->joinqual, ((MergeJoin *) plan)->mergeclauses);
			return SAME_ROWS;
		case T_HashJoin:
			/* the planner does not look for what is volatile in subplans */
			*expressions = list_make2(((Join *) plan)->joinqual, ((HashJoin *) plan)->hashclauses);
			return SAME_ROWS;
		case T_ProjectSet:
		case T_SetOp:
		case T_RecursiveUnion:
		case T_WorkTableScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_Gather:
		case T_GatherMerge:
			return ANY_ROWS;
		case T_Limit:
			*expressions = list_make2(((Limit *) plan)->limitOffset, ((Limit *) plan)->limitCount);
			return ANY_ROWS;
		case T_WindowAgg:
			*expressions = list_make2(((WindowAgg *) plan)->startOffset, ((WindowAgg *) plan)->endOffset);
			return ANY_ROWS;
		case T_Memoize:
			*expressions = ((Memoize *) plan)->param_exprs;
			return ANY_ROWS;
		case T_FunctionScan:
			*expressions = ((FunctionScan *) plan)->functions;
			return ANY_ROWS;
		case T_TableFuncScan:
			*expressions = (List *) ((TableFuncScan *) plan)->tablefunc;
			return ANY_ROWS;
		case T_TidScan:
			*expressions = ((TidScan *) plan)->tidquals;
			return ANY_ROWS;
		case T_TidRangeScan:
			*expressions = ((TidRangeScan *) plan)->tidrangequals;
			return ANY_ROWS;
		case T_SampleScan:
			*expressions = (List *) ((SampleScan *) plan)->tablesample;
			return ANY_ROWS;
		case T_ForeignScan:
			*expressions = ((ForeignScan *) plan)->fdw_exprs;
			return ((ForeignScan *) plan)->operation == CMD_SELECT ? ANY_ROWS : UNKNOWN_NODE;
		default:
			return UNKNOWN_NODE;
	}
}

/* True if the node keeps the rows that it gets, or the functions' results, until a parameter changes. */
static bool
KeepsRows(PlanState *ps)
{
	return IsA(ps, CteScanState) || IsA(ps, FunctionScanState) ||
		(IsA(ps, MaterialState) && (((MaterialState *) ps)->eflags & EXEC_FLAG_REWIND) != 0);
}

static bool
IsUnstable(PlanState *ps, void *context)
{
	List	   *expressions;

	if (KeepsRows(ps))
		return IsVolatile((Node *) ps->plan->targetlist) || IsVolatile((Node *) ps->plan->qual);
	if (ClassOfNode(ps->plan, &expressions) != SAME_ROWS || IsVolatile((Node *) expressions) ||
		IsVolatile((Node *) ps->plan->targetlist) || IsVolatile((Node *) ps->plan->qual))
		return true;
	return planstate_tree_walker(ps, IsUnstable, context);
}

bool
PlanIsStable(PlanState *ps)
{
	return !IsUnstable(ps, NULL);
}

static bool
HasSideEffect(PlanState *ps, void *context)
{
	List	   *expressions;
	bool		but_subplans = true;

	/* subplans are visited as well */
	return ClassOfNode(ps->plan, &expressions) == UNKNOWN_NODE || IsVolatileNode((Node *) expressions, &but_subplans) ||
		IsVolatileNode((Node *) ps->plan->targetlist, &but_subplans) || IsVolatileNode((Node *) ps->plan->qual, &but_subplans);
}

bool
PlanHasNoSideEffect(PlanState *ps)
{
	return !VisitPlan(ps, HasSideEffect, NULL);
}
