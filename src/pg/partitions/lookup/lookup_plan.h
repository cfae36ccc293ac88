/*
 * lookup_plan.h - statements that are planned for the partitions which may have a key.
 */
#pragma once

#include "pg/base/base.h"

#include "executor/execdesc.h"
#include "nodes/pathnodes.h"
#include "partitioning/partdesc.h"
#include "utils/snapshot.h"

extern bool bloomx_partition_lookup;

/* ---- lookup_level.c: which partitions stand behind the store's columns ---- */

/* A column of a partitioned table whose index feeds the store. */
typedef struct TableLookup
{
	Oid			root_index;		/* the topmost index, of which the table's own one is a part */
	AttrNumber	attribute;		/* of the table */
	AttrNumber	column;			/* of the index */
} TableLookup;

/* The lookups of a table, which the caller has locked: TableLookup; NIL if it has none.  Cheap for tables that were asked for before. */
extern List *LookupsOf(Oid table);

/* What the store said about some keys.  Candidates are columns of the map that has that serial. */
typedef struct LookupQuestion
{
	Oid			root_index;
	Oid			table;			/* that the statement names; for EXPLAIN and for counts */
	AttrNumber	column;
	int			n_hashes;
	uint64	   *hashes;
	uint64		serial;
	Bitmapset  *candidates;
	int			partitions;		/* that would have been scanned without it, at the first level */
	int			kept;
} LookupQuestion;

/*
 * Asks, and returns true if there is an answer; otherwise each partition is a candidate.  The snapshot is that with
 * which the rows will be read, or InvalidSnapshot if it is not known yet: then the question is asked again.
 */
extern bool AskStore(LookupQuestion *question, Snapshot snapshot);

/*
 * The children, as numbers of the descriptor, that may have rows with the question's keys.  *watched gets the partitioned tables
 * among the descendants, on whose partitions the answer hangs.  False if there is no answer.
 */
extern bool ChildrenToKeep(const LookupQuestion *question, Oid table, PartitionDesc descriptor, Bitmapset **children, List **watched);

/* Leaf partitions, each with a number of the caller's; several may have one number. */
typedef struct NumberedLeaves
{
	int			n;
	Oid		   *tables;
	int		   *numbers;
} NumberedLeaves;

/* What the columns of a map are for such leaves. */
typedef struct ColumnNumbers
{
	uint64		serial;
	int			n_columns;
	int		   *number;			/* of a column; -1: of no such leaf */
	Bitmapset  *unknown;		/* numbers of leaves that have no column: always candidates */
} ColumnNumbers;

extern void NumberColumns(Oid root_index, const NumberedLeaves *leaves, ColumnNumbers *result);
extern Bitmapset *NumbersOfCandidates(const ColumnNumbers *numbers, const Bitmapset *candidates);

/* ---- lookup_prune.c: while a statement is planned ---- */

/* A statement that is being planned. */
typedef struct LookupPlanning
{
	Query	   *parse;			/* that the planner works on */
	bool		may_be_stub;	/* parameters without a value may get their partitions later */
	bool		is_disabled;	/* all partitions */
	Snapshot	snapshot;		/* with which the plan will read, if that is known already */
	ParamListInfo params;		/* the values it will read with, if they are known; the planner may not know them */
	bool		is_stub;
	bool		may_rescan;		/* there is an Append whose children could be chosen at each scan */
	bool		hides_rows;		/* rows are hidden from the role somewhere */
	List	   *questions;		/* of LookupQuestion */
	List	   *watched;		/* partitioned tables of which the plan may have no part */
} LookupPlanning;

extern LookupPlanning *lookup_planning; /* NULL: nothing that could use it */

/*
 * True if the role may read and write these tables; an error if it may not and `fail` is true.  Extensions that watch such
 * checks are not told: this one is not that of the executor, and what they need is not there before a statement starts.
 */
extern bool IsPermitted(List *permissions, bool fail);

/* ---- lookup_clause.c: which keys a condition has ---- */

/* The value that a column must equal, or the array in which its value must be. */
typedef struct LookupValue
{
	Expr	   *expr;
	bool		is_array;
	Oid			operator;		/* with the column on its left */
	Oid			collation;
} LookupValue;

/* The expression below casts that only change the type. */
static inline const Node *
WithoutRelabels(const void *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return expr;
}

/* False if the condition does not compare the column with a constant or parameter. */
extern bool FindLookupValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value);

/* False if it does not compare it with what is the same for all rows of a scan. */
extern bool FindComputedValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value);

/* False if it does not compare it with a column of another table. */
extern bool FindOuterValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value);

/* Sets the question's hashes; false if the store has none for such values, or if they are too many. */
extern bool HashLookupValue(const LookupValue *value, Datum datum, bool is_null, LookupQuestion *question);

/* ---- lookup_attach.c: while it is executed ---- */

/* The executor has started a statement. */
extern void StartLookups(QueryDesc *query, List *questions, bool may_rescan);

/* Gives all nodes their children back: others go through them. */
extern void EndLookups(EState *estate);

/* ---- lookup_counts.c ---- */

typedef enum LookupCount
{
	LOOKUP_QUESTIONS,
	LOOKUP_PARTITIONS,
	LOOKUP_PRUNED,
	LOOKUP_REPLANS,
	LOOKUP_STUBS,
	LOOKUP_COUNTS
} LookupCount;

extern void CountLookups(LookupCount which, uint64 n);

/* ---- what each file does at load time ---- */

extern void InitLookupLevels(void);
extern void InitLookupPruning(void);
extern void InitLookupReplans(void);
extern void InitLookupCosts(void);
extern void InitLookupCounts(void);
extern void InitLookupExplain(void);
