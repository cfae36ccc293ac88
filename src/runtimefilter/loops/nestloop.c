/*
 * nestloop.c - nested loops that become lookups.
 *
 * The planner takes a nested loop where it expects few outer rows, or where nothing
 * else is possible, as for an OR of equalities.  Then each outer row is compared with each
 * inner row.  Here the loop is replaced at run time by the same loop with another source of
 * inner rows: a table from which only those with an equal key come.
 *
 * The table is filled while the loop reads.  At an outer row the loop first gets the rows that are
 * in the table and match its key, and then, unless the inner side has ended, reads on from where
 * that stands, and each row goes into the table.  So no inner row is read that the server would not have read
 * for one of the outer rows, whatever ends the loop early, and inner rows come in the same order.
 * The loop checks its whole condition for what it gets.
 *
 * Until then the loop is watched.  That costs nothing per inner row but an addition: what is to be known
 * of the loop is found out only when it has read so much that this is no longer felt.
 *
 * If the rows take too much memory, the keys of the inner side are collected instead, and it is not
 * read for outer rows without one.
 *
 * This needs an inner side that yields the same rows each time, until a parameter of it changes;
 * then all begins anew.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "runtimefilter/exec/probe.h"
#include "runtimefilter/loops/lookupkeys.h"
#include "runtimefilter/query/optional.h"
#include "runtimefilter/query/volatility.h"
#include "runtimefilter/report/report.h"

/*
 * A loop becomes lookups after that many passes over its inner side.  To keep rows takes up to a third of the time of a pass: if
 * the loop ends with that pass, and nothing is looked up, a 27th of its time.  Values that have to be copied take longer.  For them a loop waits
 * twice as long, and as long again for each BYTES_PER_WAIT that a row has.
 */
#define FIRST_PASSES 8
#define BYTES_PER_WAIT 20
#define MOST_FIRST_PASSES 256

/* Where lookups did not pay, later; but not later than this. */
#define LAST_PASSES 64

/* A table that served fewer outer rows did not pay; one that served more did. */
#define FEW_SERVED 2
#define MANY_SERVED 8

/* Passes over fewer rows, as they are on average, are as fast as lookups. */
#define LEAST_ROWS 8

/* Rows that a loop has read, in all, before its condition and its inner side are looked at, which takes as long as some 100 of them. */
#define LEAST_READ 8192

/* Passes in which the keys cannot be collected because they end early. */
#define MOST_TRIES 3

static int	bloomx_runtime_lookup = PART_AUTO;

typedef enum LoopStage
{
	KEEPING_ROWS,				/* in the table, which the loop reads from */
	OVERFLOWED,					/* in this pass: its other rows come as they are */
	COLLECTING_KEYS,			/* all rows come as they are */
	TESTING_KEYS				/* the inner side is read for outer rows with one of the keys */
} LoopStage;

typedef struct LookupLoop
{
	FilterPoint *point;
	NestLoopState *node;
	PlanState  *inner;
	ExecProcNodeMtd servers;	/* method */

	/* while the loop is watched */
	uint64		passes;			/* of the inner side since its parameters changed */
	uint64		read;			/* rows in these */
	uint64		read_before;
	uint64		wait;			/* so many passes */
	uint64		first_wait;		/* unless a table did not pay */

	/* from the first lookups on */
	LookupKeys *keys;			/* NULL: not looked at yet */
	RowTable   *table;
	TupleTableSlot *slot;		/* for rows of the table */
	LoopStage	stage;
	bool		has_ended;		/* the inner side: all of it is in the table */
	bool		has_rows;		/* the inner side: one has been seen */
	bool		is_excluded;	/* the outer row: no inner row has its key */
	int			tries;			/* to collect keys */
	uint64		served;			/* outer rows by the present table */
	ArmCode    *codes;			/* of an inner row */
	ArmCode    *outer_codes;
	bool		has_outer_codes;
	KeptRow   **next;			/* of each arm, for the present outer row */
	KeySet	   *sets;			/* of each arm */
	MemoryContext sets_context;

	/* for the report */
	bool		has_filter;
	uint64		most_rows;
	uint64		most_bytes;
	uint64		counts[N_COUNTS];
} LookupLoop;

static OptionalPart part;

static TupleTableSlot *ExecWatchedLoop(PlanState *ps);
static TupleTableSlot *ExecLookupLoop(PlanState *ps);

/* True if everything that can be done is done at once (tests). */
static bool
IsForced(void)
{
	return bloomx_runtime_filter_min_removed == 0;
}

/* ---- what becomes of a loop ---- */

/* Filters may be at the same point: their method calls this one. */
static void
SetMethod(LookupLoop *loop, ExecProcNodeMtd method)
{
	FilterPoint *point = loop->point;

	point->own = method;
	if (point->n_filters == 0 && point->builds == NIL)
		ExecSetExecProcNode(point->ps, method);
}

static void
NotePeak(LookupLoop *loop)
{
	if (loop->table == NULL || loop->table->n_rows <= loop->most_rows)
		return;
	loop->most_rows = loop->table->n_rows;
	loop->most_bytes = loop->table->bytes;
}

static void
ForgetRows(LookupLoop *loop)
{
	NotePeak(loop);
	ExecClearTuple(loop->slot);
	EmptyRowTable(loop->table, get_hash_memory_limit());
	MemSet(loop->next, 0, loop->keys->n_arms * sizeof(KeptRow *));
}

/* The inner side will yield other rows. */
static void
StartWatching(LookupLoop *loop)
{
	loop->passes = 0;
	loop->read_before += loop->read;
	loop->read = 0;
}

/* True if the loop can have lookups, which is found out once. */
static bool
PrepareLookups(LookupLoop *loop)
{
	FilteredQuery *query = loop->point->query;
	MemoryContext old;
	TupleDesc	desc = ExecGetResultType(loop->inner);
	Bitmapset  *columns;

	if (loop->keys != NULL)
		return true;
	old = MemoryContextSwitchTo(query->context);
	if (PlanIsStable(loop->inner))
		loop->keys = FindLookupKeys(query, loop->node);
	if (loop->keys != NULL)
	{
		columns = InnerColumns((NestLoop *) loop->node->js.ps.plan);
		loop->table = NewRowTable(query->context, desc, columns, loop->keys->n_arms);
		loop->slot = ExecInitExtraTupleSlot(query->estate, desc, &TTSOpsVirtual);
		memset(loop->slot->tts_isnull, true, desc->natts * sizeof(bool));
		if (!loop->table->all_by_value && !IsForced())
			loop->wait = loop->first_wait = Min(FIRST_PASSES * (2 + loop->inner->plan->plan_width / BYTES_PER_WAIT), MOST_FIRST_PASSES);
		loop->codes = palloc0(loop->keys->n_arms * sizeof(ArmCode));
		loop->outer_codes = palloc0(loop->keys->n_arms * sizeof(ArmCode));
		loop->next = palloc0(loop->keys->n_arms * sizeof(KeptRow *));
	}
	MemoryContextSwitchTo(old);
	return loop->keys != NULL;
}

/* Begins with an empty table. */
static void
StartKeeping(LookupLoop *loop)
{
	ForgetRows(loop);
	loop->stage = KEEPING_ROWS;
	loop->has_ended = loop->has_rows = loop->has_outer_codes = false;
	loop->served = 0;
	loop->tries = 0;
}

/* Waits longer if the table did not pay. */
static void
LearnFromTable(LookupLoop *loop)
{
	if (loop->stage != KEEPING_ROWS)
		return;
	if (loop->served < FEW_SERVED)
		loop->wait = Max(loop->first_wait, Min(loop->wait * 2 + 1, LAST_PASSES));
	else if (loop->served > MANY_SERVED)
		loop->wait = loop->first_wait;
}

static void
StartCollectingKeys(LookupLoop *loop)
{
	if (loop->sets == NULL)
	{
		loop->sets = MemoryContextAlloc(loop->point->query->context, loop->keys->n_arms * sizeof(KeySet));
		loop->sets_context = AllocSetContextCreate(loop->point->query->context, "runtime lookup keys", ALLOCSET_DEFAULT_SIZES);
	}
	MemoryContextReset(loop->sets_context);
	for (int arm = 0; arm < loop->keys->n_arms; arm++)
		KeySetInit(&loop->sets[arm], loop->sets_context, loop->keys->arms[arm].is_integer, false,
				   get_hash_memory_limit() / loop->keys->n_arms, loop->inner->plan->plan_rows);
	loop->stage = COLLECTING_KEYS;
	loop->has_rows = false;
}

static void
FinishKeys(LookupLoop *loop)
{
	for (int arm = 0; arm < loop->keys->n_arms; arm++)
		KeySetFinish(&loop->sets[arm]);
	loop->stage = TESTING_KEYS;
	loop->has_filter = true;
}

/* ---- outer rows ---- */

/*
 * The codes of the present outer row.  The server computes its keys with the first inner row, so this must not be called before that
 * has been seen.
 */
static void
ReadOuterCodes(LookupLoop *loop)
{
	ReadArmCodes(loop->keys, OUTER_SIDE, loop->node->js.ps.ps_ExprContext->ecxt_outertuple, loop->outer_codes);
	loop->has_outer_codes = true;
}

/* A new outer row, whose inner rows come from the table. */
static void
StartLookup(LookupLoop *loop)
{
	loop->served++;
	loop->counts[LOOKUPS]++;
	if (!loop->has_rows)
		return;
	SortIntoBuckets(loop->table);
	ReadOuterCodes(loop);
	for (int arm = 0; arm < loop->keys->n_arms; arm++)
		loop->next[arm] = loop->outer_codes[arm].is_null ? NULL : FirstKeptRow(loop->table, arm, loop->outer_codes[arm].code);
}

/* True if no inner row has the keys of the present outer row. */
static bool
IsExcluded(LookupLoop *loop)
{
	loop->counts[ROWS_CHECKED]++;
	if (loop->has_rows)
	{
		ReadOuterCodes(loop);
		for (int arm = 0; arm < loop->keys->n_arms; arm++)
			if (!loop->outer_codes[arm].is_null && KeySetMayHold(&loop->sets[arm], loop->outer_codes[arm].code))
				return false;
	}
	loop->counts[ROWS_REMOVED]++;
	return true;
}

/* A new outer row of a watched loop.  False if the loop goes on by another method. */
static bool
StartWatchedPass(LookupLoop *loop)
{
	bool		goes_on = true;

	if (loop->inner->chgParam != NULL)
		StartWatching(loop);
	if (loop->passes++ >= loop->wait &&
		(IsForced() || (loop->read >= (loop->passes - 1) * LEAST_ROWS && (loop->keys != NULL || loop->read_before + loop->read >= LEAST_READ))))
	{
		bool		may_begin = PrepareLookups(loop);

		/* which may be later, as is known now */
		goes_on = may_begin && loop->passes <= loop->wait;
		if (!may_begin)
			SetMethod(loop, loop->servers);
		else if (!goes_on)
		{
			SetMethod(loop, ExecLookupLoop);
			StartKeeping(loop);
		}
	}
	ExecReScan(loop->inner);
	return goes_on;
}

/* A new outer row of a loop with lookups.  False if the loop goes on by another method. */
static bool
StartLookupPass(LookupLoop *loop)
{
	if (loop->inner->chgParam != NULL)
	{
		LearnFromTable(loop);
		ForgetRows(loop);
		StartWatching(loop);
		SetMethod(loop, ExecWatchedLoop);
		loop->passes = 1;
		ExecReScan(loop->inner);
		return false;
	}
	switch (loop->stage)
	{
		case KEEPING_ROWS:
			StartLookup(loop);
			return true;
		case OVERFLOWED:
		case COLLECTING_KEYS:
			if (loop->tries++ == MOST_TRIES)
			{
				SetMethod(loop, loop->servers);
				ExecReScan(loop->inner);
				return false;
			}
			StartCollectingKeys(loop);
			break;
		case TESTING_KEYS:
			/* what the inner side would have yielded is the same as before, so it need not know of this row */
			loop->is_excluded = IsExcluded(loop);
			if (loop->is_excluded)
				return true;
			break;
	}
	ExecReScan(loop->inner);
	return true;
}

/* ---- inner rows ---- */

/* The next row of the table that matches the outer row in some arm; NULL if there is none. */
static KeptRow *
NextMatch(LookupLoop *loop)
{
	KeptRow    *first = loop->next[0];

	/* the arms' rows are merged by their order, each once */
	for (int arm = 1; arm < loop->keys->n_arms; arm++)
		if (loop->next[arm] != NULL && (first == NULL || loop->next[arm]->number < first->number))
			first = loop->next[arm];
	for (int arm = 0; first != NULL && arm < loop->keys->n_arms; arm++)
		if (loop->next[arm] == first)
			loop->next[arm] = NextKeptRow(first, arm);
	return first;
}

/* What the row just read has to do with the outer row. */
typedef enum InnerRow
{
	NO_MATCH,
	MATCH,						/* as far as the keys say */
	NO_ROOM						/* for it in the table: it belongs to those that come as they are */
} InnerRow;

static InnerRow
KeepInnerRow(LookupLoop *loop, TupleTableSlot *slot)
{
	int			n_arms = loop->keys->n_arms;
	bool		has_key = false,
				matches = false;

	loop->has_rows = true;
	slot_getsomeattrs(slot, loop->table->last_column);
	ReadArmCodes(loop->keys, INNER_SIDE, slot, loop->codes);
	if (unlikely(!loop->has_outer_codes))
		ReadOuterCodes(loop);
	for (int arm = 0; arm < n_arms; arm++)
	{
		const ArmCode *inner = &loop->codes[arm],
				   *outer = &loop->outer_codes[arm];

		has_key = has_key || !inner->is_null;
		matches = matches || (inner->code == outer->code && !inner->is_null && !outer->is_null);
	}
	if (has_key && !KeepRow(loop->table, slot, loop->codes))
	{
		ForgetRows(loop);
		loop->stage = OVERFLOWED;
		return NO_ROOM;
	}
	return matches ? MATCH : NO_MATCH;
}

static TupleTableSlot *
NextOfTable(LookupLoop *loop)
{
	KeptRow    *row = NextMatch(loop);

	CHECK_FOR_INTERRUPTS();
	if (row != NULL)
		return ShowKeptRow(loop->table, row, loop->slot);
	while (!loop->has_ended)
	{
		TupleTableSlot *slot = ExecProcNode(loop->inner);

		if (TupIsNull(slot))
			loop->has_ended = true;
		else if (KeepInnerRow(loop, slot) != NO_MATCH)
			return slot;
	}
	return NULL;
}

static TupleTableSlot *
NextWhileCollecting(LookupLoop *loop)
{
	TupleTableSlot *slot = ExecProcNode(loop->inner);

	if (TupIsNull(slot))
	{
		FinishKeys(loop);
		return NULL;
	}
	loop->has_rows = true;
	ReadArmCodes(loop->keys, INNER_SIDE, slot, loop->codes);
	for (int arm = 0; arm < loop->keys->n_arms; arm++)
		if (!loop->codes[arm].is_null)
			KeySetAdd(&loop->sets[arm], loop->codes[arm].code);
	return slot;
}

static TupleTableSlot *
NextInnerRow(LookupLoop *loop)
{
	switch (loop->stage)
	{
		case KEEPING_ROWS:
			return NextOfTable(loop);
		case COLLECTING_KEYS:
			return NextWhileCollecting(loop);
		case TESTING_KEYS:
			return loop->is_excluded ? NULL : ExecProcNode(loop->inner);
		case OVERFLOWED:
			break;
	}
	return ExecProcNode(loop->inner);
}

/* ---- the loop ---- */

/*
 * What the server's loop does (nodeNestloop.c), the same in all versions from 15 to 19, without parameters for the inner
 * side.
 */
static pg_attribute_always_inline TupleTableSlot *
ExecLoop(PlanState *ps, const bool is_watched)
{
	NestLoopState *node = (NestLoopState *) ps;
	LookupLoop *loop = FindPoint(ps)->of_part;
	ExprContext *econtext = ps->ps_ExprContext;
	bool		fills = node->js.jointype == JOIN_LEFT || node->js.jointype == JOIN_ANTI;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	for (;;)
	{
		TupleTableSlot *slot;

		if (node->nl_NeedNewOuter)
		{
			slot = ExecProcNode(outerPlanState(node));
			if (TupIsNull(slot))
				return NULL;
			econtext->ecxt_outertuple = slot;
			node->nl_NeedNewOuter = false;
			node->nl_MatchedOuter = false;
			if (!(is_watched ? StartWatchedPass(loop) : StartLookupPass(loop)))
				return loop->point->own(ps);
		}

		slot = is_watched ? ExecProcNode(loop->inner) : NextInnerRow(loop);
		econtext->ecxt_innertuple = slot;
		if (TupIsNull(slot))
		{
			node->nl_NeedNewOuter = true;
			if (node->nl_MatchedOuter || !fills)
				continue;
			/* an outer row without a match */
			econtext->ecxt_innertuple = node->nl_NullInnerTupleSlot;
			if (ps->qual == NULL || ExecQual(ps->qual, econtext))
				return ExecProject(ps->ps_ProjInfo);
			InstrCountFiltered2(node, 1);
			continue;
		}
		if (is_watched)
			loop->read++;
		if (ExecQual(node->js.joinqual, econtext))
		{
			node->nl_MatchedOuter = true;
			if (node->js.jointype == JOIN_ANTI)
			{
				node->nl_NeedNewOuter = true;
				continue;
			}
			/* the first match is enough */
			if (node->js.single_match)
				node->nl_NeedNewOuter = true;
			if (ps->qual == NULL || ExecQual(ps->qual, econtext))
				return ExecProject(ps->ps_ProjInfo);
			InstrCountFiltered2(node, 1);
		}
		else
			InstrCountFiltered1(node, 1);
		ResetExprContext(econtext);
	}
}

static TupleTableSlot *
ExecWatchedLoop(PlanState *ps)
{
	return ExecLoop(ps, true);
}

static TupleTableSlot *
ExecLookupLoop(PlanState *ps)
{
	return ExecLoop(ps, false);
}

/* ---- this part ---- */

static bool
WantsLoop(PlanState *ps)
{
	NestLoop   *plan = (NestLoop *) ps->plan;

	return IsA(ps, NestLoopState) && plan->nestParams == NIL && MayHaveLookupKeys(plan);
}

/* Finds out why a loop will have no lookups, if that is to be shown.  False if there is a reason. */
static bool
HasNoReason(FilteredQuery *query, NestLoopState *node)
{
	if (!WantsReasons(query->estate))
		return true;
	if (!PlanIsStable(innerPlanState(node)))
		NoFilter(query, &node->js.ps, "a nested loop whose inner side may differ each time");
	else if (FindLookupKeys(query, node) == NULL)
		NoFilter(query, &node->js.ps, "a nested loop whose condition has no keys to look rows up by");
	else
		return true;
	return false;
}

static void
ConsiderLoop(FilteredQuery *query, PlanState *ps)
{
	FilterPoint *point = FindPoint(ps);
	LookupLoop *loop;

	if (!HasNoReason(query, (NestLoopState *) ps) || !IsOfServer(point == NULL ? ps->ExecProcNodeReal : point->own))
		return;
	point = GetPoint(query, ps, ExecPoint);
	loop = palloc0(sizeof(LookupLoop));
	loop->point = point;
	loop->node = (NestLoopState *) ps;
	loop->inner = innerPlanState(ps);
	loop->servers = point->own;
	loop->wait = loop->first_wait = IsForced() ? 0 : FIRST_PASSES;
	if (query->is_shown_only)
		(void) PrepareLookups(loop);
	point->part = &part;
	point->of_part = loop;
}

/* All filters have their points now. */
static void
AttachLoops(FilteredQuery *query)
{
	ListCell   *lc;

	foreach(lc, query->points)
	{
		FilterPoint *point = lfirst(lc);

		if (point->part == &part)
			SetMethod(point->of_part, ExecWatchedLoop);
	}
}

static bool
ReportLoop(const FilterPoint *point, FilterReport *report)
{
	LookupLoop *loop = point->of_part;

	/* workers may have done what this process has not */
	report->is_lookup = true;
	report->role = point->query->role;
	report->join_node = report->site_node = point->ps->plan->plan_node_id;
	if (loop->table == NULL)
		return false;
	NotePeak(loop);
	for (int arm = 0; arm < loop->keys->n_arms; arm++)
		report->n_keys += loop->keys->arms[arm].n_keys;
	strlcpy(report->kind, loop->has_filter ? KeySetFormName(&loop->sets[0]) : loop->tries > 0 ? "overflowed" : "table", sizeof(report->kind));
	report->build_rows = loop->most_rows;
	report->bytes = loop->most_bytes;
	memcpy(report->counts, loop->counts, sizeof(report->counts));
	report->processes = 1;
	return true;
}

static void
LoadLoops(void)
{
	DefineCustomEnumVariable("bloomx.runtime_lookup",
							 "Lets nested loops keep the rows of their inner side and look them up by their keys.",
							 "\"auto\" means that it is on where bloomx.runtime_filter is.",
							 &bloomx_runtime_lookup, PART_AUTO, part_switch_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

static OptionalPart part = {
	.load = LoadLoops,
	.is_on = &bloomx_runtime_lookup,
	.wants = WantsLoop,
	.consider = ConsiderLoop,
	.attach = AttachLoops,
	.report = ReportLoop
};

static void __attribute__((constructor))
RegisterLoops(void)
{
	RegisterPart(&part);
}
