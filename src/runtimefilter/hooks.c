/*
 * hooks.c - the server's hooks.
 *
 * Whatever was installed before is called first, or last at the end, so that all
 * work beside one another.  While bloomx.runtime_filter is off, and so are the switches of
 * optional parts, each hook is a branch or two.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "runtimefilter/exec/rangeindex.h"
#include "runtimefilter/exec/scans.h"
#include "runtimefilter/hooks.h"
#include "runtimefilter/plan/pushdown.h"
#include "runtimefilter/query/optional.h"
#include "runtimefilter/report/report.h"

static ExecutorStart_hook_type next_start;
static ExecutorFinish_hook_type next_finish;
static ExecutorEnd_hook_type next_end;

static void
StartHook(QueryDesc *query, int eflags)
{
	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (AnythingIsOn() && query->planstate != NULL)
	{
		FilteredQuery *filtered;

		AttachRuntimeFilters(query->estate, query->planstate, bloomx_runtime_filter);
		filtered = FindFilteredQuery(query->estate);
		if (filtered != NULL && filtered->is_shown_only)
			AddNotes(filtered, query->planstate);
	}
}

/* EXPLAIN ANALYZE prints the plan after this. */
static void
FinishHook(QueryDesc *query)
{
	FilteredQuery *filtered;

	if (next_finish)
		next_finish(query);
	else
		standard_ExecutorFinish(query);
	filtered = FindFilteredQuery(query->estate);
	if (filtered != NULL)
		AddNotes(filtered, query->planstate);
}

static void
EndHook(QueryDesc *query)
{
	FilteredQuery *filtered = FindFilteredQuery(query->estate);

	if (filtered != NULL)
	{
		ListCell   *lc;

		if (!filtered->is_shown_only && !filtered->is_reported)
			ReportQuery(filtered);
		foreach(lc, filtered->points)
			EndPages(lfirst(lc));
	}
	if (next_end)
		next_end(query);
	else
		standard_ExecutorEnd(query);
}

void
InstallRuntimeFilters(PGFunction filter_function)
{
	DefineRuntimeFilterSettings();
	SetFilterFunction(filter_function);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = FinishHook;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = EndHook;
	InstallExplain();
	InstallTotals(&runtime_filter_totals);
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->load != NULL)
			part->load();
}
