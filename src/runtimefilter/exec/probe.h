/*
 * probe.h - tests the rows of a filter point.
 */
#pragma once

#include "executor/tuptable.h"

#include "runtimefilter/query/registry.h"

/* True if the filter is to be asked now, about that number of rows. */
extern bool FilterIsArmed(AppliedFilter *applied, uint32 rows);

/* Counts tests of rows. */
static inline void
CountTests(AppliedFilter *applied, uint32 checked, uint32 removed)
{
	applied->counts[ROWS_CHECKED] += checked;
	applied->window_checked += checked;
	applied->counts[ROWS_REMOVED] += removed;
	applied->window_removed += removed;
}

/* True if the next test is timed.  The time is counted before the test is. */
extern bool TestIsTimed(const AppliedFilter *applied);
extern void CountTime(AppliedFilter *applied, instr_time start, uint32 rows);

/* Judges the filters that have been asked often enough since the last time.  False if none has. */
extern bool EndWindows(FilterPoint *point);

/* Another number when some filter of the point has other keys.  (query->completions counts those of all points.) */
extern uint64 PointGeneration(const FilterPoint *point);

/* Ends the pause of a filter point if some filter of it has other keys. */
extern void EndPauseEarly(FilterPoint *point);

/* True while all filters of the point pause; counts the rows that pass. */
static inline bool
PointPauses(FilterPoint *point, uint32 rows)
{
	if (point->paused == 0)
		return false;
	if (unlikely(point->paused_since != point->query->completions))
		EndPauseEarly(point);
	if (point->paused == 0)
		return false;
	point->paused -= Min(point->paused, rows);
	return true;
}

/* False if the row cannot match, as far as it was not tested with its page. */
extern bool RowPasses(FilterPoint *point, TupleTableSlot *slot);

/* The method of a filter point, unless it is a scan of a heap. */
extern TupleTableSlot *ExecPoint(PlanState *ps);
