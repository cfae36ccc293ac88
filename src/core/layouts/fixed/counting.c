/*
 * counting.c - counters of 4 bits instead of the default layout's bits, so that
 * keys can be removed.
 *
 * Fan, Cao, Almeida, Broder 2000 ("Summary Cache"), on groups of parts.  Where
 * partitioned_blocked sets a bit, adding a key increments a cell and removing it
 * decrements the cell.  A test asks whether the cells are not 0.  So the filter
 * has the default layout's rates and geometries, in four times the bytes
 * (counters.h).
 *
 * A cell is at least the number of keys in the filter that touch it, or it is
 * saturated.  So no key is lost as long as only keys are removed that were added.
 * Adding, removing, sums (union, fold) and copies (expand) keep that.  A copied
 * cell counts keys that belong to its siblings, too.  When these are removed,
 * they leave false positives behind, but never take another key with them.
 *
 * No counting filter can know whether a key that it finds was ever added.
 * Removing a false positive subtracts 1 from cells of other keys, and a key whose
 * cell falls to 0 becomes absent (docs/internals/layouts.md has the numbers).  A key
 * that the filter does not find is not removed; the first word of the body counts such
 * refusals.
 */
#include "core/layouts/fixed/grouped.h"

#define NOTES 1

static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	blx_grouped_at_step(k, step, options, g);
	g->layout = BLX_COUNTING;
}

static uint64_t
body_words(const blx_geometry *g)
{
	return NOTES + (uint64_t) BLX_PLANES * g->parts * g->blocks;
}

/* ---- keys ---- */

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	blx_groups_add(blx_grouped_cells(f), blx_grouped_shape(f), hashes, n);
	return n;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return blx_groups_test(blx_grouped_ccells(f), blx_grouped_shape(f), hash);
}

static bool
remove_key(blx_filter *f, uint64_t hash)
{
	if (!test(f, hash))
	{
		blx_words(f)[0]++;
		return false;
	}
	blx_groups_remove(blx_grouped_cells(f), blx_grouped_shape(f), hash);
	return true;
}

static unsigned
count(const blx_filter *f, uint64_t hash)
{
	return blx_groups_least_counter(blx_grouped_ccells(f), blx_grouped_shape(f), hash);
}

/* ---- the cells as they are ---- */

/*
 * Returns how many cells `of` picks.  Unless out is NULL, also writes them
 * there as a filter of bits has them, one word per part of a block.
 */
static inline __attribute__((always_inline)) uint64_t
pick(const blx_filter *f, uint64_t (*of) (const uint64_t *planes, size_t stride), uint64_t *out)
{
	blx_groups	shape = blx_grouped_shape(f);
	const uint64_t *block = blx_grouped_ccells(f);
	uint64_t	count = 0;

	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);

		/* blocks and parts are in the same order with counters and with bits */
		for (uint64_t b = 0; b < f->blocks; b++, block += blx_block_words(shape, parts))
			for (unsigned j = 0; j < parts; j++)
			{
				uint64_t	cells = of(block + j, parts);

				count += (uint64_t) __builtin_popcountll(cells);
				if (out != NULL)
					*out++ = cells;
			}
	}
	return count;
}

static uint64_t
bits_set(const blx_filter *f)
{
	return pick(f, blx_counters_nonzero, NULL);
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	emit(arg, "saturated_cells", (double) pick(f, blx_counters_saturated, NULL), NULL);
	emit(arg, "refused_removals", (double) blx_cwords(f)[0], NULL);
}

/* ---- without the counters ---- */

static void
to_bits(blx_filter *dst, const blx_filter *f)
{
	pick(f, blx_counters_nonzero, blx_words(dst));
}

const blx_layout blx_layout_counting = {
	.name = "counting",
	.traits = BLX_STREAM | BLX_FETCHABLE,
	.why_not = {
		[BLX_INTERSECTION] = "A key that only one of them holds might be found in it, and removing that would make common keys absent. Drop the counters and intersect the bits.",
	},
	BLX_GROUPED_ROW,			/* with line_k, so that its plans are those of partitioned_blocked */
	.at_step = at_step,
	.add = add,
	.test = test,
	.notes = NOTES,
	.body_words = body_words,
	.remove = remove_key,
	.count = count,
	.bits_layout = BLX_PARTITIONED_BLOCKED,
	.to_bits = to_bits,
	.bits_set = bits_set,
	.details = details,
};
