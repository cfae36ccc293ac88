/*
 * report.c - what a filter did at a filter point, in this process.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

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
	if (applied->columns[0] != 0)
		namestrcpy(&report->column,
				   get_attname(RelationGetRelid(((ScanState *) ps)->ss_currentRelation), applied->columns[0], false));
}

FilterReport
MakeOwnReport(const AppliedFilter *applied)
{
	const RuntimeFilter *filter = applied->filter;
	FilterReport report = {0};

	report.role = filter->query->role;
	report.join_node = filter->join->plan->plan_node_id;
	report.site_node = applied->point->ps->plan->plan_node_id;
	NamePoint(&report, applied);
	report.n_keys = applied->n_keys;
	strlcpy(report.kind, filter->state == FILTER_COMPLETE ? KeySetFormName(applied->set) : "not built", sizeof(report.kind));
	report.build_rows = filter->rows;
	report.bytes = filter->state == FILTER_COMPLETE ? KeySetBytes(applied->set) : 0;
	memcpy(report.counts, applied->counts, sizeof(report.counts));
	report.counts[PAGES] = PagesSeen(applied);
	report.processes = report.counts[ROWS_CHECKED] > 0 || report.counts[PAGES] > 0 || report.counts[PARTITIONS] > 0;
	return report;
}

FilterReport
MakeFilterReport(const AppliedFilter *applied)
{
	FilterReport report = MakeOwnReport(applied);

	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->add_to_report != NULL)
			part->add_to_report(applied, &report);
	return report;
}

void
DescribeFilter(const FilterReport *r, char *line, size_t size)
{
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfo(&s, "runtime filter of node %d", r->join_node);
	if (NameStr(r->column)[0] != '\0')
		appendStringInfo(&s, " on %s", NameStr(r->column));
	if (r->n_keys > 1)
		appendStringInfo(&s, " and %d more", r->n_keys - 1);
	appendStringInfo(&s, ": %s, " UINT64_FORMAT " build rows, " UINT64_FORMAT " bytes; "
					 UINT64_FORMAT " of " UINT64_FORMAT " rows dropped",
					 r->kind, r->build_rows, r->bytes, r->counts[ROWS_DROPPED], r->counts[ROWS_CHECKED]);
	if (r->counts[PAGES] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " of " UINT64_FORMAT " pages skipped", r->counts[PAGES_SKIPPED],
						 r->counts[PAGES]);
	if (r->counts[PARTITIONS] > 0)
		appendStringInfo(&s, "; partition %s", r->counts[PARTITIONS_SKIPPED] == r->counts[PARTITIONS] ? "skipped" :
						 r->counts[PARTITIONS_SKIPPED] == 0 ? "read" : "skipped at times");
	if (r->counts[PAUSES] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " pauses", r->counts[PAUSES]);
	if (r->counts[BYTES_SENT] > 0)
		appendStringInfo(&s, "; " UINT64_FORMAT " bytes sent", r->counts[BYTES_SENT]);
	if (r->processes > 1)
		appendStringInfo(&s, "; in %d processes", r->processes);
	strlcpy(line, s.data, size);
	pfree(s.data);
}
