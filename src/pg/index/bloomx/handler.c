/*
 * handler.c - the access method bloomx: what it can do, and what an operator
 * class of it must have.
 */
#include "pg/index/bloomx/bloomx.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "utils/catcache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "pg/base/objects.h"
#include "pg/index/bloomx/build/build.h"
#include "pg/index/bloomx/condition/scan_condition.h"

static bool
Invalid(const char *class, const char *problem, const char *object)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("bloomx operator class %s %s %s", class, problem, object)));
	return false;
}

/* What the operators of filters have on their right side. */
static const Oid right_types[] = {
	[HOLDS_ALL_STRATEGY] = InvalidOid,	/* a filter */
	[HOLDS_ANY_STRATEGY] = InvalidOid,
	[HOLDS_TEXT_STRATEGY] = TEXTOID,
	[HOLDS_ALL_TEXTS_STRATEGY] = TEXTARRAYOID,
	[HOLDS_ANY_TEXT_STRATEGY] = TEXTARRAYOID,
	[OVERLAPS_STRATEGY] = InvalidOid,
};

/* True if the operator is one for searching. */
static bool
ValidateOperator(const char *name, Form_pg_amop form)
{
	if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily))
		return Invalid(name, "cannot order by operator", format_operator(form->amopopr));
	if (!check_amop_signature(form->amopopr, BOOLOID, form->amoplefttype, form->amoprighttype))
		return Invalid(name, "has a wrong signature for operator", format_operator(form->amopopr));
	return true;
}

static bool
ValidateFilterOperator(const char *name, Form_pg_amop form)
{
	int			strategy = form->amopstrategy;
	Oid			right;

	if (strategy < HOLDS_ALL_STRATEGY || strategy >= lengthof(right_types))
		return Invalid(name, "has an invalid strategy number for operator", format_operator(form->amopopr));
	right = OidIsValid(right_types[strategy]) ? right_types[strategy] : FilterTypeOid();
	if (form->amoplefttype != FilterTypeOid() || form->amoprighttype != right)
		return Invalid(name, "has a wrong signature for operator", format_operator(form->amopopr));
	return true;
}

/*
 * A class of filters must have the operators of filters; it need not have those of
 * texts: without them an untyped key is looked up in all rows.  A class of keys has
 * the operators that its support function knows.
 */
static bool
ValidateOperators(const char *name, Oid family, bool filters)
{
	CatCList   *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	bool		seen[lengthof(right_types)] = {false},
				valid = true;

	for (int i = 0; i < members->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		if (!ValidateOperator(name, form) || (filters && !ValidateFilterOperator(name, form)))
			valid = false;
		else if (filters)
			seen[form->amopstrategy] = true;
	}
	ReleaseCatCacheList(members);
	for (int strategy = HOLDS_ALL_STRATEGY; filters && strategy <= HOLDS_ANY_STRATEGY; strategy++)
		if (!seen[strategy])
			valid = Invalid(name, "is missing operator", strategy == HOLDS_ALL_STRATEGY ? "1, all keys" : "2, any key");
	return valid;
}

/* Filters need no function; all other types need the one that makes their extractor. */
static bool
ValidateFunctions(const char *name, Oid family, Oid type)
{
	CatCList   *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	bool		filters = type == FilterTypeOid(),
				seen = false,
				valid = true;

	for (int i = 0; i < functions->n_members; i++)
	{
		Form_pg_amproc form = (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple);

		if (filters || form->amprocnum != EXTRACT_FUNCTION)
			valid = Invalid(name, "has no use for function", format_procedure(form->amproc));
		else if (!check_amproc_signature(form->amproc, INTERNALOID, true, 1, 1, INTERNALOID))
			valid = Invalid(name, "has a wrong signature for function", format_procedure(form->amproc));
		else if (form->amproclefttype == type)
			seen = true;
	}
	ReleaseCatCacheList(functions);
	if (!filters && !seen)
		valid = Invalid(name, "is missing function", "1, which extracts keys");
	return valid;
}

static bool
bloomxvalidate(Oid class)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	Form_pg_opclass form;
	bool		valid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	valid = ValidateOperators(NameStr(form->opcname), form->opcfamily, form->opcintype == FilterTypeOid());
	valid &= ValidateFunctions(NameStr(form->opcname), form->opcfamily, form->opcintype);
	ReleaseSysCache(tuple);
	return valid;
}

PG_FUNCTION_INFO_V1(bloomx_handler);
Datum
bloomx_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = 0;	/* each operator class has its own */
	routine->amsupport = EXTRACT_FUNCTION;
	routine->amcanmulticol = true;
	routine->amoptionalkey = true;	/* not on filters (nulls.c) */
	routine->amsearcharray = true;
	routine->amsearchnulls = true;	/* not on filters */
	/* not for the cleanup: it may run the expressions of an index (rebuild.c), which a worker must not */
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL;
	routine->amkeytype = InvalidOid;
	SetCanBuildInParallel(routine);

	routine->ambuild = bloomxbuild;
	routine->ambuildempty = bloomxbuildempty;
	routine->ambuildphasename = bloomxbuildphasename;
	routine->aminsert = bloomxinsert;
	routine->ambulkdelete = bloomxbulkdelete;
	routine->amvacuumcleanup = bloomxvacuumcleanup;
	routine->amcostestimate = bloomxcostestimate;
	routine->amoptions = bloomxoptions;
	routine->amvalidate = bloomxvalidate;
	routine->ambeginscan = bloomxbeginscan;
	routine->amrescan = bloomxrescan;
	routine->amgetbitmap = bloomxgetbitmap;
	routine->amendscan = bloomxendscan;
	PG_RETURN_POINTER(routine);
}
