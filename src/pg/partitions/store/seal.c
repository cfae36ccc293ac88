/*
 * seal.c - filters of leaves become columns of a common one, so that a question reads one
 * page for up to 128 leaves.
 *
 * A main filter never changes, so it is copied without a lock; a leaf gets its column in
 * place of it only if it still has that filter then.  Keys that come later go into an open
 * filter of the leaf, beside its column.  A column is never used again.
 */
#include "pg/partitions/store/leaf.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pg/partitions/store/candidates.h"
#include "pg/partitions/store/filters.h"

/* Leaves whose filters have as many blocks: what will be columns. */
typedef struct Columns
{
	int			n;
	int			alone;			/* of them in no segment yet */
	uint32		leaf[MOST_COLUMNS];	/* slots */
	StoreSlot	leaves[MOST_COLUMNS];
	StoreSlot	sources[MOST_COLUMNS];
	uint16		from[MOST_COLUMNS];	/* columns of the sources */
} Columns;

static const StoreSlot *
MainFilter(const Store *store, uint32 number, Oid root)
{
	const StoreSlot *leaf = &store->slots[number];

	if (leaf->kind != SLOT_LEAF || leaf->root != root || leaf->main >= store->nslots || store->slots[leaf->main].kind != SLOT_FILTER)
		return NULL;
	return &store->slots[leaf->main];
}

/* Of that number of blocks, those alone first: the others follow as far as there is room. */
static void
CollectColumns(const Store *store, Oid root, uint32 blocks, Columns *columns)
{
	columns->n = columns->alone = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32 i = 0; i < store->nslots && columns->n < MOST_COLUMNS; i++)
		{
			const StoreSlot *filter = MainFilter(store, i, root);

			if (filter == NULL || filter->blocks != blocks || filter->width == MOST_COLUMNS || (filter->width == 1) != (pass == 0))
				continue;
			columns->leaf[columns->n] = i;
			columns->leaves[columns->n] = store->slots[i];
			columns->sources[columns->n] = *filter;
			columns->from[columns->n++] = store->slots[i].column;
			columns->alone += filter->width == 1;
		}
}

/* The next number of blocks of which there are enough leaves; 0: none. */
static uint32
NextBlocks(Relation rel, Oid root, uint32 above, int least, Columns *columns)
{
	const Store *store = ReadStore(rel);

	for (;;)
	{
		uint32		next = 0;

		for (uint32 i = 0; store != NULL && i < store->nslots; i++)
		{
			const StoreSlot *filter = MainFilter(store, i, root);

			if (filter != NULL && filter->width == 1 && filter->blocks > above && (next == 0 || filter->blocks < next))
				next = filter->blocks;
		}
		if (next == 0)
			return 0;
		CollectColumns(store, root, next, columns);
		if (columns->alone >= least && columns->n > 1)
			return next;
		above = next;
	}
}

/* Gives each leaf its column. */
static void
SwitchLeaves(Relation rel, const Columns *columns, uint32 number)
{
	for (int i = 0; i < columns->n; i++)
	{
		const StoreSlot *was = &columns->leaves[i];
		StoreEdit	edit;
		StoreSlot  *leaf = EditLeaf(&edit, rel, columns->leaf[i], was->leaf);

		if (leaf == NULL)
			continue;
		/* it has the same filter as long as nobody has finished to build it anew */
		if (leaf->main == was->main && leaf->column == was->column && leaf->generation == was->generation)
		{
			leaf->main = number;
			leaf->column = i;
		}
		FinishEdit(&edit);
	}
}

static bool
SealColumns(Relation rel, Oid root, uint32 blocks, const Columns *columns)
{
	StoreSlot	filter = {.width = 8, .owner = NO_SLOT, .root = root, .blocks = blocks};
	StoreEdit	edit;
	uint32		number;

	while (filter.width < columns->n)
		filter.width *= 2;
	number = ReserveFilter(rel, &filter);
	if (number == NO_SLOT)
		return false;
	WriteColumns(rel, &filter, columns->sources, columns->from, columns->n);
	LogPages(rel, &filter);
	StartEdit(&edit, rel);
	EditSlot(&edit, number)->kind = SLOT_FILTER;
	FinishEdit(&edit);
	SwitchLeaves(rel, columns, number);
	UnlockReserved(rel, &filter);
	FreeUnused(rel);
	return true;
}

void
SealLeaves(Relation rel, Oid root, int least)
{
	Columns    *columns;
	uint32		blocks = 0;

	if (!OidIsValid(root))
		return;
	columns = palloc(sizeof(Columns));
	while ((blocks = NextBlocks(rel, root, blocks, least, columns)) > 0 && SealColumns(rel, root, blocks, columns))
		/* more of the same size than columns */
		if (columns->alone == MOST_COLUMNS)
			blocks--;
	pfree(columns);
}

/* ---- leaves that are gone ---- */

/* Of all leaves, this many at a time are looked for. */
#define LOOKED_FOR 16

static bool
IsGone(Oid leaf)
{
	bool		gone;

	/* whoever has just made it has it locked */
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(leaf)) || !ConditionalLockRelationOid(leaf, AccessShareLock))
		return false;
	gone = !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(leaf));
	UnlockRelationOid(leaf, AccessShareLock);
	return gone;
}

void
ForgetDroppedLeaves(Relation rel, bool all)
{
	const Store *store = ReadStore(rel);
	uint32		nslots = store != NULL ? store->nslots : 0,
				n = all ? nslots : Min(LOOKED_FOR, nslots),
				first = all || nslots == 0 ? 0 : pg_prng_uint32(&pg_global_prng_state) % nslots;
	bool		found = false;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		number = (first + i) % nslots;
		const StoreSlot *slot = &store->slots[number];

		if (slot->kind != SLOT_LEAF || !IsGone(slot->leaf))
			continue;
		RemoveLeaf(rel, number, slot->leaf);
		found = true;
	}
	if (found)
		FreeUnused(rel);
}

/* ---- bloomx_seal ---- */

/* Builds a leaf anew if keys came since; index expressions there are none, but types have functions. */
static bool
BuildIfDue(Relation rel, Oid leaf)
{
	Oid			table = IndexGetRelation(leaf, true);
	Relation	heap = OidIsValid(table) ? try_relation_open(table, ShareUpdateExclusiveLock) : NULL,
				index = heap != NULL ? try_relation_open(leaf, RowExclusiveLock) : NULL;
	bool		due = false;
	Oid			user;
	int			context;

	if (index != NULL && index->rd_rel->relkind == RELKIND_INDEX && HasPartitionLookup(index) && index->rd_index->indisvalid)
	{
		NoteRoot(rel, leaf);
		due = RelationIsPermanent(index) && IsOlderThanTransaction(heap) && LeafIsDue(rel, index, true);
	}
	if (due)
	{
		GetUserIdAndSecContext(&user, &context);
		SetUserIdAndSecContext(heap->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
		due = BuildLeaf(rel, heap, index);
		SetUserIdAndSecContext(user, context);
	}
	if (index != NULL)
		relation_close(index, RowExclusiveLock);
	if (heap != NULL)
		relation_close(heap, ShareUpdateExclusiveLock);
	return due;
}

/* bloomx_seal(index regclass): leaves that were read */
PG_FUNCTION_INFO_V1(bloomx_seal);
Datum
bloomx_seal(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	index,
				rel;
	int64		built = 0;
	List	   *leaves;
	ListCell   *cell;

	PreventCommandIfReadOnly("bloomx_seal()");
	PreventCommandDuringRecovery("bloomx_seal()");
	index = OpenLookupIndex(oid);
	if (!has_privs_of_role(GetUserId(), index->rd_rel->relowner))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	relation_close(index, AccessShareLock);
	rel = OpenStore(RowExclusiveLock);
	if (rel != NULL && ReadStore(rel) == NULL)
		ReportDamage(rel, ERROR);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no store of partitions' keys"),
				 errhint("Drop the extension bloomx and create it again.")));
	leaves = find_all_inheritors(oid, AccessShareLock, NULL);
	foreach(cell, leaves)
	{
		CHECK_FOR_INTERRUPTS();
		built += BuildIfDue(rel, lfirst_oid(cell));
	}
	ForgetDroppedLeaves(rel, true);
	SealLeaves(rel, OidIsValid(RootOfLeaf(oid)) ? RootOfLeaf(oid) : oid, 1);
	relation_close(rel, RowExclusiveLock);
	PG_RETURN_INT64(built);
}
