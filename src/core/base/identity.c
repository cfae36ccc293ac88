/*
 * identity.c - whose the keys of a filter are: seed and key type.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/words.h"

blx_identity
blx_identity_of(const blx_filter *f)
{
	blx_identity id = {f->seed, f->key_type, f->name_len, blx_name(f)};

	return id;
}

/* The names of key types by code (docs/internals/FORMAT.md, "Key types").  Codes are stored in filters: never renumber them. */
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
 * Returns the hint for keys of another type.  Trailing blanks count in text and
 * not in char(n), so text and bpchar need hints of their own: in SQL, a cast to
 * "character" is a cast to char(1), and a cast from char(n) to text removes
 * blanks that the filter's keys may have.
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

static bool
same_type(const blx_identity *a, const blx_identity *b)
{
	if (a->key_type == BLX_KEY_NONE || b->key_type == BLX_KEY_NONE)
		return true;
	return a->key_type == b->key_type && a->name_len == b->name_len &&
		(a->name_len == 0 || memcmp(a->name, b->name, a->name_len) == 0);
}

bool
blx_same_keys(const blx_identity *a, const blx_identity *b)
{
	return a->seed == b->seed && same_type(a, b);
}

static bool
check(const blx_identity *a, const char *what_a, const blx_identity *b, const char *what_b,
	  const char *hint, blx_error *error)
{
	char		buf_a[BLX_MAX_NAME + 1],
				buf_b[BLX_MAX_NAME + 1],
				detail[200];

	if (a->seed != b->seed)
		return blx_fail(error, BLX_MISMATCH, NULL,
						"Filters can be combined only when they were built with the same seed.",
						"bloom filters have different seeds, %lld and %lld",
						(long long) a->seed, (long long) b->seed);
	if (same_type(a, b))
		return true;
	snprintf(detail, sizeof detail, "%s has keys of type %s, %s is of type %s.",
			 what_a, blx_key_type_name(a, buf_a), what_b, blx_key_type_name(b, buf_b));
	return blx_fail(error, BLX_MISMATCH, detail, hint,
					"bloom filter key types do not match: %s and %s",
					blx_key_type_name(a, buf_a), blx_key_type_name(b, buf_b));
}

bool
blx_identity_check(const blx_identity *a, const char *what_a,
				   const blx_identity *b, const char *what_b, blx_error *error)
{
	return check(a, what_a, b, what_b, "Build both filters from keys of one type.", error);
}

bool
blx_key_check(const blx_identity *filter, const blx_identity *key, blx_error *error)
{
	return check(filter, "The filter", key, "the key", mismatch_hint(filter->key_type, key->key_type), error);
}

bool
blx_identity_valid(const blx_identity *id, blx_error *error)
{
	if (!blx_key_type_known(id->key_type))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "unknown key type %u", id->key_type);
	if ((id->name_len > 0) != (id->key_type == BLX_KEY_NAMED) || id->name_len > BLX_MAX_NAME)
		return blx_fail(error, BLX_INVALID_PARAMETER, "Only a named key type has a name, of 1 to 63 bytes.", NULL,
						"key type %u cannot have a name of %u bytes", id->key_type, id->name_len);
	return true;
}

blx_identity
blx_joint_identity(const blx_identity *a, const blx_identity *b)
{
	blx_identity joint = a->key_type == BLX_KEY_NONE ? *b : *a;

	joint.seed = a->seed;
	return joint;
}
