/*
 * module.c - what happens when the module is loaded.
 */
#include "pg/base/base.h"

#include "utils/guc.h"

#include "runtimefilter/hooks.h"
#include "pg/bloomset/index/bloomset.h"
#include "pg/index/bloomx/bloomx.h"
#include "pg/index/brin/opclass.h"
#include "pg/planner/planner.h"

BLOOMX_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	DefineSettings();
	InstallRuntimeFilters(bloomx_brin_consistent);
	MarkGUCPrefixReserved("bloomx");
	BloomxInitOptions();
	BloomsetInitOptions();
	BloomxInitNulls();
	InstallBrinCosts();
}
