/*
 * setadd.c - keys for a set without a table: bloomset_add, bloomset_add_new,
 * bloomset_merge.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/xact.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/table/settable.h"
#include "pg/value/value.h"

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
	is_new = is_new && !IsClaimedHere(call->id, hash);
	MemoryContextSwitchTo(old);
	MemoryContextReset(call->row_memory);
	CloseSet(call);
	PG_RETURN_BOOL(is_new);
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
	uint64	   *hashes;
	bool	   *nulls;
	int			n,
				count = 0,
				left = 0;

	LookupSetArgument(call, fcinfo, true);
	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(array, element, length, by_value, align, &values, &nulls, &n);
	hashes = palloc(Max(n, 1) * sizeof(uint64));
	for (int i = 0; i < n; i++)
		if (!nulls[i] && HashKeyToAdd(call, values[i], &hashes[count]))
			values[count++] = values[i];
	if (count > 0)
	{
		bool	   *is_new = palloc(count);

		MakeDurable(AddToSet(call->view, call->rel, hashes, count, is_new));
		for (int i = 0; i < count; i++)
			if (is_new[i] && !IsClaimedHere(call->id, hashes[i]))
				values[left++] = values[i];
	}
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
