/*
 * keycode.h - from the values of a join key to 64-bit words that are equal if the
 * join's operator says that the values are.
 */
#ifndef RUNTIMEFILTER_KEYCODE_H
#define RUNTIMEFILTER_KEYCODE_H

#include "pg/base/compat.h"

#pragma GCC visibility push(hidden)

typedef enum WordKind
{
	WORD_INT16,
	WORD_INT32,
	WORD_UINT32,
	WORD_INT64,
	WORD_HASH32,				/* the join's own hash function */
	WORD_HASH64					/* the extended one of its operator family */
} WordKind;

/* How to read the values of one side of a join key. */
typedef struct WordReader
{
	WordKind	kind;
	Oid			type;			/* that the operator takes on this side */
	Oid			operator;		/* the join's */
	Oid			collation;
	FmgrInfo	hash;
} WordReader;

static inline bool
IsInteger(const WordReader *reader)
{
	return reader->kind < WORD_HASH32;
}

/*
 * How to read the two sides of a hash join's operator, whose functions are
 * looked up in the current memory context.  False if the operator is not strict
 * or has no hash functions.
 */
extern bool MakeWordReaders(Oid operator, Oid collation, WordReader *outer, WordReader *inner);

/* False if values of that type, which the operator takes, have no hash: containers whose elements have none. */
extern bool HasWords(const WordReader *reader, Oid type);

/*
 * How to read values that an equality of another join compares with values of the
 * reader's, so that equal ones have equal words.  left_is_known: the reader's values are on the left.
 * False if nothing is known of that equality.
 */
extern bool CarryWordReader(const WordReader *reader, Oid equality, bool left_is_known, Oid collation, WordReader *other);

/* How an integer type is read, for other code that meets its values.  False if it is none. */
extern bool IntegerKind(Oid type, WordKind *kind);

/* The word of a value that is a hash.  May allocate in the current memory context. */
extern uint64 HashWord(WordReader *reader, Datum value);

static inline int64
IntegerOf(WordKind kind, Datum value)
{
	switch (kind)
	{
		case WORD_INT16:
			return DatumGetInt16(value);
		case WORD_INT32:
			return DatumGetInt32(value);
		case WORD_UINT32:
			return DatumGetUInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

static inline Datum
DatumOfInteger(WordKind kind, int64 integer)
{
	switch (kind)
	{
		case WORD_INT16:
			return Int16GetDatum(integer);
		case WORD_INT32:
			return Int32GetDatum(integer);
		case WORD_UINT32:
			return UInt32GetDatum(integer);
		default:
			return Int64GetDatum(integer);
	}
}

static inline uint64
WordOf(WordReader *reader, Datum value)
{
	return IsInteger(reader) ? (uint64) IntegerOf(reader->kind, value) : HashWord(reader, value);
}

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_KEYCODE_H */
