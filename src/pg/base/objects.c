/*
 * objects.c - the OIDs of the extension's own objects.
 *
 * The planner shows functions, operators and types as OIDs.  Their names prove
 * nothing: any user may give an object of their own a name that is used here,
 * and C code that trusted the name would misread that object's arguments.  So an
 * object counts as the extension's only if it has the name and exactly the
 * argument types that the installation script declares, is in the extension's
 * schema, and is a member of the extension.  Then its argument types are known.
 *
 * The objects are looked up once per backend, which takes a dozen or so index
 * lookups, and again after a change of pg_proc, pg_operator or pg_type that may
 * concern them: DROP EXTENSION and CREATE EXTENSION give them other OIDs.  ALTER
 * EXTENSION SET SCHEMA keeps the OIDs.
 */
#include "pg/base/objects.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define MAX_ARGUMENTS 3

/* Stands for the type bloomfilter, whose OID differs from database to database. */
#define FILTER InvalidOid

static const struct
{
	const char *name;
	int			arguments;
	Oid			types[MAX_ARGUMENTS];
} signatures[OWN_FUNCTIONS] = {
	[BLOOM_CONTAINS] = {"bloom_contains", 2, {FILTER, ANYCOMPATIBLEOID}},
	[BLOOM_CONTAINED] = {"bloom_contained", 2, {ANYCOMPATIBLEOID, FILTER}},
	[BLOOM_CONTAINS_HASH] = {"bloom_contains_hash", 2, {FILTER, INT8OID}},
	[BLOOM_CONTAINS_ANY] = {"bloom_contains_any", 2, {FILTER, ANYCOMPATIBLEARRAYOID}},
	[BLOOM_CONTAINS_ALL] = {"bloom_contains_all", 2, {FILTER, ANYCOMPATIBLEARRAYOID}},
	[BLOOM_PREFILTER] = {"bloom_prefilter", 2, {FILTER, ANYCOMPATIBLEOID}},
	[BLOOMX_HOLDS_ALL] = {"bloomx_holds_all", 2, {FILTER, FILTER}},
	[BLOOMX_HOLDS_ANY] = {"bloomx_holds_any", 2, {FILTER, FILTER}},
	[BLOOMX_HOLDS_TEXT] = {"bloomx_holds_text", 2, {FILTER, TEXTOID}},
	[BLOOMX_HOLDS_ALL_TEXTS] = {"bloomx_holds_all_texts", 2, {FILTER, TEXTARRAYOID}},
	[BLOOMX_HOLDS_ANY_TEXT] = {"bloomx_holds_any_text", 2, {FILTER, TEXTARRAYOID}},
	[BLOOM_OVERLAPS] = {"bloom_overlaps", 2, {FILTER, FILTER}},
	[BLOOM_DISJOINT] = {"bloom_disjoint", 2, {FILTER, FILTER}},
	[BLOOMX_PROBE] = {"bloomx_probe", 1, {ANYCOMPATIBLEOID}},
	[BLOOMX_PROBE_ALL] = {"bloomx_probe_all", 1, {ANYCOMPATIBLEARRAYOID}},
	[BLOOMX_PROBE_HASH] = {"bloomx_probe_hash", 1, {INT8OID}},
	[BLOOM_AGG] = {"bloom_agg", 1, {ANYCOMPATIBLEOID}},
	[BLOOM_AGG_CAPACITY] = {"bloom_agg", 2, {ANYCOMPATIBLEOID, INT8OID}},
	[BLOOM_AGG_RATE] = {"bloom_agg", 3, {ANYCOMPATIBLEOID, INT8OID, FLOAT8OID}},
	[BLOOM_AGG_TEMPLATE] = {"bloom_agg", 2, {ANYCOMPATIBLEOID, FILTER}},
	[BLOOM_UNION_AGG] = {"bloom_union_agg", 1, {FILTER}},
};

/* The left side is a filter. */
static const struct
{
	const char *name;
	Oid			right;
} operators[OWN_OPERATORS] = {
	[HOLDS_ALL_OPERATOR] = {"?&", FILTER},
	[HOLDS_ANY_OPERATOR] = {"?|", FILTER},
	[HOLDS_TEXT_OPERATOR] = {"?&", TEXTOID},
	[HOLDS_ALL_TEXTS_OPERATOR] = {"?&", TEXTARRAYOID},
	[HOLDS_ANY_TEXT_OPERATOR] = {"?|", TEXTARRAYOID},
};

/* InvalidOid = there is no such object */
typedef struct Objects
{
	Oid			type;
	Oid			store;
	Oid			functions[OWN_FUNCTIONS];
	Oid			operators[OWN_OPERATORS];
} Objects;

static Objects objects;
static bool objects_are_valid = false;
static uint64 invalidations = 0;

static void
Invalidate(Datum arg, int cache, uint32 hash)
{
	objects_are_valid = false;
	invalidations++;
}

/* An extension and its schema.  No syscache has them before PostgreSQL 18. */
static bool
FindExtension(const char *name, Oid *extension, Oid *schema)
{
	Relation	relation = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(name));
	scan = systable_beginscan(relation, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		*extension = ((Form_pg_extension) GETSTRUCT(tuple))->oid;
		*schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* The object if it is a member of the extension, else InvalidOid. */
static Oid
Member(Oid class, Oid object, Oid extension)
{
	return OidIsValid(object) && getExtensionOfObject(class, object) == extension ? object : InvalidOid;
}

static Oid
TypeOr(Oid type, Oid filter)
{
	return type == FILTER ? filter : type;
}

static Oid
FindFunction(OwnFunction which, Oid filter, Oid schema)
{
	Oid			types[MAX_ARGUMENTS];
	int			arguments = signatures[which].arguments;

	for (int i = 0; i < arguments; i++)
		types[i] = TypeOr(signatures[which].types[i], filter);
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(signatures[which].name),
						   PointerGetDatum(buildoidvector(types, arguments)), ObjectIdGetDatum(schema));
}

static Oid
FindOperator(OwnOperator which, Oid filter, Oid schema)
{
	return GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid, CStringGetDatum(operators[which].name), ObjectIdGetDatum(filter),
						   ObjectIdGetDatum(TypeOr(operators[which].right, filter)), ObjectIdGetDatum(schema));
}

/* An index is no member itself, but its table is. */
static Oid
FindStore(Oid extension, Oid schema)
{
	Oid			table = Member(RelationRelationId, get_relname_relid("bloomx_partition_store", schema), extension),
				index = get_relname_relid("bloomx_partition_store_pages", schema);

	return OidIsValid(table) && OidIsValid(index) && IndexGetRelation(index, true) == table ? index : InvalidOid;
}

static Objects
FindObjects(void)
{
	Objects		found = {0};
	Oid			extension,
				schema;

	if (!FindExtension("bloomx", &extension, &schema))
		return found;
	found.type = Member(TypeRelationId, GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("bloomfilter"),
														ObjectIdGetDatum(schema)), extension);
	if (!OidIsValid(found.type))
		return found;
	found.store = FindStore(extension, schema);
	for (int i = 0; i < OWN_FUNCTIONS; i++)
		found.functions[i] = Member(ProcedureRelationId, FindFunction(i, found.type, schema), extension);
	for (int i = 0; i < OWN_OPERATORS; i++)
		found.operators[i] = Member(OperatorRelationId, FindOperator(i, found.type, schema), extension);
	return found;
}

/* REINDEX CONCURRENTLY makes another index the store. */
static void
InvalidateStore(Datum arg, Oid relation)
{
	if (!OidIsValid(relation) || relation == objects.store)
		Invalidate(arg, 0, 0);
}

static const Objects *
OwnObjects(void)
{
	static bool registered = false;
	uint64		before;

	if (objects_are_valid)
		return &objects;
	if (!registered)
	{
		CacheRegisterSyscacheCallback(PROCOID, Invalidate, (Datum) 0);
		CacheRegisterSyscacheCallback(OPEROID, Invalidate, (Datum) 0);
		CacheRegisterSyscacheCallback(TYPEOID, Invalidate, (Datum) 0);
		CacheRegisterRelcacheCallback(InvalidateStore, (Datum) 0);
		registered = true;
	}
	before = invalidations;
	objects = FindObjects();
	/* an invalidation that came during the lookup: look again next time */
	objects_are_valid = invalidations == before;
	return &objects;
}

OwnFunction
WhichFunction(Oid function)
{
	const Objects *own = OwnObjects();

	for (int i = 0; i < OWN_FUNCTIONS; i++)
		if (own->functions[i] == function && OidIsValid(function))
			return i;
	return NOT_OWN;
}

Oid
OwnFunctionOid(OwnFunction which)
{
	return OwnObjects()->functions[which];
}

Oid
OwnOperatorOid(OwnOperator which)
{
	return OwnObjects()->operators[which];
}

Oid
FilterTypeOid(void)
{
	return OwnObjects()->type;
}

Oid
PartitionStoreOid(void)
{
	return OwnObjects()->store;
}

bool
IsFilterType(Oid type)
{
	Oid			filter = FilterTypeOid();

	return OidIsValid(filter) && (type == filter || getBaseType(type) == filter);
}

Oid
FunctionOfExtension(const char *extension, const char *function, Oid argument)
{
	Oid			extension_oid,
				schema,
				found = InvalidOid;

	if (FindExtension(extension, &extension_oid, &schema))
		found = Member(ProcedureRelationId,
					   GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(function),
									   PointerGetDatum(buildoidvector(&argument, 1)), ObjectIdGetDatum(schema)), extension_oid);
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("type %s is not that of extension %s", format_type_be(argument), extension),
				 errdetail("The extension has no function %s(%s).", function, format_type_be(argument))));
	return found;
}
