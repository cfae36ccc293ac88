/*
 * joins.h - finds the joins of a query that can have a filter.
 */
#ifndef RUNTIMEFILTER_JOINS_H
#define RUNTIMEFILTER_JOINS_H

#include "runtimefilter/runtimefilter.h"

#pragma GCC visibility push(hidden)

/* Gives filters to the joins of a query that has been started. */
extern void AttachRuntimeFilters(EState *estate, PlanState *top);

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_JOINS_H */
