/*
 * stageplan.c - the shapes of stages.
 *
 * A set with a capacity has one stage, with the geometry that bloom_plan gives, if that
 * has at most eight parts: then it is the filter that bloom_agg makes.  More parts would
 * be more pages to lock and to log for each key, so a lower rate takes eight parts and
 * more blocks, as many as it needs.
 *
 * A set without one is a chain that grows.  If nothing is known of its keys, stage i, counted from 1, may reach the
 * rate 6 / (pi^2 i^2) of the whole: these shares add up to 1 (Almeida, Baquero, Preguica,
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

/*
 * The stages that the expected keys fill share three quarters of the rate equally: with a series, a billion keys would take a
 * quarter more room.  What is left is for keys that were not expected.
 */
#define EXPECTED_SHARE 0.75
#define MOST_EXPECTED_STAGES 100

static uint32
ExpectedStages(const SetMeta *meta)
{
	const SetStage largest = {.blocks = meta->stage_blocks, .parts = BLX_GROUP};
	uint64		n = 1,
				needed = 1;

	/* more stages have a lower rate each, and fewer keys */
	do
	{
		n = needed;
		needed = meta->expected / Max(KeysAtRate(&largest, EXPECTED_SHARE * meta->fpr / n), 1) + 1;
	} while (needed > n && n < MOST_EXPECTED_STAGES);
	return Min(n, MOST_EXPECTED_STAGES);
}

static double
ShareOfStage(const SetMeta *meta, uint32 i)
{
	uint32		expected = meta->expected > 0 ? ExpectedStages(meta) : 0;
	double		others = expected > 0 ? (1 - EXPECTED_SHARE) * meta->fpr : meta->fpr;

	if (i < expected)
		return EXPECTED_SHARE * meta->fpr / expected;
	i -= expected;
	return others * 6 / (M_PI * M_PI * (i + 1.0) * (i + 1.0));
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

/* A stage of 2^e blocks of eight parts with that rate. */
static SetStage
StageOfBlocks(uint64 blocks, double fpr)
{
	SetStage	stage = {.blocks = blocks, .fpr = fpr, .parts = BLX_GROUP};

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
	double		fpr = ShareOfStage(meta, meta->stages);
	SetStage	stage = StageOfBlocks(Min(FIRST_BLOCKS, meta->stage_blocks), fpr);

	for (;;)
	{
		SetStage	larger = StageOfBlocks(2 * stage.blocks, fpr);

		if (stage.keys >= keys)
			return stage;
		if (larger.blocks > meta->stage_blocks && larger.keys > keys)
			return stage;
		stage = larger;
	}
}

/* The expected keys that the stages have no room for; not so few that the next key too many needs another stage. */
#define LEAST_LEFT 16

static uint64
ExpectedKeysLeft(const SetMeta *meta)
{
	uint64		room = 0;

	for (uint32 i = 0; i < meta->stages; i++)
		room += meta->stage[i].keys;
	return room < meta->expected ? Max(meta->expected - room, meta->expected / LEAST_LEFT) : 0;
}

/* The newest stage may be a small filter that was merged: the next one has at least the size of a first one. */
SetStage
PlanNextStage(const SetMeta *meta)
{
	uint64		left = ExpectedKeysLeft(meta);
	double		fpr = ShareOfStage(meta, meta->stages);
	uint64		blocks = FIRST_BLOCKS;

	if (meta->expected > 0)
		blocks = PlanBuiltStage(meta, left > 0 ? left : meta->expected).blocks;
	if (meta->stages >= SET_BOUNDED_STAGES)
		return StageOfBlocks(Max(Min(blocks, meta->stage_blocks), 2 * meta->stage[meta->stages - 1].blocks), fpr);
	if (meta->stages > 0 && left == 0)
		blocks = Max(blocks, GROWTH * meta->stage[meta->stages - 1].blocks);
	return StageOfBlocks(Min(blocks, meta->stage_blocks), fpr);
}
