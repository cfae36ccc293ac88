/*
 * array_condition.c - f @> ANY (array) and f @> ALL (array) as conditions that an
 * index can take.
 *
 * PostgreSQL turns `f @> v` into an index condition by asking the support function
 * of @>, but asks nobody about an operator over an array.  So when the paths of a
 * table have been made, its indexes are tried a second time.  Beside each such
 * condition they see the one that follows from it: bloom_contains_any(f, array) or
 * bloom_contains_all(f, array), also within AND and OR.  What an index finds is
 * tested with the condition as it was written.
 *
 * The hook is set when the module is loaded.  A session that plans such a
 * condition has loaded it by then, for the operator's selectivity.
 *
 * Conditions between two tables are left alone: bloom_contains_any says them.
 */
#include "pg/planner/planner.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

static set_rel_pathlist_hook_type next_hook;

/*
 * True if the array has elements for certain.  A filter that is NULL meets ALL of
 * an empty array, and no index has its row.
 */
static bool
HasElements(Node *array)
{
	if (IsA(array, Const) && !((Const *) array)->constisnull)
		return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(((Const *) array)->constvalue)),
							  ARR_DIMS(DatumGetArrayTypeP(((Const *) array)->constvalue))) > 0;
	return IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims && ((ArrayExpr *) array)->elements != NIL;
}

/* f @> ANY (array) as bloom_contains_any(f, array), and ALL likewise; any other expression as it is. */
static Node *
ArrayAsFunction(Node *clause)
{
	const ScalarArrayOpExpr *array = (const ScalarArrayOpExpr *) clause;
	Oid			function;

	if (!IsA(clause, ScalarArrayOpExpr) || WhichFunction(get_opcode(array->opno)) != BLOOM_CONTAINS ||
		!(array->useOr || HasElements(lsecond(array->args))))
		return clause;
	function = OwnFunctionOid(array->useOr ? BLOOM_CONTAINS_ANY : BLOOM_CONTAINS_ALL);
	if (!OidIsValid(function))
		return clause;
	return (Node *) makeFuncExpr(function, BOOLOID, array->args, InvalidOid, array->inputcollid, COERCE_EXPLICIT_CALL);
}

/* The same within AND and OR, which keep what follows from their arguments; NOT would turn it around. */
static Node *
ImpliedClause(Node *clause)
{
	List	   *args = NIL;
	bool		differs = false;
	ListCell   *lc;

	check_stack_depth();
	if (!is_orclause(clause) && !is_andclause(clause))
		return ArrayAsFunction(clause);
	foreach(lc, ((BoolExpr *) clause)->args)
	{
		args = lappend(args, ImpliedClause(lfirst(lc)));
		differs |= llast(args) != lfirst(lc);
	}
	return differs ? (Node *) makeBoolExpr(((BoolExpr *) clause)->boolop, args, -1) : clause;
}

/* Returns what is true wherever the condition is, or NULL. */
static RestrictInfo *
ImpliedCondition(PlannerInfo *root, const RestrictInfo *condition)
{
	Node	   *clause = (Node *) condition->clause,
			   *implied = ImpliedClause(clause);
	RestrictInfo *result;

	/* behind a security barrier it stays behind it; the arguments of an OR would be taken for conditions before it */
	if (implied == clause || (condition->security_level > 0 && is_orclause(clause)))
		return NULL;
	result = make_simple_restrictinfo(root, (Expr *) implied);
	result->security_level = condition->security_level;
	return result;
}

/* What follows from the conditions, added to them; the same list if nothing does. */
static List *
WithImplied(PlannerInfo *root, List *conditions)
{
	List	   *all = conditions;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *implied = ImpliedCondition(root, lfirst_node(RestrictInfo, lc));

		if (implied != NULL)
			all = lappend(all == conditions ? list_copy(all) : all, implied);
	}
	return all;
}

static void
TryIndexesAgain(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List	   *conditions,
			   *of_table,
			   *before = NIL;
	ListCell   *lc,
			   *old;

	if (next_hook)
		next_hook(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL || rel->indexlist == NIL || IS_DUMMY_REL(rel))
		return;
	conditions = WithImplied(root, rel->baserestrictinfo);
	if (conditions == rel->baserestrictinfo)
		return;

	/* a partial index has a list without the conditions that its predicate implies; what is added follows from the others, too */
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		before = lappend(before, index->indrestrictinfo);
		index->indrestrictinfo = WithImplied(root, index->indrestrictinfo);
	}
	/* conditions with OR are taken from the table's list */
	of_table = rel->baserestrictinfo;
	rel->baserestrictinfo = conditions;
	create_index_paths(root, rel);
	rel->baserestrictinfo = of_table;
	forboth(lc, rel->indexlist, old, before)
		lfirst_node(IndexOptInfo, lc)->indrestrictinfo = lfirst(old);
}

void
InstallArrayConditions(void)
{
	next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = TryIndexesAgain;
}
