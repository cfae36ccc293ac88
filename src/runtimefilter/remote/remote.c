/*
 * remote.c - sends filters with the queries of foreign scans.
 *
 * A row of a foreign table that a filter removes here has already crossed the network.
 * So where a filter point is the scan of a postgres_fdw table, the filter itself is sent: the
 * remote query gets the condition that the key is in it, and one more parameter.
 *
 * How it gets there.  postgres_fdw keeps the text of the query and the expressions of
 * its parameters in the plan node.  When the executor has started, and before anything
 * has run, the scan is ended and begun again, by the functions that postgres_fdw has
 * for that, with a changed copy of its node.  The plan itself is not touched: it may be
 * in a plan cache, and EvalPlanQual starts scans of its own from it.  The expression is
 * a parameter with a number that no other one has.  It is compiled into a call of a
 * function of ours, as PL/pgSQL's variables are.  postgres_fdw evaluates it when it
 * opens the cursor: with the first row that is wanted, or with the first request of an
 * asynchronous Append.  By then the join has the keys; if it has not, the value is NULL
 * and the condition is true.
 *
 * Why it is right.  A cursor removes the rows that the point would remove (pushdown.c), but
 * earlier.  It also lives longer than the test of a row: it must not be read when the
 * join has other keys than those that it was opened with.  If each build of the join has
 * the same keys, nothing can go wrong.  Otherwise the end of a hash table says that
 * another one will be built, and the scan is marked as if a parameter of its own had
 * changed.  That happens within the rescan of the join, which rescans all that is below,
 * so postgres_fdw closes the cursor before it gives another row.  Nobody can be in the
 * middle of the scan: a way through nodes that keep their rows, as the sorts of a merge
 * join do, is only taken if the keys are always the same.
 *
 * What is trusted.  The server's option "extensions" says that bloomx is there, in a
 * schema of the same name, and the columns of the foreign table are declared as those of
 * the remote table.  postgres_fdw relies on the same.  A key of another type is an error
 * there, for the filter names the type of its keys.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "executor/execExpr.h"
#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "nodes/params.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "pg/base/objects.h"
#include "runtimefilter/exec/collect.h"
#include "runtimefilter/plan/pushdown.h"
#include "runtimefilter/query/volatility.h"
#include "runtimefilter/remote/sentkeys.h"

/* One key of a filter that is sent with a scan's query. */
typedef struct SentKey
{
	AppliedFilter *applied;
	SentKeys   *keys;
	Plan	   *scan;
} SentKey;

/* A scan that must open another cursor when the join's hash table ends. */
typedef struct RemoteScan
{
	PlanState  *ps;
	Bitmapset  *changed;		/* made in advance, as nothing is allocated when a table ends */
} RemoteScan;

/* What the scans to which a filter is sent want of its builds. */
typedef struct RemoteBuild
{
	BuildListener listener;		/* first: what filter->listeners points to */
	RuntimeFilter *filter;
	SentKeys  **sent;			/* of each key; NULL: it is not sent */
	List	   *scans;			/* of RemoteScan: those that must learn of other keys */
} RemoteBuild;

/* ---- which scans ---- */

/* False if the server does not say that it has bloomx. */
static bool
ServerHasExtension(const ForeignServer *server)
{
	ListCell   *option;

	foreach(option, server->options)
	{
		DefElem    *definition = lfirst(option);
		List	   *names;
		ListCell   *name;

		if (strcmp(definition->defname, "extensions") != 0 ||
			!SplitIdentifierString(pstrdup(defGetString(definition)), ',', &names))
			continue;
		foreach(name, names)
			if (strcmp(lfirst(name), "bloomx") == 0)
				return true;
	}
	return false;
}

static bool
IsPostgres(const ForeignServer *server)
{
	Oid			handler = GetForeignDataWrapper(server->fdwid)->fdwhandler;
	Oid			extension = get_extension_oid("postgres_fdw", true);

	return OidIsValid(handler) && OidIsValid(extension) &&
		getExtensionOfObject(ProcedureRelationId, handler) == extension;
}

/* The scan of one table: the text of the query, the columns that it fetches, and how many rows at a time. */
static bool
LayoutIsKnown(const ForeignScan *plan)
{
	return POSTGRES_FDW_IS_KNOWN && list_length(plan->fdw_private) == 3 &&
		IsA(linitial(plan->fdw_private), String) &&
		(lsecond(plan->fdw_private) == NULL || IsA(lsecond(plan->fdw_private), IntList)) &&
		IsA(lthird(plan->fdw_private), Integer) &&
		TakesCondition(strVal(linitial(plan->fdw_private)));
}

static bool
ScanIsEligible(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	ForeignServer *server;

	/*
	 * No query that changes rows, or finds them for a change.  What is computed
	 * with side effects has to be computed for all rows.
	 */
	if (plan->operation != CMD_SELECT || plan->scan.scanrelid == 0 || plan->fdw_scan_tlist != NIL ||
		IsResultRelation(scan->ss.ps.state->es_plannedstmt, plan->scan.scanrelid) ||
		IsVolatile((Node *) plan->scan.plan.qual) || IsVolatile((Node *) plan->scan.plan.targetlist) ||
		!LayoutIsKnown(plan))
		return false;
	server = GetForeignServer(plan->fs_server);
	return ServerHasExtension(server) && IsPostgres(server);
}

/* ---- how large ---- */

/* What the remote query would send without a filter, in bytes, as the planner expects. */
static double
BytesOfRows(const Plan *scan)
{
	return Max(scan->plan_rows, 1) * Max(scan->plan_width, 8);
}

/*
 * n keys take n * ln(1 / rate) / ln(2)^2 bits, and the text form has 4 bytes for 3: this
 * times n * ln(1 / rate) bytes.
 */
#define TEXT_BYTES 0.347

/* The rates of filters that are sent. */
#define LOWEST_RATE 1e-6
#define HIGHEST_RATE 0.05

/* The largest value, in bytes. */
static uint64
MostBytes(void)
{
	return (uint64) bloomx_runtime_filter_remote_size * 1024;
}

/*
 * The rate at which one more byte of the filter would save less than a byte of the
 * rows that come although they do not match, which are rate * BytesOfRows; or the
 * lowest one with which the filter is not too large.  (The default layout may take a
 * fifth more than a filter without blocks.)
 */
static double
BestRate(const Plan *scan, double n)
{
	double		best = TEXT_BYTES * n / BytesOfRows(scan),
				lowest = exp(-0.8 * 4 / 3 * MostBytes() / (TEXT_BYTES * Max(n, 1)));

	return Max(Min(Max(best, LOWEST_RATE), HIGHEST_RATE), lowest);
}

/* The filter must save more than it takes even if it removes as few rows as a filter may. */
static bool
FilterPays(const Plan *scan, double n)
{
	double		rate = BestRate(scan, n);

	return rate <= HIGHEST_RATE && (bloomx_runtime_filter_min_removed == 0 ||
									TEXT_BYTES * n * -log(rate) <= bloomx_runtime_filter_min_removed * BytesOfRows(scan));
}

/* ---- the parameter ---- */

/* Parameters of queries have numbers above 0. */
#define PARAMETER_NUMBER(i) (-1 - (i))

/* What the compilation of a scan's parameters is given. */
typedef struct Parameters
{
	ParamListInfo query;		/* the query's own; or NULL */
	List	   *sent;			/* of SentKey: number i is parameter PARAMETER_NUMBER(i) */
} Parameters;

static void
EvaluateFilter(ExprState *state, ExprEvalStep *op, ExprContext *econtext)
{
	SentKey    *sent = op->d.cparam.paramarg;
	double		n;
	blx_filter *f = NULL;

	if (UseFilter(sent->applied->filter) && (n = CountSentKeys(sent->keys), FilterPays(sent->scan, n)))
		f = FilterOfSentKeys(sent->keys, BestRate(sent->scan, n), MostBytes());
	*op->resnull = f == NULL;
	*op->resvalue = PointerGetDatum(f);
	if (f != NULL)
		sent->applied->counts[BYTES_SENT] += (blx_export_bytes(f) + 2) / 3 * 4;
}

static void
CompileParameter(ParamListInfo list, Param *param, ExprState *state, Datum *value, bool *is_null)
{
	Parameters *parameters = list->paramCompileArg;
	ExprEvalStep step = {.resvalue = value, .resnull = is_null};

	if (param->paramid < 0)
	{
		step.opcode = EEOP_PARAM_CALLBACK;
		step.d.cparam.paramfunc = EvaluateFilter;
		step.d.cparam.paramarg = list_nth(parameters->sent, PARAMETER_NUMBER(param->paramid));
		step.d.cparam.paramid = param->paramid;
		step.d.cparam.paramtype = param->paramtype;
	}
	else if (parameters->query != NULL && parameters->query->paramCompile != NULL)
	{
		parameters->query->paramCompile(parameters->query, param, state, value, is_null);
		return;
	}
	else
	{
		step.opcode = EEOP_PARAM_EXTERN;
		step.d.param.paramid = param->paramid;
		step.d.param.paramtype = param->paramtype;
	}
	ExprEvalPushStep(state, &step);
}

static Param *
MakeParameter(int i)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = PARAMETER_NUMBER(i);
	param->paramtype = FilterTypeOid();
	param->paramtypmod = -1;
	param->location = -1;
	return param;
}

/* ---- builds ---- */

/* Also called when the memory of a hash table is freed, so it allocates nothing. */
static void
MarkScans(void *arg)
{
	RemoteBuild *build = arg;
	ListCell   *lc;

	foreach(lc, build->scans)
	{
		RemoteScan *remote = lfirst(lc);

		if (remote->ps->chgParam != NULL)
			continue;
		remote->ps->chgParam = remote->changed;
		remote->changed = NULL;
	}
}

/* The filter is about to be complete: has cursors of other keys closed in time. */
static void
WatchBuild(RemoteBuild *build)
{
	RuntimeFilter *filter = build->filter;
	/* a parameter that nobody has */
	int			number = list_length(filter->query->estate->es_plannedstmt->paramExecTypes);
	MemoryContext old,
				table;
	MemoryContextCallback *at_end;
	ListCell   *lc;

	if (build->scans == NIL)
		return;
	old = MemoryContextSwitchTo(filter->query->context);
	foreach(lc, build->scans)
	{
		RemoteScan *remote = lfirst(lc);

		if (remote->changed == NULL)
			remote->changed = bms_make_singleton(number);
	}
	MemoryContextSwitchTo(old);
	table = filter->hash_join->hj_HashTable->hashCxt;
	at_end = MemoryContextAlloc(table, sizeof(MemoryContextCallback));
	at_end->func = MarkScans;
	at_end->arg = build;
	MemoryContextRegisterResetCallback(table, at_end);
}

static void
StartKeys(BuildListener *listener)
{
	RemoteBuild *build = (RemoteBuild *) listener;

	for (int i = 0; i < build->filter->n_keys; i++)
		if (build->sent[i] != NULL)
			StartSentKeys(build->sent[i]);
}

static void
AddKeysOfRow(BuildListener *listener)
{
	RemoteBuild *build = (RemoteBuild *) listener;

	for (int i = 0; i < build->filter->n_keys; i++)
		if (build->sent[i] != NULL)
			AddSentKey(build->sent[i], build->filter->keys[i].value);
}

static void
FinishKeys(BuildListener *listener)
{
	RemoteBuild *build = (RemoteBuild *) listener;

	for (int i = 0; i < build->filter->n_keys; i++)
		if (build->sent[i] != NULL)
			FinishSentKeys(build->sent[i]);
	WatchBuild(build);
}

/* The filter's listener of this part, which is made if there is none. */
static RemoteBuild *
GetRemoteBuild(RuntimeFilter *filter)
{
	RemoteBuild *build;
	ListCell   *lc;

	foreach(lc, filter->listeners)
		if (((BuildListener *) lfirst(lc))->start == StartKeys)
			return lfirst(lc);
	build = palloc0(sizeof(RemoteBuild));
	build->listener.start = StartKeys;
	build->listener.add_row = AddKeysOfRow;
	build->listener.finish = FinishKeys;
	build->filter = filter;
	build->sent = palloc0(filter->n_keys * sizeof(SentKeys *));
	filter->listeners = lappend(filter->listeners, build);
	return build;
}

/* ---- the query ---- */

static const char *
RemoteName(Oid table, AttrNumber column)
{
	ListCell   *lc;

	foreach(lc, GetForeignColumnOptions(table, column))
		if (strcmp(((DefElem *) lfirst(lc))->defname, "column_name") == 0)
			return quote_identifier(defGetString(lfirst(lc)));
	return quote_identifier(get_attname(table, column, false));
}

/*
 * The condition that a column is in the filter.  Text is hashed in the encoding of the
 * database, so that the filter says nothing if the remote one is another.  Its bytes
 * count, whatever the collation.
 */
static void
WriteCondition(StringInfo condition, const char *column, Oid column_type, const SentKeys *keys, int parameter)
{
	const char *type = format_type_be_qualified(FilterTypeOid());
	Oid			schema = get_func_namespace(OwnFunctionOid(BLOOM_CONTAINED));

	appendStringInfo(condition, "%s$%d::%s IS NULL OR ", condition->len > 0 ? ") AND (" : "", parameter, type);
	if (KeysDependOnEncoding(keys))
		appendStringInfo(condition, "(SELECT pg_catalog.getdatabaseencoding() <> '%s') OR ", GetDatabaseEncodingName());
	appendStringInfo(condition, "%s%s OPERATOR(%s.<@) $%d::%s", column,
					 type_is_collatable(column_type) ? " COLLATE pg_catalog.\"C\"" : "",
					 quote_identifier(get_namespace_name(schema)), parameter, type);
}

/* Adds the conditions of a filter's keys to those of the query, and their parameters to the plan. */
static void
SendFilter(ForeignScanState *scan, ForeignScan *plan, AppliedFilter *applied, List **sent, StringInfo condition)
{
	RuntimeFilter *filter = applied->filter;
	Relation	table = scan->ss.ss_currentRelation;

	if (filter->shared != NULL || !FilterPays(&plan->scan.plan, filter->expected))
		return;
	for (int i = 0; i < applied->n_keys; i++)
	{
		int			number = (int) (applied->keys[i].build - filter->keys);
		AttrNumber	column = applied->keys[i].column;
		const KeyCoder *coder = &applied->row_keys[i].coder;
		Oid			type;
		SentKeys  **keys;
		SentKey    *one;

		/* the other server would test rows before a condition here that hides them */
		if (column == 0 || !MayTestEarly(filter->query, coder->operator))
			continue;
		type = TupleDescAttr(RelationGetDescr(table), column - 1)->atttypid;
		if (!KeysCanBeSent(&filter->keys[number].row.coder, coder, type))
			continue;
		keys = &GetRemoteBuild(filter)->sent[number];
		if (*keys == NULL)
			*keys = NewSentKeys(filter, number, type);
		one = palloc(sizeof(SentKey));
		one->applied = applied;
		one->keys = *keys;
		one->scan = &plan->scan.plan;
		plan->fdw_exprs = lappend(plan->fdw_exprs, MakeParameter(list_length(*sent)));
		*sent = lappend(*sent, one);
		WriteCondition(condition, RemoteName(RelationGetRelid(table), column), type, *keys, list_length(plan->fdw_exprs));
	}
}

/* Begins the scan again with another plan. */
static void
ReplacePlan(ForeignScanState *scan, ForeignScan *plan, List *sent)
{
	EState	   *estate = scan->ss.ps.state;
	Parameters *parameters = palloc(sizeof(Parameters));
	ParamListInfo list;

	if ((estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
	{
		scan->ss.ps.plan = &plan->scan.plan;
		return;
	}
	parameters->query = estate->es_param_list_info;
	parameters->sent = sent;
	list = makeParamList(0);
	list->paramCompile = CompileParameter;
	list->paramCompileArg = parameters;

	scan->fdwroutine->EndForeignScan(scan);
	scan->ss.ps.plan = &plan->scan.plan;
	estate->es_param_list_info = list;
	scan->fdwroutine->BeginForeignScan(scan, estate->es_top_eflags);
	estate->es_param_list_info = parameters->query;
}

/* The scan has to open another cursor when a filter gets other keys. */
static void
WatchFilters(PlanState *ps, List *sent)
{
	ListCell   *lc;
	RuntimeFilter *last = NULL;

	foreach(lc, sent)
	{
		RuntimeFilter *filter = ((SentKey *) lfirst(lc))->applied->filter;
		RemoteBuild *build = GetRemoteBuild(filter);
		RemoteScan *remote;

		if (filter == last || BuildsAreAlike(filter))
			continue;
		last = filter;
		remote = palloc0(sizeof(RemoteScan));
		remote->ps = ps;
		build->scans = lappend(build->scans, remote);
	}
}

/* Sends filters with the query of a foreign scan.  Does nothing where that is not possible. */
static void
ConsiderRemote(FilterPoint *point)
{
	ForeignScanState *scan = (ForeignScanState *) point->ps;
	ForeignScan *plan;
	List	   *sent = NIL;
	StringInfoData condition;

	if (!IsA(point->ps, ForeignScanState) || bloomx_runtime_filter_remote_size == 0 ||
		!OidIsValid(OwnFunctionOid(BLOOM_CONTAINED)) || !ScanIsEligible(scan))
		return;
	plan = copyObject((ForeignScan *) point->ps->plan);
	initStringInfo(&condition);
	for (int i = 0; i < point->n_filters; i++)
		SendFilter(scan, plan, point->filters[i], &sent, &condition);
	if (sent == NIL)
		return;
	linitial(plan->fdw_private) = makeString(AddCondition(strVal(linitial(plan->fdw_private)), condition.data));
	ReplacePlan(scan, plan, sent);
	WatchFilters(point->ps, sent);
}

static void
Attach(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
		if (((FilterPoint *) lfirst(lc))->n_filters > 0)
			ConsiderRemote(lfirst(lc));
}

/* ---- this part ---- */

/*
 * A filter that is sent exists about six times for a moment: the keys, the filter and
 * its text here, the text, the filter and a constant of the plan there.  4 MB, which
 * is work_mem's default, are enough for 3 million keys at 1 % and for 5 million at 5 %.
 */
static void
Load(void)
{
	DefineCustomIntVariable("bloomx.runtime_filter_remote_size",
							"Sets the maximum size of a runtime filter that is sent to the server of a foreign table.",
							"0 means that no filter is sent.",
							&bloomx_runtime_filter_remote_size, 4096, 0, BLX_MAX_BYTES / 1024,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
}

static void __attribute__((constructor))
RegisterRemote(void)
{
	static OptionalPart remote = {.load = Load, .attach = Attach};

	RegisterPart(&remote);
}
