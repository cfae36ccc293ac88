/*
 * budget.h - the time that a filter may spend.
 */
#pragma once

#include "pg/base/compat.h"

#include "portability/instr_time.h"

/*
 * What a filter spends before it is known to help: this part of the time that the query
 * takes anyway.
 */
#define SPENT_PART 64

/* Nanoseconds that a plan takes per unit of the planner's cost, at least. */
#define COST_UNIT 2000

static inline double
NanosecondsSince(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now) * 1e9;
}
