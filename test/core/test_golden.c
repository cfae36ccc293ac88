/*
 * test_golden.c - the golden vectors of test/python/golden.json: hashes of
 * keys, and filters with their bytes, made by a program that shares nothing
 * with the core but docs/internals/FORMAT.md.
 *
 * The file has one vector per line.  The reader here understands only that, not
 * JSON in general.
 */
#include "filters.h"

#ifndef GOLDEN
#define GOLDEN "../python/golden.json"
#endif

/* The text after "name": on the line, or NULL. */
static const char *
field(const char *line, const char *name)
{
	char		quoted[40];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\":", name);
	at = strstr(line, quoted);
	if (at == NULL)
		return NULL;
	at += strlen(quoted);
	return at + strspn(at, " \"[");
}

static uint64_t
number(const char *line, const char *name)
{
	const char *at = field(line, name);

	return at ? strtoull(at, NULL, 0) : 0;
}

static int
digit_value(char c, const char *digits)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int) (at - digits) : -1;
}

static bytes
from_base64(const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	bytes		b = {take(strlen(text)), 0};
	uint32_t	bits = 0;

	for (unsigned i = 1; digit_value(*text, digits) >= 0; i++, text++)
	{
		bits = bits << 6 | (uint32_t) digit_value(*text, digits);
		if (i % 4 != 1)
			b.data[b.length++] = (uint8_t) (bits >> (6 - 2 * ((i - 1) % 4)));
	}
	return b;
}

static bytes
from_hex(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	bytes		b = {take(strlen(text)), 0};

	for (; digit_value(text[0], digits) >= 0; text += 2)
		b.data[b.length++] = (uint8_t) (digit_value(text[0], digits) << 4 | digit_value(text[1], digits));
	return b;
}

/* The hash of canonical bytes.  The bytes of a key that is a hash already are the hash, in little-endian order. */
static uint64_t
key_hash(bytes canonical, bool ready_made, uint64_t seed)
{
	uint64_t	hash = 0;

	if (!ready_made)
		return blx_hash_bytes(canonical.data, canonical.length, seed);
	memcpy(&hash, canonical.data, 8);
	return blx_to_le64(hash);
}

/* Of a key that consists of others the canonical bytes are a list, one with each seed. */
static void
check_hash(const char *line, const uint64_t *seeds)
{
	char	   *end;
	const char *at = field(line, "hash"),
			   *canonical = field(line, "canonical");
	bool		has_parts = canonical[-2] == '[';

	for (int i = 0; i < 2; i++)
	{
		uint64_t	expected = strtoull(at, &end, 0);
		bytes		input = from_hex(canonical);

		CHECK(blx_hash_bytes(input.data, input.length, seeds[i]) == expected, "%s", line);
		if (input.length == 8)
		{
			uint64_t	value;

			memcpy(&value, input.data, 8);
			CHECK(blx_hash_int64(blx_to_le64(value), seeds[i]) == expected, "as an integer: %s", line);
		}
		at = end + strcspn(end, "0");
		if (has_parts)
			canonical = strstr(canonical, "\", \"") + 4;
	}
}

static void
check_filter(const char *line)
{
	bytes		wire = from_base64(field(line, "text")),
				again;
	uint64_t	seed = number(line, "seed");
	blx_geometry g = {0, (uint32_t) number(line, "blocks"), (uint16_t) number(line, "parts"),
	(uint16_t) number(line, "probes"), number(line, "part_bits")},
				seen;
	blx_error	error;
	blx_filter *golden = imported(wire.data, wire.length, &error),
			   *ours;
	blx_identity id;
	char		layout[40] = "",
				key_type[BLX_MAX_NAME + 1] = "",
				seen_type[BLX_MAX_NAME + 1];
	const char *at,
			   *end,
			   *values;
	static uint64_t hashes[1000];
	static blx_entry entries[1000];
	size_t		n = 0;
	bool		found = false;
	uint32_t	value = 0;

	g.hashing = (uint8_t) number(line, "hashing");
	g.fraction = (uint16_t) number(line, "fraction");
	at = strstr(line, "\"parameters\": [");
	if (at != NULL)
		sscanf(at, "\"parameters\": [%" SCNu64 ", %" SCNu64 ", %" SCNu64, &g.parameters[0], &g.parameters[1], &g.parameters[2]);
	sscanf(field(line, "layout"), "%39[^\"]", layout);
	sscanf(field(line, "key_type"), "%63[^\"]", key_type);
	if (!CHECK(golden != NULL, "%.60s: %s", line, error.message))
		return;
	if (!CHECK(blx_layout_by_name(layout, &g.layout, &error), "%s", error.message))
		return;
	seen = blx_geometry_of(golden);
	id = blx_identity_of(golden);
	CHECK(blx_geometry_equal(&g, &seen), "%s, not %s", describe(&seen), describe(&g));
	CHECK(id.seed == seed && strcmp(blx_key_type_name(&id, seen_type), key_type) == 0, "%s %s", key_type, seen_type);

	ours = blank(&g, &id, golden->capacity);
	values = field(line, "values");
	at = strstr(line, "\"keys\"");
	end = strstr(at, "\"bits_set\"");
	while ((at = field(at, "canonical")) != NULL && at < end && n < LENGTH(entries))
	{
		uint64_t	hash = key_hash(from_hex(at), strcmp(key_type, "hash") == 0, seed);

		if (!blx_is_sealed(g.layout))
			ours = with_keys(ours, &hash, 1);
		CHECK(blx_test(g.layout == BLX_AGE_PARTITIONED ? ours : golden, hash), "%.60s: a key is missing", line);
		entries[n].hash = hashes[n] = hash;
		if (values != NULL)
		{
			entries[n].value = (uint32_t) strtoul(values, (char **) &values, 10);
			values += strspn(values, ", ");
			CHECK(blx_get(golden, hash, &found, &value, &error) && found && value == entries[n].value, "%.60s: value %u", line, value);
		}
		n++;
	}
	if (values != NULL)
		ours = taken_over(blx_build_map(&g, &id, entries, n, NULL, NULL, &error));
	else if (blx_is_sealed(g.layout))
		ours = with_keys(ours, hashes, n);
	again = exported(ours);
	CHECK(bytes_equal(again, wire), "%.60s: other bytes", line);
	CHECK(blx_bits_set(golden) == number(line, "bits_set"), "%.60s: %" PRIu64 " bits", line, blx_bits_set(golden));
	CHECK(fabs(blx_fpr(golden) - strtod(strstr(end, "\"fpr\":") + 6, NULL)) <= 1e-9 * blx_fpr(golden), "%.60s: %.12g", line, blx_fpr(golden));
	at = field(end, "cardinality");
	if (strncmp(at, "inf", 3) == 0)
		CHECK(isinf(blx_cardinality(golden)), "%.60s: %g", line, blx_cardinality(golden));
	else
		CHECK(fabs(blx_cardinality(golden) - strtod(at, NULL)) <= 1e-9 * strtod(at, NULL), "%.60s: %.12g", line, blx_cardinality(golden));
}

int
main(void)
{
	static char line[1 << 20];
	uint64_t	seeds[2] = {0};
	int			keys = 0,
				filters = 0;
	FILE	   *file = fopen(GOLDEN, "r");

	if (file == NULL)
	{
		printf("Bail out! cannot read " GOLDEN "\n");
		return 2;
	}
	TEST("golden vectors: the hashes of keys, the filters and their bytes")
	{
		while (fgets(line, sizeof line, file) != NULL)
		{
			if (field(line, "seeds") != NULL)
			{
				seeds[0] = number(line, "seeds");
				seeds[1] = strtoull(strstr(strstr(line, "0x") + 2, "0x"), NULL, 0);
			}
			else if (field(line, "text") != NULL)
			{
				filters++;
				check_filter(line);
			}
			else if (field(line, "canonical") != NULL && field(line, "hash") != NULL)
			{
				keys++;
				check_hash(line, seeds);
			}
			release();
		}
		note("%d filters, %d keys", filters, keys);
		CHECK(filters >= 19 && keys >= 90, "the file was not understood");
	}
	fclose(file);
	return report();
}
