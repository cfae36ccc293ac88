/*
 * recheck.c - `column = ANY ($1)` is rechecked by hashing.
 *
 * What a scan returns is rechecked if the bitmap has become too large for work_mem, or
 * if the scan has not looked at the rows (condition/elements.c).  The executor hashes
 * an array of constants, but searches a parameter from its beginning for each row.  So
 * when an execution starts, the conditions that it would recheck are compiled once more,
 * with the parameter's value as a constant.  The plan stays as it is.
 */
#include "pg/index/bloomx/bloomx.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static ExecutorStart_hook_type next_start;

typedef struct Walk
{
	Bitmapset  *seen;			/* numbers of nodes: those of a subplan are reached from each expression that has it, in each partition, say */
	Const	  **values;			/* of parameters, once for all conditions; NULL: not known */
} Walk;

/* The value of a parameter, which lives as long as the execution; NULL if it is not a long array. */
static Const *
ValueOf(const Param *param, const EState *estate, Walk *walk)
{
	ParamListInfo params = estate->es_param_list_info;
	ParamExternData room;
	const ParamExternData *value;
	ArrayType  *array;

	if (!IsA(param, Param) || param->paramkind != PARAM_EXTERN || params == NULL || param->paramid > params->numParams)
		return NULL;
	if (walk->values[param->paramid - 1] != NULL)
		return walk->values[param->paramid - 1];
	value = params->paramFetch != NULL ? params->paramFetch(params, param->paramid, true, &room) : &params->params[param->paramid - 1];
	if (value->isnull || value->ptype != param->paramtype)
		return NULL;
	array = DatumGetArrayTypePCopy(value->value);
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) < LONG_ARRAY)
		return NULL;
	return walk->values[param->paramid - 1] = makeConst(param->paramtype, -1, param->paramcollid, -1, PointerGetDatum(array), false, false);
}

/* The condition with the value of its parameter, to be hashed, or as it is. */
static Node *
Hashed(Node *node, const EState *estate, Walk *walk)
{
	ScalarArrayOpExpr *condition = (ScalarArrayOpExpr *) node,
			   *hashed;
	RegProcedure left,
				right;
	Const	   *value;

	if (!IsA(node, ScalarArrayOpExpr) || !condition->useOr || !op_hashjoinable(condition->opno, exprType(linitial(condition->args))) ||
		!get_op_hash_functions(condition->opno, &left, &right) || left != right ||	/* the executor has one for both sides */
		(value = ValueOf(lsecond(condition->args), estate, walk)) == NULL)
		return node;
	hashed = makeNode(ScalarArrayOpExpr);
	*hashed = *condition;
	hashed->hashfuncid = left;
	hashed->args = list_make2(linitial(condition->args), value);
	return (Node *) hashed;
}

static bool
HasIndexOfOurs(PlanState *ps, void *arg)
{
	Relation	index = IsA(ps, BitmapIndexScanState) ? ((BitmapIndexScanState *) ps)->biss_RelationDesc : NULL;

	return (index != NULL && index->rd_indam->amgetbitmap == bloomxgetbitmap) || planstate_tree_walker(ps, HasIndexOfOurs, arg);
}

static bool
HashArrays(PlanState *ps, void *arg)
{
	Walk	   *walk = arg;

	check_stack_depth();
	if (bms_is_member(ps->plan->plan_node_id, walk->seen))
		return false;
	walk->seen = bms_add_member(walk->seen, ps->plan->plan_node_id);
	if (IsA(ps, BitmapHeapScanState) && HasIndexOfOurs(outerPlanState(ps), NULL))
	{
		BitmapHeapScanState *scan = (BitmapHeapScanState *) ps;
		List	   *conditions = NIL;
		bool		any = false;
		ListCell   *lc;

		foreach(lc, ((BitmapHeapScan *) ps->plan)->bitmapqualorig)
		{
			conditions = lappend(conditions, Hashed(lfirst(lc), ps->state, walk));
			any |= llast(conditions) != lfirst(lc);
		}
		if (any)
			scan->bitmapqualorig = ExecInitQual(conditions, ps);
	}
	return planstate_tree_walker(ps, HashArrays, walk);
}

static void
StartHook(QueryDesc *query, int eflags)
{
	MemoryContext old;
	Walk		walk = {.values = NULL};

	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (query->params == NULL || query->planstate == NULL || eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	walk.values = palloc0(query->params->numParams * sizeof(Const *));
	(void) HashArrays(query->planstate, &walk);
	MemoryContextSwitchTo(old);
}

void
BloomxInitRechecks(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
}
