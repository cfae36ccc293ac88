/*
 * geometry.c - what shapes and sizes a filter can have, and the blank filter.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/layouts/layout.h"

_Static_assert(sizeof(blx_filter) == 48, "the header is 48 bytes, 44 of them interchange format");

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
 * Made where it is returned: each probe of a filter in a tree asks for it, and a struct that is
 * written in pieces and then copied as a whole stalls.
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

/* Fields that only some layouts have. */
static bool
check_extras(const blx_layout *row, const blx_geometry *g, blx_error *error)
{
	if (g->hashing > (row->flat ? BLX_TRIPLE : BLX_INDEPENDENT))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a %s filter cannot have hashing scheme %u", row->name, g->hashing);
	if (g->fraction > 0 && !row->fractional)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a %s filter cannot have a fraction of a probe", row->name);
	return true;
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
	/* part_bits is bounded first, so that the products below cannot overflow */
	if (g->part_bits > BLX_MAX_BYTES * 8 ||
		(uint64_t) g->blocks * g->parts > BLX_MAX_BYTES / 8 ||
		blx_bytes(g, BLX_MAX_NAME) > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys over several filters.",
						"a filter of this geometry exceeds the limit of 1 GB");
	return row->check(g, error);
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
	const char *only_equal = "Filters of this layout combine only when their geometries are equal; build them with the same bloom_empty or template.";

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
	const blx_layout *row = blx_layout_row(g->layout);

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

bool
blx_copy_as(blx_filter *dst, const blx_filter *f, const blx_identity *id)
{
	blx_geometry g = blx_geometry_of(f);
	uint64_t	body = blx_size(f) - blx_header_bytes(f->name_len);

	blx_init_sized(dst, &g, id, f->capacity, blx_header_bytes(id->name_len) + body);
	dst->layout = f->layout;
	dst->expanded = f->expanded;
	dst->pending = f->pending;
	if (blx_layout_row(f->layout)->copy != NULL)
		return blx_layout_row(f->layout)->copy(dst, f);
	memcpy(blx_words(dst), blx_cwords(f), body);
	return true;
}

blx_identity
blx_identity_of(const blx_filter *f)
{
	blx_identity id = {f->seed, f->key_type, f->name_len, blx_name(f)};

	return id;
}

/* Key types by code (docs/FORMAT.md).  Codes are stored: never renumber. */
static const char *const key_type_names[] = {
	[BLX_KEY_NONE] = "none",
	[BLX_KEY_INTEGER] = "integer",
	[BLX_KEY_FLOAT] = "float",
	[BLX_KEY_NUMERIC] = "numeric",
	[BLX_KEY_TEXT] = "text",
	[BLX_KEY_BYTEA] = "bytea",
	[BLX_KEY_UUID] = "uuid",
	[BLX_KEY_BOOLEAN] = "boolean",
	[BLX_KEY_DATE] = "date",
	[BLX_KEY_TIME] = "time",
	[BLX_KEY_TIMETZ] = "timetz",
	[BLX_KEY_TIMESTAMP] = "timestamp",
	[BLX_KEY_TIMESTAMPTZ] = "timestamptz",
	[BLX_KEY_INTERVAL] = "interval",
	[BLX_KEY_INET] = "inet",
	[BLX_KEY_MACADDR] = "macaddr",
	[BLX_KEY_MACADDR8] = "macaddr8",
	[BLX_KEY_OID] = "oid",
	[BLX_KEY_MONEY] = "money",
	[BLX_KEY_ENUM] = "enum",
	[BLX_KEY_BPCHAR] = "bpchar",
	[BLX_KEY_HASH] = "hash",
	[BLX_KEY_NAMED] = NULL
};

bool
blx_key_type_known(uint8_t code)
{
	return code == BLX_KEY_NAMED || key_type_names[code] != NULL;
}

const char *
blx_key_type_name(const blx_identity *id, char buf[BLX_MAX_NAME + 1])
{
	if (id->key_type != BLX_KEY_NAMED)
		return key_type_names[id->key_type] != NULL ? key_type_names[id->key_type] : "unknown";
	memcpy(buf, id->name, id->name_len);
	buf[id->name_len] = '\0';
	return buf;
}

/*
 * Blanks at the end count in text and not in char(n).  The usual hint would lead
 * astray: in SQL, a cast to character is one to a single character, and a cast
 * to text takes blanks away that the filter's keys may have.
 */
static const char *
mismatch_hint(uint8_t of_filter, uint8_t of_key)
{
	if (of_filter == BLX_KEY_BPCHAR && of_key == BLX_KEY_TEXT)
		return "Cast the key to bpchar (\"character\" would cut it to one character), or build the filter from keys cast to text.";
	if (of_filter == BLX_KEY_TEXT && of_key == BLX_KEY_BPCHAR)
		return "Cast the key to text, which removes its trailing blanks, or build the filter from keys cast to bpchar.";
	return "Cast the key to the type that the filter was built with.";
}

bool
blx_same_keys(const blx_identity *a, const blx_identity *b)
{
	if (a->seed != b->seed)
		return false;
	if (a->key_type == BLX_KEY_NONE || b->key_type == BLX_KEY_NONE)
		return true;
	return a->key_type == b->key_type && a->name_len == b->name_len &&
		(a->name_len == 0 || memcmp(a->name, b->name, a->name_len) == 0);
}

bool
blx_identity_check(const blx_identity *a, const char *what_a,
				   const blx_identity *b, const char *what_b, blx_error *error)
{
	char		buf_a[BLX_MAX_NAME + 1],
				buf_b[BLX_MAX_NAME + 1],
				detail[200];

	if (blx_same_keys(a, b))
		return true;
	if (a->seed != b->seed)
		return blx_fail(error, BLX_MISMATCH, NULL,
						"Filters can be combined only when they were built with the same seed.",
						"bloom filters have different seeds, %lld and %lld",
						(long long) a->seed, (long long) b->seed);
	snprintf(detail, sizeof detail, "%s has keys of type %s, %s is of type %s.",
			 what_a, blx_key_type_name(a, buf_a), what_b, blx_key_type_name(b, buf_b));
	return blx_fail(error, BLX_MISMATCH, detail, mismatch_hint(a->key_type, b->key_type),
					"bloom filter key types do not match: %s and %s",
					blx_key_type_name(a, buf_a), blx_key_type_name(b, buf_b));
}
