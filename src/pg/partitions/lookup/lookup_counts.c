/*
 * lookup_counts.c - what lookups did, of the session and of the server.
 *
 * The server's totals are in shared memory, which only a library that is in shared_preload_libraries can ask for.
 */
#include "pg/partitions/lookup/lookup_plan.h"

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

static uint64 of_session[LOOKUP_COUNTS];
static pg_atomic_uint64 *of_server; /* NULL if the library was not preloaded */

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

void
CountLookups(LookupCount which, uint64 n)
{
	of_session[which] += n;
	if (of_server != NULL && n > 0)
		pg_atomic_fetch_add_u64(&of_server[which], n);
}

static void
RequestHook(void)
{
	if (next_request)
		next_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(pg_atomic_uint64) * LOOKUP_COUNTS));
}

static void
StartupHook(void)
{
	bool		found;

	if (next_startup)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	of_server = ShmemInitStruct("bloomx partition lookups", sizeof(pg_atomic_uint64) * LOOKUP_COUNTS, &found);
	for (int i = 0; i < LOOKUP_COUNTS && !found; i++)
		pg_atomic_init_u64(&of_server[i], 0);
	LWLockRelease(AddinShmemInitLock);
}

void
InitLookupCounts(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request = shmem_request_hook;
	shmem_request_hook = RequestHook;
	next_startup = shmem_startup_hook;
	shmem_startup_hook = StartupHook;
}

static void
PutCounts(ReturnSetInfo *result, const char *scope, const uint64 *counts)
{
	Datum		values[1 + LOOKUP_COUNTS] = {CStringGetTextDatum(scope)};
	bool		nulls[1 + LOOKUP_COUNTS] = {false};

	for (int i = 0; i < LOOKUP_COUNTS; i++)
		values[1 + i] = Int64GetDatum(counts[i]);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* A row for the session and, for who may read all statistics, one for the server. */
PG_FUNCTION_INFO_V1(bloomx_partition_lookup_totals);
Datum
bloomx_partition_lookup_totals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		counts[LOOKUP_COUNTS];

	InitMaterializedSRF(fcinfo, 0);
	PutCounts(result, "session", of_session);
	if (of_server == NULL || !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		return (Datum) 0;
	for (int i = 0; i < LOOKUP_COUNTS; i++)
		counts[i] = pg_atomic_read_u64(&of_server[i]);
	PutCounts(result, "server", counts);
	return (Datum) 0;
}
