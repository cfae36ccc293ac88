/*
 * extract_jsonb.c - the keys of a jsonb document.
 *
 * For @> every scalar is a key together with its path: the keys of the objects
 * around it.  Arrays leave no trace in the path, as @> asks for an element at any
 * place, and finds a scalar in an array of the document's.  Containers without a
 * scalar have no key, and a document that @> asks for may say nothing at all.
 *
 * For ?, ?| and ?& the names at the top are keys, too: those of an object there.
 * The strings of an array at the top, and a string alone, are keys already.
 *
 * BRIN has no operators of names: it wants the column's collation, which jsonb
 * does not have.  So documents in BRIN have no names as keys.
 */
#include "pg/keys/extract.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "core/base/hash.h"

/* Seeds: what they begin a hash of.  Arbitrary numbers. */
#define TOP_PATH	UINT64CONST(0x6a736f6e62746f70)
#define TOP_KEY		UINT64CONST(0x6a736f6e626b6579)

/* Added to a path, which is the seed of a scalar's hash. */
#define OF_STRING	1
#define OF_NUMBER	2
#define OF_OTHER	3

typedef struct JsonbExtractor
{
	KeyExtractor extractor;
	bool		names;			/* those at the top are keys */
} JsonbExtractor;

/* The paths of the containers around the present value. */
typedef struct JsonbPaths
{
	uint64	   *path;
	uint32		depth;
	uint32		room;
} JsonbPaths;

static void
Enter(JsonbPaths *around, uint64 path)
{
	if (around->depth == around->room)
	{
		around->room = Max(16, 2 * around->room);
		around->path = around->path == NULL ? palloc(around->room * sizeof(uint64)) :
			repalloc(around->path, around->room * sizeof(uint64));
	}
	around->path[around->depth++] = path;
}

static uint64
HashString(const char *string, int length, uint64 path)
{
	return blx_hash_bytes(string, length, path + OF_STRING);
}

static uint64
HashTopKey(const char *string, int length)
{
	return blx_hash_bytes(string, length, TOP_KEY);
}

static uint64
HashScalar(const JsonbValue *value, uint64 path)
{
	switch (value->type)
	{
		case jbvString:
			return HashString(value->val.string.val, value->val.string.len, path);
		case jbvNumeric:
			/* numbers that are equal have one hash, whatever their digits after the point */
			return blx_hash_int64(DatumGetUInt64(DirectFunctionCall2(hash_numeric_extended, NumericGetDatum(value->val.numeric),
																	 UInt64GetDatum(0))), path + OF_NUMBER);
		case jbvBool:
			return blx_hash_int64(value->val.boolean, path + OF_OTHER);
		case jbvNull:
			return blx_hash_int64(2, path + OF_OTHER);
		default:
			elog(ERROR, "unexpected jsonb value type: %d", (int) value->type);
	}
}

static void
ExtractJsonb(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	Jsonb	   *document = DatumGetJsonbP(value);
	JsonbIterator *iterator = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbValue	item;
	JsonbPaths	around = {0};
	uint64		path = TOP_PATH;	/* of the next value */
	bool		names = ((JsonbExtractor *) extractor)->names;

	while ((token = JsonbIteratorNext(&iterator, &item, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
			case WJB_BEGIN_OBJECT:
				Enter(&around, path);
				break;
			case WJB_END_ARRAY:
			case WJB_END_OBJECT:
				around.depth--;
				if (around.depth > 0)
					path = around.path[around.depth - 1];
				break;
			case WJB_KEY:
				path = blx_hash_bytes(item.val.string.val, item.val.string.len, around.path[around.depth - 1]);
				if (names && around.depth == 1)
					AddKeyHash(keys, HashTopKey(item.val.string.val, item.val.string.len));
				break;
			case WJB_VALUE:
			case WJB_ELEM:
				AddKeyHash(keys, HashScalar(&item, path));
				break;
			default:
				elog(ERROR, "unexpected jsonb token: %d", (int) token);
		}
	}
	if (around.path != NULL)
		pfree(around.path);
	if ((Pointer) document != DatumGetPointer(value))
		pfree(document);
}

/* A key of the object at the top, or a string of the array there, or the string that the document is. */
static KeyCondition *
ConditionOfTopString(const text *string)
{
	uint64		hashes[] = {
		HashTopKey(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string)),
		HashString(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string), TOP_PATH)
	};

	return ConditionOfKeys(HAS_ANY, &(KeyHashes) {.hash = hashes, .n = lengthof(hashes)});
}

/* NULL elements do not count. */
static KeyCondition *
ConditionOfTopStrings(KeyConditionKind kind, Datum array)
{
	Datum	   *strings;
	bool	   *nulls;
	int			count;
	KeyCondition **parts;
	uint32		n = 0;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &strings, &nulls, &count);
	parts = palloc(sizeof(KeyCondition *) * Max(count, 1));
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			parts[n++] = ConditionOfTopString(DatumGetTextPP(strings[i]));
	return CombineConditions(kind, parts, n);
}

static KeyCondition *
NamesCondition(const JsonbExtractor *extractor, int strategy, Datum query)
{
	if (!extractor->names)
		return MakeKeyCondition(ANY_VALUE, 0);
	if (strategy == KEYS_EXIST)
		return ConditionOfTopString(DatumGetTextPP(query));
	return ConditionOfTopStrings(strategy == KEYS_EXIST_ANY ? HAS_ANY : HAS_ALL, query);
}

static KeyCondition *
JsonbCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyHashes	keys = {0};

	switch (strategy)
	{
		case KEYS_EXIST:
		case KEYS_EXIST_ANY:
		case KEYS_EXIST_ALL:
			return NamesCondition((JsonbExtractor *) extractor, strategy, query);
		default:
			/* @> and = */
			ExtractJsonb(extractor, query, &keys);
			return ConditionOfKeys(HAS_ALL, &keys);
	}
}

static KeyExtractor *
MakeJsonbExtractor(FunctionCallInfo fcinfo, bool names)
{
	JsonbExtractor *of_documents = NewKeyExtractor(fcinfo, sizeof(JsonbExtractor));
	KeyExtractor *extractor = &of_documents->extractor;

	extractor->identity = KEYS_NAMED("members");
	extractor->value = ExtractJsonb;
	extractor->query = JsonbCondition;
	of_documents->names = names;
	return extractor;
}

PG_FUNCTION_INFO_V1(bloomx_extract_jsonb);
Datum
bloomx_extract_jsonb(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(MakeJsonbExtractor(fcinfo, true));
}

PG_FUNCTION_INFO_V1(bloomx_extract_jsonb_values);
Datum
bloomx_extract_jsonb_values(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(MakeJsonbExtractor(fcinfo, false));
}
