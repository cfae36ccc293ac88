/*
 * insert.c - INSERT: the key of a row goes into the set, unless it is there; at once, or with those of other rows.
 */
#include "pg/bloomset/index/bloomset.h"

#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/bloomset/keys/setkeys.h"
#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/stages/pending.h"

/* What the INSERTs of one statement keep, in IndexInfo.ii_AmCache. */
typedef struct InsertState
{
	MemoryContext memory;		/* reset after every row */
	SetKeys    *keys;
	SetView    *view;
} InsertState;

static InsertState *
GetInsertState(Relation index, IndexInfo *info)
{
	InsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(info->ii_Context);

		state = palloc0(sizeof(InsertState));
		state->memory = AllocSetContextCreate(info->ii_Context, "bloomset insert", ALLOCSET_DEFAULT_SIZES);
		state->keys = OpenSetKeys(index, NULL);
		state->view = OpenSetView(index, false);
		MemoryContextSwitchTo(old);
		info->ii_AmCache = state;
	}
	return state;
}

bool
bloomsetinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			   IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	InsertState *state = GetInsertState(index, info);
	MemoryContext old = MemoryContextSwitchTo(state->memory);
	uint64		hash;

	if (HashIndexedRow(state->keys, values, isnull, &hash))
	{
		/* a table in the making: REPACK (CONCURRENTLY) will give this index's file to another index */
		if (OidIsValid(heap->rd_rel->relrewrite))
			(void) AddKeyToSet(state->view, index, hash);
		else
			AddKeyOfRow(state->view, index, hash);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->memory);
	return false;
}
