/*
 * extract.h - the keys of an indexed value, and the keys that a condition asks
 * for.
 *
 * An operator class of an index says with its support function how values have
 * keys: a scalar is one key, an array has its elements, a text its n-grams.  The
 * access method bloomx and the BRIN classes know no more of a type than this.
 */
#pragma once

#include "pg/keys/keys.h"

/* Hashes of keys, in any order and perhaps more than once. */
typedef struct KeyHashes
{
	uint64	   *hash;
	uint32		n;
	uint32		room;
} KeyHashes;

/* The identity of keys that are not the values of a type: a name that no type has. */
#define KEYS_NAMED(text) ((blx_identity) {.key_type = BLX_KEY_NAMED, .name_len = sizeof(text) - 1, .name = (text)})

/* Sorts the hashes from the first one on, and keeps each only once. */
extern void CompactKeyHashes(KeyHashes *hashes, uint32 first);

/* Makes room for more.  The array grows in the memory context in which it was allocated; the first one in the current one. */
extern void GrowKeyHashes(KeyHashes *hashes);

static inline void
AddKeyHash(KeyHashes *hashes, uint64 hash)
{
	if (hashes->n == hashes->room)
		GrowKeyHashes(hashes);
	hashes->hash[hashes->n++] = hash;
}

/*
 * What must be among the keys of a value that meets a condition.  A value without
 * these keys does not meet it; one with them may.
 */
typedef enum KeyConditionKind
{
	ANY_VALUE,					/* says nothing */
	NO_VALUE,					/* nothing meets the condition */
	HAS_KEY,
	HAS_BIT,					/* of the signatures of filters in an index bloomx */
	HAS_ALL,					/* of the parts */
	HAS_ANY
} KeyConditionKind;

typedef struct KeyCondition
{
	KeyConditionKind kind;
	uint32		n;				/* of HAS_ALL and HAS_ANY */
	struct KeyCondition **parts;
	uint64		hash;			/* of HAS_KEY; the number of HAS_BIT */
	/* what the index bloomx notes of HAS_KEY (condition/scan_condition.c) */
	bool		in_column;		/* true if the hash is mixed with the column's number */
	uint32		shape;			/* of the signatures that the slices are of; 0: not known yet */
	uint32	   *slices;
} KeyCondition;

/* What the strategy numbers of operator classes mean, whatever the access method; filters have numbers of their own. */
typedef enum KeyStrategy
{
	KEYS_EQUAL = 1,				/* = */
	KEYS_CONTAIN,				/* @> */
	KEYS_OVERLAP,				/* && */
	KEYS_EXIST,					/* ? */
	KEYS_EXIST_ANY,				/* ?| */
	KEYS_EXIST_ALL,				/* ?& */
	KEYS_LIKE,					/* ~~ */
	KEYS_ILIKE,					/* ~~* */
	KEYS_REGEX,					/* ~ */
	KEYS_IREGEX,				/* ~* */
	KEYS_MATCH,					/* @@ */
	KEYS_PATH,					/* @? */
	KEYS_CONTAINED				/* <@ */
} KeyStrategy;

/*
 * How the values of a column have keys.  A support function of the operator class
 * makes one and keeps it in the current memory context.  The type is that of the
 * operator class, or the column's if the class is for a polymorphic type.  The
 * collation is the index column's.  The function's argument is a KeyExtractor with
 * these three fields set, its result a structure that begins with one.
 */
typedef struct KeyExtractor KeyExtractor;

typedef void (*KeysOfValue) (KeyExtractor *extractor, Datum value, KeyHashes *hashes);

/*
 * Of `column operator query`, where the query is not NULL and of that type, which
 * is what the operator has on its right side; in the current memory context.
 */
typedef KeyCondition *(*KeysOfQuery) (KeyExtractor *extractor, int strategy, Oid type, Datum query);

struct KeyExtractor
{
	Oid			type;
	Oid			collation;
	MemoryContext memory;		/* lives as long as the extractor */
	blx_identity identity;		/* of the keys */
	double		rate;			/* of false positives per key, if conditions mostly ask for many keys at once; 0 = the index's default */
	KeysOfValue value;
	KeysOfQuery query;
};

/* What a support function returns: its own structure of that size, which begins with these members. */
static inline void *
NewKeyExtractor(FunctionCallInfo fcinfo, Size size, blx_identity identity, KeysOfValue value, KeysOfQuery query)
{
	KeyExtractor *extractor = palloc0(size);

	*extractor = *(KeyExtractor *) PG_GETARG_POINTER(0);
	extractor->identity = identity;
	extractor->value = value;
	extractor->query = query;
	return extractor;
}

/* Calls the support function.  The extractor lives in the current memory context. */
extern KeyExtractor *MakeKeyExtractor(FmgrInfo *support, Oid type, Oid collation);

extern KeyCondition *MakeKeyCondition(KeyConditionKind kind, uint32 n);
extern KeyCondition *ConditionOfKey(uint64 hash);

/* ---- key_condition.c ---- */

/* All or any of them, made as simple as possible. */
extern KeyCondition *CombineConditions(KeyConditionKind kind, KeyCondition **parts, uint32 n);
extern KeyCondition *ConditionOfKeys(KeyConditionKind kind, const KeyHashes *keys);

/* True if a value may meet the condition, of which has_key tells whether it has, or may have, the key of a leaf. */
extern bool MayMeet(KeyCondition *condition, bool (*has_key) (KeyCondition *leaf, void *arg), void *arg);
