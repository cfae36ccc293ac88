/*
 * insert.c - INSERT: a row becomes a pending row; if there are too many of these, some
 * inserts do a step of a merge.
 */
#include "pg/index/bloomx/build/build.h"

#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/feed.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/segment/merge.h"

/* What the INSERTs of one statement keep, in IndexInfo.ii_AmCache. */
typedef struct InsertState
{
	MemoryContext memory;		/* reset after every row */
	BloomxColumns *columns;		/* of values; NULL: the index is of filters */
	BloomxKeys	keys;			/* of filters when they were read; 0 parts: not read yet */
	BloomxTarget target;
	uint32		owed;			/* merge debt: the pages of a step that is due, but was not done */
	uint32		rows;			/* that came while a step was due */
	void	   *feed;			/* somebody else who wants the keys, or NULL */
} InsertState;

static InsertState *
GetInsertState(Relation heap, Relation index, IndexInfo *info)
{
	InsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(info->ii_Context);

		state = palloc0(sizeof(InsertState));
		state->memory = AllocSetContextCreate(info->ii_Context, "bloomx insert", ALLOCSET_DEFAULT_SIZES);
		if (!BloomxIsOfFilters(index))
		{
			state->columns = BloomxOpenColumns(index);
			if (bloomx_feed != NULL)
				state->feed = bloomx_feed->start(heap, index);
		}
		MemoryContextSwitchTo(old);
		info->ii_AmCache = state;
	}
	return state;
}

/*
 * If a step of a merge is due while somebody else holds the directory lock, it is
 * tried again after this number of rows.  Of two sessions that insert at once, one would
 * otherwise do most of the steps, and be left with its rows when the other has ended.
 * A step takes as long as some hundred rows: after 16 it is early enough, and to ask
 * for the lock that rarely does not count.
 */
#define RETRY_ROWS 16

/*
 * Does the step of a merge that is due, unless somebody else holds the directory lock.
 * The row is in the index by then, so a cancel loses no more than the step.
 */
static void
PayOwed(Relation index, InsertState *state, uint32 step)
{
	if (step == 0 && (state->owed == 0 || ++state->rows % RETRY_ROWS > 0))
		return;
	state->owed = Max(state->owed, step);
	/* never wait here: a merge or VACUUM that has the lock pays meanwhile */
	if (!BloomxTryLockDirectory(index))
		return;
	(void) BloomxMergeStep(index, state->owed, FLUSH_PAGES, BloomxPendingLimit(index));
	BloomxUnlockDirectory(index);
	state->owed = 0;
}

/*
 * An INSERT does not wait for a merge, VACUUM or a check.  It waits only for page
 * locks, and for a process that extends the index by a few pages.
 */
bool
bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			 IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	InsertState *state = GetInsertState(heap, index, info);
	MemoryContext old = MemoryContextSwitchTo(state->memory);

	if (state->columns != NULL)
	{
		uint32		step = BloomxInsertValues(index, &state->target, state->columns, values, isnull, tid);

		if (state->feed != NULL)
			bloomx_feed->add(state->feed, &state->columns->hashes);
		PayOwed(index, state, step);
	}
	else if (!isnull[0])
		PayOwed(index, state, BloomxInsertFilter(index, &state->target, values[0], tid, &state->keys));
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->memory);
	return false;
}
