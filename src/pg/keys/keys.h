/*
 * keys.h - from SQL values to key types and hashes.
 *
 *   lookup.c      the key type of an SQL type
 *   canonical.c   a hash function for each SQL type
 *   containers.c  the same for keys that consist of others: arrays, rows, ranges, jsonb
 *   indexed.c     the key types of values in an index
 *   match.c       whether keys are of the type that a filter has
 *   reading.c     constants of type text that are read as keys of another type
 */
#pragma once

#include "pg/base/base.h"

/* What is known of an SQL type whose values are keys. */
typedef struct KeyType KeyType;

/* How a text is read as a key of another type (reading.c). */
typedef struct KeyReader KeyReader;

typedef uint64 KeyHashFunction(KeyType *key, Datum value, uint64 seed);

struct KeyType
{
	Oid			type;			/* as the call passes it; InvalidOid = not looked up yet */
	blx_identity identity;		/* its seed is unused */
	KeyHashFunction *hash;
	int16		length;			/* of the base type, for arrays of it */
	bool		by_value;
	char		align;
	Oid			collation;
	FmgrInfo	hash_function;	/* the extended hash function, of types that are hashed by it */
	KeyType    *parts;			/* the element of an array, the columns of a row, the bounds of a range */
	int			n_parts;
	bool		lost_columns;	/* in an index: equal rows may have different hashes, as columns were dropped */
	/* of a row without a named type, whose columns only a value tells; else NULL */
	MemoryContext row_context;	/* of the parts and the name */
	Oid			row_type;		/* of the last value; InvalidOid = none yet */
	int32		row_typmod;
	/* of an untyped key, a text that stands for a key of whatever type the filter has; else NULL */
	KeyReader  *reader;
	bool		(*read_as) (KeyType *key, const blx_identity *keys);	/* ReadAs */
};

/*
 * Looks up the key type of an SQL type, or throws an error if its values cannot be
 * keys; softly, it returns false if there is a node for soft errors.  Everything
 * it keeps is in context.
 */
extern void LookupKeyType(KeyType *key, Oid type, Oid collation, MemoryContext context);
extern bool LookupKeyTypeSoftly(KeyType *key, Oid type, Oid collation, MemoryContext context, Node *soft);

/* The code of a base type whose canonical form is the same everywhere (docs/internals/FORMAT.md); BLX_KEY_NONE for all others. */
extern uint8 OwnCodeOf(Oid base);

/*
 * A row without a named type becomes one of the columns of that value, of the
 * first element of an array that is not NULL, or of that type modifier.
 */
extern bool LookupRowOf(KeyType *key, Datum value, Node *soft);
extern void LookupRowOfArray(KeyType *key, Datum array);
extern bool LookupRowOfTypmod(KeyType *key, int32 typmod, Node *soft);

/* True if a row has columns of the types of the key's. */
extern bool HasColumnsOf(const KeyType *key, Datum value);

/* Frees what detoasting a value gave, if that is a copy. */
static inline void
FreeIfDetoasted(void *detoasted, Datum value)
{
	if (detoasted != DatumGetPointer(value))
		pfree(detoasted);
}

/* The hash of a key.  The value must be of the key type and not NULL. */
static inline uint64
HashKey(KeyType *key, Datum value, uint64 seed)
{
	return key->hash(key, value, seed);
}

/* The elements of an array of texts that are not NULL. */
extern Datum *TextsOf(Datum array, int *n);

/* The hashes of an array's elements that are not NULL: *n of them.  Sets *nulls if there is a NULL among the elements. */
extern uint64 *HashArray(KeyType *key, Datum array, uint64 seed, int *n, bool *nulls);

/* The hash of a row of n columns, none of them NULL, as that of ROW(...). */
extern uint64 HashOfColumns(KeyType *const *parts, const Datum *values, int n, uint64 seed);

/* ---- match.c ---- */

extern void CompareKeyTypes(const blx_filter *f, KeyType *key);

/* Throws an error unless keys of that type belong into the filter.  An untyped key becomes one of the filter's type. */
static inline void
CheckKeyType(const blx_filter *f, KeyType *key)
{
	/* the common case, without a comparison of names */
	if (f->key_type != key->identity.key_type || f->key_type == BLX_KEY_NAMED)
		CompareKeyTypes(f, key);
}

/* ---- indexed.c ---- */

/* Looks up the key type of values in an index, where ALTER must not change the key of a value. */
extern void LookupIndexedType(KeyType *key, Oid type, Oid collation, MemoryContext context);
extern bool LookupIndexedTypeSoftly(KeyType *key, Oid type, Oid collation, MemoryContext context, Node *soft);

/* ---- reading.c ---- */

/* The key type of texts that stand for keys of whatever type a filter has. */
extern void LookupTextKey(KeyType *key, Oid collation, MemoryContext context);

/* The widest SQL type of a key type with a code of its own; InvalidOid if there is none. */
extern Oid	TypeOfKeys(uint8 code);

/* An untyped key becomes one of that key type.  False, and it is a text, if texts cannot be read as such keys. */
extern bool ReadAs(KeyType *key, const blx_identity *keys);

/*
 * The hash of an untyped key, which ReadAs has given a type.  False if its text
 * is no value of that type; before PostgreSQL 16 that is an error.
 */
extern bool HashTextSoftly(KeyType *key, Datum value, uint64 seed, uint64 *hash);

/* ---- canonical.c: the hash functions of keys, each of the canonical bytes of a value ---- */

/* What numeric_normalize() makes of a number. */
typedef struct NumericText
{
	const char *bytes;
	size_t		length;
	char	   *made;			/* to be freed, unless it is NULL */
	char		room[1 + 64 * 4 + 1 + 64];	/* a sign, digits before the point, the point, digits after it */
} NumericText;

extern void MakeNumericText(NumericText *text, const struct varlena *number);

extern KeyHashFunction HashInt2, HashInt4, HashInt8, HashFloat4, HashFloat8, HashNumeric;
extern KeyHashFunction HashVarlena, HashBpchar, HashCString, HashFixedBytes;
extern KeyHashFunction HashBool, HashChar, Hash32Bits, HashTimeTz, HashTid, HashInterval, HashInet;
extern KeyHashFunction HashEnum, HashByType;

/* ---- containers.c: key->parts must be set, except for jsonb ---- */
extern KeyHashFunction HashArrayValue, HashRow, HashRange, HashMultirange, HashJsonb;
extern KeyHashFunction HashStoredRow;	/* NULLs at the end make no difference */
