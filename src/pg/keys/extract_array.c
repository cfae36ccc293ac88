/*
 * extract_array.c - the keys of an array are its elements, whatever its
 * dimensions.  A NULL element is no key: no operator finds it.
 */
#include "pg/keys/extract.h"

#include "utils/array.h"

typedef struct ArrayExtractor
{
	KeyExtractor extractor;
	KeyType		element;
} ArrayExtractor;

/* Returns true if there is a NULL among the elements. */
static bool
AddElements(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	KeyType    *element = &((ArrayExtractor *) extractor)->element;
	ArrayType  *array = DatumGetArrayTypeP(value);
	uint64	   *hashes;
	bool		nulls;
	int			n;

	/* the array knows its type, a polymorphic operator does not */
	if (element->type != ARR_ELEMTYPE(array))
		LookupIndexedType(element, ARR_ELEMTYPE(array), extractor->collation, extractor->memory);
	hashes = HashArray(element, PointerGetDatum(array), 0, &n, &nulls);
	for (int i = 0; i < n; i++)
		AddKeyHash(keys, hashes[i]);
	pfree(hashes);
	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
	return nulls;
}

static void
ExtractArray(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	(void) AddElements(extractor, value, keys);
}

static KeyCondition *
ArrayCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyHashes	keys = {0};
	bool		nulls = AddElements(extractor, query, &keys);

	if (strategy == KEYS_CONTAIN && nulls)
		return MakeKeyCondition(NO_VALUE, 0);
	return ConditionOfKeys(strategy == KEYS_OVERLAP ? HAS_ANY : HAS_ALL, &keys);
}

PG_FUNCTION_INFO_V1(bloomx_extract_array);
Datum
bloomx_extract_array(PG_FUNCTION_ARGS)
{
	KeyExtractor *extractor = NewKeyExtractor(fcinfo, sizeof(ArrayExtractor));

	extractor->identity = KEYS_NAMED("elements");
	extractor->value = ExtractArray;
	extractor->query = ArrayCondition;
	PG_RETURN_POINTER(extractor);
}
