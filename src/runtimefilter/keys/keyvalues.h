/*
 * keyvalues.h - the distinct values of a join key that is no integer, in the order of
 * their type.
 *
 * A set of keys has only hashes of such keys.  A BRIN index has to be asked about
 * the values themselves, so a few of them are kept.
 */
#pragma once

#include "pg/base/compat.h"

#include "runtimefilter/keys/keycode.h"

/* The order of a type's values. */
typedef struct ValueOrder
{
	Oid			type;
	Oid			collation;
	int16		length;
	bool		by_value;
	FmgrInfo	compare;
} ValueOrder;

typedef struct KeyValues
{
	MemoryContext context;
	ValueOrder *order;
	uint64		budget;			/* bytes */
	bool		are_too_many;	/* nothing is known of them */
	Datum	   *values;			/* ascending, when they are complete */
	uint32		n;

	/* while they are collected: the codes of the values, and open addressing by them; a slot has a place, counted from 1 */
	uint64	   *codes;
	uint16	   *slots;
} KeyValues;

/*
 * The order of the values that the coder reads, if its operator is the equality
 * of that order; NULL if there is none.  (Such an operator takes that type on both
 * sides, so it is also that of the other side's values.)
 */
extern ValueOrder *MakeValueOrder(const KeyCoder *coder);

extern KeyValues *NewKeyValues(ValueOrder *order, MemoryContext context, uint64 budget);

/* The code is that of the value. */
extern void AddKeyValue(KeyValues *values, uint64 code, Datum value);

/* The values that were collected so far, in one piece, for another process; and its size in codes. */
extern uint64 ExportedValueWords(const KeyValues *values);
extern void ExportKeyValues(const KeyValues *values, uint64 *to);

/* Adds exported values.  from = NULL: nothing is known of them. */
extern void ImportKeyValues(KeyValues *values, const uint64 *from);

/* No more values will come. */
extern void FinishKeyValues(KeyValues *values);

/* False if no value is in [low, high].  There must not be too many. */
extern bool KeyValuesMeetRange(const KeyValues *values, Datum low, Datum high);
