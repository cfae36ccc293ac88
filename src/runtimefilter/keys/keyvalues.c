/*
 * keyvalues.c - the distinct values of a join key that is no integer, in the order of
 * their type.
 *
 * Values are distinct by the order's own comparison.  Their codes only tell which
 * ones to compare: two values may have one code, and none of them may be lost.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/datum.h"
#include "utils/typcache.h"

#include "runtimefilter/keys/keyvalues.h"

/*
 * So many values are kept.  To sort them takes some 10,000 comparisons, which are a
 * millisecond or, of texts in a language's order, ten.  A table in which a BRIN
 * index can exclude something for a thousand keys is large enough for that.
 */
#define MOST_VALUES 1024
#define VALUE_SLOTS (2 * MOST_VALUES)

/* The arrays of a collection. */
#define ARRAY_BYTES (MOST_VALUES * (sizeof(Datum) + sizeof(uint64)) + VALUE_SLOTS * sizeof(uint16))

/* A value of more bytes does not fit into a summary, so no index has it. */
#define LONGEST_VALUE BLCKSZ

ValueOrder *
MakeValueOrder(const KeyCoder *coder)
{
	TypeCacheEntry *type;
	ValueOrder *order;

	if (IsInteger(coder) || IsPolymorphicType(coder->type) || coder->type == RECORDOID)
		return NULL;
	type = lookup_type_cache(coder->type, TYPECACHE_EQ_OPR | TYPECACHE_CMP_PROC_FINFO);
	if (!OidIsValid(type->cmp_proc) || type->eq_opr != coder->operator)
		return NULL;
	order = palloc0(sizeof(ValueOrder));
	order->type = coder->type;
	order->collation = coder->collation;
	order->length = type->typlen;
	order->by_value = type->typbyval;
	fmgr_info_copy(&order->compare, &type->cmp_proc_finfo, CurrentMemoryContext);
	return order;
}

static int
Compare(ValueOrder *order, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(&order->compare, order->collation, a, b));
}

KeyValues *
NewKeyValues(ValueOrder *order, MemoryContext context, uint64 budget)
{
	KeyValues  *values = MemoryContextAllocZero(context, sizeof(KeyValues));

	values->context = context;
	values->order = order;
	values->budget = budget - Min(budget, ARRAY_BYTES);
	values->values = MemoryContextAlloc(context, MOST_VALUES * sizeof(Datum));
	values->codes = MemoryContextAlloc(context, MOST_VALUES * sizeof(uint64));
	values->slots = MemoryContextAllocZero(context, VALUE_SLOTS * sizeof(uint16));
	return values;
}

/* Copies a value as it is compared: neither compressed nor elsewhere.  False if it is too large. */
static bool
CopyValue(KeyValues *values, Datum value, Datum *copy)
{
	MemoryContext old;
	Size		size;

	if (values->order->by_value)
	{
		*copy = value;
		return true;
	}
	size = values->order->length == -1 ? toast_raw_datum_size(value) : datumGetSize(value, false, values->order->length);
	if (size > LONGEST_VALUE || size > values->budget)
		return false;
	values->budget -= size;
	old = MemoryContextSwitchTo(values->context);
	if (values->order->length == -1)
		*copy = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	else
		*copy = datumCopy(value, false, values->order->length);
	MemoryContextSwitchTo(old);
	return true;
}

void
AddKeyValue(KeyValues *values, uint64 code, Datum value)
{
	uint32		slot;

	if (values->are_too_many)
		return;
	for (slot = (uint32) code % VALUE_SLOTS; values->slots[slot] != 0; slot = (slot + 1) % VALUE_SLOTS)
	{
		uint32		i = values->slots[slot] - 1;

		if (values->codes[i] == code && Compare(values->order, values->values[i], value) == 0)
			return;
	}
	if (values->n == MOST_VALUES || !CopyValue(values, value, &values->values[values->n]))
	{
		values->are_too_many = true;
		return;
	}
	values->codes[values->n] = code;
	values->slots[slot] = ++values->n;
}

/*
 * Exported values: their number, or TOO_MANY; then for each value its code, its bytes,
 * and itself.
 */
#define TOO_MANY UINT64_MAX

static Size
ValueBytes(const KeyValues *values, uint32 i)
{
	return datumGetSize(values->values[i], values->order->by_value, values->order->length);
}

static inline uint64
WordsFor(uint64 bytes)
{
	return (bytes + sizeof(uint64) - 1) / sizeof(uint64);
}

uint64
ExportedValueWords(const KeyValues *values)
{
	uint64		codes = 1;

	if (!values->are_too_many)
		for (uint32 i = 0; i < values->n; i++)
			codes += 2 + WordsFor(ValueBytes(values, i));
	return codes;
}

void
ExportKeyValues(const KeyValues *values, uint64 *to)
{
	*to++ = values->are_too_many ? TOO_MANY : values->n;
	if (values->are_too_many)
		return;
	for (uint32 i = 0; i < values->n; i++)
	{
		Size		bytes = ValueBytes(values, i);

		*to++ = values->codes[i];
		*to++ = bytes;
		if (values->order->by_value)
			*to = values->values[i];
		else
			memcpy(to, DatumGetPointer(values->values[i]), bytes);
		to += WordsFor(bytes);
	}
}

void
ImportKeyValues(KeyValues *values, const uint64 *from)
{
	if (from == NULL || *from == TOO_MANY)
	{
		values->are_too_many = true;
		return;
	}
	for (uint64 n = *from++; n > 0; n--)
	{
		uint64		code = *from++,
					bytes = *from++;

		AddKeyValue(values, code, values->order->by_value ? (Datum) *from : PointerGetDatum(from));
		from += WordsFor(bytes);
	}
}

static int
CompareValues(const void *a, const void *b, void *order)
{
	return Compare(order, *(const Datum *) a, *(const Datum *) b);
}

void
FinishKeyValues(KeyValues *values)
{
	if (!values->are_too_many)
		qsort_arg(values->values, values->n, sizeof(Datum), CompareValues, values->order);
}

bool
KeyValuesMeetRange(const KeyValues *values, Datum low, Datum high)
{
	uint32		from = 0,
				to = values->n;

	Assert(!values->are_too_many);
	/* the first value that is not below low */
	while (from < to)
	{
		uint32		middle = from + (to - from) / 2;

		if (Compare(values->order, values->values[middle], low) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < values->n && Compare(values->order, values->values[from], high) <= 0;
}
