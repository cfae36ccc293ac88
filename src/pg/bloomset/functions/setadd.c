/*
 * setadd.c - keys for a set without a table: bloomset_add, bloomset_add_new,
 * bloomset_merge.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg/bloomset/functions/setadd.h"
#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/table/settable.h"
#include "pg/value/value.h"

/*
 * Before anything else: on a standby, to write a WAL record is a panic, for it happens in
 * a critical section, and a lock would not stop it.
 */
SetCall *
OpenSetToAdd(FunctionCallInfo fcinfo, const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	return OpenSet(fcinfo, ACL_INSERT);
}

bool
HashKeyToAdd(SetCall *call, Datum value, uint64 *hash)
{
	if (call->view == NULL)
		BeginSet(call, value);
	return HashSetArgument(call, value, hash);
}

/*
 * A transaction that adds keys has a transaction ID, and so a commit record,
 * to which the WAL is flushed: what was new is durable when COMMIT returns.
 */
static void
MakeDurable(uint64 added)
{
	if (added > 0)
		(void) GetCurrentTransactionId();
}

/* bloomset_add(set regclass, key anycompatible): true if the key was new */
PG_FUNCTION_INFO_V1(bloomset_add);
Datum
bloomset_add(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSetToAdd(fcinfo, "bloomset_add()");
	MemoryContext old = MemoryContextSwitchTo(call->row_memory);
	uint64		hash;
	bool		is_new = false;

	LookupSetArgument(call, fcinfo, false);
	if (HashKeyToAdd(call, PG_GETARG_DATUM(1), &hash))
		is_new = AddKeyToSet(call->view, call->rel, hash);
	MakeDurable(is_new);
	MemoryContextSwitchTo(old);
	MemoryContextReset(call->row_memory);
	CloseSet(call);
	PG_RETURN_BOOL(is_new);
}

/* A key of an array: its hash, and its place. */
typedef struct KeyOfArray
{
	uint64		hash;
	int			place;
} KeyOfArray;

static int
CompareKeys(const void *a, const void *b)
{
	const KeyOfArray *x = a,
			   *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->place - y->place; /* of equal keys the first one is new */
}

/* Sets is_new of each of the values. */
static void
AddValues(SetCall *call, const Datum *values, const bool *nulls, int n, bool *is_new)
{
	KeyOfArray *keys = palloc(Max(n, 1) * sizeof(KeyOfArray));
	uint64	   *hashes = palloc(Max(n, 1) * sizeof(uint64));
	bool	   *news = palloc0(Max(n, 1));
	int			count = 0,
				different = 0;

	memset(is_new, 0, n);
	for (int i = 0; i < n; i++)
		if (!nulls[i] && HashKeyToAdd(call, values[i], &keys[count].hash))
			keys[count++].place = i;
	qsort(keys, count, sizeof(KeyOfArray), CompareKeys);
	for (int i = 0; i < count; i++)
		if (i == 0 || keys[i].hash != keys[i - 1].hash)
		{
			hashes[different] = keys[i].hash;
			keys[different++].place = keys[i].place;
		}
	count = different;
	if (count > 0)
		MakeDurable(AddToSet(call->view, call->rel, hashes, count, news));
	for (int i = 0; i < count; i++)
		is_new[keys[i].place] = news[i];
}

/* bloomset_add_new(set regclass, keys anycompatiblearray): those that were new, in their order; NULLs are left out */
PG_FUNCTION_INFO_V1(bloomset_add_new);
Datum
bloomset_add_new(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSetToAdd(fcinfo, "bloomset_add_new()");
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1),
			   *result;
	MemoryContext old = MemoryContextSwitchTo(call->row_memory);
	Oid			element = ARR_ELEMTYPE(array);
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *values;
	bool	   *nulls,
			   *is_new;
	int			n,
				left = 0;

	LookupSetArgument(call, fcinfo, true);
	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(array, element, length, by_value, align, &values, &nulls, &n);
	is_new = palloc(Max(n, 1));
	AddValues(call, values, nulls, n, is_new);
	for (int i = 0; i < n; i++)
		if (is_new[i])
			values[left++] = values[i];
	MemoryContextSwitchTo(old);
	result = construct_array(values, left, element, length, by_value, align);
	MemoryContextReset(call->row_memory);
	CloseSet(call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* bloomset_merge(set regclass, filter bloomfilter): as INSERT */
PG_FUNCTION_INFO_V1(bloomset_merge);
Datum
bloomset_merge(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSetToAdd(fcinfo, "bloomset_merge()");

	MergeIntoSetTable(call->rel, DatumGetFilter(PG_GETARG_DATUM(1)));
	CloseSet(call);
	PG_RETURN_VOID();
}
