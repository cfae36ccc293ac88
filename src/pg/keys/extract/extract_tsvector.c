/*
 * extract_tsvector.c - the keys of a tsvector are its lexemes.
 *
 * Of a tsquery counts which lexemes a document must have.  Positions and weights
 * only make it stricter.  NOT and prefixes say nothing.
 */
#include "pg/keys/extract/extract.h"

#include "miscadmin.h"
#include "tsearch/ts_type.h"

#include "core/base/hash.h"

static void
ExtractTsvector(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	TSVector	document = DatumGetTSVector(value);
	const WordEntry *entries = ARRPTR(document);

	for (int i = 0; i < document->size; i++)
		AddKeyHash(keys, blx_hash_bytes(STRPTR(document) + entries[i].pos, entries[i].len, 0));
	FreeIfDetoasted(document, value);
}

static KeyCondition *
ConditionOfItem(const QueryItem *item, const char *lexemes)
{
	KeyCondition *parts[2];

	check_stack_depth();
	if (item->type == QI_VAL)
		return item->qoperand.prefix ? MakeKeyCondition(ANY_VALUE, 0) :
			ConditionOfKey(blx_hash_bytes(lexemes + item->qoperand.distance, item->qoperand.length, 0));
	if (item->type != QI_OPR || item->qoperator.oper == OP_NOT)
		return MakeKeyCondition(ANY_VALUE, 0);
	parts[0] = ConditionOfItem(item + item->qoperator.left, lexemes);
	parts[1] = ConditionOfItem(item + 1, lexemes);
	return CombineConditions(item->qoperator.oper == OP_OR ? HAS_ANY : HAS_ALL, parts, 2);
}

static KeyCondition *
TsvectorCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyHashes	keys = {0};
	TSQuery		tsquery;

	if (strategy == KEYS_EQUAL)
	{
		ExtractTsvector(extractor, query, &keys);
		return ConditionOfKeys(HAS_ALL, &keys);
	}
	tsquery = (TSQuery) PG_DETOAST_DATUM(query);
	/* a query of stop words alone finds nothing */
	if (tsquery->size == 0)
		return MakeKeyCondition(NO_VALUE, 0);
	return ConditionOfItem(GETQUERY(tsquery), GETOPERAND(tsquery));
}

PG_FUNCTION_INFO_V1(bloomx_extract_tsvector);
Datum
bloomx_extract_tsvector(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NewKeyExtractor(fcinfo, sizeof(KeyExtractor), KEYS_NAMED("lexemes"), ExtractTsvector, TsvectorCondition));
}
