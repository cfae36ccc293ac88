/*
 * vacuum.c - VACUUM of a set: there is nothing to do, for a bit may stand for many rows.
 * Keys of deleted rows stay until REINDEX.
 */
#include "pg/bloomset/index/bloomset.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/bloomset/stages/adding.h"

/*
 * CREATE INDEX CONCURRENTLY asks for all entries, to insert the rows that have none: it is
 * told of none, and inserts all rows that its second snapshot sees.  That leaves out rows
 * deleted before, which snapshots of a standby may still see.
 */
IndexBulkDeleteResult *
bloomsetbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	if (!info->index->rd_index->indisvalid)
		MoveHorizon(OpenSetView(info->index, false), info->index);
	return stats != NULL ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

IndexBulkDeleteResult *
bloomsetvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}
