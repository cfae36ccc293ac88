/*
 * report.h - what filters did: in EXPLAIN, in the last statement, in all.
 */
#pragma once

#include "pg/base/totals.h"
#include "runtimefilter/query/registry.h"

/* What a filter did at a point. */
typedef struct FilterReport
{
	Oid			role;			/* whose query it was in */
	int			join_node,
				site_node;		/* numbers in the plan */
	NameData	table;			/* its name in the query; empty if the point is no scan */
	NameData	column;			/* the first key's; empty if it is not a plain column */
	NameData	index;			/* that told pages; empty if none did */
	int			n_keys;
	char		kind[16];
	uint64		build_rows,
				bytes;
	uint64		counts[N_COUNTS];	/* of all processes */
	int			processes;		/* that asked the filter */
	bool		is_lookup;		/* it is of a loop that keeps its inner rows */
	bool		is_index;		/* it is of an index that says which keys there are */
} FilterReport;

/* In this process. */
extern FilterReport MakeOwnReport(const AppliedFilter *applied);

/* What was done at a point: *n reports, one of each filter, and one of the optional part that has the point. */
extern FilterReport *ReportsOfPoint(const FilterPoint *point, int *n);

/* Adds what the same filter did in other processes. */
extern void AddReport(FilterReport *report, const FilterReport *other);

/* One line; of what it did only if it has run. */
extern char *DescribeFilter(const FilterReport *report, bool has_run);

/* A query ends: keeps what its filters did. */
extern void ReportQuery(FilteredQuery *query);

/* ---- explain.c ---- */

/* The query has run, or is only shown: EXPLAIN will print the plan, with what the filters did or would be. */
extern void AddNotes(FilteredQuery *query, PlanState *top);
extern void InstallExplain(void);

/* What all filters did; bloomx_runtime_filter_totals() shows it. */
extern TotalsGroup runtime_filter_totals;
