/*
 * module.c - what happens when the module is loaded.
 */
#include "pg/base/base.h"

#include "utils/guc.h"

#include "pg/index/bloomx/index.h"
#include "pg/planner/planner.h"

BLOOMX_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	DefineSettings();
	MarkGUCPrefixReserved("bloomx");
	BloomxInitOptions();
	InstallArrayConditions();
}
