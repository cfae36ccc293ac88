/*
 * cost.c - what a scan will cost: the slices of each key in every segment,
 * the pending rows, and the TIDs of the rows that match.
 */
#include "pg/index/bloomx/index.h"

#include <math.h>

#include "access/genam.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "core/layouts/hashes.h"
#include "pg/base/objects.h"
#include "pg/functions/functions.h"

/* Keys of a ?| or ?& whose array is not known yet. */
#define UNKNOWN_KEYS 10

/* What one AND of two slices that fill a page costs, in operators. */
#define SLICE_OPERATORS 8

static double
KeysOf(PlannerInfo *root, const RestrictInfo *qual)
{
	Node	   *probe = get_rightop(qual->clause);
	Node	   *value = estimate_expression_value(root, probe);

	if (IsA(value, Const) && IsFilterType(((Const *) value)->consttype))
		return ((Const *) value)->constisnull ? 0 : (double) blx_hashes_count(DatumGetProbe(((Const *) value)->constvalue));
	return IsA(probe, FuncExpr) && WhichFunction(((FuncExpr *) probe)->funcid) == BLOOM_PROBE_ALL ? UNKNOWN_KEYS : 1;
}

/* Pages of slices and of TIDs that are read. */
static double
PagesRead(const Structure *structure, double keys, double matches, double *slices)
{
	double		tids = 0,
				pages = 1 + structure->meta.directory_pages + structure->meta.pending.pages;

	*slices = 0;
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		const Segment *segment = &structure->segments[i];
		double		share = segment->rows / (double) MAX_SEGMENT_ROWS,
					read = keys * structure->geometry.parts;

		if (segment->rows == 0)
			continue;
		tids += TidPages(segment->rows);
		*slices += read * share;
		pages += Min(read, SegmentPages(&structure->geometry, segment->rows));
	}
	/* matches are spread evenly: a page of TIDs is read unless all of its rows miss */
	return pages + tids * (1 - exp(-matches / Max(tids, 1)));
}

void
EstimateCost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
			 Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	List	   *quals = NIL;
	double		keys = 0,
				matches,
				slices = 0,
				pending = 0,
				random_page_cost;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		ListCell   *qual;

		quals = lappend(quals, clause->rinfo);	/* selectivity knows more of f @> v than of f ?& probe */
		foreach(qual, clause->indexquals)
			keys += KeysOf(root, lfirst_node(RestrictInfo, qual));
	}
	*selectivity = clauselist_selectivity(root, add_predicate_to_index_quals(info, quals), info->rel->relid, JOIN_INNER, NULL);
	matches = *selectivity * info->rel->tuples;
	*pages = keys * DEFAULT_PROBES * (1 + info->tuples / MAX_SEGMENT_ROWS);
	if (!info->hypothetical)
	{
		Relation	index = index_open(info->indexoid, NoLock);
		Structure  *structure = ReadStructure(index, NULL);

		*pages = PagesRead(structure, keys, matches, &slices);
		pending = structure->meta.pending.rows;
		index_close(index, NoLock);
	}
	if (loops > 1)
		*pages = index_pages_fetched(*pages * loops, info->pages, info->pages, root) / loops;
	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	*startup = 0;
	*total = *pages * random_page_cost + cpu_operator_cost * (SLICE_OPERATORS * slices + pending * Max(keys, 1)) +
		cpu_index_tuple_cost * matches;
	*correlation = 0;
}
