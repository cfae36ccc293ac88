/*
 * setcheck.c - bloomset_check: every page is what it must be, and every row's key is in
 * the set.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

typedef struct SetCheck
{
	SetCall    *call;
	int64		rows;
} SetCheck;

static void
CheckPages(SetCall *call)
{
	const SetMeta *meta = call->view->meta;

	for (uint32 i = 0; i < meta->stages; i++)
		for (BlockNumber j = 0; j < SetPagesOf(&meta->stage[i]); j++)
		{
			Buffer		buffer = ReadSetPage(call->view, call->rel, meta->stage[i].first + j);

			CHECK_FOR_INTERRUPTS();
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			CheckSetPage(call->rel, buffer, i);
			UnlockReleaseBuffer(buffer);
		}
}

static void
CheckRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	SetCheck   *check = arg;
	SetCall    *call = check->call;
	MemoryContext old = MemoryContextSwitchTo(call->row_memory);
	uint64		hash;

	if (HashIndexedRow(call->keys, values, isnull, &hash))
	{
		if (!TestSet(call->view, call->rel, hash))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("bloomset \"%s\" lacks the key of row (%u,%u)", RelationGetRelationName(index),
							ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid)),
					 errhint("REINDEX it.")));
		check->rows++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(call->row_memory);
}

static int64
CheckTable(SetCall *call, Relation table)
{
	IndexInfo  *info = BuildIndexInfo(call->rel);
	SetCheck	check = {.call = call};
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	/* as a concurrent build: the rows that the snapshot sees, and no warning of uncommitted ones */
	info->ii_Concurrent = true;
	(void) table_index_build_scan(table, call->rel, info, true, false, CheckRow, &check,
								  table_beginscan_strat(table, snapshot, 0, NULL, true, true));
	UnregisterSnapshot(snapshot);
	return check.rows;
}

/* bloomset_check(set regclass): the rows that have a key; of a table, 0 */
PG_FUNCTION_INFO_V1(bloomset_check);
Datum
bloomset_check(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSet(fcinfo, ACL_SELECT);
	Relation	table = OpenTableOfSet(call);
	int64		rows = 0;
	Oid			user;
	int			context,
				nest_level;

	/* index expressions are code of the owner, and must run as the owner */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(table->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	RestrictSearchPath();
	if (call->view != NULL)
	{
		(void) RefreshSetView(call->view, call->rel);
		CheckPages(call);
	}
	if (call->keys != NULL)
		rows = CheckTable(call, table);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);
	table_close(table, NoLock);
	CloseSet(call);
	PG_RETURN_INT64(rows);
}
