/*
 * unique_leaf.c - rows of a partition that have a key which another row has.
 *
 * The partition's btree is searched for rows of any transaction, committed or not, as the
 * server does for exclusion constraints.  Such a scan can miss a row: it reads an entry of
 * the index, somebody updates the row and commits, and when the scan comes to the row this
 * version is dead, while the entry of the next one was not there yet.  So whoever comes to a
 * dead version looks again, with a snapshot: that one misses no row that was committed
 * before it was taken.
 */
#include "pg/partitions/unique/unique_leaf.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "pg/base/indexscans.h"

typedef enum Look
{
	NO_ROW,
	DEAD_ROW,					/* no other */
	OTHER_ROW,
	ROW_IN_PROGRESS
} Look;

/* ---- the index ---- */

static bool
IsIndexOfKey(Relation index, AttrNumber attribute, Oid family, Oid collation)
{
	return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisvalid &&
		index->rd_index->indkey.values[0] == attribute && index->rd_opfamily[0] == family && index->rd_indcollation[0] == collation &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

static Relation
OpenIndexOfKey(Relation leaf, const char *column, TypeCacheEntry **type)
{
	AttrNumber	number = get_attnum(RelationGetRelid(leaf), column);
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(leaf), number - 1);
	ListCell   *cell;

	*type = lookup_type_cache(attribute->atttypid, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_EQ_OPR);
	foreach(cell, RelationGetIndexList(leaf))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (IsIndexOfKey(index, number, (*type)->btree_opf, attribute->attcollation))
			return index;
		index_close(index, AccessShareLock);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" has no btree index on column \"%s\", which must be unique across partitions", RelationGetRelationName(leaf), column),
			 errhint("Use CREATE INDEX to make one on the partitioned table, or drop the constraint trigger.")));
}

/* ---- a scan ---- */

/* Looks for another row than the key's own. */
static Look
LookForRow(const UniqueKey *key, Relation leaf, Relation index, TypeCacheEntry *type, Snapshot snapshot)
{
	TupleTableSlot *slot = table_slot_create(leaf, NULL);
	IndexScanDesc scan = BeginIndexScan(leaf, index, snapshot, 1);
	ScanKeyData condition;
	Look		look = NO_ROW;

	ScanKeyEntryInitialize(&condition, 0, 1, BTEqualStrategyNumber, InvalidOid, index->rd_indcollation[0], get_opcode(type->eq_opr), key->value);
	index_rescan(scan, &condition, 1, NULL, 0);
	while (look != OTHER_ROW)
	{
		bool		is_next_version = scan->xs_heap_continue;

		if (!is_next_version && index_getnext_tid(scan, ForwardScanDirection) == NULL)
			break;
		if (!index_fetch_heap(scan, slot))
		{
			if (!is_next_version)
				look = DEAD_ROW;
		}
		else if (key->leaf != RelationGetRelid(leaf) || !ItemPointerEquals((ItemPointer) &key->tid, &slot->tts_tid))
			look = OTHER_ROW;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return look;
}

/* With all that is committed now, and all that this transaction has done. */
static Look
LookForCommittedRow(const UniqueKey *key, Relation leaf, Relation index, TypeCacheEntry *type)
{
	Snapshot	latest = RegisterSnapshot(GetLatestSnapshot());
	Look		look;

	latest->curcid = PG_UINT32_MAX;
	look = LookForRow(key, leaf, index, type, latest);
	UnregisterSnapshot(latest);
	return look;
}

static Look
LookAtLeaf(const UniqueKey *key, Oid oid, SnapshotData *dirty)
{
	Relation	leaf = try_table_open(oid, AccessShareLock),
				index;
	TypeCacheEntry *type;
	Look		look;

	if (leaf == NULL)
		return NO_ROW;
	index = OpenIndexOfKey(leaf, key->column, &type);
	look = LookForRow(key, leaf, index, type, dirty);
	if (look == OTHER_ROW && (TransactionIdIsValid(dirty->xmin) || TransactionIdIsValid(dirty->xmax)))
		look = ROW_IN_PROGRESS;
	/* the first scan must tell what this one has found */
	if (look == DEAD_ROW && LookForCommittedRow(key, leaf, index, type) != OTHER_ROW)
		look = NO_ROW;
	index_close(index, AccessShareLock);
	table_close(leaf, AccessShareLock);
	return look;
}

bool
AnotherRowHasKey(const UniqueKey *key, Oid leaf)
{
	for (;;)
	{
		SnapshotData dirty;
		Look		look;

		InitDirtySnapshot(dirty);
		look = LookAtLeaf(key, leaf, &dirty);
		if (look == NO_ROW || look == OTHER_ROW)
			return look == OTHER_ROW;
		CHECK_FOR_INTERRUPTS();
		if (look == DEAD_ROW)
			continue;
		/* the partition is not locked meanwhile: that transaction may need it */
		if (TransactionIdIsValid(dirty.xmin) && dirty.speculativeToken != 0)
			SpeculativeInsertionWait(dirty.xmin, dirty.speculativeToken);
		else
			XactLockTableWait(TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax, NULL, NULL, XLTW_None);
	}
}
