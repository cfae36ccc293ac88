/*
 * keycode.c - from the values of a join key to 64-bit codes that are equal if the
 * join's operator says that the values are.
 *
 * If the operator is the equality of integers, dates, times, timestamps or OIDs,
 * the code is the integer that the value is.  Such codes have an order, and their
 * equality is exact, between types of different sizes as well.  A type is not
 * enough to know this: the operator decides what is equal, so its function is
 * looked up in a table.
 *
 * For all other keys the code is a hash.  The filter lives for one query and has to
 * agree with the join, so the hash functions are those of the join's operator:
 * they know about collations, numeric scales and minus zero, and functions of two
 * types in one operator family agree.  The bytes of a value are never hashed here.
 *
 * Two of the server's do not agree with their operator, if a nondeterministic collation
 * calls strings equal that differ: the hash of a name is that of its bytes, so names have no
 * codes then; and the extended one of a char(n) is, before PostgreSQL 18, that of its blanks
 * as well, so such strings have the hash that hash joins use.
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtimefilter/keys/keycode.h"

/* The functions of operators that compare values as integers, and the types of their sides. */
static const struct
{
	Oid			function;
	Oid			left,
				right;
}			integer_equalities[] = {
	{F_INT2EQ, INT2OID, INT2OID},
	{F_INT24EQ, INT2OID, INT4OID},
	{F_INT28EQ, INT2OID, INT8OID},
	{F_INT42EQ, INT4OID, INT2OID},
	{F_INT4EQ, INT4OID, INT4OID},
	{F_INT48EQ, INT4OID, INT8OID},
	{F_INT82EQ, INT8OID, INT2OID},
	{F_INT84EQ, INT8OID, INT4OID},
	{F_INT8EQ, INT8OID, INT8OID},
	{F_OIDEQ, OIDOID, OIDOID},
	{F_DATE_EQ, DATEOID, DATEOID},
	{F_TIME_EQ, TIMEOID, TIMEOID},
	{F_TIMESTAMP_EQ, TIMESTAMPOID, TIMESTAMPOID},
	{F_TIMESTAMPTZ_EQ, TIMESTAMPTZOID, TIMESTAMPTZOID},
};

bool
IntegerKind(Oid type, CodeKind *kind)
{
	switch (type)
	{
		case INT2OID:
			*kind = CODE_INT16;
			return true;
		case INT4OID:
		case DATEOID:
			*kind = CODE_INT32;
			return true;
		case OIDOID:
			*kind = CODE_UINT32;
			return true;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*kind = CODE_INT64;
			return true;
		default:
			return false;
	}
}

/* True for arrays, ranges and rows: one operator compares those of all types. */
static bool
IsContainer(Oid type)
{
	return IsPolymorphicType(type) || type == RECORDOID;
}

/* True if strings of different bytes may be equal. */
static bool
IsNondeterministic(Oid collation)
{
	return OidIsValid(collation) && !get_collation_isdeterministic(collation);
}

/*
 * The extended hash functions of both sides, from the operator family in which
 * the operator is the equality.  Containers have one even if the type of their
 * elements has not, and it would throw an error.
 */
static bool
ExtendedHashFunctions(Oid operator, Oid left, Oid right, Oid *left_hash, Oid *right_hash)
{
	CatCList   *entries;
	bool		found = false;

	if (IsContainer(left) || IsContainer(right))
		return false;
	entries = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(operator));
	for (int i = 0; i < entries->n_members && !found; i++)
	{
		Form_pg_amop entry = (Form_pg_amop) GETSTRUCT(&entries->members[i]->tuple);

		if (entry->amopmethod != HASH_AM_OID || entry->amopstrategy != HTEqualStrategyNumber)
			continue;
		*left_hash = get_opfamily_proc(entry->amopfamily, left, left, HASHEXTENDED_PROC);
		*right_hash = get_opfamily_proc(entry->amopfamily, right, right, HASHEXTENDED_PROC);
		found = OidIsValid(*left_hash) && OidIsValid(*right_hash);
	}
	ReleaseSysCacheList(entries);
	return found;
}

bool
MakeKeyCoders(Oid operator, Oid collation, KeyCoder *outer, KeyCoder *inner)
{
	Oid			function = get_opcode(operator),
				outer_hash,
				inner_hash;
	CodeKind	kind;

	outer->operator = inner->operator = operator;
	outer->collation = inner->collation = collation;
	for (int i = 0; i < lengthof(integer_equalities); i++)
		if (integer_equalities[i].function == function)
		{
			outer->type = integer_equalities[i].left;
			inner->type = integer_equalities[i].right;
			return IntegerKind(outer->type, &outer->kind) && IntegerKind(inner->type, &inner->kind);
		}

	op_input_types(operator, &outer->type, &inner->type);
	kind = CODE_HASH64;
	if (IsNondeterministic(collation) || !ExtendedHashFunctions(operator, outer->type, inner->type, &outer_hash, &inner_hash))
	{
		kind = CODE_HASH32;
		if (!get_op_hash_functions(operator, &outer_hash, &inner_hash))
			return false;
	}
	if (!op_strict(operator))
		return false;
	outer->kind = inner->kind = kind;
	fmgr_info(outer_hash, &outer->hash);
	fmgr_info(inner_hash, &inner->hash);
	return true;
}

/* True if the type is, or is made of, names that may be equal under the collation, or their own, though their hashes are not. */
static bool
HasUnequalHashes(Oid type, Oid collation)
{
	TypeCacheEntry *entry;
	Oid			element;

	type = getBaseType(type);
	if (type == NAMEOID)
		return IsNondeterministic(collation);
	element = get_element_type(type);
	if (OidIsValid(element))
		return HasUnequalHashes(element, collation);
	entry = lookup_type_cache(type, TYPECACHE_TUPDESC | TYPECACHE_RANGE_INFO | TYPECACHE_MULTIRANGE_INFO);
	if (entry->rngtype != NULL)
		entry = entry->rngtype;
	if (entry->rngelemtype != NULL)
		return HasUnequalHashes(entry->rngelemtype->type_id, entry->rng_collation);
	for (int i = 0; entry->tupDesc != NULL && i < entry->tupDesc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(entry->tupDesc, i);

		if (!attribute->attisdropped && HasUnequalHashes(attribute->atttypid, attribute->attcollation))
			return true;
	}
	return false;
}

/*
 * The planner asks that of hash joins, but not of merge joins, and of arrays and rows only.  Where sides of different collations leave
 * none, to hash a value is an error, and the query may never get so far as to compare two.
 */
bool
HasCodes(const KeyCoder *coder, Oid type)
{
	if (IsInteger(coder))
		return true;
	if (!OidIsValid(coder->collation) && type_is_collatable(type))
		return false;
	if (HasUnequalHashes(type, coder->collation))
		return false;
	return !IsContainer(coder->type) || OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc);
}

/*
 * Integers: any equality of integers will do, as long as it takes the known values
 * for what the coder takes them for.  (An oid may stand in the place of an int4,
 * but some of them have other codes.)  Hashes: only the same operator between
 * values of one type, which is strict and agrees with the coder's hash function.
 */
bool
CarryKeyCoder(const KeyCoder *coder, Oid equality, bool left_is_known, Oid collation, KeyCoder *other)
{
	Oid			function = get_opcode(equality);

	*other = *coder;
	if (!IsInteger(coder))
	{
		Oid			left,
					right;

		op_input_types(equality, &left, &right);
		return equality == coder->operator && left == right && collation == coder->collation;
	}
	for (int i = 0; i < lengthof(integer_equalities); i++)
		if (integer_equalities[i].function == function)
		{
			other->type = left_is_known ? integer_equalities[i].right : integer_equalities[i].left;
			return coder->type == (left_is_known ? integer_equalities[i].left : integer_equalities[i].right) &&
				IntegerKind(other->type, &other->kind);
		}
	return false;
}

uint64
HashCode(KeyCoder *coder, Datum value)
{
	if (coder->kind == CODE_HASH64)
		return DatumGetUInt64(FunctionCall2Coll(&coder->hash, coder->collation, value, UInt64GetDatum(0)));
	return DatumGetUInt32(FunctionCall1Coll(&coder->hash, coder->collation, value));
}
