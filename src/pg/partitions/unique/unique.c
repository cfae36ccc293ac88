/*
 * unique.c - bloomx_unique_check: the trigger behind bloomx_unique, for keys that one row of all partitions may have.
 *
 * A row is in its table, in the btree of its partition and in the store when the trigger
 * looks for others.  So of two transactions that insert one key, whoever looks later finds
 * the other's row, and waits for its end (docs/internals/partitions.md).  The store says
 * which partitions possibly have the key; without it all are searched.
 *
 * The column is that of the trigger's condition, WHEN (NEW.column IS NOT NULL): there the
 * server keeps it when the column is renamed, and knows that the trigger needs it.
 */
#include "pg/base/base.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "pg/partitions/lookup/lookup_plan.h"
#include "pg/partitions/store/candidates.h"
#include "pg/partitions/unique/unique_leaf.h"

/* What the calls of one statement for one partition keep. */
typedef struct UniqueColumn
{
	Oid			table;			/* on which the trigger was made */
	char	   *name;
	AttrNumber	attribute;		/* of the partition */
	Oid			type,
				collation;
} UniqueColumn;

/* ---- the trigger ---- */

pg_noreturn static void
RefuseTrigger(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("bloomx_unique_check is for the triggers that bloomx_unique makes"),
			 errhint("SELECT bloomx_unique('partitioned_table', 'column');")));
}

/* The table of the trigger that this one, on a partition, was made for. */
static Oid
TableOfTrigger(Oid trigger)
{
	Relation	catalog = table_open(TriggerRelationId, AccessShareLock);
	Oid			table = InvalidOid;

	while (OidIsValid(trigger))
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tuple;

		ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
		scan = systable_beginscan(catalog, TriggerOidIndexId, true, NULL, 1, &key);
		tuple = systable_getnext(scan);
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for trigger %u", trigger);
		table = ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
		trigger = ((Form_pg_trigger) GETSTRUCT(tuple))->tgparentid;
		systable_endscan(scan);
	}
	table_close(catalog, AccessShareLock);
	return table;
}

static AttrNumber
AttributeOfCondition(const char *condition)
{
	const NullTest *test = condition != NULL ? stringToNode(condition) : NULL;
	const Var  *column = test != NULL && IsA(test, NullTest) ? (const Var *) test->arg : NULL;

	if (column == NULL || test->nulltesttype != IS_NOT_NULL || !IsA(column, Var) || column->varno != PRS2_NEW_VARNO || column->varattno <= 0)
		RefuseTrigger();
	return column->varattno;
}

static const UniqueColumn *
ColumnOfTrigger(FmgrInfo *function, const TriggerData *data)
{
	UniqueColumn *column = function->fn_extra;
	Form_pg_attribute attribute;

	if (column != NULL)
		return column;
	column = MemoryContextAllocZero(function->fn_mcxt, sizeof(UniqueColumn));
	column->attribute = AttributeOfCondition(data->tg_trigger->tgqual);
	column->table = TableOfTrigger(data->tg_trigger->tgoid);
	if (get_rel_relkind(column->table) != RELKIND_PARTITIONED_TABLE)
		RefuseTrigger();
	attribute = TupleDescAttr(RelationGetDescr(data->tg_relation), column->attribute - 1);
	column->name = MemoryContextStrdup(function->fn_mcxt, NameStr(attribute->attname));
	column->type = attribute->atttypid;
	column->collation = attribute->attcollation;
	function->fn_extra = column;
	return column;
}

/* ---- the row ---- */

/*
 * An update that leaves the key alone needs no look, if the old version had one.  That of a
 * version which this transaction has made may be deferred, and will not be for a dead one.
 */
static bool
HasCheckedKey(const UniqueColumn *column, TupleTableSlot *old, Datum key)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, 0);
	bool		is_null;
	Datum		before = slot_getattr(old, column->attribute, &is_null);

	if (is_null || !datum_image_eq(before, key, type->typbyval, type->typlen))
		return false;
	before = slot_getsysattr(old, MinTransactionIdAttributeNumber, &is_null);
	return !is_null && !TransactionIdIsCurrentTransactionId(DatumGetTransactionId(before));
}

/* False if the row needs no look.  One that has been updated or deleted again has had its next event. */
static bool
GetKeyOfRow(const UniqueColumn *column, const TriggerData *data, UniqueKey *key)
{
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
	TupleTableSlot *slot = is_update ? data->tg_newslot : data->tg_trigslot;
	bool		is_null;

	*key = (UniqueKey) {.column = column->name, .leaf = RelationGetRelid(data->tg_relation), .tid = slot->tts_tid};
	key->value = slot_getattr(slot, column->attribute, &is_null);
	if (is_null || (is_update && HasCheckedKey(column, data->tg_trigslot, key->value)))
		return false;
	return table_tuple_satisfies_snapshot(data->tg_relation, slot, SnapshotSelf);
}

/* ---- the partitions ---- */

/* False if there is no answer. */
static bool
AskForPartitions(const UniqueColumn *column, Datum key, LookupQuestion *question)
{
	AttrNumber	attribute = get_attnum(column->table, column->name);
	Oid			operator = lookup_type_cache(column->type, TYPECACHE_EQ_OPR)->eq_opr;
	ListCell   *cell;

	if (!bloomx_partition_lookup)
		return false;
	foreach(cell, LookupsOf(column->table))
	{
		const TableLookup *lookup = lfirst(cell);

		*question = (LookupQuestion) {.root_index = lookup->root_index, .table = column->table, .column = lookup->column, .n_hashes = 1,
			.hashes = palloc(sizeof(uint64))};
		if (lookup->attribute == attribute &&
			LookupHashOf(lookup->root_index, lookup->column, operator, column->type, column->collation, key, question->hashes))
			return AskStore(question, InvalidSnapshot);	/* it is kept by waiting, not by predicate locks */
	}
	return false;
}

/* The question may be NULL: then all partitions are searched. */
static bool
AnotherPartitionHasKey(const UniqueKey *key, const LookupQuestion *question, Relation table)
{
	/* one that is being detached is still there */
	PartitionDesc descriptor = RelationGetPartitionDesc(table, false);
	Bitmapset  *children = NULL;
	List	   *watched;
	bool		is_answered = question != NULL && ChildrenToKeep(question, RelationGetRelid(table), descriptor, &children, &watched),
				found = false;

	for (int i = -1; !found;)
	{
		Relation	child;

		i = is_answered ? bms_next_member(children, i) : i + 1;
		if (i < 0 || i >= descriptor->nparts)
			break;
		if (descriptor->is_leaf[i])
			found = AnotherRowHasKey(key, descriptor->oids[i]);
		else if ((child = try_table_open(descriptor->oids[i], AccessShareLock)) != NULL)
		{
			found = AnotherPartitionHasKey(key, question, child);
			table_close(child, AccessShareLock);
		}
	}
	return found;
}

/* ---- the error ---- */

/* As for a unique index: the key may come from a default that the role cannot see. */
static bool
MaySeeKey(const UniqueColumn *column)
{
	return check_enable_rls(column->table, InvalidOid, true) != RLS_ENABLED &&
		(pg_class_aclcheck(column->table, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		 pg_attribute_aclcheck(column->table, get_attnum(column->table, column->name), GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

static void
ReportDuplicate(const UniqueColumn *column, const TriggerData *data, Datum key)
{
	const char *name = data->tg_trigger->tgname;
	char	   *shown = NULL;
	Oid			output;
	bool		is_varlena;

	if (MaySeeKey(column))
	{
		getTypeOutputInfo(column->type, &output, &is_varlena);
		shown = OidOutputFunctionCall(output, key);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"", name),
			 shown != NULL ? errdetail("Key (%s)=(%s) already exists.", quote_identifier(column->name), shown) : 0,
			 errtableconstraint(data->tg_relation, name)));
}

/* bloomx_unique_check(): AFTER INSERT OR UPDATE, FOR EACH ROW, WHEN (NEW.column IS NOT NULL) */
PG_FUNCTION_INFO_V1(bloomx_unique_check);
Datum
bloomx_unique_check(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	const UniqueColumn *column;
	UniqueKey	key;
	LookupQuestion question;
	Relation	table;
	bool		has_answer;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(data->tg_event))
		RefuseTrigger();
	column = ColumnOfTrigger(fcinfo->flinfo, data);
	if (!GetKeyOfRow(column, data, &key))
		return PointerGetDatum(NULL);

	/* until the end of the transaction: bloomx_unique waits for it before it reads all rows */
	table = table_open(column->table, RowExclusiveLock);
	/* whoever has inserted into a new partition knew it by a message that was sent before */
	AcceptInvalidationMessages();
	has_answer = AskForPartitions(column, key.value, &question);
	if (AnotherPartitionHasKey(&key, has_answer ? &question : NULL, table))
		ReportDuplicate(column, data, key.value);
	table_close(table, NoLock);
	return PointerGetDatum(NULL);
}
