/*
 * stageplan.c - the shapes of stages.
 *
 * A set with a capacity has one stage, with the geometry that bloom_plan gives, if that
 * has at most eight parts: then it is the filter that bloom_agg makes.  More parts would
 * be more pages to lock and to log for each key, so a lower rate takes eight parts and
 * more blocks, as many as it needs.
 *
 * A set without one is a chain that grows.  Stage i, counted from 1, may reach the rate
 * 6 / (pi^2 i^2) of the whole: these shares add up to 1 (Almeida, Baquero, Preguica,
 * Hutchison 2007 have a geometric series, which makes the later stages large).  Each new
 * stage is four times as large as the one before, up to a bound: only the pages of the
 * newest stage change, so that is what a checkpoint can cost in images of pages.
 * Stages have eight parts and 2^e blocks, so that a chain is a scalable filter.
 */
#include "pg/bloomset/stages/stageplan.h"

#include <math.h>

#include "core/kernels/block.h"
#include "core/theory/theory.h"

/* The first stage of a set that begins empty: 64 kB, some 30,000 keys at 1 %. */
#define FIRST_BLOCKS (UINT64CONST(1) << 10)
#define GROWTH 4

/* The most blocks of eight parts in a relation. */
#define MAX_BLOCKS ((uint64) (MaxBlockNumber - 1) * (SET_PAGE_WORDS / BLX_GROUP))

double
RateOfStage(const SetStage *stage, double n)
{
	return n < 1 ? 0 : blx_fpr_partitioned_blocked((uint64) n, stage->blocks, stage->parts);
}

/* Each key sets one of the 64 bits of a part in one block. */
double
ShareOfKeys(const SetStage *stage, double n)
{
	return -expm1(n * log1p(-1.0 / (64.0 * stage->blocks)));
}

double
KeysOfShare(const SetStage *stage, double share)
{
	/* the last key that can be told of, if all bits are set */
	double		blank = Max(1 - share, 1.0 / (64.0 * stage->blocks * stage->parts));

	return log(blank) / log1p(-1.0 / (64.0 * stage->blocks));
}

/* The most keys with which a stage has at most that rate. */
static uint64
KeysAtRate(const SetStage *stage, double fpr)
{
	uint64		low = 0,
				high = Min(stage->blocks * 2048, SET_MAX_CAPACITY);

	while (low < high)
	{
		uint64		middle = low + (high - low + 1) / 2;

		if (RateOfStage(stage, middle) <= fpr)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static double
ShareOfStage(const SetMeta *meta, uint32 i)
{
	return meta->fpr * 6 / (M_PI * M_PI * (i + 1.0) * (i + 1.0));
}

/* Eight parts, and the fewest blocks with which `keys` keys have less than that rate. */
static SetStage
EightParts(uint64 keys, double fpr)
{
	SetStage	stage = {.keys = keys, .fpr = fpr, .parts = BLX_GROUP};
	uint64		low = 1,
				high = MAX_BLOCKS;

	while (low < high)
	{
		stage.blocks = low + (high - low) / 2;
		if (RateOfStage(&stage, keys) < fpr)
			high = stage.blocks;
		else
			low = stage.blocks + 1;
	}
	stage.blocks = low;
	return stage;
}

SetStage
PlanOneStage(uint64 capacity, double fpr)
{
	blx_geometry g;
	SetStage	stage;

	if (blx_plan(BLX_PARTITIONED_BLOCKED, capacity, fpr, NULL, &g, NULL) && g.parts <= BLX_GROUP)
		return (SetStage) {.blocks = g.blocks, .keys = capacity, .fpr = fpr, .parts = g.parts};
	stage = EightParts(capacity, fpr);
	if (RateOfStage(&stage, capacity) >= fpr)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a set of " UINT64_FORMAT " keys at a false positive rate of %g is larger than a relation can be", capacity, fpr),
				 errhint("Choose a higher rate, or split the keys among several sets.")));
	return stage;
}

/* A stage of 2^e blocks of eight parts with the rate of stage number i. */
static SetStage
StageOfBlocks(const SetMeta *meta, uint64 blocks)
{
	SetStage	stage = {.blocks = blocks, .fpr = ShareOfStage(meta, meta->stages), .parts = BLX_GROUP};

	stage.keys = Max(KeysAtRate(&stage, stage.fpr), 1);
	return stage;
}

/*
 * If the keys do not fit into a stage of bounded size, they fill stages of any size,
 * the largest first, since a full stage does not change any more; the last one, which
 * has room left, is within the bound.
 */
SetStage
PlanBuiltStage(const SetMeta *meta, uint64 keys)
{
	SetStage	stage = StageOfBlocks(meta, Min(FIRST_BLOCKS, meta->stage_blocks));

	for (;;)
	{
		SetStage	larger = StageOfBlocks(meta, 2 * stage.blocks);

		if (stage.keys >= keys)
			return stage;
		if (larger.blocks > meta->stage_blocks && larger.keys > keys)
			return stage;
		stage = larger;
	}
}

/* The newest stage may be a small filter that was merged: the next one has at least the size of a first one. */
SetStage
PlanNextStage(const SetMeta *meta)
{
	uint64		blocks = meta->expected > 0 ? PlanBuiltStage(meta, meta->expected).blocks : FIRST_BLOCKS;

	if (meta->stages >= SET_BOUNDED_STAGES)
		return StageOfBlocks(meta, Max(Min(blocks, meta->stage_blocks), 2 * meta->stage[meta->stages - 1].blocks));
	if (meta->stages > 0)
		blocks = Max(blocks, GROWTH * meta->stage[meta->stages - 1].blocks);
	return StageOfBlocks(meta, Min(blocks, meta->stage_blocks));
}
