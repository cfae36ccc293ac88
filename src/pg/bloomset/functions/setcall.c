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
#include "miscadmin.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "pg/bloomset/index/bloomset.h"
#include "pg/bloomset/table/settable.h"
#include "pg/bloomset/table/stage.h"

/* ---- what is refused ---- */

static void
ReportOtherRelation(Relation rel)
{
	bool		partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a bloomset", RelationGetRelationName(rel)),
			 partitioned ? errdetail("A partitioned index has no pages: each partition has a set of its own.") : 0,
			 errhint(partitioned ? "Name the index of a partition." :
					 "Name an index made by CREATE INDEX ... USING bloomset, or a table made by CREATE TABLE ... USING bloomset_table.")));
}

static void
RefuseToAdd(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("keys cannot be added to bloomset \"%s\", which is an index", RelationGetRelationName(index)),
			 errdetail("It has the keys of the rows of its table; REINDEX would forget others."),
			 errhint("Insert a row into the table, or add to a table made by CREATE TABLE ... USING bloomset_table.")));
}

static void
CheckPrivileges(Relation heap, Relation index, AclMode mode)
{
	if (pg_class_aclcheck(RelationGetRelid(heap), GetUserId(), mode) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for bloomset \"%s\"", RelationGetRelationName(index)),
				 errdetail("This needs %s on table \"%s\".", mode == ACL_SELECT ? "SELECT" : "INSERT", RelationGetRelationName(heap))));
	if (check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("bloomset \"%s\" has keys of rows that row security hides", RelationGetRelationName(index)),
				 errhint("Call the function as a role to which the policies of table \"%s\" do not apply.", RelationGetRelationName(heap))));
}

bool
IsComplete(Relation index)
{
	return index->rd_index->indisvalid && index->rd_index->indisready && index->rd_index->indislive;
}

static void
CheckState(Relation index)
{
	if (!IsComplete(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloomset \"%s\" is not complete", RelationGetRelationName(index)),
				 errhint("If CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY is running, try again with the index of that name; if it has failed, REINDEX it.")));
}

/* A 32-bit transaction ID of the last two thousand million, as a 64-bit one. */
static uint64
WidenXid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return next - (uint32) ((uint32) next - xid);
}

/*
 * On the server itself PostgreSQL knows of such rows (indcheckxmin).  A standby's snapshot may also be
 * older than all on the server were.
 */
bool
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
	if (call->keys != NULL && IsTooNewFor(call->rel, call->view, snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloomset \"%s\" lacks rows that this transaction may still see", RelationGetRelationName(call->rel)),
				 errdetail("The index was built when other transactions were running that began before it, or after this one began."),
				 errhint("Try again in a new transaction, when these have ended.")));
	call->always_checked = call->keys != NULL && (call->rel->rd_index->indcheckxmin || snapshot->takenDuringRecovery);
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
LockIndex(SetCall *call, Oid id, AclMode mode)
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
	if (mode == ACL_INSERT)
		RefuseToAdd(call->rel);
	CheckPrivileges(heap, call->rel, mode);
	CheckState(call->rel);
	table_close(heap, NoLock);
}

static void
LockTable(SetCall *call, Oid id, AclMode mode)
{
	call->rel = relation_open(id, mode == ACL_SELECT ? AccessShareLock : RowExclusiveLock);
	if (!IsSetTable(call->rel))
		ReportOtherRelation(call->rel);
	CheckPrivileges(call->rel, call->rel, mode);
}

static void
LockSet(SetCall *call, Oid id, AclMode mode)
{
	if (get_rel_relkind(id) == RELKIND_RELATION)
		LockTable(call, id, mode);
	else
		LockIndex(call, id, mode);
	if (RELATION_IS_OTHER_TEMP(call->rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (RecoveryInProgress() && call->rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
}

static void
MakeView(SetCall *call, Oid id)
{
	MemoryContext old;

	MemoryContextReset(call->memory);
	call->view = NULL;
	call->keys = NULL;
	call->id = id;
	old = MemoryContextSwitchTo(call->memory);
	if (call->rel->rd_rel->relkind == RELKIND_INDEX)
	{
		/* on a standby, no lock keeps REINDEX CONCURRENTLY from leaving it without new keys */
		if (!call->rel->rd_index->indisready)
			CheckState(call->rel);
		call->keys = OpenSetKeys(call->rel, NULL);
	}
	else if (IsSetTable(call->rel))
		CheckSetTable(call->rel);
	else
		ReportOtherRelation(call->rel); /* ALTER TABLE has changed it, in the transaction that has the lock */
	if (call->keys != NULL || HasMetaPage(call->rel))
		call->view = OpenSetView(call->rel, false);
	MemoryContextSwitchTo(old);
}

/* True if the call site had that set last, and nobody has to look again whether the caller may have it. */
static inline bool
IsAllowed(const SetCall *call, Oid id)
{
	return call->id == id && call->user == GetUserId() &&
		call->transaction == LOCAL_TRANSACTION() && call->subtransaction == GetCurrentSubTransactionId();
}

SetCall *
OpenSet(FunctionCallInfo fcinfo, AclMode mode)
{
	SetCall    *call = fcinfo->flinfo->fn_extra != NULL ? fcinfo->flinfo->fn_extra : MakeSetCall(fcinfo->flinfo);
	Oid			id = PG_GETARG_OID(0);
	bool		is_allowed = IsAllowed(call, id),
				is_known;

	if (is_allowed)
		call->rel = relation_open(id, NoLock);
	else
		LockSet(call, id, mode);
	is_known = is_allowed && call->view != NULL && IsPresent(call->view);
	if (!is_known)
		MakeView(call, id);
	if (mode == ACL_SELECT && (!is_known || call->always_checked))
		CheckSnapshot(call);
	call->user = GetUserId();
	call->transaction = LOCAL_TRANSACTION();
	call->subtransaction = GetCurrentSubTransactionId();
	return call;
}

SetCall *
OpenSetToTest(FunctionCallInfo fcinfo)
{
	SetCall    *call = fcinfo->flinfo->fn_extra;

	if (call == NULL || call->view == NULL || call->always_checked || !IsAllowed(call, PG_GETARG_OID(0)) || !IsPresent(call->view))
		return OpenSet(fcinfo, ACL_SELECT);
	call->rel = NULL;
	return call;
}

void
CloseSet(SetCall *call)
{
	if (call->rel != NULL)
		relation_close(call->rel, NoLock);
	call->rel = NULL;
}

Relation
OpenTableOfSet(const SetCall *call)
{
	return table_open(call->keys != NULL ? IndexGetRelation(call->id, false) : call->id, AccessShareLock);
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

/* A table does not know of what SQL type its keys are, only what its filters know. */
static KeyType *
TypeInTable(SetCall *call, Datum value, const blx_filter *keys)
{
	KeyType    *key = &call->argument.key;

	if (key->row_context != NULL)
		(void) LookupRowOf(key, value, NULL);
	CheckKeyType(keys, key);
	return key;
}

bool
HashSetArgument(SetCall *call, Datum value, uint64 *hash)
{
	if (call->keys != NULL)
		return HashArgument(call->keys, call->type, call->argument.key.reader != NULL, value, hash);
	*hash = HashKey(TypeInTable(call, value, call->view->keys), value, call->view->meta->seed);
	return true;
}

/* Of a table without keys: these become its keys' type.  Sets call->view. */
static void
BeginSet(SetCall *call, Datum value)
{
	blx_filter *none = NewEmptyFilter(&(blx_identity) {0});
	MemoryContext old;

	BeginSetTable(call->rel, &TypeInTable(call, value, none)->identity);
	old = MemoryContextSwitchTo(call->memory);
	call->view = OpenSetView(call->rel, false);
	MemoryContextSwitchTo(old);
	pfree(none);
}

/* ---- adding ---- */

/*
 * Before anything else: on a standby, to write a WAL record is a panic, for it happens in
 * a critical section, and a lock would not stop it.
 */
SetCall *
OpenSetToAdd(FunctionCallInfo fcinfo, const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	return OpenSet(fcinfo, ACL_INSERT);
}

bool
HashKeyToAdd(SetCall *call, Datum value, uint64 *hash)
{
	if (call->view == NULL)
		BeginSet(call, value);
	return HashSetArgument(call, value, hash);
}
