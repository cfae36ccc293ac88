/*
 * rowkey.h - reads the keys of a row.
 */
#pragma once

#include "pg/base/compat.h"

#include "executor/executor.h"

#include "runtimefilter/keys/keycode.h"
#include "runtimefilter/keys/keyset.h"

/* How a key is read from the rows of a node. */
typedef struct RowKey
{
	KeyCoder	coder;
	AttrNumber	column;			/* 0: expr computes it */
	ExprState  *expr;
} RowKey;

/* True if the only key is an integer in a column: then its code is soon read. */
static inline bool
IsOneInteger(const RowKey *keys, int n)
{
	return n == 1 && IsInteger(&keys->coder) && keys->column != 0;
}

/* The code of such a key. */
static inline uint64
ReadInteger(const RowKey *key, TupleTableSlot *slot, bool *is_null)
{
	Datum		value = slot_getattr(slot, key->column, is_null);

	return *is_null ? 0 : (uint64) IntegerOf(key->coder.kind, value);
}

/* A key's value and its code, for which memory is allocated in the current context.  False if it is NULL. */
static inline bool
ReadKey(RowKey *key, TupleTableSlot *slot, ExprContext *econtext, Datum *value, uint64 *code)
{
	bool		is_null;

	if (key->column != 0)
		*value = slot_getattr(slot, key->column, &is_null);
	else
	{
		econtext->ecxt_outertuple = econtext->ecxt_innertuple = slot;
		*value = ExecEvalExpr(key->expr, econtext, &is_null);
	}
	if (is_null)
		return false;
	*code = CodeOf(&key->coder, *value);
	return true;
}

/* One code of n keys.  False if one of them is NULL; those behind it are not computed. */
static inline bool
ReadKeys(RowKey *keys, int n, TupleTableSlot *slot, ExprContext *econtext, uint64 *code)
{
	*code = 0;
	for (int i = 0; i < n; i++)
	{
		Datum		value;
		uint64		one;

		if (!ReadKey(&keys[i], slot, econtext, &value, &one))
			return false;
		*code = n == 1 ? one : CombineCodes(*code, one);
	}
	return true;
}
