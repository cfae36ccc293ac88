/*
 * planner.c - what the planner may know about membership.
 *
 * Selectivity of `column <@ constant filter`: the filter's estimated number of
 * keys over the column's number of distinct values, plus the false positive
 * rate for the rest.  Any other filter (a parameter, a subquery, a column) is
 * not known at plan time: a default, UNKNOWN_SELECTIVITY.
 */
#include "bloomx.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/* Nobody filters to keep most rows. */
#define UNKNOWN_SELECTIVITY 0.01

/* Of a probe, in units of cpu_operator_cost: a hash and a cache line or two. */
#define PROBE_COST 2

/* Of a probe of a filter that differs from row to row: it must be fetched, likely from TOAST. */
#define FETCH_COST 20

static double
ConstantFilterSelectivity(PlannerInfo *root, const blx_filter *f, Node *key, int rel)
{
	double		keys = blx_cardinality(EstimableFilter(f));
	VariableStatData column;
	bool		is_default;
	double		distinct,
				nulls = 0,
				found;

	examine_variable(root, key, rel, &column);
	distinct = get_variable_numdistinct(&column, &is_default);
	if (HeapTupleIsValid(column.statsTuple))
		nulls = ((Form_pg_statistic) GETSTRUCT(column.statsTuple))->stanullfrac;
	ReleaseVariableStats(column);

	found = fmin(1, keys / distinct);
	return (1 - nulls) * (found + (1 - found) * blx_fpr(f));
}

/* Which of two arguments is the filter?  -1: the other is not a single key (an array, a hash). */
static int
FilterPosition(Oid function)
{
	Oid		   *types;
	int			n;

	get_func_signature(function, &types, &n);
	if (n == 2 && types[1] == ANYCOMPATIBLEOID)
		return 0;
	if (n == 2 && types[0] == ANYCOMPATIBLEOID)
		return 1;
	return -1;
}

static double
MembershipSelectivity(PlannerInfo *root, Oid function, List *args, int rel)
{
	int			position = FilterPosition(function);
	Node	   *filter;

	if (position < 0)
		return UNKNOWN_SELECTIVITY;
	filter = estimate_expression_value(root, list_nth(args, position));
	if (!IsA(filter, Const))
		return UNKNOWN_SELECTIVITY;
	if (((Const *) filter)->constisnull)
		return 0;
	return ConstantFilterSelectivity(root, DatumGetFilter(((Const *) filter)->constvalue),
									 list_nth(args, 1 - position), rel);
}

/* RESTRICT of f @> v and v <@ f */
PG_FUNCTION_INFO_V1(bloom_contains_sel);
Datum
bloom_contains_sel(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			operator = PG_GETARG_OID(1);
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			rel = PG_GETARG_INT32(3);

	PG_RETURN_FLOAT8(MembershipSelectivity(root, get_opcode(operator), args, rel));
}

/* JOIN of the same: keys of one table against filters of another */
PG_FUNCTION_INFO_V1(bloom_contains_joinsel);
Datum
bloom_contains_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(UNKNOWN_SELECTIVITY);
}

/* Does the filter of this call come from a table's row? */
static bool
FilterIsColumn(Oid function, Node *call)
{
	List	   *args = NIL;

	if (call != NULL && IsA(call, OpExpr))
		args = ((OpExpr *) call)->args;
	else if (call != NULL && IsA(call, FuncExpr))
		args = ((FuncExpr *) call)->args;
	return args != NIL && IsA(list_nth(args, Max(FilterPosition(function), 0)), Var);
}

/* The support function of the membership functions, and so of their operators. */
PG_FUNCTION_INFO_V1(bloom_contains_support);
Datum
bloom_contains_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSelectivity))
	{
		SupportRequestSelectivity *r = (SupportRequestSelectivity *) request;

		if (r->is_join)
			r->selectivity = UNKNOWN_SELECTIVITY;
		else
			r->selectivity = MembershipSelectivity(r->root, r->funcid, r->args, r->varRelid);
		PG_RETURN_POINTER(r);
	}
	if (IsA(request, SupportRequestCost))
	{
		SupportRequestCost *r = (SupportRequestCost *) request;

		r->startup = 0;
		r->per_tuple = (PROBE_COST + (FilterIsColumn(r->funcid, r->node) ? FETCH_COST : 0)) * cpu_operator_cost;
		PG_RETURN_POINTER(r);
	}
	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(IndexCondition((SupportRequestIndexCondition *) request));
	PG_RETURN_POINTER(NULL);
}
