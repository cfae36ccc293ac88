/*
 * extract_hstore.c - the keys of an hstore: its names, and its pairs of a name
 * and a value.  A value that is NULL makes a pair, too, which @> finds.
 *
 * The type belongs to the extension hstore, and bloomx_hstore has its operator
 * class.  How the values are stored is that extension's affair (it has had two
 * formats): its function hstore_to_array takes them apart.
 */
#include "pg/keys/extract/extract.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "core/base/hash.h"
#include "pg/base/objects.h"

/* What the hash of a name begins with; it is the seed of the pair's.  An arbitrary number. */
#define OF_NAME		UINT64CONST(0x6873746f72656e61)

typedef struct HstoreExtractor
{
	KeyExtractor extractor;
	FmgrInfo	to_array;
} HstoreExtractor;

static uint64
HashText(Datum string, uint64 seed)
{
	return blx_hash_bytes(VARDATA_ANY(DatumGetPointer(string)), VARSIZE_ANY_EXHDR(DatumGetPointer(string)), seed);
}

static void
AddPairs(KeyExtractor *extractor, Datum value, bool names, KeyHashes *keys)
{
	ArrayType  *pairs = DatumGetArrayTypeP(FunctionCall1(&((HstoreExtractor *) extractor)->to_array, value));
	Datum	   *texts;
	bool	   *nulls;
	int			n;

	/* name, value, name, value ... */
	deconstruct_array(pairs, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	for (int i = 0; i + 1 < n; i += 2)
	{
		uint64		name = HashText(texts[i], OF_NAME);

		if (names)
			AddKeyHash(keys, name);
		AddKeyHash(keys, nulls[i + 1] ? blx_hash_int64(0, name) : HashText(texts[i + 1], name));
	}
	pfree(texts);
	pfree(nulls);
	pfree(pairs);
}

static void
ExtractHstore(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	AddPairs(extractor, value, true, keys);
}

static KeyCondition *
ConditionOfNames(KeyConditionKind kind, Datum array)
{
	int			n;
	Datum	   *names = TextsOf(array, &n);
	KeyHashes	keys = {0};

	for (int i = 0; i < n; i++)
		AddKeyHash(&keys, HashText(names[i], OF_NAME));
	return ConditionOfKeys(kind, &keys);
}

static KeyCondition *
HstoreCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyHashes	keys = {0};

	switch (strategy)
	{
		case KEYS_EXIST:
			return ConditionOfKey(HashText(PointerGetDatum(DatumGetTextPP(query)), OF_NAME));
		case KEYS_EXIST_ANY:
			return ConditionOfNames(HAS_ANY, query);
		case KEYS_EXIST_ALL:
			return ConditionOfNames(HAS_ALL, query);
		default:
			/* @> and = */
			AddPairs(extractor, query, false, &keys);
			return ConditionOfKeys(HAS_ALL, &keys);
	}
}

PG_FUNCTION_INFO_V1(bloomx_extract_hstore);
Datum
bloomx_extract_hstore(PG_FUNCTION_ARGS)
{
	HstoreExtractor *hstore = NewKeyExtractor(fcinfo, sizeof(HstoreExtractor), KEYS_NAMED("pairs"), ExtractHstore, HstoreCondition);
	KeyExtractor *extractor = &hstore->extractor;

	fmgr_info_cxt(FunctionOfExtension("hstore", "hstore_to_array", extractor->type), &hstore->to_array, extractor->memory);
	PG_RETURN_POINTER(extractor);
}
