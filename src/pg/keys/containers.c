/*
 * containers.c - keys that consist of other values: arrays, rows, ranges,
 * multiranges and jsonb.
 *
 * PostgreSQL has hash functions for these too, but their results do not last:
 * an enum inside goes by its OID, which a dump and restore changes, and bytes
 * go by a function whose result depends on the machine's byte order.  So the
 * canonical form of a container is made of its parts' key hashes (or, of
 * jsonb, of its values), each of which is canonical itself.  docs/FORMAT.md
 * has the bytes.
 *
 * The key type's name says what the container consists of, not what it is
 * called: the rows of two types are comparable when their columns are, in
 * whatever schemas the types live and whatever they are called there.
 */
#include "pg/base/bloomx.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "core/base/hash.h"

/* ---- canonical bytes, hashed as they come ---- */

static void
PutByte(XXH3_state_t *state, uint8 byte)
{
	(void) XXH3_64bits_update(state, &byte, 1);
}

static void
PutInt32(XXH3_state_t *state, uint32 value)
{
	uint8		bytes[4] = {(uint8) value, (uint8) (value >> 8), (uint8) (value >> 16), (uint8) (value >> 24)};

	(void) XXH3_64bits_update(state, bytes, 4);
}

static void
PutBytes(XXH3_state_t *state, const void *bytes, size_t length)
{
	PutInt32(state, (uint32) length);
	(void) XXH3_64bits_update(state, bytes, length);
}

static void
PutPart(XXH3_state_t *state, KeyType *part, Datum value, uint64 seed)
{
	uint64		hash = blx_to_le64(HashKey(part, value, seed));

	(void) XXH3_64bits_update(state, &hash, 8);
}

/* SQL calls two rows, or arrays, equal that have NULL in the same place. */
static void
PutNullablePart(XXH3_state_t *state, KeyType *part, Datum value, bool isnull, uint64 seed)
{
	PutByte(state, isnull ? 0 : 1);
	if (!isnull)
		PutPart(state, part, value, seed);
}

static uint64
HashArrayValue(KeyType *key, Datum value, uint64 seed)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	KeyType    *element = key->parts;
	ArrayMetaState meta = {.element_type = ARR_ELEMTYPE(array), .typlen = element->length,
	.typbyval = element->by_value, .typalign = element->align};
	ArrayIterator iterator = array_create_iterator(array, 0, &meta);
	XXH3_state_t state;
	Datum		item;
	bool		isnull;

	check_stack_depth();
	XXH3_64bits_reset_withSeed(&state, seed);
	PutInt32(&state, ARR_NDIM(array));
	for (int i = 0; i < ARR_NDIM(array); i++)
	{
		PutInt32(&state, ARR_DIMS(array)[i]);
		PutInt32(&state, ARR_LBOUND(array)[i]);
	}
	while (array_iterate(iterator, &item, &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		PutNullablePart(&state, element, item, isnull, seed);
	}
	array_free_iterator(iterator);
	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
	return XXH3_64bits_digest(&state);
}

/* ALTER TYPE may come between the lookup and the row, or a value carry another row type than its call says. */
static void
CheckColumn(const KeyType *key, int n, Oid type)
{
	if (n >= key->n_parts || key->parts[n].type != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a row of type %s does not have the columns of its type", format_type_be(key->type)),
				 errhint("If the type has just been altered, run the statement again.")));
}

static uint64
HashRow(KeyType *key, Datum value, uint64 seed)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	TupleDesc	columns = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row, .t_tableOid = InvalidOid};
	Datum	   *values = palloc(sizeof(Datum) * Max(columns->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(columns->natts, 1));
	XXH3_state_t state;
	int			n = 0;

	check_stack_depth();
	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, columns, values, nulls);
	XXH3_64bits_reset_withSeed(&state, seed);
	for (int i = 0; i < columns->natts; i++)
	{
		if (TupleDescAttr(columns, i)->attisdropped)
			continue;
		CheckColumn(key, n, TupleDescAttr(columns, i)->atttypid);
		PutNullablePart(&state, &key->parts[n++], values[i], nulls[i], seed);
	}
	if (n < key->n_parts)
		CheckColumn(key, n, InvalidOid);
	ReleaseTupleDesc(columns);
	pfree(values);
	pfree(nulls);
	if ((Pointer) row != DatumGetPointer(value))
		pfree(row);
	return XXH3_64bits_digest(&state);
}

/* A bound that is infinite, or of an empty range, has no value. */
static void
PutRange(XXH3_state_t *state, KeyType *bound, TypeCacheEntry *type, const RangeType *range, uint64 seed)
{
	RangeBound	lower,
				upper;
	bool		empty;

	range_deserialize(type, range, &lower, &upper, &empty);
	if (empty)
	{
		PutByte(state, 0);
		return;
	}
	PutByte(state, 1 | lower.infinite << 1 | upper.infinite << 2 | lower.inclusive << 3 | upper.inclusive << 4);
	if (!lower.infinite)
		PutPart(state, bound, lower.val, seed);
	if (!upper.infinite)
		PutPart(state, bound, upper.val, seed);
}

static uint64
HashRange(KeyType *key, Datum value, uint64 seed)
{
	RangeType  *range = DatumGetRangeTypeP(value);
	XXH3_state_t state;

	check_stack_depth();
	XXH3_64bits_reset_withSeed(&state, seed);
	PutRange(&state, key->parts, lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO), range, seed);
	if ((Pointer) range != DatumGetPointer(value))
		pfree(range);
	return XXH3_64bits_digest(&state);
}

static uint64
HashMultirange(KeyType *key, Datum value, uint64 seed)
{
	MultirangeType *multirange = DatumGetMultirangeTypeP(value);
	TypeCacheEntry *type = lookup_type_cache(MultirangeTypeGetOid(multirange), TYPECACHE_MULTIRANGE_INFO)->rngtype;
	XXH3_state_t state;
	int32		count;
	RangeType **ranges;

	check_stack_depth();
	multirange_deserialize(type, multirange, &count, &ranges);
	XXH3_64bits_reset_withSeed(&state, seed);
	PutInt32(&state, count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		PutRange(&state, key->parts, type, ranges[i], seed);
		pfree(ranges[i]);
	}
	if (count > 0)
		pfree(ranges);
	if ((Pointer) multirange != DatumGetPointer(value))
		pfree(multirange);
	return XXH3_64bits_digest(&state);
}

static void
PutJsonbScalar(XXH3_state_t *state, const JsonbValue *value)
{
	char	   *digits;

	switch (value->type)
	{
		case jbvNull:
			PutByte(state, 'n');
			break;
		case jbvBool:
			PutByte(state, value->val.boolean ? 't' : 'f');
			break;
		case jbvString:
			PutByte(state, 's');
			PutBytes(state, value->val.string.val, value->val.string.len);
			break;
		case jbvNumeric:
			digits = numeric_normalize(value->val.numeric);
			PutByte(state, 'd');
			PutBytes(state, digits, strlen(digits));
			pfree(digits);
			break;
		default:
			elog(ERROR, "unexpected jsonb value type: %d", (int) value->type);
	}
}

/* An object's keys come in one order and once each; counts in front make ends superfluous. */
uint64
HashJsonb(KeyType *key, Datum value, uint64 seed)
{
	Jsonb	   *document = DatumGetJsonbP(value);
	JsonbIterator *iterator = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbValue	item;
	XXH3_state_t state;

	XXH3_64bits_reset_withSeed(&state, seed);
	while ((token = JsonbIteratorNext(&iterator, &item, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_BEGIN_ARRAY && !item.val.array.rawScalar)
		{
			PutByte(&state, 'a');
			PutInt32(&state, item.val.array.nElems);
		}
		else if (token == WJB_BEGIN_OBJECT)
		{
			PutByte(&state, 'o');
			PutInt32(&state, item.val.object.nPairs);
		}
		else if (token == WJB_KEY || token == WJB_VALUE || token == WJB_ELEM)
			PutJsonbScalar(&state, &item);
	}
	if ((Pointer) document != DatumGetPointer(value))
		pfree(document);
	return XXH3_64bits_digest(&state);
}

/* ---- names ---- */

#define FINGERPRINT_LENGTH 17	/* '#' and 16 hexadecimal digits */

void
SetKeyTypeName(KeyType *key, const char *name, const char *what_else, MemoryContext context)
{
	int			length = strlen(name);
	char		result[BLX_MAX_NAME + 1];

	if (what_else == NULL && length > BLX_MAX_NAME)
		what_else = name;
	if (what_else != NULL)
	{
		length = pg_mbcliplen(name, length, BLX_MAX_NAME - FINGERPRINT_LENGTH);
		snprintf(result, sizeof result, "%.*s#%016" INT64_MODIFIER "x", length, name,
				 blx_hash_bytes(what_else, strlen(what_else), 0));
		name = result;
	}
	key->identity.key_type = BLX_KEY_NAMED;
	key->identity.name_len = (uint8) strlen(name);
	key->identity.name = MemoryContextStrdup(context, name);
}

static const char *
PartName(const KeyType *part)
{
	return pstrdup(blx_key_type_name(&part->identity, (char[BLX_MAX_NAME + 1]) {0}));
}

/* ---- lookup ---- */

static KeyType *
MakeParts(KeyType *key, int n, MemoryContext context)
{
	key->parts = MemoryContextAllocZero(context, sizeof(KeyType) * Max(n, 1));
	key->n_parts = n;
	return key->parts;
}

static void
LookupArray(KeyType *key, Oid element, Oid collation, MemoryContext context)
{
	LookupKeyType(MakeParts(key, 1, context), element, collation, context);
	SetKeyTypeName(key, psprintf("%s[]", PartName(key->parts)), NULL, context);
	key->hash = HashArrayValue;
}

static void
LookupRow(KeyType *key, Oid type, MemoryContext context)
{
	TupleDesc	columns = lookup_rowtype_tupdesc_copy(type, -1);
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
		LookupKeyType(&key->parts[n], column->atttypid, column->attcollation, context);
		appendStringInfo(&name, "%s%s", n > 0 ? ", " : "", PartName(&key->parts[n]));
		n++;
	}
	appendStringInfoChar(&name, ')');
	key->n_parts = n;
	SetKeyTypeName(key, name.data, NULL, context);
	key->hash = HashRow;
	pfree(name.data);
	FreeTupleDesc(columns);
}

/* A range's operator class may call bounds equal that the subtype's own `=` does not. */
static void
CheckRangeEquality(Oid range, Oid subtype, Oid opclass)
{
	Oid			input = get_opclass_input_type(opclass);
	Oid			equal = get_opfamily_member(get_opclass_family(opclass), input, input, BTEqualStrategyNumber);

	if (equal != lookup_type_cache(subtype, TYPECACHE_EQ_OPR)->eq_opr)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type %s cannot be a bloom filter key", format_type_be(range)),
				 errdetail("Its operator class compares bounds with another equality than that of type %s.", format_type_be(subtype)),
				 errhint("Cast the key to text.")));
}

/*
 * The built-in range types have their names.  Others are what they are ranges
 * of; one with a canonical function writes the same range in another way than
 * one without, or with another function.
 */
static void
LookupRange(KeyType *key, Oid type, MemoryContext context)
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
	CheckRangeEquality(range, row.rngsubtype, row.rngsubopc);
	LookupKeyType(MakeParts(key, 1, context), row.rngsubtype, row.rngcollation, context);
	if (type < FirstUnpinnedObjectId)
		name = format_type_be(type);
	else
		name = psprintf("%s(%s%s%s)", multi ? "multirange" : "range", PartName(key->parts),
						OidIsValid(row.rngcanonical) ? ", " : "",
						OidIsValid(row.rngcanonical) ? get_func_name(row.rngcanonical) : "");
	SetKeyTypeName(key, name, NULL, context);
	key->hash = multi ? HashMultirange : HashRange;
}

bool
LookupContainer(KeyType *key, Oid base, Oid collation, MemoryContext context)
{
	Oid			element = get_element_type(base);

	check_stack_depth();
	if (OidIsValid(element))
	{
		LookupArray(key, element, collation, context);
		return true;
	}
	switch (get_typtype(base))
	{
		case TYPTYPE_COMPOSITE:
			LookupRow(key, base, context);
			return true;
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			LookupRange(key, base, context);
			return true;
		default:
			return false;
	}
}
