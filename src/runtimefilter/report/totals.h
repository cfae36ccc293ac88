/*
 * totals.h - what all filters did, of the session and of the server.
 */
#ifndef RUNTIMEFILTER_TOTALS_H
#define RUNTIMEFILTER_TOTALS_H

#include "runtimefilter/runtimefilter.h"

#pragma GCC visibility push(hidden)

/* A filter was applied at a point, in a query of that role. */
extern void AddToTotals(Oid role, const uint64 *counts);

/* Asks for the shared memory of the server's totals, while shared_preload_libraries are loaded. */
extern void InstallTotals(void);

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_TOTALS_H */
