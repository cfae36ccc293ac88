/*
 * algebra.c - which filters combine, and how (docs/internals/design.md, "The algebra").
 *
 * Everything rests on one operation of a layout, merge(dst, src): dst takes in
 * src's bits, folded or expanded to dst's resolution, over the parts that both
 * have.  Prefix, fold and expand are merges into an empty filter of the wanted
 * geometry.  A part that a filter does not have counts as all ones.
 *
 * The header's `expanded` records by how much the coarsest source of a filter was
 * expanded.  Such a filter answers exactly, but a copied block holds no new
 * information, so estimates of cardinality fold it back first.
 */

#include "core/filter/filter.h"
#include "core/layouts/geometry.h"
#include "core/layouts/growing/hashes.h"
#include "core/layouts/layout.h"

/* Returns log2 of fine / coarse if that is a power of two, 1 included; otherwise -1. */
static int
ratio_log2(uint64_t coarse, uint64_t fine)
{
	int			log2 = 0;

	for (; coarse < fine; coarse *= 2)
		log2++;
	return coarse == fine ? log2 : -1;
}

static bool
same_keys(const blx_filter *a, const blx_filter *b, blx_error *error)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b);

	return blx_identity_check(&ia, "The first filter", &ib, "the second", error);
}

bool
blx_compatible(const blx_filter *a, const blx_filter *b, enum blx_operation operation, blx_error *error)
{
	const blx_layout *row = blx_layout_row(a->layout),
			   *row_b = blx_layout_row(b->layout);

	/* The same keys, the same layout, an operation that it has, the same hashing. */
	if (!same_keys(a, b, error))
		return false;
	if (a->layout != b->layout)
		return blx_fail(error, BLX_MISMATCH, NULL,
						row->to_bits || row_b->to_bits
						? "Build both filters with the same layout, or drop the counters."
						: "Build both filters with the same layout.",
						"bloom filters differ in layout: %s and %s",
						blx_layout_name(a->layout), blx_layout_name(b->layout));
	if (!blx_check_operation(a->layout, operation, error))
		return false;
	if (a->hashing != b->hashing)
		return blx_fail(error, BLX_MISMATCH, NULL, "Build both filters with the same hashing.",
						"bloom filters differ in hashing: %s and %s",
						blx_hashing_name(a->hashing), blx_hashing_name(b->hashing));
	/* How equal the geometries must be depends on the layout: not at all, up to the resolution, or entirely. */
	if (row->any_sizes)
		return true;
	if (row->folds)
	{
		blx_geometry ga = blx_geometry_of(a),
					gb = blx_geometry_of(b);
		uint64_t	ra = blx_resolution(row, &ga),
					rb = blx_resolution(row, &gb);

		/* what a fold leaves as it is */
		if (a->probes != b->probes)
			return blx_differ("probes", a->probes, b->probes, "Build both filters with the same number of probes in each part.", error);
		if (a->fraction != b->fraction)
			return blx_differ("fraction of a probe", a->fraction, b->fraction, "Build both filters with the same k.", error);
		blx_set_resolution(row, &ga, rb);
		if (ga.part_bits != gb.part_bits)
			return blx_differ("part_bits", ga.part_bits, gb.part_bits, "Build both filters with blocks of the same size.", error);
		/* and the sizes */
		if (ra != rb && a->hashing != BLX_INDEPENDENT)
			return blx_differ("part_bits", ra, rb, "Only filters of independent hashing combine when their sizes differ.", error);
		if (ratio_log2(ra < rb ? ra : rb, ra < rb ? rb : ra) >= 0)
			return true;
		return a->blocks != b->blocks
			? blx_differ("blocks", ra, rb, "Numbers of blocks must be equal or differ by a power of two.", error)
			: blx_differ("part_bits", ra, rb, "Sizes of parts must be equal or differ by a power of two.", error);
	}
	return blx_check_equal_geometry(a, b, error);
}

/*
 * Returns the joint geometry of two compatible filters: the finer or the
 * coarser resolution, the fewer or the more parts.
 */
static blx_geometry
joint_geometry(const blx_geometry *a, const blx_geometry *b, bool finer, bool more_parts)
{
	const blx_layout *row = blx_layout_row(a->layout);
	blx_geometry g = *a;

	if ((b->parts > a->parts) == more_parts)
		g.parts = b->parts;
	if (row->folds && (blx_resolution(row, b) > blx_resolution(row, a)) == finer)
		blx_set_resolution(row, &g, blx_resolution(row, b));
	return g;
}

bool
blx_combined_geometry(enum blx_operation operation, const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error)
{
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);

	if (!blx_compatible(a, b, operation, error))
		return false;
	*g = joint_geometry(&ga, &gb, true, operation == BLX_INTERSECTION);
	return blx_geometry_check(g, error);
}

bool
blx_union_bytes(const blx_filter *a, const blx_filter *b, unsigned name_len, uint64_t *bytes, blx_error *error)
{
	const blx_layout *row = blx_layout_row(a->layout);
	blx_geometry g;
	uint64_t	words;

	if (a->layout != b->layout || row->unite == NULL)
	{
		if (!blx_combined_geometry(BLX_UNION, a, b, &g, error))
			return false;
		*bytes = blx_bytes(&g, name_len);
		return true;
	}
	if (!same_keys(a, b, error) || !row->union_words(a, b, &words, error))
		return false;
	*bytes = blx_header_bytes(name_len) + 8 * words;
	if (*bytes > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, NULL, "the union of the bloom filters exceeds the limit of 1 GB");
	return true;
}

void
blx_union(blx_filter *dst, uint64_t bytes, const blx_filter *a, const blx_filter *b, const blx_identity *id)
{
	const blx_layout *row = blx_layout_row(a->layout);
	uint8_t		pending = a->pending > b->pending ? a->pending : b->pending;
	uint64_t	capacity = blx_joint_capacity(a, b, pending != 0);
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);

	if (row->unite == NULL)		/* the size follows from the two geometries */
	{
		blx_geometry g = joint_geometry(&ga, &gb, true, false);

		blx_init(dst, &g, id, capacity);
		blx_or_into(dst, a);
		blx_or_into(dst, b);
		dst->pending = pending;
		return;
	}
	/* Otherwise the layout writes it, into a body of zeros. */
	blx_init_sized(dst, &ga, id, capacity, bytes);
	row->unite(dst, a, b);
}

bool
blx_common_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error)
{
	blx_geometry ga,
				gb;

	if (!blx_compatible(a, b, BLX_COMPARISON, error))
		return false;
	ga = blx_unexpanded_geometry(a);
	gb = blx_unexpanded_geometry(b);
	*g = joint_geometry(&ga, &gb, false, false);
	return true;
}

blx_geometry
blx_unexpanded_geometry(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g = blx_geometry_of(f);

	if (f->expanded > 0)
		blx_set_resolution(row, &g, blx_resolution(row, &g) >> f->expanded);
	return g;
}

/* Sets what dst inherits from one of its sources: the capacity, and how coarse that was before any expansion. */
static void
inherit(blx_filter *dst, const blx_filter *src)
{
	const blx_layout *row = blx_layout_row(dst->layout);

	if (blx_capacity_promised(src) > dst->capacity)
		dst->capacity = src->capacity;
	if (row->folds)
	{
		blx_geometry gd = blx_geometry_of(dst),
					gs = blx_unexpanded_geometry(src);
		int			expanded = ratio_log2(blx_resolution(row, &gs), blx_resolution(row, &gd));

		if (expanded > dst->expanded)
			dst->expanded = (uint8_t) expanded;
	}
}

/*
 * True if dst can take the bits of src.  The conditions of compatible() except
 * for the keys; dst may also be a prefix of src.
 */
static bool
merges(const blx_filter *dst, const blx_filter *src)
{
	const blx_layout *row = blx_layout_row(dst->layout);
	blx_geometry gd = blx_geometry_of(dst),
				gs = blx_geometry_of(src);

	if (row == NULL || row->merge == NULL || dst->layout != src->layout || dst->hashing != src->hashing || dst->probes != src->probes)
		return false;
	if (row->folds)
	{
		uint64_t	d = blx_resolution(row, &gd),
					s = blx_resolution(row, &gs);

		blx_set_resolution(row, &gd, s);
		if (gd.blocks != gs.blocks || gd.part_bits != gs.part_bits || gd.fraction != gs.fraction)
			return false;
		return d == s || (dst->hashing == BLX_INDEPENDENT && ratio_log2(d < s ? d : s, d < s ? s : d) > 0);
	}
	/* a sealed filter takes the place of an empty one; its prefix has fewer parts, another one's fewer bits */
	if (blx_is_sealed(dst->layout))
		return row->cardinality(dst) == 0 && dst->blocks == src->blocks && dst->part_bits == src->part_bits &&
			dst->parts <= src->parts && gd.parameters[0] == gs.parameters[0];
	return dst->blocks == src->blocks && dst->parts == src->parts && dst->fraction == src->fraction &&
		(dst->part_bits == src->part_bits || (row->prefix != NULL && dst->part_bits < src->part_bits));
}

bool
blx_or_into(blx_filter *dst, const blx_filter *src)
{
	if (!merges(dst, src))
		return false;
	blx_layout_row(dst->layout)->merge(dst, src, BLX_OR);
	inherit(dst, src);
	return true;
}

/*
 * Sets every bit of the geometry and no spare bit.  False if the layout cannot
 * be intersected: its body is more than bits.
 */
bool
blx_set_all(blx_filter *f)
{
	uint64_t	part_words = blx_words_for_bits(f->part_bits);
	uint64_t   *word = blx_words(f);

	if (!blx_check_operation(f->layout, BLX_INTERSECTION, NULL))
		return false;
	for (uint64_t part = 0; part < (uint64_t) f->blocks * f->parts; part++)
	{
		for (uint64_t i = 0; i < part_words; i++)
			*word++ = ~UINT64_C(0);
		if (f->part_bits % 64 != 0)
			word[-1] = ~UINT64_C(0) >> (64 - f->part_bits % 64);
	}
	return true;
}

bool
blx_and_into(blx_filter *dst, const blx_filter *src)
{
	if (!merges(dst, src) || !blx_check_operation(dst->layout, BLX_INTERSECTION, NULL))
		return false;
	blx_layout_row(dst->layout)->merge(dst, src, BLX_AND);
	inherit(dst, src);
	return true;
}
