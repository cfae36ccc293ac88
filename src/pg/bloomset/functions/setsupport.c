/*
 * setsupport.c - the share of rows that bloomset_contains keeps.
 *
 * As for a filter (planner/selectivity.c): one key of a column is in a set of n keys with the probability
 * s + (1 - s) fpr, s = min(1, n / d), where d is the number of distinct values of the column.  The set's n is that
 * of the indexed column in its table, as ANALYZE has estimated it: nothing is opened, or waited for.  Of a set without a table
 * nothing is known.
 */
#include "pg/bloomset/index/bloomset.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "optimizer/optimizer.h"
#include "utils/syscache.h"

#include "pg/planner/planner.h"

/* The rows of a relation, as VACUUM and ANALYZE know them, and an index's rate; negative: not known. */
static double
RowsOf(Oid relation, double *fpr)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	double		rows = -1;

	if (!HeapTupleIsValid(tuple))
		return -1;
	rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	if (fpr != NULL)
	{
		bool		is_null;
		Datum		options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &is_null);

		*fpr = ((BloomsetOptions *) bloomsetoptions(is_null ? (Datum) 0 : options, false))->fpr;
	}
	ReleaseSysCache(tuple);
	return rows;
}

/* The distinct values of a column in so many rows. */
static double
DistinctIn(Oid relation, AttrNumber column, double rows)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column), BoolGetDatum(false));
	double		distinct;

	if (!HeapTupleIsValid(tuple))
		return rows;
	distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	return distinct > 0 ? distinct : distinct < 0 ? -distinct * rows : rows;
}

/* The keys of a set that is an index, and its rate; negative: not known. */
static double
KeysOf(Oid set, double *fpr)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(set));
	Form_pg_index index;
	Oid			table;
	AttrNumber	column;
	double		rows,
				all;

	if (!HeapTupleIsValid(tuple))
		return -1;
	index = (Form_pg_index) GETSTRUCT(tuple);
	table = index->indrelid;
	column = index->indnatts == 1 ? index->indkey.values[0] : -1;
	ReleaseSysCache(tuple);
	rows = RowsOf(set, fpr);
	all = RowsOf(table, NULL);
	if (rows < 0 || all < 0 || column < 0)
		return rows;
	/* those of an expression belong to the index */
	return column > 0 ? Min(rows, DistinctIn(table, column, all)) : DistinctIn(set, 1, rows);
}

/* The probability that the set has a key; negative: not known. */
static double
ChanceOf(PlannerInfo *root, Node *set, Node *key)
{
	VariableStatData column;
	double		fpr = 0,
				keys,
				distinct,
				nulls = 0;

	set = estimate_expression_value(root, set);
	if (!IsA(set, Const) || ((Const *) set)->constisnull || ((Const *) set)->consttype != REGCLASSOID || !TablesAreKnown(root, key))
		return -1;
	keys = KeysOf(DatumGetObjectId(((Const *) set)->constvalue), &fpr);
	distinct = EstimateDistinctValues(root, key);
	if (keys < 0 || distinct == 0)
		return -1;
	examine_variable(root, key, 0, &column);
	if (column.rel == NULL)
		keys = -1;
	if (HeapTupleIsValid(column.statsTuple))
		nulls = ((Form_pg_statistic) GETSTRUCT(column.statsTuple))->stanullfrac;
	ReleaseVariableStats(column);
	if (keys < 0)
		return -1;
	keys = fmin(1, keys / distinct);
	return (1 - nulls) * (keys + (1 - keys) * fpr);
}

/* The support function of bloomset_contains. */
PG_FUNCTION_INFO_V1(bloomx_set_support);
Datum
bloomx_set_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSelectivity *asked = (SupportRequestSelectivity *) request;
	double		chance;

	if (!IsA(request, SupportRequestSelectivity) || list_length(asked->args) != 2)
		PG_RETURN_POINTER(NULL);
	chance = ChanceOf(asked->root, linitial(asked->args), lsecond(asked->args));
	if (chance < 0)
		PG_RETURN_POINTER(NULL);
	asked->selectivity = chance;
	PG_RETURN_POINTER(request);
}
