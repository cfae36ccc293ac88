/*
 * lookup_cost.c - what it costs to read a partitioned table for one key after the other.
 *
 * The server adds up what all partitions cost.  A path with a parameter that is a key of a lookup reads the
 * partitions that have the key, and asks the store, unless a parallel worker takes it.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "catalog/pg_class.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

static set_rel_pathlist_hook_type next_hook;

/* 10 microseconds, if a page in the cache costs 0.01 and takes half a microsecond to be read. */
#define QUESTION_COST (20 * 0.01)

/* The part of the partitions that have other keys and are read nevertheless. */
#define FALSE_CANDIDATES 0.002

/* True if the path takes the column's value from other tables. */
static bool
ComparesColumn(const ParamPathInfo *info, Index relid, List *lookups)
{
	ListCell   *lc,
			   *cond;
	LookupValue value;

	foreach(lc, lookups)
		foreach(cond, info->ppi_clauses)
		if (FindOuterValue((Node *) lfirst_node(RestrictInfo, cond)->clause, relid, ((const TableLookup *) lfirst(lc))->attribute, &value))
			return true;
	return false;
}

static List *
ChildrenOf(Path *path)
{
	if (IsA(path, AppendPath))
		return ((AppendPath *) path)->subpaths;
	return IsA(path, MergeAppendPath) ? ((MergeAppendPath *) path)->subpaths : NIL;
}

/*
 * The path as it is with lookups.  Workers ask nothing, so it is none for them.  Each partition is expected to have a row at
 * least: as many rows say nothing.
 */
static Path *
WithLookups(Path *path)
{
	double		n = list_length(ChildrenOf(path)),
				read = Min(n, Max(path->rows - n, 0) + 1 + n * FALSE_CANDIDATES);
	Size		size = IsA(path, AppendPath) ? sizeof(AppendPath) : sizeof(MergeAppendPath);
	Path	   *result = memcpy(palloc(size), path, size);

	result->startup_cost = path->startup_cost * read / n + QUESTION_COST;
	result->total_cost = path->total_cost * read / n + QUESTION_COST;
	result->parallel_safe = false;
	return result;
}

static void
LearnOfCosts(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List	   *lookups,
			   *paths = NIL;
	ListCell   *lc;

	if (next_hook)
		next_hook(root, rel, rti, rte);
	/* the same tables for which a plan is allowed to choose at each scan */
	if (lookup_planning == NULL || !lookup_planning->may_rescan || lookup_planning->hides_rows || rel->reloptkind != RELOPT_BASEREL ||
		rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_PARTITIONED_TABLE || !rte->inh)
		return;
	lookups = LookupsOf(rte->relid);
	foreach(lc, lookups == NIL ? NIL : rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->param_info != NULL && list_length(ChildrenOf(path)) > 1 && ComparesColumn(path->param_info, rti, lookups))
			paths = lappend(paths, WithLookups(path));
	}
	foreach(lc, paths)
		add_path(rel, lfirst(lc));
}

void
InitLookupCosts(void)
{
	next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = LearnOfCosts;
}
