/*
 * algebra.c - union, intersection, disjointness, size reduction and order
 * (docs/design.md, "The algebra"; docs/FORMAT.md, "Combining filters").
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
#include <string.h>

#include "core/base/hash.h"
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

/*
 * True if a and b can be combined by that operation.  Their geometries agree in
 * everything except parts and resolution, which may differ if the layout can
 * resize.
 */
static bool
compatible(const blx_filter *a, const blx_filter *b, enum blx_operation operation, blx_error *error)
{
	const blx_layout *row = blx_layout_row(a->layout),
			   *row_b = blx_layout_row(b->layout);

	/* The same keys, the same layout, an operation that it has, the same hashing. */
	if (!same_keys(a, b, error))
		return false;
	if (a->layout != b->layout)
		return blx_fail(error, BLX_MISMATCH, NULL,
						row->to_bits || row_b->to_bits
						? "Build both filters with the same layout, or drop the counters with bloom_to_bits."
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
	if (row->resolution != NULL)
	{
		blx_geometry ga = blx_geometry_of(a),
					gb = blx_geometry_of(b);
		uint64_t	ra = row->resolution(&ga),
					rb = row->resolution(&gb);

		if (a->probes != b->probes)
			return blx_differ("probes", a->probes, b->probes, "Build both filters with the same number of probes in each part.", error);
		if (ra != rb && a->hashing != BLX_INDEPENDENT)
			return blx_differ("part_bits", ra, rb, "Only filters of independent hashing combine when their sizes differ.", error);
		if (ratio_log2(ra < rb ? ra : rb, ra < rb ? rb : ra) < 0)
			return blx_differ("part_bits", ra, rb, "Sizes of parts must be equal or differ by a power of two.", error);
		return true;
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
	if (row->resolution != NULL && (row->resolution(b) > row->resolution(a)) == finer)
		row->set_resolution(&g, row->resolution(b));
	return g;
}

static bool
combined_geometry(const blx_filter *a, const blx_filter *b, enum blx_operation operation, blx_geometry *g, blx_error *error)
{
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);

	if (!compatible(a, b, operation, error))
		return false;
	*g = joint_geometry(&ga, &gb, true, operation == BLX_INTERSECTION);
	return blx_geometry_check(g, error);
}

bool
blx_union_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error)
{
	return combined_geometry(a, b, BLX_UNION, g, error);
}

bool
blx_intersection_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error)
{
	return combined_geometry(a, b, BLX_INTERSECTION, g, error);
}

bool
blx_union_bytes(const blx_filter *a, const blx_filter *b, unsigned name_len, uint64_t *bytes, blx_error *error)
{
	const blx_layout *row = blx_layout_row(a->layout);
	blx_geometry g;
	uint64_t	words;

	if (a->layout != b->layout || row->unite == NULL)
	{
		if (!blx_union_geometry(a, b, &g, error))
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

bool
blx_union(blx_filter *dst, const blx_filter *a, const blx_filter *b, const blx_identity *id)
{
	const blx_layout *row = blx_layout_row(a->layout);
	uint64_t	capacity = a->capacity > b->capacity ? a->capacity : b->capacity;
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);
	uint64_t	bytes;
	blx_error	error;

	if (!blx_union_bytes(a, b, id->name_len, &bytes, &error))
		return false;
	if (row->unite == NULL)		/* the size follows from the two geometries */
	{
		blx_geometry g = joint_geometry(&ga, &gb, true, false);

		blx_init(dst, &g, id, capacity);
		blx_or_into(dst, a);
		blx_or_into(dst, b);
		dst->pending = a->pending > b->pending ? a->pending : b->pending;
		return true;
	}
	/* Otherwise the layout writes it, into a body of zeros. */
	blx_init_sized(dst, &ga, id, capacity, bytes);
	row->unite(dst, a, b);
	return true;
}

bool
blx_common_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error)
{
	blx_geometry ga,
				gb;

	if (!compatible(a, b, BLX_COMPARISON, error))
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
		row->set_resolution(&g, row->resolution(&g) >> f->expanded);
	return g;
}

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

uint64_t
blx_prefix_words(const blx_filter *header, const blx_geometry *g)
{
	const blx_layout *row = blx_layout_row(header->layout);

	return row != NULL && row->prefix_words != NULL ? row->prefix_words(header, g) : blx_body_words(g);
}

bool
blx_cut(blx_filter *f, const blx_geometry *g)
{
	uint64_t	words = blx_body_words(g);
	blx_error	error;

	if (f->layout != g->layout || !blx_check_operation(f->layout, BLX_PREFIX, &error) || blx_prefix_words(f, g) != words)
		return false;
	f->parts = g->parts;
	f->part_bits = g->part_bits;
	f->pending = 0;
	if (g->part_bits % 64 != 0)	/* a prefix of variable_blocked may end within a word */
		blx_words(f)[words - 1] &= ~UINT64_C(0) >> (64 - g->part_bits % 64);
	return true;
}

bool
blx_fold_geometry(const blx_filter *f, int64_t times, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	resolution;
	int			possible = 0;

	*g = blx_geometry_of(f);
	if (!blx_check_operation(f->layout, BLX_FOLD, error))
		return false;
	if (f->hashing != BLX_INDEPENDENT)
		return blx_fail(error, BLX_UNSUPPORTED, "Its positions are computed modulo the size of a part.", NULL,
						"a filter of %s hashing cannot be folded", blx_hashing_name(f->hashing));
	/* Every factor of two in the resolution is one fold. */
	resolution = row->resolution(g);
	while (resolution > 1 && resolution % 2 == 0)
	{
		resolution /= 2;
		possible++;
	}
	if (times != 0 && possible == 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "this filter has nothing left to fold");
	if (times < 0 || times > possible)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"this filter can be folded 0 to %d times, not %lld", possible, (long long) times);
	/* Zero folds are always possible, and leave the geometry as it is. */
	row->set_resolution(g, row->resolution(g) >> times);
	return true;
}

/* Sets what dst inherits from one of its sources: the capacity, and how coarse that was before any expansion. */
static void
inherit(blx_filter *dst, const blx_filter *src)
{
	const blx_layout *row = blx_layout_row(dst->layout);

	if (src->capacity > dst->capacity)
		dst->capacity = src->capacity;
	if (row->resolution != NULL)
	{
		blx_geometry gd = blx_geometry_of(dst),
					gs = blx_unexpanded_geometry(src);
		int			expanded = ratio_log2(row->resolution(&gs), row->resolution(&gd));

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
	if (row->resolution != NULL)
	{
		uint64_t	d = row->resolution(&gd),
					s = row->resolution(&gs);

		return d == s || (dst->hashing == BLX_INDEPENDENT && ratio_log2(d < s ? d : s, d < s ? s : d) > 0);
	}
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
	blx_error	error;

	if (!blx_check_operation(f->layout, BLX_INTERSECTION, &error))
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
	blx_error	error;

	if (!merges(dst, src) || !blx_check_operation(dst->layout, BLX_INTERSECTION, &error))
		return false;
	blx_layout_row(dst->layout)->merge(dst, src, BLX_AND);
	inherit(dst, src);
	return true;
}

bool
blx_disjoint(const blx_filter *a, const blx_filter *b, bool *certain, blx_error *error)
{
	if (!compatible(a, b, BLX_DISJOINT, error))
		return false;
	*certain = blx_layout_row(a->layout)->disjoint(a, b);
	return true;
}

/* The room for every fold of f, one after another. */
uint64_t
blx_shrink_scratch(const blx_filter *f)
{
	uint64_t	bytes = 0;
	blx_geometry folded;
	blx_error	no_more;

	for (int64_t times = 1; blx_fold_geometry(f, times, &folded, &no_more); times++)
		bytes += blx_bytes(&folded, 0);
	return bytes;
}

/*
 * Tries every fold with every prefix of it.  Each round folds once more, into
 * scratch behind the last fold, and computes the rates of all prefixes at once.
 * Of two equal sizes the one with more blocks and fewer parts is kept, since it
 * was found first; it has fewer probes.
 */
bool
blx_shrink_geometry(const blx_filter *f, double fpr, blx_filter *scratch, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	const blx_identity anonymous = {0};
	double		rates[BLX_MAX_K + 1];
	blx_geometry folded;
	blx_error	no_more;

	if (!blx_check_rate(fpr, error) || !blx_check_operation(f->layout, BLX_FOLD, error))
		return false;
	folded = blx_geometry_of(f);
	row->fpr_prefixes(f, rates);
	if (rates[f->parts] > fpr)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL,
						"Build a larger filter, or ask for a higher rate.",
						"the filter's false positive rate is %.3g already, above the %g asked for",
						rates[f->parts], fpr);
	*g = folded;
	while (rates[f->parts] <= fpr)
	{
		/* the fewest parts that keep the rate */
		while (folded.parts > 1 && rates[folded.parts - 1] <= fpr)
			folded.parts--;
		if (blx_body_words(&folded) < blx_body_words(g))
			*g = folded;

		/* the next fold, with all its parts */
		if (!blx_fold_geometry(f, 1, &folded, &no_more))
			break;
		blx_init(scratch, &folded, &anonymous, 0);
		blx_or_into(scratch, f);
		f = scratch;
		scratch = (blx_filter *) (void *) ((char *) scratch + blx_size(scratch));
		row->fpr_prefixes(f, rates);
	}
	return true;
}

/* True if word i of a body is a note, which does not distinguish filters. */
static inline bool
is_note(const blx_layout *row, uint64_t i)
{
	return i < row->parameters + row->notes && i >= row->parameters;
}

int
blx_compare(const blx_filter *a, const blx_filter *b)
{
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);
	int			order;

#define COMPARE(x, y) do { if ((x) != (y)) return (x) < (y) ? -1 : 1; } while (0)
	/* By the keys, then by the geometry: filters that combine stand together. */
	COMPARE(a->layout, b->layout);
	COMPARE(a->key_type, b->key_type);
	COMPARE(a->name_len, b->name_len);
	order = memcmp(blx_name(a), blx_name(b), a->name_len);
	COMPARE(order, 0);
	COMPARE(a->seed, b->seed);
	COMPARE(ga.layout, gb.layout);
	COMPARE(ga.blocks, gb.blocks);
	COMPARE(ga.parts, gb.parts);
	COMPARE(ga.probes, gb.probes);
	COMPARE(ga.part_bits, gb.part_bits);
	COMPARE(ga.hashing, gb.hashing);
	COMPARE(ga.fraction, gb.fraction);
	if (blx_layout_row(a->layout)->compare != NULL)
		return blx_layout_row(a->layout)->compare(a, b);
	/* By the body, word by word, without what says nothing about the keys. */
	{
		uint64_t	words = (blx_size(a) - blx_header_bytes(a->name_len)) / 8;

		COMPARE(blx_size(a), blx_size(b));
		for (uint64_t i = 0; i < words; i++)
			if (!is_note(blx_layout_row(a->layout), i))
				COMPARE(blx_cwords(a)[i], blx_cwords(b)[i]);
	}
#undef COMPARE
	return 0;
}

uint64_t
blx_value_hash(const blx_filter *f, uint64_t seed)
{
	uint64_t	fields[4] = {
		(uint64_t) f->layout << 40 | (uint64_t) f->key_type << 32 | f->blocks,
		f->seed,
		f->part_bits,
		(uint64_t) f->hashing << 48 | (uint64_t) f->fraction << 32 | (uint64_t) f->parts << 16 | f->probes
	};
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	skipped;

	seed = blx_hash_bytes(fields, sizeof fields, seed);
	if (row->digest != NULL)
		return row->digest(f) ^ seed;
	seed = blx_hash_bytes(blx_name(f), f->name_len, seed);
	seed = blx_hash_bytes(blx_cwords(f), 8 * row->parameters, seed);
	skipped = blx_header_bytes(f->name_len) + 8 * (row->parameters + row->notes);
	return blx_hash_bytes((const char *) f + skipped, blx_size(f) - skipped, seed);
}
