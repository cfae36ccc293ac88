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
NextPassingRow(Site *site)
{
	/* to stop is right at any moment: the rows that are left would all be dropped */
	if (site->bounds != NULL && PartitionIsExcluded(site))
		return NULL;
	for (;;)
	{
		TupleTableSlot *slot = site->own(site->ps);

		if (TupIsNull(slot) || IsAsleep(site, 1) || RowPasses(site, slot))
			return slot;
		InstrCountFiltered1(site->ps, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

TupleTableSlot *
ExecSite(PlanState *ps)
{
	Site	   *site = FindSite(ps);

	return CollectFor(site, site->n_filters > 0 ? NextPassingRow(site) : site->own(ps));
}
