/*
 * facts.c - what is known of a filter before the query runs.
 *
 * A constant, or a parameter whose value is known, tells all by itself.  The
 * filters of a table's column are those that ANALYZE saw (statistics.c).  Behind
 * the result of a subquery (an InitPlan's parameter, a column of FROM (SELECT ...)
 * or of a CTE) is an expression of its target list: a column again, or
 * bloom_agg(key), which has as many keys as the planner expects groups of that
 * key, and the rate that its arguments ask for.
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pg/base/base.h"
#include "pg/value/estimate.h"
#include "pg/value/value.h"

/* The bits of a key in a filter of which only the rate is known: those of a plan for 1 %. */
#define UNION_PROBES 7

static void
DescribeConstant(const Const *constant, FilterFacts *facts)
{
	if (constant->constisnull)
	{
		facts->nulls = 1;
		return;
	}
	facts->constant = DatumGetFilter(constant->constvalue);
	facts->keys = blx_cardinality(EstimableFilter(facts->constant));
	facts->fpr = blx_fpr(facts->constant);
	facts->chance = fmin(1, facts->keys / DEFAULT_NUM_DISTINCT);
}

/* A column, or another expression, that ANALYZE knows. */
static bool
DescribeColumn(PlannerInfo *root, Node *expr, FilterFacts *facts)
{
	FilterStatistics statistics;

	examine_variable(root, expr, 0, &facts->column);
	if (!GetFilterStatistics(facts->column.statsTuple, &statistics))
		return false;
	facts->keys = statistics.keys;
	facts->fpr = statistics.fpr;
	facts->nulls = ((Form_pg_statistic) GETSTRUCT(facts->column.statsTuple))->stanullfrac;
	if (statistics.shared > 0)
		facts->universe = statistics.keys / statistics.shared;
	/* a key that one filter has, and others by that share */
	facts->chance = fmin(1, statistics.shared + 1 / fmax(1, facts->column.rel ? facts->column.rel->tuples : 1));
	return true;
}

/* The rows that a query's WHERE leaves, before GROUP BY. */
static double
RowsBeforeGrouping(PlannerInfo *root)
{
	RelOptInfo *rel;
	int			only;

	if (bms_get_singleton_member(QUERY_RELIDS(root), &only))
		rel = find_base_rel(root, only);
	else
		rel = find_join_rel(root, QUERY_RELIDS(root));
	return rel ? rel->rows : 1;
}

/* The n-th argument, if it is a constant of that type that is not NULL.  A value is read only by its own type. */
static const Const *
ConstantArgument(const Aggref *aggref, int n, Oid type)
{
	const Const *argument = (const Const *) ((TargetEntry *) list_nth(aggref->args, n))->expr;

	return IsA(argument, Const) && !argument->constisnull && argument->consttype == type ? argument : NULL;
}

/* The rate that the call asks for; one that it will refuse counts as none. */
static double
RateAsked(const Aggref *aggref, OwnFunction which)
{
	const Const *rate = which == BLOOM_AGG_RATE ? ConstantArgument(aggref, 2, FLOAT8OID) : NULL;
	double		fpr = rate ? DatumGetFloat8(rate->constvalue) : DEFAULT_FPR;

	return fpr > 0 && fpr < 1 ? fpr : DEFAULT_FPR;
}

/* The geometry and the capacity of the filter that the call asks for; false if nothing says so, or the call will fail. */
static bool
GeometryAsked(const Aggref *aggref, OwnFunction which, double fpr, blx_geometry *geometry, uint64 *capacity)
{
	const Const *argument;
	const blx_filter *template;
	blx_error	error;

	if (which == BLOOM_AGG_CAPACITY || which == BLOOM_AGG_RATE)
	{
		argument = ConstantArgument(aggref, 1, INT8OID);
		if (argument == NULL || DatumGetInt64(argument->constvalue) < 1)
			return false;
		*capacity = (uint64) DatumGetInt64(argument->constvalue);
		return blx_plan(BLX_PARTITIONED_BLOCKED, *capacity, fpr, NULL, geometry, &error);
	}
	argument = which == BLOOM_AGG_TEMPLATE ? ConstantArgument(aggref, 1, FilterTypeOid()) : NULL;
	if (argument == NULL)
		return false;
	template = DatumGetFilter(argument->constvalue);
	if (template->layout == BLX_HASHES) /* no geometry: the call will refuse it */
		return false;
	*geometry = blx_geometry_of(template);
	*capacity = template->capacity ? template->capacity : BLX_MAX_BYTES;
	return true;
}

/* The rate of bloom_agg with these arguments and that many keys, if they are not more than it was planned for. */
static double
AggregateRate(const Aggref *aggref, OwnFunction which, double keys)
{
	double		fpr = RateAsked(aggref, which);
	uint64		capacity;
	blx_geometry geometry;

	if (!GeometryAsked(aggref, which, fpr, &geometry, &capacity))
		return fpr;
	/* BLX_MAX_BYTES is more keys than any filter has room for, and few enough for a number of 64 bits */
	return blx_fpr_expected(&geometry, Min(capacity, (uint64) fmin(keys, (double) BLX_MAX_BYTES)));
}

/* The only column that an expression mentions, or NULL. */
static Node *
OnlyColumn(Node *expr)
{
	List	   *vars = pull_var_clause(expr, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);

	return list_length(vars) == 1 ? linitial(vars) : NULL;
}

double
DistinctValues(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	bool		is_default;
	double		distinct;

	examine_variable(root, expr, 0, &variable);
	distinct = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	if (!is_default)
		return distinct;
	/* a cast of a column, or another function of it, has about as many values */
	if (!IsA(expr, Var) && OnlyColumn(expr) != NULL)
		return DistinctValues(root, OnlyColumn(expr));
	return 0;
}

/*
 * The rows of each group that an aggregate sees, and the distinct values of
 * expr among them: a value that r rows have is in each of g groups with the
 * chance 1 - (1 - 1/g)^r.
 */
static void
EstimateGroup(PlannerInfo *root, const Aggref *aggref, Node *expr, double *rows, double *values)
{
	List	   *grouping = get_sortgrouplist_exprs(root->parse->groupClause, root->parse->targetList);
	double		groups = 1;

	*rows = RowsBeforeGrouping(root);
	if (grouping != NIL)
		groups = estimate_num_groups(root, grouping, *rows, NULL, NULL);
	if (aggref->aggfilter != NULL)
		*rows = fmax(1, *rows * clause_selectivity(root, (Node *) aggref->aggfilter, 0, JOIN_INNER, NULL));
	*values = *rows;
	if (DistinctValues(root, expr) > 0)
		*values = estimate_num_groups(root, list_make1(expr), *rows, NULL, NULL);
	*values *= 1 - pow(1 - 1 / groups, *rows / *values);
	*rows = fmax(1, *rows / groups);
}

/* The union of n such filters: a key that one has is in each other with the same chance. */
static void
UniteFacts(FilterFacts *facts, double n)
{
	double		chance = fmin(fmax(facts->chance, 1e-9), 1 - 1e-9);
	double		growth = -expm1(n * log1p(-chance)) / chance;
	double		fill = pow(facts->fpr, 1.0 / UNION_PROBES);

	facts->keys *= growth;
	facts->fpr = pow(1 - pow(1 - fill, growth), UNION_PROBES);
	facts->chance *= growth;
}

static bool
DescribeAggregate(PlannerInfo *root, const Aggref *aggref, FilterFacts *facts)
{
	OwnFunction which = WhichFunction(aggref->aggfnoid);
	Node	   *argument;
	double		rows,
				values;

	if (which < BLOOM_AGG || which > BLOOM_UNION_AGG || aggref->args == NIL || root->parse->groupingSets != NIL)
		return false;
	argument = (Node *) ((TargetEntry *) linitial(aggref->args))->expr;
	EstimateGroup(root, aggref, argument, &rows, &values);
	if (which == BLOOM_UNION_AGG)
	{
		if (!DescribeFilter(root, argument, facts))
			return false;
		UniteFacts(facts, rows);
		facts->source = NULL;
		return true;
	}
	facts->keys = values;
	facts->universe = DistinctValues(root, argument);
	facts->fpr = AggregateRate(aggref, which, values);
	facts->chance = fmin(1, facts->keys / fmax(facts->universe, DEFAULT_NUM_DISTINCT));
	if (root->parse->groupClause == NIL)
	{
		facts->aggregate = aggref;
		facts->source = root;
	}
	return true;
}

/* What a planned subquery gives as its n-th column, n counted from 1. */
static bool
DescribeOutput(PlannerInfo *subroot, int n, FilterFacts *facts)
{
	TargetEntry *target;

	if (subroot == NULL || subroot->parse->setOperations != NULL)
		return false;
	target = get_tle_by_resno(subroot->parse->targetList, n);
	return target != NULL && DescribeFilter(subroot, (Node *) target->expr, facts);
}

static PlannerInfo *
SubplanRoot(PlannerInfo *root, int plan_id)
{
	return list_nth(root->glob->subroots, plan_id - 1);
}

PlannerInfo *
InitPlanRoot(PlannerInfo *root, const Param *param, int *column)
{
	ListCell   *cell,
			   *set;

	if (param->paramkind != PARAM_EXEC)
		return NULL;
	for (; root != NULL; root = root->parent_root)
		foreach(cell, root->init_plans)
		{
			SubPlan    *plan = lfirst(cell);

			*column = 0;
			foreach(set, plan->setParam)
			{
				++*column;
				if (lfirst_int(set) == param->paramid)
					return SubplanRoot(root, plan->plan_id);
			}
		}
	return NULL;
}

/* The column of an InitPlan, or of an outer query's row, that a parameter stands for. */
static bool
DescribeParam(PlannerInfo *root, const Param *param, FilterFacts *facts)
{
	int			column;
	PlannerInfo *source = InitPlanRoot(root, param, &column);
	ListCell   *cell;

	if (source != NULL)
		return DescribeOutput(source, column, facts);
	if (param->paramkind != PARAM_EXEC)
		return false;
	for (PlannerInfo *outer = root->parent_root; outer != NULL; outer = outer->parent_root)
		foreach(cell, outer->plan_params)
		{
			PlannerParamItem *item = lfirst(cell);

			if (item->paramId == param->paramid)
				return DescribeFilter(outer, item->item, facts);
		}
	return false;
}

PlannerInfo *
CteRoot(PlannerInfo *root, const RangeTblEntry *rte)
{
	int			n = 0;
	ListCell   *cell;

	if (rte->self_reference)
		return NULL;
	for (Index up = rte->ctelevelsup; up > 0 && root != NULL; up--)
		root = root->parent_root;
	if (root == NULL)
		return NULL;
	foreach(cell, root->parse->cteList)
	{
		if (strcmp(((CommonTableExpr *) lfirst(cell))->ctename, rte->ctename) == 0)
			break;
		n++;
	}
	if (n >= list_length(root->cte_plan_ids) || list_nth_int(root->cte_plan_ids, n) <= 0)
		return NULL;
	return SubplanRoot(root, list_nth_int(root->cte_plan_ids, n));
}

static bool
DescribeVar(PlannerInfo *root, Var *var, FilterFacts *facts)
{
	RangeTblEntry *rte;

	if (var->varlevelsup > 0 || var->varno <= 0 || var->varno >= root->simple_rel_array_size)
		return false;
	rte = root->simple_rte_array[var->varno];
	if (rte == NULL || root->simple_rel_array[var->varno] == NULL)
		return false;
	if (rte->rtekind == RTE_SUBQUERY && !rte->inh)
		return DescribeOutput(find_base_rel(root, var->varno)->subroot, var->varattno, facts);
	if (rte->rtekind == RTE_CTE)
		return DescribeOutput(CteRoot(root, rte), var->varattno, facts);
	return DescribeColumn(root, (Node *) var, facts);
}

static bool
Describe(PlannerInfo *root, Node *filter, FilterFacts *facts)
{
	while (IsA(filter, RelabelType))	/* a domain over bloomfilter */
		filter = (Node *) ((RelabelType *) filter)->arg;
	if (!IsFilterType(exprType(filter)))
		return false;
	switch (nodeTag(filter))
	{
		case T_Const:
			DescribeConstant((Const *) filter, facts);
			return true;
		case T_Param:
			return DescribeParam(root, (Param *) filter, facts);
		case T_SubPlan:
			return DescribeOutput(SubplanRoot(root, ((SubPlan *) filter)->plan_id), 1, facts);
		case T_Aggref:
			return DescribeAggregate(root, (Aggref *) filter, facts);
		case T_Var:
			return DescribeVar(root, (Var *) filter, facts);
		case T_PlaceHolderVar:
			return Describe(root, (Node *) ((PlaceHolderVar *) filter)->phexpr, facts);
		default:
			return DescribeColumn(root, filter, facts);
	}
}

bool
DescribeFilter(PlannerInfo *root, Node *filter, FilterFacts *facts)
{
	memset(facts, 0, sizeof *facts);
	return Describe(root, estimate_expression_value(root, filter), facts);
}

double
FilterColumnBytes(PlannerInfo *root, Node *filter)
{
	VariableStatData column;
	FilterStatistics statistics = {0};

	if (root == NULL)
		return 0;
	examine_variable(root, filter, 0, &column);
	(void) GetFilterStatistics(column.statsTuple, &statistics);
	ReleaseVariableStats(column);
	return statistics.bytes;
}
