/*
 * nulls.c - rows without a filter are not in an index of filters.
 *
 * An index of values has every row: NULL is a key.  An index of filters has only rows
 * with a filter.  So the planner must not ask it for those that are NULL, nor
 * for all rows, although the access method can do both.  PostgreSQL asks about that
 * per access method; a hook corrects what it knows of one index.
 */
#include "pg/index/bloomx/bloomx.h"

#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"		/* the hook of PostgreSQL 19 */
#include "optimizer/plancat.h"

#include "pg/base/objects.h"

static RelationHook next_hook;

static void
LearnOfNulls(RELATION_HOOK_PARAMETERS)
{
	ListCell   *lc;

	if (next_hook != NULL)
		next_hook(RELATION_HOOK_ARGUMENTS);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *info = lfirst(lc);

		if ((void (*) (void)) info->amcostestimate == (void (*) (void)) bloomxcostestimate && info->opcintype[0] == FilterTypeOid())
			info->amoptionalkey = info->amsearchnulls = false;
	}
}

void
BloomxInitNulls(void)
{
	next_hook = relation_hook;
	relation_hook = LearnOfNulls;
}
