/*
 * setprobe.c - tests whether a set may contain a key: bloomset_contains,
 * bloomset_contains_any, bloomset_contains_all.
 */
#include "pg/bloomset/functions/setcall.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

typedef enum Answer
{
	DEFINITELY_NOT,
	POSSIBLY,
	UNKNOWN						/* a row with a NULL in it */
} Answer;

static Answer
TestKey(SetCall *call, Datum value, bool (*test) (SetView *view, Relation rel, uint64 hash))
{
	MemoryContext old;
	uint64		hash;
	bool		has_key;

	if (call->view == NULL)
		return DEFINITELY_NOT;
	old = MemoryContextSwitchTo(call->row_memory);
	has_key = HashSetArgument(call, value, &hash);
	MemoryContextSwitchTo(old);
	MemoryContextReset(call->row_memory);
	if (!has_key)
		return UNKNOWN;
	return (call->keys != NULL && call->keys->lost_columns) || test(call->view, call->rel, hash) ? POSSIBLY : DEFINITELY_NOT;
}

/* bloomset_contains(set regclass, key anycompatible) */
PG_FUNCTION_INFO_V1(bloomset_contains);
Datum
bloomset_contains(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSetToTest(fcinfo);
	Answer		answer;

	LookupSetArgument(call, fcinfo, false);
	answer = TestKey(call, PG_GETARG_DATUM(1), TestSet);
	CloseSet(call);
	if (answer == UNKNOWN)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(answer == POSSIBLY);
}

/* NULLs are treated as by = ANY and = ALL. */
static Datum
ContainsArray(FunctionCallInfo fcinfo, Answer decisive)
{
	SetCall    *call = OpenSetToTest(fcinfo);
	ArrayIterator iterator = array_create_iterator(PG_GETARG_ARRAYTYPE_P(1), 0, NULL);
	Datum		value;
	bool		isnull,
				decided = false,
				nulls = false;

	LookupSetArgument(call, fcinfo, true);
	if (call->view != NULL)
		(void) RefreshSetView(call->view, call->rel);
	while (!decided && array_iterate(iterator, &value, &isnull))
	{
		Answer		answer = isnull ? UNKNOWN : TestKey(call, value, TestStages);

		CHECK_FOR_INTERRUPTS();
		nulls |= answer == UNKNOWN;
		decided = answer == decisive;
	}
	array_free_iterator(iterator);
	CloseSet(call);
	if (decided)
		PG_RETURN_BOOL(decisive == POSSIBLY);
	if (nulls)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(decisive != POSSIBLY);
}

PG_FUNCTION_INFO_V1(bloomset_contains_any);
Datum
bloomset_contains_any(PG_FUNCTION_ARGS)
{
	return ContainsArray(fcinfo, POSSIBLY);
}

PG_FUNCTION_INFO_V1(bloomset_contains_all);
Datum
bloomset_contains_all(PG_FUNCTION_ARGS)
{
	return ContainsArray(fcinfo, DEFINITELY_NOT);
}
