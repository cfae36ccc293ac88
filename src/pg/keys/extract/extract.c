/*
 * extract.c - extractors and conditions (extract.h), and the extractor of
 * scalars: a value is one key.
 */
#include "pg/keys/extract/extract.h"

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "core/base/base.h"

/* Hashes of one row in memory: a gigabyte.  No filter tells that many keys apart. */
#define MAX_KEY_HASHES (UINT32_C(1) << 27)

void
GrowKeyHashes(KeyHashes *hashes)
{
	if (hashes->room >= MAX_KEY_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a row has too many keys for an index"),
				 errdetail("The limit is %u.", MAX_KEY_HASHES)));
	hashes->room = Max(16, 2 * hashes->room);
	if (hashes->hash == NULL)
		hashes->hash = palloc(hashes->room * sizeof(uint64));
	else
		hashes->hash = repalloc_huge(hashes->hash, hashes->room * sizeof(uint64));
}

void
CompactKeyHashes(KeyHashes *hashes, uint32 first)
{
	uint32		n = first;

	blx_sort_values((uint8_t *) (hashes->hash + first), hashes->n - first);
	for (uint32 i = first; i < hashes->n; i++)
		if (i == first || hashes->hash[i] != hashes->hash[i - 1])
			hashes->hash[n++] = hashes->hash[i];
	hashes->n = n;
}

KeyCondition *
MakeKeyCondition(KeyConditionKind kind, uint32 n)
{
	KeyCondition *condition = palloc0(sizeof(KeyCondition));

	condition->kind = kind;
	condition->n = n;
	if (n > 0)
		condition->parts = palloc_extended(n * sizeof(KeyCondition *), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return condition;
}

KeyCondition *
ConditionOfKey(uint64 hash)
{
	KeyCondition *condition = MakeKeyCondition(HAS_KEY, 0);

	condition->hash = hash;
	return condition;
}

KeyExtractor *
MakeKeyExtractor(FmgrInfo *support, Oid type, Oid collation)
{
	KeyExtractor wanted = {.type = type, .collation = collation, .memory = CurrentMemoryContext};

	return (KeyExtractor *) DatumGetPointer(FunctionCall1(support, PointerGetDatum(&wanted)));
}

/* ---- scalars ---- */

typedef struct ScalarExtractor
{
	KeyExtractor extractor;
	KeyType		stored;			/* of the column's values */
	KeyType		asked;			/* of the last condition's */
} ScalarExtractor;

/* Of a type that has lost columns no condition asks for keys, and those of old rows have changed. */
static void
ExtractScalar(KeyExtractor *extractor, Datum value, KeyHashes *hashes)
{
	KeyType    *stored = &((ScalarExtractor *) extractor)->stored;

	if (!stored->lost_columns)
		AddKeyHash(hashes, HashKey(stored, value, 0));
}

static KeyCondition *
ScalarCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyType    *asked = &((ScalarExtractor *) extractor)->asked;
	Oid			of_keys = IsPolymorphicType(type) || type == RECORDOID ? extractor->type : type;	/* conditions on enums, ranges and rows */

	/* a row with other columns equals none, or is an error of the operator's */
	if (type == RECORDOID && !HasColumnsOf(&((ScalarExtractor *) extractor)->stored, query))
		return MakeKeyCondition(ANY_VALUE, 0);
	if (asked->type != of_keys)
		LookupIndexedType(asked, of_keys, extractor->collation, extractor->memory);
	return asked->lost_columns ? MakeKeyCondition(ANY_VALUE, 0) : ConditionOfKey(HashKey(asked, query, 0));
}

PG_FUNCTION_INFO_V1(bloomx_extract_scalar);
Datum
bloomx_extract_scalar(PG_FUNCTION_ARGS)
{
	ScalarExtractor *scalar = NewKeyExtractor(fcinfo, sizeof(ScalarExtractor), (blx_identity) {0}, ExtractScalar, ScalarCondition);
	KeyExtractor *extractor = &scalar->extractor;

	LookupIndexedType(&scalar->stored, extractor->type, extractor->collation, extractor->memory);
	extractor->identity = scalar->stored.identity;
	PG_RETURN_POINTER(extractor);
}
