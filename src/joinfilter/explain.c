/*
 * explain.c - what filters did, in EXPLAIN ANALYZE.
 *
 * PostgreSQL 18 asks extensions for more about each node.  Earlier versions print
 * only what stands in the plan.  There the node's plan is replaced by a copy that
 * has one more condition, a text, which is never evaluated: the compiled conditions
 * stay as they are.  The plan itself may be in the plan cache and is not touched.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "joinfilter/joinfilter.h"

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
PrepareNotes(FilteredQuery *query)
{
}

void
UpdateNotes(FilteredQuery *query)
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
	ExplainOpenGroup("Join Filter", NULL, true, es);
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
	ExplainCloseGroup("Join Filter", NULL, true, es);
}

static void
ExplainNode(PlanState *ps, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	Site	   *site = es->analyze ? FindSite(ps) : NULL;

	if (next_node_hook)
		next_node_hook(ps, ancestors, relationship, plan_name, es);
	if (site == NULL || site->n_filters == 0)
		return;
	ExplainOpenGroup("Join Filters", "Join Filters", false, es);
	for (int i = 0; i < site->n_filters; i++)
	{
		FilterReport report = MakeFilterReport(site->filters[i]);

		ExplainFilter(&report, es);
	}
	ExplainCloseGroup("Join Filters", "Join Filters", false, es);
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

/* One condition per filter, whose text is written when it is known. */
static void
PrepareNote(SiteFilter *sf, Plan *plan)
{
	sf->note = palloc0(VARHDRSZ + NOTE_BYTES);
	SET_VARSIZE(sf->note, VARHDRSZ);
	plan->qual = lappend(plan->qual, makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, PointerGetDatum(sf->note),
											   false, false));
}

void
PrepareNotes(FilteredQuery *query)
{
	ListCell   *lc;

	if (query->estate->es_instrument == 0)
		return;
	foreach(lc, query->sites)
	{
		Site	   *site = lfirst(lc);

		if (site->n_filters == 0)
			continue;
		site->ps->plan = copyObject(site->ps->plan);
		for (int i = 0; i < site->n_filters; i++)
			PrepareNote(site->filters[i], site->ps->plan);
	}
}

void
UpdateNotes(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->sites)
	{
		Site	   *site = lfirst(lc);

		for (int i = 0; i < site->n_filters; i++)
		{
			SiteFilter *sf = site->filters[i];
			FilterReport report;

			if (sf->note == NULL)
				continue;
			report = MakeFilterReport(sf);
			DescribeFilter(&report, VARDATA(sf->note), NOTE_BYTES);
			SET_VARSIZE(sf->note, VARHDRSZ + strlen(VARDATA(sf->note)));
		}
	}
}

#endif
