/*
 * reading.c - whether keys are of the type that a filter has, and texts that are
 * read as keys of that type.
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
#include "catalog/pg_type.h"
#include "nodes/nodes.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "core/base/identity.h"
#include "pg/base/objects.h"
#include "pg/keys/canonical.h"

struct KeyReader
{
	MemoryContext context;		/* of all that follows */
	KeyType		type;			/* what is read */
	FmgrInfo	input;
	Oid			io_param;
};

/* ---- from the name of a key type to an SQL type ---- */

/* The elements of an array may not be floats: that '0.1' is refused is decided for single keys only. */
static Oid
ArrayOf(Oid element)
{
	return element == FLOAT8OID || !OidIsValid(element) ? InvalidOid : get_array_type(element);
}

/* True if keys of that SQL type are such keys. */
static bool
HasKeys(Oid type, const blx_identity *keys)
{
	KeyType		key;

	LookupKeyType(&key, type, InvalidOid, CurrentMemoryContext);
	return key.identity.key_type == keys->key_type && key.identity.name_len == keys->name_len &&
		memcmp(key.identity.name, keys->name, keys->name_len) == 0;
}

/*
 * A base type or a range that has a name of its own as a key type.  The name of
 * one that PostgreSQL does not come with ends in a fingerprint.  If two types have
 * the name and the fingerprint, neither is taken.
 */
static Oid
FindTypeByName(const blx_identity *keys)
{
	char	   *name = pnstrdup(keys->name, keys->name_len),
			   *fingerprint = strchr(name, '#');
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
		bool		can_be = type->typtype == TYPTYPE_BASE || type->typtype == TYPTYPE_RANGE || type->typtype == TYPTYPE_MULTIRANGE;

		if (!can_be || (type->oid < FirstUnpinnedObjectId) != (fingerprint == NULL) || !HasKeys(type->oid, keys))
			continue;
		found = type->oid;
		count++;
	}
	ReleaseCatCacheList(types);
	return count == 1 ? found : InvalidOid;
}

/* An SQL type whose values are such keys; InvalidOid if none is found. */
static Oid
FindType(const blx_identity *keys)
{
	blx_identity element = *keys;
	char		buffer[BLX_MAX_NAME + 1];

	if (keys->key_type != BLX_KEY_NAMED)
		return TypeOfKeys(keys->key_type);
	for (int code = BLX_KEY_NONE + 1; code < BLX_KEY_NAMED; code++)
	{
		blx_identity coded = {.key_type = (uint8) code};
		const char *name = blx_key_type_name(&coded, buffer);

		if (blx_key_type_known((uint8) code) && strlen(name) == keys->name_len && memcmp(name, keys->name, keys->name_len) == 0)
			return TypeOfKeys((uint8) code);
	}
	if (keys->name_len > 2 && memcmp(keys->name + keys->name_len - 2, "[]", 2) == 0)
	{
		element.name_len -= 2;
		return ArrayOf(FindType(&element));
	}
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

/* The value that the text of an untyped key is read as.  False if it is none and soft, a node for soft errors, is not NULL. */
static bool
ReadText(KeyType *key, char *string, Node *soft, Datum *value)
{
	KeyReader  *reader = key->reader;
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = NameKeyType, .arg = key};
	bool		done;

	error_context_stack = &callback;
	done = InputFunctionCallSoftly(&reader->input, string, reader->io_param, -1, soft, value);
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

static void
BeText(KeyType *key)
{
	key->identity = (blx_identity) {.key_type = BLX_KEY_TEXT};
	key->hash = HashVarlena;
}

void
LookupTextKey(KeyType *key, Oid collation, MemoryContext context)
{
	KeyReader  *reader = MemoryContextAllocZero(context, sizeof(KeyReader));

	reader->context = AllocSetContextCreate(context, "bloom filter key reader", ALLOCSET_SMALL_SIZES);
	LookupKeyType(key, TEXTOID, collation, context);
	key->reader = reader;
}

static bool
AreSame(const blx_identity *a, const blx_identity *b)
{
	blx_identity of_a = *a;

	of_a.seed = b->seed;
	return blx_same_keys(&of_a, b);
}

bool
ReadAs(KeyType *key, const blx_identity *keys)
{
	KeyReader  *reader = key->reader;
	Oid			type;

	/* as it is, and a text for a filter without a key type */
	if (keys->key_type != BLX_KEY_NONE && AreSame(&key->identity, keys))
		return true;
	BeText(key);
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

/* ---- keys and filters ---- */

/* What to do if a cast of the key is not it; else NULL. */
static const char *
HintForKey(const blx_filter *f, const KeyType *key)
{
	if (IsFilterType(key->type))
		return "To combine or compare two filters, use |, &, && or bloom_intersection_cardinality.";
	if (f->key_type == BLX_KEY_HASH)
		return "The filter was built from hashes: use bloom_add_hash or bloom_contains_hash with the bloom_hash of the key.";
	if (f->key_type != BLX_KEY_NAMED && type_is_array_domain(key->type))
		return "For the elements of an array, use bloom_add_all, bloom_contains_any or bloom_contains_all.";
	return NULL;
}

void
CompareKeyTypes(const blx_filter *f, KeyType *key)
{
	blx_identity of_filter = blx_identity_of(f),
				of_key;
	blx_error	error;

	if (key->reader != NULL && ReadAs(key, &of_filter))
		return;
	of_key = key->identity;
	of_key.seed = of_filter.seed;
	if (!blx_key_check(&of_filter, &of_key, &error))
	{
		const char *hint = HintForKey(f, key);

		if (hint != NULL)
			strlcpy(error.hint, hint, sizeof error.hint);
		ThrowCoreError(&error);
	}
}
