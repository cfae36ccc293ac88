/*
 * module.c - what happens when the module is loaded.
 */
#include "pg/base/base.h"

#include "utils/guc.h"

#include "joinfilter/joinfilter.h"
#include "pg/index/bloomx/index.h"
#include "pg/planner/planner.h"

BLOOMX_MODULE_MAGIC;

void		_PG_init(void);

/* index/brin.c: the function of the BRIN classes whose summaries are filters */
extern PGDLLEXPORT Datum bloomx_brin_consistent(PG_FUNCTION_ARGS);

void
_PG_init(void)
{
	DefineSettings();
	DefineJoinFilterSettings();
	MarkGUCPrefixReserved("bloomx");
	BloomxInitOptions();
	BloomxInitNulls();
	InstallArrayConditions();
	InstallJoinFilters(bloomx_brin_consistent);
}
