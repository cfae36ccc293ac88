/*
 * implied.c - what a join already says of a pre-filter.
 *
 *     SELECT ... FROM fact JOIN customer ON customer.id = fact.customer AND gold
 *     WHERE fact.customer <@ (SELECT bloom_agg(id) FROM customer WHERE gold)
 *
 * The filter drops rows of fact that the join would drop.  PostgreSQL multiplies
 * selectivities.  If the filter's selectivity were reported for the scan of fact,
 * the join's estimate would count the share of gold customers twice and come out
 * too low by it, and the planner would choose nested loops that run for minutes.
 * What has to be reported is the filter's selectivity among the rows that the
 * join keeps:
 *
 *     P(the filter holds the key | the key is one of the partner's rows)
 *
 * The partner is a relation of the query with a column that is in the key's
 * equivalence class, directly or by way of other columns, and from which the
 * filter's keys are taken: the same column of the same table, or of the same
 * CTE.  The conditions of the filter's subquery that follow from the partner's
 * conditions say nothing new.  If all of them follow, the probability is 1, and
 * all estimates are those of the query without the filter.  If some do not, it is
 * the share of the partner's keys that these keep.  A filter without a partner,
 * or whose subquery has no condition in common with the partner, keeps its
 * selectivity.
 *
 * The price is the scan's own estimate, which is too high by the same factor.
 * That errs on the safe side: the plan is the one that is good without the
 * filter, and then the filter makes it faster.  PostgreSQL has the same problem
 * with the restrictions that it extracts from OR clauses, and keeps both
 * estimates right by changing the cached selectivity of the join clause
 * (orclauses.c).  That cannot be done here: the clauses of an equivalence class
 * are made for one pair of relations after the other while joins are considered,
 * and the estimate of a foreign key does not ask them.
 *
 * A filter that tests several columns of one class counts once, for the same
 * reason: what it drops from one table, joins drop from the others.
 *
 * A subquery that is itself a join is compared table by table.  Anything that
 * cannot be compared (outer joins, subqueries, join clauses other than
 * equalities) counts as a condition that does not follow.
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

/* The column below any casts, or NULL.  A cast gives the same key, or another spelling of it. */
static Var *
ColumnBelowCasts(Node *expr)
{
	for (;;)
	{
		FuncExpr   *call = (FuncExpr *) expr;

		if (IsA(expr, RelabelType))
			expr = (Node *) ((RelabelType *) expr)->arg;
		else if (IsA(expr, FuncExpr) && call->funcformat != COERCE_EXPLICIT_CALL && list_length(call->args) == 1)
			expr = linitial(call->args);
		else
			break;
	}
	return IsA(expr, Var) && ((Var *) expr)->varlevelsup == 0 ? (Var *) expr : NULL;
}

static RelOptInfo *
BaseRelation(PlannerInfo *root, int relation)
{
	RelOptInfo *rel = relation > 0 && relation < root->simple_rel_array_size ? root->simple_rel_array[relation] : NULL;

	return rel != NULL && rel->reloptkind == RELOPT_BASEREL ? rel : NULL;
}

/* From a column of a partition, or of another child, to that of the table that the query names.  False if there is none. */
static bool
ClimbToParent(PlannerInfo *root, int *relation, AttrNumber *column)
{
	while (root->append_rel_array != NULL && *relation > 0 && *relation < root->simple_rel_array_size &&
		   root->append_rel_array[*relation] != NULL)
	{
		const AppendRelInfo *child = root->append_rel_array[*relation];

		if (*column > 0 && *column > child->num_child_cols)
			return false;
		if (*column > 0)
			*column = child->parent_colnos[*column - 1];
		*relation = child->parent_relid;
	}
	return *column != 0 && BaseRelation(root, *relation) != NULL;
}

/* True if both relations stand for the same rows, before any condition. */
static bool
SameRows(PlannerInfo *root, int relation, PlannerInfo *other_root, int other)
{
	const RangeTblEntry *a = root->simple_rte_array[relation];
	const RangeTblEntry *b = other_root->simple_rte_array[other];

	if (a->rtekind != b->rtekind || a->tablesample != NULL || b->tablesample != NULL)
		return false;
	if (a->rtekind == RTE_RELATION)
		return a->relid == b->relid && a->inh == b->inh;
	return a->rtekind == RTE_CTE && FindCteRoot(root, a) != NULL && FindCteRoot(root, a) == FindCteRoot(other_root, b);
}

/* True if the column, perhaps below casts, is in the class. */
static bool
ClassHasColumn(const EquivalenceClass *class, PlannerInfo *root, int relation, AttrNumber column)
{
	ListCell   *cell;

	foreach(cell, class->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		const Var  *var = member->em_is_child ? NULL : ColumnBelowCasts((Node *) member->em_expr);

		if (var != NULL && var->varno == relation && var->varattno == column)
			return true;
	}
	return false;
}

/* The clause with the partner in place of the subquery's relation. */
static Node *
SaidOf(int partner, int relation, const RestrictInfo *condition)
{
	Node	   *clause = copyObject((Node *) condition->clause);

	ChangeVarNodes(clause, relation, partner, 0);
	return clause;
}

static bool
Follows(Node *clause, List *known)
{
	return !contain_volatile_functions(clause) && predicate_implied_by(list_make1(clause), known, false);
}

/*
 * The conditions on a relation of the filter's subquery, as two lists: those that
 * follow from the partner's conditions, and the others.
 */
static void
CompareConditions(PlannerInfo *root, int partner, PlannerInfo *source, int relation, List **following, List **others)
{
	List	   *known = extract_actual_clauses(root->simple_rel_array[partner]->baserestrictinfo, false);
	ListCell   *cell;

	*following = *others = NIL;
	foreach(cell, source->simple_rel_array[relation]->baserestrictinfo)
	{
		RestrictInfo *condition = lfirst(cell);

		if (Follows(SaidOf(partner, relation, condition), known))
			*following = lappend(*following, condition);
		else
			*others = lappend(*others, condition);
	}
}

/*
 * True if one equivalence class of the query has all members of this class of the
 * subquery, each as a column of its relation's partner.
 */
static bool
ClassFollows(PlannerInfo *root, const EquivalenceClass *class, const int *partners)
{
	ListCell   *cell,
			   *member_cell;

	/* look for a class of the query that has every member */
	foreach(cell, root->eq_classes)
	{
		bool		has_all = true;

		foreach(member_cell, class->ec_members)
		{
			const EquivalenceMember *member = lfirst(member_cell);
			const Var  *var = ColumnBelowCasts((Node *) member->em_expr);

			if (member->em_is_child || member->em_is_const) /* a constant is a condition on each relation */
				continue;
			has_all = has_all && var != NULL && ClassHasColumn(lfirst(cell), root, partners[var->varno], var->varattno);
		}
		if (has_all)
			return true;
	}
	return false;
}

/*
 * A relation of the query, other than `key` and those taken, with the same rows as
 * the subquery's relation, whose conditions imply the conditions on that; or 0.
 */
static int
FindPartner(PlannerInfo *root, int key, PlannerInfo *source, int relation, const Bitmapset *taken)
{
	List	   *following,
			   *others;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (i == key || BaseRelation(root, i) == NULL || bms_is_member(i, taken) || !SameRows(root, i, source, relation))
			continue;
		CompareConditions(root, i, source, relation, &following, &others);
		if (others == NIL)
			return i;
	}
	return 0;
}

/*
 * True if the join of the filter's subquery follows from the query's joins, where
 * the subquery's relation `aggregated` has the partner given.
 */
static bool
JoinFollows(PlannerInfo *root, int key, int partner, PlannerInfo *source, int aggregated)
{
	int		   *partners = palloc0(sizeof(int) * source->simple_rel_array_size);
	Bitmapset  *taken = bms_make_singleton(partner);
	ListCell   *cell;

	if (source->join_info_list != NIL || source->hasLateralRTEs)
		return false;

	/* each relation of the subquery has a partner of its own */
	partners[aggregated] = partner;
	for (int i = 1; i < source->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = source->simple_rel_array[i];

		if (rel == NULL || rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
			continue;
		if (rel->reloptkind != RELOPT_BASEREL || rel->joininfo != NIL)
			return false;
		if (i == aggregated)
			continue;
		partners[i] = FindPartner(root, key, source, i, taken);
		if (partners[i] == 0)
			return false;
		taken = bms_add_member(taken, partners[i]);
	}

	/* and each join of them is a join of their partners */
	foreach(cell, source->eq_classes)
	{
		const EquivalenceClass *class = lfirst(cell);

		if (bms_membership(class->ec_relids) == BMS_MULTIPLE && !ClassFollows(root, class, partners))
			return false;
	}
	return true;
}

/* The distinct values among `rows` rows of a relation, if each value has as many rows as every other. */
static double
ValuesAmong(double rows, double tuples, double distinct)
{
	tuples = fmax(1, tuples);
	distinct = fmax(1, distinct > 0 ? fmin(distinct, tuples) : tuples);
	return fmax(1, distinct * (1 - pow(1 - fmin(1, rows / tuples), tuples / distinct)));
}

/* The share of the partner's keys that the filter has. */
static double
ShareOfPartner(PlannerInfo *root, int key, int partner, const FilterFacts *facts, Var *aggregated)
{
	PlannerInfo *source = facts->source;
	const RelOptInfo *rel = source->simple_rel_array[aggregated->varno];
	List	   *following,
			   *others;
	double		rows;

	CompareConditions(root, partner, source, aggregated->varno, &following, &others);
	if (facts->aggregate->aggfilter == NULL && others == NIL && JoinFollows(root, key, partner, source, aggregated->varno))
		return 1;
	rows = rel->tuples * clauselist_selectivity(source, following, 0, JOIN_INNER, NULL);
	return fmin(1, facts->keys / ValuesAmong(rows, rel->tuples, EstimateDistinctValues(source, (Node *) aggregated)));
}

/* The column that is tested, that of the table if it is a partition's.  False if the key is no column. */
static bool
ColumnOfKey(PlannerInfo *root, Node *key, int *relation, AttrNumber *column)
{
	const Var  *var = ColumnBelowCasts(key);

	if (var == NULL)
		return false;
	*relation = var->varno;
	*column = var->varattno;
	return ClimbToParent(root, relation, column);
}

/* True if the class joins several tables and the column is in it. */
static bool
ClassJoinsColumn(const EquivalenceClass *class, PlannerInfo *root, int relation, AttrNumber column)
{
	return !class->ec_has_volatile && bms_membership(class->ec_relids) == BMS_MULTIPLE &&
		ClassHasColumn(class, root, relation, column);
}

double
FilterShareOfJoin(PlannerInfo *root, Node *key, const FilterFacts *facts)
{
	Var		   *aggregated;
	int			relation;
	AttrNumber	column;
	double		share = 0;
	ListCell   *cell,
			   *member_cell;

	if (facts->source == NULL || !ColumnOfKey(root, key, &relation, &column))
		return 0;
	aggregated = ColumnBelowCasts((Node *) ((TargetEntry *) linitial(facts->aggregate->args))->expr);
	if (aggregated == NULL || BaseRelation(facts->source, aggregated->varno) == NULL)
		return 0;
	/* all joins of the key, and in each the columns that the filter may have been made of */
	foreach(cell, root->eq_classes)
	{
		const EquivalenceClass *class = lfirst(cell);

		if (!ClassJoinsColumn(class, root, relation, column))
			continue;
		foreach(member_cell, class->ec_members)
		{
			const EquivalenceMember *member = lfirst(member_cell);
			const Var  *partner = member->em_is_child ? NULL : ColumnBelowCasts((Node *) member->em_expr);

			if (partner != NULL && partner->varno != relation && partner->varattno == aggregated->varattno &&
				BaseRelation(root, partner->varno) != NULL &&
				SameRows(root, partner->varno, facts->source, aggregated->varno))
				share = fmax(share, ShareOfPartner(root, relation, partner->varno, facts, aggregated));
		}
	}
	return share;
}

/* True if both are the same value, such as the results of two subqueries of the same text. */
static bool
SameFilter(PlannerInfo *root, Node *a, Node *b)
{
	PlannerInfo *a_root,
			   *b_root;
	int			a_column,
				b_column;

	if (equal(a, b))
		return true;
	if (!IsA(a, Param) || !IsA(b, Param))
		return false;
	a_root = FindInitPlanRoot(root, (Param *) a, &a_column);
	b_root = FindInitPlanRoot(root, (Param *) b, &b_column);
	return a_root != NULL && b_root != NULL && a_column == b_column && equal(a_root->parse, b_root->parse);
}

/* True if the clause tests the class's column of that relation with the filter, and counts for its estimate. */
static bool
AsksFilter(PlannerInfo *root, const RestrictInfo *condition, Node *filter, const EquivalenceClass *class, int relation)
{
	Node	   *clause = (Node *) condition->clause;
	Membership	m;
	int			asked;
	AttrNumber	column;

	if (IsA(clause, OpExpr) ? !ReadMembership(get_opcode(((OpExpr *) clause)->opno), ((OpExpr *) clause)->args, &m)
		: !IsA(clause, FuncExpr) || !ReadMembership(((FuncExpr *) clause)->funcid, ((FuncExpr *) clause)->args, &m))
		return false;
	return m.form == ONE_KEY && !m.is_prefilter && ColumnOfKey(root, m.keys, &asked, &column) && asked == relation &&
		ClassHasColumn(class, root, asked, column) && SameFilter(root, m.filter, filter);
}

bool
MembershipCountsElsewhere(PlannerInfo *root, const Membership *m)
{
	int			relation;
	AttrNumber	column;
	ListCell   *cell,
			   *condition;

	if (m->form != ONE_KEY || !ColumnOfKey(root, m->keys, &relation, &column))
		return false;
	foreach(cell, root->eq_classes)
	{
		const EquivalenceClass *class = lfirst(cell);
		int			other = -1;

		if (!ClassJoinsColumn(class, root, relation, column))
			continue;
		/* the filter counts for the first table of the query that it tests */
		while ((other = bms_next_member(class->ec_relids, other)) >= 0 && other < relation)
		{
			const RelOptInfo *rel = BaseRelation(root, other);

			if (rel == NULL)
				continue;
			foreach(condition, rel->baserestrictinfo)
				if (AsksFilter(root, lfirst(condition), m->filter, class, other))
					return true;
			foreach(condition, rel->joininfo)
				if (AsksFilter(root, lfirst(condition), m->filter, class, other))
					return true;
		}
	}
	return false;
}
