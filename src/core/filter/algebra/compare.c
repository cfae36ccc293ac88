/*
 * compare.c - equality, order and hash of filters as values.
 *
 * Two filters are equal when they answer every query alike for the same
 * reason: key type, seed, geometry and words.  What a filter only notes (its
 * planned capacity, how often its sources were expanded) does not count.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/layouts/layout.h"

static int
order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By the first of n pairs of fields that differ. */
static int
order_fields(const uint64_t fields[][2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i][0] != fields[i][1])
			return order(fields[i][0], fields[i][1]);
	return 0;
}

static int
order_headers(const blx_filter *a, const blx_filter *b)
{
	blx_geometry ga = blx_geometry_of(a),
				gb = blx_geometry_of(b);
	const uint64_t kinds[][2] = {
		{a->layout, b->layout},
		{a->key_type, b->key_type},
		{a->name_len, b->name_len},
	};
	const uint64_t shapes[][2] = {
		{a->seed, b->seed},
		{ga.layout, gb.layout},
		{ga.blocks, gb.blocks},
		{ga.parts, gb.parts},
		{ga.probes, gb.probes},
		{ga.part_bits, gb.part_bits},
		{ga.hashing, gb.hashing},
		{ga.fraction, gb.fraction},
	};
	int			result = order_fields(kinds, sizeof kinds / sizeof kinds[0]);

	if (result == 0)
		result = memcmp(blx_name(a), blx_name(b), a->name_len);
	return result != 0 ? result : order_fields(shapes, sizeof shapes / sizeof shapes[0]);
}

/* By the words but the notes, which say nothing about the keys. */
static int
order_words(const blx_filter *a, const blx_filter *b)
{
	const blx_layout *row = blx_layout_row(a->layout);
	uint64_t	words = (blx_size(a) - blx_header_bytes(a->name_len)) / 8;

	for (uint64_t i = 0; i < words; i++)
		if ((i < row->parameters || i >= row->parameters + row->notes) && blx_cwords(a)[i] != blx_cwords(b)[i])
			return order(blx_cwords(a)[i], blx_cwords(b)[i]);
	return 0;
}

int
blx_compare(const blx_filter *a, const blx_filter *b)
{
	int			result = order_headers(a, b);

	if (result != 0)
		return result < 0 ? -1 : 1;
	if (blx_layout_row(a->layout)->compare != NULL)
		return blx_layout_row(a->layout)->compare(a, b);
	if (blx_size(a) != blx_size(b))
		return order(blx_size(a), blx_size(b));
	return order_words(a, b);
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
