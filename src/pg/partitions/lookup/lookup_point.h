/*
 * lookup_point.h - nodes of a statement that is being executed whose children are chosen at each scan.
 */
#pragma once

#include "pg/partitions/lookup/lookup_plan.h"

#include "executor/execPartition.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"

/* An Append or MergeAppend that asks at each scan. */
typedef struct LookupPoint
{
	PlanState  *ps;
	ExecProcNodeMtd own;		/* the node's method before */
	int			n;
	PlanState **children;		/* all of them */
	PlanState **chosen;			/* room for those that the node has now */
	Bitmapset  *always;			/* children without the condition */
	PartitionPruneState *pruning;	/* the node's own, taken from it; or NULL */
	const TableLookup *lookup;
	Oid			table;
	LookupValue value;
	bool		is_searched;	/* the value, in an index, when the first child begins */
	ExprState  *state;
	ExprContext *expression;
	NumberedLeaves leaves;
	ColumnNumbers columns;
	MemoryContext of_question;	/* reset before each question */
	Bitmapset  *valid;			/* the children's numbers in the node's array, as it is now */
	uint64		scans,
				scanned;		/* children of all scans */
} LookupPoint;

/* A statement that is being executed. */
typedef struct StartedLookup
{
	EState	   *estate;
	List	   *questions;		/* of its plan */
	List	   *points;
	dlist_node	node;
	MemoryContextCallback at_end;
} StartedLookup;

extern StartedLookup *NewStartedLookup(EState *estate);
extern StartedLookup *FindStartedLookup(const EState *estate);

extern TupleTableSlot *ExecLookupPoint(PlanState *ps);
