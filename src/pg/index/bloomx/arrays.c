/*
 * arrays.c - `column = ANY (array)` is rechecked by hashing, if the array is a
 * parameter.
 *
 * An index of values returns blocks of the table, whose rows the executor checks
 * again.  It looks an array of constants up by hashing, but searches every other
 * one from its beginning for each row: of 10,000 keys the recheck took a thousand
 * times as long as the rest.  The executor can hash other arrays that are the same for
 * the whole execution, too; only the planner does not ask for it.  So before a plan is
 * executed, the conditions of its bitmap scans by such an index are marked as the
 * planner marks those with constants.
 *
 * An array is the same throughout if it is made of parameters from outside and of
 * results of subqueries that depend on nothing.  The executor must not hash an array
 * that is NULL; but then the index has returned no row, as the condition is one of
 * those that are ANDed.  Nor does it copy elements: those of an array that is no constant
 * must be passed by value, because the array is gone when the next row is evaluated.
 */
#include "pg/index/bloomx/bloomx.h"

#include "access/genam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/index/bloomx/build/build.h"

static ExecutorStart_hook_type next_start;

/* What is found in a plan. */
typedef struct PlanArrays
{
	const PlannedStmt *statement;
	Bitmapset  *same;			/* parameters that are set once in an execution */
	List	   *conditions;		/* that may be marked */
} PlanArrays;

/* True if the expression may differ between rows, or between two scans of an execution. */
static bool
MayDiffer(Node *node, PlanArrays *arrays)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN &&
			(((Param *) node)->paramkind != PARAM_EXEC || !bms_is_member(((Param *) node)->paramid, arrays->same));
	if (IsA(node, Var) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, MayDiffer, (void *) arrays);
}

/* The executor has one function for both sides. */
Oid
BloomxHashOfElements(ScalarArrayOpExpr *condition)
{
	Node	   *array = lsecond(condition->args);
	RegProcedure left,
				right;

	if (!IsA(array, Const) && !get_typbyval(get_base_element_type(exprType(array))))
		return InvalidOid;
	return op_hashjoinable(condition->opno, exprType(linitial(condition->args))) &&
		get_op_hash_functions(condition->opno, &left, &right) && left == right ? left : InvalidOid;
}

/* True if a part of a bitmap is made by an index of this access method. */
static bool
IsByOurs(Plan *plan)
{
	List	   *parts = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(plan, BitmapIndexScan))
	{
		Relation	index = index_open(((BitmapIndexScan *) plan)->indexid, AccessShareLock);
		bool		ours = index->rd_indam->aminsert == bloomxinsert;

		index_close(index, NoLock);
		return ours;
	}
	if (IsA(plan, BitmapAnd))
		parts = ((BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
		parts = ((BitmapOr *) plan)->bitmapplans;
	foreach(lc, parts)
		if (IsByOurs(lfirst(lc)))
			return true;
	return false;
}

static void
FindConditions(BitmapHeapScan *scan, PlanArrays *arrays)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, scan->bitmapqualorig)
	{
		ScalarArrayOpExpr *condition = lfirst(lc);

		if (IsA(condition, ScalarArrayOpExpr) && condition->useOr && !OidIsValid(condition->hashfuncid) &&
			!IsA(lsecond(condition->args), Const))
			found = lappend(found, condition);
	}
	if (found != NIL && IsByOurs(outerPlan(scan)))
		arrays->conditions = list_concat(arrays->conditions, found);
}

static void
WalkPlan(Plan *plan, PlanArrays *arrays)
{
	List	   *parts = NIL;
	ListCell   *lc,
			   *param;

	if (plan == NULL)
		return;
	check_stack_depth();
	foreach(lc, plan->initPlan)
	{
		const SubPlan *subplan = lfirst_node(SubPlan, lc);
		const Plan *of_subplan = list_nth(arrays->statement->subplans, subplan->plan_id - 1);

		foreach(param, subplan->setParam)
			if (of_subplan != NULL && bms_is_empty(of_subplan->extParam))	/* a worker has not all of them */
				arrays->same = bms_add_member(arrays->same, lfirst_int(param));
	}
	switch (nodeTag(plan))
	{
		case T_BitmapHeapScan:
			FindConditions((BitmapHeapScan *) plan, arrays);
			return;
		case T_Append:
			parts = ((Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			parts = ((MergeAppend *) plan)->mergeplans;
			break;
		case T_CustomScan:
			parts = ((CustomScan *) plan)->custom_plans;
			break;
		case T_SubqueryScan:
			WalkPlan(((SubqueryScan *) plan)->subplan, arrays);
			break;
		default:
			break;
	}
	WalkPlan(outerPlan(plan), arrays);
	WalkPlan(innerPlan(plan), arrays);
	foreach(lc, parts)
		WalkPlan(lfirst(lc), arrays);
}

static void
StartHook(QueryDesc *query, int eflags)
{
	PlanArrays	arrays = {.statement = query->plannedstmt};
	ListCell   *lc;

	WalkPlan(arrays.statement->planTree, &arrays);
	foreach(lc, arrays.statement->subplans)
		WalkPlan(lfirst(lc), &arrays);
	/* the plan may be a cached one: it stays right, as nothing but the plan decides */
	foreach(lc, arrays.conditions)
	{
		ScalarArrayOpExpr *condition = lfirst(lc);

		if (!MayDiffer(lsecond(condition->args), &arrays) && !contain_volatile_functions(lsecond(condition->args)))
			condition->hashfuncid = BloomxHashOfElements(condition);
	}
	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

void
BloomxInitArrays(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
}
