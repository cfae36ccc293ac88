/*
 * totals.h - what something did, counted for the session and for the server.
 */
#pragma once

#include "pg/base/compat.h"

#define MOST_TOTALS 16

typedef struct TotalsGroup
{
	const char *name;			/* of its shared memory */
	int			n;				/* counts, at most MOST_TOTALS */
	struct ServerTotals *server;	/* NULL if the library was not preloaded */
	struct RoleTotals *session;
	struct TotalsGroup *next;
} TotalsGroup;

/* While the library is loaded.  Asks for shared memory if that is in shared_preload_libraries. */
extern void InstallTotals(TotalsGroup *group);

/* A query of that role did so much more. */
extern void AddToTotals(TotalsGroup *group, Oid role, const uint64 *counts);

/* The result of a function: scope, the counts, since when; a row for the session and perhaps one for the server. */
extern Datum ReturnTotals(TotalsGroup *group, FunctionCallInfo fcinfo);
