/*
 * aggplan.c - what the planner expects of an aggregate.
 */
#include "pg/functions/functions.h"

#include <math.h>

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "pg/value/growth.h"

/* The plan of the aggregation that calls, or NULL: a window function has none. */
static const Agg *
AggPlan(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, AggState))
		return NULL;
	return (const Agg *) ((const AggState *) fcinfo->context)->ss.ps.plan;
}

double
ExpectedRows(FunctionCallInfo fcinfo)
{
	const Agg  *plan = AggPlan(fcinfo);

	return plan != NULL && plan->numGroups > 0 ? outerPlan(plan)->plan_rows / (double) plan->numGroups : 0;
}

/*
 * By what the planner divides the rows among the processes of a parallel plan: the
 * workers, and a leader who has less time the more workers he serves.  A process
 * does not know how many workers were planned.  For a large table they usually are
 * as many as the setting allows; more are expected if they are not.
 */
static double
ParallelDivisor(void)
{
	double		workers = max_parallel_workers_per_gather;

	return workers + (parallel_leader_participation ? fmax(0, 1 - 0.3 * workers) : 0);
}

/*
 * Each process of a parallel plan sees a share of the rows, but the filters of
 * all processes become one.  A node that combines them sees only states: it may
 * get as many sets of hashes as there are processes.
 */
double
ExpectedKeys(FunctionCallInfo fcinfo)
{
	const Agg  *plan = AggPlan(fcinfo);

	if (plan != NULL && DO_AGGSPLIT_COMBINE(plan->aggsplit))
		return (max_parallel_workers_per_gather + 1) * (double) (GrowthFor(0).early_bytes / sizeof(uint64));
	return ExpectedRows(fcinfo) * (plan != NULL && DO_AGGSPLIT_SKIPFINAL(plan->aggsplit) ? fmax(1, ParallelDivisor()) : 1);
}

/* There may be many more groups in a hash table than the planner thinks: they begin small. */
bool
BeginsAsFilter(FunctionCallInfo fcinfo, const blx_geometry *planned)
{
	const Agg  *plan = AggPlan(fcinfo);

	return plan != NULL && (plan->aggstrategy == AGG_PLAIN || plan->aggstrategy == AGG_SORTED) &&
		8 * ExpectedRows(fcinfo) >= (double) blx_bytes(planned, 0);
}
