/*
 * statement.c - what the filters of the last statement did: in the log, and in
 * bloomx_last_runtime_filters().
 *
 * The reports of the last statement with a hash join are kept, also those of the
 * queries within its functions.  A role sees those of its own queries: a function may
 * run queries as its owner, and sessions change their role.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "runtimefilter/report/report.h"

/* A function called for each row of a table may run a query each time.  So many reports are kept, and no more. */
#define MOST_REPORTS 1000

static FilterReport *reports;
static int	n_reports,
			n_allocated;
static TimestampTz statement;	/* that they are of */

static void
KeepReport(const FilterReport *r)
{
	if (n_reports >= MOST_REPORTS)
		return;
	if (n_reports == n_allocated)
	{
		int			n = n_allocated == 0 ? 16 : n_allocated * 2;

		reports = reports == NULL ? MemoryContextAlloc(TopMemoryContext, n * sizeof(FilterReport)) :
			repalloc(reports, n * sizeof(FilterReport));
		n_allocated = n;
	}
	reports[n_reports++] = *r;
}

static void
LogReport(const FilterReport *r)
{
	char		line[512];

	DescribeFilter(r, line, sizeof(line));
	ereport(LOG,
			(errmsg("%s", line),
			 NameStr(r->table)[0] == '\0' ? 0 : errdetail("The filter was applied to rows of \"%s\".", NameStr(r->table)),
			 errhidestmt(true)));
}

void
ReportQuery(FilteredQuery *query)
{
	ListCell   *lc;

	if (query->statement != statement)
	{
		n_reports = 0;
		statement = query->statement;
	}
	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
		{
			FilterReport report = MakeFilterReport(point->filters[i]);

			AddToTotals(report.role, report.counts);
			KeepReport(&report);
			if (bloomx_runtime_filter_log)
				LogReport(&report);
		}
	}
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
