/*
 * containers.c - keys that consist of other values: arrays, rows, ranges,
 * multiranges and jsonb.
 *
 * PostgreSQL has hash functions for these too, but their results do not last.
 * They hash an enum inside by its OID, which changes with a dump and restore,
 * and bytes by a function whose result depends on the machine's byte order.  So
 * the canonical form of a container is made of the key hashes of its parts (of
 * jsonb: of its values), each of which is canonical itself.  docs/internals/FORMAT.md
 * describes the bytes.
 */
#include "pg/keys/keys.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"

#include "core/base/hash.h"

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

/* NULLs in the same place are equal: so SQL compares arrays and rows. */
static void
PutNullablePart(XXH3_state_t *state, KeyType *part, Datum value, bool isnull, uint64 seed)
{
	PutByte(state, isnull ? 0 : 1);
	if (!isnull)
		PutPart(state, part, value, seed);
}

uint64
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
	FreeIfDetoasted(array, value);
	return XXH3_64bits_digest(&state);
}

/* ALTER TYPE may have come after the lookup, or the value may carry another row type than its call says. */
static void
CheckColumn(const KeyType *key, int n, Oid type)
{
	if (n < key->n_parts && key->parts[n].type == type)
		return;
	if (key->row_context != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rows with different columns cannot be keys of one filter"),
				 errhint("Cast the columns to the same types, or the rows to a composite type.")));
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a row of type %s does not have the columns of its type", format_type_be(key->type)),
				 errhint("If the type has just been altered, run the statement again.")));
}

bool
HasColumnsOf(const KeyType *key, Datum value)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	TupleDesc	columns = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
	bool		same = true;
	int			n = 0;

	for (int i = 0; i < columns->natts; i++)
		if (!TupleDescAttr(columns, i)->attisdropped)
		{
			same &= n < key->n_parts && key->parts[n].type == TupleDescAttr(columns, i)->atttypid;
			n++;
		}
	ReleaseTupleDesc(columns);
	return same && n == key->n_parts;
}

static uint64
HashColumns(KeyType *key, Datum value, uint64 seed, bool nulls_at_end)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	TupleDesc	columns = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row, .t_tableOid = InvalidOid};
	Datum	   *values = palloc(sizeof(Datum) * Max(columns->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(columns->natts, 1));
	XXH3_state_t state;
	int			n = 0,
				end = columns->natts;

	check_stack_depth();
	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, columns, values, nulls);
	while (!nulls_at_end && end > 0 && (nulls[end - 1] || TupleDescAttr(columns, end - 1)->attisdropped))
		end--;
	XXH3_64bits_reset_withSeed(&state, seed);
	for (int i = 0; i < columns->natts; i++)
	{
		if (TupleDescAttr(columns, i)->attisdropped)
			continue;
		CheckColumn(key, n, TupleDescAttr(columns, i)->atttypid);
		if (i < end)
			PutNullablePart(&state, &key->parts[n], values[i], nulls[i], seed);
		n++;
	}
	if (n < key->n_parts)
		CheckColumn(key, n, InvalidOid);
	ReleaseTupleDesc(columns);
	pfree(values);
	pfree(nulls);
	FreeIfDetoasted(row, value);
	return XXH3_64bits_digest(&state);
}

uint64
HashRow(KeyType *key, Datum value, uint64 seed)
{
	return HashColumns(key, value, seed, true);
}

uint64
HashStoredRow(KeyType *key, Datum value, uint64 seed)
{
	return HashColumns(key, value, seed, false);
}

uint64
HashOfColumns(KeyType *const *parts, const Datum *values, int n, uint64 seed)
{
	XXH3_state_t state;

	check_stack_depth();
	XXH3_64bits_reset_withSeed(&state, seed);
	for (int i = 0; i < n; i++)
		PutNullablePart(&state, parts[i], values[i], false, seed);
	return XXH3_64bits_digest(&state);
}

/* An infinite bound has no value, nor have the bounds of an empty range. */
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

uint64
HashRange(KeyType *key, Datum value, uint64 seed)
{
	RangeType  *range = DatumGetRangeTypeP(value);
	XXH3_state_t state;

	check_stack_depth();
	XXH3_64bits_reset_withSeed(&state, seed);
	PutRange(&state, key->parts, lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO), range, seed);
	FreeIfDetoasted(range, value);
	return XXH3_64bits_digest(&state);
}

uint64
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
	FreeIfDetoasted(multirange, value);
	return XXH3_64bits_digest(&state);
}

static void
PutJsonbScalar(XXH3_state_t *state, const JsonbValue *value)
{
	NumericText text;

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
			MakeNumericText(&text, (struct varlena *) value->val.numeric);
			PutByte(state, 'd');
			PutBytes(state, text.bytes, text.length);
			if (text.made != NULL)
				pfree(text.made);
			break;
		default:
			elog(ERROR, "unexpected jsonb value type: %d", (int) value->type);
	}
}

/* jsonb keeps an object's keys in one order and once each.  The counts in front make end marks superfluous. */
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
	FreeIfDetoasted(document, value);
	return XXH3_64bits_digest(&state);
}
