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
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "runtimefilter/report/totals.h"

typedef struct Totals
{
	TimestampTz since;
	uint64		filters;
	uint64		counts[N_COUNTS];
} Totals;

typedef struct ServerTotals
{
	slock_t		mutex;
	Totals		totals;
} ServerTotals;

static ServerTotals *server;	/* NULL if the library was not preloaded */

/* Of the session's queries as one role. */
typedef struct RoleTotals
{
	Oid			role;
	Totals		totals;
	struct RoleTotals *next;
} RoleTotals;

static RoleTotals *session;

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

static Totals *
TotalsOf(Oid role)
{
	RoleTotals *mine = session;

	while (mine != NULL && mine->role != role)
		mine = mine->next;
	if (mine == NULL)
	{
		mine = MemoryContextAllocZero(TopMemoryContext, sizeof(RoleTotals));
		mine->role = role;
		mine->totals.since = MyStartTimestamp;
		mine->next = session;
		session = mine;
	}
	return &mine->totals;
}

static void
Add(Totals *totals, const uint64 *counts)
{
	totals->filters++;
	for (int i = 0; i < N_COUNTS; i++)
		totals->counts[i] += counts[i];
}

void
AddToTotals(Oid role, const uint64 *counts)
{
	Add(TotalsOf(role), counts);
	if (server == NULL)
		return;
	SpinLockAcquire(&server->mutex);
	Add(&server->totals, counts);
	SpinLockRelease(&server->mutex);
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
		memset(server, 0, sizeof(ServerTotals));
		SpinLockInit(&server->mutex);
		server->totals.since = PgStartTime;
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
PutTotals(ReturnSetInfo *result, const char *scope, const Totals *totals)
{
	Datum		values[3 + N_COUNTS] = {CStringGetTextDatum(scope), Int64GetDatum(totals->filters)};
	bool		nulls[3 + N_COUNTS] = {false};

	for (int i = 0; i < N_COUNTS; i++)
		values[2 + i] = Int64GetDatum(totals->counts[i]);
	values[2 + N_COUNTS] = TimestampTzGetDatum(totals->since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(bloomx_runtime_filter_totals);
Datum
bloomx_runtime_filter_totals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Totals		totals;

	InitMaterializedSRF(fcinfo, 0);
	PutTotals(result, "session", TotalsOf(GetUserId()));
	if (server == NULL || !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		return (Datum) 0;
	SpinLockAcquire(&server->mutex);
	totals = server->totals;
	SpinLockRelease(&server->mutex);
	PutTotals(result, "server", &totals);
	return (Datum) 0;
}

/* Who may call it is a matter of privileges on the function. */
PG_FUNCTION_INFO_V1(bloomx_stat_reset);
Datum
bloomx_stat_reset(PG_FUNCTION_ARGS)
{
	Totals		none = {.since = GetCurrentTimestamp()};

	for (RoleTotals *mine = session; mine != NULL; mine = mine->next)
		mine->totals = none;
	if (server != NULL)
	{
		SpinLockAcquire(&server->mutex);
		server->totals = none;
		SpinLockRelease(&server->mutex);
	}
	PG_RETURN_VOID();
}
