/*
 * paused_heap.c - a table access method: heap, which lets a search for uncommitted rows wait on its way from an entry of an index to the row.
 *
 * If the setting pause.key is not zero, it waits there for the advisory lock of that number; who holds it changes the row meanwhile.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static int	pause_key;
static TableAmRoutine routine;

extern Datum pg_advisory_lock_int8(PG_FUNCTION_ARGS);
extern Datum pg_advisory_unlock_int8(PG_FUNCTION_ARGS);

static bool
Fetch(struct IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	if (pause_key != 0 && snapshot->snapshot_type == SNAPSHOT_DIRTY && !*call_again)
	{
		DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(pause_key));
		DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(pause_key));
	}
	return GetHeapamTableAmRoutine()->index_fetch_tuple(scan, tid, snapshot, slot, call_again, all_dead);
}

/* What reads the rows insists on heap. */
static double
Build(Relation table, Relation index, struct IndexInfo *info, bool allow_sync, bool anyvisible, bool progress, BlockNumber start, BlockNumber blocks,
	  IndexBuildCallback callback, void *state, TableScanDesc scan)
{
	double		rows;

	table->rd_tableam = GetHeapamTableAmRoutine();
	rows = table->rd_tableam->index_build_range_scan(table, index, info, allow_sync, anyvisible, progress, start, blocks, callback, state, scan);
	table->rd_tableam = &routine;
	return rows;
}

PG_FUNCTION_INFO_V1(paused_heap);
Datum
paused_heap(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&routine);
}

void
_PG_init(void)
{
	DefineCustomIntVariable("pause.key", "The advisory lock that searches wait for.", NULL, &pause_key, 0, 0, 1000, PGC_USERSET, 0, NULL, NULL, NULL);
	routine = *GetHeapamTableAmRoutine();
	routine.index_fetch_tuple = Fetch;
	routine.index_build_range_scan = Build;
}
