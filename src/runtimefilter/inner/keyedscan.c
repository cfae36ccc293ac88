/*
 * keyedscan.c - index scans that begin anew for each key: those that would find nothing are not begun.
 *
 * A nested loop with a parameterised inner side searches an index for each outer row.  A Bloom filter of the index's
 * keys would cost a pass over the index, but there may be an index that is such a filter (query/keyindex.h).  It is
 * asked before the search.  If it says "definitely not", the scan yields no row, as it would have done.  So this is
 * right for every join type, and whatever stands between the scan and the loop; subqueries gain as well.
 *
 * The method is that of the scan, not of the loop.  A rescan has computed the scan's keys, as always, and
 * has cleared the slot of its rows: that is how the method knows that a scan begins.
 *
 * What the index says holds for the query's snapshot, since it is asked after the snapshot was taken: whoever
 * inserts a row adds the key before he commits.  Rechecks after a wait for a lock (EvalPlanQual) have plan states of their
 * own, without filters.  Under SERIALIZABLE a search locks what it has not found, and
 * so it has to take place.  Nothing is learned that the search, which looks at the same rows, would not tell:
 * policies are conditions of the rows that it finds.
 *
 * Between two tests the index is not open, only locked, so that what a session may do to its indexes while a
 * cursor is open does not change.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/skey.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/probe.h"
#include "runtimefilter/query/keyindex.h"
#include "runtimefilter/query/optional.h"
#include "runtimefilter/query/registry.h"
#include "runtimefilter/query/volatility.h"
#include "runtimefilter/report/report.h"

/* To open an index and to make the first tests in vain takes as long as ten searches, so this many go before. */
#define SCANS_BEFORE 300

/* Tests are judged by as many. */
#define WINDOW_TESTS 32

/*
 * If they skip too little, one scan is tested after at least, and at most, so many, which keeps 1.5 % of what tests cost; by
 * chance, as keys may have a period.  So many of these tests decide whether all scans are tested again.
 */
#define LEAST_UNTESTED 32
#define MOST_UNTESTED 96
#define WINDOW_SAMPLES 8

/* The last of the scans before, which are timed. */
#define SCANS_TIMED 8

static int	is_on = PART_AUTO;

/* An index that may say which keys there are, and the place of the key among the scan's conditions. */
typedef struct Candidate
{
	Oid			index;
	AttrNumber	column;			/* of the table */
	int			condition;
	Oid			type;			/* of the value that is sought */
	Oid			collation;
} Candidate;

typedef struct KeyedScan
{
	FilterPoint *point;
	ExecProcNodeMtd own;
	PlanState  *searches;		/* the node that has the conditions: the scan itself, or below a bitmap scan */
	List	   *candidates;
	NameData	column;			/* of the first one's key */

	/* the index that is asked; NULL = none yet */
	const KeyIndexMethod *method;
	Oid			index;
	void	   *opened;
	MemoryContext scratch;		/* of one test */
	ScanKey		key;
	const bool *is_ready;		/* the values of the scan's keys are known */

	uint32		untested;		/* scans to pass without a test */
	bool		is_sampled;		/* tests have skipped too little: they are rare now */
	bool		is_timed;		/* the scan that begins now */
	uint32		tested,			/* in this window */
				skipped;
	double		test_time,		/* nanoseconds */
				scan_time;		/* the same, of the first row of a scan or its end */
	uint64		counts[N_COUNTS];
} KeyedScan;

/* ---- which scans ---- */

/* The conditions of an index scan, and its index. */
static List *
ConditionsOf(const Plan *plan, Oid *index)
{
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			*index = ((const IndexScan *) plan)->indexid;
			return ((const IndexScan *) plan)->indexqual;
		case T_IndexOnlyScan:
			*index = ((const IndexOnlyScan *) plan)->indexid;
			return ((const IndexOnlyScan *) plan)->indexqual;
		case T_BitmapIndexScan:
			*index = ((const BitmapIndexScan *) plan)->indexid;
			return ((const BitmapIndexScan *) plan)->indexqual;
		default:
			return NIL;
	}
}

/* The column of the table that an index has there, 0 for an expression; and the family of its operators. */
static AttrNumber
ColumnOfTable(Oid index, AttrNumber place, Oid *family)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	AttrNumber	column = 0;
	Datum		classes;
	bool		is_null;

	if (!HeapTupleIsValid(tuple))
		return 0;
	if (place <= ((Form_pg_index) GETSTRUCT(tuple))->indnkeyatts)
	{
		column = ((Form_pg_index) GETSTRUCT(tuple))->indkey.values[place - 1];
		classes = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &is_null);
		*family = get_opclass_family(((oidvector *) DatumGetPointer(classes))->values[place - 1]);
	}
	ReleaseSysCache(tuple);
	return column;
}

/*
 * The type of the values that an operator of that family compares with a column; InvalidOid if it is
 * not the default equality of the column's type, or that with another type.
 */
static Oid
TypeOfEqualValues(Oid operator, Oid column_type, Oid family)
{
	Oid			type = getBaseType(column_type),
				equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr,
				left,
				right;
	int			strategy;

	if (operator == equality)
		return type;
	strategy = get_op_opfamily_strategy(equality, family);
	if (strategy == 0 || get_op_opfamily_strategy(operator, family) != strategy)
		return InvalidOid;
	op_input_types(operator, &left, &right);
	return right;
}

/* True if the index has all rows of the table, is not one of PostgreSQL's own access methods, and has but that column. */
static bool
MayKnowKeys(Oid index, AttrNumber column)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	HeapTuple	relation;
	Form_pg_index form;
	bool		may_know;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	may_know = form->indnatts == 1 && form->indkey.values[0] == column && form->indisvalid && form->indisready &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	ReleaseSysCache(tuple);
	if (!may_know)
		return false;
	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(relation))
		return false;
	may_know = ((Form_pg_class) GETSTRUCT(relation))->relam >= FirstNormalObjectId;
	ReleaseSysCache(relation);
	return may_know;
}

/* Adds the indexes that may know the values of a condition, if it is column = value. */
static List *
AddCandidates(List *candidates, Relation table, Oid index, int number, Node *condition)
{
	OpExpr	   *equality = (OpExpr *) condition;
	Var		   *place;
	Oid			family,
				type;
	AttrNumber	column;
	List	   *indexes;
	ListCell   *lc;

	if (!IsA(condition, OpExpr) || list_length(equality->args) != 2 || !HasParameter(lsecond(equality->args)))
		return candidates;
	place = PlainColumn(linitial(equality->args));
	column = place == NULL || place->varattno <= 0 ? 0 : ColumnOfTable(index, place->varattno, &family);
	if (column <= 0)
		return candidates;
	indexes = RelationGetIndexList(table);
	foreach(lc, indexes)
	{
		Candidate  *candidate;

		if (!MayKnowKeys(lfirst_oid(lc), column))
			continue;
		type = TypeOfEqualValues(equality->opno, TupleDescAttr(RelationGetDescr(table), column - 1)->atttypid, family);
		if (!OidIsValid(type))
			break;
		candidate = palloc(sizeof(Candidate));
		*candidate = (Candidate) {lfirst_oid(lc), column, number, type, equality->inputcollid};
		candidates = lappend(candidates, candidate);
	}
	list_free(indexes);
	return candidates;
}

/* The node that has the conditions of a scan which begins anew for each key; NULL if it is none. */
static PlanState *
SearchesOf(PlanState *ps)
{
	if (ps->plan->parallel_aware)
		return NULL;
	if (IsA(ps, IndexScanState) || IsA(ps, IndexOnlyScanState))
		return ps;
	return IsA(ps, BitmapHeapScanState) && IsA(outerPlanState(ps), BitmapIndexScanState) ? outerPlanState(ps) : NULL;
}

static List *
FindCandidates(PlanState *ps)
{
	PlanState  *searches = SearchesOf(ps);
	List	   *conditions,
			   *candidates = NIL;
	Oid			index = InvalidOid;
	ListCell   *lc;

	if (searches == NULL)
		return NIL;
	conditions = ConditionsOf(searches->plan, &index);
	foreach(lc, conditions)
		candidates = AddCandidates(candidates, ((ScanState *) ps)->ss_currentRelation, index, foreach_current_index(lc), lfirst(lc));
	return candidates;
}

/* ---- asking ---- */

/* Where the scan has its keys, one per condition, in the same order. */
static void
FindKey(KeyedScan *scan, int condition)
{
	PlanState  *ps = scan->searches;

	switch (nodeTag(ps))
	{
		case T_IndexScanState:
			scan->key = &((IndexScanState *) ps)->iss_ScanKeys[condition];
			scan->is_ready = &((IndexScanState *) ps)->iss_RuntimeKeysReady;
			break;
		case T_IndexOnlyScanState:
			scan->key = &((IndexOnlyScanState *) ps)->ioss_ScanKeys[condition];
			scan->is_ready = &((IndexOnlyScanState *) ps)->ioss_RuntimeKeysReady;
			break;
		default:
			scan->key = &((BitmapIndexScanState *) ps)->biss_ScanKeys[condition];
			scan->is_ready = &((BitmapIndexScanState *) ps)->biss_RuntimeKeysReady;
	}
}

/* Opens one index, without waiting for a lock; false if it cannot be asked. */
static bool
OpenCandidate(KeyedScan *scan, const Candidate *candidate)
{
	EState	   *estate = scan->point->query->estate;
	Relation	index;

	if (!ConditionalLockRelationOid(candidate->index, AccessShareLock))
		return false;
	index = RelationIdGetRelation(candidate->index);
	for (KeyIndexMethod *method = key_index_methods; index != NULL && method != NULL && scan->method == NULL; method = method->next)
	{
		scan->opened = method->open(index, candidate->type, candidate->collation, estate->es_snapshot);
		if (scan->opened != NULL)
			scan->method = method;
	}
	if (index != NULL)
		RelationClose(index);
	if (scan->method == NULL)
	{
		UnlockRelationOid(candidate->index, AccessShareLock);
		return false;
	}
	scan->index = candidate->index;
	if (!scan->point->query->is_shown_only)
		FindKey(scan, candidate->condition);
	return true;
}

static bool
OpenIndex(KeyedScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->point->query->context);
	ListCell   *lc;

	foreach(lc, scan->candidates)
		if (OpenCandidate(scan, lfirst(lc)))
			break;
	if (scan->method != NULL)
		scan->scratch = AllocSetContextCreate(CurrentMemoryContext, "runtime filter key", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
	return scan->method != NULL;
}

/* No scan is tested any more. */
static void
StopTests(KeyedScan *scan)
{
	FilterPoint *point = scan->point;

	point->own = scan->own;
	if (point->n_filters == 0 && point->builds == NIL)
		ExecSetExecProcNode(point->ps, scan->own);
}

/* The fastest lately: others may have waited for a processor. */
static double
Faster(double before, instr_time start)
{
	double		now = NanosecondsSince(start);

	return before == 0 ? now : Min(now, before * 1.25);
}

/* What tests cost must be saved, and they must not be in vain. */
static bool
SkipTooFew(const KeyedScan *scan)
{
	double		part = (double) scan->skipped / scan->tested;

	return bloomx_runtime_filter_min_removed > 0 &&
		(part < bloomx_runtime_filter_min_removed || part * scan->scan_time < scan->test_time);
}

static void
CountTest(KeyedScan *scan, bool is_skipped)
{
	scan->tested++;
	scan->skipped += is_skipped;
	scan->counts[INDEX_SCANS_SKIPPED] += is_skipped;
	if (scan->tested >= (scan->is_sampled ? WINDOW_SAMPLES : WINDOW_TESTS))
	{
		bool		was_sampled = scan->is_sampled;

		scan->is_sampled = SkipTooFew(scan);
		scan->counts[PAUSES] += scan->is_sampled && !was_sampled;
		scan->tested = scan->skipped = 0;
	}
	if (scan->is_sampled)
		scan->untested = pg_prng_uint64_range(&pg_global_prng_state, LEAST_UNTESTED, MOST_UNTESTED);
}

/* False if no row has the key that is sought. */
static bool
MayFind(KeyedScan *scan)
{
	Relation	index = RelationIdGetRelation(scan->index);
	MemoryContext old;
	bool		may_find;

	/* this transaction may have dropped it */
	if (index == NULL)
	{
		StopTests(scan);
		return true;
	}
	old = MemoryContextSwitchTo(scan->scratch);
	may_find = scan->method->may_have(scan->opened, index, scan->key->sk_argument);
	MemoryContextSwitchTo(old);
	MemoryContextReset(scan->scratch);
	RelationClose(index);
	return may_find;
}

static TupleTableSlot *ExecKeyedScan(PlanState *ps);

/* A scan begins.  True if it would find nothing. */
static bool
IsInVain(KeyedScan *scan)
{
	FilterPoint *point = scan->point;
	instr_time	start;
	bool		may_find;

	/* the way is shorter if nothing else is done here: now that is known */
	if (scan->counts[INDEX_SCANS]++ == 0 && point->n_filters == 0 && point->builds == NIL)
		ExecSetExecProcNode(point->ps, ExecKeyedScan);
	scan->is_timed = scan->method == NULL && scan->untested <= SCANS_TIMED;
	if (scan->untested > 0)
	{
		scan->untested--;
		return false;
	}
	if (scan->method == NULL && !OpenIndex(scan))
	{
		StopTests(scan);
		return false;
	}
	/* a bitmap scan would do that a moment later */
	if (scan->searches->chgParam != NULL)
		ExecReScan(scan->searches);
	if (!*scan->is_ready || (scan->key->sk_flags & SK_ISNULL) != 0)
		return false;
	scan->is_timed = scan->is_sampled || scan->tested == 0;
	if (scan->is_timed)
		INSTR_TIME_SET_CURRENT(start);
	may_find = MayFind(scan);
	if (scan->is_timed)
		scan->test_time = Faster(scan->test_time, start);
	CountTest(scan, !may_find);
	return !may_find;
}

/* Stands in for the method of the scan. */
static TupleTableSlot *
ExecKeyedScan(PlanState *ps)
{
	KeyedScan  *scan = FindPoint(ps)->of_part;
	TupleTableSlot *slot;
	instr_time	start;

	if (!TupIsNull(((ScanState *) ps)->ss_ScanTupleSlot))
		return scan->own(ps);
	if (IsInVain(scan))
		return NULL;
	if (!scan->is_timed)
		return scan->own(ps);
	INSTR_TIME_SET_CURRENT(start);
	slot = scan->own(ps);
	scan->scan_time = Faster(scan->scan_time, start);
	return slot;
}

/* ---- this part ---- */

static OptionalPart inner;

static void
Consider(FilteredQuery *query, PlanState *ps)
{
	KeyedScan  *scan = palloc0(sizeof(KeyedScan));

	scan->point = GetPoint(query, ps, ExecPoint);
	scan->searches = SearchesOf(ps);
	scan->candidates = FindCandidates(ps);
	scan->own = scan->point->own;
	scan->untested = bloomx_runtime_filter_min_removed == 0 ? 0 : SCANS_BEFORE;
	namestrcpy(&scan->column, get_attname(RelationGetRelid(((ScanState *) ps)->ss_currentRelation),
										  ((Candidate *) linitial(scan->candidates))->column, false));
	if (query->is_shown_only && !OpenIndex(scan))
		return;
	scan->point->own = ExecKeyedScan;
	scan->point->part = &inner;
	scan->point->of_part = scan;
}

/* True if scans of that query may be skipped. */
static bool
MaySkip(const EState *estate)
{
	return key_index_methods != NULL && !IsolationIsSerializable() &&
		estate->es_snapshot != NULL && estate->es_snapshot->snapshot_type == SNAPSHOT_MVCC;
}

static bool
Wants(PlanState *ps)
{
	return MaySkip(ps->state) && FindCandidates(ps) != NIL;
}

/* A scan that found no index to ask, or did not get so far, did nothing. */
static bool
Report(const FilterPoint *point, FilterReport *report)
{
	const KeyedScan *scan = point->of_part;

	report->is_index = true;
	report->role = point->query->role;
	report->join_node = report->site_node = point->ps->plan->plan_node_id;
	namestrcpy(&report->table, exec_rt_fetch(((Scan *) point->ps->plan)->scanrelid, point->ps->state)->eref->aliasname);
	report->column = scan->column;
	report->n_keys = 1;
	strlcpy(report->kind, "index", sizeof(report->kind));
	if (scan->method == NULL)
		return false;
	memcpy(report->counts, scan->counts, sizeof(scan->counts));
	report->processes = scan->counts[INDEX_SCANS] > 0;
	return report->processes > 0 || point->query->is_shown_only;
}

static void
Load(void)
{
	DefineCustomEnumVariable("bloomx.runtime_filter_index_scans",
							 "Lets index scans that start again for each key skip keys that no row has.",
							 "An index on the key's column must say which keys there are, as a bloomset index does.",
							 &is_on, PART_AUTO, part_switch_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

static OptionalPart inner = {.load = Load, .is_on = &is_on, .wants = Wants, .consider = Consider, .report = Report};

static void __attribute__((constructor))
RegisterInner(void)
{
	RegisterPart(&inner);
}
