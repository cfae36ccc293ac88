/*
 * totals.c - what something did, counted for the session and for the server.
 *
 * The server's totals are in shared memory, which only a library that is in
 * shared_preload_libraries can ask for.  They begin when the server starts.
 *
 * Small changes of a total tell of the query that made them.  So a role sees the totals
 * of its own queries, and those of the server if it may read all statistics.
 */
#include "pg/base/totals.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

typedef struct Totals
{
	TimestampTz since;
	uint64		counts[MOST_TOTALS];
} Totals;

typedef struct ServerTotals
{
	slock_t		mutex;
	Totals		totals;
} ServerTotals;

/* Of the session's queries as one role. */
typedef struct RoleTotals
{
	Oid			role;
	Totals		totals;
	struct RoleTotals *next;
} RoleTotals;

static TotalsGroup *groups;

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

static Totals *
TotalsOf(TotalsGroup *group, Oid role)
{
	RoleTotals *mine = group->session;

	while (mine != NULL && mine->role != role)
		mine = mine->next;
	if (mine == NULL)
	{
		mine = MemoryContextAllocZero(TopMemoryContext, sizeof(RoleTotals));
		mine->role = role;
		mine->totals.since = MyStartTimestamp;
		mine->next = group->session;
		group->session = mine;
	}
	return &mine->totals;
}

static void
Add(const TotalsGroup *group, Totals *totals, const uint64 *counts)
{
	for (int i = 0; i < group->n; i++)
		totals->counts[i] += counts[i];
}

void
AddToTotals(TotalsGroup *group, Oid role, const uint64 *counts)
{
	Add(group, TotalsOf(group, role), counts);
	if (group->server == NULL)
		return;
	SpinLockAcquire(&group->server->mutex);
	Add(group, &group->server->totals, counts);
	SpinLockRelease(&group->server->mutex);
}

/* ---- shared memory ---- */

static void
RequestHook(void)
{
	if (next_request)
		next_request();
	for (TotalsGroup *group = groups; group != NULL; group = group->next)
		RequestAddinShmemSpace(MAXALIGN(sizeof(ServerTotals)));
}

static void
StartupHook(void)
{
	if (next_startup)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (TotalsGroup *group = groups; group != NULL; group = group->next)
	{
		bool		found;

		group->server = ShmemInitStruct(group->name, sizeof(ServerTotals), &found);
		if (found)
			continue;
		memset(group->server, 0, sizeof(ServerTotals));
		SpinLockInit(&group->server->mutex);
		group->server->totals.since = GetCurrentTimestamp();
	}
	LWLockRelease(AddinShmemInitLock);
}

void
InstallTotals(TotalsGroup *group)
{
	Assert(group->n <= MOST_TOTALS);
	if (groups == NULL && process_shared_preload_libraries_in_progress)
	{
		next_request = shmem_request_hook;
		shmem_request_hook = RequestHook;
		next_startup = shmem_startup_hook;
		shmem_startup_hook = StartupHook;
	}
	group->next = groups;
	groups = group;
}

/* ---- SQL ---- */

static void
PutTotals(const TotalsGroup *group, ReturnSetInfo *result, const char *scope, const Totals *totals)
{
	Datum		values[MOST_TOTALS + 2] = {CStringGetTextDatum(scope)};
	bool		nulls[MOST_TOTALS + 2] = {false};

	for (int i = 0; i < group->n; i++)
		values[1 + i] = Int64GetDatum(totals->counts[i]);
	values[1 + group->n] = TimestampTzGetDatum(totals->since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
ReturnTotals(TotalsGroup *group, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Totals		totals;

	InitMaterializedSRF(fcinfo, 0);
	PutTotals(group, result, "session", TotalsOf(group, GetUserId()));
	if (group->server == NULL || !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		return (Datum) 0;
	SpinLockAcquire(&group->server->mutex);
	totals = group->server->totals;
	SpinLockRelease(&group->server->mutex);
	PutTotals(group, result, "server", &totals);
	return (Datum) 0;
}

/* Who may call it is a matter of privileges on the function. */
PG_FUNCTION_INFO_V1(bloomx_stat_reset);
Datum
bloomx_stat_reset(PG_FUNCTION_ARGS)
{
	Totals		none = {.since = GetCurrentTimestamp()};

	for (TotalsGroup *group = groups; group != NULL; group = group->next)
	{
		for (RoleTotals *mine = group->session; mine != NULL; mine = mine->next)
			mine->totals = none;
		if (group->server == NULL)
			continue;
		SpinLockAcquire(&group->server->mutex);
		group->server->totals = none;
		SpinLockRelease(&group->server->mutex);
	}
	PG_RETURN_VOID();
}
