/*
 * lookup_counts.c - what lookups did, of the session and of the server.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "miscadmin.h"

#include "pg/base/totals.h"

static TotalsGroup totals = {.name = "bloomx partition lookups", .n = LOOKUP_COUNTS};

void
CountLookups(LookupCount which, uint64 n)
{
	uint64		counts[LOOKUP_COUNTS] = {0};

	counts[which] = n;
	AddToTotals(&totals, GetUserId(), counts);
}

void
InitLookupCounts(void)
{
	InstallTotals(&totals);
}

PG_FUNCTION_INFO_V1(bloomx_partition_lookup_totals);
Datum
bloomx_partition_lookup_totals(PG_FUNCTION_ARGS)
{
	return ReturnTotals(&totals, fcinfo);
}
