/*
 * explain.c - what filters did, in EXPLAIN ANALYZE.
 *
 * PostgreSQL 18 asks extensions for more about each node.  Earlier versions print
 * only what stands in the plan.  There the node's plan is replaced by a copy that
 * has one more condition, a text, when all has been executed.  The plan itself may be
 * in the plan cache and is not touched.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "runtimefilter/report/report.h"

/* The longest line. */
#define NOTE_BYTES 512

#ifdef HAS_EXPLAIN_NODE_HOOK

#include "commands/explain_format.h"
#include "commands/explain_state.h"

static explain_per_node_hook_type next_node_hook;

static const char *const count_names[N_COUNTS] = {
	[ROWS_CHECKED] = "Rows Checked",
	[ROWS_DROPPED] = "Rows Dropped",
	[PAGES] = "Pages",
	[PAGES_SKIPPED] = "Pages Skipped",
	[PARTITIONS] = "Partitions Asked",
	[PARTITIONS_SKIPPED] = "Partitions Skipped",
	[PAUSES] = "Pauses",
	[BYTES_SENT] = "Bytes Sent"
};

void
AddNotes(FilteredQuery *query)
{
}

static void
ExplainFilter(const FilterReport *r, ExplainState *es)
{
	char		line[NOTE_BYTES];

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		DescribeFilter(r, line, sizeof(line));
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
	ExplainPropertyText("Kind", r->kind, es);
	ExplainPropertyUInteger("Build Rows", NULL, r->build_rows, es);
	ExplainPropertyUInteger("Bytes", NULL, r->bytes, es);
	for (int i = 0; i < N_COUNTS; i++)
		ExplainPropertyUInteger(count_names[i], NULL, r->counts[i], es);
	ExplainPropertyInteger("Processes", NULL, r->processes, es);
	ExplainCloseGroup("Runtime Filter", NULL, true, es);
}

static void
ExplainNode(PlanState *ps, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	FilterPoint *point = es->analyze ? FindPoint(ps) : NULL;

	if (next_node_hook)
		next_node_hook(ps, ancestors, relationship, plan_name, es);
	if (point == NULL || point->n_filters == 0)
		return;
	ExplainOpenGroup("Runtime Filters", "Runtime Filters", false, es);
	for (int i = 0; i < point->n_filters; i++)
	{
		FilterReport report = MakeFilterReport(point->filters[i]);

		ExplainFilter(&report, es);
	}
	ExplainCloseGroup("Runtime Filters", "Runtime Filters", false, es);
}

void
InstallExplain(void)
{
	next_node_hook = explain_per_node_hook;
	explain_per_node_hook = ExplainNode;
}

#else

void
InstallExplain(void)
{
}

/* The line of a filter, as a condition. */
static Const *
MakeNote(const AppliedFilter *applied)
{
	FilterReport report = MakeFilterReport(applied);
	char		line[NOTE_BYTES];

	DescribeFilter(&report, line, sizeof(line));
	return makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, PointerGetDatum(cstring_to_text(line)), false, false);
}

void
AddNotes(FilteredQuery *query)
{
	MemoryContext old;
	ListCell   *lc;

	if (query->is_shown_only || query->estate->es_instrument == 0 || IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(query->context);
	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		if (point->n_filters > 0)
			point->ps->plan = copyObject(point->ps->plan);
		for (int i = 0; i < point->n_filters; i++)
			point->ps->plan->qual = lappend(point->ps->plan->qual, MakeNote(point->filters[i]));
	}
	MemoryContextSwitchTo(old);
}

#endif
