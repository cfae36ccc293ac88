/*
 * union.c - union, intersection and disjointness of any two filters: also of
 * open sets, whose hashes are added, and of filters that hold nothing, which
 * are left out.
 */
#include <math.h>

#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/filter/growth.h"
#include "core/layouts/growing/hashes.h"

static const char first[] = "The first filter",
			second[] = "the second";

/* True if f holds no key.  Ends at the first bit that is set. */
static bool
holds_nothing(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g;
	uint64_t	words;

	if (row->bits_set != NULL)
		return row->bits_set(f) == 0;
	g = blx_geometry_of(f);
	words = blx_body_words(&g);
	for (uint64_t i = 0; i < words; i++)
		if (blx_cwords(f)[i] != 0)
			return false;
	return true;
}

/* 128 bits are the plan for one key at 1 %, which stands for "no keys".  A larger filter was planned for keys. */
#define BLANK_BITS 128

bool
blx_is_blank(const blx_filter *f)
{
	return f->layout == BLX_PARTITIONED_BLOCKED && f->capacity == 0 && f->seed == 0 &&
		(uint64_t) f->blocks * f->parts * f->part_bits <= BLANK_BITS && holds_nothing(f);
}

bool
blx_check_blank(const blx_filter *f, const blx_filter *blank, blx_error *error)
{
	blx_identity of_f = blx_identity_of(f),
				of_blank = blx_identity_of(blank);

	of_blank.seed = of_f.seed;
	return blx_identity_check(&of_f, first, &of_blank, second, error);
}

/* The union of a filter and another that adds no keys to it. */
static blx_filter *
unite_with_empty(const blx_filter *f, const blx_filter *empty, const blx_memory *memory, blx_error *error)
{
	blx_identity id = blx_identity_of(empty);
	blx_filter *result;

	if (!blx_check_blank(f, empty, error))
		return NULL;
	result = blx_copy_for(f, &id, memory, error);
	if (result != NULL)
		result->capacity = blx_joint_capacity(f, empty, blx_size_is_open(result));
	return result;
}

/* Adds all hashes of a set to f, which it owns.  Returns f or what it grew into; NULL if it cannot grow. */
static blx_filter *
add_set_growing(blx_filter *f, const blx_filter *set, const blx_growth *growth, blx_error *error)
{
	uint64_t	batch[BLX_BATCH],
				cursor = 0;
	size_t		n;

	/* make room for all of them first: they come in ascending order, and would crowd the first slots */
	if (f->layout == BLX_HASHES)
	{
		blx_filter *roomy = blx_make_room(f, blx_hashes_union_count(f, set), growth, error);

		if (roomy != f)
			blx_free(f, growth->memory);
		f = roomy;
	}
	while (f != NULL && (n = blx_hashes_next_for(f->layout, set, &cursor, batch, BLX_BATCH)) > 0)
	{
		blx_filter *grown = blx_add_growing(f, batch, n, growth, error);

		if (grown != f)
			blx_free(f, growth->memory);
		f = grown;
	}
	return f;
}

static blx_filter *
unite_with_set(const blx_filter *f, const blx_filter *set, const blx_growth *growth, blx_error *error)
{
	blx_identity of_f = blx_identity_of(f),
				of_set = blx_identity_of(set);
	blx_filter *result;

	if (!blx_identity_check(&of_f, first, &of_set, second, error) ||
		(f->layout != BLX_HASHES && !blx_check_operation(f->layout, BLX_UNION, error)))
		return NULL;
	result = blx_copy_for(f, &of_set, growth->memory, error);
	if (result != NULL)
		result = add_set_growing(result, set, growth, error);
	if (result != NULL)
		result->capacity = blx_joint_capacity(f, set, blx_size_is_open(result));
	return result;
}

/*
 * The union of two uncut filters of different sizes, at the coarser resolution;
 * NULL without an error if the keys of both need the finer one.  Both will be
 * cut, so it is better to fold one now than to expand the other: the result is
 * as if the keys had come together.
 */
static blx_filter *
unite_uncut(const blx_filter *a, const blx_filter *b, const blx_identity *joint, const blx_memory *memory, blx_error *error)
{
	blx_geometry g;
	blx_filter *result;

	if (!blx_is_uncut(a) || !blx_is_uncut(b) || !blx_common_geometry(a, b, &g, NULL) ||
		blx_cardinality(a) + blx_cardinality(b) > (double) blx_capacity(&g, fmin(blx_rate_wanted(a), blx_rate_wanted(b))))
		return NULL;
	result = blx_new_of_valid(&g, joint, blx_joint_capacity(a, b, true), memory, error);
	if (result != NULL)
	{
		result->pending = 1;
		blx_or_into(result, a);
		blx_or_into(result, b);
	}
	return result;
}

/* Two filters with keys, as the algebra unites them. */
static blx_filter *
unite_filters(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_error *error)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = blx_joint_identity(&ia, &ib);
	uint64_t	bytes;
	blx_filter *result;
	bool		a_empty,
				b_empty;

	if (!blx_union_bytes(a, b, joint.name_len, &bytes, error))
		return NULL;
	a_empty = holds_nothing(a);
	b_empty = holds_nothing(b);
	if (a_empty != b_empty)
		return a_empty ? unite_with_empty(b, a, memory, error) : unite_with_empty(a, b, memory, error);
	result = unite_uncut(a, b, &joint, memory, error);
	if (result != NULL)
		return result;
	result = blx_alloc(memory, bytes, error);
	if (result != NULL)
		blx_union(result, bytes, a, b, &joint);
	return result;
}

/*
 * A filter without keys is left out: the union is the other one, not its prefix of
 * as few parts as the empty one has.
 */
blx_filter *
blx_unite_within(const blx_filter *a, const blx_filter *b, const blx_growth *growth, blx_error *error)
{
	if (blx_is_blank(b))
		return unite_with_empty(a, b, growth->memory, error);
	if (blx_is_blank(a))
		return unite_with_empty(b, a, growth->memory, error);
	if (b->layout == BLX_HASHES)
		return unite_with_set(a, b, growth, error);
	if (a->layout == BLX_HASHES)
		return unite_with_set(b, a, growth, error);
	return unite_filters(a, b, growth->memory, error);
}

blx_filter *
blx_unite(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_error *error)
{
	blx_growth	growth = blx_unlimited_growth(memory);

	return blx_unite_within(a, b, &growth, error);
}

blx_filter *
blx_intersect(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_error *error)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = blx_joint_identity(&ia, &ib);
	blx_geometry g;
	blx_filter *result;

	if (blx_is_blank(a) || blx_is_blank(b))
		return blx_check_blank(a, b, error) ? blx_copy_for(blx_is_blank(a) ? a : b, &joint, memory, error) : NULL;
	if (!blx_combined_geometry(BLX_INTERSECTION, a, b, &g, error))
		return NULL;
	result = blx_new_of_valid(&g, &joint, 0, memory, error);
	if (result != NULL)
	{
		blx_set_all(result);
		blx_and_into(result, a);
		blx_and_into(result, b);
	}
	return result;
}

bool
blx_disjoint(const blx_filter *a, const blx_filter *b, bool *certain, blx_error *error)
{
	if (blx_is_blank(a) || blx_is_blank(b))
	{
		*certain = true;
		return blx_check_blank(a, b, error);
	}
	if (!blx_compatible(a, b, BLX_DISJOINT, error))
		return false;
	*certain = blx_layout_row(a->layout)->disjoint(a, b);
	return true;
}
