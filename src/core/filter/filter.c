/*
 * filter.c - empty filters, adding key hashes to a filter, testing for them, taking them out.
 */
#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/filter/inline.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

bool
blx_capacity_valid(uint64_t capacity, blx_error *error)
{
	return capacity <= INT64_MAX ||
		blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "capacity must be at most 9223372036854775807, not %llu", (unsigned long long) capacity);
}

blx_filter *
blx_new(const blx_geometry *g, const blx_identity *id, uint64_t capacity, const blx_memory *memory, blx_error *error)
{
	if (!blx_geometry_check(g, error) || !blx_identity_valid(id, error) || !blx_capacity_valid(capacity, error))
		return NULL;
	return blx_new_of_valid(g, id, capacity, memory, error);
}

blx_filter *
blx_new_of_valid(const blx_geometry *g, const blx_identity *id, uint64_t capacity, const blx_memory *memory, blx_error *error)
{
	blx_filter *f = blx_alloc(memory, blx_bytes(g, id->name_len), error);

	if (f != NULL)
		blx_init(f, g, id, capacity);
	return f;
}

size_t
blx_add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	return blx_add_inline(f, hashes, n);
}

static const char sealed[] = "It is sealed: it was made of all its keys at once.";

blx_filter *
blx_grown(const blx_filter *f, const blx_memory *memory, blx_error *error)
{
	blx_geometry g = blx_geometry_of(f);
	blx_identity id = blx_identity_of(f);
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	bytes;
	blx_filter *result;

	if (row->traits & BLX_SEALED)
		return blx_fail(error, BLX_UNSUPPORTED, sealed,
						"Build it again of all keys, or put new keys into a second filter.",
						"a filter of layout %s takes no more keys", row->name), NULL;
	if (row->grown_words == NULL)
		return blx_fail(error, BLX_UNSUPPORTED, NULL, NULL, "a filter of layout %s does not grow", row->name), NULL;
	bytes = blx_header_bytes(f->name_len) + 8 * row->grown_words(f);
	if (bytes > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
						"the bloom filter would grow beyond the limit of 1 GB"), NULL;
	result = blx_alloc(memory, bytes, error);
	if (result != NULL)
	{
		blx_init_sized(result, &g, &id, f->capacity, bytes);
		result->pending = f->pending;
		row->grow(result, f);
	}
	return result;
}

size_t
blx_add_other(blx_filter *f, const uint64_t *hashes, size_t n)
{
	return blx_layout_row(f->layout)->add(f, hashes, n);
}

bool
blx_test_other(const blx_filter *f, uint64_t hash)
{
	return blx_layout_row(f->layout)->test(f, hash);
}

bool
blx_test(const blx_filter *f, uint64_t hash)
{
	return blx_test_inline(f, hash);
}

uint64_t
blx_test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n)
{
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	found = 0;

	if (row->test_batch != NULL)
		return row->test_batch(f, hashes, n);
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) blx_test(f, hashes[i]) << i;
	return found;
}

bool
blx_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg)
{
	const blx_layout *row = blx_layout_row(header->layout);

	/* perhaps: other layouts must be read whole */
	return row->test_fetched == NULL || row->test_fetched(header, hash, fetch, arg);
}

bool
blx_remove(blx_filter *f, const uint64_t *hashes, size_t n, size_t *removed, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	size_t		found = 0;

	if (row->remove == NULL)
		return blx_fail(error, BLX_UNSUPPORTED, blx_is_sealed(f->layout) ? sealed : "A bit may belong to several keys.",
						"Build the filter with layout counting.",
						"keys cannot be removed from a filter of layout %s", blx_layout_name(f->layout));
	for (size_t i = 0; i < n; i++)
		found += row->remove(f, hashes[i]);
	if (removed != NULL)
		*removed = found;
	return true;
}

bool
blx_count(const blx_filter *f, uint64_t hash, unsigned *count, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);

	if (row->count == NULL)
		return blx_fail(error, BLX_UNSUPPORTED, "A bit does not say how often it was set.",
						"Build the filter with layout counting.",
						"keys are not counted in a filter of layout %s", blx_layout_name(f->layout));
	*count = row->count(f, hash);
	return true;
}

bool
blx_get_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg, bool *found, uint32_t *value, blx_error *error)
{
	const blx_layout *row = blx_layout_row(header->layout);
	blx_geometry g = blx_geometry_of(header);

	if (row->value_bits == NULL || row->value_bits(&g) == 0)
		return blx_fail(error, BLX_UNSUPPORTED, "Only a map has a value for each key.", "Test for the key instead, or build a map of keys and values.",
						row->value_bits == NULL ? "a filter of layout %s has no values" : "this filter of layout %s has no values",
						blx_layout_name(header->layout));
	*found = row->get_fetched(header, hash, fetch, arg, value);
	return true;
}

bool
blx_get(const blx_filter *f, uint64_t hash, bool *found, uint32_t *value, blx_error *error)
{
	return blx_get_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f), found, value, error);
}

bool
blx_to_bits_geometry(const blx_filter *f, blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);

	if (row->to_bits == NULL)
		return blx_fail(error, BLX_UNSUPPORTED, "Only filters of layout counting have counters.", "Use the filter as it is.",
						"a filter of layout %s has no counters to drop", blx_layout_name(f->layout));
	*g = blx_geometry_of(f);
	g->layout = row->bits_layout;
	return true;
}

bool
blx_to_bits(blx_filter *dst, const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);

	if (row->to_bits == NULL)
		return false;
	row->to_bits(dst, f);
	dst->expanded = f->expanded;
	dst->pending = f->pending;
	return true;
}
