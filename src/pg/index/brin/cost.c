/*
 * cost.c - how many ranges a scan of a BRIN index of filters reads.
 *
 * PostgreSQL expects of every BRIN index that values lie in the order of the
 * table: the ranges that the rows would fill, divided by the correlation of the
 * column.  That is right for minima and maxima.  A filter excludes a range by what
 * is in it, whatever the order.  With that estimate the planner would never use
 * an index of ids or messages, whose correlation is about 0.
 *
 * So the ranges are estimated here: those that have one of the rows if these are
 * spread at random, and some in vain.  Rows that lie together are in fewer ranges,
 * and then PostgreSQL's estimate may be the lower one.
 */
#include "pg/index/brin/opclass.h"

#include <math.h>

#include "access/brin.h"
#include "access/brin_internal.h"
#include "access/genam.h"
#include "catalog/pg_am.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"		/* the hook of PostgreSQL 19 */
#include "optimizer/plancat.h"
#include "utils/index_selfuncs.h"
#include "utils/rel.h"

/* The share of the other ranges that a scan reads in vain: the default rate of the classes. */
#define READ_IN_VAIN 0.01

static RelationHook next_hook;

static bool
IsOfFilters(Relation index, int column)
{
	return index_getprocinfo(index, column + 1, BRIN_PROCNUM_CONSISTENT)->fn_addr == bloomx_brin_consistent;
}

/* The selectivity of the conditions on columns with filters. */
static Selectivity
SelectivityOfFilters(PlannerInfo *root, IndexPath *path, Relation index)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (IsOfFilters(index, clause->indexcol))
			conditions = lappend(conditions, clause->rinfo);
	}
	return clauselist_selectivity(root, conditions, path->indexinfo->rel->relid, JOIN_INNER, NULL);
}

/*
 * The costs of a bitmap scan are those of the pages that its rows would be on
 * if they were spread at random: 2TN / (2T + N) of T pages for N rows.  The rows
 * of the ranges that are read fill their pages.  So the selectivity is that of
 * the rows which, spread at random, would be on as many pages, and the costs of
 * looking at all the others are added here.
 */
static void
EstimateCost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
			 Selectivity *selectivity, double *correlation, double *pages)
{
	RelOptInfo *rel = path->indexinfo->rel;
	Relation	index = index_open(path->indexinfo->indexoid, NoLock);
	double		rows = Max(rel->tuples, 1),
				table = Max((double) rel->pages, 1),
				matching = SelectivityOfFilters(root, path, index),
				share = 1 - pow(1 - matching, rows / ceil(table / BrinGetPagesPerRange(index))),
				spread;

	index_close(index, NoLock);
	brincostestimate(root, path, loops, startup, total, selectivity, correlation, pages);
	share += READ_IN_VAIN * (1 - share);
	spread = 2 * table * share / (2 - share) / rows;
	spread = Max(spread, matching);
	if (spread >= *selectivity)
		return;
	*selectivity = spread;
	*total += (share - Min(share, spread)) * rows * (cpu_tuple_cost + cpu_operator_cost);
}

/*
 * To open an index takes 0.03 to 0.09 microseconds per plan, where PostgreSQL takes
 * 0.4 to learn of it (tables with 1, 10 and 50 BRIN indexes).  A look into the
 * catalogs for the operator class would not take less.
 */
static bool
HasFilters(const IndexOptInfo *info)
{
	Relation	index;
	bool		found = false;

	if (info->relam != BRIN_AM_OID || info->hypothetical)
		return false;
	index = index_open(info->indexoid, NoLock);
	for (int i = 0; i < info->nkeycolumns; i++)
		found |= IsOfFilters(index, i);
	index_close(index, NoLock);
	return found;
}

static void
LearnOfFilters(RELATION_HOOK_PARAMETERS)
{
	ListCell   *lc;

	if (next_hook != NULL)
		next_hook(RELATION_HOOK_ARGUMENTS);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *info = lfirst(lc);

		if (HasFilters(info))
			info->amcostestimate = EstimateCost;
	}
}

void
InstallBrinCosts(void)
{
	next_hook = relation_hook;
	relation_hook = LearnOfFilters;
}
