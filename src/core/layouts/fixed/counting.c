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
#include "core/layouts/groups.h"

#define NOTES 1

static inline blx_groups
shape_of(const blx_filter *f)
{
	return (blx_groups) {.log2 = (unsigned) __builtin_ctz(f->blocks), .parts = f->parts, .counting = true};
}

static inline uint64_t *
cells_of(blx_filter *f)
{
	return blx_words(f) + NOTES;
}

static inline const uint64_t *
ccells_of(const blx_filter *f)
{
	return blx_cwords(f) + NOTES;
}

/* ---- the geometry: that of partitioned_blocked ---- */

static bool
check(const blx_geometry *g, blx_error *error)
{
	return blx_layout_partitioned_blocked.check(g, error);
}

static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	blx_layout_partitioned_blocked.at_step(k, step, options, g);
	g->layout = BLX_COUNTING;
}

/* `bits` is a number of cells here. */
static bool
at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	if (!blx_layout_partitioned_blocked.at_bits(k, bits, options, g, error))
		return false;
	g->layout = BLX_COUNTING;
	return true;
}

static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_layout_partitioned_blocked.fpr_expected(g, n);
}

static uint64_t
folded_bits_set(const blx_filter *f, unsigned times)
{
	return blx_groups_folded_bits_set(ccells_of(f), shape_of(f), times);
}

static uint64_t
resolution(const blx_geometry *g)
{
	return g->blocks;
}

static void
set_resolution(blx_geometry *g, uint64_t value)
{
	g->blocks = (uint32_t) value;
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
	blx_groups_add(cells_of(f), shape_of(f), hashes, n);
	return n;
}

static bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	return blx_groups_test_fetched(shape_of(f), NOTES, hash, fetch, arg);
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return blx_groups_test(ccells_of(f), shape_of(f), hash);
}

static bool
remove_key(blx_filter *f, uint64_t hash)
{
	if (!test(f, hash))
	{
		blx_words(f)[0]++;
		return false;
	}
	blx_groups_remove(cells_of(f), shape_of(f), hash);
	return true;
}

static unsigned
count(const blx_filter *f, uint64_t hash)
{
	return blx_groups_least_counter(ccells_of(f), shape_of(f), hash);
}

/* ---- the cells as they are ---- */

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	blx_groups_fpr_prefixes(ccells_of(f), shape_of(f), rates);
}

static uint64_t
prefix_words(const blx_filter *f, const blx_geometry *g)
{
	return NOTES + blx_groups_prefix_words(shape_of(f), g->parts);
}

/* The sum counts the keys of both streams, and the removals that either filter refused. */
static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	blx_words(dst)[0] += blx_cwords(src)[0];
	blx_groups_merge(cells_of(dst), shape_of(dst), ccells_of(src), shape_of(src), op);
}

static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	return blx_groups_disjoint(ccells_of(a), shape_of(a), ccells_of(b), shape_of(b));
}

/*
 * Returns how many cells `of` picks.  Unless out is NULL, also writes them
 * there as a filter of bits has them, one word per part of a block.
 */
static inline __attribute__((always_inline)) uint64_t
pick(const blx_filter *f, uint64_t (*of) (const uint64_t *planes, size_t stride), uint64_t *out)
{
	blx_groups	shape = shape_of(f);
	const uint64_t *block = ccells_of(f);
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
to_bits_geometry(const blx_filter *f, blx_geometry *g)
{
	*g = blx_geometry_of(f);
	g->layout = BLX_PARTITIONED_BLOCKED;
}

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
	.check = check,
	.at_step = at_step,
	.max_step = 28,				/* that of partitioned_blocked; the limit of 1 GB comes first */
	.line_k = BLX_GROUP,		/* so that its plans are those of partitioned_blocked */
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.folded_bits_set = folded_bits_set,
	.resolution = resolution,
	.set_resolution = set_resolution,
	.prefix_words = prefix_words,
	.merge = merge,
	.disjoint = disjoint,
	.notes = NOTES,
	.body_words = body_words,
	.remove = remove_key,
	.count = count,
	.to_bits_geometry = to_bits_geometry,
	.to_bits = to_bits,
	.bits_set = bits_set,
	.details = details,
};
