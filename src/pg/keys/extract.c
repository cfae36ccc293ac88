/*
 * extract.c - extractors and conditions (extract.h), and the extractor of
 * scalars: a value is one key.
 */
#include "pg/keys/extract.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

void
GrowKeyHashes(KeyHashes *hashes)
{
	hashes->room = Max(16, 2 * hashes->room);
	if (hashes->hash == NULL)
		hashes->hash = palloc(hashes->room * sizeof(uint64));
	else
		hashes->hash = repalloc_huge(hashes->hash, hashes->room * sizeof(uint64));
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

/*
 * The type as which a value is hashed.  An enum value is hashed as its OID, which
 * stays when its label changes; conditions on enums and ranges have the type of
 * the column.
 */
static Oid
HashedType(const KeyExtractor *extractor, Oid type)
{
	if (IsPolymorphicType(type))
		type = extractor->type;
	return get_typtype(getBaseType(type)) == TYPTYPE_ENUM ? OIDOID : type;
}

static void
ExtractScalar(KeyExtractor *extractor, Datum value, KeyHashes *hashes)
{
	AddKeyHash(hashes, HashKey(&((ScalarExtractor *) extractor)->stored, value, 0));
}

static KeyCondition *
ScalarCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	KeyType    *asked = &((ScalarExtractor *) extractor)->asked;
	Oid			hashed = HashedType(extractor, type);

	if (asked->type != hashed)
		LookupKeyType(asked, hashed, extractor->collation, extractor->memory);
	return ConditionOfKey(HashKey(asked, query, 0));
}

PG_FUNCTION_INFO_V1(bloomx_extract_scalar);
Datum
bloomx_extract_scalar(PG_FUNCTION_ARGS)
{
	ScalarExtractor *scalar = NewKeyExtractor(fcinfo, sizeof(ScalarExtractor));
	KeyExtractor *extractor = &scalar->extractor;

	extractor->value = ExtractScalar;
	extractor->query = ScalarCondition;
	LookupKeyType(&scalar->stored, HashedType(extractor, extractor->type), extractor->collation, extractor->memory);
	extractor->identity = scalar->stored.identity;
	PG_RETURN_POINTER(extractor);
}
