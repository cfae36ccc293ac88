/*
 * dynamic_blocked_plan.c - the expected rate and memory of layout
 * dynamic_blocked, and the plan that follows from them.
 *
 * As the load of a block grows, the number of keys that picked it, stage after stage
 * fills.  Each stage is taken to be full at its expected time.  Followed exactly, as a
 * Markov chain over the bits set, blocks of 512 bits have rates that differ from these
 * by less than 1 %, and plans of 0 to 4 % other memory; blocks of 128 bits, with little
 * more than a word for the filter, have rates up to a third higher.  The loads of the
 * blocks are binomial, as in layout blocked.
 *
 * The plan.  The rate is bounded for every single block, by the sum over its
 * stages, so any number of blocks keeps it.  The fill of a full stage follows
 * from k_0 and the rate.  k_0 and the number of blocks are those that are expected
 * to take the least memory, home and overflow blocks together, at the capacity.
 */
#include <math.h>

#include "core/layouts/research/dynamic_stage.h"

static dynamic_stage
first_stage(const blx_geometry *g)
{
	return dynamic_first_stage(g->part_bits, g->probes, g->parameters);
}

static void
next_stage(dynamic_stage *s, const blx_geometry *g)
{
	dynamic_next_stage(s, g->part_bits, g->probes, g->parameters);
}

/* Returns the chance that at least one of two independent stages says yes. */
static double
either(double a, double b)
{
	return a + b - a * b;
}

/*
 * Returns the expected fill of a full stage.  It is full if fewer than k bits are
 * left below its limit, and its last key went on average (k - 1) (1 - fill) / 2
 * bits beyond that mark.
 */
static double
fill_when_full(const dynamic_stage *s)
{
	double		bits = (double) s->bits,
				limit = (double) s->limit;

	return fmax(limit - (s->probes - 1) * (1 + limit / bits) / 2, 1) / bits;
}

/*
 * Returns the memory of a chain with that load, in home blocks, and sets *rate
 * unless rate is NULL.  Every stage is full at its expected time.
 */
static double
estimate_chain(const blx_geometry *g, uint64_t load, double *rate)
{
	dynamic_stage s = first_stage(g);
	double		blocks = 1,
				full_stages = 0,
				left = (double) load;
	double		reach = 1;

	/* Fill stage after stage; a key reaches a stage unless a full one before it says yes. */
	for (;;)
	{
		double		fill = fill_when_full(&s);
		double		holds = log1p(-fill) / (s.probes * log1p(-1 / (double) s.bits));
		bool		last = left * reach <= holds || s.number == DYNAMIC_LAST_STAGE;

		/* The keys that are left do not fill this stage: its rate is a standard filter's. */
		if (last)
		{
			if (rate != NULL)
				*rate = either(full_stages, blx_occupancy_power(s.bits, s.probes, s.probes * left * reach));
			return blocks;
		}
		left -= holds / reach;
		full_stages = either(full_stages, pow(fill, s.probes));
		reach = 1 - full_stages;
		next_stage(&s, g);
		blocks += (double) s.blocks;
	}
}

static double
rate_at(uint64_t load, const void *g)
{
	double		rate;

	estimate_chain(g, load, &rate);
	return rate;
}

static double
blocks_at(uint64_t load, const void *g)
{
	return estimate_chain(g, load, NULL);
}

double
blx_dynamic_fpr_expected(const blx_geometry *g, uint64_t n)
{
	return fmin(blx_mean_over_loads(n, g->blocks, rate_at, g), 1);
}

/* ---- the plan ---- */

/*
 * Returns the highest rate that a block can have, whatever its keys: the sum of
 * its stages' rates when they are full.
 */
static double
rate_bound(const blx_geometry *g)
{
	dynamic_stage s = first_stage(g);
	double		bound = 0;

	for (; s.number < DYNAMIC_LAST_STAGE; next_stage(&s, g))
		bound += blx_power(fmax((double) s.limit, s.probes) / (double) s.bits, s.probes);
	return bound;
}

/*
 * Sets the fill of a full stage to the largest that keeps the bound below fpr.
 * False if there is none with room for one key.
 */
static bool
set_fill(blx_geometry *g, double fpr)
{
	uint64_t	low = 0,
				high = 65535;

	while (low < high)
	{
		g->parameters[DYNAMIC_FILL] = low + (high - low + 1) / 2;
		if (rate_bound(g) < fpr)
			low = g->parameters[DYNAMIC_FILL];
		else
			high = g->parameters[DYNAMIC_FILL] - 1;
	}
	g->parameters[DYNAMIC_FILL] = low;
	return first_stage(g).limit >= g->probes;
}

/*
 * Sets the number of blocks to the one that is expected to take the least memory.
 * False if none takes less than *best words.
 *
 * The mean load goes from 120 % of the keys that fill a home block, with few home
 * blocks and much overflow, to 40 %, where home blocks stay less than half
 * full on average.  Each step costs a mean over loads; 2 % is fine enough, since memory
 * changes little around its least.
 */
static bool
set_blocks(blx_geometry *g, uint64_t capacity, double *best)
{
	const double most = BLX_MAX_BYTES / 8.0;
	double		fill = (double) g->parameters[DYNAMIC_FILL] / 65536;
	double		full = -log1p(-fill) * (double) g->part_bits / g->probes;
	bool		found = false;

	for (unsigned percent = 120; percent >= 40; percent -= 2)
	{
		double		blocks = ceil((double) capacity * 100 / (percent * full));
		double		words = blocks * ((double) g->part_bits / 64 + 1);

		if (blocks > most || words >= *best)	/* the home blocks alone are too much, and there will be more of them */
			break;
		words *= blx_mean_over_loads(capacity, (uint64_t) blocks, blocks_at, g);
		if (words >= *best)
			continue;
		*best = words;
		g->blocks = (uint32_t) blocks;
		found = true;
	}
	return found;
}

bool
blx_dynamic_geometry(const blx_options *options, uint32_t blocks, unsigned probes, blx_geometry *g, blx_error *error)
{
	uint64_t	block_bits = (uint64_t) options->value[BLX_OPT_BLOCK_BITS];

	if (block_bits % 64 != 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"block_bits must be a multiple of 64, not %llu", (unsigned long long) block_bits);
	*g = (blx_geometry) {
		.layout = BLX_DYNAMIC_BLOCKED,
		.blocks = blocks,
		.parts = 1,
		.probes = (uint16_t) probes,
		.part_bits = block_bits - DYNAMIC_RECORD_BITS,
		.parameters = {
			[DYNAMIC_GROWTH] = (uint64_t) options->value[BLX_OPT_GROWTH],
			[DYNAMIC_TIGHTENING] = (uint64_t) (options->value[BLX_OPT_TIGHTENING] * 65536),
			[DYNAMIC_FILL] = 32768, /* half */
		},
	};
	return true;
}

bool
blx_dynamic_plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	double		best = INFINITY;
	double		digits = -log2(fpr);
	bool		reachable = false;
	blx_geometry candidate;

	if (!blx_dynamic_geometry(options, 1, 1, &candidate, error))
		return false;

	/*
	 * k_0 is tried around -log2 of the rate, the k of a half-full filter.  Fewer
	 * probes need home blocks that stay emptier; more probes let them get fuller.
	 * A wider range would cost time: every k_0 is a search for the fill and one
	 * for the number of blocks.
	 */
	for (unsigned k = (unsigned) fmax(1, 0.75 * digits); k <= fmin(BLX_MAX_K, digits + 2); k++)
	{
		candidate.probes = (uint16_t) k;
		if (!set_fill(&candidate, fpr))
			continue;
		reachable = true;
		if (set_blocks(&candidate, capacity, &best))
			*g = candidate;
	}

	/* If there is no plan: either no fill keeps the rate, or it takes too much memory. */
	if (best * 8 < BLX_MAX_BYTES)
		return true;
	if (!reachable)
		return blx_fail(error, BLX_LIMIT, NULL, "Choose a higher rate, larger blocks or more growth.",
						"a dynamic_blocked filter of these options cannot keep a false positive rate of %g", fpr);
	return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters, or choose a higher rate.",
					"a dynamic_blocked filter for %llu keys at a false positive rate of %g exceeds the limit of 1 GB",
					(unsigned long long) capacity, fpr);
}
