/*
 * heapscan.c - sequential scans of heaps, which test the rows of a page together.
 *
 * Such a scan finds out which rows of a page are visible all at once, keeps a list
 * of them, and returns them one by one.  So when the first row of a page has come,
 * the keys of all are read from the page, and rows that cannot match are taken off
 * the list.  They cost a test, in which the words of many are fetched from memory
 * together, but no call of the executor.  The rows that remain cost one comparison
 * each, which finds out whether the page is still the same.
 *
 * Rows are tested before the scan's own conditions then.  If there are any, a
 * filter has to drop more rows to be worth that.  Otherwise it is asked about the
 * rows that the conditions leave (probe.c).
 *
 * The method of the node is replaced as a whole.  To call it for each row, as is
 * done for all other nodes (site.c), costs 5 ns, which is felt where nothing can be
 * dropped.  If another module has put its method there before, then that is called.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/nodeSeqscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "runtimefilter/runtimefilter.h"
#include "runtimefilter/query/volatility.h"

/*
 * The fraction of rows that a filter must drop to be asked before the scan's own
 * conditions.  A test takes 5 to 10 ns, and the conditions of a row that it drops
 * would take 30 or more.
 */
#define MIN_BATCH_DROP 0.25

static TupleTableSlot *ExecHeapSite(PlanState *ps);

/* ---- the rows of a page ---- */

/* The word of a row's keys; false if one is NULL. */
static inline bool
ReadHeapWord(SiteFilter *sf, HeapTuple row, TupleDesc desc, uint64 *word)
{
	uint64		combined = 0;

	for (int i = 0; i < sf->n_keys; i++)
	{
		bool		is_null;
		Datum		value = heap_getattr(row, sf->columns[i], desc, &is_null);
		uint64		one;

		if (is_null)
			return false;
		one = WordOf(&sf->readers[i], value);
		combined = sf->n_keys == 1 ? one : CombineWords(combined, one);
	}
	*word = combined;
	return true;
}

/* Writes those of at most KEY_BATCH rows of the page that pass to a list, which may be the same; returns how many they are. */
static int
TestBatch(SiteFilter *sf, HeapScanDesc scan, const OffsetNumber *rows, int n, OffsetNumber *passing)
{
	Page		page = BufferGetPage(scan->rs_cbuf);
	TupleDesc	desc = RelationGetDescr(scan->rs_base.rs_rd);
	uint64		words[KEY_BATCH],
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
		n_tested += ReadHeapWord(sf, &row, desc, &words[n_tested]);
	}
	which = KeySetMayHoldWhich(sf->set, words, n_tested);
	for (int i = 0; i < n_tested; i++)
	{
		passing[n_passing] = tested[i];
		n_passing += which >> i & 1;
	}
	return n_passing;
}

/* The same of a list of any length, in its place. */
static int
TestRows(SiteFilter *sf, HeapScanDesc scan, OffsetNumber *rows, int n)
{
	/* a hash function may detoast the value */
	MemoryContext old = MemoryContextSwitchTo(sf->filter->scratch);
	int			n_passing = 0;

	for (int i = 0; i < n; i += KEY_BATCH)
		n_passing += TestBatch(sf, scan, rows + i, Min(n - i, KEY_BATCH), rows + n_passing);
	MemoryContextSwitchTo(old);
	MemoryContextReset(sf->filter->scratch);
	CountTests(sf, n, n - n_passing);
	return n_passing;
}

/* Filters that have dropped little will be asked about the rows that the scan's conditions leave. */
static void
ChooseBatches(Site *site)
{
	if (site->ps->qual == NULL)
		return;
	for (int i = 0; i < site->n_filters; i++)
		if (site->filters[i]->in_batches && site->filters[i]->drop_rate < MIN_BATCH_DROP)
		{
			site->filters[i]->in_batches = false;
			ExecSetExecProcNode(site->ps, ExecHeapSite);
		}
}

/* A new page's first row has come: tests all of its rows.  False if the present one cannot match. */
static bool
TestPage(Site *site, HeapScanDesc scan)
{
	OffsetNumber *rows = scan->rs_vistuples + scan->rs_cindex,
				present = rows[0];
	int			n = (int) scan->rs_ntuples - (int) scan->rs_cindex,
				left = n;
	bool		passes;

	site->tested = scan->rs_cblock;
	if (IsAsleep(site, n))
		return true;
	for (int i = 0; i < site->n_filters && left > 0; i++)
	{
		SiteFilter *sf = site->filters[i];

		if (sf->in_batches && IsAwake(sf, left))
			left = TestRows(sf, scan, rows, left);
	}
	if (EndWindows(site))
		ChooseBatches(site);
	if (left == n)
		return true;

	/* the place of the present row stays its own */
	passes = left > 0 && rows[0] == present;
	if (!passes)
		memmove(rows + 1, rows, left * sizeof(OffsetNumber));
	scan->rs_ntuples = scan->rs_cindex + left + !passes;
	InstrCountFiltered1(site->ps, n - left);
	/* the scan has read them: those that it does not return have to be counted here */
	if (pgstat_should_count_relation(scan->rs_base.rs_rd))
		ROWS_READ_OF(scan->rs_base.rs_rd) += n - left - !passes;
	return passes;
}

/* ---- the scan ---- */

/* The scan begins, or filters have become ready or may have other keys.  False if it has nothing to read. */
static bool
SettleScan(Site *site, bool begins)
{
	ScanState  *node = (ScanState *) site->ps;

	/* no join that has a filter is ever run backwards */
	Assert(ScanDirectionIsForward(node->ps.state->es_direction));
	/* now, not in the middle of a page */
	CollectSharedFor(site);
	if (site->bounds != NULL && PartitionIsExcluded(site))
		return false;
	if (node->ss_currentScanDesc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(site->query->context);

		node->ss_currentScanDesc = BeginSeqScan(node, node->ss_currentRelation, node->ps.state->es_snapshot);
		MemoryContextSwitchTo(old);
	}
	if (begins)
	{
		site->in_runs = false;
		site->reader = node->ss_currentScanDesc;
		if (site->pages != NULL && !BeginPages(site))
			return false;
	}
	/* the rest of a page is tested again with other keys */
	if (begins || site->settled_of != SiteGeneration(site))
		site->tested = InvalidBlockNumber;
	site->settled = completed_filters;
	site->settled_of = SiteGeneration(site);
	return true;
}

/* Fetches the scan's next row that no filter drops. */
static inline TupleTableSlot *
FetchRow(ScanState *node)
{
	Site	   *site = FindSite(&node->ps);
	HeapScanDesc scan = (HeapScanDesc) node->ss_currentScanDesc;
	bool		begins = scan == NULL || !scan->rs_inited;	/* also after a rescan */
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (unlikely(begins || site->settled != completed_filters) && !SettleScan(site, begins))
		return NULL;
	for (;;)
	{
		if (unlikely(!table_scan_getnextslot(site->reader, ForwardScanDirection, slot)))
		{
			if (!site->in_runs || !NextRun(site))
				return NULL;
			continue;
		}
		scan = (HeapScanDesc) site->reader;
		if (likely(scan->rs_cblock == site->tested) || TestPage(site, scan))
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
ExecHeapSite(PlanState *ps)
{
	TupleTableSlot *slot = ExecHeapScan(ps);
	Site	   *site = FindSite(ps);

	while (site->n_filters > 0 && !TupIsNull(slot) && !IsAsleep(site, 0) && !RowPasses(site, slot))
	{
		InstrCountFiltered1(ps, 1);
		slot = ExecHeapScan(ps);
	}
	return CollectFor(site, slot);
}

/* ---- which scans ---- */

/* True if the filter's keys are columns of the table, which it may see before the scan's conditions do. */
static bool
IsOfPages(const SiteFilter *sf)
{
	for (int i = 0; i < sf->n_keys; i++)
		if (sf->columns[i] == 0 || !MayLookAhead(sf->filter->query, sf->readers[i].operator))
			return false;
	return true;
}

/*
 * True if the method is one of the server, not of another module.  To ask for the
 * program that a function is in takes some 10 us, so answers are kept: PostgreSQL 18
 * has four methods of sequential scans, older versions one.
 */
static bool
IsOfServer(ExecProcNodeMtd method)
{
	static ExecProcNodeMtd known[4];
	static int	n_known = 0;
	Dl_info		server,
				its;

	for (int i = 0; i < n_known; i++)
		if (known[i] == method)
			return true;
	if (dladdr((void *) ExecInitSeqScan, &server) == 0 || dladdr((void *) method, &its) == 0 ||
		server.dli_fbase != its.dli_fbase)
		return false;
	if (n_known < lengthof(known))
		known[n_known++] = method;
	return true;
}

bool
ConsiderHeapScan(Site *site)
{
	SeqScanState *node = (SeqScanState *) site->ps;
	bool		all = true;

	/* what the scan computes with side effects has to be computed for all rows */
	if (!IsA(site->ps, SeqScanState) || !IsOfServer(site->own) ||
		node->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine() ||
		!IsMVCCSnapshot(site->query->estate->es_snapshot) ||
		IsVolatile((Node *) site->ps->plan->qual) || IsVolatile((Node *) site->ps->plan->targetlist))
		return false;
	for (int i = 0; i < site->n_filters; i++)
	{
		site->filters[i]->in_batches = IsOfPages(site->filters[i]);
		all = all && site->filters[i]->in_batches;
	}
	ExecSetExecProcNode(site->ps, all && site->builds == NIL ? ExecHeapScan : ExecHeapSite);
	return true;
}
