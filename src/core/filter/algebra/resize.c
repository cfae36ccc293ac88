/*
 * resize.c - smaller filters of the same keys: prefixes of parts, folds of
 * blocks, and the smallest of both that meets a rate (docs/internals/design.md, "The
 * algebra").
 */
#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

bool
blx_prefix_geometry(const blx_filter *f, int64_t parts, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);

	*g = blx_geometry_of(f);
	if (!blx_check_operation(f->layout, BLX_PREFIX, error))
		return false;
	if (row->prefix != NULL)
		return row->prefix(g, parts, error);
	if (parts < 1 || parts > f->parts)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"parts must be between 1 and the filter's %u, not %lld", f->parts, (long long) parts);
	g->parts = (uint16_t) parts;
	return true;
}

bool
blx_fold_geometry(const blx_filter *f, int64_t times, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	int			possible;

	*g = blx_geometry_of(f);
	if (!blx_check_operation(f->layout, BLX_FOLD, error))
		return false;
	if (f->hashing != BLX_INDEPENDENT)
		return blx_fail(error, BLX_UNSUPPORTED, "Its positions are computed modulo the size of a part.", NULL,
						"a filter of %s hashing cannot be folded", blx_hashing_name(f->hashing));
	/* Every factor of two in the resolution is one fold. */
	possible = row->folds != BLX_FOLDS_NOTHING ? __builtin_ctzll(blx_resolution(row, g)) : 0;
	if (times != 0 && possible == 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "this filter has nothing left to fold");
	if (times < 0 || times > possible)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"this filter can be folded 0 to %d times, not %lld", possible, (long long) times);
	blx_set_resolution(row, g, blx_resolution(row, g) >> times);
	return true;
}

/* The room for every fold of f, one after another. */
uint64_t
blx_shrink_scratch(const blx_filter *f)
{
	uint64_t	bytes = 0;
	blx_geometry folded;

	for (int64_t times = 1; blx_fold_geometry(f, times, &folded, NULL); times++)
		bytes += blx_bytes(&folded, 0);
	return bytes;
}

/*
 * Tries every fold with every prefix of it.  Each round folds once more, into
 * scratch behind the last fold, and computes the rates of all prefixes at once.
 * Of two equal sizes the one with more blocks and fewer parts is kept, since it
 * was found first; it has fewer probes.  With for_speed the result may be somewhat
 * larger, as a plan may (blx_faster_size), and a fold that random keys fill far too
 * much for the rate is not made: folding and counting take as long as the rest.
 */
#define TOO_FULL 1.5

bool
blx_shrink_geometry(const blx_filter *f, double fpr, bool for_speed, blx_filter *scratch, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	const blx_identity anonymous = {0};
	unsigned	line_k = for_speed ? row->line_k : 0;
	double		rates[BLX_MAX_K + 1],
				keys = for_speed ? blx_cardinality(f) : 0;
	blx_geometry folded,
				lines = {0};	/* the smallest of line_k parts */

	if (!blx_check_rate(fpr, error) || !blx_check_operation(f->layout, BLX_FOLD, error))
		return false;
	folded = blx_geometry_of(f);
	row->fpr_prefixes(f, rates);
	if (rates[f->parts] > fpr)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL,
						"Build a larger filter, or choose a higher rate.",
						"false positive rate of the filter is already %.3g, above the requested %g",
						rates[f->parts], fpr);
	*g = folded;
	while (rates[f->parts] <= fpr)
	{
		if (line_k > 0 && f->parts >= line_k && rates[line_k] <= fpr)
		{
			lines = folded;
			lines.parts = (uint16_t) line_k;
		}
		/* the fewest parts that keep the rate */
		while (folded.parts > 1 && rates[folded.parts - 1] <= fpr)
			folded.parts--;
		if (blx_body_words(&folded) < blx_body_words(g))
			*g = folded;

		/* the next fold, with all its parts */
		if (!blx_fold_geometry(f, 1, &folded, NULL) || blx_fpr_expected(&folded, (uint64_t) keys) > TOO_FULL * fpr)
			break;
		blx_init(scratch, &folded, &anonymous, 0);
		blx_or_into(scratch, f);
		f = scratch;
		scratch = (blx_filter *) (void *) ((char *) scratch + blx_size(scratch));
		row->fpr_prefixes(f, rates);
	}
	if (lines.parts > 0 && blx_body_words(&lines) <= blx_faster_size(blx_body_words(g)))
		*g = lines;
	return true;
}

/* ---- new filters ---- */

blx_filter *
blx_resize(const blx_filter *f, const blx_geometry *g, const blx_memory *memory, blx_error *error)
{
	blx_identity id = blx_identity_of(f);
	blx_filter *result = blx_new_of_valid(g, &id, f->capacity, memory, error);

	if (result != NULL)
		blx_or_into(result, f);
	return result;
}

blx_filter *
blx_prefix(const blx_filter *f, int64_t parts, const blx_memory *memory, blx_error *error)
{
	blx_geometry g;

	return blx_prefix_geometry(f, parts, &g, error) ? blx_resize(f, &g, memory, error) : NULL;
}

blx_filter *
blx_fold(const blx_filter *f, int64_t times, const blx_memory *memory, blx_error *error)
{
	blx_geometry g;

	return blx_fold_geometry(f, times, &g, error) ? blx_resize(f, &g, memory, error) : NULL;
}

static blx_filter *
shrink(const blx_filter *f, double fpr, bool for_speed, const blx_memory *memory, blx_error *error)
{
	blx_filter *scratch = blx_alloc(memory, sizeof(blx_filter) + blx_shrink_scratch(f), error);
	blx_geometry g;
	bool		shrinks = scratch != NULL && blx_shrink_geometry(f, fpr, for_speed, scratch, &g, error);

	blx_free(scratch, memory);
	return shrinks ? blx_resize(f, &g, memory, error) : NULL;
}

blx_filter *
blx_shrink(const blx_filter *f, double fpr, const blx_memory *memory, blx_error *error)
{
	return shrink(f, fpr, false, memory, error);
}

blx_filter *
blx_shrink_for_speed(const blx_filter *f, double fpr, const blx_memory *memory, blx_error *error)
{
	return shrink(f, fpr, true, memory, error);
}
