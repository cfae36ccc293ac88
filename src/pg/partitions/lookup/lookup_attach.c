/*
 * lookup_attach.c - finds the nodes whose children can be chosen at each scan.
 */
#include "pg/partitions/lookup/lookup_point.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* The attribute of a partition that has the table's attribute's name; partitions may have their columns in another order. */
static AttrNumber
AttributeOf(TupleDesc partition, const char *name)
{
	for (int i = 0; i < partition->natts; i++)
		if (!TupleDescAttr(partition, i)->attisdropped && strcmp(NameStr(TupleDescAttr(partition, i)->attname), name) == 0)
			return i + 1;
	return InvalidAttrNumber;
}

static bool
FindInConditions(List *conditions, Index relid, AttrNumber attribute, LookupValue *value)
{
	ListCell   *lc;

	foreach(lc, conditions)
		if (FindComputedValue(lfirst(lc), relid, attribute, value) && !IsA(value->expr, Const))
			return true;
	return false;
}

/* An index-only scan's conditions name columns of the index. */
static bool
FindInIndexOnlyScan(IndexOnlyScanState *scan, AttrNumber attribute, LookupValue *value)
{
	Relation	index = scan->ioss_RelationDesc;

	/* EXPLAIN opens no index */
	for (int i = 0; index != NULL && i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_index->indkey.values[i] == attribute &&
			FindInConditions(((IndexOnlyScan *) scan->ss.ps.plan)->indexqual, INDEX_VAR, i + 1, value))
			return true;
	return false;
}

/* What the scan searches for in the column; false if that is nothing. */
static bool
FindInSearch(PlanState *ps, AttrNumber attribute, LookupValue *value)
{
	Index		relid = ((Scan *) ps->plan)->scanrelid;

	switch (nodeTag(ps))
	{
		case T_IndexScanState:
			return FindInConditions(((IndexScan *) ps->plan)->indexqualorig, relid, attribute, value);
		case T_BitmapHeapScanState:
			return FindInConditions(((BitmapHeapScan *) ps->plan)->bitmapqualorig, relid, attribute, value);
		case T_IndexOnlyScanState:
			return FindInIndexOnlyScan((IndexOnlyScanState *) ps, attribute, value);
		default:
			return false;
	}
}

/* What the scan wants the column to be; false if it has no such condition. */
static bool
FindInScan(PlanState *ps, AttrNumber attribute, LookupValue *value)
{
	return FindInConditions(ps->plan->qual, ((Scan *) ps->plan)->scanrelid, attribute, value) || FindInSearch(ps, attribute, value);
}

/* True if the scan begins with a search for all that it searches for: not one index after the other, as long as there are rows. */
static bool
BeginsWithSearch(PlanState *ps)
{
	return !IsA(ps, BitmapHeapScanState) || IsA(outerPlanState(ps), BitmapIndexScanState);
}

static bool
IsTableScan(const PlanState *ps)
{
	return (IsA(ps, SeqScanState) || IsA(ps, IndexScanState) || IsA(ps, IndexOnlyScanState) || IsA(ps, BitmapHeapScanState)) &&
		((const ScanState *) ps)->ss_currentRelation != NULL && ps->initPlan == NIL && !ps->plan->parallel_aware;
}

/* Looks for the condition in each child; false if none has it. */
static bool
FindConditions(LookupPoint *point, const char *name)
{
	bool		found = false;
	LookupValue searched;

	point->always = NULL;
	point->is_searched = false;
	for (int i = 0; i < point->n; i++)
	{
		Relation	leaf = ((ScanState *) point->children[i])->ss_currentRelation;
		AttrNumber	attribute = AttributeOf(RelationGetDescr(leaf), name);
		LookupValue value;

		point->leaves.tables[i] = RelationGetRelid(leaf);
		point->leaves.numbers[i] = i;
		if (attribute == InvalidAttrNumber || !FindInScan(point->children[i], attribute, &value) ||
			(found && (!equal(value.expr, point->value.expr) || value.operator != point->value.operator ||
					   value.collation != point->value.collation || value.is_array != point->value.is_array)))
		{
			point->always = bms_add_member(point->always, i);
			continue;
		}
		point->value = value;
		found = true;
		if (i == 0)
			point->is_searched = point->pruning == NULL && BeginsWithSearch(point->children[0]) && FindInSearch(point->children[0], attribute, &searched) &&
				equal(searched.expr, value.expr);
	}
	return found;
}

/* Tries the lookups of the table; true if all or some children have a condition for one of them. */
static bool
FindLookup(LookupPoint *point)
{
	Relation	table = RelationIdGetRelation(point->table);
	bool		found = false;
	ListCell   *lc;

	if (table == NULL)
		return false;
	foreach(lc, LookupsOf(point->table))
	{
		point->lookup = lfirst(lc);
		found = FindConditions(point, NameStr(TupleDescAttr(RelationGetDescr(table), point->lookup->attribute - 1)->attname));
		if (found)
			break;
	}
	RelationClose(table);
	return found;
}

static void
AttachPoint(StartedLookup *started, PlanState *ps, const Bitmapset *relids, PlanState **children, int n, PartitionPruneState **pruning)
{
	EState	   *estate = started->estate;
	RangeTblEntry *rte = bms_membership(relids) == BMS_SINGLETON ? exec_rt_fetch(bms_singleton_member(relids), estate) : NULL;
	LookupPoint *point;

	if (rte == NULL || rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_PARTITIONED_TABLE || n < 2 || LookupsOf(rte->relid) == NIL)
		return;
	for (int i = 0; i < n; i++)
		if (!IsTableScan(children[i]))
			return;
	point = palloc0(sizeof(LookupPoint));
	point->ps = ps;
	point->n = n;
	point->children = children;
	point->chosen = palloc(sizeof(PlanState *) * n);
	point->table = rte->relid;
	point->pruning = *pruning != NULL && (*pruning)->do_exec_prune ? *pruning : NULL;
	point->leaves = (NumberedLeaves) {.n = n, .tables = palloc(sizeof(Oid) * n), .numbers = palloc(sizeof(int) * n)};
	if (!FindLookup(point))
		return;
	point->of_question = AllocSetContextCreate(estate->es_query_cxt, "bloomx question", ALLOCSET_SMALL_SIZES);
	point->state = ExecInitExpr(point->value.expr, NULL);
	point->expression = CreateExprContext(estate);
	point->own = ps->ExecProcNodeReal;
	*pruning = NULL;
	started->points = lappend(started->points, point);
	ExecSetExecProcNode(ps, ExecLookupPoint);
}

static bool
AttachPoints(PlanState *ps, void *arg)
{
	/* workers ask nothing, and the leader would count for EXPLAIN only what they have read of its own children */
	if (IsA(ps, GatherState) || IsA(ps, GatherMergeState))
		return false;
	if (IsA(ps, AppendState))
	{
		AppendState *append = (AppendState *) ps;

		if (append->as_nasyncplans == 0 && !ps->plan->parallel_aware)
			AttachPoint(arg, ps, ((Append *) ps->plan)->apprelids, append->appendplans, append->as_nplans, &append->as_prune_state);
	}
	else if (IsA(ps, MergeAppendState))
	{
		MergeAppendState *append = (MergeAppendState *) ps;

		AttachPoint(arg, ps, ((MergeAppend *) ps->plan)->apprelids, append->mergeplans, append->ms_nplans, &append->ms_prune_state);
	}
	return planstate_tree_walker(ps, AttachPoints, arg);
}

void
StartLookups(QueryDesc *query, List *questions, bool may_rescan)
{
	StartedLookup *started = NewStartedLookup(query->estate);
	MemoryContext old;

	started->questions = questions;
	if (!may_rescan || !bloomx_partition_lookup || query->planstate == NULL)
		return;
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	(void) AttachPoints(query->planstate, started);
	MemoryContextSwitchTo(old);
}
