/*
 * site.c - the method that stands in for a plan node's own.
 *
 * One node may be both: the place where rows are dropped for a join above, and the
 * inner side of another join, whose keys are collected after that.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include "runtimefilter/runtimefilter.h"

/* The node's next row that no filter drops. */
static TupleTableSlot *
NextPassingRow(FilterPoint *point)
{
	/* to stop is right at any moment: the rows that are left would all be dropped */
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
