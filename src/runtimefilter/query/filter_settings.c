/*
 * filter_settings.c - the settings bloomx.runtime_filter...
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "runtimefilter/runtimefilter.h"

bool		bloomx_runtime_filter = false;
int			bloomx_runtime_filter_min_rows = 10000;
int			bloomx_runtime_filter_min_pages = 64;
double		bloomx_runtime_filter_min_removed = 0.1;
bool		bloomx_runtime_filter_index_pages = true;
bool		bloomx_explain_conditions = false;

/*
 * Until the library is loaded, SET bloomx.runtime_filter = on is taken and does
 * nothing.  If that was in this session, it is said when a function loads the library.
 */
static void
ReportLateStart(void)
{
	const char *value = GetConfigOption("bloomx.runtime_filter", true, false);
	bool		is_on;

	if (value == NULL || !parse_bool(value, &is_on) || !is_on || !IsTransactionState() || IsParallelWorker())
		return;
	value = GetConfigOptionResetString("bloomx.runtime_filter");
	if (value == NULL || !parse_bool(value, &is_on) || !is_on)
		ereport(NOTICE,
				(errmsg("runtime filters work from now on"),
				 errdetail("The library bloomx was not loaded when bloomx.runtime_filter was set: statements before this one had none."),
				 errhint("Load it before: by shared_preload_libraries, by session_preload_libraries, or by a call of any function of bloomx.")));
}

/*
 * The defaults.  A row that is removed saves up to 200 ns (a join of a million build
 * rows; of 1,000 in the processor's cache it saves nothing).  A filter costs 5 to 10 us
 * per query, and 13 ns (an integer) to 42 ns (a text) per row of the inner side.
 * 10,000 rows of which one in ten is removed pay for that if the inner side has a
 * thousand rows.
 *
 * A page that is skipped saves 5 us; opening a BRIN index costs about 40 us.  64
 * pages are twice what a scan reads before it opens one (pageruns.c).
 *
 * A test costs 7 ns (an integer) to 32 ns (a numeric), a tenth of what a removed row
 * saves.  So one that removes fewer than one row in ten does not pay.  (The set "costs"
 * of bench/join/run prints what a row costs and saves: bench/results/joins-costs.csv.)
 */
void
DefineRuntimeFilterSettings(void)
{
	ReportLateStart();
	DefineCustomBoolVariable("bloomx.runtime_filter",
							 "Lets joins filter their outer side by the keys of their inner side.",
							 "Rows, pages and partitions that cannot match are skipped where they would be read. "
							 "Queries return the same rows; order without ORDER BY may differ.",
							 &bloomx_runtime_filter, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("bloomx.runtime_filter_min_rows",
							"Sets the minimum estimated number of outer rows for which a join gets a filter.",
							NULL,
							&bloomx_runtime_filter_min_rows, 10000, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("bloomx.runtime_filter_min_pages",
							"Sets the minimum size of a table whose pages a runtime filter tries to skip.",
							NULL,
							&bloomx_runtime_filter_min_pages, 64, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BLOCKS, NULL, NULL, NULL);
	DefineCustomRealVariable("bloomx.runtime_filter_min_removed",
							 "Sets the minimum fraction of the rows that a runtime filter must remove.",
							 "A filter that removes less pauses for a while. A join gets no filter if the planner expects it to remove less. "
							 "0 means that filters are always made and never pause.",
							 &bloomx_runtime_filter_min_removed, 0.1, 0, 1,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("bloomx.runtime_filter_index_pages",
							 "Lets runtime filters search an index for the pages that a sequential scan reads.",
							 "Few keys are searched for in an index on the column: a btree, hash or bloomx index.",
							 &bloomx_runtime_filter_index_pages, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("bloomx.explain_conditions",
							 "Shows runtime filters in every EXPLAIN.",
							 "Before PostgreSQL 18 they appear as conditions of plan nodes, which are never evaluated.",
							 &bloomx_explain_conditions, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}
