/*
 * partition_pause.c - a library that lets a plan wait before its statement takes a snapshot.
 *
 * Loaded after bloomx, it is the first that the planner calls.  If the setting pause.key is not zero, it waits for
 * the advisory lock of that number when a plan has been made; who holds it changes the table meanwhile.  With
 * pause.forget the plan is executed without its second question: rows must be lost then.  With pause.other it runs a
 * statement of its own before each plan, as an extension does that keeps hints in a table.
 *
 * It also watches permissions, as extensions for audits do: they are to be checked once, when a statement starts.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "optimizer/planner.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static int	pause_key;
static bool pause_forget;
static bool pause_other;
static planner_hook_type next_planner;
static ExecutorStart_hook_type next_start;
static bool is_planning;
static int	checks;

#if PG_VERSION_NUM >= 190000
#define PARAMETERS Query *parse, const char *source, int options, ParamListInfo params, struct ExplainState *es
#define ARGUMENTS parse, source, options, params, es
#else
#define PARAMETERS Query *parse, const char *source, int options, ParamListInfo params
#define ARGUMENTS parse, source, options, params
#endif

/* The note that plans with a lookup end with: lookup_replan.c. */
static void
ForgetQuestions(PlannedStmt *plan)
{
	const RangeTblEntry *last = llast_node(RangeTblEntry, plan->rtable);

	if (last->rtekind == RTE_SUBQUERY && last->eref != NULL && strcmp(last->eref->aliasname, "bloomx partition lookup") == 0)
		plan->rtable = list_truncate(plan->rtable, list_length(plan->rtable) - 1);
}

static void
RunOther(void)
{
	static bool is_running = false;

	if (!pause_other || is_running)
		return;
	is_running = true;
	SPI_connect();
	SPI_execute("SELECT 1", false, 0);
	SPI_finish();
	is_running = false;
}

extern Datum pg_advisory_lock_int8(PG_FUNCTION_ARGS);
extern Datum pg_advisory_unlock_int8(PG_FUNCTION_ARGS);

static PlannedStmt *
Pause(PARAMETERS)
{
	PlannedStmt *plan;

	RunOther();
	is_planning = true;
	PG_TRY();
	{
		plan = next_planner != NULL ? next_planner(ARGUMENTS) : standard_planner(ARGUMENTS);
	}
	PG_FINALLY();
	{
		is_planning = false;
	}
	PG_END_TRY();
	if (pause_key != 0)
	{
		DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(pause_key));
		DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(pause_key));
	}
	if (pause_forget && plan->rtable != NIL)
		ForgetQuestions(plan);
	return plan;
}

static void
Start(QueryDesc *query, int eflags)
{
	bool		planning = is_planning;
	int			before = checks;

	is_planning = false;
	checks = 0;
	if (next_start != NULL)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (checks > 1)
		elog(ERROR, "permissions are checked twice");
	is_planning = planning;
	checks = before;
}

static bool
#if PG_VERSION_NUM >= 160000
Watch(List *tables, List *infos, bool fail)
#else
Watch(List *tables, bool fail)
#endif
{
	if (is_planning)
		elog(ERROR, "permissions are checked while a statement is planned");
	checks++;
	return true;
}

void
_PG_init(void)
{
	DefineCustomIntVariable("pause.key", "The advisory lock that plans wait for.", NULL, &pause_key, 0, 0, 1000,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("pause.forget", "Takes away what the second question needs.", NULL, &pause_forget, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("pause.other", "Runs another statement before each plan.", NULL, &pause_other, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	next_planner = planner_hook;
	planner_hook = Pause;
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = Start;
	ExecutorCheckPerms_hook = Watch;
}
