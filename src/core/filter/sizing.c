/*
 * sizing.c - how large a filter must be.
 *
 * Every k is tried with the smallest size that meets the target by the
 * layout's exact formula; the smallest of all wins.  A size already beaten is
 * ruled out with one evaluation, so that few k need a search.
 */
#include <math.h>
#include <stdio.h>

#include "core/layouts/layout.h"

double
blx_fpr_expected(const blx_geometry *g, uint64_t n)
{
	if (n == 0)
		return 0;
	return blx_layout_row(g->layout)->fpr_expected(g, n);
}

double
blx_fpr_planned(const blx_geometry *g, uint64_t capacity)
{
	const blx_layout *row = blx_layout_row(g->layout);

	return row->fpr_bound != NULL ? row->fpr_bound(g) : blx_fpr_expected(g, capacity);
}

/* Some layouts have only some k. */
static bool
has_k(const blx_layout *row, const blx_options *options, unsigned k)
{
	blx_geometry g;

	row->at_step(k, 1, options, &g);
	return g.parts > 0;
}

/* The largest step of k probes that stays within `words` words of body; 0 if there is none. */
static uint64_t
largest_step(const blx_layout *row, const blx_options *options, unsigned k, uint64_t words)
{
	uint64_t	low = 0,
				high = row->max_step;

	while (low < high)
	{
		uint64_t	middle = low + (high - low + 1) / 2;
		blx_geometry g;

		row->at_step(k, middle, options, &g);
		if (blx_body_words(&g) <= words)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The memory, up to a factor, in which k probes have that rate: (1 - e^(-kn/m))^k solved for m. */
static double
memory_of_rate(double rate, unsigned k)
{
	return -1 / log1p(-pow(rate, 1.0 / k));
}

/*
 * The smallest step of k probes that meets the target, from `high`, which does
 * with rate *rate; *rate becomes the result's.  Guesses from the last size
 * tried, as if every layout had the textbook's formula: that is close enough to
 * spare most of the bisection, whose turn is each third.
 */
static uint64_t
smallest_step(const blx_layout *row, const blx_options *options, unsigned k, uint64_t n, double fpr,
			  uint64_t high, double *rate)
{
	uint64_t	low = 1;
	double		last = *rate;
	blx_geometry g;

	row->at_step(k, high, options, &g);
	for (unsigned turn = 0; low < high; turn++)
	{
		uint64_t	step = low + (high - low) / 2;

		if (turn % 3 != 2 && last > 0 && last < 1)
		{
			double		words = (double) blx_body_words(&g) * memory_of_rate(fpr, k) / memory_of_rate(last, k);

			step = largest_step(row, options, k, (uint64_t) fmin(words, BLX_MAX_BYTES)) + 1;
			step = step < low ? low : step >= high ? high - 1 : step;
		}
		row->at_step(k, step, options, &g);
		last = blx_fpr_expected(&g, n);
		if (last < fpr)
		{
			high = step;
			*rate = last;
		}
		else
			low = step + 1;
	}
	return high;
}

/* A cheap lower bound on the cost of a filter: how many cache lines a probe of a present key reads. */
static unsigned
lines_of(const blx_geometry *g)
{
	return g->blocks == 1 ? blx_k(g) : (g->parts + 7u) / 8;
}

/* The best geometry of at most max_words, or false when none meets the target. */
static bool
search(const blx_layout *row, const blx_options *options, uint64_t n, double fpr, uint64_t max_words, blx_geometry *best)
{
	/* a k beyond this only fills the filter further */
	unsigned	max_k = (unsigned) fmin(BLX_MAX_K, 3 + 2.2 * -log2(fpr));
	bool		tried = false,
				found = false;
	double		best_rate = 1;

	if (row->smallest != NULL)
		return row->smallest(n, fpr, max_words, best);
	for (unsigned k = 1; k <= max_k || (!tried && k <= BLX_MAX_K); k++)
	{
		blx_geometry g;
		uint64_t	high;
		double		rate;

		if (!has_k(row, options, k))
			continue;
		tried = true;
		high = largest_step(row, options, k, max_words);
		if (high == 0)
			continue;
		row->at_step(k, high, options, &g);
		rate = blx_fpr_expected(&g, n);
		if (!(rate < fpr))
			continue;
		row->at_step(k, smallest_step(row, options, k, n, fpr, high, &rate), options, &g);
		/* smaller wins; of equal sizes the one that reads fewer lines, then the one that errs less */
		if (!found || blx_body_words(&g) < blx_body_words(best) ||
			lines_of(&g) < lines_of(best) || (lines_of(&g) == lines_of(best) && rate < best_rate))
		{
			*best = g;
			best_rate = rate;
			found = true;
			max_words = blx_body_words(&g);
		}
	}
	return found;
}

/* Beyond a hundred keys a bit of the largest filter every bit is set: no formula need be asked. */
#define MAX_CAPACITY (UINT64_C(1) << 40)

/* The largest number of keys that a filter of at most the value limit holds at that rate. */
static uint64_t
largest_capacity(const blx_layout *row, const blx_options *options, double fpr)
{
	uint64_t	low = 0,
				high = MAX_CAPACITY;
	blx_geometry g;

	while (low < high)
	{
		uint64_t	middle = low + (high - low + 1) / 2;

		if (search(row, options, middle, fpr, BLX_MAX_BYTES / 8 - BLX_MAX_NAME, &g))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool
blx_plan(uint8_t layout, uint64_t capacity, double fpr, const blx_options *options,
		 blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(layout);
	const blx_options presets = blx_default_options(layout);

	if (capacity < 1 || capacity > INT64_MAX)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"capacity must be at least 1, not %lld", (long long) capacity);
	if (!blx_check_rate(fpr, error))
		return false;
	if (options == NULL)
		options = &presets;
	if (row->flat && options->value[BLX_OPT_HASHING] != BLX_INDEPENDENT)
		return blx_fail(error, BLX_INVALID_PARAMETER, "The formula that sizes a filter is that of independent hashes.",
						"Use bloom_empty_bits.", "a filter of %s hashing cannot be planned by capacity",
						blx_hashing_name((uint8_t) options->value[BLX_OPT_HASHING]));
	if (row->plan != NULL)
		return row->plan(capacity, fpr, options, g, error) && blx_geometry_check(g, error);
	if (capacity > MAX_CAPACITY || !search(row, options, capacity, fpr, BLX_MAX_BYTES / 8 - BLX_MAX_NAME, g))
	{
		uint64_t	most = largest_capacity(row, options, fpr);
		char		hint[300];

		if (most == 0)
			return blx_fail(error, BLX_LIMIT, NULL, "Ask for a higher rate.",
							"a %s filter, of at most %u probes, cannot reach a false positive rate of %g",
							row->name, BLX_MAX_K, fpr);
		snprintf(hint, sizeof hint, "At this rate at most %llu keys fit; split the keys over several filters, or ask for a higher rate.",
				 (unsigned long long) most);
		return blx_fail(error, BLX_LIMIT, NULL, hint,
						"a %s filter for %llu keys at a false positive rate of %g exceeds the limit of 1 GB",
						row->name, (unsigned long long) capacity, fpr);
	}
	return true;
}

bool
blx_plan_bits(uint8_t layout, int64_t bits, double k, const blx_options *options,
			  blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(layout);
	const blx_options presets = blx_default_options(layout);

	if (bits < 1)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least 1, not %lld", (long long) bits);
	if (!(k >= 1 && k <= BLX_MAX_K && (row->fractional || k == floor(k))))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"k must be a %snumber between 1 and %u for layout %s, not %g",
						row->fractional ? "" : "whole ", BLX_MAX_K, row->name, k);
	if ((uint64_t) bits > (BLX_MAX_BYTES - 256) * 8)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys over several filters.",
						"a filter of %lld bits exceeds the limit of 1 GB", (long long) bits);
	if (row->at_bits == NULL)
		return blx_fail(error, BLX_UNSUPPORTED, NULL, "Use bloom_empty with a capacity and a rate.",
						"a %s filter cannot be planned by bits and k", row->name);
	return row->at_bits(k, (uint64_t) bits, options ? options : &presets, g, error) && blx_geometry_check(g, error);
}

uint64_t
blx_capacity(const blx_geometry *g, double fpr)
{
	uint64_t	low = 0,
				high = 16 * blx_bits(g);

	while (low < high)
	{
		uint64_t	middle = low + (high - low + 1) / 2;

		if (blx_fpr_expected(g, middle) < fpr)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool
blx_plan_bytes(uint64_t bytes, double fpr, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = &blx_layout_partitioned_blocked;
	const blx_options options = blx_default_options(BLX_PARTITIONED_BLOCKED);
	uint64_t	header = blx_header_bytes(BLX_MAX_NAME);
	uint64_t	words = bytes > header ? (bytes - header) / 8 : 0;
	uint64_t	most = 0;

	for (unsigned k = 1; k <= BLX_MAX_K; k++)
	{
		uint64_t	step = largest_step(row, &options, k, words);
		blx_geometry candidate;

		if (step == 0)
			continue;
		row->at_step(k, step, &options, &candidate);
		if (!(blx_fpr_expected(&candidate, most + 1) < fpr))
			continue;
		most = blx_capacity(&candidate, fpr);
		*g = candidate;
	}
	if (most == 0)
		return blx_fail(error, BLX_LIMIT, NULL, NULL, "no filter of %llu bytes has a false positive rate of %g",
						(unsigned long long) bytes, fpr);
	return true;
}

bool
blx_plan_within(uint8_t layout, uint64_t bytes, uint64_t keys, double fpr, blx_geometry *g)
{
	const blx_layout *row = blx_layout_row(layout);
	const blx_options options = blx_default_options(layout);
	uint64_t	header = blx_header_bytes(BLX_MAX_NAME);
	uint64_t	words = bytes > header ? (bytes - header) / 8 : 0;
	double		lowest = 0.5;

	if (search(row, &options, keys, fpr, words, g))
		return true;
	for (unsigned k = 1; k <= BLX_MAX_K; k++)
	{
		uint64_t	step = largest_step(row, &options, k, words);
		blx_geometry candidate;
		double		rate;

		if (step == 0)
			continue;
		row->at_step(k, step, &options, &candidate);
		rate = blx_fpr_expected(&candidate, keys);
		if (rate < lowest)
		{
			lowest = rate;
			*g = candidate;
		}
	}
	return lowest < 0.5;
}
