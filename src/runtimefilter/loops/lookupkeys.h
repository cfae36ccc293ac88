/*
 * lookupkeys.h - by which keys the inner rows of a nested loop can be looked up.
 */
#pragma once

#include "runtimefilter/loops/rowtable.h"
#include "runtimefilter/query/registry.h"

typedef enum LoopSide
{
	OUTER_SIDE,
	INNER_SIDE
} LoopSide;

/* Equalities that all hold for a pair of rows which the arm matches. */
typedef struct LookupArm
{
	int			n_keys;
	RowKey	   *keys[2];		/* of each side */
	bool		is_integer;		/* one key, in columns of integers */
} LookupArm;

/* A pair of rows that meets the join condition is matched by one of the arms. */
typedef struct LookupKeys
{
	int			n_arms;
	LookupArm  *arms;
	bool		only_integer;	/* one arm, which is_integer */
	ExprContext *econtext;		/* for all that is computed of a row */
} LookupKeys;

/* NULL if the join condition has no such keys.  Allocates in the current memory context. */
extern LookupKeys *FindLookupKeys(FilteredQuery *query, NestLoopState *node);

/* True if the join condition looks as if it had, which is soon found out. */
extern bool MayHaveLookupKeys(const NestLoop *plan);

/* The columns of the inner side that the join reads. */
extern Bitmapset *InnerColumns(const NestLoop *plan);

extern void ReadAllCodes(LookupKeys *keys, LoopSide side, TupleTableSlot *slot, ArmCode *codes);

/* The codes of a row's keys in each arm. */
static inline void
ReadArmCodes(LookupKeys *keys, LoopSide side, TupleTableSlot *slot, ArmCode *codes)
{
	if (likely(keys->only_integer))
		codes->code = ReadInteger(keys->arms[0].keys[side], slot, &codes->is_null);
	else
		ReadAllCodes(keys, side, slot, codes);
}
