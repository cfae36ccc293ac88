/*
 * module.c - what happens when the module is loaded.
 */
#include "pg/base/base.h"

#include "utils/builtins.h"
#include "utils/guc.h"

#include "runtimefilter/hooks.h"
#include "pg/bloomset/index/bloomset.h"
#include "pg/bloomset/stages/pending.h"
#include "pg/index/bloomx/bloomx.h"
#include "pg/index/brin/opclass.h"

BLOOMX_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	DefineSettings();
	InstallRuntimeFilters(bloomx_brin_consistent);
	MarkGUCPrefixReserved("bloomx");
	BloomxInitOptions();
	BloomsetInitOptions();
	InitPendingKeys();
	BloomxInitNulls();
	InstallBrinCosts();
}

/* bloomx_version(): of the library, which may be older than the SQL objects until the session ends */
PG_FUNCTION_INFO_V1(bloomx_version);
Datum
bloomx_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(BLOOMX_VERSION));
}
