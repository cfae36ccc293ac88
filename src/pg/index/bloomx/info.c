/*
 * info.c - bloomx_index_info, and who may inspect an index.
 */
#include "pg/index/bloomx/index.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

/*
 * A user who may read the table may know what its index is made of, and so may
 * the roles that monitor the server.
 */
static void
CheckPrivilege(Relation heap, Relation index)
{
	Oid			user = GetUserId();

	if (pg_class_aclcheck(RelationGetRelid(heap), user, ACL_SELECT) != ACLCHECK_OK &&
		!has_privs_of_role(user, ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for index \"%s\"", RelationGetRelationName(index)),
				 errdetail("This needs SELECT on table \"%s\", or the privileges of pg_stat_scan_tables.",
						   RelationGetRelationName(heap))));
}

Relation
BloomxOpenIndex(Oid id, Relation *heap)
{
	Oid			table = IndexGetRelation(id, true);
	Relation	index;

	*heap = OidIsValid(table) ? table_open(table, AccessShareLock) : NULL;
	index = try_relation_open(id, AccessShareLock);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("there is no relation with OID %u", id)));
	if (*heap == NULL || table != IndexGetRelation(id, true) || index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_indam->aminsert != bloomxinsert)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a bloomx index", RelationGetRelationName(index)),
				 errhint("Name an index made by CREATE INDEX ... USING bloomx.")));
	CheckPrivilege(*heap, index);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	return index;
}

static int64
CountPendingRows(const BloomxStore *store, const BloomxStructure *structure)
{
	BloomxPendingReader *reader = BloomxStartPending(store, structure, structure->pending_words, NULL);
	int64		rows = 0;

	while (BloomxNextPending(reader) != NULL)
		rows++;
	BloomxEndPending(reader);
	return rows;
}

/* bloomx_index_info(index regclass): what the index consists of */
PG_FUNCTION_INFO_V1(bloomx_index_info);
Datum
bloomx_index_info(PG_FUNCTION_ARGS)
{
	Relation	heap,
				index = BloomxOpenIndex(PG_GETARG_OID(0), &heap);
	const BloomxStore *store = &BloomxOpenStores(index)->store[0];
	BloomxStructure *structure = BloomxReadStructure(store, NULL);
	const BloomxKeys *keys = &structure->meta.keys;
	int64		segments = 0,
				rows = 0,
				entries = 0,
				removed = 0,
				used = 1 + structure->meta.directory_pages + structure->meta.pending.pages + structure->meta.merge.reserved.pages,
				merging = 0,
				free = 0,
				pages;
	bool		known = keys->parts > 0 && !keys->provisional && (!keys->of_values || keys->width > 0);
	bool		nulls[11] = {!known, !known};
	Datum		values[11];
	TupleDesc	tuple;

	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		const BloomxSegment *segment = &structure->segments[i];

		if (segment->rows == 0)
			continue;
		segments++;
		rows += segment->tuples - Min(segment->tuples, segment->dead);
		entries += segment->rows - segment->dead;
		removed += segment->dead;
		used += BloomxSegmentPages(segment);
	}
	if (structure->meta.merge.segment.rows > 0)
		merging = BloomxSegmentPages(&structure->meta.merge.segment);
	for (uint32 i = 0; i < structure->meta.free_runs; i++)
		free += structure->meta.free[i].pages;
	pages = structure->blocks;
	values[0] = Int64GetDatum(keys->of_values ? (int64) keys->width * keys->parts : known ? (int64) blx_bits(&structure->geometry) : 0);
	values[1] = Int32GetDatum(keys->parts);
	values[2] = Int64GetDatum(segments);
	values[3] = Int64GetDatum(rows);
	values[4] = Int64GetDatum(entries);
	values[5] = Int64GetDatum(removed);
	values[6] = Int64GetDatum(CountPendingRows(store, structure));
	values[7] = Int64GetDatum(pages);
	values[8] = Int64GetDatum(free);
	values[9] = Int64GetDatum(merging);
	values[10] = Int64GetDatum(pages - used - merging - free);
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	if (get_call_result_type(fcinfo, NULL, &tuple) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tuple), values, nulls)));
}
