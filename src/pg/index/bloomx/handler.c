/*
 * handler.c - the access method bloomx: what it can do, its options, and
 * what an operator class of it must have.
 */
#include "pg/index/bloomx/index.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static relopt_kind option_kind;

static const IndexOptions default_options = {.bits = 0, .probes = 0, .pending_limit = 1024};

void
InitIndexOptions(void)
{
	option_kind = add_reloption_kind();
	add_int_reloption(option_kind, "bits", "Bits of a row's signature, or 0: as many as the filters have",
					  default_options.bits, 0, MAX_SIGNATURE_BITS, AccessExclusiveLock);
	add_int_reloption(option_kind, "probes", "Bits of a signature that a key has, or 0: as many as in the filters",
					  default_options.probes, 0, BLX_MAX_K, AccessExclusiveLock);
	add_int_reloption(option_kind, "pending_limit", "Size of the list of pending rows, in kilobytes, at which it becomes a segment",
					  default_options.pending_limit, 16, MAX_PENDING_LIMIT, AccessExclusiveLock);
}

static bytea *
ParseOptions(Datum reloptions, bool validate)
{
	const relopt_parse_elt table[] = {
		{.optname = "bits", .opttype = RELOPT_TYPE_INT, .offset = offsetof(IndexOptions, bits)},
		{.optname = "probes", .opttype = RELOPT_TYPE_INT, .offset = offsetof(IndexOptions, probes)},
		{.optname = "pending_limit", .opttype = RELOPT_TYPE_INT, .offset = offsetof(IndexOptions, pending_limit)},
	};
	IndexOptions *options = build_reloptions(reloptions, validate, option_kind, sizeof(IndexOptions), table, lengthof(table));
	GeometrySample none = {0};

	if (validate && options != NULL)
		(void) ChooseGeometry(options, &none);
	return (bytea *) options;
}

IndexOptions
GetIndexOptions(Relation index)
{
	return index->rd_options ? *(IndexOptions *) index->rd_options : default_options;
}

static bool
Invalid(const char *class, const char *problem, const char *object)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("bloomx operator class %s %s %s", class, problem, object)));
	return false;
}

/* Operators ?& and ?| between filters, for searching, and no support functions. */
static bool
ValidateOperators(const char *name, Oid family, Oid type)
{
	CatCList   *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	bool		seen[HOLDS_ANY + 1] = {false};
	bool		valid = true;

	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);
		char	   *shown = format_operator(form->amopopr);

		if (form->amopstrategy < HOLDS_ALL || form->amopstrategy > HOLDS_ANY)
			valid = Invalid(name, "has an invalid strategy number for operator", shown);
		else if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily))
			valid = Invalid(name, "cannot order by operator", shown);
		else if (!check_amop_signature(form->amopopr, BOOLOID, type, type))
			valid = Invalid(name, "has a wrong signature for operator", shown);
		else
			seen[form->amopstrategy] = true;
	}
	ReleaseCatCacheList(operators);
	for (int strategy = HOLDS_ALL; strategy <= HOLDS_ANY; strategy++)
		if (!seen[strategy])
			valid = Invalid(name, "is missing operator", strategy == HOLDS_ALL ? "1, all keys" : "2, any key");
	return valid;
}

static bool
ValidateFunctions(const char *name, Oid family)
{
	CatCList   *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	bool		valid = true;

	for (int i = 0; i < functions->n_members; i++)
		valid = Invalid(name, "has no use for function",
						format_procedure(((Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple))->amproc));
	ReleaseCatCacheList(functions);
	return valid;
}

static bool
ValidateClass(Oid class)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	Form_pg_opclass form;
	bool		valid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	valid = ValidateOperators(NameStr(form->opcname), form->opcfamily, form->opcintype);
	valid &= ValidateFunctions(NameStr(form->opcname), form->opcfamily);
	ReleaseSysCache(tuple);
	return valid;
}

PG_FUNCTION_INFO_V1(bloomx_handler);
Datum
bloomx_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = HOLDS_ANY;
	routine->amsupport = 0;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = BuildIndex;
	routine->ambuildempty = BuildEmptyIndex;
	routine->aminsert = InsertRow;
	routine->ambulkdelete = RemoveRows;
	routine->amvacuumcleanup = CleanUp;
	routine->amcostestimate = EstimateCost;
	routine->amoptions = ParseOptions;
	routine->amvalidate = ValidateClass;
	routine->ambeginscan = BeginScan;
	routine->amrescan = RestartScan;
	routine->amgetbitmap = ScanIntoBitmap;
	routine->amendscan = EndScan;
	PG_RETURN_POINTER(routine);
}
