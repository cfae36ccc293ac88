/*
 * lookup_replan.c - the questions of a plan are asked again when it is executed.
 *
 * A plan is older than the snapshot with which it reads, in most cases by a moment, in those of the plan
 * cache by hours.  Who committed a row in between has set its key's bits in between, too.  So a plan takes its questions
 * along, and they are asked a second time when the executor starts and the snapshot exists.  If there is a
 * candidate more, the statement is planned again and the new plan is executed.  Its own questions are younger than the
 * snapshot: docs/internals/partitions.md has the proof.
 *
 * What a plan takes along is a note: an entry at the end of its range table that no node uses, with the statement as
 * it was before it was planned.  It is a subquery that has no columns, so nobody locks it or checks permissions
 * for it, and plans with it can be copied and kept.  Before the plan is executed the note is taken off again; others
 * see a plan as the server makes it.
 *
 * A plan whose keys are parameters without values is a stub.  It reads one partition, and its cost is such
 * that the plan cache prefers plans for values.  If it is to be executed nevertheless, it is planned again with
 * the values.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg/base/compat_planner.h"

#define NOTE_NAME "bloomx partition lookup"

/* More than any plan for values costs. */
#define COST_OF_STUB 1e10

static planner_hook_type next_planner;
static ExecutorStart_hook_type next_start;
static ExecutorFinish_hook_type next_finish;
static ExecutorEnd_hook_type next_end;

/* Set by who plans again: extensions may plan statements of their own before this one.  Within it no statement gets a stub. */
static LookupPlanning *planning_again;
static int	depth_of_replans;

/* ---- the note ---- */

enum
{
	NOTE_OPTIONS, NOTE_FLAGS, NOTE_HEAD
};

enum
{
	IS_STUB = 1, MAY_RESCAN = 2, HAD_VALUES = 4
};

static Size
SizeOfSet(const Bitmapset *set)
{
	return offsetof(Bitmapset, words) + set->nwords * sizeof(bitmapword);
}

/* A question as a node that can be copied: a bytea of the struct, of its hashes and its candidates. */
static Const *
QuestionAsConst(const LookupQuestion *question)
{
	StringInfoData bytes;

	initStringInfo(&bytes);
	appendStringInfoSpaces(&bytes, VARHDRSZ);
	appendBinaryStringInfo(&bytes, (const char *) question, sizeof(LookupQuestion));
	if (question->n_hashes > 0)
		appendBinaryStringInfo(&bytes, (const char *) question->hashes, question->n_hashes * sizeof(uint64));
	if (question->candidates != NULL)
		appendBinaryStringInfo(&bytes, (const char *) question->candidates, SizeOfSet(question->candidates));
	SET_VARSIZE(bytes.data, bytes.len);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes.data), false, false);
}

static LookupQuestion *
QuestionOfConst(const Const *constant)
{
	const char *bytes = VARDATA(DatumGetPointer(constant->constvalue));
	LookupQuestion *question = memcpy(palloc(sizeof(LookupQuestion)), bytes, sizeof(LookupQuestion));
	Size		hashes = question->n_hashes * sizeof(uint64),
				candidates = VARSIZE(DatumGetPointer(constant->constvalue)) - VARHDRSZ - sizeof(LookupQuestion) - hashes;

	bytes += sizeof(LookupQuestion);
	question->hashes = memcpy(palloc(hashes), bytes, hashes);
	question->candidates = candidates == 0 ? NULL : memcpy(palloc(candidates), bytes + hashes, candidates);
	return question;
}

/* The statement is NULL if it has no question. */
static void
AddNote(PlannedStmt *plan, const LookupPlanning *planning, Query *statement, int options, bool had_values)
{
	RangeTblEntry *note = makeNode(RangeTblEntry);
	int			flags = (planning->is_stub ? IS_STUB : 0) | (planning->may_rescan && !planning->hides_rows ? MAY_RESCAN : 0) |
		(had_values ? HAD_VALUES : 0);
	ListCell   *lc;

	note->rtekind = RTE_SUBQUERY;
	note->eref = makeAlias(NOTE_NAME, NIL);
	note->subquery = statement;
	note->securityQuals = list_make1(list_make2_int(options, flags));
	foreach(lc, planning->questions)
		note->securityQuals = lappend(note->securityQuals, QuestionAsConst(lfirst(lc)));
	plan->rtable = lappend(plan->rtable, note);
}

static const RangeTblEntry *
FindNote(const PlannedStmt *plan)
{
	/* other extensions may have added entries after it */
	for (int i = list_length(plan->rtable) - 1; i >= 0; i--)
	{
		const RangeTblEntry *rte = list_nth(plan->rtable, i);

		/* a subquery in a finished plan has neither conditions nor a query any more */
		if (rte->rtekind == RTE_SUBQUERY && rte->securityQuals != NIL && strcmp(rte->eref->aliasname, NOTE_NAME) == 0)
			return rte;
	}
	return NULL;
}

/* The plan without its note; the plan itself may be in the plan cache. */
static PlannedStmt *
WithoutNote(const PlannedStmt *plan, const RangeTblEntry *note)
{
	PlannedStmt *result = makeNode(PlannedStmt);

	*result = *plan;
	result->rtable = list_delete_ptr(list_copy(plan->rtable), (void *) note);
	return result;
}

/* ---- planning ---- */

static bool NamesLookup(Query *query, bool *is_permitted);

typedef struct NameSearch
{
	bool		found;
	bool		is_permitted;
} NameSearch;

/* Subqueries in expressions. */
static bool
SearchExpression(Node *node, NameSearch *search)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		search->found |= NamesLookup((Query *) node, &search->is_permitted);
		return false;
	}
	return expression_tree_walker(node, SearchExpression, search);
}

/* True if it is a user's function, whose body the planner may put in its place. */
static bool
MayBeQuery(const RangeTblEntry *rte)
{
	const RangeTblFunction *function = list_length(rte->functions) == 1 ? linitial_node(RangeTblFunction, rte->functions) : NULL;

	return function != NULL && IsA(function->funcexpr, FuncExpr) && ((FuncExpr *) function->funcexpr)->funcid >= FirstNormalObjectId;
}

/*
 * True if the statement may read a table with a lookup.  It is called for each statement: it looks at
 * expressions only if they have subqueries.  A function in FROM may have a query as its body, which the planner puts in its
 * place.  *is_permitted becomes false if the role may not do what the statement does: it will be refused, and
 * until then nothing is asked.
 */
static bool
NamesLookup(Query *query, bool *is_permitted)
{
	NameSearch	search = {.is_permitted = true};
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION)
			search.found |= rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh && LookupsOf(rte->relid) != NIL;
		else if (rte->rtekind == RTE_SUBQUERY)
			search.found |= NamesLookup(rte->subquery, &search.is_permitted);
		else if (rte->rtekind == RTE_FUNCTION)
			search.found |= MayBeQuery(rte);
	}
	foreach(lc, query->cteList)
		search.found |= NamesLookup((Query *) lfirst_node(CommonTableExpr, lc)->ctequery, &search.is_permitted);
	if (query->hasSubLinks)
		(void) query_tree_walker(query, SearchExpression, &search, QTW_IGNORE_RC_SUBQUERIES);
	if (search.found && !IsPermitted(PermissionsOfQuery(query), false))
		search.is_permitted = false;
	*is_permitted &= search.is_permitted;
	return search.found;
}

/* How many tables of an inner join there are: more than one are joined in any plan, but an outer join may turn out to be none. */
static int
CountTables(const Query *query, const Node *item)
{
	int			n = 0;
	ListCell   *lc;

	if (IsA(item, RangeTblRef))
		return rt_fetch(((const RangeTblRef *) item)->rtindex, query->rtable)->rtekind == RTE_RELATION;
	if (IsA(item, FromExpr))
		foreach(lc, ((const FromExpr *) item)->fromlist)
			n += CountTables(query, lfirst(lc));
	else if (((const JoinExpr *) item)->jointype == JOIN_INNER)
		n = CountTables(query, ((const JoinExpr *) item)->larg) + CountTables(query, ((const JoinExpr *) item)->rarg);
	return n;
}

/*
 * True if the statement is of a cursor whose present row an UPDATE or DELETE may name (WHERE CURRENT OF): the server wants
 * all partitions of that in the cursor's plan.
 */
static bool
IsUpdatableCursor(const Query *query, int options)
{
	if ((options & CURSOR_OPT_FAST_PLAN) == 0 || query->commandType != CMD_SELECT)
		return false;
	return query->rowMarks != NIL ||
		(!query->hasAggs && !query->hasWindowFuncs && query->groupClause == NIL && query->groupingSets == NIL && query->distinctClause == NIL &&
		 CountTables(query, (const Node *) query->jointree) < 2);
}

/* What the plan cache must know of a plan with questions. */
static void
FinishPlan(PlannedStmt *plan, LookupPlanning *planning, Query *statement, int options, bool had_values)
{
	if (planning->is_stub)
	{
		plan->planTree->total_cost += COST_OF_STUB;
		CountLookups(LOOKUP_STUBS, 1);
	}
	/* partitioned tables that are no part of the plan may get partitions that the store does not know */
	plan->relationOids = list_concat_unique_oid(plan->relationOids, planning->watched);
	if (planning->questions == NIL && !planning->is_stub)
		statement = NULL;
	if (statement != NULL || (planning->may_rescan && !planning->hides_rows))
		AddNote(plan, planning, statement, options, had_values);
}

/* While a statement is planned that has nothing in common with one whose planning called this, `planning` is NULL. */
static PlannedStmt *
PlanAs(LookupPlanning *planning, PLANNER_PARAMETERS)
{
	LookupPlanning *volatile before = lookup_planning;
	PlannedStmt *result;

	lookup_planning = planning;
	PG_TRY();
	{
		result = next_planner != NULL ? next_planner(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);
	}
	PG_FINALLY();
	{
		lookup_planning = before;
	}
	PG_END_TRY();
	return result;
}

static PlannedStmt *
PlanHook(PLANNER_PARAMETERS)
{
	LookupPlanning *again = planning_again != NULL && planning_again->parse == parse ? planning_again : NULL,
				first = {.parse = parse, .may_be_stub = depth_of_replans == 0};
	Query	   *statement = NULL;
	bool		is_permitted = true;
	PlannedStmt *result;

	if (again == NULL && (!bloomx_partition_lookup || parse->commandType == CMD_UTILITY || IsUpdatableCursor(parse, options) ||
						  !NamesLookup(parse, &is_permitted) || !is_permitted))
		return PlanAs(NULL, PLANNER_ARGUMENTS);
	/* the planner changes what it is given */
	if (again == NULL)
	{
		statement = copyObject(parse);
		again = &first;
	}
	result = PlanAs(again, PLANNER_ARGUMENTS);
	FinishPlan(result, again, statement, options, params != NULL);
	return result;
}

/* ---- execution ---- */

static PlannedStmt *
PlanAgainAs(LookupPlanning *planning, const char *source, int options, ParamListInfo params)
{
	LookupPlanning *volatile before = planning_again;
	PlannedStmt *result;

	planning_again = planning;
	depth_of_replans++;
	PG_TRY();
	{
		result = PlanAgain(planning->parse, source, options, params);
	}
	PG_FINALLY();
	{
		planning_again = before;
		depth_of_replans--;
	}
	PG_END_TRY();
	return result;
}

/* Makes a new plan, whose questions are asked after the snapshot.  It has a note only if its nodes may ask. */
static PlannedStmt *
MakeNewPlan(const QueryDesc *query, int eflags, const RangeTblEntry *note, LookupPlanning *planning)
{
	int			options = list_nth_int(linitial(note->securityQuals), NOTE_OPTIONS),
				flags = list_nth_int(linitial(note->securityQuals), NOTE_FLAGS);
	bool		push = !ActiveSnapshotSet();
	PlannedStmt *result;

	/* the caller has decided by the old plan that the cursor can move backward */
	if (eflags & EXEC_FLAG_BACKWARD)
		options |= CURSOR_OPT_SCROLL;
	planning->parse = copyObject(note->subquery);
	planning->is_disabled = !bloomx_partition_lookup;
	planning->snapshot = query->snapshot;
	planning->params = query->params;
	if (push)
		PushActiveSnapshot(query->snapshot);
	result = PlanAgainAs(planning, query->sourceText, options, flags & HAD_VALUES ? query->params : NULL);
	if (push)
		PopActiveSnapshot();
	return result;
}

/* Asks questions again: true if all candidates are among the earlier ones. */
static bool
StillHold(const List *questions, Snapshot snapshot)
{
	ListCell   *lc;

	foreach(lc, questions)
	{
		const LookupQuestion *question = lfirst(lc);
		LookupQuestion now = *question;

		if (!AskStore(&now, snapshot) || now.serial != question->serial || !bms_is_subset(now.candidates, question->candidates))
			return false;
	}
	return true;
}

/* The questions of a note, as they were answered; *holds tells whether they still are. */
static List *
AskAgain(const QueryDesc *query, const RangeTblEntry *note, bool *holds)
{
	List	   *questions = NIL;
	ListCell   *lc;

	for_each_from(lc, note->securityQuals, 1)
		questions = lappend(questions, QuestionOfConst(lfirst_node(Const, lc)));
	*holds = bloomx_partition_lookup && !(list_nth_int(linitial(note->securityQuals), NOTE_FLAGS) & IS_STUB) && StillHold(questions, query->snapshot);
	return questions;
}

/* True if the definition of some table of the plan is younger than the snapshot. */
static bool
HasNewTable(const PlannedStmt *plan, Snapshot snapshot)
{
	ListCell   *lc;
	bool		is_new = false;

	foreach(lc, plan->relationOids)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		is_new |= XidInMVCCSnapshot(HeapTupleHeaderGetXmin(tuple->t_data), snapshot);
		ReleaseSysCache(tuple);
	}
	return is_new;
}

/*
 * A plan that is made here locks its partitions when the snapshot is there already.  Whoever had one of them locked may have moved
 * its rows where the snapshot does not see them: by TRUNCATE, or by an ALTER TABLE that writes the table anew.  The server
 * locks first.  So the statement gets a later snapshot then, if it has one of its own.  False if it gets none.
 */
static bool
TakeLaterSnapshot(QueryDesc *query, const PlannedStmt *plan)
{
	Snapshot	before = query->snapshot;

	if (IsolationUsesXactSnapshot() || !ActiveSnapshotSet() || GetActiveSnapshot() != before ||
		before->active_count != 1 || before->regd_count != 1 || (ActivePortal != NULL && ActivePortal->portalSnapshot == before) ||
		!HasNewTable(plan, before))
		return false;
	query->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	UnregisterSnapshot(before);
	PopActiveSnapshot();
	PushActiveSnapshot(query->snapshot);
	return true;
}

/* Puts the plan that is to be executed in the place of one with a note.  Returns its questions, and what its nodes may do. */
static List *
ChoosePlan(QueryDesc *query, int eflags, const RangeTblEntry *note, int *flags)
{
	LookupPlanning planning = {0};
	bool		holds = true;
	PlannedStmt *plan = query->plannedstmt;

	if (note->subquery != NULL)
		planning.questions = AskAgain(query, note, &holds);
	if (!holds)
	{
		/* the role is checked before the time that planning takes can tell anything */
		(void) IsPermitted(PermissionsOfPlan(plan), true);
		do
		{
			planning = (LookupPlanning) {0};
			plan = MakeNewPlan(query, eflags, note, &planning);
			CountLookups(LOOKUP_REPLANS, 1);
		} while (TakeLaterSnapshot(query, plan) && !StillHold(planning.questions, query->snapshot));
		note = FindNote(plan);
	}
	*flags = note == NULL ? 0 : list_nth_int(linitial(note->securityQuals), NOTE_FLAGS);
	query->plannedstmt = note == NULL ? plan : WithoutNote(plan, note);
	return planning.questions;
}

static void
CallNextStart(QueryDesc *query, int eflags)
{
	if (next_start != NULL)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

static void
StartHook(QueryDesc *query, int eflags)
{
	const RangeTblEntry *note = FindNote(query->plannedstmt);
	MemoryContext context,
				old;
	List	   *questions;
	int			flags;

	if (note == NULL)
	{
		CallNextStart(query, eflags);
		return;
	}
	/* the plan is freed with the query, which may be one of millions of calls of an SQL function */
	context = AllocSetContextCreate(CurrentMemoryContext, "bloomx plan", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	questions = ChoosePlan(query, eflags, note, &flags);
	MemoryContextSwitchTo(old);
	CallNextStart(query, eflags);
	MemoryContextSetParent(context, query->estate->es_query_cxt);
	StartLookups(query, questions, (flags & MAY_RESCAN) != 0);
}

static void
FinishHook(QueryDesc *query)
{
	if (next_finish != NULL)
		next_finish(query);
	else
		standard_ExecutorFinish(query);
	EndLookups(query->estate);
}

/* A query that is not run to its end is not finished. */
static void
EndHook(QueryDesc *query)
{
	EndLookups(query->estate);
	if (next_end != NULL)
		next_end(query);
	else
		standard_ExecutorEnd(query);
}

void
InitLookupReplans(void)
{
	next_planner = planner_hook;
	planner_hook = PlanHook;
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = StartHook;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = FinishHook;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = EndHook;
}
