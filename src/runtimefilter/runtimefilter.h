/*
 * runtimefilter.h - joins that filter one side by the other: a filter, where it is applied, and what
 * state it is in.  README.md has the map of this room and the life of a filter.
 */
#pragma once

#include "pg/base/compat.h"

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "runtimefilter/keys/rowkey.h"

typedef struct RuntimeFilter RuntimeFilter;
typedef struct FilterPoint FilterPoint;
typedef struct AppliedFilter AppliedFilter;
typedef struct FilteredQuery FilteredQuery;
typedef struct PageSkip PageSkip;
typedef struct PartitionBounds PartitionBounds;
struct BuildListener;
struct PushdownTarget;
struct SharedBuild;

/* The settings bloomx.runtime_filter... (query/filter_settings.c) */
extern bool bloomx_runtime_filter;
extern int	bloomx_runtime_filter_min_rows;
extern int	bloomx_runtime_filter_min_pages;
extern double bloomx_runtime_filter_min_removed;
extern bool bloomx_runtime_filter_index_pages;
extern bool bloomx_explain_conditions;

extern void DefineRuntimeFilterSettings(void);

/* ---- a filter: one per join ---- */

/* One of the join's keys. */
typedef struct BuildKey
{
	RowKey		row;			/* of the inner side */
	bool		is_used;		/* some point tests it */
	bool		is_alone;		/* some point tests it by itself */
	KeySet		set;
	ValueOrder *order;			/* if some point wants to know the values */
	uint64		code;			/* of the row that is being collected */
	Datum		value;
} BuildKey;

/* Several keys of the join that one point has all of: their codes as one. */
typedef struct CombinedKey
{
	Bitmapset  *keys;
	KeySet		set;
} CombinedKey;

/* README.md has the events that lead from one to another. */
typedef enum FilterState
{
	FILTER_PLANNED,				/* no keys are known */
	FILTER_COLLECTING,			/* the join's inner side is being read */
	FILTER_COMPLETE,			/* all keys of the present table are in the sets */
	FILTER_GIVEN_UP				/* of the present table there will be no filter */
} FilterState;

struct RuntimeFilter
{
	FilteredQuery *query;
	PlanState  *join;
	HashJoinState *hash_join;	/* the same; NULL if it is a merge join */
	PlanState  *input;			/* whose rows are collected, as they go into a hash table or a sort */
	PlanState  *filtered;		/* the other side of the join */
	void	  **built;			/* where the join keeps that hash table or sort; NULL there: none */
	bool		builds_first;	/* the hash join must not look for an outer row before it builds the table */
	bool		reads_table;	/* the input cannot be a point: the keys are read from the finished table */

	int			n_keys;
	BuildKey   *keys;
	List	   *combined;		/* of CombinedKey */
	BuildKey   *only_integer;	/* all that has to be collected, if that is so simple */
	List	   *listeners;		/* of BuildListener: optional parts */
	struct SharedBuild *shared; /* of a Parallel Hash; else NULL */

	FilterState state;
	uint32		generation;		/* counts completions */
	uint64		rows;			/* collected */
	uint64		timed_row;		/* the first row of those whose keys are timed next */
	instr_time	timed_since;	/* when it came */
	double		timed;			/* nanoseconds for their keys */
	bool		expects_removal;	/* the planner does not expect that each row of the other side has one match */
	double		expected;		/* rows */
	uint64		budget;			/* bytes per set */
	MemoryContext sets;			/* the sets' memory; emptied when the table is built anew */
	MemoryContext scratch;		/* of one row */
	ExprContext *econtext;		/* for keys that are expressions */
};

/*
 * True if the filter holds the keys of the join's present hash table, or sort.  The table's
 * pointer is NULL from a rescan that will build the table anew until that begins.
 * So a filter of the table before is never used, even if the outer side is read in
 * between.
 */
static inline bool
FilterIsReady(const RuntimeFilter *filter)
{
	return filter->state == FILTER_COMPLETE && *filter->built != NULL;
}

/* ---- where it is applied ---- */

/* What is counted.  The names of the columns are in bloomx--1.0.sql, in this order. */
typedef enum FilterCount
{
	ROWS_CHECKED,
	ROWS_REMOVED,
	PAGES,						/* of scans in which the filter asked about page ranges */
	PAGES_SKIPPED,
	PARTITIONS,					/* that were asked about */
	PARTITIONS_SKIPPED,
	PAUSES,
	BYTES_SENT,
	LOOKUPS,					/* outer rows of nested loops for which inner rows were looked up */
	INDEX_SEARCHES,				/* that said which pages of a scan to read */
	INDEX_SCANS,				/* of one key each */
	INDEX_SCANS_SKIPPED,
	N_COUNTS
} FilterCount;

/* One of a filter's keys, as a point has it. */
typedef struct PointKey
{
	BuildKey   *build;
	AttrNumber	column;			/* in the point's table; 0 = not a plain column */
	Node	   *of_table;		/* over the columns of that table, which are Vars of 1; NULL = the point scans no table */
} PointKey;

/* A filter as one point applies it. */
struct AppliedFilter
{
	RuntimeFilter *filter;
	FilterPoint *point;
	int			n_keys;
	PointKey   *keys;
	RowKey	   *row_keys;		/* how these are read from the point's rows */
	KeySet	   *set;			/* against which rows are tested */
	bool		in_batches;		/* the rows of a heap page together */
	bool		asks_pages;		/* about page ranges, or an index for pages */
	Oid			searched;		/* the index that has told the pages last */

	/* of the present window of rows */
	uint32		window_checked,
				window_removed;
	uint32		generation;		/* of the filter, to which the following belongs */
	uint64		paused;			/* rows to pass without a test */
	uint64		pause_left;		/* of the pause, after these */
	uint64		pause;			/* length of the next pause */
	double		removal_rate;		/* in the last window; 1 before it is known, so that each filter is tried */
	double		cost;			/* of a test in this window, in nanoseconds; 0 if it is not measured */
	double		row_cost;		/* what the plan spends on a row from here to the join, in nanoseconds, as the planner expects */

	uint64		counts[N_COUNTS];	/* in this process */
	int			shared_report;	/* number of its report in a parallel query; -1: it has none */
};

/* A plan node whose method is replaced: rows are removed there, or collected, or both. */
struct FilterPoint
{
	PlanState  *ps;
	ExecProcNodeMtd own;		/* the node's method */
	FilteredQuery *query;
	int			n_filters;
	AppliedFilter **filters;	/* in the order of what they remove per cost */
	List	   *builds;			/* RuntimeFilters that collect this node's rows */
	PageSkip   *pages;			/* if page ranges can be skipped */
	PartitionBounds *bounds;	/* if it scans a partition */
	struct PushdownTarget **here;	/* while points are made: the node's target of each key of the join */
	ExecProcNodeMtd gather;		/* of a Gather that starts workers: its method */
	const struct OptionalPart *part;	/* that does something here on its own; NULL: none */
	void	   *of_part;		/* what that part needs */
	int			shared_report;	/* of that part, as of a filter */

	/* while all filters pause: how many rows more, unless some filter gets other keys */
	uint64		paused;
	uint64		paused_since;	/* query->completions when that was looked at */
	uint64		paused_generation;	/* PointGeneration then */

	/* of a sequential scan of a heap */
	BlockNumber tested;			/* this page's rows were tested, or pass without a test */
	uint64		armed_since;	/* query->completions when that was looked at */
	uint64		armed_generation;	/* PointGeneration then */
	bool		in_runs;		/* of pages (pageruns.c) */
	TableScanDesc source;		/* that reads them: the node's own scan, or another */
};
