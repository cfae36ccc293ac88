/*
 * storeindex.c - the access method bloomx_partition_store: it gives the store a relation.
 *
 * The store must be a relation that DROP EXTENSION drops, pg_dump leaves out and
 * pg_upgrade keeps, whose pages are in shared buffers and in the WAL, and of which no
 * command has other ideas.  So it is the index of a table that stays empty, both made by
 * CREATE EXTENSION.  REINDEX, and TRUNCATE of the table, empty it: then each partition is
 * a candidate until VACUUM has read it again.
 */
#include "pg/partitions/store/store.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/xloginsert.h"
#include "commands/extension.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"
#include "utils/timestamp.h"


/* The metapage. */
static void
CreateStore(Relation rel, ForkNumber fork, uint64 fed_from)
{
	Buffer		buffer = ReadBufferExtended(rel, fork, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	Page		page = BufferGetPage(buffer);

	Assert(BufferGetBlockNumber(buffer) == META_BLOCK);
	START_CRIT_SECTION();
	BloomxInitPage(page, META_PAGE, 0);
	/* no count that a process may remember of an earlier store */
	*StoreMetaOf(page) = (StoreMeta) {.magic = STORE_MAGIC, .version = STORE_VERSION, .changes = (uint64) GetCurrentTimestamp() << 8,
		.next_generation = 1, .fed_from = fed_from};
	SetStoreChecksum(page);
	MarkBufferDirty(buffer);
	if (fork == INIT_FORKNUM || RelationNeedsWAL(rel))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

static IndexBuildResult *
storebuild(Relation heap, Relation index, struct IndexInfo *info)
{
	Relation	old;

	if (RelationGetNumberOfBlocks(heap) > 0)
		RefuseRows(index);
	CreateStore(index, MAIN_FORKNUM, info->ii_Concurrent ? SWAPPED : FED);
	if (info->ii_Concurrent && (old = OpenStore(RowExclusiveLock)) != NULL)
	{
		if (old->rd_index->indrelid == RelationGetRelid(heap))
			CloseStore(old);
		relation_close(old, NoLock);
	}
	if (!creating_extension)
		ereport(NOTICE,
				(errmsg("the keys of partitions are forgotten"),
				 errdetail("Queries read all partitions of indexes with partition_lookup until they are read again."),
				 errhint("Call bloomx_seal for each such index, or wait for VACUUM of its partitions.")));
	return palloc0(sizeof(IndexBuildResult));
}

static void
storebuildempty(Relation index)
{
	CreateStore(index, INIT_FORKNUM, FED);
}

static IndexBulkDeleteResult *
storebulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	return stats;
}

static IndexBulkDeleteResult *
storevacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	return stats;
}

static void
storecostestimate(struct PlannerInfo *root, struct IndexPath *path, double loops, Cost *startup, Cost *total,
				  Selectivity *selectivity, double *correlation, double *pages)
{
	*startup = *total = 1e300;
	*selectivity = 1;
	*correlation = *pages = 0;
}

static bytea *
storeoptions(Datum options, bool validate)
{
	return NULL;
}

static bool
storevalidate(Oid class)
{
	return true;
}

static IndexScanDesc
storebeginscan(Relation index, int keys, int orderbys)
{
	RefuseRows(index);
}

static void
storerescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
}

static void
storeendscan(IndexScanDesc scan)
{
}

PG_FUNCTION_INFO_V1(bloomx_partition_store_handler);
Datum
bloomx_partition_store_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	routine->amkeytype = InvalidOid;
	routine->ambuild = storebuild;
	routine->ambuildempty = storebuildempty;
	routine->aminsert = bloomx_storeinsert;
	routine->ambulkdelete = storebulkdelete;
	routine->amvacuumcleanup = storevacuumcleanup;
	routine->amcostestimate = storecostestimate;
	routine->amoptions = storeoptions;
	routine->amvalidate = storevalidate;
	routine->ambeginscan = storebeginscan;
	routine->amrescan = storerescan;
	routine->amendscan = storeendscan;
	PG_RETURN_POINTER(routine);
}
