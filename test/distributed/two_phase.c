/*
 * two_phase.c - aggregates run in two phases, by functions that are aggregates
 * themselves, as a distributed planner on top of PostgreSQL runs them.
 *
 * partial_agg(aggregate, argument) calls the aggregate's transition function for
 * each row and returns its state as text.  combined_agg(aggregate, text, result
 * type) reads such states, combines them and calls the final function.
 *
 * The functions are called as extensions such as Citus do it: with a new FmgrInfo
 * for each call, which keeps nothing and knows no types of arguments, and with the
 * executor's context of the outer aggregate.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

typedef struct State
{
	FormData_pg_aggregate aggregate;
	Datum		value;
	bool		isnull;
} State;

static State *
GetState(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	HeapTuple	tuple;
	State	   *state;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "not called as an aggregate");
	if (!PG_ARGISNULL(0))
		return (State *) PG_GETARG_POINTER(0);
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(PG_GETARG_OID(1)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no aggregate %u", PG_GETARG_OID(1));
	state = MemoryContextAllocZero(context, sizeof(State));
	memcpy(&state->aggregate, GETSTRUCT(tuple), sizeof(FormData_pg_aggregate));
	ReleaseSysCache(tuple);
	state->isnull = true;		/* none of the aggregates tested has an initial value */
	return state;
}

/* state = function(state, argument); the old state is freed, as PostgreSQL's own executor does. */
static void
Advance(FunctionCallInfo outer, State *state, Oid function, Datum argument, bool argument_isnull)
{
	LOCAL_FCINFO(call, 2);
	FmgrInfo	info;
	MemoryContext context;
	Datum		result;

	fmgr_info(function, &info);
	if (info.fn_strict && argument_isnull)
		return;
	InitFunctionCallInfoData(*call, &info, 2, outer->fncollation, outer->context, outer->resultinfo);
	call->args[0].value = state->value;
	call->args[0].isnull = state->isnull;
	call->args[1].value = argument;
	call->args[1].isnull = argument_isnull;
	result = FunctionCallInvoke(call);
	if (DatumGetPointer(result) != DatumGetPointer(state->value))
	{
		AggCheckCallContext(outer, &context);
		if (!call->isnull)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			if (!DatumIsReadWriteExpandedObject(result, false, -1) ||
				MemoryContextGetParent(DatumGetEOHP(result)->eoh_context) != context)
				result = datumCopy(result, false, -1);
			MemoryContextSwitchTo(old);
		}
		if (!state->isnull)
		{
			if (DatumIsReadWriteExpandedObject(state->value, false, -1))
				DeleteExpandedObject(state->value);
			else
				pfree(DatumGetPointer(state->value));
		}
	}
	state->value = result;
	state->isnull = call->isnull;
}

PG_FUNCTION_INFO_V1(partial_agg_transfn);
Datum
partial_agg_transfn(PG_FUNCTION_ARGS)
{
	State	   *state = GetState(fcinfo);

	Advance(fcinfo, state, state->aggregate.aggtransfn, PG_ARGISNULL(2) ? 0 : PG_GETARG_DATUM(2), PG_ARGISNULL(2));
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(partial_agg_finalfn);
Datum
partial_agg_finalfn(PG_FUNCTION_ARGS)
{
	State	   *state = PG_ARGISNULL(0) ? NULL : (State *) PG_GETARG_POINTER(0);
	Oid			output;
	bool		varlena;

	if (state == NULL || state->isnull)
		PG_RETURN_NULL();
	getTypeOutputInfo(state->aggregate.aggtranstype, &output, &varlena);
	PG_RETURN_TEXT_P(cstring_to_text(OidOutputFunctionCall(output, state->value)));
}

PG_FUNCTION_INFO_V1(combined_agg_transfn);
Datum
combined_agg_transfn(PG_FUNCTION_ARGS)
{
	State	   *state = GetState(fcinfo);
	Oid			input,
				parameter;

	getTypeInputInfo(state->aggregate.aggtranstype, &input, &parameter);
	Advance(fcinfo, state, state->aggregate.aggcombinefn,
			PG_ARGISNULL(2) ? 0 : OidInputFunctionCall(input, text_to_cstring(PG_GETARG_TEXT_PP(2)), parameter, -1), PG_ARGISNULL(2));
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(combined_agg_finalfn);
Datum
combined_agg_finalfn(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	State	   *state = PG_ARGISNULL(0) ? NULL : (State *) PG_GETARG_POINTER(0);
	FmgrInfo	info;
	Datum		result;

	if (state == NULL)
		PG_RETURN_NULL();
	fmgr_info(state->aggregate.aggfinalfn, &info);
	InitFunctionCallInfoData(*call, &info, info.fn_nargs, fcinfo->fncollation, fcinfo->context, fcinfo->resultinfo);
	for (int i = 0; i < info.fn_nargs; i++)
	{
		call->args[i].value = 0;
		call->args[i].isnull = true;
	}
	call->args[0].value = state->value;
	call->args[0].isnull = state->isnull;
	result = FunctionCallInvoke(call);
	fcinfo->isnull = call->isnull;
	return result;
}
