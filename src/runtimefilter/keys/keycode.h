/*
 * keycode.h - from the values of a join key to 64-bit codes that are equal if the
 * join's operator says that the values are.
 */
#pragma once

#include "pg/base/compat.h"

typedef enum CodeKind
{
	CODE_INT16,
	CODE_INT32,
	CODE_UINT32,
	CODE_INT64,
	CODE_HASH32,				/* the join's own hash function */
	CODE_HASH64					/* the extended one of its operator family */
} CodeKind;

/* How to read the values of one side of a join key. */
typedef struct KeyCoder
{
	CodeKind	kind;
	Oid			type;			/* that the operator takes on this side */
	Oid			operator;		/* the join's */
	Oid			collation;
	FmgrInfo	hash;
} KeyCoder;

static inline bool
IsInteger(const KeyCoder *coder)
{
	return coder->kind < CODE_HASH32;
}

/*
 * How to read the two sides of a hash join's operator, whose functions are
 * looked up in the current memory context.  False if the operator is not strict
 * or has no hash functions.
 */
extern bool MakeKeyCoders(Oid operator, Oid collation, KeyCoder *outer, KeyCoder *inner);

/* False if values of that type, which the operator takes, have no hash: containers whose elements have none. */
extern bool HasCodes(const KeyCoder *coder, Oid type);

/*
 * How to read values that an equality of another join compares with values of the
 * coder's, so that equal ones have equal codes.  left_is_known: the coder's values are on the left.
 * False if nothing is known of that equality.
 */
extern bool CarryKeyCoder(const KeyCoder *coder, Oid equality, bool left_is_known, Oid collation, KeyCoder *other);

/* How an integer type is read, for other code that meets its values.  False if it is none. */
extern bool IntegerKind(Oid type, CodeKind *kind);

/* The code of a value that is a hash.  May allocate in the current memory context. */
extern uint64 HashCode(KeyCoder *coder, Datum value);

static inline int64
IntegerOf(CodeKind kind, Datum value)
{
	switch (kind)
	{
		case CODE_INT16:
			return DatumGetInt16(value);
		case CODE_INT32:
			return DatumGetInt32(value);
		case CODE_UINT32:
			return DatumGetUInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

static inline Datum
DatumOfInteger(CodeKind kind, int64 integer)
{
	switch (kind)
	{
		case CODE_INT16:
			return Int16GetDatum(integer);
		case CODE_INT32:
			return Int32GetDatum(integer);
		case CODE_UINT32:
			return UInt32GetDatum(integer);
		default:
			return Int64GetDatum(integer);
	}
}

static inline uint64
CodeOf(KeyCoder *coder, Datum value)
{
	return IsInteger(coder) ? (uint64) IntegerOf(coder->kind, value) : HashCode(coder, value);
}
