/*
 * volatility.h - what a plan yields, each time that it runs.
 */
#pragma once

#include "pg/base/compat.h"

#include "nodes/execnodes.h"

/* The plain column behind relabelings that change nothing; NULL if the expression is something else. */
extern Var *PlainColumn(Node *expression);

/* True if the rows of a node are those of one table, of which it hands on columns. */
extern bool ScansTable(PlanState *ps);

/* The clauses by which a hash or merge join finds the rows that match; NIL of other nodes. */
extern List *MatchClauses(const Plan *plan);

/* True if the expression may have a side effect, or another value next time.  That includes all subplans. */
extern bool IsVolatile(Node *expression);

/* True if the expression has a parameter whose value changes while a plan runs. */
extern bool HasParameter(Node *expression);

/* True if the plan certainly yields the same rows each time, as long as its parameters are the same. */
extern bool PlanIsStable(PlanState *ps);

/* True if nobody feels it when the plan runs less often, or is not read to its end: it computes nothing volatile. */
extern bool PlanHasNoSideEffect(PlanState *ps);
