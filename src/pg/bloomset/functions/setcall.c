/*
 * setcall.c - a function is called for a set.
 *
 * The functions go past the planner and the executor, so they check what these check:
 * the privileges on the table, row security, and that the index is complete for the
 * caller's snapshot.
 *
 * The locks are kept until the transaction ends.  As long as a call site stays in one
 * subtransaction and one role, nothing of this is looked up again.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "pg/bloomset/index/bloomset.h"

/* ---- what is refused ---- */

static void
ReportOtherRelation(Relation rel)
{
	bool		partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a bloomset", RelationGetRelationName(rel)),
			 partitioned ? errdetail("A partitioned index has no pages: each partition has a set of its own.") : 0,
			 errhint(partitioned ? "Name the index of a partition." : "Name an index made by CREATE INDEX ... USING bloomset.")));
}

static void
CheckPrivileges(Relation heap, Relation index)
{
	if (pg_class_aclcheck(RelationGetRelid(heap), GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for bloomset \"%s\"", RelationGetRelationName(index)),
				 errdetail("This needs SELECT on table \"%s\".", RelationGetRelationName(heap))));
	if (check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("bloomset \"%s\" has keys of rows that row security hides", RelationGetRelationName(index)),
				 errhint("Call the function as a role to which the policies of table \"%s\" do not apply.", RelationGetRelationName(heap))));
}

static void
CheckState(Relation index)
{
	if (!index->rd_index->indisvalid || !index->rd_index->indisready || !index->rd_index->indislive)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloomset \"%s\" is not complete", RelationGetRelationName(index)),
				 errhint("If CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY has failed, REINDEX it.")));
}

/* A 32-bit transaction ID of the last two thousand million, as a 64-bit one. */
static uint64
WidenXid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return next - (uint32) ((uint32) next - xid);
}

/*
 * True if the snapshot may see rows that were dead when the index was built.  On the
 * server itself PostgreSQL knows of them (indcheckxmin).  A standby's snapshot may also be
 * older than all on the server were.
 */
static bool
IsTooNewFor(Relation index, const SetView *view, Snapshot snapshot)
{
	if (index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
		return true;
	return snapshot->takenDuringRecovery && WidenXid(snapshot->xmin) < view->meta->horizon;
}

static void
CheckSnapshot(SetCall *call)
{
	Snapshot	snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() : NULL;

	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot read bloomset \"%s\" without a snapshot", RelationGetRelationName(call->rel))));
	if (IsTooNewFor(call->rel, call->view, snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloomset \"%s\" lacks rows that this transaction may still see", RelationGetRelationName(call->rel)),
				 errdetail("The index was built when other transactions were running that began before it, or after this one began."),
				 errhint("Try again in a new transaction, when these have ended.")));
	call->always_checked = call->rel->rd_index->indcheckxmin || snapshot->takenDuringRecovery;
	/* INSERT, too, locks the index for SERIALIZABLE */
	PredicateLockRelation(call->rel, snapshot);
}

/* ---- opening ---- */

static SetCall *
MakeSetCall(FmgrInfo *function)
{
	SetCall    *call = MemoryContextAllocZero(function->fn_mcxt, sizeof(SetCall));

	call->memory = AllocSetContextCreate(function->fn_mcxt, "bloomset call", ALLOCSET_DEFAULT_SIZES);
	call->row_memory = AllocSetContextCreate(function->fn_mcxt, "bloomset row", ALLOCSET_SMALL_SIZES);
	call->argument.context = function->fn_mcxt;
	function->fn_extra = call;
	return call;
}

/* Locks the table before the index, as DROP INDEX and REINDEX do. */
static void
LockSet(SetCall *call, Oid id)
{
	Oid			table = IndexGetRelation(id, true);
	Relation	heap = OidIsValid(table) ? try_table_open(table, AccessShareLock) : NULL;

	call->rel = try_relation_open(id, AccessShareLock);
	if (call->rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", id),
				 errhint("REINDEX CONCURRENTLY gives an index another OID. In a view, a default or a policy write 'name'::text::regclass.")));
	if (heap == NULL || table != IndexGetRelation(id, true) || call->rel->rd_rel->relkind != RELKIND_INDEX ||
		call->rel->rd_indam->aminsert != bloomsetinsert)
		ReportOtherRelation(call->rel);
	CheckPrivileges(heap, call->rel);
	CheckState(call->rel);
	if (RELATION_IS_OTHER_TEMP(call->rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (RecoveryInProgress() && call->rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	table_close(heap, NoLock);
}

static void
MakeView(SetCall *call, Oid id)
{
	MemoryContext old;

	MemoryContextReset(call->memory);
	call->view = NULL;
	old = MemoryContextSwitchTo(call->memory);
	call->keys = OpenSetKeys(call->rel);
	call->view = OpenSetView(call->rel);
	call->id = id;
	MemoryContextSwitchTo(old);
}

SetCall *
OpenSet(FunctionCallInfo fcinfo)
{
	SetCall    *call = fcinfo->flinfo->fn_extra != NULL ? fcinfo->flinfo->fn_extra : MakeSetCall(fcinfo->flinfo);
	Oid			id = PG_GETARG_OID(0);
	bool		is_allowed = call->view != NULL && call->id == id && call->user == GetUserId() &&
		call->transaction == LOCAL_TRANSACTION() && call->subtransaction == GetCurrentSubTransactionId();

	if (is_allowed)
		call->rel = relation_open(id, NoLock);
	else
		LockSet(call, id);
	if (call->view == NULL || call->id != id || !is_allowed || !IsViewOf(call->view, call->rel))
		MakeView(call, id);
	if (!is_allowed || call->always_checked)
		CheckSnapshot(call);
	call->user = GetUserId();
	call->transaction = LOCAL_TRANSACTION();
	call->subtransaction = GetCurrentSubTransactionId();
	return call;
}

void
CloseSet(SetCall *call)
{
	relation_close(call->rel, NoLock);
	call->rel = NULL;
}

Relation
OpenTableOfSet(const SetCall *call)
{
	return table_open(IndexGetRelation(call->id, false), AccessShareLock);
}

/* ---- the key argument ---- */

void
LookupSetArgument(SetCall *call, FunctionCallInfo fcinfo, bool is_array)
{
	Oid			type;

	if (OidIsValid(call->type))
		return;
	/* says whether it is untyped, and raises an error for types that cannot be keys */
	if (is_array)
		(void) LookupCallElement(&call->argument, fcinfo->flinfo, 1, PG_GET_COLLATION());
	else
		(void) LookupCallKey(&call->argument, fcinfo->flinfo, 1, PG_GET_COLLATION());
	type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	call->type = is_array ? get_base_element_type(type) : type;
}
