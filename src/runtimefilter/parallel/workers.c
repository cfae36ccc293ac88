/*
 * workers.c - what the processes of a parallel query tell one another.
 *
 * Each process of a parallel query has its own plan states, points and filters.  In a
 * segment of dynamic shared memory they publish what the leader shall report, and the
 * keys that filters need from all of them (sharedbuild.c).  The leader makes the segment
 * when the first Gather above a filter point starts its workers: queries without such a
 * Gather have none.
 *
 * Workers find it by a setting.  A worker gets the values that the settings have
 * when the leader prepares to start it.  So the setting has the segment's handle
 * while a Gather starts.  That includes the leader's first row: a query that starts
 * in a function there takes the handle away, and its Gathers have segments of their
 * own.  Nobody else can set it.
 *
 * If there is no segment to be had, the query runs without one: then each process
 * speaks for itself.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "storage/lwlock.h"
#include "utils/guc.h"

#include "runtimefilter/exec/probe.h"
#include "runtimefilter/parallel/parallel.h"
#include "runtimefilter/plan/pushdown.h"
#include "runtimefilter/report/report.h"

#define SETTING "bloomx.runtime_filter_segment"

#define SEGMENT_MAGIC 0x626c6a66

/* What the workers' filter did at a filter point. */
typedef struct SharedReport
{
	AttrNumber	attno;			/* of the key, beside the numbers of the nodes */
	FilterReport report;		/* of all that have told it */
} SharedReport;

/* Keys that fit into this much memory of the segment need no segment of their own. */
#define AREA_BYTES (256 * 1024)

typedef struct SharedQuery
{
	uint32		magic;
	slock_t		mutex;			/* of all reports: each process adds but once per filter */
	int			n_reports;
	int			n_builds;
	Size		builds;			/* where they are: PartsOfBuild each */
	Size		area;			/* where it is, if there are builds */
	XLogRecPtr	position;		/* the leader's */
	SharedReport reports[FLEXIBLE_ARRAY_MEMBER];
} SharedQuery;

static PartsOfBuild *
NthBuild(SharedQuery *shared, int n)
{
	return (PartsOfBuild *) ((char *) shared + shared->builds) + n;
}

/* ---- the setting ---- */

static int	segment_setting;	/* a dsm_handle */
static int	offered;			/* the last one that this process set */

static bool
CheckSegment(int *value, void **extra, GucSource source)
{
	if (*value == (int) DSM_HANDLE_INVALID || *value == offered || InitializingParallelWorker)
		return true;
	GUC_check_errdetail("The executor sets it for its parallel workers.");
	return false;
}

static void
DefineWorkerSetting(void)
{
	DefineCustomIntVariable(SETTING,
							"Identifies the shared memory of the query for which parallel workers start.",
							NULL,
							&segment_setting, (int) DSM_HANDLE_INVALID, INT_MIN, INT_MAX,
							PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							CheckSegment, NULL, NULL);
}

/*
 * In a parallel worker that starts the plan for which it was made: the segment of
 * the leader's query.  Otherwise, and if the leader has none, DSM_HANDLE_INVALID.
 * To be called before the plan starts, since that may run other queries.
 */
static dsm_handle
TakeLeadersSegment(void)
{
	static bool is_taken = false;

	/* a query within the leader's part: the workers of the Gather have been given their settings */
	if (!IsParallelWorker())
		segment_setting = (int) DSM_HANDLE_INVALID;
	/* the first plan of a worker is the one that it was made for */
	if (is_taken || !IsParallelWorker())
		return DSM_HANDLE_INVALID;
	is_taken = true;
	return (dsm_handle) segment_setting;
}

/* The Gather's method, while the setting is what its workers shall get. */
static TupleTableSlot *
ExecGatherWithSegment(FilterPoint *point, dsm_handle handle)
{
	char		value[16];
	int			level = NewGUCNestLevel();
	TupleTableSlot *slot;

	offered = (int) handle;
	snprintf(value, sizeof(value), "%d", offered);
	(void) set_config_option(SETTING, value, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	slot = point->gather(point->ps);
	AtEOXact_GUC(true, level);
	return slot;
}

/* ---- the segment ---- */

/* Called when the memory of the query is freed. */
static void
LeaveSegment(void *arg)
{
	ParallelQuery *parallel = arg;

	if (parallel->area != NULL)
		dsa_detach(parallel->area);
	dsm_detach(parallel->segment);
}

/* NULL: no segment was to be had. */
static void
KeepSegment(FilteredQuery *query, dsm_segment *segment)
{
	ParallelQuery *parallel = MemoryContextAllocZero(query->context, sizeof(ParallelQuery));

	query->parallel = parallel;
	if (segment == NULL)
		return;
	parallel->segment = segment;
	parallel->shared = dsm_segment_address(segment);
	parallel->at_end.func = LeaveSegment;
	parallel->at_end.arg = parallel;
	/* until the query's memory is freed */
	dsm_pin_mapping(segment);
	MemoryContextRegisterResetCallback(query->context, &parallel->at_end);
}

/* Of a filter at a point, or of the part that has the point: that is of no join, so both nodes are the point's. */
static SharedReport
NameReport(const FilterPoint *point, const AppliedFilter *applied)
{
	SharedReport name = {.attno = applied != NULL ? applied->row_keys[0].column : 0};

	name.report.join_node = (applied != NULL ? applied->filter->join : point->ps)->plan->plan_node_id;
	name.report.site_node = point->ps->plan->plan_node_id;
	return name;
}

/* The number of a report that the leader has made; -1: none. */
static int
FindReport(const SharedQuery *shared, const FilterPoint *point, const AppliedFilter *applied)
{
	SharedReport name = NameReport(point, applied);

	for (int i = 0; i < shared->n_reports; i++)
		if (shared->reports[i].report.join_node == name.report.join_node &&
			shared->reports[i].report.site_node == name.report.site_node && shared->reports[i].attno == name.attno)
			return i;
	return -1;
}

static int
MakeReport(SharedQuery *shared, const FilterPoint *point, const AppliedFilter *applied)
{
	shared->reports[shared->n_reports] = NameReport(point, applied);
	return shared->n_reports++;
}

/* The leader's: one for each filter at each point, and for a part.  Few of them are not below a Gather. */
static void
MakeReports(FilteredQuery *query, SharedQuery *shared)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
			point->filters[i]->shared_report = MakeReport(shared, point, point->filters[i]);
		if (point->part != NULL)
			point->shared_report = MakeReport(shared, point, NULL);
	}
}

static bool
IsPublished(const RuntimeFilter *filter)
{
	return filter->shared != NULL && !filter->reads_table;
}

/* The leader's: where processes publish the keys of a Parallel Hash. */
static void
MakeBuilds(FilteredQuery *query, SharedQuery *shared)
{
	ListCell   *lc;

	foreach(lc, query->filters)
	{
		RuntimeFilter *filter = lfirst(lc);
		PartsOfBuild *parts;

		if (!IsPublished(filter))
			continue;
		parts = NthBuild(shared, shared->n_builds++);
		parts->join_node = filter->join->plan->plan_node_id;
		SpinLockInit(&parts->mutex);
		ParallelBuildOf(filter)->parts = parts;
	}
}

static void
MakeSegment(FilteredQuery *query)
{
	MemoryContext old;
	dsm_segment *segment;
	SharedQuery *shared;
	ListCell   *lc;
	int			n_reports = 0,
				n_builds = 0;
	Size		builds,
				area,
				size;

	foreach(lc, query->points)
		n_reports += ((FilterPoint *) lfirst(lc))->n_filters + 1;
	foreach(lc, query->filters)
		n_builds += IsPublished(lfirst(lc));
	builds = MAXALIGN(offsetof(SharedQuery, reports) + n_reports * sizeof(SharedReport));
	area = MAXALIGN(builds + n_builds * sizeof(PartsOfBuild));
	size = area + (n_builds > 0 ? AREA_BYTES : 0);
	segment = MayShare(size) ? dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS) : NULL;
	KeepSegment(query, segment);
	if (segment == NULL)
		return;
	shared = query->parallel->shared;
	memset(shared, 0, area);
	shared->magic = SEGMENT_MAGIC;
	shared->builds = builds;
	shared->area = area;
	shared->position = query->position;
	SpinLockInit(&shared->mutex);
	MakeReports(query, shared);
	MakeBuilds(query, shared);
	if (n_builds == 0)
		return;
	old = MemoryContextSwitchTo(query->context);
	query->parallel->area = dsa_create_in_place((char *) shared + area, AREA_BYTES, LWTRANCHE_PARALLEL_QUERY_DSA, segment);
	dsa_pin_mapping(query->parallel->area);
	MemoryContextSwitchTo(old);
}

/* A worker's: those that its leader has made. */
static void
FindReports(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
			point->filters[i]->shared_report = FindReport(query->parallel->shared, point, point->filters[i]);
		if (point->part != NULL)
			point->shared_report = FindReport(query->parallel->shared, point, NULL);
	}
}

static RuntimeFilter *
FilterOf(FilteredQuery *query, const PlanState *join)
{
	ListCell   *lc;

	foreach(lc, query->filters)
		if (((RuntimeFilter *) lfirst(lc))->join == join)
			return lfirst(lc);
	return NULL;
}

/*
 * In a worker.  If it has no filter for a join that has one in the leader, it does
 * not publish the keys of the rows that it reads.  Then no process may have a filter.
 */
static bool
FindBuilds(PlanState *ps, void *context)
{
	FilteredQuery *query = context;
	SharedQuery *shared = query->parallel->shared;

	for (int i = 0; i < shared->n_builds; i++)
	{
		PartsOfBuild *parts = NthBuild(shared, i);
		RuntimeFilter *filter;

		if (parts->join_node != ps->plan->plan_node_id)
			continue;
		filter = FilterOf(query, ps);
		if (filter != NULL)
			ParallelBuildOf(filter)->parts = parts;
		else
		{
			SpinLockAcquire(&parts->mutex);
			parts->is_given_up = true;
			SpinLockRelease(&parts->mutex);
		}
	}
	return false;
}

static void
JoinSegment(FilteredQuery *query, PlanState *top, dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);
	SharedQuery *shared;

	/* the leader leaves it after its workers */
	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment of runtime filters")));
	KeepSegment(query, segment);
	shared = query->parallel->shared;
	if (shared->magic != SEGMENT_MAGIC)
		elog(ERROR, "dynamic shared memory segment does not belong to runtime filters");
	query->position = Max(query->position, shared->position);
	FindReports(query);
	if (shared->n_builds == 0)
		return;
	query->parallel->area = dsa_attach_in_place((char *) shared + shared->area, segment);
	dsa_pin_mapping(query->parallel->area);
	(void) VisitPlan(top, FindBuilds, query);
}

/* ---- Gather ---- */

static bool
IsStarting(PlanState *ps)
{
	return !(IsA(ps, GatherState) ? ((GatherState *) ps)->initialized : ((GatherMergeState *) ps)->initialized);
}

/* No other process is at work below the Gather now. */
static bool
ForgetBuilds(PlanState *ps, void *query)
{
	RuntimeFilter *filter = IsA(ps, HashJoinState) ? FilterOf(query, ps) : NULL;

	if (filter != NULL && filter->shared != NULL)
		ForgetParts(filter);
	return false;
}

/* Stands in for the method of a Gather. */
static TupleTableSlot *
ExecSharedGather(PlanState *ps)
{
	FilterPoint *point = FindPoint(ps);
	FilteredQuery *query = point->query;

	if (!IsStarting(ps))
		return point->gather(ps);
	(void) VisitPlan(outerPlanState(ps), ForgetBuilds, query);
	if (!ps->state->es_use_parallel_mode)
		return point->gather(ps);
	/* as the Gather would: afterwards nothing runs a query until workers have been given the setting */
	ExecSetParamPlanMulti(IsA(ps, GatherState) ? ((Gather *) ps->plan)->initParam : ((GatherMerge *) ps->plan)->initParam,
						  GetPerTupleExprContext(ps->state));
	/* not later: workers that start again have the setting that they had first, and would keep their keys to themselves */
	if (query->parallel == NULL)
		MakeSegment(query);
	return ExecGatherWithSegment(point, query->parallel->segment == NULL ? DSM_HANDLE_INVALID :
								 dsm_segment_handle(query->parallel->segment));
}

/* True if the node is a point, other than the Gather itself, of which something is reported. */
static bool
IsFiltered(PlanState *ps, void *gather)
{
	FilterPoint *point = FindPoint(ps);

	return point != NULL && (point->n_filters > 0 || point->part != NULL) && ps != gather;
}

static bool
VisitGather(PlanState *ps, void *query)
{
	FilterPoint *point;

	if ((!IsA(ps, GatherState) && !IsA(ps, GatherMergeState)) || !VisitPlan(ps, IsFiltered, ps))
		return false;
	/* it may be a filter point as well, of a join above */
	point = GetPoint(query, ps, ExecPoint);
	point->gather = point->own;
	point->own = ExecSharedGather;
	return false;
}

/* ---- reports ---- */

static void
TellReport(SharedQuery *shared, int number, const FilterReport *report)
{
	if (report->processes == 0)
		return;
	SpinLockAcquire(&shared->mutex);
	AddReport(&shared->reports[number].report, report);
	SpinLockRelease(&shared->mutex);
}

/* A worker's query ends: tells the leader what its filters did. */
static void
TellLeader(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);
		FilterReport report = {0};

		if (point->shared_report >= 0 && point->part->report(point, &report))
			TellReport(query->parallel->shared, point->shared_report, &report);
		for (int i = 0; i < point->n_filters; i++)
			if (point->filters[i]->shared_report >= 0)
			{
				report = MakeOwnReport(point->filters[i]);
				TellReport(query->parallel->shared, point->filters[i]->shared_report, &report);
			}
	}
}

/* The leader's: adds what they have told. */
static void
AddToReport(const FilteredQuery *query, int number, FilterReport *report)
{
	ParallelQuery *parallel = query->parallel;
	FilterReport told;

	if (number < 0 || parallel == NULL || IsParallelWorker())
		return;
	SpinLockAcquire(&parallel->shared->mutex);
	told = parallel->shared->reports[number].report;
	SpinLockRelease(&parallel->shared->mutex);
	AddReport(report, &told);
}

/* ---- hooks ---- */

static ExecutorStart_hook_type next_start;
static ExecutorEnd_hook_type next_end;

static void
StartHook(QueryDesc *desc, int eflags)
{
	dsm_handle	leader = TakeLeadersSegment();
	FilteredQuery *query;
	MemoryContext old;

	next_start(desc, eflags);
	if (desc->planstate == NULL)
		return;
	query = FindFilteredQuery(desc->estate);
	/* a worker follows its leader, even if the setting was changed after the leader's query began */
	if (query == NULL && leader != DSM_HANDLE_INVALID)
	{
		AttachRuntimeFilters(desc->estate, desc->planstate, true);
		query = FindFilteredQuery(desc->estate);
	}
	if (query == NULL || query->is_shown_only)
		return;
	old = MemoryContextSwitchTo(query->context);
	if (leader != DSM_HANDLE_INVALID)
		JoinSegment(query, desc->planstate, leader);
	else
		(void) VisitPlan(desc->planstate, VisitGather, query);
	MemoryContextSwitchTo(old);
}

static void
EndHook(QueryDesc *desc)
{
	FilteredQuery *query = IsParallelWorker() ? FindFilteredQuery(desc->estate) : NULL;

	if (query != NULL && query->parallel != NULL)
	{
		TellLeader(query);
		query->is_reported = true;
	}
	next_end(desc);
}

/* This room's own hooks are there, so these come before them. */
static void
Load(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = EndHook;
	DefineWorkerSetting();
}

static void __attribute__((constructor))
RegisterParallel(void)
{
	static OptionalPart parallel = {.load = Load, .share = NewParallelBuild, .add_to_report = AddToReport};

	RegisterPart(&parallel);
}
