/*
 * workers.c - what the processes of a parallel query tell one another.
 *
 * Each process of a parallel query has its own plan states, points and filters.  In a
 * segment of dynamic shared memory they leave what the leader shall report, and the
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

#include "runtimefilter/runtimefilter.h"

#define SETTING "bloomx.runtime_filter_segment"

#define SEGMENT_MAGIC 0x626c6a66

/* What the workers' filter did at a filter point. */
typedef struct SharedCounts
{
	/* whose: numbers in the plan, and the column */
	int			join_node,
				site_node;
	AttrNumber	attno;

	int			processes;		/* that asked the filter */
	uint64		counts[N_COUNTS];
	/* of one of them */
	char		kind[16];
	uint64		build_rows,
				bytes;
} SharedCounts;

/* Keys that fit into this much memory of the segment need no segment of their own. */
#define AREA_BYTES (256 * 1024)

struct SharedQuery
{
	uint32		magic;
	slock_t		mutex;			/* of all counts: each process adds but once per filter */
	int			n_counts;
	int			n_builds;
	Size		builds;			/* where they are: SharedBuild each */
	Size		area;			/* where it is, if there are builds */
	XLogRecPtr	position;		/* the leader's */
	SharedCounts counts[FLEXIBLE_ARRAY_MEMBER];
};

static SharedBuild *
NthBuild(SharedQuery *shared, int n)
{
	return (SharedBuild *) ((char *) shared + shared->builds) + n;
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

void
DefineWorkerSetting(void)
{
	DefineCustomIntVariable(SETTING,
							"Identifies the shared memory of the query for which parallel workers start.",
							NULL,
							&segment_setting, (int) DSM_HANDLE_INVALID, INT_MIN, INT_MAX,
							PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							CheckSegment, NULL, NULL);
}

dsm_handle
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

static void
Keep(FilteredQuery *query, dsm_segment *segment)
{
	/* until the query's memory is freed */
	dsm_pin_mapping(segment);
	query->segment = segment;
	query->shared = dsm_segment_address(segment);
}

static bool
CountsAreOf(const SharedCounts *counts, const AppliedFilter *applied)
{
	return counts->join_node == applied->filter->join->plan->plan_node_id &&
		counts->site_node == applied->point->ps->plan->plan_node_id && counts->attno == applied->attnos[0];
}

static void
NameCounts(SharedCounts *counts, AppliedFilter *applied)
{
	counts->join_node = applied->filter->join->plan->plan_node_id;
	counts->site_node = applied->point->ps->plan->plan_node_id;
	counts->attno = applied->attnos[0];
}

/* The leader's: places for each filter at each point.  Some may not be below a Gather; they are not many. */
static void
ClaimCounts(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
		{
			point->filters[i]->shared = query->shared->n_counts++;
			NameCounts(&query->shared->counts[point->filters[i]->shared], point->filters[i]);
		}
	}
}

static bool
IsBuiltInParts(const RuntimeFilter *filter)
{
	return filter->is_shared && !filter->reads_table;
}

/* The leader's: where processes leave the keys of a Parallel Hash. */
static void
MakeBuilds(FilteredQuery *query)
{
	SharedQuery *shared = query->shared;
	ListCell   *lc;

	foreach(lc, query->filters)
	{
		RuntimeFilter *filter = lfirst(lc);

		if (!IsBuiltInParts(filter))
			continue;
		filter->shared_build = NthBuild(shared, shared->n_builds++);
		filter->shared_build->join_node = filter->join->plan->plan_node_id;
		SpinLockInit(&filter->shared_build->mutex);
	}
}

static void
MakeSegment(FilteredQuery *query)
{
	MemoryContext old;
	dsm_segment *segment;
	ListCell   *lc;
	int			n_counts = 0,
				n_builds = 0;
	Size		builds,
				area,
				size;

	foreach(lc, query->points)
		n_counts += ((FilterPoint *) lfirst(lc))->n_filters;
	foreach(lc, query->filters)
		n_builds += IsBuiltInParts(lfirst(lc));
	builds = MAXALIGN(offsetof(SharedQuery, counts) + n_counts * sizeof(SharedCounts));
	area = MAXALIGN(builds + n_builds * sizeof(SharedBuild));
	size = area + (n_builds > 0 ? AREA_BYTES : 0);
	segment = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		return;
	Keep(query, segment);
	memset(query->shared, 0, area);
	query->shared->magic = SEGMENT_MAGIC;
	query->shared->builds = builds;
	query->shared->area = area;
	query->shared->position = query->position;
	SpinLockInit(&query->shared->mutex);
	ClaimCounts(query);
	MakeBuilds(query);
	if (n_builds == 0)
		return;
	old = MemoryContextSwitchTo(query->context);
	query->area = dsa_create_in_place((char *) query->shared + area, AREA_BYTES, LWTRANCHE_PARALLEL_QUERY_DSA, segment);
	dsa_pin_mapping(query->area);
	MemoryContextSwitchTo(old);
}

/* A worker's: the places that its leader has made. */
static void
FindCounts(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
			for (int j = 0; j < query->shared->n_counts; j++)
				if (CountsAreOf(&query->shared->counts[j], point->filters[i]))
					point->filters[i]->shared = j;
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
 * not leave the keys of the rows that it reads.  Then no process may have a filter.
 */
static bool
FindBuilds(PlanState *ps, void *context)
{
	FilteredQuery *query = context;

	for (int i = 0; i < query->shared->n_builds; i++)
	{
		SharedBuild *build = NthBuild(query->shared, i);
		RuntimeFilter *filter;

		if (build->join_node != ps->plan->plan_node_id)
			continue;
		filter = FilterOf(query, ps);
		if (filter != NULL)
			filter->shared_build = build;
		else
		{
			SpinLockAcquire(&build->mutex);
			build->is_given_up = true;
			SpinLockRelease(&build->mutex);
		}
	}
	return false;
}

static void
JoinSegment(FilteredQuery *query, PlanState *top, dsm_handle handle)
{
	dsm_segment *segment = dsm_attach(handle);

	/* the leader leaves it after its workers */
	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment of runtime filters")));
	Keep(query, segment);
	if (query->shared->magic != SEGMENT_MAGIC)
		elog(ERROR, "dynamic shared memory segment does not belong to runtime filters");
	query->position = Max(query->position, query->shared->position);
	FindCounts(query);
	if (query->shared->n_builds == 0)
		return;
	query->area = dsa_attach_in_place((char *) query->shared + query->shared->area, segment);
	dsa_pin_mapping(query->area);
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

	if (filter != NULL && filter->is_shared)
		ForgetShared(filter);
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
	(void) VisitPlan(ps, ForgetBuilds, query);
	if (!ps->state->es_use_parallel_mode)
		return point->gather(ps);
	/* as the Gather would: afterwards nothing runs a query until workers have been given the setting */
	ExecSetParamPlanMulti(IsA(ps, GatherState) ? ((Gather *) ps->plan)->initParam : ((GatherMerge *) ps->plan)->initParam,
						  GetPerTupleExprContext(ps->state));
	if (query->shared == NULL)
		MakeSegment(query);
	return ExecGatherWithSegment(point, query->segment == NULL ? DSM_HANDLE_INVALID : dsm_segment_handle(query->segment));
}

/* True if the node is a filter point, other than the Gather itself, at which rows are dropped. */
static bool
IsFiltered(PlanState *ps, void *gather)
{
	FilterPoint *point = FindPoint(ps);

	return point != NULL && point->n_filters > 0 && ps != gather;
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

void
ShareQuery(FilteredQuery *query, PlanState *top, dsm_handle leader)
{
	if (leader != DSM_HANDLE_INVALID)
		JoinSegment(query, top, leader);
	else
		(void) VisitPlan(top, VisitGather, query);
}

/* ---- counts ---- */

static void
TellCounts(SharedQuery *shared, const AppliedFilter *applied)
{
	FilterReport report = MakeOwnReport(applied);
	SharedCounts *counts = &shared->counts[applied->shared];

	if (report.processes == 0)
		return;
	SpinLockAcquire(&shared->mutex);
	counts->processes += report.processes;
	for (int i = 0; i < N_COUNTS; i++)
		counts->counts[i] += report.counts[i];
	memcpy(counts->kind, report.kind, sizeof(counts->kind));
	counts->build_rows = report.build_rows;
	counts->bytes = report.bytes;
	SpinLockRelease(&shared->mutex);
}

void
TellLeader(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		for (int i = 0; i < point->n_filters; i++)
			if (point->filters[i]->shared >= 0)
				TellCounts(query->shared, point->filters[i]);
	}
}

FilterReport
MakeFilterReport(const AppliedFilter *applied)
{
	FilterReport report = MakeOwnReport(applied);
	SharedQuery *shared = applied->point->query->shared;
	SharedCounts counts;

	if (applied->shared < 0 || shared == NULL || IsParallelWorker())
		return report;
	SpinLockAcquire(&shared->mutex);
	counts = shared->counts[applied->shared];
	SpinLockRelease(&shared->mutex);
	/* the leader may have left all of the work to them */
	if (report.processes == 0 && counts.processes > 0)
	{
		memcpy(report.kind, counts.kind, sizeof(report.kind));
		report.build_rows = counts.build_rows;
		report.bytes = counts.bytes;
	}
	report.processes += counts.processes;
	for (int i = 0; i < N_COUNTS; i++)
		report.counts[i] += counts.counts[i];
	return report;
}
