/*
 * handler.c - the access method bloomx: what it can do, and what an operator
 * class of it must have.
 */
#include "pg/index/bloomx/index.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
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

static bool
Invalid(const char *class, const char *problem, const char *object)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("bloomx operator class %s %s %s", class, problem, object)));
	return false;
}

/* What the operators have on their right side. */
static const Oid right_types[] = {
	[HOLDS_ALL_STRATEGY] = InvalidOid,	/* a filter */
	[HOLDS_ANY_STRATEGY] = InvalidOid,
	[HOLDS_TEXT_STRATEGY] = TEXTOID,
	[HOLDS_ALL_TEXTS_STRATEGY] = TEXTARRAYOID,
	[HOLDS_ANY_TEXT_STRATEGY] = TEXTARRAYOID,
};

/* The operators are for searching.  A class need not have those of texts: without them an untyped key is looked up in all rows. */
static bool
ValidateOperators(const char *name, Oid family, Oid type)
{
	CatCList   *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	bool		seen[lengthof(right_types)] = {false};
	bool		valid = true;

	for (int i = 0; i < members->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);
		char	   *shown = format_operator(form->amopopr);

		if (form->amopstrategy < HOLDS_ALL_STRATEGY || form->amopstrategy >= lengthof(right_types))
			valid = Invalid(name, "has an invalid strategy number for operator", shown);
		else if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily))
			valid = Invalid(name, "cannot order by operator", shown);
		else if (!check_amop_signature(form->amopopr, BOOLOID, type, OidIsValid(right_types[form->amopstrategy]) ? right_types[form->amopstrategy] : type))
			valid = Invalid(name, "has a wrong signature for operator", shown);
		else
			seen[form->amopstrategy] = true;
	}
	ReleaseCatCacheList(members);
	for (int strategy = HOLDS_ALL_STRATEGY; strategy <= HOLDS_ANY_STRATEGY; strategy++)
		if (!seen[strategy])
			valid = Invalid(name, "is missing operator", strategy == HOLDS_ALL_STRATEGY ? "1, all keys" : "2, any key");
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
bloomxvalidate(Oid class)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	Form_pg_opclass form;
	bool		valid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	/* the class of all types that are refused (build.c) needs no operators */
	valid = form->opcintype == ANYELEMENTOID || ValidateOperators(NameStr(form->opcname), form->opcfamily, form->opcintype);
	valid &= ValidateFunctions(NameStr(form->opcname), form->opcfamily);
	ReleaseSysCache(tuple);
	return valid;
}

PG_FUNCTION_INFO_V1(bloomx_handler);
Datum
bloomx_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = lengthof(right_types) - 1;
	routine->amsupport = 0;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	routine->amkeytype = InvalidOid;

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
