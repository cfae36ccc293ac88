/*
 * reading.c - texts that are read as keys of the type that a filter has.
 *
 * PostgreSQL makes a text of a literal or a parameter without a type, if an
 * argument may be of any type.  In `integer_column = '42'` it reads the literal
 * as an integer.  It cannot do so in `f @> '42'`, for only the value of f says
 * what its keys are.  So such a key is untyped (value/callsite.c says which keys
 * are): it takes the type of each filter that it meets, and the input function of
 * that type reads its text.
 *
 * What is read must be the key that the same text is as a value of the SQL type
 * that the filter was built from.  The header does not tell this type, only its
 * key type.  The widest SQL type of a key type reads all that the others read, to
 * the same key.  There are two exceptions.  '0.1' is one value as real and another
 * one as double precision: it is refused, as are such keys inside arrays.  An
 * enum's labels are known to the enum only: any text is taken for one.
 */
#include "pg/keys/keys.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/nodes.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "core/base/base.h"

struct KeyReader
{
	MemoryContext context;		/* of all that follows */
	KeyType		type;			/* what is read */
	FmgrInfo	input;
	Oid			io_param;
};

static bool
AreSame(const blx_identity *a, const blx_identity *b)
{
	blx_identity of_a = *a;

	of_a.seed = b->seed;
	return blx_same_keys(&of_a, b);
}

/* ---- from the name of a key type to an SQL type ---- */

/* True if keys of that SQL type are such keys. */
static bool
HasKeys(Oid type, const blx_identity *keys)
{
	KeyType		key;

	return LookupKeyTypeSoftly(&key, type, InvalidOid, CurrentMemoryContext, NewSoftErrors()) &&
		key.identity.key_type == keys->key_type && AreSame(&key.identity, keys);
}

/*
 * A type that has a name of its own as a key type: a base type or a range that
 * PostgreSQL comes with, or another base type, whose name as a key type ends in a
 * fingerprint.  If two types have the name and the fingerprint, neither is taken.
 *
 * Every user can make types of any name, in a temporary schema, too, which other
 * sessions see.  Base types can be made by superusers only.
 */
static Oid
FindTypeByName(const blx_identity *keys)
{
	char	   *name = pnstrdup(keys->name, keys->name_len),
			   *fingerprint = strrchr(name, '#');
	CatCList   *types;
	Oid			found = InvalidOid;
	int			count = 0;

	if (fingerprint != NULL)
		*fingerprint = '\0';
	if (strcmp(name, "\"char\"") == 0)
		return CHAROID;
	types = SearchSysCacheList1(TYPENAMENSP, CStringGetDatum(name));
	for (int i = 0; i < types->n_members; i++)
	{
		Form_pg_type type = (Form_pg_type) GETSTRUCT(&types->members[i]->tuple);
		bool		can_be = fingerprint == NULL ? type->oid < FirstUnpinnedObjectId :
			type->typtype == TYPTYPE_BASE && !isAnyTempNamespace(type->typnamespace);

		if (!can_be || !HasKeys(type->oid, keys))
			continue;
		found = type->oid;
		count++;
	}
	ReleaseCatCacheList(types);
	return count == 1 ? found : InvalidOid;
}

static Oid	FindType(const blx_identity *keys);

/*
 * The elements of an array.  They may not be floats, because that '0.1' is refused
 * is decided for single keys only; nor enums, whose values are no texts.
 */
static Oid
FindArray(const char *element, int length)
{
	blx_identity keys = {.key_type = BLX_KEY_NAMED, .name_len = (uint8) length, .name = element};
	Oid			type = FindType(&keys);

	if (type == FLOAT8OID || strncmp(element, "enum[", strlen("enum[")) == 0)
		return InvalidOid;
	return OidIsValid(type) ? get_array_type(type) : InvalidOid;
}

/* An SQL type whose values are such keys; InvalidOid if none is found.  The columns of rows are not looked for. */
static Oid
FindType(const blx_identity *keys)
{
	const char *name = keys->name;
	int			length = keys->name_len;
	char		buffer[BLX_MAX_NAME + 1];

	if (keys->key_type != BLX_KEY_NAMED)
		return TypeOfKeys(keys->key_type);
	for (int code = BLX_KEY_NONE + 1; code < BLX_KEY_NAMED; code++)
	{
		blx_identity coded = {.key_type = (uint8) code};
		const char *its_name = blx_key_type_name(&coded, buffer);

		if (blx_key_type_known((uint8) code) && strlen(its_name) == length && memcmp(its_name, name, length) == 0)
			return TypeOfKeys((uint8) code);
	}
	if (length > 2 && memcmp(name + length - 2, "[]", 2) == 0)
		return FindArray(name, length - 2);
	return FindTypeByName(keys);
}

/* ---- reading ---- */

/*
 * False if the text of the value is another value as real, so that a filter may
 * hold either.  A value that real has no room for is meant as double precision.
 */
static bool
IsOneFloat(double value)
{
	float		narrow = (float) value;

	return isnan(value) || (double) narrow == value || isinf(narrow) || narrow == 0;
}

/* Adds the key type to an error of its input function, whose message names an SQL type. */
static void
NameKeyType(void *key)
{
	char		buffer[BLX_MAX_NAME + 1];

	errcontext("bloom filter key of type %s", blx_key_type_name(&((KeyType *) key)->identity, buffer));
}

/*
 * Bytes must be in hex format.  In the escape format any text is bytes: those that
 * a driver sent without a type, which the server takes for a text, would be others
 * without a word.
 */
static bool
CheckBytes(const char *string, Node *soft)
{
	if (string[0] == '\0' || strncmp(string, "\\x", 2) == 0)
		return true;
	errsave(soft,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("a key of type bytea without a cast must be in hex format"),
			 errhint("Cast it, as in $1::bytea, or write '\\x' and hexadecimal digits.")));
	return false;
}

/* The value that the text of an untyped key is read as.  False if it is none and soft, a node for soft errors, is not NULL. */
static bool
ReadText(KeyType *key, char *string, Node *soft, Datum *value)
{
	KeyReader  *reader = key->reader;
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = NameKeyType, .arg = key};
	bool		done;

	error_context_stack = &callback;
	done = (reader->type.type != BYTEAOID || CheckBytes(string, soft)) &&
		InputFunctionCallSoftly(&reader->input, string, reader->io_param, -1, soft, value);
	if (done && key->identity.key_type == BLX_KEY_FLOAT && !IsOneFloat(DatumGetFloat8(*value)))
	{
		done = false;
		errsave(soft,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("text \"%s\" is one value as real and another as double precision", string),
				 errhint("Cast the key to real or to double precision, as the filter was built.")));
	}
	error_context_stack = callback.previous;
	return done;
}

static bool
HashRead(KeyType *key, Datum datum, uint64 seed, Node *soft, uint64 *hash)
{
	KeyType    *type = &key->reader->type;
	char	   *string = TextDatumGetCString(datum);
	Datum		value;
	bool		done = ReadText(key, string, soft, &value);

	if (done)
	{
		*hash = HashKey(type, value, seed);
		if (!type->by_value)
			pfree(DatumGetPointer(value));
	}
	pfree(string);
	return done;
}

static uint64
HashText(KeyType *key, Datum value, uint64 seed)
{
	uint64		hash = 0;

	(void) HashRead(key, value, seed, NULL, &hash);
	return hash;
}

bool
HashTextSoftly(KeyType *key, Datum value, uint64 seed, uint64 *hash)
{
	if (key->hash == HashText)
		return HashRead(key, value, seed, NewSoftErrors(), hash);
	*hash = HashKey(key, value, seed);
	return true;
}

/* ---- the type of an untyped key ---- */

void
LookupTextKey(KeyType *key, Oid collation, MemoryContext context)
{
	KeyReader  *reader = MemoryContextAllocZero(context, sizeof(KeyReader));

	reader->context = AllocSetContextCreate(context, "bloom filter key reader", ALLOCSET_SMALL_SIZES);
	LookupKeyType(key, TEXTOID, collation, context);
	key->reader = reader;
	key->read_as = ReadAs;
}

bool
ReadAs(KeyType *key, const blx_identity *keys)
{
	KeyReader  *reader = key->reader;
	Oid			type;

	/* as it is, and a text for a filter without a key type */
	if (keys->key_type != BLX_KEY_NONE && AreSame(&key->identity, keys))
		return true;
	key->identity = (blx_identity) {.key_type = BLX_KEY_TEXT};
	key->hash = HashVarlena;
	if (AreSame(&key->identity, keys))
		return true;
	type = FindType(keys);
	if (!OidIsValid(type))
		return false;
	MemoryContextReset(reader->context);
	LookupKeyType(&reader->type, type, InvalidOid, reader->context);
	if (keys->key_type == BLX_KEY_ENUM)
		reader->type.identity.key_type = BLX_KEY_ENUM;	/* a label is hashed as a text */
	if (!AreSame(&reader->type.identity, keys))
		return false;
	getTypeInputInfo(type, &reader->input.fn_oid, &reader->io_param);
	fmgr_info_cxt(reader->input.fn_oid, &reader->input, reader->context);
	key->identity = reader->type.identity;
	key->hash = HashText;
	return true;
}
