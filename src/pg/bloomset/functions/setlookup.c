/*
 * setlookup.c - an index of this access method says to joins which keys its table has.
 *
 * As the functions, but it never raises an error where they refuse, or where the set is damaged: then it may have
 * any key.  The query has checked the privileges, and policies are conditions of the rows that it finds.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg/bloomset/index/bloomset.h"
#include "runtimefilter/query/keyindex.h"

typedef struct SetLookup
{
	MemoryContext memory;		/* of keys and view */
	Oid			type;			/* of the values that are sought */
	Oid			collation;		/* of the comparison */
	Snapshot	snapshot;
	SetKeys    *keys;
	SetView    *view;			/* NULL: nothing is known of the keys */
} SetLookup;

/*
 * True if values that are equal for the query have one hash in the set.  Under another
 * collation that is so of strings, if they are equal only when their bytes are.
 */
static bool
AgreeWith(SetKeys *keys, Oid type, Oid collation)
{
	const SetColumn *column = &keys->columns[0];

	if (collation != column->collation &&
		(column->stored.identity.key_type == BLX_KEY_NAMED ||
		 (OidIsValid(collation) && !get_collation_isdeterministic(collation))))
		return false;
	return CanBeArgument(keys, type);
}

/* Reads the set anew; false if it does not know what the snapshot sees. */
static bool
ViewSet(SetLookup *lookup, Relation index)
{
	MemoryContext old;
	SetView    *view = NULL;

	lookup->view = NULL;
	MemoryContextReset(lookup->memory);
	if (!IsComplete(index) || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) ||
		IndexRelationGetNumberOfKeyAttributes(index) != 1 || RELATION_IS_OTHER_TEMP(index))
		return false;
	old = MemoryContextSwitchTo(lookup->memory);
	lookup->keys = OpenSetKeys(index, NewSoftErrors());
	if (lookup->keys != NULL && !lookup->keys->lost_columns && AgreeWith(lookup->keys, lookup->type, lookup->collation))
		view = OpenSetView(index, true);
	MemoryContextSwitchTo(old);
	if (view != NULL && !view->is_damaged && !IsTooNewFor(index, view, lookup->snapshot))
	{
		/* it is asked often, and judged by what that costs */
		KeepRecentBuffers(view);
		lookup->view = view;
	}
	return lookup->view != NULL;
}

static void *
OpenLookup(Relation index, Oid type, Oid collation, Snapshot snapshot)
{
	SetLookup  *lookup;

	if (index->rd_indam->aminsert != bloomsetinsert)
		return NULL;
	lookup = palloc0(sizeof(SetLookup));
	lookup->memory = AllocSetContextCreate(CurrentMemoryContext, "bloomset lookup", ALLOCSET_SMALL_SIZES);
	lookup->type = type;
	lookup->collation = collation;
	lookup->snapshot = snapshot;
	if (ViewSet(lookup, index))
		return lookup;
	MemoryContextDelete(lookup->memory);
	return NULL;
}

static bool
MayHaveKey(void *opened, Relation index, Datum key)
{
	SetLookup  *lookup = opened;
	bool		is_null = false;
	uint64		hash;

	/* once it knows nothing, that may stay so: the caller's tests are in vain, and he stops them */
	if (lookup->view == NULL || lookup->view->is_damaged || (!IsPresent(lookup->view) && !ViewSet(lookup, index)))
		return true;
	if (lookup->type == lookup->keys->columns[0].type)
		(void) HashIndexedRow(lookup->keys, &key, &is_null, &hash);
	else
		(void) HashArgument(lookup->keys, lookup->type, false, key, &hash);
	return TestSet(lookup->view, index, hash);
}

static void __attribute__((constructor))
RegisterLookup(void)
{
	static KeyIndexMethod method = {.open = OpenLookup, .may_have = MayHaveKey};

	RegisterKeyIndexMethod(&method);
}
