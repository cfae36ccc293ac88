/*
 * hooks.c - the server's hooks.
 *
 * Whatever was installed before is called first, or last at the end, so that all
 * work beside one another.  While bloomx.runtime_filter is off, each hook is one
 * branch.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"

#include "runtimefilter/runtimefilter.h"

static ExecutorStart_hook_type next_start;
static ExecutorFinish_hook_type next_finish;
static ExecutorEnd_hook_type next_end;

static void
StartHook(QueryDesc *query, int eflags)
{
	dsm_handle	leader = TakeLeadersSegment();

	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	/* a worker follows its leader, even if the setting was changed after the leader's query began */
	if ((bloomx_runtime_filter || leader != DSM_HANDLE_INVALID) && query->planstate != NULL)
		AttachRuntimeFilters(query->estate, query->planstate, leader);
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
	if (AnyFilteredQuery() && (filtered = FindFilteredQuery(query->estate)) != NULL)
		AddNotes(filtered);
}

static void
EndHook(QueryDesc *query)
{
	FilteredQuery *filtered;

	if (AnyFilteredQuery() && (filtered = FindFilteredQuery(query->estate)) != NULL)
	{
		ListCell   *lc;

		if (IsParallelWorker() && filtered->shared != NULL)
			TellLeader(filtered);
		else if (!filtered->is_shown_only)
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
	SetFilterFunction(filter_function);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = FinishHook;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = EndHook;
	InstallExplain();
	InstallTotals();
	DefineWorkerSetting();
}
