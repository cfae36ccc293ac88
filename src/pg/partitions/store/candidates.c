/*
 * candidates.c - which partitions may hold a key.
 *
 * The answer is that of the directory which is current before and after all filters were
 * looked at.  Whoever has committed before the question has put its keys into filters that
 * this directory, or an earlier one, names; what takes a filter's place has all of its
 * keys, or the leaf is not complete.  So no key of a row that a snapshot sees which was
 * taken before is missed.
 */
#include "pg/partitions/store/candidates.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/relation.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/index/bloomx/build/build.h"
#include "pg/index/bloomx/condition/scan_condition.h"
#include "pg/index/bloomx/format/options.h"
#include "pg/partitions/store/filters.h"

bool
HasPartitionLookup(Relation index)
{
	return index->rd_indam != NULL && index->rd_indam->aminsert == bloomxinsert && BloomxGetOptions(index).partition_lookup;
}

Relation
OpenLookupIndex(Oid oid)
{
	Relation	index = try_relation_open(oid, AccessShareLock);

	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", oid)));
	if ((index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX && index->rd_rel->relkind != RELKIND_INDEX) || !HasPartitionLookup(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a bloomx index with partition_lookup", RelationGetRelationName(index)),
				 errhint("Name an index made by CREATE INDEX ... USING bloomx (...) WITH (partition_lookup = on).")));
	return index;
}

/* ---- the leaves of a partitioned index ---- */

/* A filter that a question looks at, and which columns of the map its own are; -1: nobody's. */
typedef struct AskedFilter
{
	uint32		slot;
	int			column[MOST_COLUMNS];	/* as many as it has */
} AskedFilter;

typedef struct StoreRoot
{
	struct StoreRoot *next;
	LookupMap	map;
	Bitmapset  *anything;		/* columns of leaves that may have any key */
	int			nfilters;
	AskedFilter **filters;
} StoreRoot;

/* Filters by their slots; one that a question looks at is made when its first column is known. */
static void
AddColumn(StoreRoot *root, AskedFilter **by_slot, const Store *store, uint32 slot, uint32 of_filter, int column)
{
	AskedFilter *filter = by_slot[slot];
	uint32		width = store->slots[slot].width;

	if (filter == NULL)
	{
		filter = by_slot[slot] = palloc(offsetof(AskedFilter, column) + width * sizeof(int));
		filter->slot = slot;
		for (uint32 i = 0; i < width; i++)
			filter->column[i] = -1;
		root->filters[root->nfilters++] = filter;
	}
	filter->column[of_filter] = column;
}

static void
AddLeafColumns(StoreRoot *root, AskedFilter **by_slot, const Store *store, uint32 number, int column)
{
	const StoreSlot *leaf = &store->slots[number];

	if (!LeafIsComplete(store, leaf))
	{
		root->anything = bms_add_member(root->anything, column);
		return;
	}
	AddColumn(root, by_slot, store, leaf->main, leaf->column, column);
	for (uint32 i = store->next[number]; i != NO_SLOT; i = store->next[i])
		AddColumn(root, by_slot, store, i, 0, column);
}

static StoreRoot *
MakeRoot(Store *store, Oid oid)
{
	StoreRoot  *root = palloc0(sizeof(StoreRoot));
	AskedFilter **by_slot = palloc_extended((store->nslots + 1) * sizeof(AskedFilter *), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	LookupMap  *map = &root->map;

	map->root_index = oid;
	map->leaf_index = palloc_extended((store->nslots + 1) * sizeof(Oid), MCXT_ALLOC_HUGE);
	root->filters = palloc_extended((store->nslots + 1) * sizeof(AskedFilter *), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < store->nslots; i++)
		if (store->slots[i].kind == SLOT_LEAF && store->slots[i].root == oid)
		{
			AddLeafColumns(root, by_slot, store, i, map->ncolumns);
			map->leaf_index[map->ncolumns++] = store->slots[i].leaf;
		}
	map->serial = Max(1, hash_bytes_extended((unsigned char *) map->leaf_index, map->ncolumns * sizeof(Oid), oid));
	pfree(by_slot);
	root->next = store->roots;
	store->roots = root;
	return root;
}

static StoreRoot *
FindRoot(Store *store, Oid oid)
{
	StoreRoot  *root = store->roots;
	MemoryContext old;

	while (root != NULL && root->map.root_index != oid)
		root = root->next;
	if (root != NULL)
		return root;
	old = MemoryContextSwitchTo(store->memory);
	root = MakeRoot(store, oid);
	MemoryContextSwitchTo(old);
	return root;
}

const LookupMap *
LookupMapOf(Oid root_index)
{
	Relation	rel = OpenStore(AccessShareLock);
	Store	   *store = rel != NULL ? ReadStore(rel) : NULL;
	const LookupMap *map = store != NULL ? &FindRoot(store, root_index)->map : NULL;

	if (rel != NULL)
		relation_close(rel, NoLock);
	return map;
}

/* ---- a question ---- */

/* Adds the columns that may have the key. */
static Bitmapset *
AskFilter(Relation rel, const Store *store, const AskedFilter *asked, uint64 hash, Bitmapset *candidates)
{
	const StoreSlot *filter = &store->slots[asked->slot];
	bool		is_damaged = false;
	ColumnBits	bits = ColumnsWithKey(rel, filter, hash, &is_damaged);

	for (uint32 i = 0; i < filter->width && bits != 0; i++)
		if (asked->column[i] >= 0 && HasColumn(bits, i))
			candidates = bms_add_member(candidates, asked->column[i]);
	return candidates;
}

static Bitmapset *
AskFilters(Relation rel, const Store *store, const StoreRoot *root, const uint64 *hashes, int nhashes)
{
	Bitmapset  *candidates = bms_copy(root->anything);

	for (int i = 0; i < nhashes && bms_num_members(candidates) < root->map.ncolumns; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < root->nfilters; j++)
			candidates = AskFilter(rel, store, root->filters[j], hashes[i], candidates);
	}
	return candidates;
}

Bitmapset *
LookupCandidates(Oid root_index, const uint64 *hashes, int nhashes, uint64 *serial)
{
	Relation	rel = OpenStore(AccessShareLock);
	Bitmapset  *candidates = NULL;

	*serial = 0;
	if (rel == NULL)
		return NULL;
	for (Store *store = ReadStore(rel); store != NULL; store = ReadStore(rel))
	{
		const StoreRoot *root = FindRoot(store, root_index);

		candidates = AskFilters(rel, store, root, hashes, nhashes);
		if (StoreIsCurrent(rel, store))
		{
			*serial = root->map.serial;
			break;
		}
		bms_free(candidates);
		candidates = NULL;
	}
	relation_close(rel, NoLock);
	return candidates;
}

/*
 * A predicate lock on a key is one on a page of the store's table, whether there is such a page or not.  The table stays when
 * its index is made anew, and locks on the index would not.
 */
static inline BlockNumber
LockOfKey(uint64 hash)
{
	return (BlockNumber) (hash >> 33);
}

void
LookupPredicateLocks(const uint64 *hashes, int n, Snapshot snapshot)
{
	Relation	rel = OpenStore(AccessShareLock),
				table;

	if (rel == NULL)
		return;
	/* the index's lock keeps it */
	table = RelationIdGetRelation(rel->rd_index->indrelid);
	for (int i = 0; i < n; i++)
		PredicateLockPage(table, LockOfKey(hashes[i]), snapshot);
	RelationClose(table);
	relation_close(rel, NoLock);
}

void
CheckPredicateLocks(Relation rel, const uint64 *hashes, int n)
{
	Relation	table = RelationIdGetRelation(rel->rd_index->indrelid);

	for (int i = 0; i < n; i++)
		CheckForSerializableConflictIn(table, NULL, LockOfKey(hashes[i]));
	RelationClose(table);
}

/* ---- hashes ---- */

static bool
HashInIndex(Relation index, AttrNumber column, Oid operator, Oid key_type, Oid collation, Datum key, uint64 *hash)
{
	int			strategy = get_op_opfamily_strategy(operator, index->rd_opfamily[column - 1]);
	ScanKeyData asked = {.sk_attno = column, .sk_subtype = key_type, .sk_strategy = KEYS_EQUAL};
	KeyCondition *condition;

	if (strategy != KEYS_EQUAL || (OidIsValid(index->rd_indcollation[column - 1]) && index->rd_indcollation[column - 1] != collation))
		return false;
	condition = BloomxConditionOfValue(index, BloomxOpenColumns(index), &asked, key);
	if (condition->kind != HAS_KEY)
		return false;
	*hash = condition->hash;
	return true;
}

bool
LookupHashOf(Oid root_index, AttrNumber column, Oid operator, Oid key_type, Oid collation, Datum key, uint64 *hash)
{
	Relation	index = try_relation_open(root_index, AccessShareLock);
	bool		found = false;

	if (index == NULL)
		return false;
	if (HasPartitionLookup(index) && column > 0 && column <= IndexRelationGetNumberOfKeyAttributes(index))
		found = HashInIndex(index, column, operator, key_type, collation, key, hash);
	/* the table's lock keeps it */
	relation_close(index, AccessShareLock);
	return found;
}
