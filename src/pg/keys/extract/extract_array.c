/*
 * extract_array.c - the keys of an array are its elements, whatever its
 * dimensions.  A NULL element is no key: no operator finds it.  An array without
 * elements has a key of its own.
 *
 * `a <@ q` holds if each element of a equals one of q; a NULL equals none.  So if a
 * has elements, it has a key of q, and otherwise it is empty.  An array of the
 * column that has neither key is not contained in q.  The converse cannot be asked:
 * a filter of keys does not tell that a row has no others.  So the index finds what
 * overlaps q, and the empty arrays: blocks that are few if the elements of q are rare
 * and empty arrays are.  The cost estimate counts both.
 */
#include "pg/keys/extract/extract.h"

#include "utils/array.h"

/* The key of an empty array.  An arbitrary number. */
#define EMPTY_ARRAY	UINT64CONST(0x656d707479617272)

typedef struct ArrayExtractor
{
	KeyExtractor extractor;
	KeyType		element;
} ArrayExtractor;

/* Returns true if there is a NULL among the elements.  If there are none, the key of an empty array is added on demand. */
static bool
AddElements(KeyExtractor *extractor, Datum value, bool empty, KeyHashes *keys)
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
	if (n == 0 && !nulls && empty)
		AddKeyHash(keys, EMPTY_ARRAY);
	pfree(hashes);
	FreeIfDetoasted(array, value);
	return nulls;
}

/* Of elements whose type has lost columns there are no keys, as of such scalars. */
static void
ExtractArray(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	uint32		before = keys->n;

	(void) AddElements(extractor, value, true, keys);
	if (((ArrayExtractor *) extractor)->element.lost_columns)
		keys->n = before;
}

static KeyCondition *
ArrayCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyHashes	keys = {0};
	bool		nulls = AddElements(extractor, query, strategy == KEYS_EQUAL, &keys);

	if (strategy == KEYS_CONTAIN && nulls)
		return MakeKeyCondition(NO_VALUE, 0);
	if (((ArrayExtractor *) extractor)->element.lost_columns)
		return MakeKeyCondition(ANY_VALUE, 0);
	if (strategy == KEYS_CONTAINED)
		AddKeyHash(&keys, EMPTY_ARRAY);
	return ConditionOfKeys(strategy == KEYS_OVERLAP || strategy == KEYS_CONTAINED ? HAS_ANY : HAS_ALL, &keys);
}

PG_FUNCTION_INFO_V1(bloomx_extract_array);
Datum
bloomx_extract_array(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NewKeyExtractor(fcinfo, sizeof(ArrayExtractor), KEYS_NAMED("elements"), ExtractArray, ArrayCondition));
}
