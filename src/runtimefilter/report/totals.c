/*
 * totals.c - what all filters did, of the session and of the server.
 *
 * The server's totals are in shared memory, which only a library that is in
 * shared_preload_libraries can ask for.  They begin when the server starts.
 *
 * Small changes of a total tell of the query that made them.  So a role sees the totals
 * of its own queries, and those of the server if it may read all statistics.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "runtimefilter/report/report.h"

typedef struct ServerTotals
{
	pg_atomic_uint64 filters;
	pg_atomic_uint64 counts[N_COUNTS];
} ServerTotals;

static ServerTotals *server;	/* NULL if the library was not preloaded */

/* Of the session's queries as one role. */
typedef struct RoleTotals
{
	Oid			role;
	uint64		filters;
	uint64		counts[N_COUNTS];
	struct RoleTotals *next;
} RoleTotals;

static RoleTotals *session;

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

static RoleTotals *
TotalsOf(Oid role)
{
	RoleTotals *totals = session;

	while (totals != NULL && totals->role != role)
		totals = totals->next;
	if (totals == NULL)
	{
		totals = MemoryContextAllocZero(TopMemoryContext, sizeof(RoleTotals));
		totals->role = role;
		totals->next = session;
		session = totals;
	}
	return totals;
}

void
AddToTotals(Oid role, const uint64 *counts)
{
	RoleTotals *totals = TotalsOf(role);

	totals->filters++;
	for (int i = 0; i < N_COUNTS; i++)
		totals->counts[i] += counts[i];
	if (server == NULL)
		return;
	pg_atomic_fetch_add_u64(&server->filters, 1);
	for (int i = 0; i < N_COUNTS; i++)
		if (counts[i] > 0)
			pg_atomic_fetch_add_u64(&server->counts[i], counts[i]);
}

/* ---- shared memory ---- */

static void
RequestHook(void)
{
	if (next_request)
		next_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(ServerTotals)));
}

static void
StartupHook(void)
{
	bool		found;

	if (next_startup)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	server = ShmemInitStruct("bloomx runtime filters", sizeof(ServerTotals), &found);
	if (!found)
	{
		pg_atomic_init_u64(&server->filters, 0);
		for (int i = 0; i < N_COUNTS; i++)
			pg_atomic_init_u64(&server->counts[i], 0);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
InstallTotals(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request = shmem_request_hook;
	shmem_request_hook = RequestHook;
	next_startup = shmem_startup_hook;
	shmem_startup_hook = StartupHook;
}

/* ---- SQL ---- */

static void
PutTotals(ReturnSetInfo *result, const char *scope, uint64 filters, const uint64 *counts)
{
	Datum		values[2 + N_COUNTS] = {CStringGetTextDatum(scope), Int64GetDatum(filters)};
	bool		nulls[2 + N_COUNTS] = {false};

	for (int i = 0; i < N_COUNTS; i++)
		values[2 + i] = Int64GetDatum(counts[i]);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(bloomx_runtime_filter_totals);
Datum
bloomx_runtime_filter_totals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		counts[N_COUNTS];
	RoleTotals *totals = TotalsOf(GetUserId());

	InitMaterializedSRF(fcinfo, 0);
	PutTotals(result, "session", totals->filters, totals->counts);
	if (server != NULL && has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
	{
		for (int i = 0; i < N_COUNTS; i++)
			counts[i] = pg_atomic_read_u64(&server->counts[i]);
		PutTotals(result, "server", pg_atomic_read_u64(&server->filters), counts);
	}
	return (Datum) 0;
}
