/*
 * cost.c - what a scan will cost: the slices of each key in every segment, the
 * pending rows, and the TIDs of the rows that match.
 */
#include "pg/index/bloomx/index.h"

#include <math.h>

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "core/layouts/hashes.h"
#include "pg/base/objects.h"
#include "pg/functions/probe.h"

/* Keys of a ?| or ?& whose array is not known yet: what PostgreSQL assumes of an array (estimate_array_length). */
#define UNKNOWN_KEYS 10

/*
 * The AND of two slices that fill a page, in units of cpu_operator_cost.  That is
 * a thousand words, a few at a time, in the time of some ordinary operators.  The
 * term only has to rank scans of many keys and segments; pages dominate it.
 */
#define SLICE_OPERATORS 8

/* The keys of a condition, as far as they can be known. */
static double
KeysOf(PlannerInfo *root, const RestrictInfo *qual)
{
	Node	   *probe,
			   *value;

	if (IsA(qual->clause, NullTest))
		return 1;
	if (IsA(qual->clause, ScalarArrayOpExpr))
		return ESTIMATE_ARRAY_LENGTH(root, (Node *) lsecond(((ScalarArrayOpExpr *) qual->clause)->args));
	probe = get_rightop(qual->clause);
	value = estimate_expression_value(root, probe);

	if (exprType(value) == TEXTARRAYOID)
		return ESTIMATE_ARRAY_LENGTH(root, value);
	if (IsA(value, Const) && IsFilterType(((Const *) value)->consttype))
		return ((Const *) value)->constisnull ? 0 : (double) blx_hashes_count(DatumGetProbe(((Const *) value)->constvalue));
	return IsA(probe, FuncExpr) && WhichFunction(((FuncExpr *) probe)->funcid) == BLOOM_PROBE_ALL ? UNKNOWN_KEYS : 1;
}

/* The pages that are read: of slices, of TIDs, of pending rows; *slices is the number of slices, in full pages. */
static double
PagesRead(const BloomxStructure *structure, double keys, double matches, double *slices)
{
	double		tids = 0,
				pages = 1 + structure->meta.directory_pages + structure->meta.pending.pages;

	*slices = 0;
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		const BloomxSegment *segment = &structure->segments[i];
		double		share = segment->rows / (double) MAX_SEGMENT_ROWS,
					read = keys * structure->geometry.parts;

		if (segment->rows == 0)
			continue;
		tids += BloomxTidPages(segment->rows);
		*slices += read * share;
		pages += Min(read, BloomxSegmentPages(segment));
	}
	/* matches are thought to be spread evenly: a page of TIDs is read unless none of its rows matches */
	return pages + tids * (1 - exp(-matches / Max(tids, 1)));
}

void
bloomxcostestimate(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
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

	/* the keys that are looked up, and the share of rows that they leave */
	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		ListCell   *qual;

		/* the original clause: selectivity knows more about f @> v than about f ?& probe */
		quals = lappend(quals, clause->rinfo);
		foreach(qual, clause->indexquals)
			keys += KeysOf(root, lfirst_node(RestrictInfo, qual));
	}
	*selectivity = clauselist_selectivity(root, add_predicate_to_index_quals(info, quals), info->rel->relid, JOIN_INNER, NULL);
	matches = *selectivity * info->rel->tuples;

	/* a hypothetical index has no segments to look at: as if they were full, of default signatures */
	*pages = keys * DEFAULT_PARTS * (1 + info->tuples / MAX_SEGMENT_ROWS);
	if (!info->hypothetical)
	{
		Relation	index = index_open(info->indexoid, NoLock);
		BloomxStructure *structure = BloomxReadStructure(index, NULL);

		*pages = PagesRead(structure, keys, matches, &slices);
		pending = structure->pending_words;
		index_close(index, NoLock);
	}

	/* repeated scans find pages in the cache */
	if (loops > 1)
		*pages = index_pages_fetched(*pages * loops, info->pages, info->pages, root) / loops;
	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	*startup = 0;
	*total = *pages * random_page_cost + cpu_operator_cost * (SLICE_OPERATORS * slices + pending * Max(keys, 1)) +
		cpu_index_tuple_cost * matches;
	*correlation = 0;
}
