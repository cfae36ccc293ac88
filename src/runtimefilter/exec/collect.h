/*
 * collect.h - collects the keys of one join.
 */
#pragma once

#include "runtimefilter/query/optional.h"
#include "runtimefilter/query/registry.h"

/* ---- the life of a filter (README.md): each changes its state ---- */

/* Begins with empty sets. */
extern void StartCollecting(RuntimeFilter *filter);

/* All keys are in the sets. */
extern void CompleteFilter(RuntimeFilter *filter);

/* The keys of the present table will not be known, or are no longer. */
extern void GiveUpFilter(RuntimeFilter *filter);
extern void ForgetKeys(RuntimeFilter *filter);

/*
 * True if the filter is ready (FilterIsReady); asked by whoever is about to remove rows.
 * The server forgets with each build that it need not look for an outer row first,
 * until the outer side yields one.  Now all of its rows may be removed.  So it is told
 * again, for the next rescan.
 */
static inline bool
UseFilter(RuntimeFilter *filter)
{
	if (!FilterIsReady(filter))
		return false;
	if (filter->builds_first)
		filter->hash_join->hj_OuterNotEmpty = true;
	return true;
}

/* ---- rows ---- */

/* Adds the keys of a row of the inner side to the sets. */
extern void AddRow(RuntimeFilter *filter, TupleTableSlot *slot);

/* Takes one row of the inner side as it passes by, or its end (no row). */
extern void CollectRow(RuntimeFilter *filter, TupleTableSlot *slot);

/* The same for all joins whose inner side the point is; returns the row. */
static inline TupleTableSlot *
CollectFor(FilterPoint *point, TupleTableSlot *slot)
{
	ListCell   *lc;

	foreach(lc, point->builds)
		CollectRow(lfirst(lc), slot);
	return slot;
}

/* Before a point tests rows: a filter whose keys several processes have read may be complete now. */
static inline void
CompleteShared(RuntimeFilter *filter)
{
	if (filter->shared != NULL)
		filter->shared->complete(filter);
}

extern void CompleteSharedFor(FilterPoint *point);
