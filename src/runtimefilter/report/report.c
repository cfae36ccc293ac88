/*
 * report.c - what a filter did at a filter point, and what those of the last statement did.
 *
 * The reports of the last statement with a join are kept, also those of the
 * queries within its functions.  A role sees those of its own queries: a function may
 * run queries as its owner, and sessions change their role.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "runtimefilter/exec/scans.h"
#include "runtimefilter/query/optional.h"
#include "runtimefilter/report/report.h"
#include "runtimefilter/query/volatility.h"

static void
NamePoint(FilterReport *report, const AppliedFilter *applied)
{
	PlanState  *ps = applied->point->ps;

	if (!ScansTable(ps))
		return;
	namestrcpy(&report->table, exec_rt_fetch(((Scan *) ps->plan)->scanrelid, ps->state)->eref->aliasname);
	if (applied->keys[0].column != 0)
		namestrcpy(&report->column,
				   get_attname(RelationGetRelid(((ScanState *) ps)->ss_currentRelation), applied->keys[0].column, false));
}

FilterReport
MakeOwnReport(const AppliedFilter *applied)
{
	const RuntimeFilter *filter = applied->filter;
	char	   *index = OidIsValid(applied->searched) ? get_rel_name(applied->searched) : NULL;
	FilterReport report = {0};

	report.role = filter->query->role;
	report.join_node = filter->join->plan->plan_node_id;
	report.site_node = applied->point->ps->plan->plan_node_id;
	NamePoint(&report, applied);
	if (index != NULL)
		namestrcpy(&report.index, index);
	report.n_keys = applied->n_keys;
	strlcpy(report.kind, filter->state == FILTER_COMPLETE ? KeySetFormName(applied->set) : "not built", sizeof(report.kind));
	report.build_rows = filter->rows;
	report.bytes = filter->state == FILTER_COMPLETE ? KeySetBytes(applied->set) : 0;
	memcpy(report.counts, applied->counts, sizeof(report.counts));
	report.counts[PAGES] = PagesSeen(applied);
	report.processes = report.counts[ROWS_CHECKED] > 0 || report.counts[PAGES] > 0 || report.counts[PARTITIONS] > 0;
	return report;
}

void
AddReport(FilterReport *report, const FilterReport *other)
{
	/* the leader may have left all of the work to others */
	if (report->processes == 0 && other->processes > 0)
	{
		memcpy(report->kind, other->kind, sizeof(report->kind));
		report->build_rows = other->build_rows;
		report->bytes = other->bytes;
	}
	if (other->counts[INDEX_SEARCHES] > 0)
		report->index = other->index;
	report->processes += other->processes;
	for (int i = 0; i < N_COUNTS; i++)
		report->counts[i] += other->counts[i];
}

/* ---- totals ---- */

/* Filters, and then what is counted of them. */
TotalsGroup runtime_filter_totals = {.name = "bloomx runtime filters", .n = 1 + N_COUNTS};

PG_FUNCTION_INFO_V1(bloomx_runtime_filter_totals);
Datum
bloomx_runtime_filter_totals(PG_FUNCTION_ARGS)
{
	return ReturnTotals(&runtime_filter_totals, fcinfo);
}

/* ---- of all processes ---- */

/* Adds what was done in other processes. */
static void
AddShared(const FilteredQuery *query, int shared_report, FilterReport *report)
{
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->add_to_report != NULL)
			part->add_to_report(query, shared_report, report);
}

FilterReport *
ReportsOfPoint(const FilterPoint *point, int *n)
{
	FilterReport *found;

	*n = 0;
	if (point->n_filters == 0 && point->part == NULL)
		return NULL;
	found = palloc0((point->n_filters + 1) * sizeof(FilterReport));
	for (; *n < point->n_filters; ++*n)
	{
		found[*n] = MakeOwnReport(point->filters[*n]);
		AddShared(point->query, point->filters[*n]->shared_report, &found[*n]);
	}
	if (point->part != NULL)
	{
		bool		did = point->part->report(point, &found[*n]);

		if (!did)
			found[*n].processes = 0;
		AddShared(point->query, point->shared_report, &found[*n]);
		*n += did || found[*n].processes > 0;
	}
	return found;
}

char *
DescribeFilter(const FilterReport *r, bool has_run)
{
	StringInfoData s;

	initStringInfo(&s);
	if (r->is_lookup)
	{
		if (!has_run)
			return pstrdup("runtime lookup, once the loop has read enough rows");
		appendStringInfo(&s, "runtime lookup: %s, " UINT64_FORMAT " inner rows, " UINT64_FORMAT " bytes; " UINT64_FORMAT " outer rows looked up",
						 r->kind, r->build_rows, r->bytes, r->counts[LOOKUPS]);
		if (r->counts[ROWS_CHECKED] > 0)
			appendStringInfo(&s, "; inner side not read for " UINT64_FORMAT " of " UINT64_FORMAT " outer rows",
							 r->counts[ROWS_REMOVED], r->counts[ROWS_CHECKED]);
		return s.data;
	}
	if (r->is_index)
		appendStringInfoString(&s, "runtime filter by an index");
	else
		appendStringInfo(&s, "runtime filter of node %d", r->join_node);
	if (NameStr(r->column)[0] != '\0')
		appendStringInfo(&s, " on %s", NameStr(r->column));
	if (r->n_keys > 1)
		appendStringInfo(&s, " and %d more", r->n_keys - 1);
	if (!has_run)
		return s.data;
	if (r->is_index)
		appendStringInfo(&s, ": " UINT64_FORMAT " of " UINT64_FORMAT " index scans skipped",
						 r->counts[INDEX_SCANS_SKIPPED], r->counts[INDEX_SCANS]);
	else
		appendStringInfo(&s, ": %s, " UINT64_FORMAT " build rows, " UINT64_FORMAT " bytes; "
						 UINT64_FORMAT " of " UINT64_FORMAT " rows removed",
						 r->kind, r->build_rows, r->bytes, r->counts[ROWS_REMOVED], r->counts[ROWS_CHECKED]);
	if (r->counts[PAGES] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " of " UINT64_FORMAT " pages skipped", r->counts[PAGES_SKIPPED],
						 r->counts[PAGES]);
	if (r->counts[INDEX_SEARCHES] > 0)
		appendStringInfo(&s, "; pages from index %s", NameStr(r->index));
	if (r->counts[PARTITIONS] > 0)
		appendStringInfo(&s, "; partition %s", r->counts[PARTITIONS_SKIPPED] == r->counts[PARTITIONS] ? "skipped" :
						 r->counts[PARTITIONS_SKIPPED] == 0 ? "read" : "skipped at times");
	if (r->counts[PAUSES] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " pause%s", r->counts[PAUSES], r->counts[PAUSES] == 1 ? "" : "s");
	if (r->counts[BYTES_SENT] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " bytes sent", r->counts[BYTES_SENT]);
	if (r->processes > 1)
		appendStringInfo(&s, "; in %d processes", r->processes);
	return s.data;
}

/* ---- the last statement ---- */

/* A function called for each row of a table may run a query each time.  So many reports are kept, and no more. */
#define MOST_REPORTS 1000

static FilterReport *reports;
static int	n_reports,
			room;
static TimestampTz statement;	/* that they are of */

static void
KeepReport(const FilterReport *r)
{
	if (n_reports == MOST_REPORTS)
		return;
	if (n_reports == room)
	{
		room = Max(16, 2 * room);
		reports = reports == NULL ? MemoryContextAlloc(TopMemoryContext, room * sizeof(FilterReport)) :
			repalloc(reports, room * sizeof(FilterReport));
	}
	reports[n_reports++] = *r;
}

void
ReportQuery(FilteredQuery *query)
{
	/* a function in SQL ends its queries in memory that lives as long as the statement that calls it */
	MemoryContext old = MemoryContextSwitchTo(query->context);
	ListCell   *lc;

	if (query->statement != statement)
	{
		n_reports = 0;
		statement = query->statement;
	}
	foreach(lc, query->points)
	{
		int			n;
		FilterReport *found = ReportsOfPoint(lfirst(lc), &n);

		for (int i = 0; i < n; i++)
		{
			uint64		counts[1 + N_COUNTS] = {1};

			memcpy(counts + 1, found[i].counts, sizeof(found[i].counts));
			AddToTotals(&runtime_filter_totals, found[i].role, counts);
			KeepReport(&found[i]);
		}
	}
	MemoryContextSwitchTo(old);
}

PG_FUNCTION_INFO_V1(bloomx_last_runtime_filters);
Datum
bloomx_last_runtime_filters(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n_reports; i++)
	{
		FilterReport *r = &reports[i];
		bool		has_table = NameStr(r->table)[0] != '\0',
					has_column = NameStr(r->column)[0] != '\0';
		Datum		values[] = {
			Int32GetDatum(r->join_node), Int32GetDatum(r->site_node),
			has_table ? CStringGetTextDatum(NameStr(r->table)) : (Datum) 0,
			has_column ? CStringGetTextDatum(NameStr(r->column)) : (Datum) 0,
			Int32GetDatum(r->n_keys), CStringGetTextDatum(r->kind),
			Int64GetDatum(r->build_rows), Int64GetDatum(r->bytes),
			[8 + N_COUNTS] = Int32GetDatum(r->processes)
		};
		bool		nulls[lengthof(values)] = {false};

		if (r->role != GetUserId())
			continue;
		nulls[2] = !has_table;
		nulls[3] = !has_column;
		for (int j = 0; j < N_COUNTS; j++)
			values[8 + j] = Int64GetDatum(r->counts[j]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
