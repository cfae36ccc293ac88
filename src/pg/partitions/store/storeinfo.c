/*
 * storeinfo.c - bloomx_partitions and bloomx_possible_partitions: what the store has of an index.
 */
#include "pg/base/base.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "pg/index/bloomx/condition/columns.h"
#include "pg/partitions/store/candidates.h"
#include "pg/partitions/store/filters.h"
#include "pg/partitions/store/leaf.h"

#define INFO_COLUMNS 6

/* ---- bloomx_partitions ---- */

/* The pages of the leaf's filters, and what is known of the keys in them. */
static void
DescribeFilters(Relation rel, const Store *store, const StoreSlot *leaf, Datum *values)
{
	const StoreSlot *filter = &store->slots[leaf->main];
	double		keys = (double) leaf->keys,
				pass,
				rate;
	uint64		bytes = (uint64) PagesOfFilter(filter) * BLCKSZ / (filter->width == 1 ? 1 : filter->width);

	(void) ShareOfColumn(rel, filter, leaf->column, &rate);
	pass = 1 - rate;
	for (uint32 i = store->next[NumberOfSlot(store, leaf)]; i != NO_SLOT; i = store->next[i])
	{
		double		share = ShareOfColumn(rel, &store->slots[i], 0, &rate);

		keys += -log1p(-Min(share, 0.999)) * store->slots[i].blocks * BLOCK_ROWS / KEY_ROWS;
		pass *= 1 - rate;
		bytes += (uint64) PagesOfFilter(&store->slots[i]) * BLCKSZ;
	}
	values[3] = Int64GetDatum((int64) rint(keys));
	values[4] = Float8GetDatum(1 - pass);
	values[5] = Int64GetDatum((int64) bytes);
}

static void
DescribeLeaf(Relation rel, Oid oid, Datum *values, bool *nulls)
{
	Store	   *store = rel != NULL ? ReadStore(rel) : NULL;
	const StoreSlot *leaf = FindLeaf(store, oid);
	bool		complete = leaf != NULL && LeafIsComplete(store, leaf);

	memset(nulls, 0, INFO_COLUMNS * sizeof(bool));
	values[0] = ObjectIdGetDatum(IndexGetRelation(oid, true));
	values[1] = BoolGetDatum(complete);
	values[2] = BoolGetDatum(complete && store->slots[leaf->main].width > 1);
	if (complete)
		DescribeFilters(rel, store, leaf, values);
	else
		nulls[3] = nulls[4] = nulls[5] = true;
}

/* bloomx_partitions(index regclass): a row for each partition */
PG_FUNCTION_INFO_V1(bloomx_partitions);
Datum
bloomx_partitions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = OpenLookupIndex(PG_GETARG_OID(0)),
				rel = OpenStore(AccessShareLock);
	List	   *leaves = find_all_inheritors(RelationGetRelid(index), AccessShareLock, NULL);
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, leaves)
	{
		Datum		values[INFO_COLUMNS];
		bool		nulls[INFO_COLUMNS];

		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_INDEX)
			continue;
		DescribeLeaf(rel, lfirst_oid(cell), values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}

/* ---- bloomx_possible_partitions ---- */

static uint64
HashOfArgument(Relation index, AttrNumber column, Oid type, Datum key)
{
	Oid			operator = InvalidOid,
				of_class;
	uint64		hash;

	if (column > 0 && column <= IndexRelationGetNumberOfKeyAttributes(index))
	{
		of_class = index->rd_opcintype[column - 1];
		if (IsBinaryCoercible(type, of_class) && !IsPolymorphicType(of_class))
			type = of_class;
		operator = get_opfamily_member(index->rd_opfamily[column - 1], of_class, IsPolymorphicType(of_class) ? of_class : type, KEYS_EQUAL);
	}
	if (!OidIsValid(operator) ||
		!LookupHashOf(RelationGetRelid(index), column, operator, type, index->rd_indcollation[column - 1], key, &hash))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column %d of index \"%s\" cannot be looked up by a key of type %s", column, RelationGetRelationName(index), format_type_be(type)),
				 errhint("Cast the key to the type of the column.")));
	return hash;
}

/* bloomx_possible_partitions(index regclass, key anycompatible, column_number integer) */
PG_FUNCTION_INFO_V1(bloomx_possible_partitions);
Datum
bloomx_possible_partitions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = OpenLookupIndex(PG_GETARG_OID(0));
	uint64		hash = HashOfArgument(index, PG_GETARG_INT32(2), get_fn_expr_argtype(fcinfo->flinfo, 1), PG_GETARG_DATUM(1)),
				serial;
	Oid			topmost = RootOfLeaf(RelationGetRelid(index)),
				root = OidIsValid(topmost) ? topmost : RelationGetRelid(index);
	Bitmapset  *candidates = LookupCandidates(root, &hash, 1, &serial);
	const LookupMap *map = LookupMapOf(root);
	List	   *leaves = find_all_inheritors(RelationGetRelid(index), AccessShareLock, NULL);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (map != NULL && map->serial == serial)
		for (int i = 0; i < map->ncolumns; i++)
			if (!bms_is_member(i, candidates))
				leaves = list_delete_oid(leaves, map->leaf_index[i]);
	for (int i = 0; i < list_length(leaves); i++)
	{
		Datum		table = ObjectIdGetDatum(IndexGetRelation(list_nth_oid(leaves, i), true));
		bool		null = false;

		if (get_rel_relkind(list_nth_oid(leaves, i)) == RELKIND_INDEX)
			tuplestore_putvalues(result->setResult, result->setDesc, &table, &null);
	}
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}
