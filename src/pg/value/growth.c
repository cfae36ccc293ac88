/*
 * growth.c - filters whose size is not known yet: how the core's open sets
 * grow (core/filter/growth.c) within the memory that PostgreSQL allows.
 */
#include "pg/base/bloomx.h"


#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "port/pg_bitutils.h"

/* The plan of the aggregation that calls, or NULL: a window has none. */
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

/* How large an unplanned set of hashes may get. */
static uint64
BuildMemory(void)
{
	if (bloomx_build_mem >= 0)
		return (uint64) bloomx_build_mem * 1024;
	return Min(Max(get_hash_memory_limit(), MIN_BUILD_MEM * 1024), BLX_MAX_BYTES);
}

/*
 * Each process of a parallel plan sees a share of the rows, but the filters of
 * all become one.  What combines them sees only states: of them it may get as
 * many sets of hashes as there are processes.
 */
double
ExpectedKeys(FunctionCallInfo fcinfo)
{
	const Agg  *plan = AggPlan(fcinfo);
	double		processes = max_parallel_workers_per_gather + 1;

	if (plan != NULL && DO_AGGSPLIT_COMBINE(plan->aggsplit))
		return processes * (double) (BuildMemory() / sizeof(uint64));
	return ExpectedRows(fcinfo) * (plan != NULL && DO_AGGSPLIT_SKIPFINAL(plan->aggsplit) ? processes : 1);
}

/* Of groups in a hash table there may be many more than the planner thinks: they begin small. */
bool
BeginsAsFilter(FunctionCallInfo fcinfo, const blx_geometry *planned)
{
	const Agg  *plan = AggPlan(fcinfo);

	return plan != NULL && (plan->aggstrategy == AGG_PLAIN || plan->aggstrategy == AGG_SORTED) &&
		8 * ExpectedRows(fcinfo) >= (double) blx_bytes(planned, 0);
}

/* ---- limits ---- */

/*
 * The filter that takes over when an unplanned set has become too large.  With a
 * bloomx.build_mem that somebody set, it is the one of that size that carries
 * the most keys at the default rate.
 *
 * By default the limit is work_mem's, which most leave at 4 MB.  The filter is
 * the result, however, and results have no such limit (nor has array_agg's): a
 * filter that is too small would break its promise only because the memory was
 * small.  So it is made for as many keys as the planner expects rows, and a
 * quarter more, for the guess is a guess.  It may be far too high as well, where
 * keys repeat: the filter takes at most PENDING_FACTOR times the limit.  That is
 * by how much a key takes less in a filter than in a set of hashes, 11 bits
 * against 10.7 bytes.  With the default of 8 MB the set has up to 786,000 keys,
 * the least filter holds 5.8 million and the largest 46 million.
 *
 * Two other ways were considered.  A filter can grow in place, by expansion, but
 * an expanded filter is as full as it was, so each stage must leave most of its
 * bits to the next: eight doublings, each with an eighth of the load, take 5 to
 * 8 times the result's memory and give a result of up to twice its size.
 * Spilling the hashes to disk would make the state a file, and a state must be a
 * value that can be sent to another process.
 */
#define PENDING_FACTOR 8

static void
Poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

static blx_growth
Growth(double expected)
{
	uint64		least = BuildMemory();

	return (blx_growth) {
		.memory = &FilterMemory,
		.set_bytes = least,
		.filter_bytes = bloomx_build_mem >= 0 ? least : Min(PENDING_FACTOR * least, BLX_MAX_BYTES),
		.expected = expected,
		.fpr = DEFAULT_FPR,
		.poll = Poll,
	};
}

/* ---- open sets ---- */

blx_filter *
NewHashes(const blx_geometry *planned, const blx_identity *identity, uint64 capacity, double expected)
{
	blx_error	error;

	return CheckResult(blx_open_expecting(planned, identity, capacity, expected, &FilterMemory, &error), &error);
}

bool
LayoutTakesHashes(uint8 layout)
{
	return blx_takes_sets(layout);
}

blx_filter *
CopyHashes(const blx_filter *open, uint64 slots, const blx_identity *identity)
{
	blx_error	error;

	return CheckResult(blx_copy_set(open, slots, identity, &FilterMemory, &error), &error);
}

blx_filter *
LargerHashes(const blx_filter *open)
{
	blx_error	error;

	return CheckResult(blx_larger_set(open, &FilterMemory, &error), &error);
}

blx_filter *
GrowFilter(const blx_filter *f)
{
	uint64		size;
	blx_error	error;
	blx_filter *result;

	if (!blx_grown_bytes(f, &size, &error))
		ThrowCoreError(&error);
	result = AllocFilter(size);
	blx_grow(result, f);
	return result;
}

blx_filter *
AddHashes(blx_filter *f, const uint64 *hashes, size_t n)
{
	return AddExpectedHashes(f, hashes, n, 0);
}

blx_filter *
AddExpectedHashes(blx_filter *f, const uint64 *hashes, size_t n, double expected)
{
	blx_growth	growth = Growth(expected);
	blx_error	error;

	return CheckResult(blx_add_growing(f, hashes, n, &growth, &error), &error);
}

blx_filter *
MakeRoomForHashes(blx_filter *f, uint64 count, double expected)
{
	blx_growth	growth = Growth(expected);
	blx_error	error;

	return CheckResult(blx_make_room(f, count, &growth, &error), &error);
}

/*
 * The plan for a number of keys at the default rate.  A GROUP BY asks for the
 * same small numbers over and over: for these the plan is kept, in the two
 * numbers that it consists of.
 */
static blx_geometry
PlanForCount(uint64 count)
{
	static struct
	{
		uint8		log2_blocks;
		uint8		parts;			/* 0: not planned yet */
	}			plans[1024];
	blx_geometry geometry = {.layout = BLX_PARTITIONED_BLOCKED, .probes = 1, .part_bits = 64};
	blx_error	error;

	if (count < lengthof(plans) && plans[count].parts != 0)
	{
		geometry.blocks = UINT32_C(1) << plans[count].log2_blocks;
		geometry.parts = plans[count].parts;
		return geometry;
	}
	if (!blx_plan(BLX_PARTITIONED_BLOCKED, count, DEFAULT_FPR, NULL, &geometry, &error))
		ThrowCoreError(&error);
	if (count < lengthof(plans))
	{
		plans[count].log2_blocks = (uint8) pg_leftmost_one_pos32(geometry.blocks);
		plans[count].parts = (uint8) geometry.parts;
	}
	return geometry;
}

blx_filter *
FinishFilter(const blx_filter *open)
{
	blx_identity identity = blx_identity_of(open);
	blx_geometry geometry = blx_geometry_of(open);
	blx_error	error;

	if (open->layout == BLX_HASHES && !open->pending)
	{
		if (blx_hashes_count(open) == 0)
			return NewEmptyFilter(&identity);
		geometry = PlanForCount(blx_hashes_count(open));
	}
	return CheckResult(blx_finish_as(open, &geometry, DEFAULT_FPR, &FilterMemory, &error), &error);
}

/* ---- union ---- */

blx_filter *
UnionFilters(const blx_filter *a, const blx_filter *b)
{
	blx_growth	growth = Growth(0);
	blx_error	error;

	return CheckResult(blx_unite_within(a, b, &growth, &error), &error);
}
