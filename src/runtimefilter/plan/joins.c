/*
 * joins.c - finds the joins of a query that can have a filter.
 *
 * A hash join reads its inner side first, and filters the outer one.  That an outer
 * row without a match yields nothing holds for inner joins and semijoins, and for
 * joins that fill or return the inner side.  It does not hold for left, full and
 * antijoins, which are never filtered.
 *
 * A merge join reads its outer side first.  If that is a sort, all of it is read
 * before the first row of the inner side, so the inner side is filtered.  (An index
 * scan or an incremental sort yields its first row before its last is known.)  An
 * inner row without a match yields nothing unless the join fills or returns the
 * inner side: right, full and right antijoins.  In a left join or an antijoin it
 * does not even change what becomes of an outer row.  The inner side must be a sort,
 * too: its input is filtered, so there is less to sort.
 *
 * All of this happens after the executor has started, when nothing has run yet.  So
 * it has to be cheap: the nodes of the plan are visited once, and a join that will
 * not pay is left alone.
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/probe.h"
#include "runtimefilter/exec/scans.h"
#include "runtimefilter/plan/pushdown.h"
#include "runtimefilter/query/optional.h"
#include "runtimefilter/query/volatility.h"

/*
 * The rows, as the planner expects, of the smallest sort whose input is filtered.
 * Fewer are sorted in less than a millisecond.  And a sort of other rows returns
 * those that compare equal in another order.  No query may rely on that order, but
 * what users see of small tables should not change without need.  (Of a table that was never
 * analyzed the planner expects up to 2,800 rows.)
 */
#define LEAST_SORTED 3000

/* A hash table of fewer bytes stays in the processor's second-level cache; and what a row takes there beside its columns. */
#define SMALL_TABLE (256 * 1024)
#define ROW_BYTES 48

/* The least memory of a set of keys, if work_mem is smallest. */
#define LEAST_BUDGET (64 * 1024)

static bool
HashJoinIsEligible(const HashJoinState *join)
{
	JoinType	type = join->js.jointype;

	return type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_RIGHT || IS_RIGHT_SEMI_OR_ANTI(type);
}

static bool
MergeJoinIsEligible(const MergeJoinState *join)
{
	JoinType	type = join->js.jointype;

	return IsA(outerPlanState(join), SortState) && innerPlan(join->js.ps.plan)->plan_rows >= LEAST_SORTED &&
		(type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_LEFT || type == JOIN_ANTI);
}

/* True if the input of the join has nearly all rows of its table, as far as the planner knows. */
static bool
IsUnrestricted(PlanState *input)
{
	double		rows;

	if (!IsA(input, SeqScanState) && !IsA(input, IndexOnlyScanState) && !IsA(input, IndexScanState))
		return false;
	/* below 0: unknown */
	rows = ((ScanState *) input)->ss_currentRelation->rd_rel->reltuples;
	return input->plan->qual == NIL ||
		(rows > 0 && input->plan->plan_rows > (1 - bloomx_runtime_filter_min_removed) * rows);
}

/* True if so few rows are expected to go that a filter does not pay. */
static bool
WillDropTooFew(RuntimeFilter *filter)
{
	double		left = filter->join->plan->plan_rows / Max(filter->filtered->plan->plan_rows, 1);

	filter->expects_removal = fabs(1 - left) >= bloomx_runtime_filter_min_removed;
	return bloomx_runtime_filter_min_removed > 0 && 1 - left < bloomx_runtime_filter_min_removed &&
		IsUnrestricted(filter->input);
}

/* The planner's number of rows of the largest node that a filter would be applied to. */
static double
RowsAtTargets(List *targets)
{
	double		most = 0;
	ListCell   *lc;

	foreach(lc, targets)
		most = Max(most, ((PushdownTarget *) lfirst(lc))->ps->plan->plan_rows);
	return most;
}

/* The set of the codes of several keys. */
static KeySet *
GetCombined(RuntimeFilter *filter, Bitmapset *keys)
{
	CombinedKey *combined;
	ListCell   *lc;

	foreach(lc, filter->combined)
		if (bms_equal(((CombinedKey *) lfirst(lc))->keys, keys))
			return &((CombinedKey *) lfirst(lc))->set;
	combined = palloc0(sizeof(CombinedKey));
	combined->keys = keys;
	filter->combined = lappend(filter->combined, combined);
	return &combined->set;
}

/* An expression of keys is computed in the memory of one row. */
static ExprState *
PrepareExpression(RuntimeFilter *filter, Node *expression)
{
	if (filter->econtext == NULL)
		filter->econtext = CreateExprContext(filter->query->estate);
	/* no parent: rows of a shared hash table come in other slots than those of the inner side */
	return ExecInitExpr((Expr *) expression, NULL);
}

/* Adds a key to those that the point tests. */
static void
AddPointKey(AppliedFilter *applied, BuildKey *build, const PushdownTarget *target)
{
	PointKey   *key = &applied->keys[applied->n_keys];
	RowKey	   *row = &applied->row_keys[applied->n_keys++];
	Var		   *column = PlainColumn(target->key);

	key->build = build;
	key->of_table = KeyOfTable(target->ps, target->key);
	if (key->of_table != NULL && PlainColumn(key->of_table) != NULL)
		key->column = PlainColumn(key->of_table)->varattno;
	row->coder = target->coder;
	if (column != NULL)
		row->column = column->varattno;
	else
		row->expr = PrepareExpression(applied->filter, target->key);
	build->is_used = true;
}

/* Adds the filter to a filter point, with the keys that are there: here[i] is not NULL. */
static void
ApplyFilter(RuntimeFilter *filter, PlanState *ps, PushdownTarget **here)
{
	FilterPoint *point = GetPoint(filter->query, ps, ExecPoint);
	AppliedFilter *applied = palloc0(sizeof(AppliedFilter));
	Bitmapset  *keys = NULL;

	applied->filter = filter;
	applied->point = point;
	applied->shared_report = -1;
	applied->removal_rate = 1;
	applied->row_cost = (filter->join->plan->total_cost - filter->input->plan->total_cost - ps->plan->total_cost) * COST_UNIT /
		Max(ps->plan->plan_rows, 1);
	applied->keys = palloc0(filter->n_keys * sizeof(PointKey));
	applied->row_keys = palloc0(filter->n_keys * sizeof(RowKey));
	for (int i = 0; i < filter->n_keys; i++)
		if (here[i] != NULL)
		{
			AddPointKey(applied, &filter->keys[i], here[i]);
			keys = bms_add_member(keys, i);
		}
	if (applied->n_keys == 1)
	{
		applied->keys[0].build->is_alone = true;
		applied->set = &applied->keys[0].build->set;
	}
	else
		applied->set = GetCombined(filter, keys);

	point->filters = point->filters == NULL ? palloc(sizeof(AppliedFilter *)) :
		repalloc(point->filters, (point->n_filters + 1) * sizeof(AppliedFilter *));
	point->filters[point->n_filters++] = applied;
}

/*
 * True if a test there gains nothing: the node is a nested loop just below the join, which has read the page of a
 * row's inner side already, and all that is left of the row's way is to look it up in a small hash table.
 */
static bool
TestIsInVain(const RuntimeFilter *filter, const PushdownTarget *target)
{
	Plan	   *input = filter->input->plan;

	return bloomx_runtime_filter_min_removed > 0 && filter->hash_join != NULL && target->ps == filter->filtered &&
		IsA(target->ps, NestLoopState) && !bms_is_empty(innerPlan(target->ps->plan)->extParam) &&
		filter->expected * (input->plan_width + ROW_BYTES) < SMALL_TABLE;
}

/* Leaves out the tests that gain nothing. */
static List *
UsefulTargets(const RuntimeFilter *filter, List *targets)
{
	List	   *useful = NIL;
	ListCell   *lc;

	foreach(lc, targets)
		if (!TestIsInVain(filter, lfirst(lc)))
			useful = lappend(useful, lfirst(lc));
	return useful;
}

/*
 * Makes points of the targets of all keys: targets[i] are those of key i, which came by the nodes ways[i].  Where one key is
 * tested, others that came by are as well: together they may remove what none of them does alone.
 */
static void
ApplyFilters(RuntimeFilter *filter, List **targets, List **ways)
{
	List	   *points = NIL;
	ListCell   *lc;

	for (int i = 0; i < filter->n_keys; i++)
		foreach(lc, targets[i])
		{
			PushdownTarget *target = lfirst(lc);
			FilterPoint *point = GetPoint(filter->query, target->ps, ExecPoint);

			if (point->here == NULL)
			{
				point->here = palloc0(filter->n_keys * sizeof(PushdownTarget *));
				points = lappend(points, point);
			}
			/* several columns may equal the key: those of one node are equal, so one of them is enough */
			if (point->here[i] == NULL)
				point->here[i] = target;
		}
	for (int i = 0; i < filter->n_keys; i++)
		foreach(lc, ways[i])
		{
			PushdownTarget *passed = lfirst(lc);
			FilterPoint *point = FindPoint(passed->ps);

			if (point != NULL && point->here != NULL && point->here[i] == NULL)
				point->here[i] = passed;
		}
	foreach(lc, points)
	{
		FilterPoint *point = lfirst(lc);

		ApplyFilter(filter, point->ps, point->here);
		point->here = NULL;
	}
}

/* A clause of the join: its operator, and the keys that it compares. */
typedef struct JoinClause
{
	Oid			operator;
	Oid			collation;
	Node	   *built;			/* over the rows of the filter's input */
	Node	   *filtered;		/* over the rows of the other side */
} JoinClause;

static JoinClause
GetClause(const RuntimeFilter *filter, int i)
{
	JoinClause	clause;

	if (filter->hash_join != NULL)
	{
		HashJoin   *plan = (HashJoin *) filter->join->plan;

		clause.operator = list_nth_oid(plan->hashoperators, i);
		clause.collation = list_nth_oid(plan->hashcollations, i);
		clause.built = list_nth(((Hash *) innerPlan(plan))->hashkeys, i);
		clause.filtered = list_nth(plan->hashkeys, i);
	}
	else
	{
		MergeJoin  *plan = (MergeJoin *) filter->join->plan;
		OpExpr	   *equality = list_nth_node(OpExpr, plan->mergeclauses, i);

		clause.operator = equality->opno;
		clause.collation = plan->mergeCollations[i];
		/* a sort hands through the columns of its input */
		clause.built = linitial(equality->args);
		clause.filtered = lsecond(equality->args);
	}
	return clause;
}

/*
 * Reads the join's clause i: how to get the key from the input, and where it can be
 * tested.  A hash join computes its first key for each row, and the others unless one
 * before is NULL: so what might fail is collected only if all before are used.
 */
static List *
SetUpKey(RuntimeFilter *filter, int i, bool are_used, List **way)
{
	JoinClause	clause = GetClause(filter, i);
	BuildKey   *key = &filter->keys[i];
	Var		   *built = PlainColumn(clause.built);
	bool		is_hash_join = filter->hash_join != NULL;	/* which filters its outer side; a merge join filters the inner one */
	KeyCoder	coder;

	if (!MakeKeyCoders(clause.operator, clause.collation, is_hash_join ? &coder : &key->row.coder, is_hash_join ? &key->row.coder : &coder) ||
		!HasCodes(&key->row.coder, exprType(clause.built)) || !HasCodes(&coder, exprType(clause.filtered)))
		return NIL;
	if (built != NULL && built->varno == OUTER_VAR && built->varattno > 0)
		key->row.column = built->varattno;
	else if (IsVolatile(clause.built) || (!(is_hash_join && are_used) && contain_leaked_vars(clause.built)))
		return NIL;
	else
		key->row.expr = PrepareExpression(filter, clause.built);
	return UsefulTargets(filter, FindTargets(filter, clause.filtered, is_hash_join ? OUTER_VAR : INNER_VAR, is_hash_join && i == 0, &coder, way));
}

/* How a filter is built whose keys several processes read; NULL if nobody knows. */
static SharedBuild *
ShareBuild(RuntimeFilter *filter)
{
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->share != NULL)
			return part->share(filter);
	return NULL;
}

/* The filter that a join may have; NULL if it may not. */
static RuntimeFilter *
NewRuntimeFilter(FilteredQuery *query, PlanState *join)
{
	RuntimeFilter *filter = palloc0(sizeof(RuntimeFilter));

	filter->query = query;
	filter->join = join;
	if (IsA(join, HashJoinState))
	{
		HashJoinState *hash_join = (HashJoinState *) join;

		if (!HashJoinIsEligible(hash_join))
			return NULL;
		filter->hash_join = hash_join;
		filter->input = outerPlanState(innerPlanState(join));
		filter->filtered = outerPlanState(join);
		filter->built = (void **) &hash_join->hj_HashTable;
		filter->n_keys = list_length(((HashJoin *) join->plan)->hashkeys);
	}
	else
	{
		if (!MergeJoinIsEligible((MergeJoinState *) join))
			return NULL;
		filter->input = outerPlanState(outerPlanState(join));
		filter->filtered = innerPlanState(join);
		filter->built = &((SortState *) outerPlanState(join))->tuplesortstate;
		filter->n_keys = list_length(((MergeJoin *) join->plan)->mergeclauses);
	}
	filter->keys = palloc0(filter->n_keys * sizeof(BuildKey));
	filter->expected = filter->input->plan->plan_rows;
	/* the method of a parallel hash join is set anew when its shared memory is, so it cannot be a filter point */
	filter->reads_table = IsA(filter->input, HashJoinState) && filter->input->plan->parallel_aware;
	if (join->plan->parallel_aware)
	{
		/* of all processes */
		filter->expected = ((Hash *) innerPlan(join->plan))->rows_total;
		filter->shared = ShareBuild(filter);
		return filter->shared == NULL ? NULL : filter;
	}
	return filter->reads_table ? NULL : filter;
}

/* What it costs at least to find out that the node yields no row; 0 if that is not known. */
static double
CostOfNothing(PlanState *ps)
{
	double		sum = 0;

	check_stack_depth();
	switch (nodeTag(ps))
	{
		case T_SeqScanState:
		case T_ForeignScanState:	/* which sends a filter that it knows when it begins */
			return ps->plan->total_cost;
		case T_SortState:
		case T_IncrementalSortState:
		case T_MaterialState:
		case T_AggState:
		case T_GroupState:
		case T_UniqueState:
		case T_HashState:
		case T_NestLoopState:
			return CostOfNothing(outerPlanState(ps));
		case T_SubqueryScanState:
			return CostOfNothing(((SubqueryScanState *) ps)->subplan);
		case T_HashJoinState:
		case T_MergeJoinState:
			/* one of the two sides may be empty */
			return Min(CostOfNothing(outerPlanState(ps)), CostOfNothing(innerPlanState(ps)));
		case T_AppendState:
			/* partitions may be left out while the plan runs */
			if (((AppendState *) ps)->as_prune_state == NULL)
				for (int i = 0; i < ((AppendState *) ps)->as_nplans; i++)
					sum += CostOfNothing(((AppendState *) ps)->appendplans[i]);
			return sum;
		default:
			return 0;
	}
}

/* Memory is made when the filter is certain to be used. */
static void
StartFilter(RuntimeFilter *filter)
{
	FilteredQuery *query = filter->query;
	int			n_sets = list_length(filter->combined);

	/* the sets share the memory */
	for (int i = 0; i < filter->n_keys; i++)
		n_sets += filter->keys[i].is_alone;
	filter->budget = Max((uint64) work_mem * 1024 / n_sets, LEAST_BUDGET);
	filter->sets = AllocSetContextCreate(query->context, "runtime filter", ALLOCSET_DEFAULT_SIZES);
	filter->scratch = AllocSetContextCreate(query->context, "runtime filter key", ALLOCSET_SMALL_SIZES);
	query->filters = lappend(query->filters, filter);
	if (!filter->reads_table)
	{
		FilterPoint *input = GetPoint(query, filter->input, ExecPoint);

		input->builds = lappend(input->builds, filter);
	}

	/*
	 * Otherwise the join might fetch an outer row before it builds the table, to
	 * see whether there is one, and the outer scan would begin without a filter.
	 * But there may be none, whatever the planner expects.  Then an inner side must not be
	 * read in vain that costs more than it takes to find that out, or that may need more
	 * space on disk than is allowed.  And where something volatile is computed on either side, the
	 * join goes its own way: an empty side keeps the other from being read.
	 */
	filter->builds_first = filter->hash_join != NULL &&
		(bloomx_runtime_filter_min_removed == 0 ||
		 (temp_file_limit < 0 && filter->input->plan->total_cost <= CostOfNothing(filter->filtered))) &&
		PlanHasNoSideEffect(filter->input) && PlanHasNoSideEffect(filter->filtered);
	if (filter->builds_first)
		filter->hash_join->hj_OuterNotEmpty = true;
}

static void
ConsiderJoin(FilteredQuery *query, PlanState *join)
{
	RuntimeFilter *filter = NewRuntimeFilter(query, join);
	List	  **targets,
			  **ways;
	double		rows;
	bool		are_used = true;

	if (filter == NULL)
	{
		NoFilter(query, join, "its join type or inner side does not allow one");
		return;
	}
	if (WillDropTooFew(filter))
	{
		NoFilter(query, join, "expected to remove fewer rows than bloomx.runtime_filter_min_removed");
		return;
	}
	rows = filter->filtered->plan->plan_rows;
	targets = palloc0(filter->n_keys * sizeof(List *));
	ways = palloc0(filter->n_keys * sizeof(List *));
	for (int i = 0; i < filter->n_keys; i++)
	{
		targets[i] = SetUpKey(filter, i, are_used, &ways[i]);
		are_used = are_used && targets[i] != NIL;
		rows = Max(rows, RowsAtTargets(targets[i]));
	}
	if (rows < bloomx_runtime_filter_min_rows)
	{
		NoFilter(query, join, psprintf("expects %.0f rows, fewer than bloomx.runtime_filter_min_rows", rows));
		return;
	}
	ApplyFilters(filter, targets, ways);
	for (int i = 0; i < filter->n_keys; i++)
		if (filter->keys[i].is_used)
		{
			StartFilter(filter);
			return;
		}
	NoFilter(query, join, "no key can be tested below the join, or not more cheaply than in a small hash table");
}

static bool
IsJoin(PlanState *ps)
{
	return IsA(ps, HashJoinState) || IsA(ps, MergeJoinState);
}

/* A loop of which nothing but the reason is to be said. */
static bool
IsShownLoop(PlanState *ps)
{
	return IsA(ps, NestLoopState) && WantsReasons(ps->state);
}

static bool
VisitNode(PlanState *ps, void *query)
{
	if (((FilteredQuery *) query)->has_filters && IsJoin(ps))
		ConsiderJoin(query, ps);
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->consider != NULL && PartIsOn(part) && part->wants(ps))
			part->consider(query, ps);
	return false;
}

static bool
HasPart(PlanState *ps)
{
	FilterPoint *point = FindPoint(ps);

	return point != NULL && point->part != NULL;
}

/* What parts do at a loop, or where its inner side is searched, is known now; and they may have said why not. */
static bool
ExplainLoop(PlanState *ps, void *query)
{
	if (IsShownLoop(ps) && !HasPart(ps) && !HasPart(innerPlanState(ps)))
		NoFilter(query, ps, ((NestLoop *) ps->plan)->nestParams != NIL ? "a nested loop that searches its inner side for each outer row" :
				 "a nested loop; hash joins, and merge joins of sorts, have filters");
	return false;
}

static bool
HasWork(PlanState *ps, void *with_filters)
{
	return (*(bool *) with_filters && (IsJoin(ps) || IsShownLoop(ps))) || IsWanted(ps);
}

void
AttachRuntimeFilters(EState *estate, PlanState *top, bool with_filters)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	FilteredQuery *query;
	ListCell   *lc;

	if (!VisitPlan(top, HasWork, &with_filters))
	{
		MemoryContextSwitchTo(old);
		return;
	}
	query = NewFilteredQuery(estate);
	query->has_filters = with_filters;
	(void) VisitPlan(top, VisitNode, query);
	if (with_filters && WantsReasons(estate))
		(void) VisitPlan(top, ExplainLoop, query);
	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		bool		is_heap_scan = !query->is_shown_only && ConsiderHeapScan(point);

		if (point->n_filters == 0)
			continue;
		if (is_heap_scan)
			ConsiderPages(point);
		if (!query->is_shown_only)
			ConsiderPartition(point);
	}
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->attach != NULL)
			part->attach(query);
	MemoryContextSwitchTo(old);
}
