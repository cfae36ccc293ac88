/*
 * typmod.h - bloomfilter(capacity, fpr, layout): what the modifier of a column says.
 */
#ifndef BLOOMX_TYPMOD_H
#define BLOOMX_TYPMOD_H

#include "pg/base/base.h"

#pragma GCC visibility push(hidden)

/* A type bloomfilter with a modifier. */
typedef struct FilterType
{
	uint64		capacity;
	double		fpr;
	blx_geometry geometry;		/* of bloom_empty(capacity, fpr, layout) */
} FilterType;

/* The type of a modifier from anywhere, or an error.  False if it is negative: a type without a modifier. */
extern bool LookupFilterType(int32 typmod, FilterType *type);

/*
 * The filter as a value of that type: itself, if it has the type's geometry and
 * seed 0; sized to it, if it is open or holds no keys; folded and cut to it, if
 * it is larger and the cast is explicit.  Anything else is an error, or NULL
 * after a soft one.
 */
extern Datum FitFilter(Datum filter, int32 typmod, bool is_explicit, Node *context);

#pragma GCC visibility pop

#endif							/* BLOOMX_TYPMOD_H */
