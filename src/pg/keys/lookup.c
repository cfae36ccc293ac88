/*
 * lookup.c - the key type of an SQL type.
 *
 * A key type is a row of a table: the SQL types it takes, and the function that
 * hashes the canonical bytes of a value.  Key types that consist of others
 * (arrays, rows, ranges) are made from those.  The base types of extensions and
 * users, and those that PostgreSQL may yet add, are hashed by their extended
 * hash function.
 */
#include "pg/keys/keys.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "core/base/hash.h"

/* ---- the table of key types: of those with one code the widest comes last ---- */

static const struct
{
	Oid			type;
	uint8		code;			/* BLX_KEY_NAMED: known by its SQL name */
	KeyHashFunction *hash;
}			key_types[] =
{
	{INT2OID, BLX_KEY_INTEGER, HashInt2},
	{INT4OID, BLX_KEY_INTEGER, HashInt4},
	{INT8OID, BLX_KEY_INTEGER, HashInt8},
	{FLOAT4OID, BLX_KEY_FLOAT, HashFloat4},
	{FLOAT8OID, BLX_KEY_FLOAT, HashFloat8},
	{NUMERICOID, BLX_KEY_NUMERIC, HashNumeric},
	{UNKNOWNOID, BLX_KEY_TEXT, HashCString},	/* a literal inside ROW(...) */
	{NAMEOID, BLX_KEY_TEXT, HashCString},
	{VARCHAROID, BLX_KEY_TEXT, HashVarlena},
	{TEXTOID, BLX_KEY_TEXT, HashVarlena},
	{BPCHAROID, BLX_KEY_BPCHAR, HashBpchar},
	{BYTEAOID, BLX_KEY_BYTEA, HashVarlena},
	{UUIDOID, BLX_KEY_UUID, HashFixedBytes},
	{BOOLOID, BLX_KEY_BOOLEAN, HashBool},
	{DATEOID, BLX_KEY_DATE, Hash32Bits},
	{TIMEOID, BLX_KEY_TIME, HashInt8},
	{TIMETZOID, BLX_KEY_TIMETZ, HashTimeTz},
	{TIMESTAMPOID, BLX_KEY_TIMESTAMP, HashInt8},
	{TIMESTAMPTZOID, BLX_KEY_TIMESTAMPTZ, HashInt8},
	{INTERVALOID, BLX_KEY_INTERVAL, HashInterval},
	{CIDROID, BLX_KEY_INET, HashInet},
	{INETOID, BLX_KEY_INET, HashInet},
	{MACADDROID, BLX_KEY_MACADDR, HashFixedBytes},
	{MACADDR8OID, BLX_KEY_MACADDR8, HashFixedBytes},
	{OIDOID, BLX_KEY_OID, Hash32Bits},
	{MONEYOID, BLX_KEY_MONEY, HashInt8},
	{JSONBOID, BLX_KEY_NAMED, HashJsonb},
	{CHAROID, BLX_KEY_NAMED, HashChar},
	{XIDOID, BLX_KEY_NAMED, Hash32Bits},
	{CIDOID, BLX_KEY_NAMED, Hash32Bits},
	{XID8OID, BLX_KEY_NAMED, HashInt8},
	{OID8OID, BLX_KEY_NAMED, HashInt8},
	{PG_LSNOID, BLX_KEY_NAMED, HashInt8},
	{TIDOID, BLX_KEY_NAMED, HashTid},
};

/*
 * ---- types that cannot be keys ----
 *
 * They are an error, unless `soft` is a node for soft errors: then the functions
 * return false.
 */

/*
 * Under a nondeterministic collation strings that differ in bytes may be equal,
 * and so may values that contain such strings: they are checked part by part.
 */
static bool
AllowCollation(Oid type, Oid collation, Node *soft)
{
	if (OidIsValid(collation) && type_is_collatable(type) && !get_collation_isdeterministic(collation))
		ereturn(soft, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collations are not supported for bloom filter keys"),
				 errdetail("Collation \"%s\" calls strings equal that differ in their bytes.", get_collation_name(collation)),
				 errhint("Use COLLATE \"C\" on the key.")));
	return true;
}

/*
 * ---- names ----
 *
 * The name of a container's key type says what it consists of, not what it is
 * called: the rows of two types are comparable if their columns are, whatever
 * the types are called and whatever schemas they are in.
 */

#define FINGERPRINT_LENGTH 17	/* '#' and 16 hexadecimal digits */

/*
 * Makes it a named key type.  A name that is too long is cut and ends in a
 * fingerprint of the whole.  A name that does not say everything ends in a
 * fingerprint of the rest, what_else (else NULL).
 */
static void
SetKeyTypeName(KeyType *key, const char *name, const char *what_else, MemoryContext context)
{
	int			length = strlen(name);
	char		result[BLX_MAX_NAME + 1];

	if (what_else == NULL && length > BLX_MAX_NAME)
		what_else = name;
	if (what_else != NULL)
	{
		length = pg_mbcliplen(name, length, BLX_MAX_NAME - FINGERPRINT_LENGTH);
		snprintf(result, sizeof result, "%.*s#%016llx", length, name,
				 (unsigned long long) blx_hash_bytes(what_else, strlen(what_else), 0));
		name = result;
	}
	key->identity.key_type = BLX_KEY_NAMED;
	key->identity.name_len = (uint8) strlen(name);
	key->identity.name = MemoryContextStrdup(context, name);
}

/* The name of a type has no schema: a dump may be restored into another one, and whether a name needs one is up to search_path. */
static char *
NameOfType(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	name = pstrdup(type == CHAROID ? "\"char\"" : NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	return name;
}

static const char *
PartName(const KeyType *part)
{
	return pstrdup(blx_key_type_name(&part->identity, (char[BLX_MAX_NAME + 1]) {0}));
}

/* ---- types that are hashed by their own function ---- */

/* Says what a hash function computes, in any database: its language, its source and, if it is compiled, its library. */
static char *
DescribeFunction(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Datum		source,
				library;
	bool		isnull;
	char	   *description;
	const char *file = "";

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	library = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (!isnull)
	{
		const char *path = TextDatumGetCString(library);

		file = last_dir_separator(path) ? last_dir_separator(path) + 1 : path;
	}
	description = psprintf("%s %s %s", get_language_name(((Form_pg_proc) GETSTRUCT(tuple))->prolang, false),
						   file, TextDatumGetCString(source));
	ReleaseSysCache(tuple);
	return description;
}

/* The name of the key type tells apart types of one name that hash differently. */
static bool
LookupHashedType(KeyType *key, Oid base, MemoryContext context, Node *soft)
{
	TypeCacheEntry *entry = lookup_type_cache(base, TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC | TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	Oid			function = entry->hash_extended_proc_finfo.fn_oid;

	if (!OidIsValid(entry->eq_opr) || !OidIsValid(function))
		ereturn(soft, false,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(base)),
				 errdetail("The type has no hash operator class with an extended hash function."),
				 errhint("Cast the key to a type that has one, for example to text.")));
	/* a regclass or an aclitem shows a name but is an OID: after a dump and restore the same name is another value */
	if (function == F_HASHOIDEXTENDED || function == F_HASH_ACLITEM_EXTENDED)
		ereturn(soft, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(base)),
				 errdetail("Its values are object identifiers, which differ after a dump and restore."),
				 errhint("Cast the key to text, or a single identifier to oid.")));
	SetKeyTypeName(key, NameOfType(base), base < FirstUnpinnedObjectId ? NULL : DescribeFunction(function), context);
	key->hash = HashByType;
	fmgr_info_copy(&key->hash_function, &entry->hash_extended_proc_finfo, context);
	return true;
}

/* ---- containers ---- */

static KeyType *
MakeParts(KeyType *key, int n, MemoryContext context)
{
	key->parts = MemoryContextAllocZero(context, sizeof(KeyType) * Max(n, 1));
	key->n_parts = n;
	return key->parts;
}

static bool
LookupArray(KeyType *key, Oid element, Oid collation, MemoryContext context, Node *soft)
{
	if (element == RECORDOID)
		ereturn(soft, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an array of rows without a named type cannot be a bloom filter key"),
				 errhint("Cast it to an array of a composite type.")));
	if (!LookupKeyTypeSoftly(MakeParts(key, 1, context), element, collation, context, soft))
		return false;
	SetKeyTypeName(key, psprintf("%s[]", PartName(key->parts)), NULL, context);
	key->hash = HashArrayValue;
	return true;
}

/* ---- rows ---- */

/* A column that is itself a row without a named type: its columns are known from its value, or from its type modifier. */
static bool
LookupRowColumn(KeyType *part, Form_pg_attribute column, Datum value, bool isnull, Node *soft)
{
	if (column->atttypmod >= 0)
		return LookupRowOfTypmod(part, column->atttypmod, soft);
	if (!isnull)
		return LookupRowOf(part, value, soft);
	ereturn(soft, false,
			(errcode(ERRCODE_INDETERMINATE_DATATYPE),
			 errmsg("a null row inside a bloom filter key must have a named type"),
			 errhint("Cast it to a composite type.")));
}

/* Frees the description of the columns.  The values matter only for columns that are rows without a named type. */
static bool
LookupColumns(KeyType *key, TupleDesc columns, const Datum *values, const bool *nulls, MemoryContext context, Node *soft)
{
	StringInfoData name;
	int			n = 0;

	MakeParts(key, columns->natts, context);
	initStringInfo(&name);
	appendStringInfoString(&name, "record(");
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (column->attisdropped)
			continue;
		if (!LookupKeyTypeSoftly(&key->parts[n], column->atttypid, column->attcollation, context, soft))
			return false;
		if (key->parts[n].row_context != NULL &&
			!LookupRowColumn(&key->parts[n], column, values ? values[i] : (Datum) 0, values == NULL || nulls[i], soft))
			return false;
		appendStringInfo(&name, "%s%s", n > 0 ? ", " : "", PartName(&key->parts[n]));
		n++;
	}
	appendStringInfoChar(&name, ')');
	key->n_parts = n;
	SetKeyTypeName(key, name.data, NULL, context);
	key->hash = HashRow;
	pfree(name.data);
	FreeTupleDesc(columns);
	return true;
}

static bool
SetRow(KeyType *key, Oid type, int32 typmod, const Datum *values, const bool *nulls, TupleDesc columns, Node *soft)
{
	key->row_type = InvalidOid; /* until all is done */
	key->identity = (blx_identity) {0};
	key->n_parts = 0;
	MemoryContextReset(key->row_context);
	if (!LookupColumns(key, columns, values, nulls, key->row_context, soft))
		return false;
	key->row_type = type;
	key->row_typmod = typmod;
	return true;
}

bool
LookupRowOf(KeyType *key, Datum value, Node *soft)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	Oid			type = HeapTupleHeaderGetTypeId(row);
	int32		typmod = HeapTupleHeaderGetTypMod(row);
	bool		found = true;

	if (key->row_type != type || key->row_typmod != typmod)
	{
		TupleDesc	columns = lookup_rowtype_tupdesc_copy(type, typmod);
		HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row, .t_tableOid = InvalidOid};
		Datum	   *values = palloc(sizeof(Datum) * Max(columns->natts, 1));
		bool	   *nulls = palloc(sizeof(bool) * Max(columns->natts, 1));

		check_stack_depth();
		ItemPointerSetInvalid(&tuple.t_self);
		heap_deform_tuple(&tuple, columns, values, nulls);
		found = SetRow(key, type, typmod, values, nulls, columns, soft);
		pfree(values);
		pfree(nulls);
	}
	FreeIfDetoasted(row, value);
	return found;
}

void
LookupRowOfArray(KeyType *key, Datum array)
{
	ArrayIterator iterator = array_create_iterator(DatumGetArrayTypeP(array), 0, NULL);
	Datum		element;
	bool		isnull = true;

	while (isnull && array_iterate(iterator, &element, &isnull))
		if (!isnull)
			(void) LookupRowOf(key, element, NULL);
	array_free_iterator(iterator);
}

bool
LookupRowOfTypmod(KeyType *key, int32 typmod, Node *soft)
{
	return SetRow(key, RECORDOID, typmod, NULL, NULL, lookup_rowtype_tupdesc_copy(RECORDOID, typmod), soft);
}

/* ---- ranges ---- */

/* The operator class of a range type may call bounds equal that the subtype's own `=` calls different. */
static bool
CheckRangeEquality(Oid range, Oid subtype, Oid opclass, Node *soft)
{
	Oid			input = get_opclass_input_type(opclass);
	Oid			equal = get_opfamily_member(get_opclass_family(opclass), input, input, BTEqualStrategyNumber);

	if (equal != lookup_type_cache(subtype, TYPECACHE_EQ_OPR)->eq_opr)
		ereturn(soft, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(range)),
				 errdetail("Its operator class compares bounds with another equality than that of type %s.", format_type_be(subtype)),
				 errhint("Cast the key to text.")));
	return true;
}

/*
 * The built-in range types are known by their names, others by their subtype and
 * their canonical function: two types with different canonical functions write
 * the same range in different ways.
 */
static bool
LookupRange(KeyType *key, Oid type, MemoryContext context, Node *soft)
{
	bool		multi = get_typtype(type) == TYPTYPE_MULTIRANGE;
	Oid			range = multi ? get_multirange_range(type) : type;
	HeapTuple	tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(range));
	FormData_pg_range row;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for range type %u", range);
	row = *(Form_pg_range) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	if (!CheckRangeEquality(range, row.rngsubtype, row.rngsubopc, soft) ||
		!LookupKeyTypeSoftly(MakeParts(key, 1, context), row.rngsubtype, row.rngcollation, context, soft))
		return false;
	if (type < FirstUnpinnedObjectId)
		name = NameOfType(type);
	else
		name = psprintf("%s(%s%s%s)", multi ? "multirange" : "range", PartName(key->parts),
						OidIsValid(row.rngcanonical) ? ", " : "",
						OidIsValid(row.rngcanonical) ? get_func_name(row.rngcanonical) : "");
	SetKeyTypeName(key, name, NULL, context);
	key->hash = multi ? HashMultirange : HashRange;
	return true;
}

/* ---- lookup ---- */

/* The key type of a type that is not in the table: an enum, a container, or else a type with a hash function of its own. */
static bool
LookupOther(KeyType *key, Oid base, Oid collation, MemoryContext context, Node *soft)
{
	Oid			element = get_element_type(base);

	check_stack_depth();
	if (OidIsValid(element))
		return LookupArray(key, element, collation, context, soft);
	if (base == RECORDOID)		/* the columns are not known yet */
	{
		key->row_context = AllocSetContextCreate(context, "bloom filter key row", ALLOCSET_SMALL_SIZES);
		key->hash = HashRow;
		return true;
	}
	switch (get_typtype(base))
	{
		case TYPTYPE_ENUM:
			key->identity.key_type = BLX_KEY_ENUM;
			key->hash = HashEnum;
			return true;
		case TYPTYPE_COMPOSITE:
			return LookupColumns(key, lookup_rowtype_tupdesc_copy(base, -1), NULL, NULL, context, soft);
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			return LookupRange(key, base, context, soft);
		default:
			return LookupHashedType(key, base, context, soft);
	}
}

bool
LookupKeyTypeSoftly(KeyType *key, Oid type, Oid collation, MemoryContext context, Node *soft)
{
	Oid			base = getBaseType(type);

	memset(key, 0, sizeof *key);
	if (!AllowCollation(base, collation, soft))
		return false;
	get_typlenbyvalalign(base, &key->length, &key->by_value, &key->align);
	/* of statistics and of texts that are read, where no collation is known; of deterministic ones all hashes agree */
	key->collation = OidIsValid(collation) ? collation : get_typcollation(base);
	for (size_t i = 0; i < lengthof(key_types); i++)
		if (key_types[i].type == base)
		{
			key->identity.key_type = key_types[i].code;
			key->hash = key_types[i].hash;
			if (key_types[i].code == BLX_KEY_NAMED)
				SetKeyTypeName(key, NameOfType(base), NULL, context);
		}
	if (key->hash == NULL && !LookupOther(key, base, collation, context, soft))
		return false;
	key->type = type;			/* last, so that an error above leaves no half-made entry */
	return true;
}

void
LookupKeyType(KeyType *key, Oid type, Oid collation, MemoryContext context)
{
	(void) LookupKeyTypeSoftly(key, type, collation, context, NULL);
}

uint8
OwnCodeOf(Oid base)
{
	for (size_t i = 0; i < lengthof(key_types); i++)
		if (key_types[i].type == base && key_types[i].code != BLX_KEY_NAMED)
			return key_types[i].code;
	return get_typtype(base) == TYPTYPE_ENUM ? BLX_KEY_ENUM : BLX_KEY_NONE;
}

Oid
TypeOfKeys(uint8 code)
{
	Oid			type = code == BLX_KEY_ENUM ? TEXTOID : InvalidOid;

	for (size_t i = 0; i < lengthof(key_types); i++)
		if (key_types[i].code == code)
			type = key_types[i].type;
	return type;
}

uint64 *
HashArray(KeyType *key, Datum datum, uint64 seed, int *n, bool *nulls)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	Datum	   *values;
	bool	   *is_null;
	int			count;
	uint64	   *hashes;

	deconstruct_array(array, ARR_ELEMTYPE(array), key->length, key->by_value, key->align, &values, &is_null, &count);
	hashes = palloc(sizeof(uint64) * Max(count, 1));
	*n = 0;
	*nulls = false;
	for (int i = 0; i < count; i++)
		if (is_null[i])
			*nulls = true;
		else
			hashes[(*n)++] = HashKey(key, values[i], seed);
	pfree(values);
	pfree(is_null);
	return hashes;
}

Datum *
TextsOf(Datum array, int *n)
{
	Datum	   *texts;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &count);
	*n = 0;
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			texts[(*n)++] = texts[i];
	pfree(nulls);
	return texts;
}
