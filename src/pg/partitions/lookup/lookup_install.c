/*
 * lookup_install.c - what happens when the module is loaded.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "utils/guc.h"

#include "runtimefilter/query/optional.h"

static void
Load(void)
{
	DefineCustomBoolVariable("bloomx.partition_lookup",
							 "Lets queries for a key read only the partitions that may have it.",
							 "It needs an index with the option partition_lookup on the partitioned table. Queries return the same rows.",
							 &bloomx_partition_lookup, true, PGC_USERSET, 0, NULL, NULL, NULL);
	InitLookupLevels();
	InitLookupPruning();
	InitLookupReplans();
	InitLookupCosts();
	InitLookupCounts();
	InitLookupExplain();
}

/* The library knows of optional parts what they tell it: by what runtime filters have for theirs. */
static void __attribute__((constructor))
RegisterLookups(void)
{
	static OptionalPart lookups = {.load = Load};

	RegisterPart(&lookups);
}
