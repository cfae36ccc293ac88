/*
 * canonical.h - the hash functions of keys.  Each hashes the canonical bytes of
 * a value (docs/internals/FORMAT.md, "Key types: canonical bytes").
 */
#ifndef BLOOMX_CANONICAL_H
#define BLOOMX_CANONICAL_H

#include "pg/keys/keys.h"

#pragma GCC visibility push(hidden)

/* ---- canonical.c ---- */

/* What numeric_normalize() makes of a number. */
typedef struct NumericText
{
	const char *bytes;
	size_t		length;
	char	   *made;			/* to be freed, unless it is NULL */
	char		room[1 + 64 * 4 + 1 + 64];	/* a sign, digits before the point, the point, digits after it */
} NumericText;

extern void MakeNumericText(NumericText *text, const struct varlena *number);

extern uint64 HashInt2(KeyType *key, Datum value, uint64 seed);
extern uint64 HashInt4(KeyType *key, Datum value, uint64 seed);
extern uint64 HashInt8(KeyType *key, Datum value, uint64 seed);
extern uint64 HashFloat4(KeyType *key, Datum value, uint64 seed);
extern uint64 HashFloat8(KeyType *key, Datum value, uint64 seed);
extern uint64 HashNumeric(KeyType *key, Datum value, uint64 seed);
extern uint64 HashVarlena(KeyType *key, Datum value, uint64 seed);
extern uint64 HashBpchar(KeyType *key, Datum value, uint64 seed);
extern uint64 HashCString(KeyType *key, Datum value, uint64 seed);
extern uint64 HashName(KeyType *key, Datum value, uint64 seed);
extern uint64 HashFixedBytes(KeyType *key, Datum value, uint64 seed);
extern uint64 HashBool(KeyType *key, Datum value, uint64 seed);
extern uint64 HashChar(KeyType *key, Datum value, uint64 seed);
extern uint64 Hash32Bits(KeyType *key, Datum value, uint64 seed);
extern uint64 HashTimeTz(KeyType *key, Datum value, uint64 seed);
extern uint64 HashTid(KeyType *key, Datum value, uint64 seed);
extern uint64 HashInterval(KeyType *key, Datum value, uint64 seed);
extern uint64 HashInet(KeyType *key, Datum value, uint64 seed);
extern uint64 HashEnum(KeyType *key, Datum value, uint64 seed);
extern uint64 HashByType(KeyType *key, Datum value, uint64 seed);

/* ---- containers.c: key->parts must be set, except for jsonb ---- */
extern uint64 HashArrayValue(KeyType *key, Datum value, uint64 seed);
extern uint64 HashRow(KeyType *key, Datum value, uint64 seed);
extern uint64 HashStoredRow(KeyType *key, Datum value, uint64 seed);	/* NULLs at the end make no difference */
extern uint64 HashRange(KeyType *key, Datum value, uint64 seed);
extern uint64 HashMultirange(KeyType *key, Datum value, uint64 seed);
extern uint64 HashJsonb(KeyType *key, Datum value, uint64 seed);

#pragma GCC visibility pop

#endif							/* BLOOMX_CANONICAL_H */
