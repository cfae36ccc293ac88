/*
 * handler.c - the access method bloomset: a Bloom filter of the values of a column, in the
 * pages of an index.
 *
 * PostgreSQL keeps it current as any index.  But it answers no query: it has no rows to
 * return, only "possibly" or "definitely not" (functions/).  The planner sees that, for
 * there is no function that would scan it, nor an operator that it would serve.
 *
 * It is not marked as a summarizing index (16 and later), although it could not tell
 * one row version from another.  Then an update of the indexed column would be HOT, and
 * the members of a HOT chain would have different keys; REINDEX reads only the last one,
 * and does not mark the index as too new for snapshots that see the others: these would
 * get a wrong "no" (sql/bloomset.sql has the case).
 */
#include "pg/bloomset/index/bloomset.h"

#include "commands/vacuum.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

/* Classes have neither operators nor functions. */
static bool
bloomsetvalidate(Oid class)
{
	return true;
}

/* Never asked for a path that could be taken. */
static void
bloomsetcostestimate(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
					 Selectivity *selectivity, double *correlation, double *pages)
{
	*startup = *total = 1e300;
	*selectivity = 1;
	*correlation = *pages = 0;
}

static IndexScanDesc
bloomsetbeginscan(Relation index, int keys, int orderbys)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("bloomset \"%s\" cannot be scanned", RelationGetRelationName(index)),
			 errhint("Use bloomset_contains.")));
}

static void
bloomsetrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
}

static void
bloomsetendscan(IndexScanDesc scan)
{
}

PG_FUNCTION_INFO_V1(bloomset_handler);
Datum
bloomset_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amcanmulticol = true;
	routine->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	routine->amkeytype = InvalidOid;

	routine->ambuild = bloomsetbuild;
	routine->ambuildempty = bloomsetbuildempty;
	routine->aminsert = bloomsetinsert;
	routine->ambulkdelete = bloomsetbulkdelete;
	routine->amvacuumcleanup = bloomsetvacuumcleanup;
	routine->amcostestimate = bloomsetcostestimate;
	routine->amoptions = bloomsetoptions;
	routine->amvalidate = bloomsetvalidate;
	routine->ambeginscan = bloomsetbeginscan;
	routine->amrescan = bloomsetrescan;
	routine->amendscan = bloomsetendscan;
	PG_RETURN_POINTER(routine);
}
