/*
 * geometry.c - which shapes and sizes a filter can have, and how an empty filter
 * of a geometry is made (docs/internals/design.md, "The geometry").
 *
 * What is common to all layouts is here; a layout's own rules are in its row.
 * The identity of a filter, its seed and key type, is checked here as well.
 */
#include <math.h>
#include <string.h>

#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

_Static_assert(sizeof(blx_filter) == 48, "the header is 48 bytes, 44 of them interchange format");

unsigned
blx_most_k(double fpr)
{
	return (unsigned) fmin(BLX_MAX_K, 3 + 2.2 * -log2(fpr));
}

bool
blx_check_rate(double fpr, blx_error *error)
{
	if (fpr > 0 && fpr < 1)
		return true;
	if (isnan(fpr))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "false positive rate must be between 0 and 1, not NaN");
	return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "false positive rate must be between 0 and 1, not %g", fpr);
}

/*
 * The initializer of a geometry, to be used in the return statement.  Every
 * probe of a filter in a tree asks for a geometry, and a struct that is written in
 * pieces and then copied as a whole makes the processor wait.
 */
#define HEADER_GEOMETRY(f) \
	.layout = (f)->layout == BLX_HASHES ? (f)->pending : (f)->layout, \
	.blocks = (f)->blocks, \
	.parts = (f)->parts, \
	.probes = (f)->probes, \
	.part_bits = (f)->part_bits, \
	.hashing = (f)->hashing, \
	.fraction = (f)->fraction

blx_geometry
blx_header_geometry(const blx_filter *f)
{
	return (blx_geometry) {HEADER_GEOMETRY(f)};
}

/* Returns parameter i of f, or 0 if its layout has fewer. */
static inline uint64_t
parameter(const blx_filter *f, unsigned parameters, unsigned i)
{
	return i < parameters ? blx_cwords(f)[i] : 0;
}

blx_geometry
blx_geometry_of(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	unsigned	n = row ? row->parameters : 0;

	_Static_assert(BLX_MAX_PARAMETERS == 3, "each parameter is named here");
	return (blx_geometry) {HEADER_GEOMETRY(f), .parameters = {parameter(f, n, 0), parameter(f, n, 1), parameter(f, n, 2)}};
}

bool
blx_geometry_equal(const blx_geometry *a, const blx_geometry *b)
{
	return a->layout == b->layout && a->blocks == b->blocks && a->parts == b->parts &&
		a->probes == b->probes && a->part_bits == b->part_bits &&
		a->hashing == b->hashing && a->fraction == b->fraction &&
		memcmp(a->parameters, b->parameters, sizeof a->parameters) == 0;
}

static bool
check_one(const blx_layout *row, enum blx_one what, unsigned number, const char *name, blx_error *error)
{
	if ((row->one & what) == 0 || number == 1)
		return true;
	return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a filter of layout %s has one %s, not %u", row->name, name, number);
}

/* Checks the fields that only some layouts have, or of which some have one. */
static bool
check_extras(const blx_layout *row, const blx_geometry *g, blx_error *error)
{
	if (g->hashing > (row->flat ? BLX_TRIPLE : BLX_INDEPENDENT))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a %s filter cannot have hashing scheme %u", row->name, g->hashing);
	if (g->fraction > 0 && !row->fractional)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a %s filter cannot have a fraction of a probe", row->name);
	return check_one(row, BLX_ONE_BLOCK, g->blocks, "block", error) &&
		check_one(row, BLX_ONE_PART, g->parts, "part", error) &&
		check_one(row, BLX_ONE_PROBE, g->probes, "probe in each part", error);
}

double
blx_bits_per_key(const blx_geometry *g)
{
	const blx_layout *row = blx_layout_row(g->layout);

	if (row == NULL)
		return 0;
	if (row->bits_per_key != NULL)
		return row->bits_per_key(g);
	return (double) g->parts * g->probes + (double) g->fraction / BLX_FRACTION_ONE;
}

bool
blx_geometry_check(const blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_filter_row(g->layout);

	if (row == NULL)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "unknown filter layout %u", g->layout);
	if (g->blocks == 0 || g->parts == 0 || (g->probes == 0 && g->fraction == 0) || g->part_bits == 0)
		return blx_fail(error, BLX_CORRUPT, "Blocks, parts, probes and part bits are all at least 1.", NULL,
						"filter geometry has a zero");
	if (!(blx_bits_per_key(g) <= BLX_MAX_K))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"filter geometry has %.12g bits per key, more than %u", blx_bits_per_key(g), BLX_MAX_K);
	if (!check_extras(row, g, error))
		return false;
	/* The limit of 1 GB.  part_bits is checked first, so that the products below cannot overflow. */
	if (g->part_bits > BLX_MAX_BYTES * 8 ||
		(uint64_t) g->blocks * g->parts > BLX_MAX_BYTES / 8 ||
		blx_bytes(g, BLX_MAX_NAME) > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
						"a filter of this geometry exceeds the limit of 1 GB");
	return row->check == NULL || row->check(g, error);
}

bool
blx_check_spare_bits(const uint64_t *words, uint64_t parts, uint64_t part_bits, blx_error *error)
{
	uint64_t	part_words = blx_words_for_bits(part_bits);

	if (part_bits % 64 == 0)
		return true;
	for (uint64_t part = 1; part <= parts; part++)
		if (words[part * part_words - 1] >> part_bits % 64)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter has bits set outside its parts");
	return true;
}

bool
blx_differ(const char *field, uint64_t a, uint64_t b, const char *hint, blx_error *error)
{
	return blx_fail(error, BLX_MISMATCH, NULL, hint, "bloom filters differ in %s: %llu and %llu",
					field, (unsigned long long) a, (unsigned long long) b);
}

bool
blx_check_equal_geometry(const blx_filter *a, const blx_filter *b, blx_error *error)
{
	const char *only_equal = "Filters of this layout combine only when their geometries are equal; build them by one plan.";

	if (a->blocks != b->blocks)
		return blx_differ("blocks", a->blocks, b->blocks, only_equal, error);
	if (a->parts != b->parts)
		return blx_differ("parts", a->parts, b->parts, only_equal, error);
	if (a->part_bits != b->part_bits)
		return blx_differ("part_bits", a->part_bits, b->part_bits, only_equal, error);
	if (a->probes != b->probes)
		return blx_differ("probes", a->probes, b->probes, only_equal, error);
	if (a->fraction != b->fraction)
		return blx_differ("fraction of a probe", a->fraction, b->fraction, only_equal, error);
	for (unsigned i = 0; i < blx_layout_row(a->layout)->parameters; i++)
		if (blx_cwords(a)[i] != blx_cwords(b)[i])
			return blx_fail(error, BLX_MISMATCH, NULL, only_equal, "bloom filters differ in the options of layout %s",
							blx_layout_name(a->layout));
	return true;
}

unsigned
blx_k(const blx_geometry *g)
{
	return (unsigned) blx_bits_per_key(g);
}

uint64_t
blx_bits(const blx_geometry *g)
{
	return (uint64_t) g->blocks * g->parts * g->part_bits;
}

uint64_t
blx_body_words(const blx_geometry *g)
{
	const blx_layout *row = blx_layout_row(g->layout);

	if (row == NULL)
		return 0;
	if (row->body_words != NULL)
		return row->body_words(g);
	return (uint64_t) g->blocks * g->parts * blx_words_for_bits(g->part_bits);
}

uint64_t
blx_bytes(const blx_geometry *g, unsigned name_len)
{
	return blx_header_bytes(name_len) + 8 * blx_body_words(g);
}

uint64_t
blx_size(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	blx_geometry g;

	if (row->words != NULL)
		return blx_header_bytes(f->name_len) + 8 * row->words(f);
	g = blx_geometry_of(f);
	return blx_bytes(&g, f->name_len);
}

void
blx_init(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity)
{
	const blx_layout *row = blx_filter_row(g->layout);

	if (row == NULL)
		return;
	blx_init_sized(f, g, id, capacity, blx_bytes(g, id->name_len));
	if (row->init != NULL)
		row->init(f);
}

void
blx_init_sized(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity, uint64_t bytes)
{
	uint32_t	host = f->host;

	memset(f, 0, bytes);
	f->host = host;
	memcpy(f->magic, "BLX\x01", 4);
	f->layout = g->layout;
	f->key_type = id->key_type;
	f->name_len = id->name_len;
	f->blocks = g->blocks;
	f->seed = id->seed;
	f->capacity = capacity;
	f->part_bits = g->part_bits;
	f->parts = g->parts;
	f->probes = g->probes;
	f->hashing = g->hashing;
	f->fraction = g->fraction;
	if (id->name_len > 0)
		memcpy((char *) f + sizeof(blx_filter), id->name, id->name_len);
	for (unsigned i = 0; i < blx_layout_row(g->layout)->parameters; i++)
		blx_words(f)[i] = g->parameters[i];
}

void
blx_copy_as(blx_filter *dst, const blx_filter *f, const blx_identity *id)
{
	blx_geometry g = blx_geometry_of(f);
	uint64_t	body = blx_size(f) - blx_header_bytes(f->name_len);

	blx_init_sized(dst, &g, id, f->capacity, blx_header_bytes(id->name_len) + body);
	dst->layout = f->layout;
	dst->expanded = f->expanded;
	dst->pending = f->pending;
	memcpy(blx_words(dst), blx_cwords(f), body);
}

