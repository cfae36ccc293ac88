/*
 * leaf.c - a filter of all rows of a leaf.
 *
 * The table may be written meanwhile.  First the leaf is marked: keys that are inserted
 * from then on go into open filters of a later generation, whatever the filters before
 * have.  Then the table is read, with all row versions that are still there.  A row that
 * was put into the table before the mark is read; one whose insert asked the directory
 * after the mark is in an open filter; and an insert asks after it has put the row into
 * the table.  So these two together have all rows, and in one step the new filter becomes
 * the main one, and the leaf complete.
 *
 * An interrupted build leaves the mark, which does no harm: the filters before it stay.
 */
#include "pg/partitions/store/leaf.h"

#include "catalog/partition.h"
#include "lib/hyperloglog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/base/base.h"
#include "pg/base/compat_table.h"
#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/pages/heaprows.h"
#include "pg/partitions/store/filters.h"

Oid
RootOfLeaf(Oid leaf)
{
	List	   *ancestors = get_partition_ancestors(leaf);

	return ancestors == NIL ? InvalidOid : llast_oid(ancestors);
}

void
NoteRoot(Relation rel, Oid leaf)
{
	Store	   *store = ReadStore(rel);
	const StoreSlot *slot = FindLeaf(store, leaf);
	Oid			root = RootOfLeaf(leaf);
	StoreEdit	edit;
	StoreSlot  *edited;

	if (slot == NULL || slot->root == root || (edited = EditLeaf(&edit, rel, NumberOfSlot(store, slot), leaf)) == NULL)
		return;
	edited->root = root;
	FinishEdit(&edit);
}

bool
IsOlderThanTransaction(Relation heap)
{
	return heap->rd_createSubid == InvalidSubTransactionId && NEW_FILE_SUBID(heap) == InvalidSubTransactionId;
}

/* Hashes of keys: as many as memory takes; of all, about how many different ones there are. */
typedef struct KeyBag
{
	uint64	   *hashes;
	uint64		n;
	uint64		room;
	bool		overflowed;
	hyperLogLogState distinct;
	Relation	store;
	const StoreSlot *filter;	/* set: what comes goes into it */
} KeyBag;

static void
EmptyBag(KeyBag *bag)
{
	blx_sort_values((uint8_t *) bag->hashes, bag->n);
	if (bag->filter != NULL)
		FillPages(bag->store, bag->filter, bag->hashes, bag->n);
	else
		bag->overflowed = true;
	bag->n = 0;
}

static void
ReadTable(KeyBag *bag, Relation heap, Relation index)
{
	BloomxColumns *columns = BloomxOpenColumns(index);
	HeapRows   *rows = StartHeapRows(heap, index, SnapshotAny);

	while (NextHeapRow(rows))
	{
		MemoryContext old = MemoryContextSwitchTo(HeapRowMemory(rows));
		const KeyHashes *hashes = ReadHeapRow(rows) == ROW_HAS_VALUES ? BloomxHashesOfRow(columns, rows->values, rows->isnull) : NULL;

		MemoryContextSwitchTo(old);
		for (uint32 i = 0; hashes != NULL && i < hashes->n; i++)
		{
			if (bag->n == bag->room)
				EmptyBag(bag);
			bag->hashes[bag->n++] = hashes->hash[i];
			if (bag->filter == NULL)
				addHyperLogLog(&bag->distinct, (uint32) (hashes->hash[i] >> 32) ^ (uint32) hashes->hash[i]);
		}
	}
	EndHeapRows(rows);
}

static uint64
CountDistinct(KeyBag *bag)
{
	uint64		n = 0;

	if (bag->overflowed)
		return (uint64) estimateHyperLogLog(&bag->distinct);
	blx_sort_values((uint8_t *) bag->hashes, bag->n);
	for (uint64 i = 0; i < bag->n; i++)
		if (i == 0 || bag->hashes[i] != bag->hashes[n - 1])
			bag->hashes[n++] = bag->hashes[i];
	return bag->n = n;
}

/* Marks the leaf, which is added if there is none; returns its slot, or NO_SLOT. */
static uint32
StartBuild(Relation rel, Relation heap, Relation index, uint64 *generation)
{
	StoreSlot	leaf = {.kind = SLOT_LEAF, .leaf = RelationGetRelid(index), .heap = RelationGetRelid(heap), .main = NO_SLOT, .owner = NO_SLOT};
	StoreEdit	edit;
	Store	   *store;
	StoreSlot  *slot;
	uint32		number;

	LockStore(rel);
	store = ReadStore(rel);
	slot = FindLeaf(store, leaf.leaf);
	number = slot != NULL ? NumberOfSlot(store, slot) : AddLeaf(rel, &leaf);
	if (number != NO_SLOT)
	{
		Oid			root = RootOfLeaf(leaf.leaf);

		StartEdit(&edit, rel);
		slot = EditSlot(&edit, number);
		slot->root = root;
		slot->state |= LEAF_BUILDING;
		slot->generation = *generation = edit.meta->next_generation++;
		FinishEdit(&edit);
	}
	UnlockStore(rel);
	return number;
}

/* The filter takes the place of those before the mark; false if an insert that found no room for its key has taken the mark off. */
static bool
FinishBuild(Relation rel, Oid leaf, uint32 number, uint64 generation, uint32 filter, uint64 keys)
{
	StoreEdit	edit;
	StoreSlot  *slot;
	bool		done;

	StartEdit(&edit, rel);
	slot = EditSlot(&edit, number);
	done = edit.meta->fed_from == FED && slot->kind == SLOT_LEAF && slot->leaf == leaf && (slot->state & LEAF_BUILDING) != 0 &&
		slot->generation == generation;
	if (done)
	{
		slot->main = filter;
		slot->column = 0;
		slot->keys = keys;
		slot->state = LEAF_COMPLETE;
	}
	FinishEdit(&edit);
	return done;
}

static bool
BuildFilter(Relation rel, Relation heap, Relation index)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx leaf", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	KeyBag		bag = {.store = rel, .room = Max(1024, maintenance_work_mem * (Size) 1024 / sizeof(uint64) / 2)};
	StoreSlot	filter = {.width = 1, .leaf = RelationGetRelid(index)};
	uint64		generation,
				keys;
	uint32		leaf = StartBuild(rel, heap, index, &generation),
				number = NO_SLOT;
	bool		done = false;

	bag.hashes = MemoryContextAllocHuge(memory, bag.room * sizeof(uint64));
	initHyperLogLog(&bag.distinct, 14);
	if (leaf != NO_SLOT)
	{
		ReadTable(&bag, heap, index);
		keys = CountDistinct(&bag);
		filter.blocks = BlocksForKeys((double) keys);
		number = ReserveFilter(rel, &filter);
	}
	if (number != NO_SLOT)
	{
		StartPages(rel, &filter);
		bag.filter = &filter;
		if (bag.overflowed)
		{
			bag.n = 0;
			ReadTable(&bag, heap, index);
		}
		EmptyBag(&bag);
		LogPages(rel, &filter);
		done = FinishBuild(rel, filter.leaf, leaf, generation, number, keys);
		UnlockReserved(rel, &filter);
		FreeUnused(rel);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return done;
}

bool
BuildLeaf(Relation rel, Relation heap, Relation index)
{
	return StoreIsFed(rel) && BuildFilter(rel, heap, index);
}

/* Open filters beside a main one that has eight times as many pages cost little more than it does. */
#define DUE_SHARE 8

/* Later statements know the index as we do. */
static bool
NobodyInserts(Relation index)
{
	for (int milliseconds = 0; milliseconds < PATIENCE; milliseconds++)
	{
		if (ConditionalLockRelation(index, ShareLock))
		{
			UnlockRelation(index, ShareLock);
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	return false;
}

bool
LeafIsDue(Relation rel, Relation index, bool any)
{
	Store	   *store = ReadStore(rel);
	const StoreSlot *slot = FindLeaf(store, RelationGetRelid(index));
	uint64		open = 0;

	if (store == NULL || RelationGetIndexExpressions(index) != NIL || RelationGetIndexPredicate(index) != NIL)
		return false;
	/* the option may be new, and ALTER INDEX does not wait for statements that insert: they feed nothing */
	if (slot == NULL)
		return NobodyInserts(index);
	if (!LeafIsComplete(store, slot))
		return true;
	for (uint32 i = NewestOpenFilter(store, slot); i != NO_SLOT && store->slots[i].generation >= slot->generation; i = store->next[i])
		open += PagesOfFilter(&store->slots[i]);
	return any ? open > 0 : open * DUE_SHARE > store->slots[slot->main].blocks / MOST_COLUMNS;
}
