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
 * @? and @@ ask for what their jsonpath says of scalars: the second half of this file.
 *
 * BRIN has no operators of names: it wants the column's collation, which jsonb
 * does not have.  So documents in BRIN have no names as keys.
 */
#include "pg/keys/extract/extract.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/jsonpath.h"

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
	KeyHashes	around = {0};		/* the paths of the containers around the present value */
	uint64		path = TOP_PATH;	/* of the next value */
	bool		names = ((JsonbExtractor *) extractor)->names;

	while ((token = JsonbIteratorNext(&iterator, &item, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
			case WJB_BEGIN_OBJECT:
				AddKeyHash(&around, path);
				break;
			case WJB_END_ARRAY:
			case WJB_END_OBJECT:
				around.n--;
				if (around.n > 0)
					path = around.hash[around.n - 1];
				break;
			case WJB_KEY:
				path = blx_hash_bytes(item.val.string.val, item.val.string.len, around.hash[around.n - 1]);
				if (names && around.n == 1)
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
	if (around.hash != NULL)
		pfree(around.hash);
	FreeIfDetoasted(document, value);
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

static KeyCondition *
ConditionOfTopStrings(KeyConditionKind kind, Datum array)
{
	int			n;
	Datum	   *strings = TextsOf(array, &n);
	KeyCondition **parts = palloc(sizeof(KeyCondition *) * Max(n, 1));

	for (int i = 0; i < n; i++)
		parts[i] = ConditionOfTopString(DatumGetTextPP(strings[i]));
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

/*
 * ---- jsonpath ----
 *
 * `path == scalar` is true only if the document has the scalar at the path, or at
 * one that differs by arrays: the lax mode unwraps them, and subscripts pick from
 * them.  So it asks for the key that @> asks for, if the path has only names and
 * array accessors.  A filter asks for what its predicate says of the path before
 * it, && for all and || for one of what their sides ask for.  Everything else says
 * nothing, as do methods and accessors behind a scalar or a predicate, which make
 * another value of it: `$.a == "x".size()`, `($.a == 1).size().boolean()`.
 * An error inside a predicate makes it unknown, so that it does not hold.
 */

/* Predicates within predicates beyond this depth say nothing.  People write a few. */
#define MAX_PREDICATE_DEPTH 100

static KeyCondition *PredicateCondition(JsonPathItem *item, uint64 path, int depth);

static KeyCondition *
CombineList(KeyConditionKind kind, const List *list)
{
	KeyCondition **parts = palloc(sizeof(KeyCondition *) * Max(list_length(list), 1));

	for (int i = 0; i < list_length(list); i++)
		parts[i] = list_nth(list, i);
	return CombineConditions(kind, parts, list_length(list));
}

/* A path finds something, which is the scalar unless that is NULL.  The item @ has the path given. */
static KeyCondition *
PathCondition(JsonPathItem item, const JsonbValue *scalar, uint64 path, int depth)
{
	List	   *parts = NIL;
	JsonPathItem next;
	int32		length;
	const char *name;

	do
	{
		CHECK_FOR_INTERRUPTS();
		switch (item.type)
		{
			case jpiRoot:
				path = TOP_PATH;
				break;
			case jpiCurrent:
			case jpiAnyArray:
			case jpiIndexArray:
				break;
			case jpiKey:
				name = jspGetString(&item, &length);
				path = blx_hash_bytes(name, length, path);
				break;
			case jpiFilter:
				jspGetArg(&item, &next);
				parts = lappend(parts, PredicateCondition(&next, path, depth));
				break;
			default:			/* what follows has no path that is known */
				return CombineList(HAS_ALL, parts);
		}
	} while (jspGetNext(&item, &next) && (item = next, true));
	if (scalar != NULL)
		parts = lappend(parts, ConditionOfKey(HashScalar(scalar, path)));
	return CombineList(HAS_ALL, parts);
}

/* False if the item is not a scalar. */
static bool
GetScalar(JsonPathItem *item, JsonbValue *scalar)
{
	if (!jspIsScalar(item->type) || jspHasNext(item))
		return false;
	scalar->type = (enum jbvType) item->type;
	if (item->type == jpiString)
		scalar->val.string.val = jspGetString(item, &scalar->val.string.len);
	else if (item->type == jpiNumeric)
		scalar->val.numeric = jspGetNumeric(item);
	else if (item->type == jpiBool)
		scalar->val.boolean = jspGetBool(item);
	return true;
}

/* Chains like a || b || c lean to the left and may be long. */
static KeyCondition *
ChainCondition(JsonPathItem *item, uint64 path, int depth)
{
	JsonPathItemType type = item->type;
	JsonPathItem left = *item,
				right,
				chain;
	List	   *parts = NIL;

	while (left.type == type)
	{
		chain = left;
		jspGetRightArg(&chain, &right);
		jspGetLeftArg(&chain, &left);
		parts = lappend(parts, PredicateCondition(&right, path, depth));
	}
	parts = lappend(parts, PredicateCondition(&left, path, depth));
	return CombineList(type == jpiAnd ? HAS_ALL : HAS_ANY, parts);
}

static KeyCondition *
PredicateCondition(JsonPathItem *item, uint64 path, int depth)
{
	JsonPathItem left,
				right;
	JsonbValue	scalar;

	if (!jspHasNext(item) && depth < MAX_PREDICATE_DEPTH)
		switch (item->type)
		{
			case jpiAnd:
			case jpiOr:
				return ChainCondition(item, path, depth + 1);
			case jpiExists:
				jspGetArg(item, &left);
				return PathCondition(left, NULL, path, depth + 1);
			case jpiEqual:
				jspGetLeftArg(item, &left);
				jspGetRightArg(item, &right);
				if (GetScalar(&right, &scalar))
					return PathCondition(left, &scalar, path, depth + 1);
				if (GetScalar(&left, &scalar))
					return PathCondition(right, &scalar, path, depth + 1);
				break;
			default:
				break;
		}
	return MakeKeyCondition(ANY_VALUE, 0);
}

/* @? asks whether the path finds anything, @@ whether what it finds is true. */
static KeyCondition *
JsonpathCondition(int strategy, Datum query)
{
	JsonPath   *jsonpath = DatumGetJsonPathP(query);
	JsonbValue	is_true = {.type = jbvBool, .val.boolean = true};
	JsonPathItem root;

	jspInit(&root, jsonpath);
	if (root.type != jpiRoot && strategy == KEYS_MATCH)
		return PredicateCondition(&root, TOP_PATH, 0);
	return PathCondition(root, strategy == KEYS_MATCH ? &is_true : NULL, TOP_PATH, 0);
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
		case KEYS_PATH:
		case KEYS_MATCH:
			return JsonpathCondition(strategy, query);
		default:
			/* @> and = */
			ExtractJsonb(extractor, query, &keys);
			return ConditionOfKeys(HAS_ALL, &keys);
	}
}

static JsonbExtractor *
MakeJsonbExtractor(FunctionCallInfo fcinfo, bool names)
{
	JsonbExtractor *extractor = NewKeyExtractor(fcinfo, sizeof(JsonbExtractor), KEYS_NAMED("members"), ExtractJsonb, JsonbCondition);

	extractor->names = names;
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
