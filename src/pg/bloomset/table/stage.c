/*
 * stage.c - the type bloomset_stage: a filter, whose type modifier is that of the set; which
 * tables can be sets.
 */
#include "pg/bloomset/table/stage.h"

#include "utils/lsyscache.h"

extern Datum bloomfilter_in(PG_FUNCTION_ARGS);
extern Datum bloomfilter_recv(PG_FUNCTION_ARGS);

/* The functions of bloomfilter, but without a modifier to which the filter would be fitted. */
PG_FUNCTION_INFO_V1(bloomset_stage_in);
Datum
bloomset_stage_in(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall3(bloomfilter_in, PG_GETARG_DATUM(0), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

PG_FUNCTION_INFO_V1(bloomset_stage_recv);
Datum
bloomset_stage_recv(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall3(bloomfilter_recv, PG_GETARG_DATUM(0), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* The type bloomset_stage is the one that has this input function. */
static bool
IsStageType(Oid type)
{
	Oid			input,
				io_param;
	FmgrInfo	function;

	if (!OidIsValid(type))
		return false;			/* of a column that was dropped */
	getTypeInputInfo(type, &input, &io_param);
	fmgr_info(input, &function);
	return function.fn_addr == bloomset_stage_in;
}

void
CheckSetTable(Relation rel)
{
	TupleDesc	columns = RelationGetDescr(rel);
	bool		has_others = false;

	for (int i = 1; i < columns->natts; i++)
		has_others |= !TupleDescAttr(columns, i)->attisdropped;
	if (columns->natts < 1 || has_others || !IsStageType(TupleDescAttr(columns, 0)->atttypid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("bloomset \"%s\" must have one column, of type bloomset_stage", RelationGetRelationName(rel)),
				 has_others ? errhint("Leave out the other columns, or drop them with ALTER TABLE ... DROP COLUMN.")
				 : errhint("Write CREATE TABLE name (filter bloomset_stage(capacity, fpr)) USING bloomset_table.")));
}
