/*
 * build_parallel.c - CREATE INDEX of values by several processes.
 *
 * Each process takes blocks of the table from one shared scan.  A block goes to one
 * process only, so its rows become one entry, as if there was no other process.  The
 * processes agree on the width of signatures (entries.c) and add full segments to
 * the index by themselves.  Rows that do not fill a segment go into temporary files,
 * from which the leader makes the last segments, with all of the memory: so there
 * are as many segments as one process would have made.
 *
 * Workers of 15 and 16 are those that the server would have given a btree: it asks
 * the planner only for that access method, but anybody may ask (compat.h).
 *
 * Filters are not built in this way: the first of them say which geometry and which
 * type of keys the index has, so the processes would have to agree on both.
 */
#include "pg/base/base.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_proc.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/concurrent.h"

/* Keys of the table of contents in shared memory. */
#define SHARED_KEY 1
#define QUERY_KEY 2
#define WAL_USAGE_KEY 3
#define BUFFER_USAGE_KEY 4

/* What the processes share.  The description of the scan follows it. */
typedef struct Shared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	BlockNumber blocks;			/* of the table, when the build began */
	int			processes;		/* the leader and the workers that were asked for */
	pg_atomic_uint32 width;		/* of the usual entry; 0: not chosen yet */
	SharedFileSet files;

	slock_t		mutex;			/* for what follows */
	double		heap_tuples;
	double		index_tuples;
	bool		broken_hot_chain;
} Shared;

static ParallelTableScanDesc
ScanOf(Shared *shared)
{
	return (ParallelTableScanDesc) ((char *) shared + BUFFERALIGN(sizeof(Shared)));
}

/* ---- the files of a process: 0 is the leader, i + 1 is worker i ---- */

static BufFile *
CreateFile(Shared *shared, const char *what, int process)
{
	return BufFileCreateFileSet(&shared->files.fs, psprintf("%s.%d", what, process));
}

static void
EndFile(BufFile *file)
{
	BufFileExportFileSet(file);
	BufFileClose(file);
}

static BufFile *
OpenFile(Shared *shared, const char *what, int process)
{
	return BufFileOpenFileSet(&shared->files.fs, psprintf("%s.%d", what, process), O_RDONLY, false);
}

/* ---- what every process does ---- */

/* Reads its blocks of the table; what does not fill segments is in the builder, or in the process's file. */
static BloomxBuilder *
BuildPart(Shared *shared, Relation heap, Relation index, IndexInfo *info, int process)
{
	BufFile    *rest = CreateFile(shared, "rows", process),
			   *tids = shared->concurrent ? CreateFile(shared, "tids", process) : NULL;
	BloomxShare share = {.blocks = shared->blocks, .memory = maintenance_work_mem * (Size) 1024 / shared->processes,
	.width = &shared->width, .rest = rest};
	BloomxBuilder *builder = BloomxStartValues(index, &share);
	double		heap_tuples = BloomxScanTable(builder, heap, info, tids, BeginParallelScan(heap, ScanOf(shared)), process == 0);

	if (process > 0)
		BloomxHandOverValues(builder);
	EndFile(rest);
	if (tids != NULL)
		EndFile(tids);
	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += builder->indexed;
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	return builder;
}

/* What a worker starts with; found by its name. */
PGDLLEXPORT void BloomxBuildWorker(dsm_segment *segment, shm_toc *toc);

void
BloomxBuildWorker(dsm_segment *segment, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, SHARED_KEY, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, BUFFER_USAGE_KEY, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, WAL_USAGE_KEY, false);
	/* the locks that the leader has */
	LOCKMODE	heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock,
				index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap,
				index;
	IndexInfo  *info;

	debug_query_string = shm_toc_lookup(toc, QUERY_KEY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->concurrent;
	SharedFileSetAttach(&shared->files, segment);
	InstrStartParallelQuery();
	(void) BuildPart(shared, heap, index, info, ParallelWorkerNumber + 1);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* ---- the leader ---- */

typedef struct Team
{
	ParallelContext *context;
	Shared	   *shared;
	Snapshot	snapshot;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
} Team;

/* The library that the access method's handler is in, by the name under which the server finds it. */
static char *
LibraryName(Relation index)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(index->rd_amhandler));
	Datum		name;
	bool		isnull;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", index->rd_amhandler);
	name = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (isnull)
		elog(ERROR, "function %u is in no library", index->rd_amhandler);
	result = TextDatumGetCString(name);
	ReleaseSysCache(tuple);
	return result;
}

static void *
Allocate(ParallelContext *context, uint64 key, Size size)
{
	void	   *memory = shm_toc_allocate(context->toc, size);

	shm_toc_insert(context->toc, key, memory);
	return memory;
}

/* Ends the parallel mode.  Workers have ended, or there are none. */
static void
EndTeam(Team *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->context);
	ExitParallelMode();
}

/* Fills the shared memory. */
static void
FillSharedMemory(Team *team, Relation heap, Relation index, Size shared_size, bool concurrent)
{
	ParallelContext *context = team->context;
	Shared	   *shared = Allocate(context, SHARED_KEY, shared_size);

	memset(shared, 0, sizeof *shared);
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = concurrent;
	shared->blocks = RelationGetNumberOfBlocks(heap);
	shared->processes = context->nworkers + 1;
	pg_atomic_init_u32(&shared->width, 0);
	SpinLockInit(&shared->mutex);
	SharedFileSetInit(&shared->files, context->seg);
	table_parallelscan_initialize(heap, ScanOf(shared), team->snapshot);
	team->shared = shared;
	if (debug_query_string != NULL)
		strcpy(Allocate(context, QUERY_KEY, strlen(debug_query_string) + 1), debug_query_string);
	team->wal_usage = Allocate(context, WAL_USAGE_KEY, mul_size(sizeof(WalUsage), context->nworkers));
	team->buffer_usage = Allocate(context, BUFFER_USAGE_KEY, mul_size(sizeof(BufferUsage), context->nworkers));
}

/* Starts up to n workers.  False, with nothing changed, if there is none to be had. */
static bool
StartTeam(Team *team, Relation heap, Relation index, bool concurrent, int n)
{
	ParallelContext *context;
	Size		shared_size;

	EnterParallelMode();
	context = team->context = CreateParallelContext(LibraryName(index), "BloomxBuildWorker", n);
	/* rows that some other transaction may still see belong into the index; a concurrent build has a snapshot */
	team->snapshot = concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	shared_size = add_size(BUFFERALIGN(sizeof(Shared)), table_parallelscan_estimate(heap, team->snapshot));
	shm_toc_estimate_chunk(&context->estimator, shared_size);
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(WalUsage), n));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(BufferUsage), n));
	shm_toc_estimate_chunk(&context->estimator, debug_query_string == NULL ? 0 : strlen(debug_query_string) + 1);
	shm_toc_estimate_keys(&context->estimator, 4);
	InitializeParallelDSM(context);
	if (context->seg != NULL)
	{
		FillSharedMemory(team, heap, index, shared_size, concurrent);
		LaunchParallelWorkers(context);
	}
	if (context->nworkers_launched > 0)
		return true;
	EndTeam(team);
	return false;
}

static void
WaitForWorkers(Team *team)
{
	WaitForParallelWorkersToFinish(team->context);
	for (int i = 0; i < team->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffer_usage[i], &team->wal_usage[i]);
}

/* Makes the last segments of what the processes have left. */
static void
Collect(Team *team, BloomxBuilder *builder, BufFile *tids)
{
	for (int process = 0; process <= team->context->nworkers_launched; process++)
	{
		BufFile    *file = OpenFile(team->shared, "rows", process);

		BloomxTakeOverValues(builder, file);
		BufFileClose(file);
		if (tids == NULL)
			continue;
		file = OpenFile(team->shared, "tids", process);
		BloomxCopyTids(tids, file);
		BufFileClose(file);
	}
	builder->finish(builder);
}

bool
BloomxBuildInParallel(Relation heap, Relation index, IndexInfo *info, BufFile *tids, IndexBuildResult *result)
{
	int			workers = BuildWorkers(heap, index, info);
	Team		team = {0};
	BloomxBuilder *builder;

	if (workers == 0 || !StartTeam(&team, heap, index, info->ii_Concurrent, workers))
		return false;
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\" is built with %d parallel workers", RelationGetRelationName(index), team.context->nworkers_launched)));
	builder = BuildPart(team.shared, heap, index, info, 0);
	WaitForWorkers(&team);
	Collect(&team, builder, tids);
	result->heap_tuples = team.shared->heap_tuples;
	result->index_tuples = team.shared->index_tuples;
	info->ii_BrokenHotChain = team.shared->broken_hot_chain;
	EndTeam(&team);
	return true;
}
