/*
 * format.c - the interchange format (docs/internals/FORMAT.md) and its validator.
 *
 * In memory a filter is its interchange bytes after a 4-byte length, in the
 * machine's byte order.  Only the open set (hashes) differs: it travels as its
 * distinct hashes in ascending order.  Every value from outside, received, typed
 * in, cast or read from disk, passes check_header and check_geometry, and a body
 * that is more than bits passes its layout's check_body.  Nothing else decides what
 * is a filter, and code behind these checks trusts the header.
 */
#include <stddef.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/words.h"
#include "core/filter/filter.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

#define WIRE_HEADER 44			/* interchange bytes before the name */
#define BIG_ENDIAN_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Checks the fields that say what the others mean, and that all words are there from which the geometry is read. */
static bool
check_header(const blx_filter *h, uint64_t available, blx_error *error)
{
	const blx_layout *row = blx_layout_row(h->layout);

	if (memcmp(h->magic, "BLX", 3) != 0)
		return blx_fail(error, BLX_CORRUPT, "A filter begins with the bytes \"BLX\" and the format version.", NULL,
						"not a bloom filter");
	if (h->magic[3] != 1)
		return blx_fail(error, BLX_CORRUPT, "This version of bloomx reads format version 1.", NULL,
						"unknown bloom filter format version %u", h->magic[3]);
	if (!blx_key_type_known(h->key_type))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "unknown bloom filter key type %u", h->key_type);
	if ((h->name_len > 0) != (h->key_type == BLX_KEY_NAMED) || h->name_len > BLX_MAX_NAME)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"bloom filter key type %u cannot have a name of %u bytes", h->key_type, h->name_len);
	if (h->capacity > INT64_MAX)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter has an impossible capacity");
	if (available < blx_header_bytes(h->name_len) + 8 * (row ? row->parameters : 0))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter is shorter than its header");
	return true;
}

/* Checks the fields of the geometry, and those that depend on it. */
static bool
check_geometry(const blx_filter *h, const blx_geometry *g, blx_error *error)
{
	const blx_layout *row = blx_layout_row(h->layout);

	if (row != NULL && row->check_header != NULL)
		return row->check_header(h, error);
	if (!blx_geometry_check(g, error))
	{
		if (error != NULL)
			error->code = BLX_CORRUPT;
		return false;
	}
	if (h->pending > 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter header has an unknown state %u", h->pending);
	if (h->expanded > 0 &&
		(!row->folds || h->hashing != BLX_INDEPENDENT || h->expanded > 63 ||
		 blx_resolution(row, g) % (UINT64_C(1) << h->expanded) != 0))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter cannot have been expanded %u times", h->expanded);
	return true;
}

/* Reports a wrong length.  Always returns false. */
static bool
wrong_length(uint64_t expected, uint64_t actual, blx_error *error)
{
	return blx_fail(error, BLX_CORRUPT, NULL, NULL,
					"bloom filter has %llu bytes where its geometry needs %llu",
					(unsigned long long) actual, (unsigned long long) expected);
}

/* For a body that is more than bits: true if it can be walked within `size` bytes. */
static bool
check_body(const blx_filter *f, uint64_t size, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	body = size - blx_header_bytes(f->name_len);

	if (body % 8 != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter has a broken word at its end");
	return row->check_body(f, body / 8, error);
}

bool
blx_check_for_tests(const blx_filter *f, uint64_t size, blx_error *error)
{
	uint64_t	expected;
	blx_geometry g;

	if (size < sizeof(blx_filter))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter is shorter than its header");
	if (!check_header(f, size, error))
		return false;
	g = blx_geometry_of(f);
	if (!check_geometry(f, &g, error))
		return false;
	if (blx_layout_row(f->layout)->check_body != NULL && !check_body(f, size, error))
		return false;
	expected = blx_size(f);
	if (size != expected)
		return wrong_length(expected, size, error);
	return true;
}

static bool
check_linear(const blx_filter *f, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);

	return row->check_linear == NULL || row->check_linear(f, error);
}

bool
blx_check(const blx_filter *f, uint64_t size, blx_error *error)
{
	return blx_check_for_tests(f, size, error) && check_linear(f, error);
}

/* The fields of the header that are numbers, in the order of docs/internals/FORMAT.md. */
#define FIELD(name) {offsetof(blx_filter, name), sizeof ((blx_filter *) NULL)->name}
static const struct
{
	uint8_t		at,
				bytes;
}			fields[] = {
	FIELD(layout), FIELD(key_type), FIELD(name_len), FIELD(hashing), FIELD(blocks), FIELD(seed), FIELD(capacity),
	FIELD(part_bits), FIELD(parts), FIELD(probes), FIELD(fraction), FIELD(expanded), FIELD(pending)
};

/* Copies the header's numbers between memory and the interchange form, where each has its lowest byte first. */
static void
copy_numbers(uint8_t *to, const uint8_t *from, bool to_wire)
{
	size_t		wire = 4;		/* behind the magic */

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		for (unsigned b = 0; b < fields[i].bytes; b++, wire++)
		{
			size_t		native = fields[i].at + (BIG_ENDIAN_HOST ? fields[i].bytes - 1 - b : b);

			to[to_wire ? wire : native] = from[to_wire ? native : wire];
		}
}

uint64_t
blx_export_bytes(const blx_filter *f)
{
	const blx_layout *row = blx_layout_row(f->layout);
	uint64_t	body = row->wire_bytes != NULL ? row->wire_bytes(f) : blx_size(f) - blx_header_bytes(f->name_len);

	return blx_header_bytes(f->name_len) - sizeof f->host + body;
}

/* out need not be aligned. */
void
blx_export(const blx_filter *f, uint8_t *out)
{
	size_t		name_bytes = blx_header_bytes(f->name_len) - sizeof(blx_filter);
	uint64_t	size = blx_size(f);

	memcpy(out, f->magic, 4);
	copy_numbers(out, (const uint8_t *) f, true);
	out += WIRE_HEADER;
	memcpy(out, blx_name(f), name_bytes);
	out += name_bytes;
	/* The body: a form of its own, or its words. */
	if (blx_layout_row(f->layout)->to_wire != NULL)
		blx_layout_row(f->layout)->to_wire(f, out);
	else
		for (uint64_t i = 0; i < (size - blx_header_bytes(f->name_len)) / 8; i++)
			blx_put_word(out + 8 * i, blx_cwords(f)[i]);
}

/* True if the name has no zero byte and is padded with zeros. */
static bool
check_name(const uint8_t *name, unsigned name_len, size_t padded, blx_error *error)
{
	for (size_t i = 0; i < padded; i++)
		if ((name[i] != 0) != (i < name_len))
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter key type name is not well-formed");
	return true;
}

/*
 * Returns the geometry of interchange bytes whose header has been checked.  The
 * parameters are the body's first words.
 */
static blx_geometry
wire_geometry(const blx_filter *header, const uint8_t *body)
{
	blx_geometry g = blx_header_geometry(header);
	const blx_layout *row = blx_layout_row(header->layout);

	for (unsigned i = 0; row != NULL && i < row->parameters; i++)
		g.parameters[i] = blx_get_word(body + 8 * i);
	return g;
}

/* Reads the header of interchange bytes into a native one, and finds the geometry and the body.  False if they belong to no filter. */
static bool
read_header(const uint8_t *in, uint64_t length, blx_filter *h, blx_geometry *g, const uint8_t **body, blx_error *error)
{
	size_t		name_bytes;

	if (length < WIRE_HEADER)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter is shorter than its header");
	memcpy(h->magic, in, 4);
	copy_numbers((uint8_t *) h, in, false);
	if (!check_header(h, length + sizeof h->host, error))
		return false;
	name_bytes = blx_header_bytes(h->name_len) - sizeof(blx_filter);
	*body = in + WIRE_HEADER + name_bytes;
	*g = wire_geometry(h, *body);
	return check_geometry(h, g, error) && check_name(in + WIRE_HEADER, h->name_len, name_bytes, error);
}

/* Sets *size to the size in memory: computed from a body of another form, otherwise that of the bytes. */
static bool
size_in_memory(const blx_filter *h, const blx_geometry *g, const uint8_t *body, uint64_t body_bytes, uint64_t *size, blx_error *error)
{
	const blx_layout *row = blx_layout_row(h->layout);

	if (row->wire_check != NULL)
	{
		if (!row->wire_check(body, body_bytes, error))
			return false;
		*size = blx_header_bytes(h->name_len) + 8 * row->wire_words(body);
		return true;
	}
	*size = blx_header_bytes(h->name_len) + body_bytes;
	if (*size > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, NULL, "a bloom filter of %llu bytes exceeds the limit of 1 GB",
						(unsigned long long) *size);
	if (row->check_body == NULL && *size != blx_bytes(g, h->name_len))
		return wrong_length(blx_bytes(g, h->name_len) - sizeof h->host, *size - sizeof h->host, error);
	return true;
}

/*
 * Reads a body of words and checks it as no later reader will.  Bits outside the
 * parts would be counted as set; a body that is more than bits has its own rules.
 */
static bool
read_words(blx_filter *f, const uint8_t *body, uint64_t size, blx_error *error)
{
	const blx_layout *row = blx_layout_row(f->layout);

	for (uint64_t i = 0; i < (size - blx_header_bytes(f->name_len)) / 8; i++)
		blx_words(f)[i] = blx_get_word(body + 8 * i);
	if (row->check_body != NULL && !(check_body(f, size, error) && check_linear(f, error)))
		return false;
	if (row->check_contents != NULL)
		return row->check_contents(f, error);
	return blx_check_spare_bits(blx_cwords(f), (uint64_t) f->blocks * f->parts, f->part_bits, error);
}

blx_filter *
blx_import(const uint8_t *bytes, uint64_t length, const blx_memory *memory, blx_error *error)
{
	blx_filter	header = {0},
			   *f;
	blx_identity id;
	blx_geometry g;
	const uint8_t *body = NULL;
	uint64_t	size;
	const blx_layout *row;

	if (!read_header(bytes, length, &header, &g, &body, error) ||
		!size_in_memory(&header, &g, body, (uint64_t) (bytes + length - body), &size, error))
		return NULL;
	f = blx_alloc(memory, size, error);
	if (f == NULL)
		return NULL;
	id = blx_identity_of(&header);
	id.name = (const char *) bytes + WIRE_HEADER;
	blx_init_sized(f, &g, &id, header.capacity, size);
	f->layout = header.layout;
	f->expanded = header.expanded;
	f->pending = header.pending;
	row = blx_layout_row(header.layout);
	if (row->from_wire != NULL ? row->from_wire(f, body, error) : read_words(f, body, size, error))
		return f;
	blx_free(f, memory);
	return NULL;
}
