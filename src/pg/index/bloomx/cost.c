/*
 * cost.c - what a scan will cost: the slices of each key in every segment, the
 * pending rows, and the TIDs of the rows that match.
 */
#include "pg/index/bloomx/bloomx.h"

#include <math.h>

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "core/layouts/growing/hashes.h"
#include "pg/base/objects.h"
#include "pg/index/bloomx/condition/scan_condition.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/entries.h"
#include "pg/value/value.h"

/* Keys of a ?|, ?& or && whose right side is not known yet: what PostgreSQL assumes of an array (estimate_array_length). */
#define UNKNOWN_KEYS 10

/*
 * The AND of two slices that fill a page, in units of cpu_operator_cost.  That is
 * a thousand words, a few at a time, in the time of some ordinary operators.  The
 * term only has to rank scans of many keys and segments; pages dominate it.
 */
#define SLICE_OPERATORS 8

/* What a pending row of values is thought to take: to look through these words costs about one operator. */
#define WORDS_PER_ROW 8

/* ---- filters ---- */

/* The keys of a filter on the right side: of ?& it is a set, of && any filter, of which a scan reads a slice per bit. */
static double
KeysOfFilter(const blx_filter *f)
{
	if (f->layout == BLX_HASHES)
		return (double) blx_hashes_count(f);
	return f->layout == BLX_PARTITIONED_BLOCKED ? (double) blx_bits_set(f) / f->parts : 1;
}

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
		return ((Const *) value)->constisnull ? 0 : KeysOfFilter(DatumGetFilter(((Const *) value)->constvalue));
	if (IsA(qual->clause, OpExpr) && WhichFunction(get_opcode(((OpExpr *) qual->clause)->opno)) == BLOOM_OVERLAPS)
		return UNKNOWN_KEYS;
	return IsA(probe, FuncExpr) && WhichFunction(((FuncExpr *) probe)->funcid) == BLOOMX_PROBE_ALL ? UNKNOWN_KEYS : 1;
}

/* What a scan costs. */
typedef struct Estimate
{
	double		pages;
	double		operators;		/* in units of cpu_operator_cost */
	double		found;			/* rows, or entries */
} Estimate;

/*
 * A scan that looks up keys, and finds some of an index's entries: the pages of slices, of TIDs,
 * and of pending rows, which take a number of words for each operator.  A hypothetical index
 * (NULL) has no segments to look at: as if they were full.
 */
static Estimate
EstimateScan(const BloomxDirectory *directory, uint32 parts, double entries, double keys, double found, double words)
{
	Estimate	estimate = {.found = found};
	double		tids = 0;

	if (directory == NULL)
	{
		estimate.pages = keys * parts * (1 + entries / MAX_SEGMENT_ROWS);
		return estimate;
	}
	estimate.pages = 1 + directory->meta.directory_pages + BloomxAllPendingPages(&directory->meta);
	estimate.operators = directory->pending_words / words * Max(keys, 1);
	for (uint32 i = 0; i < directory->meta.segments; i++)
	{
		const BloomxSegment *segment = &directory->segments[i];

		if (segment->rows == 0)
			continue;
		tids += BloomxTidPages(segment->rows);
		estimate.operators += SLICE_OPERATORS * keys * parts * segment->rows / MAX_SEGMENT_ROWS;
		estimate.pages += Min(keys * parts, BloomxSegmentPages(segment));
	}
	/* matches are thought to be spread evenly: a page of TIDs is read unless none of its rows matches */
	estimate.pages += tids * (1 - exp(-found / Max(tids, 1)));
	return estimate;
}

/* What the conditions on filters cost.  The directory of a hypothetical index is NULL. */
static Estimate
EstimateFilters(PlannerInfo *root, const IndexPath *path, const BloomxDirectory *directory, double share)
{
	IndexOptInfo *info = path->indexinfo;
	double		keys = 0;
	ListCell   *lc,
			   *qual;

	foreach(lc, path->indexclauses)
		foreach(qual, lfirst_node(IndexClause, lc)->indexquals)
			keys += KeysOf(root, lfirst_node(RestrictInfo, qual));
	return EstimateScan(directory, directory == NULL ? DEFAULT_PARTS : directory->geometry.parts, info->tuples, keys, share * info->rel->tuples, 1);
}

/* ---- values ---- */

/* What the conditions of a scan ask of values. */
typedef struct ValueConditions
{
	Relation	index;			/* NULL: a hypothetical one */
	BloomxColumns *columns;
	double		rows_per_block;
	double		rate;			/* of an entry, for one key */
	double		keys;			/* that are looked up */
	double		share;			/* of the blocks that meet all conditions */
} ValueConditions;

/*
 * The share of entries that meet a condition by false positives, as if keys were independent;
 * 1 if it says nothing.  Adds up the leaves, too: the keys that are looked up.
 */
static double
FalsePositiveShare(const KeyCondition *condition, double rate, double *keys)
{
	double		share = condition->kind == HAS_ANY ? 0 : 1;	/* of no parts */

	check_stack_depth();
	switch (condition->kind)
	{
		case ANY_VALUE:
			return 1;
		case NO_VALUE:
			return 0;
		case HAS_KEY:
		case HAS_BIT:
			*keys += 1;
			return rate;
		case HAS_ALL:
			for (uint32 i = 0; i < condition->n; i++)
				share *= FalsePositiveShare(condition->parts[i], rate, keys);
			return share;
		case HAS_ANY:
			for (uint32 i = 0; i < condition->n; i++)
				share += FalsePositiveShare(condition->parts[i], rate, keys);
			return Min(1, share);
	}
	return share;
}

/* The same of a condition as the planner has it; one key if its right side is not known. */
static double
ShareOfQual(PlannerInfo *root, ValueConditions *conditions, int column, const RestrictInfo *qual, double *keys)
{
	const OpExpr *clause = (const OpExpr *) qual->clause;
	ScanKeyData key = {.sk_attno = column + 1};
	Node	   *value;
	const KeyCondition *condition;
	Oid			left;

	*keys = 1;
	if (IsA(clause, NullTest))
		return ((NullTest *) clause)->nulltesttype == IS_NULL ? conditions->rate : 1;
	if (IsA(clause, ScalarArrayOpExpr))
	{
		*keys = ESTIMATE_ARRAY_LENGTH(root, (Node *) lsecond(((ScalarArrayOpExpr *) clause)->args));
		return Min(1, *keys * conditions->rate);
	}
	if (!IsA(clause, OpExpr) || conditions->index == NULL)
		return conditions->rate;
	value = estimate_expression_value(root, get_rightop((Expr *) clause));
	if (!IsA(value, Const) || ((Const *) value)->constisnull)
		return conditions->rate;
	get_op_opfamily_properties(clause->opno, conditions->index->rd_opfamily[column], false, &(int) {0}, &left, &key.sk_subtype);
	key.sk_strategy = get_op_opfamily_strategy(clause->opno, conditions->index->rd_opfamily[column]);
	condition = BloomxConditionOfValue(conditions->index, conditions->columns, &key, ((Const *) value)->constvalue);
	*keys = 0;
	return FalsePositiveShare(condition, conditions->rate, keys);
}

static double
SelectivityOfOperator(PlannerInfo *root, const IndexOptInfo *info, Oid operator, Node *left, Node *right, Oid collation)
{
	Expr	   *clause = make_opclause(operator, BOOLOID, false, (Expr *) left, (Expr *) right, InvalidOid, collation);

	return clause_selectivity(root, (Node *) clause, info->rel->relid, JOIN_INNER, NULL);
}

/*
 * The share of rows that the keys of a condition tell from others: those that meet it.  For
 * `column <@ array` the rows that have any of the elements, and those that have none.
 */
static double
RowsOfQual(PlannerInfo *root, const IndexOptInfo *info, const IndexClause *clause, const RestrictInfo *qual)
{
	const OpExpr *op = (const OpExpr *) qual->clause;
	Node	   *left,
			   *empty;

	if (!IsA(op, OpExpr) || op->opno != OID_ARRAY_CONTAINED_OP)
		return clause_selectivity(root, (Node *) clause->rinfo, info->rel->relid, JOIN_INNER, NULL);
	left = linitial(op->args);
	empty = (Node *) makeConst(exprType(left), -1, op->inputcollid, -1,
							   PointerGetDatum(construct_empty_array(get_base_element_type(exprType(left)))), false, false);
	return SelectivityOfOperator(root, info, OID_ARRAY_OVERLAP_OP, left, lsecond(op->args), op->inputcollid) +
		SelectivityOfOperator(root, info, ARRAY_EQ_OP, left, empty, op->inputcollid);
}

/*
 * A block meets a condition if one of its rows does, or by a false positive.  Of two
 * conditions the rows may be different ones.
 */
static void
AddClause(PlannerInfo *root, const IndexOptInfo *info, ValueConditions *conditions, const IndexClause *clause)
{
	ListCell   *lc;

	foreach(lc, clause->indexquals)
	{
		const RestrictInfo *qual = lfirst_node(RestrictInfo, lc);
		double		keys,
					rows = RowsOfQual(root, info, clause, qual),
					of_blocks = 1 - pow(1 - Min(rows, 1), conditions->rows_per_block),
					false_positives = ShareOfQual(root, conditions, clause->indexcol, qual, &keys);

		conditions->share *= Min(1, of_blocks + false_positives);
		conditions->keys += keys;
	}
}

/*
 * A search of values returns whole blocks.  The planner reckons with rows: it takes
 * 2 B n / (2 B + n) of B blocks for n rows.  So it is told as many rows as give the
 * right number of blocks, and the rows that are looked at in these blocks are paid
 * here.
 */
static void
EstimateBlocks(const IndexPath *path, double share, Cost *total, Selectivity *selectivity)
{
	const IndexOptInfo *info = path->indexinfo;
	double		blocks = Max(info->rel->pages, 1),
				tuples = Max(info->rel->tuples, 1);

	*total += share * tuples * (cpu_tuple_cost + list_length(path->indexclauses) * cpu_operator_cost);
	*selectivity = Min(1, Max(*selectivity, 2 * share / (2 - share) * blocks / tuples));
}

/* What the conditions on values cost; *share becomes that of the blocks.  Without any conditions, every row is found. */
static Estimate
EstimateValues(PlannerInfo *root, const IndexPath *path, Relation index, const BloomxDirectory *directory, double *share)
{
	IndexOptInfo *info = path->indexinfo;
	double		blocks = Max(info->rel->pages, 1);
	uint32		parts = directory == NULL ? LEAST_PARTS : directory->meta.keys.parts;
	ValueConditions conditions = {.index = index, .share = 1, .rows_per_block = Max(info->rel->tuples, 1) / blocks};
	ListCell   *lc;

	conditions.columns = index == NULL ? NULL : BloomxOpenColumns(index);
	conditions.rate = pow(0.5, parts == 0 ? LEAST_PARTS : parts);
	foreach(lc, path->indexclauses)
		AddClause(root, info, &conditions, lfirst_node(IndexClause, lc));
	*share = conditions.share;
	return EstimateScan(directory, parts, blocks, conditions.keys, conditions.share * blocks, WORDS_PER_ROW);
}

/*
 * The pages of TOASTed values that a sequential scan reads for conditions on values.  If
 * the bits of the keys would fill more pages than the rows do, the keys come from there.
 */
static double
ToastPages(const IndexPath *path, Relation index, const BloomxDirectory *directory)
{
	Relation	table = table_open(index->rd_index->indrelid, NoLock);
	Oid			toast = table->rd_rel->reltoastrelid;
	double		pages = 0;
	bool		of_varlena = false;
	ListCell   *lc;

	table_close(table, NoLock);
	for (uint32 i = 0; i < directory->meta.segments; i++)
		pages += directory->segments[i].rows * (double) directory->segments[i].slices / (8 * BLCKSZ);
	foreach(lc, path->indexclauses)
		of_varlena |= TupleDescAttr(RelationGetDescr(index), lfirst_node(IndexClause, lc)->indexcol)->attlen == -1;
	if (!OidIsValid(toast) || !of_varlena || pages <= path->indexinfo->rel->pages)
		return 0;
	table = table_open(toast, AccessShareLock);
	pages = RelationGetNumberOfBlocks(table);
	table_close(table, AccessShareLock);
	return pages;
}

/*
 * The planner does not know that a sequential scan reads these pages, too.  So of what
 * this scan costs, with its share of them, it is told the part that it knows of the
 * sequential scan.
 */
static Cost
InProportion(const IndexOptInfo *info, Cost total, double share, double toast)
{
	double		page_cost;
	Cost		scan;

	get_tablespace_page_costs(info->rel->reltablespace, NULL, &page_cost);
	toast *= page_cost;
	scan = info->rel->pages * page_cost + info->rel->tuples * (cpu_tuple_cost + cpu_operator_cost);
	return (total + share * toast) * scan / (scan + toast);
}

void
bloomxcostestimate(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
				   Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	Relation	index = info->hypothetical ? NULL : index_open(info->indexoid, NoLock);
	const BloomxDirectory *directory = index == NULL ? NULL : BloomxReadDirectory(index, NULL);
	Estimate	estimate;
	double		share = 1,
				toast = 0,
				random_page_cost;
	List	   *quals = NIL;
	ListCell   *lc;

	/* the original clauses: selectivity knows more about f @> v than about f ?& probe */
	foreach(lc, path->indexclauses)
		quals = lappend(quals, lfirst_node(IndexClause, lc)->rinfo);
	*selectivity = clauselist_selectivity(root, add_predicate_to_index_quals(info, quals), info->rel->relid, JOIN_INNER, NULL);
	*total = 0;
	if (info->opcintype[0] == FilterTypeOid())
		estimate = EstimateFilters(root, path, directory, *selectivity);
	else
	{
		estimate = EstimateValues(root, path, index, directory, &share);
		EstimateBlocks(path, share, total, selectivity);
		toast = directory == NULL ? 0 : ToastPages(path, index, directory);
	}
	if (index != NULL)
		index_close(index, NoLock);

	/* repeated scans find pages in the cache */
	*pages = estimate.pages;
	if (loops > 1)
		*pages = index_pages_fetched(*pages * loops, info->pages, info->pages, root) / loops;
	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	*startup = 0;
	*total += *pages * random_page_cost + cpu_operator_cost * estimate.operators + cpu_index_tuple_cost * estimate.found;
	if (toast > 0)
		*total = InProportion(info, *total, share, toast);
	*correlation = 0;
}
