/*
 * facts.c - what is known of a filter before the query runs.
 *
 * A constant, or a parameter whose value is known, tells everything.  Of a table's
 * column there are the statistics of ANALYZE (statistics.c).  Behind the result of
 * a subquery (the parameter of an InitPlan, a column of FROM (SELECT ...) or of a
 * CTE) there is an expression of its target list: a column again, or
 * bloom_agg(key).  The latter has as many keys as the planner expects groups of
 * that key, and the rate that its arguments ask for.
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"

#include "pg/base/base.h"
#include "pg/value/value.h"

/*
 * Bits per key of a filter if only its rate is known: -log2 of the default
 * rate of 1 %, rounded.  It decides only how fast the rate of a union rises with
 * the number of filters.
 */
#define UNION_BITS_PER_KEY 7

bool
TablesAreKnown(PlannerInfo *root, Node *expr)
{
	Relids		relations;
	int			i = -1;

	if (root == NULL || root->simple_rel_array == NULL)
		return false;
	relations = pull_varnos(root, expr);
	while ((i = bms_next_member(relations, i)) >= 0)
		/* outer joins have numbers, too, since version 16 */
		if (i >= root->simple_rel_array_size ||
			(root->simple_rel_array[i] == NULL && (root->simple_rte_array[i] == NULL || root->simple_rte_array[i]->rtekind != RTE_JOIN)))
			return false;
	return true;
}

static void
FactsOfConstant(const Const *constant, FilterFacts *facts)
{
	if (constant->constisnull)
	{
		facts->nulls = 1;
		return;
	}
	facts->constant = DatumGetFilter(constant->constvalue);
	facts->keys = blx_cardinality(facts->constant);
	facts->fpr = blx_fpr(facts->constant);
	facts->chance = fmin(1, facts->keys / DEFAULT_NUM_DISTINCT);
}

/* A column, or another expression, that ANALYZE knows. */
static bool
FactsOfColumn(PlannerInfo *root, Node *expr, FilterFacts *facts)
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
	/* an arbitrary key is thought to be in one filter, and in each other with the probability `shared` */
	facts->chance = fmin(1, statistics.shared + 1 / fmax(1, facts->column.rel ? facts->column.rel->tuples : 1));
	return true;
}

/* The rows that WHERE leaves of a query, before GROUP BY. */
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

/* The n-th argument, if it is a constant of that type and not NULL; otherwise NULL.  A value is read only as its own type. */
static const Const *
ConstantArgument(const Aggref *aggref, int n, Oid type)
{
	const Const *argument = (const Const *) ((TargetEntry *) list_nth(aggref->args, n))->expr;

	return IsA(argument, Const) && !argument->constisnull && argument->consttype == type ? argument : NULL;
}

/* The rate that the call asks for.  An invalid rate, which the call will refuse, counts as the default. */
static double
RateAsked(const Aggref *aggref, OwnFunction which)
{
	const Const *rate = which == BLOOM_AGG_RATE ? ConstantArgument(aggref, 2, FLOAT8OID) : NULL;
	double		fpr = rate ? DatumGetFloat8(rate->constvalue) : BLX_DEFAULT_FPR;

	return fpr > 0 && fpr < 1 ? fpr : BLX_DEFAULT_FPR;
}

/* The geometry and the capacity that the call asks for.  False if its arguments do not tell, or if it will fail. */
static bool
GeometryAsked(const Aggref *aggref, OwnFunction which, double fpr, blx_geometry *geometry, uint64 *capacity)
{
	const Const *argument;
	const blx_filter *template;

	if (which == BLOOM_AGG_CAPACITY || which == BLOOM_AGG_RATE)
	{
		argument = ConstantArgument(aggref, 1, INT8OID);
		if (argument == NULL || DatumGetInt64(argument->constvalue) < 1)
			return false;
		*capacity = (uint64) DatumGetInt64(argument->constvalue);
		return blx_plan(BLX_PARTITIONED_BLOCKED, *capacity, fpr, NULL, geometry, NULL);
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

/* The rate of a bloom_agg of `keys` keys; beyond the planned capacity, the rate at the capacity. */
static double
AggregateRate(const Aggref *aggref, OwnFunction which, double keys)
{
	double		fpr = RateAsked(aggref, which);
	uint64		capacity;
	blx_geometry geometry;

	if (!GeometryAsked(aggref, which, fpr, &geometry, &capacity))
		return fpr;
	/* no filter has room for BLX_MAX_BYTES keys, and the number fits 64 bits, which `keys` may not */
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
EstimateDistinctValues(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	bool		is_default;
	double		distinct;

	examine_variable(root, expr, 0, &variable);
	distinct = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	if (!is_default)
		return distinct;
	/* a cast or another function of one column has about as many values as the column */
	if (!IsA(expr, Var) && OnlyColumn(expr) != NULL)
		return EstimateDistinctValues(root, OnlyColumn(expr));
	return 0;
}

/*
 * The rows per group that an aggregate sees, and the distinct values of expr
 * among them.  A value in r rows is in each of g groups with the probability
 * 1 - (1 - 1/g)^r.
 */
static void
EstimateGroup(PlannerInfo *root, const Aggref *aggref, Node *expr, double *rows, double *values)
{
	List	   *grouping = get_sortgrouplist_exprs(root->parse->groupClause, root->parse->targetList);
	double		groups = 1;

	/* the groups, and the rows and values of all of them together */
	*rows = RowsBeforeGrouping(root);
	if (grouping != NIL)
		groups = estimate_num_groups(root, grouping, *rows, NULL, NULL);
	if (aggref->aggfilter != NULL)
		*rows = fmax(1, *rows * clause_selectivity(root, (Node *) aggref->aggfilter, 0, JOIN_INNER, NULL));
	*values = *rows;
	if (EstimateDistinctValues(root, expr) > 0)
		*values = estimate_num_groups(root, list_make1(expr), *rows, NULL, NULL);

	/* what one group gets of them */
	*values *= 1 - pow(1 - 1 / groups, *rows / *values);
	*rows = fmax(1, *rows / groups);
}

/*
 * Facts of the union of n such filters.  A key of one filter is in each other one
 * with the probability `chance`, so the union has `growth` times the keys of one.
 * Every bit stays unset with the power `growth` of its probability.
 */
static void
UniteFacts(FilterFacts *facts, double n)
{
	double		chance = fmin(fmax(facts->chance, 1e-9), 1 - 1e-9);
	double		growth = -expm1(n * log1p(-chance)) / chance;
	double		fill = pow(facts->fpr, 1.0 / UNION_BITS_PER_KEY);

	facts->keys *= growth;
	facts->fpr = pow(1 - pow(1 - fill, growth), UNION_BITS_PER_KEY);
	facts->chance *= growth;
}

static bool
FactsOfAggregate(PlannerInfo *root, const Aggref *aggref, FilterFacts *facts)
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
		if (!GatherFilterFacts(root, argument, facts))
			return false;
		UniteFacts(facts, rows);
		return true;
	}
	facts->keys = values;
	facts->universe = EstimateDistinctValues(root, argument);
	facts->fpr = AggregateRate(aggref, which, values);
	facts->chance = fmin(1, facts->keys / fmax(facts->universe, DEFAULT_NUM_DISTINCT));
	return true;
}

/* The n-th column, counted from 1, of a planned subquery's result. */
static bool
FactsOfOutput(PlannerInfo *subroot, int n, FilterFacts *facts)
{
	TargetEntry *target;

	if (subroot == NULL || subroot->parse->setOperations != NULL)
		return false;
	target = get_tle_by_resno(subroot->parse->targetList, n);
	return target != NULL && GatherFilterFacts(subroot, (Node *) target->expr, facts);
}

static PlannerInfo *
FindSubplanRoot(PlannerInfo *root, int plan_id)
{
	return list_nth(root->glob->subroots, plan_id - 1);
}

/* What a parameter stands for: a column of an InitPlan of this query or an outer one, or an expression of an outer query. */
static bool
FactsOfParam(PlannerInfo *root, const Param *param, FilterFacts *facts)
{
	ListCell   *cell,
			   *set;

	if (param->paramkind != PARAM_EXEC)
		return false;
	for (PlannerInfo *query = root; query != NULL; query = query->parent_root)
	{
		foreach(cell, query->init_plans)
		{
			SubPlan    *plan = lfirst(cell);

			foreach(set, plan->setParam)
				if (lfirst_int(set) == param->paramid)
					return FactsOfOutput(FindSubplanRoot(root, plan->plan_id), foreach_current_index(set) + 1, facts);
		}
		foreach(cell, query->plan_params)
		{
			PlannerParamItem *item = lfirst(cell);

			if (query != root && item->paramId == param->paramid)
				return GatherFilterFacts(query, item->item, facts);
		}
	}
	return false;
}

/* The planned query of a CTE that is computed once, or NULL. */
static PlannerInfo *
FindCteRoot(PlannerInfo *root, const RangeTblEntry *rte)
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
	return FindSubplanRoot(root, list_nth_int(root->cte_plan_ids, n));
}

static bool
FactsOfVar(PlannerInfo *root, Var *var, FilterFacts *facts)
{
	RangeTblEntry *rte = root->simple_rte_array[var->varno];

	if (rte->rtekind == RTE_SUBQUERY && !rte->inh)
		return FactsOfOutput(find_base_rel(root, var->varno)->subroot, var->varattno, facts);
	if (rte->rtekind == RTE_CTE)
		return FactsOfOutput(FindCteRoot(root, rte), var->varattno, facts);
	return FactsOfColumn(root, (Node *) var, facts);
}

static bool
GatherFacts(PlannerInfo *root, Node *filter, FilterFacts *facts)
{
	while (IsA(filter, RelabelType))	/* a domain over bloomfilter */
		filter = (Node *) ((RelabelType *) filter)->arg;
	if (!IsFilterType(exprType(filter)) || !TablesAreKnown(root, filter))
		return false;
	switch (nodeTag(filter))
	{
		case T_Const:
			FactsOfConstant((Const *) filter, facts);
			return true;
		case T_Param:
			return FactsOfParam(root, (Param *) filter, facts);
		case T_SubPlan:
			return FactsOfOutput(FindSubplanRoot(root, ((SubPlan *) filter)->plan_id), 1, facts);
		case T_Aggref:
			return FactsOfAggregate(root, (Aggref *) filter, facts);
		case T_Var:
			return FactsOfVar(root, (Var *) filter, facts);
		case T_PlaceHolderVar:
			return GatherFacts(root, (Node *) ((PlaceHolderVar *) filter)->phexpr, facts);
		default:
			return FactsOfColumn(root, filter, facts);
	}
}

bool
GatherFilterFacts(PlannerInfo *root, Node *filter, FilterFacts *facts)
{
	memset(facts, 0, sizeof *facts);
	return GatherFacts(root, estimate_expression_value(root, filter), facts);
}

double
MeanFilterBytes(PlannerInfo *root, Node *filter)
{
	VariableStatData column;
	FilterStatistics statistics = {0};

	if (!TablesAreKnown(root, filter))
		return 0;
	examine_variable(root, filter, 0, &column);
	(void) GetFilterStatistics(column.statsTuple, &statistics);
	ReleaseVariableStats(column);
	return statistics.bytes;
}
