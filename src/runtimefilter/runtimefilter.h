/*
 * runtimefilter.h - joins that filter one side by the other.
 *
 * While a hash join's inner side is read, or a merge join's outer one, its keys are
 * collected.  Then the rows of the other side whose keys cannot match are dropped
 * where they are read, and page ranges and partitions without such keys are not read
 * at all.  Plans stay as they are: the methods of plan nodes are replaced after the
 * executor has started.
 *
 *   query/filter_settings.c   the settings bloomx.runtime_filter...
 *   keys/keycode.c            values of join keys as 64-bit codes
 *   keys/keyvalues.c          some of the values themselves, in order
 *   keys/keyset.c             a set of such codes: table, bitmap or Bloom filter
 *   query/registry.c          what is known of running queries; finding a node's point
 *   query/volatility.c        what a plan yields, each time that it runs
 *   exec/collect.c            collects the keys of one join
 *   exec/probe.c              tests the rows of a filter point
 *   exec/heapscan.c           sequential scans of heaps, which test the rows of a page together
 *   exec/rangeindex.c         asks a BRIN index whether a page range may hold a key
 *   exec/pageruns.c           scans a table's page ranges that may
 *   exec/partitions.c         asks whether a partition may
 *   exec/site.c               the method that stands in for a node's own
 *   plan/pushdown.c           finds the points of a key below a join
 *   plan/grouping.c           which groups may lose rows to a filter
 *   plan/joins.c              finds the joins of a query that can have a filter
 *   report/report.c           what a filter did at a filter point
 *   report/totals.c           what all filters did, of the session and of the server
 *   report/statement.c        what the filters of the last statement did
 *   report/explain.c          the same in EXPLAIN
 *   parallel/sharedbuild.c    the keys of one join, from the processes that read them
 *   parallel/workers.c        what the processes of a parallel query tell one another
 *   remote/sentkeys.c         the keys as a value of type bloomfilter
 *   remote/remotesql.c        one more condition in the text of a remote query
 *   remote/remote.c           sends that value with the query of a foreign scan
 *   hooks.c                   the server's hooks
 *
 * A runtime filter lives in the memory of its query (es_query_cxt).
 */
#ifndef RUNTIMEFILTER_H
#define RUNTIMEFILTER_H

#include "pg/base/compat.h"

#include "access/tableam.h"
#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"
#include "storage/dsm.h"
#include "storage/spin.h"
#include "utils/dsa.h"

#include "runtimefilter/keys/keyset.h"
#include "runtimefilter/keys/keycode.h"

#pragma GCC visibility push(hidden)

typedef struct RuntimeFilter RuntimeFilter;
typedef struct FilterPoint FilterPoint;
typedef struct AppliedFilter AppliedFilter;
typedef struct FilteredQuery FilteredQuery;
typedef struct PageSkip PageSkip;
typedef struct PartitionBounds PartitionBounds;
typedef struct SharedQuery SharedQuery;
typedef struct SentKeys SentKeys;
typedef struct SharedBuild SharedBuild;

/*
 * What a filter spends before it is known to help: this part of the time that the query
 * takes anyway.
 */
#define SPENT_PART 64

static inline double
NanosecondsSince(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now) * 1e9;
}

/* ---- query/filter_settings.c ---- */

extern bool bloomx_runtime_filter;
extern int	bloomx_runtime_filter_min_rows;
extern int	bloomx_runtime_filter_min_pages;
extern double bloomx_runtime_filter_min_drop;
extern int	bloomx_runtime_filter_remote_size;
extern bool bloomx_runtime_filter_log;

extern void DefineRuntimeFilterSettings(void);

/* ---- a filter: one per join ---- */

/* One of the join's keys. */
typedef struct BuildKey
{
	AttrNumber	attno;			/* of the inner side's rows; 0: expr computes it */
	ExprState  *expr;
	KeyCoder	coder;			/* of the inner side */
	bool		is_used;		/* some point tests it */
	bool		is_alone;		/* some point tests it by itself */
	KeySet		set;
	ValueOrder *order;			/* if some point wants to know the values */
	SentKeys   *sent;			/* the same keys, if they are sent to another server */
	uint64		code;			/* of the row that is being collected */
	Datum		value;
} BuildKey;

/* Several keys of the join that one point has all of: their codes as one. */
typedef struct CombinedKey
{
	Bitmapset  *keys;
	KeySet		set;
} CombinedKey;

struct RuntimeFilter
{
	FilteredQuery *query;
	PlanState  *join;
	HashJoinState *hash_join;	/* the same; NULL if it is a merge join */
	PlanState  *input;			/* whose rows are collected, as they go into a hash table or a sort */
	PlanState  *filtered;		/* the other side of the join */
	void	  **built;			/* where the join keeps that hash table or sort; NULL there: none */
	bool		builds_first;	/* the hash join must not look for an outer row before it builds the table */
	bool		is_shared;		/* Parallel Hash: each process reads a part of the inner side */
	bool		reads_table;	/* then: all keys are read from the shared table */
	bool		is_given_up;	/* then: there will be no filter of the present table */
	SharedBuild *shared_build;	/* then: where the processes leave their keys; NULL if nowhere */

	int			n_keys;
	BuildKey   *keys;
	List	   *combined;		/* of CombinedKey */
	BuildKey   *only_integer;	/* all that has to be collected, if that is so simple */
	bool		sends_keys;		/* to another server */
	List	   *remote_scans;	/* of RemoteScan: those that must learn of other keys */

	bool		is_collecting;
	bool		is_complete;	/* all keys of the present hash table are in the sets */
	uint32		generation;		/* counts completions */
	uint64		rows;			/* collected */
	double		expected;		/* rows */
	double		most_shared;	/* rows of a shared table that are worth reading */
	uint64		budget;			/* bytes per set */
	MemoryContext sets;			/* the sets' memory; emptied when the table is built anew */
	MemoryContext scratch;		/* of one row */
	ExprContext *econtext;		/* for keys that are expressions */
};

/* A filter as one point applies it. */
struct AppliedFilter
{
	RuntimeFilter *filter;
	FilterPoint *point;
	int			n_keys;
	int		   *keys;			/* numbers in filter->keys */
	AttrNumber *attnos;			/* in the point's rows; 0: exprs[i] computes it */
	ExprState **exprs;			/* NULL if none is needed */
	AttrNumber *columns;		/* in the point's table; 0 = not a plain column */
	Node	  **table_keys;		/* over the columns of that table, which are Vars of 1; NULL = the point scans no table */
	KeyCoder   *coders;			/* of these columns */
	KeySet	   *set;			/* against which rows are tested */
	bool		in_batches;		/* the rows of a heap page together */

	/* of the present window of rows */
	uint32		window_checked,
				window_dropped;
	uint32		generation;		/* of the filter, to which the following belongs */
	uint64		paused;			/* rows to pass without a test */
	uint64		pause;			/* length of the next pause */
	double		drop_rate;		/* in the last window; 1 before it is known, so that each filter is tried */

	/* totals */
	uint64		checked;
	uint64		dropped;
	uint64		pauses;
	uint64		pages_skipped;
	uint64		partitions;		/* that were asked about */
	uint64		partitions_skipped;
	bool		asks_pages;		/* about page ranges */
	int			shared;			/* its place in the counts of the parallel query; -1: it has none */
	uint64		sent;			/* bytes, to another server */
};

/* A plan node whose method is replaced: rows are dropped there, or collected, or both. */
struct FilterPoint
{
	PlanState  *ps;
	ExecProcNodeMtd own;		/* the node's method */
	FilteredQuery *query;
	int			n_filters;
	AppliedFilter **filters;	/* in the order of what they drop per cost */
	List	   *builds;			/* RuntimeFilters that collect this node's rows */
	PageSkip   *pages;			/* if page ranges can be skipped */
	PartitionBounds *bounds;	/* if it scans a partition */
	struct PushdownTarget **here;	/* while points are made: the node's place of each key of the join */
	ExecProcNodeMtd gather;		/* of a Gather that starts workers: its method */

	/* while all filters pause: how many rows more, unless some filter gets other keys */
	uint64		paused;
	uint64		paused_since;	/* completed_filters when that was looked at */
	uint64		paused_generation;	/* PointGeneration then */

	/* of a sequential scan of a heap */
	BlockNumber tested;			/* this page's rows were tested, or pass without a test */
	uint64		armed_since;	/* completed_filters when that was looked at */
	uint64		armed_generation;	/* PointGeneration then */
	bool		in_runs;		/* of pages (pageruns.c) */
	TableScanDesc source;		/* that reads them: the node's own scan, or another */
};

/*
 * True if the filter holds the keys of the join's present hash table, or sort.  The table's
 * pointer is NULL from a rescan that will build the table anew until that begins.
 * So a filter of the table before is never used, even if the outer side is read in
 * between.
 *
 * The server forgets with each build that it need not look for an outer row first,
 * until the outer side yields one.  Here all of its rows may be dropped.  So it is
 * told again, for the next rescan.
 */
static inline bool
FilterIsReady(const RuntimeFilter *filter)
{
	bool		ready = filter->is_complete && *filter->built != NULL;

	if (ready && filter->builds_first)
		filter->hash_join->hj_OuterNotEmpty = true;
	return ready;
}

/* ---- query/registry.c ---- */

struct FilteredQuery
{
	dlist_node	node;
	EState	   *estate;
	MemoryContext context;		/* es_query_cxt */
	MemoryContextCallback at_end;
	List	   *filters;		/* of RuntimeFilter */
	List	   *points;			/* of FilterPoint */
	TimestampTz statement;		/* when the client's statement began */
	dsm_segment *segment;		/* what the processes of a parallel query share; NULL if there is nothing */
	SharedQuery *shared;		/* the same */
	XLogRecPtr	position;		/* PositionOfSnapshot, if page ranges can be skipped */
	double		on_bounds,		/* nanoseconds spent to read bounds of partitions, */
				for_bounds;		/* and that may be spent */
	bool		is_shown_only;	/* by EXPLAIN without ANALYZE */
	Oid			role;			/* whose query it is */
	enum
	{
		HIDING_UNKNOWN, HIDES_NOTHING, HIDES_ROWS
	}			hiding;			/* row-level security or a security barrier */
	dsa_area   *area;			/* in it, for keys; NULL if none are left */
};

/*
 * True if a key may be looked at before, or below, the conditions of the filtered side:
 * no condition hides rows from the user, or the equality is leakproof.
 */
extern bool MayTestEarly(FilteredQuery *query, Oid equality);

/* What is kept of a query that is starting. */
extern FilteredQuery *NewFilteredQuery(EState *estate);

/* True if some query that runs has filters, or might have. */
extern bool AnyFilteredQuery(void);

/* NULL if the query has none. */
extern FilteredQuery *FindFilteredQuery(EState *estate);

/* Sites by node: open addressing with linear probing, at most half full. */
extern FilterPoint **point_slots;
extern uint32 n_point_slots;

static inline uint32
HomeOfPoint(const PlanState *ps)
{
	return (uint32) (((uint64) (uintptr_t) ps * UINT64CONST(0x9E3779B97F4A7C15)) >> 32) & (n_point_slots - 1);
}

/* The point that was looked for last; never NULL. */
extern FilterPoint *last_point;

/* The point of a node; NULL if it has none. */
static inline FilterPoint *
FindPoint(const PlanState *ps)
{
	if (likely(last_point->ps == ps))
		return last_point;
	if (n_point_slots == 0)
		return NULL;
	for (uint32 i = HomeOfPoint(ps); point_slots[i] != NULL; i = (i + 1) & (n_point_slots - 1))
		if (point_slots[i]->ps == ps)
			return last_point = point_slots[i];
	return NULL;
}

/* The point of a node, which is made with that method if there is none. */
extern FilterPoint *GetPoint(FilteredQuery *query, PlanState *ps, ExecProcNodeMtd method);

/* Visits the node and all below it until a visit returns true, and then does the same: each once, also what several subplans share. */
extern bool VisitPlan(PlanState *ps, bool (*visit) (PlanState *ps, void *context), void *context);

/* ---- parallel/sharedbuild.c ---- */

/* The filter of a Parallel Hash, in shared memory. */
struct SharedBuild
{
	int			join_node;
	slock_t		mutex;
	int			begun,			/* processes that have begun with the inner side, */
				ended;			/* and that have left the keys of their part */
	bool		is_given_up;	/* some process does not leave its keys */
	dsa_pointer left;			/* the last keys that were left; they point to others */
};

/* This process begins with the inner side, and is through with its part of it. */
extern void BeginPart(RuntimeFilter *filter);
extern void PublishKeys(RuntimeFilter *filter);

/*
 * Adds the keys of all processes to the filter's empty sets.  False if some are
 * missing.  To be called when the hash table is complete.
 */
extern bool ImportKeys(RuntimeFilter *filter);

/* Before processes start: what others have left is void. */
extern void DiscardKeys(SharedBuild *build, dsa_area *area);

/* ---- exec/collect.c ---- */

/* Counts how often some filter became complete: whatever was learned of filters before may be void. */
extern uint64 completed_filters;

/* Takes one row of the inner side, or its end (no row). */
extern void CollectRow(RuntimeFilter *filter, TupleTableSlot *slot);

/* The same for all joins whose inner side the point is; returns the row. */
static inline TupleTableSlot *
CollectFor(FilterPoint *point, TupleTableSlot *slot)
{
	ListCell   *lc;

	foreach(lc, point->builds)
		CollectRow(lfirst(lc), slot);
	return slot;
}

/* Makes the filter of a Parallel Hash, as soon as the hash table is complete; all such filters of a filter point. */
extern void CollectShared(RuntimeFilter *filter);
extern void CollectSharedFor(FilterPoint *point);

/* The shared hash table will be built anew. */
extern void ForgetShared(RuntimeFilter *filter);

/* ---- exec/probe.c ---- */

/* True if the filter is to be asked now, about that number of rows. */
extern bool FilterIsArmed(AppliedFilter *applied, uint32 rows);

/* Counts tests of rows. */
static inline void
CountTests(AppliedFilter *applied, uint32 checked, uint32 dropped)
{
	applied->checked += checked;
	applied->window_checked += checked;
	applied->dropped += dropped;
	applied->window_dropped += dropped;
}

/* Judges the filters that have been asked often enough since the last time.  False if none has. */
extern bool EndWindows(FilterPoint *point);

/* Another number when some filter of the point has other keys.  (completed_filters counts those of subplans and functions, too.) */
extern uint64 PointGeneration(const FilterPoint *point);

/* Ends the sleep of a filter point if some filter of it has other keys. */
extern void EndPauseEarly(FilterPoint *point);

/* True while all filters of the point pause; counts the rows that pass. */
static inline bool
PointPauses(FilterPoint *point, uint32 rows)
{
	if (point->paused == 0)
		return false;
	if (unlikely(point->paused_since != completed_filters))
		EndPauseEarly(point);
	if (point->paused == 0)
		return false;
	point->paused -= Min(point->paused, rows);
	return true;
}

/* False if the row cannot match, as far as it was not tested with its page. */
extern bool RowPasses(FilterPoint *point, TupleTableSlot *slot);

/* ---- exec/heapscan.c ---- */

/* Prepares a sequential scan of a heap.  False if the point is something else. */
extern bool ConsiderHeapScan(FilterPoint *point);

/* ---- exec/rangeindex.c ---- */

typedef struct RangeIndex RangeIndex;

/* The function by which an index class's summaries are known to be filters of this extension. */
extern void SetFilterFunction(PGFunction function);

/* True if the table has a BRIN index on that key: a column or an expression over columns, which are Vars of 1. */
extern bool HasRangeIndex(Relation table, Node *key);

/* The BRIN indexes that know the values of a key as the coder reads them: a List of RangeIndex. */
extern List *OpenRangeIndexes(const FilteredQuery *query, Relation table, Node *key, const KeyCoder *coder);
extern void CloseRangeIndex(RangeIndex *index);

/* A position in the WAL at which the snapshot saw all transactions that had ended; invalid if none is known, as it is some time after the snapshot was taken. */
extern XLogRecPtr PositionOfSnapshot(Snapshot snapshot);

/* Lets go of the page that the last question has pinned. */
extern void ReleaseRangePage(RangeIndex *index);

/*
 * False if no key of the set is on the pages of the range that begins with that page.
 * True as well if that is not known after so many nanoseconds; *gave_up then.
 */
extern bool RangeMayHold(RangeIndex *index, const KeySet *set, BlockNumber start, double limit, bool *gave_up);

/* What a question costs, in nanoseconds; infinite if the answer would always be yes. */
extern double RangeQuestionCost(const RangeIndex *index, const KeySet *set);
extern BlockNumber PagesPerRange(const RangeIndex *index);

/* ---- exec/pageruns.c ---- */

/* Prepares a sequential scan of a heap to skip pages.  Does nothing where that is not possible. */
extern void ConsiderPages(FilterPoint *point);

/* A scan of the table begins: decides how.  False if it has no page to read. */
extern bool BeginPages(FilterPoint *point);

/* Limits a scan that is in runs of pages to the next one.  False if there is none. */
extern bool NextRun(FilterPoint *point);

/* Gives back what the scan's questions hold. */
extern void EndPages(FilterPoint *point);

/* The pages of the scans in which the filter asked about page ranges. */
extern uint64 PagesSeen(const AppliedFilter *applied);

/* ---- exec/partitions.c ---- */

/* Prepares the scan of a partition.  Does nothing if the table is none. */
extern void ConsiderPartition(FilterPoint *point);

/* True if a filter says that the partition has no matching row. */
extern bool PartitionIsExcluded(FilterPoint *point);

/* ---- remote/remote.c ---- */

/* Sends filters with the query of a foreign scan.  Does nothing where that is not possible. */
extern void ConsiderRemote(FilterPoint *point);

/* The filter is about to be complete: has cursors of other keys closed in time. */
extern void WatchBuild(RuntimeFilter *filter);

/* ---- remote/sentkeys.c: of the keys that are sent, like those of collect.c ---- */

extern void StartSentKeys(RuntimeFilter *filter);
extern void AddSentKeys(RuntimeFilter *filter);
extern void FinishSentKeys(RuntimeFilter *filter);

/* ---- exec/site.c ---- */

/* The method of a filter point. */
extern TupleTableSlot *ExecPoint(PlanState *ps);

/* ---- plan/pushdown.c ---- */

/* A key that a node's rows have: an expression over its columns, which are Vars of OUTER_VAR; and how to read it. */
typedef struct PushdownTarget
{
	PlanState  *ps;
	Node	   *key;
	KeyCoder	coder;
} PushdownTarget;

/*
 * The lowest nodes below an eligible join where a key of the side that it filters
 * can be tested, or a column that equals it: a List of PushdownTarget.  The key is an
 * expression over columns of that side, which are Vars of `side`;
 * is_always_computed says whether the join computes it for each row of that side.
 */
extern List *FindTargets(RuntimeFilter *filter, Node *key, int side, bool is_always_computed, const KeyCoder *coder);

/* The key of a place in terms of the columns of the table that its node scans, which are Vars of 1; NULL if it scans none. */
extern Node *KeyOfTable(PlanState *ps, Node *key);

/* True if each build of the join has the same keys. */
extern bool BuildsAreAlike(const RuntimeFilter *filter);

/* ---- plan/joins.c ---- */

/* Gives filters to the joins of a query that has been started.  leader: see TakeLeadersSegment. */
extern void AttachRuntimeFilters(EState *estate, PlanState *top, dsm_handle leader);

/* ---- report/totals.c ---- */

/* What is counted.  The names of the columns are in bloomx--1.0.sql, in this order. */
typedef enum FilterCount
{
	ROWS_CHECKED,
	ROWS_DROPPED,
	PAGES,
	PAGES_SKIPPED,
	PARTITIONS,
	PARTITIONS_SKIPPED,
	PAUSES,
	BYTES_SENT,
	N_COUNTS
} FilterCount;

/* A filter was applied at a filter point, in a query of that role. */
extern void AddToTotals(Oid role, const uint64 *counts);

/* Asks for the shared memory of the server's totals, while shared_preload_libraries are loaded. */
extern void InstallTotals(void);

/* ---- report/report.c ---- */

/* What a filter did at a filter point. */
typedef struct FilterReport
{
	Oid			role;			/* whose query it was in */
	int			join_node,
				site_node;		/* numbers in the plan */
	NameData	table;			/* its name in the query; empty if the point is no scan */
	NameData	column;			/* the first key's; empty if it is not a plain column */
	int			n_keys;
	char		kind[16];
	uint64		build_rows,
				bytes;
	uint64		counts[N_COUNTS];	/* of all processes */
	int			processes;		/* that asked the filter */
} FilterReport;

/* In this process. */
extern FilterReport MakeOwnReport(const AppliedFilter *applied);

/* One line. */
extern void DescribeFilter(const FilterReport *report, char *line, size_t size);

/* ---- parallel/workers.c ---- */

/*
 * In a parallel worker that starts the plan for which it was made: the segment of
 * the leader's query.  Otherwise, and if the leader has none, DSM_HANDLE_INVALID.
 * To be called before the plan starts, since that may run other queries.
 */
extern dsm_handle TakeLeadersSegment(void);

/* Prepares a query whose points are known to share: as a worker, if there is a leader's segment. */
extern void ShareQuery(FilteredQuery *query, PlanState *top, dsm_handle leader);

/* A worker's query ends: tells the leader what its filters did. */
extern void TellLeader(FilteredQuery *query);

/* What the filter did at the point: in this process, and in those that told it. */
extern FilterReport MakeFilterReport(const AppliedFilter *applied);

extern void DefineWorkerSetting(void);

/* ---- report/statement.c ---- */

/* A query ends: keeps what its filters did. */
extern void ReportQuery(FilteredQuery *query);

/* ---- report/explain.c ---- */

/* The query has run: EXPLAIN ANALYZE will show what the filters did. */
extern void AddNotes(FilteredQuery *query);
extern void InstallExplain(void);

/* ---- hooks.c ---- */

/* When the module is loaded. */
extern void InstallRuntimeFilters(PGFunction filter_function);

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_H */
