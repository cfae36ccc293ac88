/*
 * explain.c - in EXPLAIN, which filters a plan will have; with ANALYZE, what they did.
 *
 * PostgreSQL 18 asks extensions for more about each node, and has options of theirs.
 * Earlier versions print only what stands in the plan.  There the node's plan is
 * replaced by a copy that has one more condition, a text, after all has been executed
 * or if nothing will be: for people, since programs that read plans would take it for a condition.
 * The plan itself may be in the plan cache and is not touched.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "runtimefilter/report/report.h"

#ifdef HAS_EXPLAIN_NODE_HOOK

#include "commands/defrem.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"

static explain_per_node_hook_type next_node_hook;
static int	extension;			/* EXPLAIN's number for us; its state is not NULL if the option is on */

static const char *const count_names[N_COUNTS] = {
	[ROWS_CHECKED] = "Rows Checked",
	[ROWS_REMOVED] = "Rows Removed",
	[PAGES] = "Pages",
	[PAGES_SKIPPED] = "Pages Skipped",
	[PARTITIONS] = "Partitions Checked",
	[PARTITIONS_SKIPPED] = "Partitions Skipped",
	[PAUSES] = "Pauses",
	[BYTES_SENT] = "Bytes Sent",
	[LOOKUPS] = "Lookups",
	[INDEX_SEARCHES] = "Index Searches",
	[INDEX_SCANS] = "Index Scans",
	[INDEX_SCANS_SKIPPED] = "Index Scans Skipped"
};

void
AddNotes(FilteredQuery *query, PlanState *top)
{
}

/* EXPLAIN (RUNTIME_FILTERS) */
static void
ReadOption(ExplainState *es, DefElem *option, ParseState *pstate)
{
	SetExplainExtensionState(es, extension, defGetBoolean(option) ? &extension : NULL);
}

static void
ExplainFilter(const FilterReport *r, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		char	   *line = DescribeFilter(r, es->analyze);

		line[0] = pg_toupper(line[0]);
		ExplainIndentText(es);
		appendStringInfo(es->str, "%s\n", line);
		return;
	}
	ExplainOpenGroup("Runtime Filter", NULL, true, es);
	ExplainPropertyInteger("Join Node", NULL, r->join_node, es);
	if (NameStr(r->column)[0] != '\0')
		ExplainPropertyText("Column", NameStr(r->column), es);
	ExplainPropertyInteger("Keys", NULL, r->n_keys, es);
	if (es->analyze || r->is_lookup || r->is_index)
		ExplainPropertyText("Kind", r->kind, es);
	if (es->analyze)
	{
		ExplainPropertyUInteger("Build Rows", NULL, r->build_rows, es);
		ExplainPropertyUInteger("Bytes", NULL, r->bytes, es);
		for (int i = 0; i < N_COUNTS; i++)
			ExplainPropertyUInteger(count_names[i], NULL, r->counts[i], es);
		if (r->counts[INDEX_SEARCHES] > 0)
			ExplainPropertyText("Pages From Index", NameStr(r->index), es);
		ExplainPropertyInteger("Processes", NULL, r->processes, es);
	}
	ExplainCloseGroup("Runtime Filter", NULL, true, es);
}

static void
ExplainNode(PlanState *ps, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	bool		is_wanted = es->analyze || bloomx_explain_conditions || GetExplainExtensionState(es, extension) != NULL;
	FilterPoint *point = is_wanted ? FindPoint(ps) : NULL;
	FilteredQuery *query = is_wanted ? FindFilteredQuery(ps->state) : NULL;
	FilterReport *found;
	int			n;
	ListCell   *lc;

	if (next_node_hook)
		next_node_hook(ps, ancestors, relationship, plan_name, es);
	foreach(lc, query == NULL ? NIL : query->unfiltered)
	{
		UnfilteredJoin *unfiltered = lfirst(lc);

		if (unfiltered->ps == ps)
			ExplainPropertyText("No Runtime Filter", unfiltered->reason, es);
	}
	if (point == NULL)
		return;
	found = ReportsOfPoint(point, &n);
	if (n == 0)
		return;
	ExplainOpenGroup("Runtime Filters", "Runtime Filters", false, es);
	for (int i = 0; i < n; i++)
		ExplainFilter(&found[i], es);
	ExplainCloseGroup("Runtime Filters", "Runtime Filters", false, es);
}

void
InstallExplain(void)
{
	next_node_hook = explain_per_node_hook;
	explain_per_node_hook = ExplainNode;
	extension = GetExplainExtensionId("bloomx");
	RegisterExtensionExplainOption("runtime_filters", ReadOption EXPLAIN_OPTION_CHECK);
}

#else

void
InstallExplain(void)
{
}

/* Makes a copy of the node's plan, but not of those of its inputs, that can be changed. */
static void
CopyPlan(PlanState *ps)
{
	Plan	   *plan = ps->plan;

	ps->plan = copyObject(plan);
	ps->plan->lefttree = plan->lefttree;
	ps->plan->righttree = plan->righttree;
}

static bool
AddLoop(PlanState *ps, void *loops)
{
	if (IsA(ps, NestLoopState))
		*(List **) loops = lcons(ps, *(List **) loops);
	return false;
}

/* EXPLAIN finds out by the plan of a loop's inner side, which may be a copy now, that the loop has a parameter of that side. */
static void
LinkInnerSides(PlanState *top)
{
	List	   *loops = NIL;
	ListCell   *lc;

	(void) VisitPlan(top, AddLoop, &loops);
	foreach(lc, loops)
	{
		PlanState  *ps = lfirst(lc),
				   *inner = innerPlanState(ps);

		if (innerPlan(ps->plan) == inner->plan)
			continue;
		CopyPlan(ps);
		ps->plan->righttree = inner->plan;
	}
}

/* One more condition of the node's plan, of which the caller made a copy. */
static void
AddNote(PlanState *ps, const char *line)
{
	ps->plan->qual = lappend(ps->plan->qual,
							 makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, PointerGetDatum(cstring_to_text(line)), false, false));
}

void
AddNotes(FilteredQuery *query, PlanState *top)
{
	MemoryContext old;
	ListCell   *lc;

	if (!bloomx_explain_conditions || (query->estate->es_instrument == 0 && !query->is_shown_only) || IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(query->context);
	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);
		int			n;
		FilterReport *found = ReportsOfPoint(point, &n);

		if (n > 0)
			CopyPlan(point->ps);
		for (int i = 0; i < n; i++)
			AddNote(point->ps, DescribeFilter(&found[i], !query->is_shown_only));
	}
	foreach(lc, query->unfiltered)
	{
		UnfilteredJoin *unfiltered = lfirst(lc);

		CopyPlan(unfiltered->ps);
		AddNote(unfiltered->ps, psprintf("no runtime filter: %s", unfiltered->reason));
	}
	LinkInnerSides(top);
	MemoryContextSwitchTo(old);
}

#endif
