/*
 * lookup_prune.c - only the partitions that may have the keys become part of a plan.
 *
 * The planner finds the live partitions of a table by its conditions on the partition key, and opens
 * them one by one.  At each turn it reads the set of live partitions anew, and when the first one has been
 * opened the table's conditions are complete and it asks extensions about that partition.  That is the moment
 * at which the set is reduced.
 *
 * The first partition stays in the set, because it is about to be entered; if it is no candidate, it
 * becomes a relation that has no rows, as after a condition that cannot be true.
 *
 * What is decided here may be outdated when the plan is executed.  The questions are asked again then
 * (lookup_replan.c).
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "pg/base/compat_planner.h"

LookupPlanning *lookup_planning;

static RelationHook next_hook;

/* The table whose first child is `rel`; NULL if that is something else. */
static RelOptInfo *
TableOfFirstChild(PlannerInfo *root, const RelOptInfo *rel, int *first)
{
	AppendRelInfo *link = rel->reloptkind == RELOPT_OTHER_MEMBER_REL && root->append_rel_array != NULL ? root->append_rel_array[rel->relid] : NULL;
	RelOptInfo *table = link == NULL ? NULL : root->simple_rel_array[link->parent_relid];

	if (table == NULL || table->part_rels == NULL)
		return NULL;
	*first = bms_next_member(table->live_parts, -1);
	return *first >= 0 && table->part_rels[*first] == NULL ? table : NULL;
}

/* True if the planner works on the statement that the hook was called for, or on a part of it. */
static bool
IsOurStatement(PlannerInfo *root)
{
	while (root->parent_root != NULL)
		root = root->parent_root;
	return IsSameQuery(root->parse, lookup_planning->parse);
}

/*
 * True if rows may be hidden from the role here.  Then nothing is asked: the plan, its locks and its time would tell whether
 * rows with the key exist.  Conditions are pushed down into a view that is a barrier if they are leakproof, and
 * then are like the view's own.
 */
static bool
HidesRows(const PlannerInfo *root)
{
	ListCell   *lc;

	if (root->qual_security_level > 0)
		return true;
	for (root = root->parent_root; root != NULL; root = root->parent_root)
		foreach(lc, root->parse->rtable)
			if (lfirst_node(RangeTblEntry, lc)->security_barrier)
				return true;
	return false;
}

bool
IsPermitted(List *permissions, bool fail)
{
	ExecutorCheckPerms_hook_type volatile hook = ExecutorCheckPerms_hook;
	volatile bool result = false;

	ExecutorCheckPerms_hook = NULL;
	PG_TRY();
	{
		result = CheckPermissions(permissions, fail);
	}
	PG_FINALLY();
	{
		ExecutorCheckPerms_hook = hook;
	}
	PG_END_TRY();
	return result;
}

/*
 * True if the role may do what the statement does.  That was looked at before it was planned, but the planner has put the
 * bodies of functions into it since.
 */
static bool
StatementIsPermitted(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
		if (!IsPermitted(PermissionsOfQuery(root->parse), false))
			return false;
	return true;
}

/* The same question, if it was asked: a partitioned table's children that are partitioned ask it again. */
static LookupQuestion *
AskedBefore(const LookupQuestion *question)
{
	ListCell   *lc;

	foreach(lc, lookup_planning->questions)
	{
		LookupQuestion *other = lfirst(lc);

		if (other->root_index == question->root_index && other->column == question->column && other->n_hashes == question->n_hashes &&
			memcmp(other->hashes, question->hashes, question->n_hashes * sizeof(uint64)) == 0)
			return other;
	}
	return NULL;
}

/* Asks about a condition of the table; NULL if all its children must be read as far as that condition goes. */
static LookupQuestion *
AskAboutClause(const TableLookup *lookup, const LookupValue *value, Datum datum, bool is_null, Oid table)
{
	LookupQuestion *question = palloc0(sizeof(LookupQuestion)),
			   *before;

	question->root_index = lookup->root_index;
	question->column = lookup->column;
	question->table = table;
	if (!HashLookupValue(value, datum, is_null, question))
		return NULL;
	before = AskedBefore(question);
	if (before != NULL)
		return before;
	if (!AskStore(question, lookup_planning->snapshot))
		return NULL;
	CountLookups(LOOKUP_QUESTIONS, 1);
	return question;
}

typedef struct TableSearch
{
	PlannerInfo *root;
	RelOptInfo *rel;
	RangeTblEntry *rte;
	PartitionDesc descriptor;
	Bitmapset  *keep;			/* children, if some question was answered */
	bool		is_answered;
	bool		has_parameter;	/* some value is not known yet */
} TableSearch;

/* The parameter of the statement, perhaps of a type that is read as the column's; or NULL. */
static const Param *
ExternParameter(const Expr *value)
{
	const Param *param = (const Param *) WithoutRelabels(value);

	return IsA(param, Param) && param->paramkind == PARAM_EXTERN ? param : NULL;
}

/*
 * True if the value is known.  A stub is planned again without the values, as the server plans for any values: with them the
 * planner would compute what may fail, and what no row may need.
 */
static bool
FindDatum(const Expr *value, Datum *datum, bool *is_null)
{
	const Param *param = ExternParameter(value);
	ParamListInfo params = lookup_planning->params;
	ParamExternData room,
			   *data;

	if (IsA(value, Const))
	{
		*datum = ((const Const *) value)->constvalue;
		*is_null = ((const Const *) value)->constisnull;
		return true;
	}
	if (param == NULL || params == NULL || param->paramid > params->numParams)
		return false;
	data = params->paramFetch != NULL ? params->paramFetch(params, param->paramid, true, &room) : &params->params[param->paramid - 1];
	*datum = data->value;
	*is_null = data->isnull;
	return data->ptype == param->paramtype;
}

static void
SearchClause(TableSearch *search, const TableLookup *lookup, Node *clause)
{
	LookupQuestion *question;
	LookupValue value;
	Datum		datum;
	bool		is_null;
	Bitmapset  *children;
	List	   *watched;

	if (!FindLookupValue(clause, search->rel->relid, lookup->attribute, &value))
		return;
	if (!FindDatum(value.expr, &datum, &is_null))
	{
		search->has_parameter |= ExternParameter(value.expr) != NULL;
		return;
	}
	question = AskAboutClause(lookup, &value, datum, is_null, search->rte->relid);
	if (question == NULL || !ChildrenToKeep(question, search->rte->relid, search->descriptor, &children, &watched))
		return;
	if (question->partitions == 0)
	{
		question->partitions = bms_num_members(search->rel->live_parts);
		question->kept = bms_num_members(bms_intersect(search->rel->live_parts, children));
		lookup_planning->questions = lappend(lookup_planning->questions, question);
	}
	lookup_planning->watched = list_concat_unique_oid(lookup_planning->watched, watched);
	search->keep = search->is_answered ? bms_int_members(search->keep, children) : children;
	search->is_answered = true;
}

static void
SearchClauses(TableSearch *search, const List *lookups)
{
	ListCell   *lc,
			   *cond;

	foreach(lc, lookups)
	{
		const TableLookup *lookup = lfirst(lc);

		foreach(cond, search->rel->baserestrictinfo)
			SearchClause(search, lookup, (Node *) lfirst_node(RestrictInfo, cond)->clause);
	}
}

static PartitionDesc
DescriptorOf(PlannerInfo *root, Oid oid)
{
	Relation	table = table_open(oid, NoLock);	/* which the planner has open */
	PartitionDesc descriptor = PartitionDirectoryLookup(root->glob->partition_directory, table);

	table_close(table, NoLock);
	return descriptor;
}

/* Takes out of the table's live children those that no row with the keys can be in. */
static void
ReduceChildren(TableSearch *search, RelOptInfo *child, int first)
{
	RelOptInfo *table = search->rel;
	Bitmapset  *kept;

	if (search->is_answered)
	{
		if (!bms_is_member(first, search->keep))
			mark_dummy_rel(child);
		kept = bms_intersect(table->live_parts, search->keep);
		CountLookups(LOOKUP_PARTITIONS, bms_num_members(table->live_parts));
		CountLookups(LOOKUP_PRUNED, bms_num_members(table->live_parts) - bms_num_members(kept));
		table->live_parts = bms_add_member(kept, first);
	}
	else if (search->has_parameter && lookup_planning->may_be_stub)
	{
		/* nobody executes this plan as it is: the values are known at its start, and it is planned again then */
		table->live_parts = bms_make_singleton(first);
		lookup_planning->is_stub = true;
	}
	lookup_planning->may_rescan |= bms_membership(table->live_parts) == BMS_MULTIPLE;
}

static void
PruneByLookups(PlannerInfo *root, RelOptInfo *child)
{
	int			first;
	RelOptInfo *table = TableOfFirstChild(root, child, &first);
	TableSearch search = {.root = root, .rel = table};
	List	   *lookups;

	if (table == NULL || !IsOurStatement(root) || lookup_planning->is_disabled)
		return;
	search.rte = planner_rt_fetch(table->relid, root);
	if (search.rte->rtekind != RTE_RELATION || search.rte->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	lookups = LookupsOf(search.rte->relid);
	if (lookups == NIL)
		return;
	/* or it will be refused, and until then nothing is told */
	if (HidesRows(root) || !StatementIsPermitted(root))
	{
		lookup_planning->hides_rows = true;
		return;
	}
	/* all of a table that has no rows has none */
	if (IS_DUMMY_REL(table))
		table->live_parts = bms_make_singleton(first);
	if (bms_membership(table->live_parts) != BMS_MULTIPLE)
		return;
	search.descriptor = DescriptorOf(root, search.rte->relid);
	if (search.descriptor->oids[first] != planner_rt_fetch(child->relid, root)->relid)
		return;
	SearchClauses(&search, lookups);
	ReduceChildren(&search, child, first);
}

static void
LearnOfPartitions(RELATION_HOOK_PARAMETERS)
{
	if (next_hook)
		next_hook(RELATION_HOOK_ARGUMENTS);
	if (lookup_planning != NULL)
		PruneByLookups(root, rel);
}

void
InitLookupPruning(void)
{
	next_hook = relation_hook;
	relation_hook = LearnOfPartitions;
}
