/*
 * dynamic_blocked_plan.c - the expected rate and memory of layout
 * dynamic_blocked, and the plan that follows from them.
 *
 * What happens to a block as its load grows, the number of keys that picked it,
 * is a Markov chain over the bits set in its open stage.  The chain is followed
 * exactly up to MAX_LOAD keys and in stages of up to EXACT_BITS bits.  Beyond that,
 * each stage is taken to be full at its expected time, which is as good for large
 * stages.  The loads of the blocks are binomial, as in layout blocked.
 *
 * The plan.  The rate is bounded for every single block, by the sum over its
 * stages, so any number of blocks keeps it.  The fill of a full stage follows
 * from k_0 and the rate.  k_0 and the number of blocks are those that are expected
 * to take the least memory, home and overflow blocks together, at the capacity.
 */
#include <math.h>
#include <string.h>

#include "core/layouts/research/dynamic_stage.h"

/*
 * How far the Markov chain is followed exactly.  A load of 2047 is several times
 * what a home block of a few cache lines holds.  Following a stage takes up to
 * millions of steps at that load, and its tables take 16 kB each on the stack.
 * 4096 bits are the first four stages of a home block of one cache line that
 * doubles.
 */
#define MAX_LOAD 2047
#define EXACT_BITS 4096

/* Probabilities that are too small to change a double (theory/loads.c). */
#define NEGLIGIBLE 1e-18

/* Stages that open with a smaller chance are left out: they would change a rate by less than this. */
#define RARE 1e-12

/* What is expected of a block with its chain. */
typedef struct expectation
{
	double		rate;
	double		blocks;			/* memory, in home blocks */
} expectation;

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

/* ---- exactly ---- */

/* chance[i] is the probability that an open stage has i bits set.  It is 0 outside low .. high. */
typedef struct occupancy
{
	double		chance[EXACT_BITS + BLX_MAX_K + 1];
	unsigned	low,
				high;
} occupancy;

/* Adds a key that reaches the stage with probability `reach`. */
static void
add_to_occupancy(occupancy *x, const dynamic_stage *s, double reach)
{
	double		before[EXACT_BITS + BLX_MAX_K + 1];
	double		bits = (double) s->bits,
				each = 1 / bits;
	unsigned	high = x->high;

	memcpy(before + x->low, x->chance + x->low, (high - x->low + 1) * sizeof before[0]);

	/* Probe by probe: with i bits set, a probe sets one more with probability 1 - i/bits. */
	for (unsigned j = 0; j < s->probes; j++)
	{
		if (x->high < s->bits)
			x->high++;
		for (unsigned i = x->high; i > 0 && i >= x->low; i--)
			x->chance[i] = (x->chance[i] * i + x->chance[i - 1] * (bits - i + 1)) * each;
		if (x->low == 0)
			x->chance[0] = 0;
	}

	/* If the key did not come, everything is as before. */
	for (unsigned i = x->low; i <= x->high && reach < 1; i++)
		x->chance[i] = reach * x->chance[i] + (i <= high ? (1 - reach) * before[i] : 0);

	/* Trim both ends, so that the next key takes fewer steps. */
	while (x->low < x->high && x->chance[x->low] < NEGLIGIBLE)
		x->chance[x->low++] = 0;
	while (x->low < x->high && x->chance[x->high] < NEGLIGIBLE)
		x->chance[x->high--] = 0;
}

/* A stage, by the number of keys that came to the chain since the stage opened. */
typedef struct profile
{
	double		rate[MAX_LOAD + 1];
	double		fills[MAX_LOAD + 1];	/* chance that this key filled it */
	double		full_rate;		/* its rate when it is full */
} profile;

/* Follows one stage over up to `top` keys, each of which reaches it with probability `reach`. */
static void
follow_stage(const dynamic_stage *s, double reach, unsigned top, profile *result)
{
	occupancy	x = {.chance = {1}};
	double		full = 0,
				full_rate = 0;

	result->rate[0] = result->fills[0] = 0;
	for (unsigned load = 1; load <= top; load++)
	{
		double		open_rate = 0;

		result->fills[load] = 0;
		/* A stage that is surely full, to the precision of a double, takes no more keys. */
		if (full < 1 - 1e-15)
			add_to_occupancy(&x, s, reach);
		/* States without room for another key leave the open ones for good. */
		for (unsigned i = x.low; i <= x.high; i++)
		{
			double		rate = x.chance[i] * blx_power((double) i / (double) s->bits, s->probes);

			if (dynamic_has_room(s, i))
				open_rate += rate;
			else
			{
				full_rate += rate;
				result->fills[load] += x.chance[i];
				x.chance[i] = 0;
			}
		}
		full += result->fills[load];
		result->rate[load] = full_rate + open_rate;
	}
	result->full_rate = full > 0 ? full_rate / full : 0;
}

/*
 * Computes the expectations for loads 0 .. top, or up to the load from which on a
 * stage may open that is too large.  Returns the last load computed, -1 if none
 * was.
 */
static int64_t
follow_chain(const blx_geometry *g, unsigned top, expectation *at_load)
{
	dynamic_stage s = first_stage(g);
	double		opens[MAX_LOAD + 1] = {1};	/* chance that the stage opened with this load */
	double		reach = 1,		/* chance that a key passes the full stages */
				opened = 1;
	profile		p;

	for (unsigned load = 0; load <= top; load++)
		at_load[load] = (expectation) {0, 1};

	/* Stage by stage, for as long as there is a chance that the stage opens. */
	while (opened > RARE)
	{
		double		next[MAX_LOAD + 1] = {0},
					rate[MAX_LOAD + 1] = {0};

		/* Too large: find the load from which on it is likely enough to be open. */
		if (s.bits > EXACT_BITS)
		{
			unsigned	load = 0;

			for (opened = 0; load <= top && opened <= RARE; load++)
				opened += opens[load];
			return (int64_t) load - 2;
		}

		/* The stage's profile from every load with which it may open, weighted by the chance of that. */
		follow_stage(&s, reach, top, &p);
		for (unsigned from = 0; from <= top; from++)
			for (unsigned load = from; load <= top && opens[from] > NEGLIGIBLE; load++)
			{
				rate[load] += opens[from] * p.rate[load - from];
				next[load] += opens[from] * p.fills[load - from];
			}

		/* The next stage opens with the key after the one that filled this stage. */
		reach *= 1 - p.full_rate;
		next_stage(&s, g);
		opened = 0;
		for (unsigned load = 0; load <= top; load++)
		{
			at_load[load].rate = either(at_load[load].rate, rate[load]);
			at_load[load].blocks += (double) s.blocks * opened;	/* memory is taken when the next key comes */
			opened += next[load];
		}
		memcpy(opens, next, sizeof opens);
	}
	return top;
}

/* ---- by expected times ---- */

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

/* ---- over binomial loads ---- */

/* The expectations of a block by its load.  They do not depend on the number of blocks. */
typedef struct expectations
{
	const blx_geometry *g;
	int64_t		top;			/* exact up to this load; negative if for none */
	expectation at_load[MAX_LOAD + 1];
} expectations;

static void
expect_up_to(expectations *e, const blx_geometry *g, double top)
{
	e->g = g;
	e->top = follow_chain(g, (unsigned) fmin(top, MAX_LOAD), e->at_load);
}

static bool
is_exact(const expectations *e, uint64_t load)
{
	return e->top >= 0 && load <= (uint64_t) e->top;
}

static double
rate_at(uint64_t load, const void *arg)
{
	const expectations *e = arg;
	double		rate;

	if (is_exact(e, load))
		return e->at_load[load].rate;
	estimate_chain(e->g, load, &rate);
	return rate;
}

static double
blocks_at(uint64_t load, const void *arg)
{
	const expectations *e = arg;

	return is_exact(e, load) ? e->at_load[load].blocks : estimate_chain(e->g, load, NULL);
}

/*
 * Returns a load that hardly any block exceeds: 12 standard deviations above the
 * mean, and 40 more for means so small that a bell does not describe them.
 */
static double
largest_load(double mean)
{
	return mean + 12 * sqrt(mean) + 40;
}

double
blx_dynamic_fpr_expected(const blx_geometry *g, uint64_t n)
{
	expectations e;

	expect_up_to(&e, g, fmin((double) n, largest_load((double) n / g->blocks)));
	return fmin(blx_mean_over_loads(n, g->blocks, rate_at, &e), 1);
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
	expectations e;
	blx_geometry shape = *g;

	/* The expectations of a block are the same for any number of blocks: compute them once, for the highest mean. */
	expect_up_to(&e, &shape, largest_load(1.2 * full));
	for (unsigned percent = 120; percent >= 40; percent -= 2)
	{
		double		blocks = ceil((double) capacity * 100 / (percent * full));
		double		words = blocks * ((double) g->part_bits / 64 + 1);

		if (blocks > most || words >= *best)	/* the home blocks alone are too much, and there will be more of them */
			break;
		words *= blx_mean_over_loads(capacity, (uint64_t) blocks, blocks_at, &e);
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
