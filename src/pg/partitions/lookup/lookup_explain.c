/*
 * lookup_explain.c - in EXPLAIN, which lookups a plan has used.  Since PostgreSQL 18, which asks extensions for more about a node.
 */
#include "pg/partitions/lookup/lookup_point.h"

#include "commands/explain.h"

#ifdef HAS_EXPLAIN_NODE_HOOK

#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "utils/lsyscache.h"

static explain_per_node_hook_type next_node_hook;

static void
ExplainQuestion(const LookupQuestion *question, ExplainState *es)
{
	const char *index = get_rel_name(question->root_index),
			   *table = get_rel_name(question->table);

	if (index == NULL || table == NULL)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainIndentText(es);
		appendStringInfo(es->str, "Partitions Looked Up: %d of %d of %s by index %s\n", question->kept, question->partitions, table, index);
		return;
	}
	ExplainOpenGroup("Partition Lookup", NULL, true, es);
	ExplainPropertyText("Table", table, es);
	ExplainPropertyText("Index", index, es);
	ExplainPropertyInteger("Partitions", NULL, question->partitions, es);
	ExplainPropertyInteger("Candidates", NULL, question->kept, es);
	ExplainCloseGroup("Partition Lookup", NULL, true, es);
}

/* The node with the conditions is often a scan of one partition: the plan's lookups stand at its first node. */
static void
ExplainQuestions(const StartedLookup *started, ExplainState *es)
{
	ListCell   *lc;

	if (started->questions == NIL)
		return;
	ExplainOpenGroup("Partition Lookups", "Partition Lookups", false, es);
	foreach(lc, started->questions)
		ExplainQuestion(lfirst(lc), es);
	ExplainCloseGroup("Partition Lookups", "Partition Lookups", false, es);
}

static void
ExplainPoint(const LookupPoint *point, ExplainState *es)
{
	const char *index = get_rel_name(point->lookup->root_index);

	if (index == NULL)
		return;
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Partitions Looked Up By", index, es);
		if (es->analyze)
		{
			ExplainPropertyUInteger("Lookups", NULL, point->scans, es);
			ExplainPropertyUInteger("Partitions Scanned", NULL, point->scanned, es);
		}
		return;
	}
	ExplainIndentText(es);
	appendStringInfo(es->str, "Partitions Looked Up: at each scan by index %s", index);
	if (es->analyze)
		appendStringInfo(es->str, " (" UINT64_FORMAT " of " UINT64_FORMAT ")", point->scanned, point->scans * point->n);
	appendStringInfoChar(es->str, '\n');
}

static void
ExplainNode(PlanState *ps, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	const StartedLookup *started = FindStartedLookup(ps->state);
	ListCell   *lc;

	if (next_node_hook)
		next_node_hook(ps, ancestors, relationship, plan_name, es);
	if (started == NULL)
		return;
	if (ancestors == NIL && relationship == NULL)
		ExplainQuestions(started, es);
	foreach(lc, started->points)
		if (((LookupPoint *) lfirst(lc))->ps == ps)
			ExplainPoint(lfirst(lc), es);
}

void
InitLookupExplain(void)
{
	next_node_hook = explain_per_node_hook;
	explain_per_node_hook = ExplainNode;
}

#else

void
InitLookupExplain(void)
{
}

#endif
