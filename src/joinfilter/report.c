/*
 * report.c - what filters did: in the log, and in bloomx_join_filters().
 *
 * The reports of the last statement with a hash join are kept, also those of the
 * queries within its functions.
 */
#include "postgres.h"

#include "funcapi.h"
#include "lib/stringinfo.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "joinfilter/joinfilter.h"

/* A function called for each row of a table may run a query each time.  So many reports are kept, and no more. */
#define MOST_REPORTS 1000

static FilterReport *reports;
static int	n_reports,
			n_allocated;
static TimestampTz statement;	/* that they are of */

/* Of this session. */
static struct
{
	uint64		filters,
				checked,
				dropped,
				pages,
				pages_skipped,
				partitions,
				partitions_skipped,
				pauses;
}			totals;

static void
NameSite(FilterReport *report, const SiteFilter *sf)
{
	PlanState  *ps = sf->site->ps;

	if (sf->columns[0] == 0)
		return;
	namestrcpy(&report->table, exec_rt_fetch(((Scan *) ps->plan)->scanrelid, ps->state)->eref->aliasname);
	namestrcpy(&report->column,
			   get_attname(RelationGetRelid(((ScanState *) ps)->ss_currentRelation), sf->columns[0], false));
}

FilterReport
MakeFilterReport(const SiteFilter *sf)
{
	const JoinFilter *filter = sf->filter;
	FilterReport report = {0};

	report.join_node = filter->join->plan->plan_node_id;
	report.site_node = sf->site->ps->plan->plan_node_id;
	NameSite(&report, sf);
	report.n_keys = sf->n_keys;
	strlcpy(report.kind, filter->is_complete ? KeySetFormName(sf->set) : "not built", sizeof(report.kind));
	report.build_rows = filter->rows;
	report.bytes = filter->is_complete ? KeySetBytes(sf->set) : 0;
	report.checked = sf->checked;
	report.dropped = sf->dropped;
	report.pages = PagesSeen(sf);
	report.pages_skipped = sf->pages_skipped;
	report.partitions = sf->partitions;
	report.partitions_skipped = sf->partitions_skipped;
	report.pauses = sf->pauses;
	return report;
}

void
DescribeFilter(const FilterReport *r, char *line, size_t size)
{
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfo(&s, "join filter of node %d", r->join_node);
	if (NameStr(r->column)[0] != '\0')
		appendStringInfo(&s, " on %s", NameStr(r->column));
	if (r->n_keys > 1)
		appendStringInfo(&s, " and %d more", r->n_keys - 1);
	appendStringInfo(&s, ": %s, " UINT64_FORMAT " build rows, " UINT64_FORMAT " bytes; "
					 UINT64_FORMAT " of " UINT64_FORMAT " rows dropped",
					 r->kind, r->build_rows, r->bytes, r->dropped, r->checked);
	if (r->pages > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " of " UINT64_FORMAT " pages skipped", r->pages_skipped, r->pages);
	if (r->partitions > 0)
		appendStringInfo(&s, "; partition %s", r->partitions_skipped == r->partitions ? "skipped" :
						 r->partitions_skipped == 0 ? "read" : "skipped at times");
	if (r->pauses > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " pauses", r->pauses);
	strlcpy(line, s.data, size);
	pfree(s.data);
}

static void
AddToTotals(const FilterReport *r)
{
	totals.filters++;
	totals.checked += r->checked;
	totals.dropped += r->dropped;
	totals.pages += r->pages;
	totals.pages_skipped += r->pages_skipped;
	totals.partitions += r->partitions;
	totals.partitions_skipped += r->partitions_skipped;
	totals.pauses += r->pauses;
}

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
			 NameStr(r->table)[0] == '\0' ? 0 : errdetail("The rows are those of \"%s\".", NameStr(r->table)),
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
	foreach(lc, query->sites)
	{
		Site	   *site = lfirst(lc);

		for (int i = 0; i < site->n_filters; i++)
		{
			FilterReport report = MakeFilterReport(site->filters[i]);

			AddToTotals(&report);
			KeepReport(&report);
			if (bloomx_join_filter_log)
				LogReport(&report);
		}
	}
}

PG_FUNCTION_INFO_V1(bloomx_join_filters);
Datum
bloomx_join_filters(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n_reports; i++)
	{
		FilterReport *r = &reports[i];
		bool		has_table = NameStr(r->table)[0] != '\0';
		Datum		values[] = {
			Int32GetDatum(r->join_node), Int32GetDatum(r->site_node),
			has_table ? CStringGetTextDatum(NameStr(r->table)) : (Datum) 0,
			has_table ? CStringGetTextDatum(NameStr(r->column)) : (Datum) 0,
			Int32GetDatum(r->n_keys), CStringGetTextDatum(r->kind),
			Int64GetDatum(r->build_rows), Int64GetDatum(r->bytes),
			Int64GetDatum(r->checked), Int64GetDatum(r->dropped),
			Int64GetDatum(r->pages), Int64GetDatum(r->pages_skipped),
			Int64GetDatum(r->partitions), Int64GetDatum(r->partitions_skipped),
			Int64GetDatum(r->pauses)
		};
		bool		nulls[lengthof(values)] = {false};

		nulls[2] = nulls[3] = !has_table;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(bloomx_join_filter_totals);
Datum
bloomx_join_filter_totals(PG_FUNCTION_ARGS)
{
	Datum		values[] = {
		Int64GetDatum(totals.filters), Int64GetDatum(totals.checked), Int64GetDatum(totals.dropped),
		Int64GetDatum(totals.pages), Int64GetDatum(totals.pages_skipped),
		Int64GetDatum(totals.partitions), Int64GetDatum(totals.partitions_skipped), Int64GetDatum(totals.pauses)
	};
	bool		nulls[lengthof(values)] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
