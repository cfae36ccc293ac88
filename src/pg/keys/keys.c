/*
 * keys.c - from SQL values to key hashes.
 *
 * A key type is a row of a table: the SQL types it takes and the function that
 * hashes a value's canonical bytes (docs/FORMAT.md).  Values that SQL calls
 * equal have one canonical form, on every build and version.  What consists of
 * other values is in containers.c.  The base types of extensions and users,
 * and those that PostgreSQL may yet add, go by their extended hash function.
 */
#include "pg/base/bloomx.h"

#include <math.h>
#include <sys/socket.h>

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "core/base/hash.h"

/* ---- canonical bytes ---- */

static void
PutLittleEndian(uint8 *out, uint64 value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (uint8) (value >> 8 * i);
}

static uint64
HashInt2(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) (int64) DatumGetInt16(value), seed);
}

static uint64
HashInt4(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) (int64) DatumGetInt32(value), seed);
}

/* int8, and what is stored as one: timestamps, time, money, xid8, pg_lsn. */
static uint64
HashInt8(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) DatumGetInt64(value), seed);
}

static uint64
HashDouble(double value, uint64 seed)
{
	uint64		bits;

	if (isnan(value))
		bits = UINT64CONST(0x7ff8000000000000);
	else
	{
		if (value == 0)
			value = 0;			/* no negative zero */
		memcpy(&bits, &value, 8);
	}
	return blx_hash_int64(bits, seed);
}

static uint64
HashFloat4(KeyType *key, Datum value, uint64 seed)
{
	return HashDouble(DatumGetFloat4(value), seed);
}

static uint64
HashFloat8(KeyType *key, Datum value, uint64 seed)
{
	return HashDouble(DatumGetFloat8(value), seed);
}

/* Without trailing zeros, 1.0 and 1.00 read the same. */
static uint64
HashNumeric(KeyType *key, Datum value, uint64 seed)
{
	Numeric		number = DatumGetNumeric(value);
	char	   *digits = numeric_normalize(number);
	uint64		hash = blx_hash_bytes(digits, strlen(digits), seed);

	pfree(digits);
	if ((Pointer) number != DatumGetPointer(value))
		pfree(number);
	return hash;
}

/* text, varchar, bytea: the bytes */
static uint64
HashVarlena(KeyType *key, Datum value, uint64 seed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint64		hash = blx_hash_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), seed);

	if ((Pointer) bytes != DatumGetPointer(value))
		pfree(bytes);
	return hash;
}

static uint64
HashBpchar(KeyType *key, Datum value, uint64 seed)
{
	BpChar	   *text = DatumGetBpCharPP(value);
	int			length = bpchartruelen(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
	uint64		hash = blx_hash_bytes(VARDATA_ANY(text), length, seed);

	if ((Pointer) text != DatumGetPointer(value))
		pfree(text);
	return hash;
}

static uint64
HashName(KeyType *key, Datum value, uint64 seed)
{
	const char *name = NameStr(*DatumGetName(value));

	return blx_hash_bytes(name, strlen(name), seed);
}

/* uuid, macaddr, macaddr8: fixed-length arrays of bytes */
static uint64
HashFixedBytes(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_bytes(DatumGetPointer(value), key->length, seed);
}

static uint64
HashBool(KeyType *key, Datum value, uint64 seed)
{
	uint8		byte = DatumGetBool(value);

	return blx_hash_bytes(&byte, 1, seed);
}

/* "char" */
static uint64
HashChar(KeyType *key, Datum value, uint64 seed)
{
	uint8		byte = (uint8) DatumGetChar(value);

	return blx_hash_bytes(&byte, 1, seed);
}

/* date, oid, xid, cid */
static uint64
Hash32Bits(KeyType *key, Datum value, uint64 seed)
{
	uint8		bytes[4];

	PutLittleEndian(bytes, DatumGetUInt32(value), 4);
	return blx_hash_bytes(bytes, 4, seed);
}

static uint64
HashTimeTz(KeyType *key, Datum value, uint64 seed)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);
	uint8		bytes[12];

	PutLittleEndian(bytes, (uint64) time->time, 8);
	PutLittleEndian(bytes + 8, (uint32) time->zone, 4);
	return blx_hash_bytes(bytes, 12, seed);
}

static uint64
HashTid(KeyType *key, Datum value, uint64 seed)
{
	ItemPointer tid = (ItemPointer) DatumGetPointer(value);
	uint8		bytes[6];

	PutLittleEndian(bytes, ItemPointerGetBlockNumberNoCheck(tid), 4);
	PutLittleEndian(bytes + 4, ItemPointerGetOffsetNumberNoCheck(tid), 2);
	return blx_hash_bytes(bytes, 6, seed);
}

/* As interval_cmp_value: a month is 30 days, a day 24 hours. */
static uint64
HashInterval(KeyType *key, Datum value, uint64 seed)
{
	Interval   *span = DatumGetIntervalP(value);
	int64		days = span->month * INT64CONST(30) + span->day;
	int128		total = (int128) days * USECS_PER_DAY + span->time;
	uint8		bytes[16];

	PutLittleEndian(bytes, (uint64) total, 8);
	PutLittleEndian(bytes + 8, (uint64) (total >> 64), 8);
	return blx_hash_bytes(bytes, 16, seed);
}

static uint64
HashInet(KeyType *key, Datum value, uint64 seed)
{
	inet	   *address = DatumGetInetPP(value);
	uint8		bytes[18];
	uint64		hash;

	bytes[0] = ip_family(address) == PGSQL_AF_INET ? 4 : 6;
	bytes[1] = ip_bits(address);
	memcpy(bytes + 2, ip_addr(address), ip_addrsize(address));
	hash = blx_hash_bytes(bytes, 2 + ip_addrsize(address), seed);
	if ((Pointer) address != DatumGetPointer(value))
		pfree(address);
	return hash;
}

static uint64
HashEnum(KeyType *key, Datum value, uint64 seed)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, value);
	const char *label;
	uint64		hash;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", DatumGetObjectId(value))));
	label = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	hash = blx_hash_bytes(label, strlen(label), seed);
	ReleaseSysCache(tuple);
	return hash;
}

static uint64
HashByType(KeyType *key, Datum value, uint64 seed)
{
	uint64		hash = DatumGetUInt64(FunctionCall2Coll(&key->hash_function, key->collation, value, UInt64GetDatum(0)));

	return blx_hash_int64(hash, seed);
}

/* ---- the table of key types ---- */

static const struct
{
	Oid			type;
	uint8		code;			/* core/geometry.c has the names; BLX_KEY_NAMED: goes by its SQL name */
	uint64		(*hash) (KeyType *key, Datum value, uint64 seed);
}			key_types[] =
{
	{INT2OID, 1, HashInt2},
	{INT4OID, 1, HashInt4},
	{INT8OID, 1, HashInt8},
	{FLOAT4OID, 2, HashFloat4},
	{FLOAT8OID, 2, HashFloat8},
	{NUMERICOID, 3, HashNumeric},
	{TEXTOID, 4, HashVarlena},
	{VARCHAROID, 4, HashVarlena},
	{NAMEOID, 4, HashName},
	{BPCHAROID, 20, HashBpchar},
	{BYTEAOID, 5, HashVarlena},
	{UUIDOID, 6, HashFixedBytes},
	{BOOLOID, 7, HashBool},
	{DATEOID, 8, Hash32Bits},
	{TIMEOID, 9, HashInt8},
	{TIMETZOID, 10, HashTimeTz},
	{TIMESTAMPOID, 11, HashInt8},
	{TIMESTAMPTZOID, 12, HashInt8},
	{INTERVALOID, 13, HashInterval},
	{INETOID, 14, HashInet},
	{CIDROID, 14, HashInet},
	{MACADDROID, 15, HashFixedBytes},
	{MACADDR8OID, 16, HashFixedBytes},
	{OIDOID, 17, Hash32Bits},
	{MONEYOID, 18, HashInt8},
	{JSONBOID, BLX_KEY_NAMED, HashJsonb},
	{CHAROID, BLX_KEY_NAMED, HashChar},
	{XIDOID, BLX_KEY_NAMED, Hash32Bits},
	{CIDOID, BLX_KEY_NAMED, Hash32Bits},
	{XID8OID, BLX_KEY_NAMED, HashInt8},
	{PG_LSNOID, BLX_KEY_NAMED, HashInt8},
	{TIDOID, BLX_KEY_NAMED, HashTid},
};

#define KEY_ENUM 19

/*
 * Under a nondeterministic collation strings that differ in bytes may be
 * equal; so may what contains them, which asks here for each of its parts.
 */
static void
RefuseNondeterministic(Oid type, Oid collation)
{
	if (OidIsValid(collation) && type_is_collatable(type) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collations are not supported for bloom filter keys"),
				 errdetail("Collation \"%s\" calls strings equal that differ in their bytes.", get_collation_name(collation)),
				 errhint("Use COLLATE \"C\" on the key.")));
}

/*
 * What a regclass or an aclitem shows is a name, and what it is is an OID: after
 * a dump and restore the same name is another value.
 */
static void
RefuseObjectIdentifiers(Oid base, Oid hash_function)
{
	if (hash_function == F_HASHOIDEXTENDED || hash_function == F_HASH_ACLITEM_EXTENDED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(base)),
				 errdetail("Its values are object identifiers, which differ after a dump and restore."),
				 errhint("Cast the key to text, or a single identifier to oid.")));
}

/* What a hash function computes, wherever it lives: its language, its source and, of a compiled one, its library. */
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

static char *
UnqualifiedName(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	name = pstrdup(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Any other type goes by its own hash function.  The name has no schema, which
 * may differ where a dump is restored, but tells types of one name apart that
 * hash differently.
 */
static void
LookupHashedType(KeyType *key, Oid base, MemoryContext context)
{
	TypeCacheEntry *entry = lookup_type_cache(base, TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC | TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	Oid			function = entry->hash_extended_proc_finfo.fn_oid;

	if (!OidIsValid(entry->eq_opr) || !OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(base)),
				 errdetail("The type has no hash operator class with an extended hash function."),
				 errhint("Cast the key to a type that has one, for example to text.")));
	RefuseObjectIdentifiers(base, function);
	if (base < FirstUnpinnedObjectId)
		SetKeyTypeName(key, format_type_be(base), NULL, context);
	else
		SetKeyTypeName(key, UnqualifiedName(base), DescribeFunction(function), context);
	key->hash = HashByType;
	fmgr_info_copy(&key->hash_function, &entry->hash_extended_proc_finfo, context);
}

void
LookupKeyType(KeyType *key, Oid type, Oid collation, MemoryContext context)
{
	Oid			base = getBaseType(type);

	RefuseNondeterministic(base, collation);
	memset(key, 0, sizeof *key);
	get_typlenbyvalalign(base, &key->length, &key->by_value, &key->align);
	key->collation = collation;

	for (size_t i = 0; i < lengthof(key_types); i++)
		if (key_types[i].type == base)
		{
			key->identity.key_type = key_types[i].code;
			key->hash = key_types[i].hash;
			if (key_types[i].code == BLX_KEY_NAMED)
				SetKeyTypeName(key, format_type_be(base), NULL, context);
		}
	if (key->hash == NULL && get_typtype(base) == TYPTYPE_ENUM)
	{
		key->identity.key_type = KEY_ENUM;
		key->hash = HashEnum;
	}
	if (key->hash == NULL && !LookupContainer(key, base, collation, context))
		LookupHashedType(key, base, context);
	key->type = type;			/* last: an error above leaves no half-made entry */
}

/* ---- call sites ---- */

CallCache *
GetCallCache(FunctionCallInfo fcinfo)
{
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CallCache));
	return fcinfo->flinfo->fn_extra;
}

static Oid
ArgumentType(FunctionCallInfo fcinfo, int n)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, n);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the bloom filter key")));
	return type;
}

/* A call site has one key argument, whose type does not change. */
KeyType *
GetKeyType(FunctionCallInfo fcinfo, int n)
{
	KeyType    *key = &GetCallCache(fcinfo)->key;

	if (!OidIsValid(key->type))
		LookupKeyType(key, ArgumentType(fcinfo, n), PG_GET_COLLATION(), fcinfo->flinfo->fn_mcxt);
	return key;
}

KeyType *
GetElementKeyType(FunctionCallInfo fcinfo, int n)
{
	KeyType    *key = &GetCallCache(fcinfo)->key;

	if (!OidIsValid(key->type))
	{
		Oid			array = ArgumentType(fcinfo, n);
		Oid			element = get_base_element_type(array);

		if (!OidIsValid(element))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("bloom filter keys must be given as an array, not as %s", format_type_be(array))));
		LookupKeyType(key, element, PG_GET_COLLATION(), fcinfo->flinfo->fn_mcxt);
	}
	return key;
}

void
CompareKeyTypes(const blx_filter *f, const KeyType *key)
{
	blx_identity of_filter,
				of_key;
	blx_error	error;

	of_filter = blx_identity_of(f);
	of_key = key->identity;
	of_key.seed = of_filter.seed;
	if (!blx_key_check(&of_filter, &of_key, &error))
		ThrowCoreError(&error);
}

blx_identity
JointIdentity(const blx_identity *a, const blx_identity *b)
{
	blx_identity joint = a->key_type == BLX_KEY_NONE ? *b : *a;

	joint.seed = a->seed;
	return joint;
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
