/*
 * info.c - bloomx_index_info, and who may inspect an index.
 */

#include "pg/index/bloomx/inspect/check_places.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "pg/index/bloomx/build/build.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"

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
				 errmsg("relation with OID %u does not exist", id)));
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

/* The pages that are in use, except for a segment in the making. */
static int64
CountUsedPages(const BloomxDirectory *directory)
{
	const BloomxMeta *meta = &directory->meta;
	int64		pages = 1 + meta->directory_pages + BloomxAllPendingPages(meta);

	for (uint32 i = 0; i < meta->segments; i++)
		if (directory->segments[i].rows > 0)
			pages += BloomxSegmentPages(&directory->segments[i]);
	return pages;
}

static Datum
ColumnNames(Relation index)
{
	TupleDesc	columns = RelationGetDescr(index);
	Datum	   *names = palloc(columns->natts * sizeof(Datum));

	for (int i = 0; i < columns->natts; i++)
		names[i] = CStringGetTextDatum(NameStr(TupleDescAttr(columns, i)->attname));
	return PointerGetDatum(construct_array(names, columns->natts, TEXTOID, -1, false, TYPALIGN_INT));
}

#define INFO_COLUMNS 13

/* What the index consists of, in a row. */
static void
Describe(Relation index, const BloomxDirectory *directory, Datum *values, bool *nulls)
{
	const BloomxKeys *keys = &directory->meta.keys;
	int64		segments = 0,
				rows = 0,
				entries = 0,
				removed = 0,
				merging = directory->meta.merge.segment.start != META_BLOCK ? BloomxSegmentPages(&directory->meta.merge.segment) : 0,
				free = BloomxCountFreePages(&directory->meta);

	for (uint32 i = 0; i < directory->meta.segments; i++)
	{
		const BloomxSegment *segment = &directory->segments[i];

		if (segment->rows == 0)
			continue;
		segments++;
		rows += segment->tuples - Min(segment->tuples, segment->dead);
		entries += segment->rows - segment->dead;
		removed += segment->dead;
	}
	memset(nulls, 0, INFO_COLUMNS * sizeof(bool));
	nulls[1] = nulls[2] = keys->parts == 0 || (keys->of_values && keys->width == 0);
	values[0] = ColumnNames(index);
	values[1] = Int64GetDatum(keys->of_values ? (int64) keys->width * keys->parts : nulls[1] ? 0 : (int64) blx_bits(&directory->geometry));
	values[2] = Int32GetDatum(keys->parts);
	values[3] = Int64GetDatum(segments);
	values[4] = Int64GetDatum(rows);
	values[5] = Int64GetDatum(entries);
	values[6] = Int64GetDatum(BloomxCountAnything(directory));
	values[7] = Int64GetDatum(removed);
	values[8] = Int64GetDatum(BloomxCountPendingRows(index, directory));
	values[9] = Int64GetDatum(directory->blocks);
	values[10] = Int64GetDatum(free);
	values[11] = Int64GetDatum(merging);
	values[12] = Int64GetDatum(directory->blocks - CountUsedPages(directory) - merging - free);
}

/* bloomx_index_info(index regclass): what the index consists of, in one row. */
PG_FUNCTION_INFO_V1(bloomx_index_info);
Datum
bloomx_index_info(PG_FUNCTION_ARGS)
{
	Relation	heap,
				index = BloomxOpenIndex(PG_GETARG_OID(0), &heap);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS];

	InitMaterializedSRF(fcinfo, 0);
	Describe(index, BloomxReadDirectory(index, NULL), values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	return (Datum) 0;
}
