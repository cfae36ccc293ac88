/*
 * heapscan.c - sequential scans of heaps, which test the rows of a page together.
 *
 * Such a scan finds out which rows of a page are visible all at once, keeps a list
 * of them, and returns them one by one.  So when the first row of a page has come,
 * the keys of all are read from the page, and rows that cannot match are taken off
 * the list.  They cost a test, in which the codes of many are fetched from memory
 * together, but no call of the executor.  The rows that remain cost one comparison
 * each, which finds out whether the page is still the same.
 *
 * Rows are tested before the scan's own conditions then.  If there are any, a
 * filter has to remove more rows to be worth that.  Otherwise it is asked about the
 * rows that the conditions leave (probe.c).
 *
 * The method of the node is replaced as a whole.  To call it for each row, as is
 * done for all other nodes (probe.c), costs 5 ns, which is felt where nothing can be
 * removed.  If another module has put its method there before, then that is called.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "runtimefilter/exec/collect.h"
#include "runtimefilter/exec/probe.h"
#include "runtimefilter/exec/scans.h"
#include "runtimefilter/query/volatility.h"

/*
 * The fraction of rows that a filter must remove to be asked before the scan's own
 * conditions.  A test takes 5 to 10 ns, and the conditions of a row that it removes
 * would take 30 or more.
 */
#define MIN_BATCH_REMOVED 0.25

static TupleTableSlot *ExecHeapPoint(PlanState *ps);

/* ---- the rows of a page ---- */

/* The code of a row's keys; false if one is NULL. */
static inline bool
ReadHeapCode(AppliedFilter *applied, HeapTuple row, TupleDesc desc, uint64 *code)
{
	uint64		combined = 0;

	for (int i = 0; i < applied->n_keys; i++)
	{
		bool		is_null;
		Datum		value = heap_getattr(row, applied->keys[i].column, desc, &is_null);
		uint64		one;

		if (is_null)
			return false;
		one = CodeOf(&applied->row_keys[i].coder, value);
		combined = applied->n_keys == 1 ? one : CombineCodes(combined, one);
	}
	*code = combined;
	return true;
}

/* Writes those of at most KEY_BATCH rows of the page that pass to a list, which may be the same; returns how many they are. */
static int
TestBatch(AppliedFilter *applied, HeapScanDesc scan, const OffsetNumber *rows, int n, OffsetNumber *passing)
{
	Page		page = BufferGetPage(scan->rs_cbuf);
	TupleDesc	desc = RelationGetDescr(scan->rs_base.rs_rd);
	uint64		codes[KEY_BATCH],
				which;
	OffsetNumber tested[KEY_BATCH];
	int			n_tested = 0,
				n_passing = 0;
	HeapTupleData row;

	row.t_tableOid = RelationGetRelid(scan->rs_base.rs_rd);
	ItemPointerSetInvalid(&row.t_self);
	for (int i = 0; i < n; i++)
	{
		ItemId		item = PageGetItemId(page, rows[i]);

		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		row.t_len = ItemIdGetLength(item);
		tested[n_tested] = rows[i];
		n_tested += ReadHeapCode(applied, &row, desc, &codes[n_tested]);
	}
	which = KeySetMayHoldWhich(applied->set, codes, n_tested);
	for (int i = 0; i < n_tested; i++)
	{
		passing[n_passing] = tested[i];
		n_passing += which >> i & 1;
	}
	return n_passing;
}

/* The same of a list of any length, in its place. */
static int
TestRows(AppliedFilter *applied, HeapScanDesc scan, OffsetNumber *rows, int n)
{
	/* a hash function may detoast the value */
	MemoryContext old = MemoryContextSwitchTo(applied->filter->scratch);
	int			n_passing = 0;
	bool		is_timed = TestIsTimed(applied);
	instr_time	start;

	if (is_timed)
		INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < n; i += KEY_BATCH)
		n_passing += TestBatch(applied, scan, rows + i, Min(n - i, KEY_BATCH), rows + n_passing);
	MemoryContextSwitchTo(old);
	MemoryContextReset(applied->filter->scratch);
	if (is_timed)
		CountTime(applied, start, n);
	CountTests(applied, n, n - n_passing);
	return n_passing;
}

/* Filters that have removed little will be asked about the rows that the scan's conditions leave. */
static void
ChooseBatches(FilterPoint *point)
{
	if (point->ps->qual == NULL)
		return;
	for (int i = 0; i < point->n_filters; i++)
		if (point->filters[i]->in_batches && point->filters[i]->removal_rate < MIN_BATCH_REMOVED)
		{
			point->filters[i]->in_batches = false;
			ExecSetExecProcNode(point->ps, ExecHeapPoint);
		}
}

/* A new page's first row has come: tests all of its rows.  False if the present one cannot match. */
static bool
TestPage(FilterPoint *point, HeapScanDesc scan)
{
	OffsetNumber *rows = scan->rs_vistuples + scan->rs_cindex,
				present = rows[0];
	int			n = (int) scan->rs_ntuples - (int) scan->rs_cindex,
				left = n;
	bool		passes;

	point->tested = scan->rs_cblock;
	if (PointPauses(point, n))
		return true;
	for (int i = 0; i < point->n_filters && left > 0; i++)
	{
		AppliedFilter *applied = point->filters[i];

		if (applied->in_batches && FilterIsArmed(applied, left))
			left = TestRows(applied, scan, rows, left);
	}
	if (EndWindows(point))
		ChooseBatches(point);
	if (left == n)
		return true;

	/* the place of the present row stays its own */
	passes = left > 0 && rows[0] == present;
	if (!passes)
		memmove(rows + 1, rows, left * sizeof(OffsetNumber));
	scan->rs_ntuples = scan->rs_cindex + left + !passes;
	InstrCountFiltered1(point->ps, n - left);
	/* the scan has read them: those that it does not return have to be counted here */
	if (pgstat_should_count_relation(scan->rs_base.rs_rd))
		ROWS_READ_OF(scan->rs_base.rs_rd) += n - left - !passes;
	return passes;
}

/* ---- the scan ---- */

/* The scan begins, or filters have become ready or may have other keys.  False if it has nothing to read. */
static bool
ArmScan(FilterPoint *point, bool begins)
{
	ScanState  *node = (ScanState *) point->ps;

	/* no join that has a filter is ever run backwards */
	Assert(ScanDirectionIsForward(node->ps.state->es_direction));
	/* now, not in the middle of a page */
	CompleteSharedFor(point);
	if (point->bounds != NULL && PartitionIsExcluded(point))
		return false;
	if (node->ss_currentScanDesc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(point->query->context);

		node->ss_currentScanDesc = BeginSeqScan(node, node->ss_currentRelation, node->ps.state->es_snapshot);
		MemoryContextSwitchTo(old);
	}
	if (begins)
	{
		point->in_runs = false;
		point->source = node->ss_currentScanDesc;
		if (point->pages != NULL && !BeginPages(point))
			return false;
	}
	/* the rest of a page is tested again with other keys */
	if (begins || point->armed_generation != PointGeneration(point))
		point->tested = InvalidBlockNumber;
	point->armed_since = point->query->completions;
	point->armed_generation = PointGeneration(point);
	return true;
}

/* Fetches the scan's next row that no filter removes. */
static inline TupleTableSlot *
FetchRow(ScanState *node)
{
	FilterPoint *point = FindPoint(&node->ps);
	HeapScanDesc scan = (HeapScanDesc) node->ss_currentScanDesc;
	bool		begins = scan == NULL || !scan->rs_inited;	/* also after a rescan */
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (unlikely(begins || point->armed_since != point->query->completions) && !ArmScan(point, begins))
		return NULL;
	for (;;)
	{
		if (unlikely(!table_scan_getnextslot(point->source, ForwardScanDirection, slot)))
		{
			if (!point->in_runs || !NextRun(point))
				return NULL;
			continue;
		}
		scan = (HeapScanDesc) point->source;
		if (likely(scan->rs_cblock == point->tested) || TestPage(point, scan))
			return slot;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Frees what the expressions of the row before have allocated, if anything. */
static inline void
FreeRowMemory(ExprContext *econtext)
{
	MemoryContext memory = econtext->ecxt_per_tuple_memory;

	if (!memory->isReset || memory->firstchild != NULL)
		MemoryContextReset(memory);
}

/*
 * What ExecScan does.  A row that is checked again after a concurrent update comes
 * from another tree of nodes, which has no filters.
 */
static TupleTableSlot *
ExecHeapScan(PlanState *ps)
{
	ExprContext *econtext = ps->ps_ExprContext;
	ProjectionInfo *projection = ps->ps_ProjInfo;

	Assert(ps->state->es_epq_active == NULL);
	for (;;)
	{
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		FreeRowMemory(econtext);
		slot = FetchRow((ScanState *) ps);
		if (TupIsNull(slot))
			return projection == NULL ? slot : ExecClearTuple(projection->pi_state.resultslot);
		econtext->ecxt_scantuple = slot;
		if (ps->qual == NULL || ExecQual(ps->qual, econtext))
			return projection == NULL ? slot : ExecProject(projection);
		InstrCountFiltered1(ps, 1);
	}
}

/* The same, if other filters are asked about the rows that it returns, or keys are collected there. */
static TupleTableSlot *
ExecHeapPoint(PlanState *ps)
{
	TupleTableSlot *slot = ExecHeapScan(ps);
	FilterPoint *point = FindPoint(ps);

	while (point->n_filters > 0 && !TupIsNull(slot) && !PointPauses(point, 0) && !RowPasses(point, slot))
	{
		InstrCountFiltered1(ps, 1);
		slot = ExecHeapScan(ps);
	}
	return CollectFor(point, slot);
}

/* ---- which scans ---- */

/* True if the filter's keys are columns of the table, which it may see before the scan's conditions do. */
static bool
IsOfPages(const AppliedFilter *applied)
{
	for (int i = 0; i < applied->n_keys; i++)
		if (applied->keys[i].column == 0 || !MayTestEarly(applied->filter->query, applied->row_keys[i].coder.operator))
			return false;
	return true;
}

bool
ConsiderHeapScan(FilterPoint *point)
{
	SeqScanState *node = (SeqScanState *) point->ps;
	bool		all = true;

	/* what the scan computes with side effects has to be computed for all rows */
	if (!IsA(point->ps, SeqScanState) || !IsOfServer(point->own) ||
		node->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine() ||
		!IsMVCCSnapshot(point->query->estate->es_snapshot) ||
		IsVolatile((Node *) point->ps->plan->qual) || IsVolatile((Node *) point->ps->plan->targetlist))
		return false;
	for (int i = 0; i < point->n_filters; i++)
	{
		point->filters[i]->in_batches = IsOfPages(point->filters[i]);
		all = all && point->filters[i]->in_batches;
	}
	ExecSetExecProcNode(point->ps, all && point->builds == NIL ? ExecHeapScan : ExecHeapPoint);
	return true;
}
