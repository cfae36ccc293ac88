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

static int
CompareColumns(const void *a, const void *b)
{
	const StoreSlot *left = &((const NewColumn *) a)->source,
			   *right = &((const NewColumn *) b)->source;

	if (left->blocks != right->blocks)
		return left->blocks < right->blocks ? -1 : 1;
	return (int) left->width - (int) right->width;
}

/* All leaves with room in a wider filter, by the number of blocks; of each number, those come first that are in no segment. */
static NewColumn *
CollectColumns(const Store *store, Oid root, int *n)
{
	NewColumn  *columns = palloc_extended((store->nslots + 1) * sizeof(NewColumn), MCXT_ALLOC_HUGE);

	*n = 0;
	for (uint32 i = 0; i < store->nslots; i++)
	{
		const StoreSlot *leaf = &store->slots[i],
				   *filter = leaf->kind == SLOT_LEAF && leaf->root == root && leaf->main < store->nslots ? &store->slots[leaf->main] : NULL;

		if (filter != NULL && filter->kind == SLOT_FILTER && filter->width < MOST_COLUMNS)
			columns[(*n)++] = (NewColumn) {.number = i, .leaf = *leaf, .source = *filter};
	}
	qsort(columns, *n, sizeof(NewColumn), CompareColumns);
	return columns;
}

/* Gives each leaf its column. */
static void
SwitchLeaves(Relation rel, const NewColumn *columns, int n, uint32 filter)
{
	for (int i = 0; i < n; i++)
	{
		const StoreSlot *was = &columns[i].leaf;
		StoreEdit	edit;
		StoreSlot  *leaf = EditLeaf(&edit, rel, columns[i].number, was->leaf);

		if (leaf == NULL)
			continue;
		/* it has the same filter as long as nobody has finished to build it anew */
		if (leaf->main == was->main && leaf->column == was->column && leaf->generation == was->generation)
		{
			leaf->main = filter;
			leaf->column = i;
		}
		FinishEdit(&edit);
	}
}

static bool
SealColumns(Relation rel, const NewColumn *columns, int n)
{
	StoreSlot	filter = {.width = 8, .blocks = columns->source.blocks};
	uint32		number;

	while (filter.width < n)
		filter.width *= 2;
	number = ReserveFilter(rel, &filter);
	if (number == NO_SLOT)
		return false;
	WriteColumns(rel, &filter, columns, n);
	LogPages(rel, &filter);
	SwitchLeaves(rel, columns, n, number);
	UnlockReserved(rel, &filter);
	FreeUnused(rel);
	return true;
}

void
SealLeaves(Relation rel, Oid root, int least)
{
	const Store *store = ReadStore(rel);
	NewColumn  *columns;
	int			all,
				n;

	if (!OidIsValid(root) || store == NULL)
		return;
	columns = CollectColumns(store, root, &all);
	for (int first = 0; first < all; first += n)
	{
		int			alone = 0;

		for (n = 0; n < MOST_COLUMNS && first + n < all && columns[first + n].source.blocks == columns[first].source.blocks; n++)
			alone += columns[first + n].source.width == 1;
		if (alone >= least && n > 1 && !SealColumns(rel, columns + first, n))
			break;
	}
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
