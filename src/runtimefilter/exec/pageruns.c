/*
 * pageruns.c - scans a table's page ranges that may hold a key.
 *
 * A sequential scan becomes a series of scans over runs of pages.  Ranges are
 * asked about as the scan gets there, and a run grows as the scan proceeds, so that
 * a LIMIT near the start of the table costs nothing.  If the keys are not known when the
 * scan begins, it asks from the next run on.
 *
 * Questions that exclude too few ranges pause, and those that would cost more than they
 * can save are not asked.  What they cost is measured as well.  A question may spend a
 * small part of the time that has passed since the scan began, and what it has saved; it
 * is not asked, or given up, if that is not enough.
 *
 * A serial scan limits its own descriptor to one run after the other.
 *
 * A parallel scan deals out blocks through shared memory, one by one to whoever asks
 * next.  That stays as it is: each participant takes blocks in the same way as the
 * scan itself, and does not read those that it knows to be without a key.  The rest
 * is read through a private scan.  Each block still goes to exactly one participant,
 * so participants may disagree, or not filter at all.  The shared descriptor is
 * never limited.
 *
 * If the keys are few, another index may be searched for the pages that have them (pagelist.c).  Then nothing is
 * asked about ranges.  Before that, so many pages are read as take as long as the search: a LIMIT may be met by
 * then, and what a page takes is known.
 *
 * What a scan is in the statistics: one sequential scan, however many runs it has.
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/executor.h"		/* BeginSeqScan of PostgreSQL 19 */
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/collect.h"
#include "runtimefilter/exec/pagelist.h"
#include "runtimefilter/exec/rangeindex.h"
#include "runtimefilter/exec/scans.h"

/*
 * The pages that a scan reads before it opens an index.  To open one is taken to
 * cost some 40 us, as much as to read 8 pages: whatever comes then, the scan has
 * not cost more than twice of what it had to.
 */
#define PAGES_BEFORE 8

/* The most pages of a run.  Starting a run takes a few microseconds, reading 1024 pages some milliseconds. */
#define LONGEST_RUN 1024

/* The same for a parallel scan, which gets blocks one by one and stops at the end of its chunk anyway. */
#define LONGEST_PARALLEL_RUN 64

/* Nanoseconds to read a cached page and its rows: about what a scan of ordinary rows takes. */
#define PAGE_COST 5000

/* The same of a page that is small work: what a question that excludes it has saved at least. */
#define LEAST_PAGE_COST 1000

/* The most that it is taken to be: a query also waits for its client. */
#define MOST_PAGE_COST 200000

/* Nanoseconds that a question may spend before time has passed, in a large table. */
#define FIRST_ALLOWANCE 20000

/* The ranges after which questions are judged.  The first pause is as long, the longest 64 times as long. */
#define WINDOW_RANGES 64
#define LONGEST_PAUSE (64 * WINDOW_RANGES)

typedef enum ScanMode
{
	SCAN_PLAIN,					/* nothing to skip: the node's own scan */
	SCAN_SERIAL,
	SCAN_PARALLEL
} ScanMode;

/* A key of a filter that an index can be asked about. */
typedef struct Question
{
	AppliedFilter *applied;
	const BuildKey *key;
	RangeIndex *index;
	bool		is_asked,
				is_quick;		/* costs so little that it need not be measured */
	uint32		generation;		/* of the keys, to which the pause belongs */
	BlockNumber range;			/* of the last answer */
	bool		answer;
	uint32		asked,
				excluded;		/* in this window */
	uint32		pause,
				paused;			/* ranges */
	double		balance;		/* nanoseconds saved, less those spent */
	double		needed;			/* more than the last question had, which was given up */
} Question;

struct PageSkip
{
	SeqScanState *node;
	bool		has_ranges;		/* some index has */
	bool		are_open;		/* these indexes */
	instr_time	opened;			/* when that was */
	List	   *questions;
	List	   *searches;		/* of PageSearch: keys that other indexes have */
	PageSearch *search;			/* that may come, when enough pages were read */
	PageSearch *list;			/* that tells the pages from now on */
	ScanMode	mode;
	BlockNumber n_blocks;
	BlockNumber next;			/* of a serial scan */
	BlockNumber pending;		/* taken from a parallel scan, but not read yet */
	BlockNumber longest;		/* the next run */
	TableScanDesc private_scan; /* of a parallel scan */
	uint64		seen;			/* blocks, in all scans, that were read or skipped */
	uint64		seen_before;	/* in those before the present one */
	BlockNumber read;			/* in this scan */
	instr_time	begun;			/* when it has */
};

/* True if an index may be asked about the point's i-th key. */
static bool
CanAskAbout(const AppliedFilter *applied, int i)
{
	const KeyCoder *coder = &applied->row_keys[i].coder;

	return applied->keys[i].of_table != NULL && MayTestEarly(applied->filter->query, coder->operator) &&
		(IsInteger(coder) || applied->keys[i].build->order != NULL);
}

static bool
CanAsk(const AppliedFilter *applied)
{
	for (int i = 0; i < applied->n_keys; i++)
		if (CanAskAbout(applied, i))
			return true;
	return false;
}

/* If the table has an index on the point's i-th key: the filter keeps what that can be asked about. */
static void
PrepareKey(PageSkip *pages, AppliedFilter *applied, int i)
{
	BuildKey   *key = applied->keys[i].build;
	Relation	table = pages->node->ss.ss_currentRelation;
	bool		has_ranges = applied->keys[i].of_table != NULL && HasRangeIndex(table, applied->keys[i].of_table);
	PageSearch *search = NewPageSearch(applied, table, i);

	if (!has_ranges && search == NULL)
		return;
	if (key->order == NULL)
		key->order = MakeValueOrder(&applied->row_keys[i].coder);
	if (!CanAskAbout(applied, i))
		return;
	pages->has_ranges = pages->has_ranges || has_ranges;
	if (search != NULL)
		pages->searches = lappend(pages->searches, search);
}

void
ConsiderPages(FilterPoint *point)
{
	PageSkip   *pages = palloc0(sizeof(PageSkip));

	pages->node = (SeqScanState *) point->ps;
	for (int i = 0; i < point->n_filters; i++)
		for (int j = 0; j < point->filters[i]->n_keys; j++)
			PrepareKey(pages, point->filters[i], j);
	if (!pages->has_ranges && pages->searches == NIL)
		return;
	point->pages = pages;
	if (pages->has_ranges && XLogRecPtrIsInvalid(point->query->position))
		point->query->position = PositionOfSnapshot(point->query->estate->es_snapshot);
}

/* ---- questions ---- */

static void
OpenQuestions(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	MemoryContext old = MemoryContextSwitchTo(point->query->context);

	pages->are_open = true;
	INSTR_TIME_SET_CURRENT(pages->opened);
	for (int i = 0; i < point->n_filters; i++)
		for (int j = 0; j < point->filters[i]->n_keys; j++)
		{
			AppliedFilter *applied = point->filters[i];
			List	   *indexes = NIL;
			ListCell   *lc;

			if (CanAskAbout(applied, j))
				indexes = OpenRangeIndexes(point->query, pages->node->ss.ss_currentRelation, applied->keys[j].of_table, &applied->row_keys[j].coder);
			foreach(lc, indexes)
			{
				Question   *question = palloc0(sizeof(Question));

				question->applied = applied;
				question->key = applied->keys[j].build;
				question->index = lfirst(lc);
				pages->questions = lappend(pages->questions, question);
			}
		}
	MemoryContextSwitchTo(old);
}

static bool
IsAskedAbout(PageSkip *pages, AppliedFilter *applied)
{
	ListCell   *lc;

	foreach(lc, pages->questions)
		if (((Question *) lfirst(lc))->applied == applied && ((Question *) lfirst(lc))->is_asked)
			return true;
	return false;
}

static bool
AnyFilterIsReady(FilterPoint *point)
{
	bool		any = false;

	for (int i = 0; i < point->n_filters; i++)
		any = any || (FilterIsReady(point->filters[i]->filter) && CanAsk(point->filters[i]));
	return any;
}

/*
 * Chooses what to ask from now on: filters that are ready, if an answer costs less than
 * half of the range.  False if there is nothing to ask.
 */
static bool
ChooseQuestions(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	bool		any = false;
	ListCell   *lc;

	if (!pages->has_ranges || (!pages->are_open && !AnyFilterIsReady(point)))
		return false;
	if (!pages->are_open)
		OpenQuestions(point);
	/* also if no filter is ready any longer: questions of the last scan have answers for its keys */
	foreach(lc, pages->questions)
	{
		Question   *question = lfirst(lc);
		const RuntimeFilter *filter = question->applied->filter;

		double		cost = FilterIsReady(filter) ? RangeQuestionCost(question->index, &question->key->set) : INFINITY;

		question->is_asked = cost < (double) PagesPerRange(question->index) * PAGE_COST / 2;
		question->is_quick = cost < LEAST_PAGE_COST || bloomx_runtime_filter_min_removed == 0;
		any = any || question->is_asked;
		if (question->generation == filter->generation)
			continue;
		/* other keys */
		question->generation = filter->generation;
		question->range = InvalidBlockNumber;
		question->paused = question->pause = question->asked = question->excluded = 0;
	}
	for (int i = 0; i < point->n_filters; i++)
		point->filters[i]->asks_pages = point->filters[i]->asks_pages || IsAskedAbout(pages, point->filters[i]);
	return any;
}

/* ---- pages from another index ---- */

/* True if the pages are known that may have a key. */
static bool
ChooseList(PageSkip *pages)
{
	ListCell   *lc;

	pages->list = NULL;
	foreach(lc, pages->searches)
		if (PagesAreListed(lfirst(lc)) && UseFilter(FilterOfSearch(lfirst(lc))->filter))
			pages->list = lfirst(lc);
	return pages->list != NULL;
}

/* What the rest of the scan takes, by what the pages before have taken; by rule before there were any. */
static SearchLimits
LimitsOfSearch(const PageSkip *pages)
{
	HeapScanDesc scan = (HeapScanDesc) pages->node->ss.ss_currentScanDesc;
	double		passed = pages->mode == SCAN_SERIAL ? pages->next : pages->seen - pages->seen_before,
				rest = pages->n_blocks - Min(pages->next, pages->n_blocks),
				spent = pages->read > 0 ? NanosecondsSince(pages->begun) : 0;
	SearchLimits limits = {.page = PAGE_COST};

	/* each process searches by itself, and reads its share */
	if (pages->mode == SCAN_PARALLEL)
		rest = (pages->n_blocks - Min(pg_atomic_read_u64(&((ParallelBlockTableScanDesc) scan->rs_base.rs_parallel)->phs_nallocated),
									  pages->n_blocks)) / (1.0 + max_parallel_workers_per_gather);
	if (spent > 0)
		limits.page = Min(Max(spent / pages->read, LEAST_PAGE_COST), MOST_PAGE_COST);
	limits.rest = rest * limits.page * (spent > 0 ? pages->read / passed : 1);
	return limits;
}

/* Chooses the search for the fewest keys.  False if none would pay. */
static bool
ChooseSearch(PageSkip *pages, const SearchLimits *limits)
{
	uint32		fewest = UINT32_MAX;
	ListCell   *lc;

	pages->search = NULL;
	foreach(lc, pages->searches)
	{
		uint32		n = KeysToSearch(lfirst(lc));

		if (n < fewest && SearchPays(n, limits))
		{
			fewest = n;
			pages->search = lfirst(lc);
		}
	}
	return pages->search != NULL;
}

/* Searches an index, if that is worth it by now. */
static void
SearchInTime(PageSkip *pages)
{
	SearchLimits limits;

	if (pages->searches == NIL || ChooseList(pages))
		return;
	limits = LimitsOfSearch(pages);
	while (ChooseSearch(pages, &limits) &&
		   pages->read >= Min(SearchCost(KeysToSearch(pages->search)) / PAGE_COST, pages->n_blocks / 4))
	{
		AppliedFilter *applied = FilterOfSearch(pages->search);

		if (SearchPages(pages->search, pages->n_blocks, &limits))
		{
			applied->asks_pages = true;
			(void) ChooseList(pages);
			return;
		}
	}
}

/* ---- the answers for a page ---- */

/* How long the question may take, in nanoseconds. */
static double
Allowance(const PageSkip *pages, const Question *question)
{
	double		first = Min((double) pages->n_blocks * LEAST_PAGE_COST / SPENT_PART, FIRST_ALLOWANCE);

	return first + question->balance + NanosecondsSince(pages->opened) / SPENT_PART / list_length(pages->questions);
}

static void
EndQuestionWindow(Question *question)
{
	if (question->excluded < bloomx_runtime_filter_min_removed * question->asked)
	{
		question->pause = question->pause == 0 ? WINDOW_RANGES : Min(question->pause * 2, LONGEST_PAUSE);
		question->paused = question->pause;
	}
	else
		question->pause = 0;
	question->asked = question->excluded = 0;
}

/* Asks about question->range, if there is time.  False if there is none. */
static bool
AskInTime(const PageSkip *pages, Question *question)
{
	double		allowance = question->is_quick ? INFINITY : Allowance(pages, question);
	instr_time	start;
	bool		gave_up = false;

	if (allowance <= question->needed)
		return false;
	INSTR_TIME_SET_CURRENT(start);
	question->answer = RangeMayHold(question->index, &question->key->set, question->range, allowance, &gave_up);
	if (question->is_quick)
		return true;
	question->balance -= NanosecondsSince(start);
	question->needed = gave_up ? 2 * allowance : 0;
	if (!question->answer)
		question->balance += (double) Min(PagesPerRange(question->index), pages->n_blocks - question->range) * LEAST_PAGE_COST;
	return true;
}

/* The answer for a range; true while the question pauses.  (The keys cannot change in the middle of a scan.) */
static bool
RangeMayMatch(PageSkip *pages, Question *question, BlockNumber range)
{
	if (question->range == range)
		return question->answer;
	question->range = range;
	question->answer = true;
	if (question->paused > 0)
	{
		question->paused--;
		return true;
	}
	if (!UseFilter(question->applied->filter))
		return true;
	if (!AskInTime(pages, question))
		return true;
	question->excluded += !question->answer;
	if (++question->asked == WINDOW_RANGES)
		EndQuestionWindow(question);
	return question->answer;
}

/* True if the page may hold a matching row.  The answer holds up to the page *until. */
static bool
PageMayMatch(PageSkip *pages, BlockNumber page, BlockNumber *until)
{
	ListCell   *lc;

	*until = pages->n_blocks;
	if (pages->list != NULL)
	{
		bool		is_listed = PageIsListed(pages->list, page, until);

		if (!is_listed)
			FilterOfSearch(pages->list)->counts[PAGES_SKIPPED] += pages->mode == SCAN_SERIAL ? *until - page : 1;
		return is_listed;
	}
	/* a search comes at the end of a run */
	if (pages->search != NULL && pages->n_blocks - page > PAGES_BEFORE)
		*until = page + PAGES_BEFORE;
	foreach(lc, pages->questions)
	{
		Question   *question = lfirst(lc);
		BlockNumber per_range = PagesPerRange(question->index),
					range = page - page % per_range;
		BlockNumber end = pages->n_blocks - range <= per_range ? pages->n_blocks : range + per_range;

		if (!question->is_asked)
			continue;
		if (!RangeMayMatch(pages, question, range))
		{
			/* the blocks of a parallel scan come one by one */
			question->applied->counts[PAGES_SKIPPED] += pages->mode == SCAN_SERIAL ? end - page : 1;
			*until = end;
			return false;
		}
		*until = Min(*until, end);
	}
	return true;
}

/* ---- runs of pages ---- */

/* The scan counts already. */
static void
UncountSeqScan(Relation table)
{
	if (pgstat_should_count_relation(table))
		SEQSCANS_OF(table)--;
}

/* Limits a scan to a run. */
static void
StartRun(TableScanDesc scan, BlockNumber start, BlockNumber n)
{
	table_rescan_set_params(scan, NULL, true, false, true);
	UncountSeqScan(scan->rs_rd);
	heap_setscanlimits(scan, start, n);
}

/* The next run of a serial scan. */
static bool
NextSerialRun(PageSkip *pages, BlockNumber *start, BlockNumber *n)
{
	BlockNumber until = 0;
	bool		may_match = true;

	while (pages->next < pages->n_blocks)
	{
		may_match = PageMayMatch(pages, pages->next, &until);
		if (may_match)
			break;
		CHECK_FOR_INTERRUPTS();
		pages->next = until;
	}
	if (pages->next >= pages->n_blocks)
		return false;
	*start = pages->next;
	while (may_match && until < pages->n_blocks && until - *start < pages->longest)
	{
		pages->next = until;
		may_match = PageMayMatch(pages, pages->next, &until);
	}
	*n = (may_match ? until : pages->next) - *start;
	pages->next = until;
	pages->longest = Min(pages->longest * 2, LONGEST_RUN);
	return true;
}

/* The next block that a parallel scan gives to this process and that may match. */
static BlockNumber
NextParallelBlock(PageSkip *pages)
{
	HeapScanDesc scan = (HeapScanDesc) pages->node->ss.ss_currentScanDesc;
	BlockNumber block = pages->pending,
				until;

	pages->pending = InvalidBlockNumber;
	while (block == InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		block = table_block_parallelscan_nextpage(scan->rs_base.rs_rd, scan->rs_parallelworkerdata,
												  (ParallelBlockTableScanDesc) scan->rs_base.rs_parallel);
		if (block == InvalidBlockNumber)
			break;
		pages->seen++;
		if (PageMayMatch(pages, block, &until))
			break;
		block = InvalidBlockNumber;
	}
	return block;
}

/* The next run of a parallel scan: blocks that follow one another. */
static bool
NextParallelRun(PageSkip *pages, BlockNumber *start, BlockNumber *n)
{
	*start = NextParallelBlock(pages);
	if (*start == InvalidBlockNumber)
		return false;
	for (*n = 1; *n < pages->longest; (*n)++)
	{
		BlockNumber block = NextParallelBlock(pages);

		if (block != *start + *n)
		{
			pages->pending = block;
			break;
		}
	}
	pages->longest = Min(pages->longest * 2, LONGEST_PARALLEL_RUN);
	return true;
}

bool
NextRun(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	BlockNumber start,
				n;
	bool		found;
	ListCell   *lc;

	/* a serial scan has read its first pages: now it pays to open the indexes */
	(void) ChooseQuestions(point);
	SearchInTime(pages);
	found = pages->mode == SCAN_SERIAL ? NextSerialRun(pages, &start, &n) : NextParallelRun(pages, &start, &n);
	foreach(lc, pages->questions)
		ReleaseRangePage(((Question *) lfirst(lc))->index);
	pages->read += found ? n : 0;
	if (found)
		StartRun(pages->mode == SCAN_SERIAL ? pages->node->ss.ss_currentScanDesc : pages->private_scan, start, n);
	else if (pages->mode == SCAN_PARALLEL)
		((HeapScanDesc) pages->node->ss.ss_currentScanDesc)->rs_inited = false; /* as at the end of its own */
	return found;
}

/* ---- the scan ---- */

/* True if no index is asked or searched: the scan goes its own way. */
static bool
NothingToSkip(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	SearchLimits limits = {.page = PAGE_COST, .rest = (double) pages->n_blocks * PAGE_COST};
	bool		asks = ChooseQuestions(point);

	return !asks && !ChooseList(pages) && !ChooseSearch(pages, &limits);
}

/* False if there is no page to read. */
static bool
BeginSerial(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	SeqScanState *node = pages->node;

	pages->n_blocks = ((HeapScanDesc) node->ss.ss_currentScanDesc)->rs_nblocks;
	if (pages->n_blocks < bloomx_runtime_filter_min_pages || pages->n_blocks == 0)
		return true;
	if (!AnyFilterIsReady(point))
	{
		/* a scan that begins where others are stays with them */
		if (((HeapScanDesc) node->ss.ss_currentScanDesc)->rs_startblock != 0)
			return true;
	}
	else if ((pages->are_open || !pages->has_ranges) && NothingToSkip(point))
		return true;
	pages->mode = SCAN_SERIAL;
	pages->seen += pages->n_blocks;
	pages->longest = 1;
	pages->next = 0;
	if (pages->are_open || pages->n_blocks <= PAGES_BEFORE || ChooseList(pages))
		return NextRun(point);
	/* the first pages are read before anything is asked */
	StartRun(node->ss.ss_currentScanDesc, 0, PAGES_BEFORE);
	pages->next = pages->read = PAGES_BEFORE;
	return true;
}

/* The same. */
static bool
BeginParallel(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	HeapScanDesc scan = (HeapScanDesc) pages->node->ss.ss_currentScanDesc;
	ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;

	pages->n_blocks = shared->phs_nblocks;
	if (pages->n_blocks < bloomx_runtime_filter_min_pages || pages->n_blocks == 0)
		return true;
	if (AnyFilterIsReady(point) && NothingToSkip(point))
		return true;
	pages->longest = PAGES_BEFORE;
	if (pages->private_scan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(point->query->context);

		pages->private_scan = BeginSeqScan(&pages->node->ss, scan->rs_base.rs_rd, point->query->estate->es_snapshot);
		UncountSeqScan(scan->rs_base.rs_rd);
		MemoryContextSwitchTo(old);
	}
	InitParallelBlocks(scan, shared);
	scan->rs_inited = true;		/* until it is rescanned */
	pages->mode = SCAN_PARALLEL;
	pages->pending = InvalidBlockNumber;
	return NextRun(point);
}

bool
BeginPages(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	bool		has_pages;

	pages->mode = SCAN_PLAIN;
	pages->list = pages->search = NULL;
	pages->read = 0;
	pages->seen_before = pages->seen;
	INSTR_TIME_SET_CURRENT(pages->begun);
	has_pages = pages->node->ss.ss_currentScanDesc->rs_parallel != NULL ? BeginParallel(point) : BeginSerial(point);
	point->in_runs = pages->mode != SCAN_PLAIN;
	if (pages->mode == SCAN_PARALLEL)
		point->source = pages->private_scan;
	return has_pages;
}

uint64
PagesSeen(const AppliedFilter *applied)
{
	return applied->asks_pages ? applied->point->pages->seen : 0;
}

void
EndPages(FilterPoint *point)
{
	PageSkip   *pages = point->pages;
	ListCell   *lc;

	if (pages == NULL)
		return;
	foreach(lc, pages->questions)
		CloseRangeIndex(((Question *) lfirst(lc))->index);
	pages->questions = NIL;
	if (pages->private_scan != NULL)
		table_endscan(pages->private_scan);
	pages->private_scan = NULL;
}
