/*
 * feeding.c - keys of rows go into the store: INSERT, CREATE INDEX, VACUUM.
 *
 * An insert puts its keys into the store at once: so they are there before its
 * transaction commits, prepares or rolls back to a savepoint, and its own statements find
 * them.  It asks the directory for each row: a leaf may get its first filter at any time.
 * Keys that the leaf's filters have are not added.
 */
#include "pg/base/base.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/base/compat_table.h"
#include "pg/index/bloomx/build/feed.h"
#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/pages/heaprows.h"
#include "pg/partitions/store/candidates.h"
#include "pg/partitions/store/filters.h"
#include "pg/partitions/store/leaf.h"

/* What the inserts of one statement keep. */
typedef struct Feed
{
	Oid			store;			/* locked until the end of the transaction */
	Oid			leaf;
} Feed;

/* ---- one key ---- */

/* Each open filter is four times as large as the one before, up to 64 MB. */
#define GROWTH 4
#define MOST_OPEN_BLOCKS (8192 * MOST_COLUMNS)

/*
 * Makes the leaf's next open filter, unless somebody else has.  False if there is no room, or
 * if others are changing the directory for a longer time: nobody waits for that here.
 */
static bool
Grow(Relation rel, Oid leaf, uint32 newest)
{
	StoreSlot	filter = {.width = 1, .leaf = leaf, .blocks = MOST_COLUMNS};
	StoreSlot  *slot;
	StoreEdit	edit;
	Store	   *store;
	bool		has_room = true;

	if (!TryLockStore(rel, newest == NO_SLOT ? PATIENCE : 0))
		return false;
	store = ReadStore(rel);
	slot = FindLeaf(store, leaf);
	if (slot != NULL && NewestOpenFilter(store, slot) == newest)
	{
		uint32		owner = NumberOfSlot(store, slot),
					number;

		if (newest != NO_SLOT)
			filter.blocks = Min(MOST_OPEN_BLOCKS, GROWTH * store->slots[newest].blocks);
		number = ReserveFilter(rel, &filter);
		has_room = number != NO_SLOT;
		if (has_room)
		{
			StartPages(rel, &filter);
			LogPages(rel, &filter);
			StartEdit(&edit, rel);
			EditSlot(&edit, number)->owner = owner;
			FinishEdit(&edit);
			UnlockReserved(rel, &filter);
		}
	}
	UnlockStore(rel);
	return has_room;
}

/* One key in 128 looks whether its page is full. */
#define LOOKS_AT_FULLNESS(hash) (((hash) & 127) == 0)

typedef enum Added
{
	ADDED,
	NO_FILTER,
	DAMAGED,
	ASK_AGAIN
} Added;

/*
 * A key that the main filter has, or the newest open one, is not added.  The others are not asked: a key
 * that they have too is not worth that much time.
 */
static Added
TryAdd(Relation rel, Store *store, const StoreSlot *leaf, uint64 hash)
{
	uint32		newest = NewestOpenFilter(store, leaf);
	bool		is_damaged = false;

	/* while the leaf is built, what it has does not count; nor does a damaged page, which a standby may have whole */
	if ((leaf->state & LEAF_BUILDING) == 0 && leaf->main < store->nslots &&
		HasColumn(ColumnsWithKey(rel, &store->slots[leaf->main], hash, &is_damaged), leaf->column))
		return !StoreIsCurrent(rel, store) ? ASK_AGAIN : is_damaged ? DAMAGED : ADDED;
	if (newest == NO_SLOT)
		return StoreIsCurrent(rel, store) ? NO_FILTER : ASK_AGAIN;
	if (!AddToOpenFilter(rel, store, newest, hash, &is_damaged))
		return is_damaged ? DAMAGED : ASK_AGAIN;
	/* in the end: the directory that has been read may be gone then */
	if (LOOKS_AT_FULLNESS(hash) && IsPageFull(rel, &store->slots[newest], hash))
		(void) Grow(rel, leaf->leaf, newest);
	return ADDED;
}

static void
AddToLeaf(Relation rel, Oid oid, uint64 hash)
{
	Store	   *store = LastStore(rel);

	for (;; store = ReadStore(rel))
	{
		const StoreSlot *leaf;
		Added		added = ASK_AGAIN;

		if (store == NULL)
		{
			GiveUpStore(rel);
			return;
		}
		leaf = FindLeaf(store, oid);
		if (leaf != NULL && (leaf->state & (LEAF_COMPLETE | LEAF_BUILDING)) != 0)
			added = TryAdd(rel, store, leaf, hash);
		else if (StoreIsCurrent(rel, store))	/* the leaf may hold anything: nothing to keep */
			return;
		if (added == ADDED)
			return;
		if (added != ASK_AGAIN)
		{
			uint32		number = NumberOfSlot(store, leaf);

			/* the leaf may hold anything, if there is no room for its key, or its filters are damaged */
			if (added == DAMAGED || !Grow(rel, oid, NO_SLOT))
				GiveUpLeaf(rel, number, oid);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* ---- what the access method calls ---- */

/*
 * Keys of rows that come while the store is under another name, or no member of the extension, would be missing when it is
 * back.  If it has been dropped, there is nothing that could lack them.
 */
static void
CheckThatStoreIsGone(Relation index)
{
	Oid			method = get_index_am_oid("bloomx_partition_store", true);
	Relation	classes;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	/* dropped with it: views have no access method, either */
	if (!OidIsValid(method))
		return;
	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_class_relam, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(method));
	scan = systable_beginscan(classes, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	if (found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the store of partitions' keys was not found"),
				 errdetail("The keys of index \"%s\" go there.", RelationGetRelationName(index)),
				 errhint("Give these names back: the extension's table is bloomx_partition_store, and that table's index bloomx_partition_store_pages.")));
}

static void *
StartFeed(Relation heap, Relation index)
{
	Relation	rel = RelationIsPermanent(index) ? OpenStore(RowExclusiveLock) : NULL;
	Store	   *store = rel != NULL ? ReadStore(rel) : NULL;
	StoreSlot  *leaf = FindLeaf(store, RelationGetRelid(index));
	Feed	   *feed;

	if (rel == NULL && RelationIsPermanent(index) && HasPartitionLookup(index))
		CheckThatStoreIsGone(index);
	if (rel == NULL)
		return NULL;
	/* the lock is kept: if it is made anew meanwhile, this statement feeds nothing */
	if (store == NULL)
	{
		GiveUpStore(rel);
		relation_close(rel, NoLock);
		return NULL;
	}
	if (leaf == NULL && !HasPartitionLookup(index))
	{
		relation_close(rel, RowExclusiveLock);
		return NULL;
	}
	/* an index that was made before its table was attached */
	if (leaf != NULL && !OidIsValid(leaf->root) && index->rd_rel->relispartition && index->rd_index->indisvalid)
		NoteRoot(rel, RelationGetRelid(index));
	feed = palloc(sizeof(Feed));
	*feed = (Feed) {.store = RelationGetRelid(rel), .leaf = RelationGetRelid(index)};
	relation_close(rel, NoLock);
	return feed;
}

static void
FeedRow(void *arg, const KeyHashes *hashes)
{
	Feed	   *feed = arg;
	Relation	rel = relation_open(feed->store, NoLock);

	for (uint32 i = 0; i < hashes->n; i++)
		AddToLeaf(rel, feed->leaf, hashes->hash[i]);
	/* afterwards: who locks a key later finds it */
	if (IsolationIsSerializable())
		CheckPredicateLocks(rel, hashes->hash, (int) hashes->n);
	relation_close(rel, NoLock);
}

/*
 * Others of the same table may be what REINDEX CONCURRENTLY replaces with this one: they
 * will get no keys then, while a query may still take them for the partition's.
 */
static void
MarkOthersOfTable(Relation rel, Relation heap, Relation index)
{
	const Store *store = ReadStore(rel);

	for (uint32 i = 0; store != NULL && i < store->nslots; i++)
	{
		const StoreSlot *slot = &store->slots[i];

		if (slot->kind == SLOT_LEAF && slot->heap == RelationGetRelid(heap) && slot->leaf != RelationGetRelid(index))
			GiveUpLeaf(rel, i, slot->leaf);
	}
}

static void
CheckIndexForLookup(Relation index, IndexInfo *info)
{
	if (info->ii_Expressions == NIL && info->ii_Predicate == NIL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("an index with partition_lookup is of columns and of all rows"),
			 errdetail("Index \"%s\" has %s.", RelationGetRelationName(index), info->ii_Expressions != NIL ? "an expression" : "a condition"),
			 errhint("Create it without partition_lookup, or store the expression in a generated column.")));
}

/*
 * REINDEX reads the table anew: the functions of a type may have changed.  CLUSTER and the like
 * change no key, so a leaf that is complete stays so.  The keys of a table that is truncated
 * stay, too: this may be rolled back.  For the same reason the rows of a table that this
 * transaction has written anew are not believed to be all, unless the index is gone then.
 */
static void
BuildFeed(Relation heap, Relation index, IndexInfo *info)
{
	bool		wanted = HasPartitionLookup(index) && RelationIsPermanent(index),
				is_first = index->rd_createSubid != InvalidSubTransactionId && NEW_FILE_SUBID(index) == InvalidSubTransactionId;
	Relation	rel;
	Store	   *store;
	const StoreSlot *leaf;

	if (HasPartitionLookup(index))
		CheckIndexForLookup(index, info);
	rel = OpenStore(RowExclusiveLock);
	if (rel == NULL)
		return;
	if (info->ii_Concurrent)
		MarkOthersOfTable(rel, heap, index);
	store = ReadStore(rel);
	leaf = FindLeaf(store, RelationGetRelid(index));
	/* a new index may have the OID of one that was dropped long ago, and one that CREATE INDEX CONCURRENTLY left behind lacks rows */
	if (leaf != NULL && (!wanted || is_first || leaf->heap != RelationGetRelid(heap) || !index->rd_index->indisvalid))
		RemoveLeaf(rel, NumberOfSlot(store, leaf), RelationGetRelid(index));
	if (wanted && store != NULL && (is_first || IsOlderThanTransaction(heap)))
	{
		(void) BuildLeaf(rel, heap, index);
		ForgetDroppedLeaves(rel, false);
	}
	relation_close(rel, NoLock);
}

static void
VacuumFeed(IndexVacuumInfo *info)
{
	Relation	index = info->index,
				rel,
				heap;
	Store	   *store;

	if (!RelationIsPermanent(index) || !index->rd_index->indisvalid)
		return;
	rel = OpenStore(RowExclusiveLock);
	if (rel == NULL)
		return;
	if ((store = ReadStore(rel)) == NULL)
		ReportDamage(rel, WARNING);
	else if (!HasPartitionLookup(index))
	{
		const StoreSlot *leaf = FindLeaf(store, RelationGetRelid(index));

		if (leaf != NULL)
			RemoveLeaf(rel, NumberOfSlot(store, leaf), RelationGetRelid(index));
	}
	else
	{
		heap = table_open(IndexGetRelation(RelationGetRelid(index), false), ShareUpdateExclusiveLock);
		NoteRoot(rel, RelationGetRelid(index));
		if (LeafIsDue(rel, index, false))
			(void) BuildLeaf(rel, heap, index);
		ForgetDroppedLeaves(rel, false);
		SealLeaves(rel, RootOfLeaf(RelationGetRelid(index)), LEAST_COLUMNS);
		table_close(heap, ShareUpdateExclusiveLock);
	}
	relation_close(rel, RowExclusiveLock);
}

static bool
LeafHasKey(Relation rel, Store *store, const StoreSlot *leaf, uint64 hash)
{
	bool		is_damaged = false,
				found = HasColumn(ColumnsWithKey(rel, &store->slots[leaf->main], hash, &is_damaged), leaf->column);

	for (uint32 i = store->next[NumberOfSlot(store, leaf)]; i != NO_SLOT && !found; i = store->next[i])
		found = ColumnsWithKey(rel, &store->slots[i], hash, &is_damaged) != 0;
	return found;
}

/* The keys of one row, in the directory as it is; true if it has changed meanwhile. */
static bool
CheckRow(Relation rel, Relation index, const KeyHashes *hashes, const ItemPointerData *tid)
{
	Store	   *store = ReadStore(rel);
	const StoreSlot *leaf = FindLeaf(store, RelationGetRelid(index));
	bool		found = true;

	if (leaf == NULL || !LeafIsComplete(store, leaf))
		return false;
	for (uint32 i = 0; i < hashes->n && found; i++)
		found = LeafHasKey(rel, store, leaf, hashes->hash[i]);
	if (!StoreIsCurrent(rel, store))
		return true;
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("a key of row (%u,%u) of table of index \"%s\" is missing in the store of partitions' keys",
						ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid), RelationGetRelationName(index)),
				 errhint("REINDEX \"%s\", and then VACUUM the partitions.", RelationGetRelationName(rel))));
	return false;
}

/* Rows that are just being inserted are not there: the snapshot sees none of them. */
static void
CheckFeed(Relation heap, Relation index)
{
	Relation	rel = RelationIsPermanent(index) ? OpenStore(AccessShareLock) : NULL;
	Snapshot	snapshot;
	HeapRows   *rows;
	BloomxColumns *columns;

	if (rel == NULL)
		return;
	if (HasPartitionLookup(index) && ReadStore(rel) == NULL)
		ReportDamage(rel, ERROR);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	columns = BloomxOpenColumns(index);
	rows = StartHeapRows(heap, index, snapshot);
	while (NextHeapRow(rows))
	{
		MemoryContext old = MemoryContextSwitchTo(HeapRowMemory(rows));

		if (ReadHeapRow(rows) == ROW_HAS_VALUES)
		{
			const KeyHashes *hashes = BloomxHashesOfRow(columns, rows->values, rows->isnull);

			while (CheckRow(rel, index, hashes, &rows->slot->tts_tid))
				;
		}
		MemoryContextSwitchTo(old);
	}
	EndHeapRows(rows);
	UnregisterSnapshot(snapshot);
	relation_close(rel, AccessShareLock);
}

static const BloomxFeed feed = {BuildFeed, StartFeed, FeedRow, VacuumFeed, CheckFeed};

/* Called by the loader: nobody below names this folder. */
static void __attribute__((constructor))
RegisterFeed(void)
{
	bloomx_feed = &feed;
}
