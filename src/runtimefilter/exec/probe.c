/*
 * probe.c - tests the rows of a filter point.
 *
 * A test that removes nothing is wasted.  So rows are counted in windows, and after
 * a window in which a filter removed too few it pauses, longer each time.  The
 * filters of one point are asked in the order of what they remove per cost, measured
 * in the last window: any order of joins then comes near the best one (Zhu et al.,
 * "Looking Ahead Makes Query Plans Robust", VLDB 2017).
 *
 * One node may be both: where rows are removed for a join above, and the
 * inner side of another join, whose keys are collected after that.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/collect.h"
#include "runtimefilter/exec/probe.h"
#include "runtimefilter/exec/scans.h"

/* Rows per window: enough to tell 10 % from 9 %, and a tenth of a millisecond. */
#define WINDOW_ROWS 8192

/* Where tests are slow, so many nanoseconds, but not fewer rows than tell 10 % from 7 %. */
#define WINDOW_TIME 1000000
#define LEAST_WINDOW 1024

/* The tests in each window that are timed, if they call hash functions or compute expressions. */
#define TESTS_TIMED 64

/* What a removed row saves at least, in nanoseconds: a search in a hash table. */
#define LEAST_SAVED 200

/* The first pause is 16 windows, so a useless filter costs 6 % of its tests; the last one is 4 million rows. */
#define FIRST_PAUSE (16 * WINDOW_ROWS)
#define LAST_PAUSE (512 * WINDOW_ROWS)

/*
 * Within a pause, a page is tested now and then: matches may have been in one place, and few come after it.  A pause
 * ends if half of these rows would go, which cannot be chance if one in ten does.
 */
#define PAUSE_PART (2 * WINDOW_ROWS)
#define GLANCE_ROWS 64
#define GLANCE_RATE 0.5

/*
 * What a test costs, in nanoseconds: of a bit or of a Bloom filter, after the code
 * has been read; a hash function and its call cost more than either.  Measured by
 * the set "costs" of bench/join/run.  They only weigh filters of one point against
 * each other.
 */
static double
TestCost(const AppliedFilter *applied)
{
	if (applied->cost > 0)
		return applied->cost;
	return applied->set->form == KEYS_FILTER ? 10 : 5;
}

static double
DropPerCost(const AppliedFilter *applied)
{
	return applied->removal_rate / TestCost(applied);
}

/* The filters are few and nearly in order: insertion sort. */
static void
SortFilters(FilterPoint *point)
{
	for (int i = 1; i < point->n_filters; i++)
	{
		AppliedFilter *moved = point->filters[i];
		int			j = i;

		for (; j > 0 && DropPerCost(point->filters[j - 1]) < DropPerCost(moved); j--)
			point->filters[j] = point->filters[j - 1];
		point->filters[j] = moved;
	}
}

/*
 * The part of the rows that the filter must remove.  A test by a slow hash function may take longer
 * than what the row costs afterwards: the join calls the function, too, searches, and does what
 * is between here and there.
 */
static double
LeastRemoved(const AppliedFilter *applied)
{
	double		saved = applied->cost + Max(applied->row_cost, LEAST_SAVED);

	if (bloomx_runtime_filter_min_removed == 0)
		return 0;
	return Max(bloomx_runtime_filter_min_removed, applied->cost / saved);
}

/* The rows of a filter's window. */
static double
WindowRows(const AppliedFilter *applied)
{
	if (applied->pause_left > 0)
		return GLANCE_ROWS;
	return applied->cost * WINDOW_ROWS <= WINDOW_TIME ? WINDOW_ROWS : Max(WINDOW_TIME / applied->cost, LEAST_WINDOW);
}

bool
TestIsTimed(const AppliedFilter *applied)
{
	return applied->window_checked < TESTS_TIMED && !IsOneInteger(applied->row_keys, applied->n_keys);
}

void
CountTime(AppliedFilter *applied, instr_time start, uint32 rows)
{
	double		cost = NanosecondsSince(start) / rows;

	/* the fastest of the window: others may have waited for a processor */
	if (applied->window_checked == 0 || cost < applied->cost)
		applied->cost = cost;
}

/* A filter's window is full. */
static void
EndWindow(AppliedFilter *applied)
{
	applied->removal_rate = (double) applied->window_removed / applied->window_checked;
	applied->window_checked = applied->window_removed = 0;
	if (applied->pause_left > 0)
	{
		/* if it ends, the next window decides about the next one */
		if (applied->removal_rate >= Max(GLANCE_RATE, LeastRemoved(applied)))
			applied->pause_left = 0;
	}
	else if (applied->removal_rate < LeastRemoved(applied))
	{
		applied->pause = applied->pause == 0 ? FIRST_PAUSE : Min(applied->pause * 2, LAST_PAUSE);
		applied->pause_left = applied->pause;
		applied->counts[PAUSES]++;
	}
	else
		applied->pause = 0;
	applied->paused = Min(applied->pause_left, PAUSE_PART);
	applied->pause_left -= applied->paused;
}

uint64
PointGeneration(const FilterPoint *point)
{
	uint64		sum = 0;

	for (int i = 0; i < point->n_filters; i++)
		sum += point->filters[i]->filter->generation;
	return sum;
}

void
EndPauseEarly(FilterPoint *point)
{
	if (point->paused_generation != PointGeneration(point))
		point->paused = 0;
	point->paused_since = point->query->completions;
}

/* If all filters pause, the point does. */
static void
PausePoint(FilterPoint *point)
{
	uint64		rows = UINT64_MAX;

	for (int i = 0; i < point->n_filters; i++)
		rows = Min(rows, point->filters[i]->paused);
	for (int i = 0; i < point->n_filters; i++)
		point->filters[i]->paused -= rows;
	point->paused = rows;
	point->paused_since = point->query->completions;
	point->paused_generation = PointGeneration(point);
}

bool
EndWindows(FilterPoint *point)
{
	bool		ended = false;

	for (int i = 0; i < point->n_filters; i++)
		if (point->filters[i]->window_checked >= WindowRows(point->filters[i]))
		{
			EndWindow(point->filters[i]);
			ended = true;
		}
	if (ended)
	{
		SortFilters(point);
		PausePoint(point);
	}
	return ended;
}

static inline bool
MayMatch(AppliedFilter *applied, TupleTableSlot *slot)
{
	MemoryContext old;
	uint64		code;
	bool		may_match,
				is_timed;
	instr_time	start;

	/* the common case: a column of integers */
	if (IsOneInteger(applied->row_keys, applied->n_keys))
	{
		bool		is_null;

		code = ReadInteger(applied->row_keys, slot, &is_null);
		return !is_null && KeySetMayHold(applied->set, code);
	}
	is_timed = TestIsTimed(applied);
	if (is_timed)
		INSTR_TIME_SET_CURRENT(start);
	/* an expression makes values, and a hash function may detoast them */
	old = MemoryContextSwitchTo(applied->filter->scratch);
	may_match = ReadKeys(applied->row_keys, applied->n_keys, slot, applied->filter->econtext, &code) && KeySetMayHold(applied->set, code);
	MemoryContextSwitchTo(old);
	MemoryContextReset(applied->filter->scratch);
	if (applied->filter->econtext != NULL)
		ResetExprContext(applied->filter->econtext);
	if (is_timed)
		CountTime(applied, start, 1);
	return may_match;
}

bool
FilterIsArmed(AppliedFilter *applied, uint32 rows)
{
	if (applied->generation != applied->filter->generation)
	{
		/* other keys: what was learned of the ones before is void */
		applied->generation = applied->filter->generation;
		applied->paused = applied->pause_left = applied->pause = 0;
		applied->window_checked = applied->window_removed = 0;
	}
	if (applied->paused > 0)
	{
		applied->paused -= Min(applied->paused, rows);
		return false;
	}
	CompleteShared(applied->filter);
	return UseFilter(applied->filter);
}

bool
RowPasses(FilterPoint *point, TupleTableSlot *slot)
{
	bool		passes = true;

	for (int i = 0; i < point->n_filters && passes; i++)
	{
		AppliedFilter *applied = point->filters[i];

		if (applied->in_batches || !FilterIsArmed(applied, 1))
			continue;
		passes = MayMatch(applied, slot);
		CountTests(applied, 1, !passes);
	}
	(void) EndWindows(point);
	return passes;
}

/* ---- the method that stands in for a node's own ---- */

/* The node's next row that no filter removes. */
static TupleTableSlot *
NextPassingRow(FilterPoint *point)
{
	/* to stop is right at any moment: the rows that are left would all be removed */
	if (point->bounds != NULL && PartitionIsExcluded(point))
		return NULL;
	for (;;)
	{
		TupleTableSlot *slot = point->own(point->ps);

		if (TupIsNull(slot) || PointPauses(point, 1) || RowPasses(point, slot))
			return slot;
		InstrCountFiltered1(point->ps, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

TupleTableSlot *
ExecPoint(PlanState *ps)
{
	FilterPoint *point = FindPoint(ps);

	return CollectFor(point, point->n_filters > 0 ? NextPassingRow(point) : point->own(ps));
}
