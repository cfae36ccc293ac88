/*
 * lookup_level.c - which partitions stand behind the columns of the store.
 *
 * The store knows leaf indexes, each by a column.  The planner knows the children of one partitioned
 * table, by their number in its descriptor, and a child may be a partitioned table itself.  What
 * leads from one to the other is kept by the backend, for each table and lookup.
 *
 * It is made for one serial of the store's map and for the children of one descriptor, which are
 * compared.  What only changes below a child is told by messages about the partitioned tables there.
 * The server's own descriptors of these tables hang on the same messages.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_index.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg/base/compat_planner.h"
#include "pg/partitions/store/candidates.h"

bool		bloomx_partition_lookup = true;

/* ---- lookups of a table ---- */

typedef struct KnownTable
{
	Oid			oid;			/* key: of a table, or of an index that is not valid yet */
	Oid			table;			/* itself, or that of the index */
	bool		is_valid;		/* no message came since it was begun to be read */
	bool		is_read;		/* to the end: there may have been an error */
	List	   *lookups;		/* of TableLookup, in TopMemoryContext */
} KnownTable;

static HTAB *known_tables;

/* ---- levels ---- */

typedef struct LevelKey
{
	Oid			table;
	Oid			root_index;
} LevelKey;

typedef struct Level
{
	LevelKey	key;
	MemoryContext context;		/* NULL: not made */
	int			n_children;
	Oid		   *children;		/* of the descriptor */
	List	   *watched;		/* OIDs of partitioned tables below the table */
	uint64		made_at;		/* messages at that time */
	ColumnNumbers columns;
} Level;

static HTAB *levels;

/* Partitioned tables of some level; entries are never removed. */
static HTAB *watched_tables;

/* How many messages came that tell of a change in one of them. */
static uint64 messages;

static void
TableChanged(Datum arg, Oid table)
{
	KnownTable *known;
	HASH_SEQ_STATUS all;

	if (OidIsValid(table))
	{
		known = hash_search(known_tables, &table, HASH_FIND, NULL);
		if (known != NULL)
			known = hash_search(known_tables, &known->table, HASH_FIND, NULL);
		if (known != NULL)
			known->is_valid = false;
		if (hash_search(watched_tables, &table, HASH_FIND, NULL) != NULL)
			messages++;
		return;
	}
	hash_seq_init(&all, known_tables);
	while ((known = hash_seq_search(&all)) != NULL)
		known->is_valid = false;
	messages++;
}

static HTAB *
NewTable(const char *name, Size key, Size entry)
{
	HASHCTL		control = {.keysize = key, .entrysize = entry, .hcxt = TopMemoryContext};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
InitLookupLevels(void)
{
	known_tables = NewTable("bloomx tables with a lookup", sizeof(Oid), sizeof(KnownTable));
	levels = NewTable("bloomx levels of partitions", sizeof(LevelKey), sizeof(Level));
	watched_tables = NewTable("bloomx partitioned tables", sizeof(Oid), sizeof(Oid));
	CacheRegisterRelcacheCallback(TableChanged, (Datum) 0);
}

static KnownTable *
EnterKnown(Oid oid, Oid table)
{
	bool		found;
	KnownTable *known = hash_search(known_tables, &oid, HASH_ENTER, &found);

	if (!found)
		known->lookups = NIL;
	known->table = table;
	known->is_valid = true;
	known->is_read = false;
	return known;
}

/* The index's columns that are columns of the table, if it has a lookup for all rows. */
static List *
AddLookups(List *lookups, Oid oid)
{
	Relation	index = RelationIdGetRelation(oid);
	List	   *ancestors;
	Oid			root;

	/* the lock of the table keeps it */
	if (index == NULL)
		return lookups;
	/* when the last partition's index is attached, the message is about the index alone */
	if (!index->rd_index->indisvalid)
		(void) EnterKnown(oid, index->rd_index->indrelid);
	else if (HasPartitionLookup(index) && heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
	{
		ancestors = index->rd_rel->relispartition ? get_partition_ancestors(oid) : NIL;
		root = ancestors == NIL ? oid : llast_oid(ancestors);
		for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		{
			MemoryContext old;
			TableLookup *lookup;

			if (index->rd_index->indkey.values[i] <= 0)
				continue;
			old = MemoryContextSwitchTo(TopMemoryContext);
			lookup = palloc(sizeof(TableLookup));
			*lookup = (TableLookup) {.root_index = root, .attribute = index->rd_index->indkey.values[i], .column = i + 1};
			lookups = lappend(lookups, lookup);
			MemoryContextSwitchTo(old);
		}
	}
	RelationClose(index);
	return lookups;
}

static List *
ReadLookups(Oid oid)
{
	Relation	table = RelationIdGetRelation(oid);
	List	   *lookups = NIL;
	ListCell   *lc;

	if (table == NULL)
		return NIL;
	if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		foreach(lc, RelationGetIndexList(table))
			lookups = AddLookups(lookups, lfirst_oid(lc));
	RelationClose(table);
	return lookups;
}

List *
LookupsOf(Oid table)
{
	KnownTable *known = hash_search(known_tables, &table, HASH_FIND, NULL);
	List	   *lookups;

	if (known != NULL && known->is_valid && known->is_read)
		return known->lookups;

	/* a message that comes while the catalogs are read finds the entry, and its mark is not overwritten */
	(void) EnterKnown(table, table);
	lookups = ReadLookups(table);
	known = hash_search(known_tables, &table, HASH_FIND, NULL);

	/* who asked before may still read the old list: it has few bytes, and changes of indexes are rare */
	known->lookups = lookups;
	known->is_read = true;
	return lookups;
}

/* ---- columns ---- */

/* Of an index that is not valid: InvalidOid.  Rows may come into the table without it. */
static Oid
TableOfIndex(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Oid			table = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	if (((Form_pg_index) GETSTRUCT(tuple))->indisvalid)
		table = ((Form_pg_index) GETSTRUCT(tuple))->indrelid;
	ReleaseSysCache(tuple);
	return table;
}

/* The place of each OID. */
static HTAB *
PlacesOf(const Oid *oids, int n)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = 2 * sizeof(Oid), .hcxt = CurrentMemoryContext};
	HTAB	   *places = hash_create("bloomx places", n + 1, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (int i = 0; i < n; i++)
		((Oid *) hash_search(places, &oids[i], HASH_ENTER, NULL))[1] = i;
	return places;
}

/* -1: it has none. */
static int
PlaceOf(HTAB *places, Oid oid)
{
	const Oid  *entry = hash_search(places, &oid, HASH_FIND, NULL);

	return entry != NULL ? (int) entry[1] : -1;
}

/*
 * The columns that are parts of the index now.  The store knows of which index a leaf was one when it was last seen: a partition
 * that was detached may have come back with that index in the place of another.
 */
static void
FindParts(Oid index, HTAB *columns, bool *is_part)
{
	ListCell   *lc;

	foreach(lc, find_inheritance_children_extended(index, false, NoLock, NULL, NULL))
	{
		int			column = PlaceOf(columns, lfirst_oid(lc));

		if (column >= 0)
			is_part[column] = true;
		else if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_PARTITIONED_INDEX)
			FindParts(lfirst_oid(lc), columns, is_part);
	}
}

void
NumberColumns(Oid root_index, const NumberedLeaves *leaves, ColumnNumbers *result)
{
	const LookupMap *map = LookupMapOf(root_index);
	int			n = map == NULL ? 0 : map->ncolumns;
	HTAB	   *tables = PlacesOf(leaves->tables, leaves->n),
			   *columns = PlacesOf(n == 0 ? NULL : map->leaf_index, n);
	bool	   *has_column = palloc0(leaves->n + 1),
			   *is_part = palloc0(n + 1);

	result->n_columns = n;
	result->serial = map == NULL ? 0 : map->serial;
	result->number = palloc(sizeof(int) * (n + 1));
	result->unknown = NULL;
	FindParts(root_index, columns, is_part);
	for (int i = 0; i < n; i++)
	{
		int			place = is_part[i] ? PlaceOf(tables, TableOfIndex(map->leaf_index[i])) : -1;

		result->number[i] = place >= 0 ? leaves->numbers[place] : -1;
		if (place >= 0)
			has_column[place] = true;
	}
	for (int i = 0; i < leaves->n; i++)
		if (!has_column[i])
			result->unknown = bms_add_member(result->unknown, leaves->numbers[i]);
	hash_destroy(tables);
	hash_destroy(columns);
	pfree(has_column);
	pfree(is_part);
}

Bitmapset *
NumbersOfCandidates(const ColumnNumbers *numbers, const Bitmapset *candidates)
{
	Bitmapset  *result = bms_copy(numbers->unknown);

	for (int column = -1; (column = bms_next_member(candidates, column)) >= 0 && column < numbers->n_columns;)
		if (numbers->number[column] >= 0)
			result = bms_add_member(result, numbers->number[column]);
	return result;
}

/* ---- levels ---- */

static void
AddLeaf(NumberedLeaves *leaves, int *size, Oid table, int number)
{
	if (leaves->n == *size)
	{
		*size *= 2;
		leaves->tables = repalloc(leaves->tables, *size * sizeof(Oid));
		leaves->numbers = repalloc(leaves->numbers, *size * sizeof(int));
	}
	leaves->tables[leaves->n] = table;
	leaves->numbers[leaves->n++] = number;
}

/*
 * The leaves below a partitioned table have the number of the child.  A leaf that is being detached counts, as it does for
 * older snapshots.
 */
static void
AddLeavesBelow(NumberedLeaves *leaves, int *size, Oid table, int number, List **watched)
{
	ListCell   *lc;

	*watched = lappend_oid(*watched, table);
	(void) hash_search(watched_tables, &table, HASH_ENTER, NULL);
	foreach(lc, find_inheritance_children_extended(table, false, NoLock, NULL, NULL))
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_PARTITIONED_TABLE)
			AddLeavesBelow(leaves, size, lfirst_oid(lc), number, watched);
		else
			AddLeaf(leaves, size, lfirst_oid(lc), number);
}

/* The leaves of a table, each with the number of the child that it belongs to. */
static NumberedLeaves
LeavesOf(PartitionDesc descriptor, List **watched)
{
	int			size = descriptor->nparts + 1;
	NumberedLeaves leaves = {.n = 0, .tables = palloc(size * sizeof(Oid)), .numbers = palloc(size * sizeof(int))};

	for (int i = 0; i < descriptor->nparts; i++)
		if (descriptor->is_leaf[i])
			AddLeaf(&leaves, &size, descriptor->oids[i], i);
		else
			AddLeavesBelow(&leaves, &size, descriptor->oids[i], i, watched);
	return leaves;
}

static void
MakeLevel(Level *level, PartitionDesc descriptor)
{
	MemoryContext old;
	NumberedLeaves leaves;

	if (level->context != NULL)
		MemoryContextDelete(level->context);
	level->context = AllocSetContextCreate(TopMemoryContext, "bloomx level of partitions", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(level->context);
	/* until it is complete nobody takes it */
	level->n_children = -1;
	level->made_at = messages;
	level->watched = NIL;
	/* a child may be detached and come back with another index */
	(void) hash_search(watched_tables, &level->key.table, HASH_ENTER, NULL);
	leaves = LeavesOf(descriptor, &level->watched);
	NumberColumns(level->key.root_index, &leaves, &level->columns);
	pfree(leaves.tables);
	pfree(leaves.numbers);
	level->children = palloc(sizeof(Oid) * (descriptor->nparts + 1));
	memcpy(level->children, descriptor->oids, sizeof(Oid) * descriptor->nparts);
	level->n_children = descriptor->nparts;
	MemoryContextSwitchTo(old);
}

static bool
LevelIsCurrent(const Level *level, uint64 serial, PartitionDesc descriptor)
{
	return level->context != NULL && level->columns.serial == serial &&
		level->made_at == messages && level->n_children == descriptor->nparts &&
		memcmp(level->children, descriptor->oids, sizeof(Oid) * descriptor->nparts) == 0;
}

bool
AskStore(LookupQuestion *question, Snapshot snapshot)
{
	/* VACUUM may have removed rows that the snapshot sees, and their keys: the server notices that when a partition is read */
	if (SNAPSHOTS_GROW_TOO_OLD)
		return false;
	/* a lock before the answer: who adds the key afterwards finds it */
	if (IsolationIsSerializable() && snapshot != InvalidSnapshot)
		LookupPredicateLocks(question->hashes, question->n_hashes, snapshot);
	question->candidates = LookupCandidates(question->root_index, question->hashes, question->n_hashes, &question->serial);
	return question->serial != 0;
}

bool
ChildrenToKeep(const LookupQuestion *question, Oid table, PartitionDesc descriptor, Bitmapset **children, List **watched)
{
	LevelKey	key = {.table = table, .root_index = question->root_index};
	Level	   *level;
	bool		found;

	level = hash_search(levels, &key, HASH_ENTER, &found);
	if (!found)
		level->context = NULL;
	if (!LevelIsCurrent(level, question->serial, descriptor))
		MakeLevel(level, descriptor);
	/* the map went on since the answer */
	if (level->columns.serial != question->serial)
		return false;
	*children = NumbersOfCandidates(&level->columns, question->candidates);
	*watched = level->watched;
	return true;
}
