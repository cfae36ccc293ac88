/*
 * aggplan.c - what the planner expects of an aggregate.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

#include <math.h>

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

/* The plan of the aggregation that calls, or NULL: a window function has none. */
static const Agg *
AggPlan(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, AggState))
		return NULL;
	return (const Agg *) ((const AggState *) fcinfo->context)->ss.ps.plan;
}

static double
RowsPerGroup(const Agg *plan)
{
	return plan->numGroups > 0 ? outerPlan(plan)->plan_rows / (double) plan->numGroups : 0;
}

double
ExpectedRows(FunctionCallInfo fcinfo)
{
	const Agg  *plan = AggPlan(fcinfo);

	return plan != NULL ? RowsPerGroup(plan) : 0;
}

/*
 * By what the planner divides the rows among the processes of a parallel plan: the
 * workers, and a leader who has less time the more workers he serves.
 */
static double
ParallelDivisor(int workers)
{
	return fmax(1, workers + (parallel_leader_participation ? fmax(0, 1 - 0.3 * workers) : 0));
}

/*
 * Each process of a parallel plan sees a share of the rows, but the filters of all
 * become one.  A process does not know how many workers were planned.  For a large
 * table they usually are as many as the setting allows; more keys are expected if
 * they are not.
 */
static double
RowsOfProcess(const Agg *plan, int workers)
{
	return RowsPerGroup(plan) * (DO_AGGSPLIT_SKIPFINAL(plan->aggsplit) ? ParallelDivisor(workers) : 1);
}

/* The rows of all processes whose states come from this node; 0 = not known. */
static double
RowsOfStates(const Plan *node)
{
	int			workers = max_parallel_workers_per_gather;

	for (; node != NULL; node = outerPlan(node))
		switch (nodeTag(node))
		{
			case T_Gather:
				workers = ((const Gather *) node)->num_workers;
				break;
			case T_GatherMerge:
				workers = ((const GatherMerge *) node)->num_workers;
				break;
			case T_Sort:
			case T_IncrementalSort:
				break;
			case T_Agg:
				return RowsOfProcess((const Agg *) node, workers);
			default:
				return 0;
		}
	return 0;
}

/*
 * A node that combines states expects what their processes did, so that sets of
 * hashes stay sets where a single process would have kept one.  If more keys have
 * come than an uncut filter would be planned for, nobody knows how many will: it
 * sees only states, and may get as many sets as there are processes.
 */
double
ExpectedKeys(FunctionCallInfo fcinfo, uint64 count)
{
	const Agg  *plan = AggPlan(fcinfo);
	double		rows;

	if (plan == NULL)
		return 0;
	if (!DO_AGGSPLIT_COMBINE(plan->aggsplit))
		return RowsOfProcess(plan, max_parallel_workers_per_gather);
	rows = RowsOfStates(outerPlan(plan));
	if (rows > 0 && BLX_UNCUT_MARGIN * rows >= (double) count)
		return rows;
	return (max_parallel_workers_per_gather + 1) * (double) (GrowthFor(0).early_bytes / sizeof(uint64));
}

/* There may be many more groups in a hash table than the planner thinks: they begin small. */
bool
BeginsAsFilter(FunctionCallInfo fcinfo, const blx_geometry *planned)
{
	const Agg  *plan = AggPlan(fcinfo);

	return plan != NULL && (plan->aggstrategy == AGG_PLAIN || plan->aggstrategy == AGG_SORTED) &&
		8 * ExpectedRows(fcinfo) >= (double) blx_bytes(planned, 0);
}
