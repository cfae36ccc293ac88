/*
 * sizing.c - plans: how large a filter must be for a number of keys and a rate,
 * and how many keys a size allows (docs/internals/design.md, "What a filter knows about
 * itself").
 *
 * Every k is tried, with the smallest size that meets the target by the layout's
 * exact formula, and the smallest of all sizes wins, unless a little more memory
 * makes the filter much faster (prefer_lines).  A k that cannot beat the best
 * size so far is ruled out with one evaluation, so only a few need a search.
 * There are at most 64 k, a search is a bisection, and a formula takes
 * milliseconds at most, so no plan takes long, whatever the arguments.
 *
 * A layout that grows or forgets, or whose k follows from its size, plans itself
 * (`plan` in its row).
 */
#include <math.h>
#include <stdio.h>

#include "core/filter/filter.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

/* Returns the expected rate; row and geometry are known to be sound. */
static double
rate_of(const blx_layout *row, const blx_geometry *g, uint64_t n)
{
	return n == 0 ? 0 : row->fpr_expected(g, n);
}

/*
 * n may be any number, such as the capacity of a header from outside: the
 * formulas take bounded time (theory/loads.c, theory/occupancy.c).
 */
double
blx_fpr_expected(const blx_geometry *g, uint64_t n)
{
	if (g->layout == BLX_HASHES)
		return 0;				/* a set is exact except for equal hashes */
	if (!blx_geometry_check(g, NULL))
		return NAN;
	return rate_of(blx_filter_row(g->layout), g, n);
}

double
blx_fpr_planned(const blx_geometry *g, uint64_t capacity)
{
	const blx_layout *row = blx_filter_row(g->layout);

	if (row == NULL || row->fpr_bound == NULL)
		return blx_fpr_expected(g, capacity);
	return blx_geometry_check(g, NULL) ? row->fpr_bound(g) : NAN;
}

/* True if the layout has filters of k probes. */
static bool
has_k(const blx_layout *row, const blx_options *options, unsigned k)
{
	blx_geometry g;

	row->at_step(k, 1, options, &g);
	return g.parts > 0;
}

/* Returns the largest step of k probes whose size is at most `most`; 0 if there is none. */
static uint64_t
largest_step_of(const blx_layout *row, const blx_options *options, unsigned k, uint64_t (*size) (const blx_geometry *g), uint64_t most)
{
	uint64_t	low = 0,
				high = row->max_step;

	while (low < high)
	{
		uint64_t	middle = low + (high - low + 1) / 2;
		blx_geometry g;

		row->at_step(k, middle, options, &g);
		if (size(&g) <= most)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The same by the words of the body. */
static uint64_t
largest_step(const blx_layout *row, const blx_options *options, unsigned k, uint64_t words)
{
	return largest_step_of(row, options, k, blx_body_words, words);
}

/* Sets *g to the largest geometry of k probes.  False if there is none. */
static bool
largest_of_k(const blx_layout *row, const blx_options *options, unsigned k, uint64_t max_words, blx_geometry *g)
{
	uint64_t	step;

	if (!has_k(row, options, k))
		return false;
	step = largest_step(row, options, k, max_words);
	if (step == 0)
		return false;
	row->at_step(k, step, options, g);
	return true;
}

/* Returns the memory in which k probes have that rate, up to a factor: (1 - e^(-kn/m))^k solved for m. */
static double
memory_of_rate(double rate, unsigned k)
{
	return -1 / log1p(-pow(rate, 1.0 / k));
}

/*
 * Returns the smallest step of k probes that meets the target.  `high` is a step
 * that meets it, with rate *rate; *rate becomes the rate of the result.
 *
 * Two of three turns guess the step from the last size tried and its rate, as if
 * every layout had the textbook's formula.  That is close enough to save two
 * thirds of the evaluations of a plain bisection.  Every third turn bisects,
 * so that wrong guesses cannot make the search long.
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

			/* the first step above that memory, brought into what is still open */
			step = largest_step(row, options, k, (uint64_t) fmin(words, BLX_MAX_BYTES)) + 1;
			step = step < low ? low : step >= high ? high - 1 : step;
		}
		/* keep what is known: `high` meets the target, no step below `low` does */
		row->at_step(k, step, options, &g);
		last = rate_of(row, &g, n);
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

/* Returns about how many cache lines the test of a present key reads: one per probe, or one per group of parts. */
static unsigned
lines_of(const blx_geometry *g)
{
	return g->blocks == 1 ? blx_k(g) : (g->parts + 7u) / 8;
}

/*
 * How much larger than the smallest geometry a faster one may be.
 *
 * Measured with AVX-512 at 1e3 to 1e8 keys and rates of 1e-2 to 1e-4.  Eight parts
 * in place of seven take a fifth less time per test and a quarter to a half less per
 * key added, since their blocks do not straddle cache lines.  Eight parts in place
 * of fifteen take 1.1 ns more for an absent key and 40 to 60 % less time for a
 * present key or one that is added: one line instead of two.  15 % reaches these
 * two steps and makes the filters 1.2 % larger on average.  25 % would reach 13 parts,
 * too, with filters 3.7 % larger, and 34 % 6 and 12 parts, with filters 9.2 % larger.
 */
#define FASTER_SIZE 1.15

uint64_t
blx_faster_size(uint64_t smallest)
{
	return (uint64_t) (FASTER_SIZE * (double) smallest);
}

/*
 * Replaces the smallest geometry by the one of whole cache lines, if the layout has
 * such a k and it needs little more memory.  A step doubles the memory, so at most
 * one step lies within the bound without being smaller than the smallest.
 */
static void
prefer_lines(const blx_layout *row, const blx_options *options, uint64_t n, double fpr, uint64_t max_words, blx_geometry *best)
{
	uint64_t	bound = blx_faster_size(blx_body_words(best));
	blx_geometry g;

	if (row->line_k == 0)
		return;
	if (largest_of_k(row, options, row->line_k, bound < max_words ? bound : max_words, &g) && rate_of(row, &g, n) < fpr)
		*best = g;
}

/* Sets *best to the smallest geometry of at most max_words words.  False if none meets the target. */
static bool
search_smallest(const blx_layout *row, const blx_options *options, uint64_t n, double fpr, uint64_t max_words, blx_geometry *best)
{
	unsigned	max_k = blx_most_k(fpr);
	bool		tried = false,
				found = false;
	double		best_rate = 1;

	/* Beyond max_k only for a layout that has no smaller k (hybrid with many probes per part). */
	for (unsigned k = 1; k <= max_k || (!tried && k <= BLX_MAX_K); k++)
	{
		blx_geometry g;
		uint64_t	high;
		double		rate;

		if (!has_k(row, options, k))
			continue;
		tried = true;
		/* The largest size that could still win must meet the target. */
		high = largest_step(row, options, k, max_words);
		if (high == 0)
			continue;
		row->at_step(k, high, options, &g);
		rate = rate_of(row, &g, n);
		if (!(rate < fpr))
			continue;
		row->at_step(k, smallest_step(row, options, k, n, fpr, high, &rate), options, &g);
		/* The smaller one wins; of equal sizes the one that reads fewer lines, then the one with the lower rate. */
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

/* Sets *best to the best geometry of at most max_words words.  False if none meets the target. */
static bool
search(const blx_layout *row, const blx_options *options, uint64_t n, double fpr, uint64_t max_words, blx_geometry *best)
{
	if (!search_smallest(row, options, n, fpr, max_words, best))
		return false;
	prefer_lines(row, options, n, fpr, max_words, best);
	return true;
}

/* Beyond a hundred keys per bit of the largest filter every bit is set: skip the formulas. */
#define MAX_CAPACITY (UINT64_C(1) << 40)

/* The words of the largest body that leaves room for any header. */
#define MAX_WORDS (BLX_MAX_BYTES / 8 - BLX_MAX_NAME)

/*
 * Returns the largest number of keys in low .. high with which the rate is below
 * fpr.  low is such a number, or 0.  Takes one evaluation per bit of the
 * difference.
 */
static uint64_t
largest_load(const blx_layout *row, const blx_geometry *g, double fpr, uint64_t low, uint64_t high)
{
	while (low < high)
	{
		uint64_t	middle = low + (high - low + 1) / 2;

		if (row->fpr_expected(g, middle) < fpr)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Returns the largest number of keys that a filter of at most max_words words
 * holds at that rate, and sets *best to its geometry; of several to the one with
 * the fewest probes.
 */
static uint64_t
largest_capacity(const blx_layout *row, const blx_options *options, double fpr, uint64_t max_words, blx_geometry *best)
{
	unsigned	first = (unsigned) fmax(1, fmin(BLX_MAX_K, rint(-log2(fpr))));
	uint64_t	most = 0;

	/*
	 * Begin with the textbook's k, -log2 of the rate: few others do better, and
	 * a k that does not costs one evaluation.
	 */
	for (unsigned i = 0; i < BLX_MAX_K; i++)
	{
		unsigned	k = i < first ? first - i : i + 1;

		if (most < MAX_CAPACITY && largest_of_k(row, options, k, max_words, best) && row->fpr_expected(best, most + 1) < fpr)
			most = largest_load(row, best, fpr, most + 1, MAX_CAPACITY);
	}

	/* The fewest probes that hold as many. */
	for (unsigned k = 1; most > 0 && k <= BLX_MAX_K; k++)
		if (largest_of_k(row, options, k, max_words, best) && row->fpr_expected(best, most) < fpr)
			break;
	return most;
}

/* Returns the row of a layout that can be planned; NULL and an error if there is none. */
static const blx_layout *
row_to_plan(uint8_t layout, blx_error *error)
{
	const blx_layout *row = blx_filter_row(layout);

	if (row == NULL)
		blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "a filter of layout %s cannot be planned", blx_layout_name(layout));
	return row;
}

bool
blx_plan(uint8_t layout, uint64_t capacity, double fpr, const blx_options *options,
		 blx_geometry *g, blx_error *error)
{
	const blx_layout *row = row_to_plan(layout, error);
	const blx_options presets = blx_default_options(layout);

	/* The arguments, then the options. */
	if (row == NULL)
		return false;
	if (capacity < 1 || capacity > INT64_MAX)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"capacity must be at least 1, not %lld", (long long) capacity);
	if (!blx_check_rate(fpr, error))
		return false;
	if (options == NULL)
		options = &presets;
	if (!blx_check_options(layout, options, error))
		return false;
	if (row->flat && options->value[BLX_OPT_HASHING] != BLX_INDEPENDENT)
		return blx_fail(error, BLX_INVALID_PARAMETER, "The formula that sizes a filter is that of independent hashes.",
						"Choose its bits and probes instead.", "a filter of %s hashing cannot be planned by capacity",
						blx_hashing_name((uint8_t) options->value[BLX_OPT_HASHING]));
	if (row->plan != NULL)
		return row->plan(capacity, fpr, options, g, error) && blx_geometry_check(g, error);

	/* Too many keys: the hint says how many would do. */
	if (capacity > MAX_CAPACITY || !search(row, options, capacity, fpr, MAX_WORDS, g))
	{
		blx_geometry largest;
		uint64_t	most = largest_capacity(row, options, fpr, MAX_WORDS, &largest);
		char		hint[300];

		if (most == 0)
			return blx_fail(error, BLX_LIMIT, NULL, "Choose a higher rate.",
							"a %s filter, of at most %u probes, cannot reach a false positive rate of %g",
							row->name, BLX_MAX_K, fpr);
		snprintf(hint, sizeof hint, "At this rate at most %llu keys fit; split the keys among several filters, or choose a higher rate.",
				 (unsigned long long) most);
		return blx_fail(error, BLX_LIMIT, NULL, hint,
						"a %s filter for %llu keys at a false positive rate of %g exceeds the limit of 1 GB",
						row->name, (unsigned long long) capacity, fpr);
	}
	return true;
}

/* The plan of a layout whose sizes are steps: the largest one.  A part without blocks may have any number of bits. */
static bool
plan_bits_by_step(const blx_layout *row, unsigned k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	uint64_t	least;

	if (!has_k(row, options, k))
		return blx_fail(error, BLX_INVALID_PARAMETER, "Each part has the same number of probes.",
						"Option probes is the number in each part, 2 if not given.",
						"k must be a multiple of the probes in each part of a %s filter, not %u", row->name, k);
	row->at_step(k, 1, options, g);
	least = row->flat ? g->parts : blx_bits(g);
	if (bits < least)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "bits must be at least %llu for a %s filter with k = %u, not %llu",
						(unsigned long long) least, row->name, k, (unsigned long long) bits);
	if (row->flat)
	{
		g->part_bits = bits / g->parts;
		g->hashing = (uint8_t) options->value[BLX_OPT_HASHING];
	}
	else
		row->at_step(k, largest_step_of(row, options, k, blx_bits, bits), options, g);
	return true;
}

bool
blx_plan_bits(uint8_t layout, int64_t bits, double k, const blx_options *options,
			  blx_geometry *g, blx_error *error)
{
	const blx_layout *row = row_to_plan(layout, error);
	const blx_options presets = blx_default_options(layout);

	/* The arguments; NaN fails the check of k. */
	if (row == NULL)
		return false;
	if (bits < 1)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least 1, not %lld", (long long) bits);
	if (row->fractional && !(k >= 1.0 / BLX_FRACTION_ONE && k <= BLX_MAX_K))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"k must be a number between 1/%d and %u for layout %s, not %g", BLX_FRACTION_ONE, BLX_MAX_K, row->name, k);
	if (!row->fractional && !(k >= 1 && k <= BLX_MAX_K && k == floor(k)))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"k must be a whole number between 1 and %u for layout %s, not %g", BLX_MAX_K, row->name, k);
	/* 256 bytes are more than any header takes.  blx_geometry_check has the exact limit. */
	if ((uint64_t) bits > (BLX_MAX_BYTES - 256) * 8)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
						"a filter of %lld bits exceeds the limit of 1 GB", (long long) bits);
	if (options == NULL)
		options = &presets;
	if (!blx_check_options(layout, options, error))
		return false;
	return (row->at_bits != NULL ? row->at_bits(k, (uint64_t) bits, options, g, error)
			: plan_bits_by_step(row, (unsigned) k, (uint64_t) bits, options, g, error)) && blx_geometry_check(g, error);
}

uint64_t
blx_capacity(const blx_geometry *g, double fpr)
{
	const blx_layout *row = blx_filter_row(g->layout);

	if (row == NULL || !blx_check_rate(fpr, NULL) || !blx_geometry_check(g, NULL))
		return 0;
	return largest_load(row, g, fpr, 0, 16 * blx_bits(g));	/* with 16 keys per bit all bits are set */
}

/* Returns the words of body in a filter of `bytes` bytes, whatever its key type. */
static uint64_t
words_within(uint64_t bytes)
{
	uint64_t	header = blx_header_bytes(BLX_MAX_NAME);

	if (bytes > BLX_MAX_BYTES)
		bytes = BLX_MAX_BYTES;
	return bytes > header ? (bytes - header) / 8 : 0;
}

bool
blx_plan_bytes(uint64_t bytes, double fpr, blx_geometry *g, blx_error *error)
{
	const blx_options presets = blx_default_options(BLX_PARTITIONED_BLOCKED);

	if (!blx_check_rate(fpr, error))
		return false;
	if (largest_capacity(&blx_layout_partitioned_blocked, &presets, fpr, words_within(bytes), g) == 0)
		return blx_fail(error, BLX_LIMIT, NULL, NULL, "no filter of %llu bytes has a false positive rate of %g",
						(unsigned long long) bytes, fpr);
	return true;
}

bool
blx_plan_within(uint8_t layout, uint64_t bytes, uint64_t keys, double fpr, blx_geometry *g)
{
	const blx_layout *row = blx_filter_row(layout);
	const blx_options presets = blx_default_options(layout);
	uint64_t	words = words_within(bytes);
	double		lowest = 0.5;

	/* a layout that grows has no size to keep within */
	if (row == NULL || row->plan != NULL || keys == 0 || !blx_check_rate(fpr, NULL))
		return false;
	if (search(row, &presets, keys, fpr, words, g))
		return true;

	/* The target cannot be met: the lowest rate of the largest filters, if it is of any use, below one half. */
	for (unsigned k = 1; row->at_step != NULL && k <= BLX_MAX_K; k++)
	{
		blx_geometry candidate;
		double		rate;

		if (!largest_of_k(row, &presets, k, words, &candidate))
			continue;
		rate = rate_of(row, &candidate, keys);
		if (rate < lowest)
		{
			lowest = rate;
			*g = candidate;
		}
	}
	return lowest < 0.5;
}
