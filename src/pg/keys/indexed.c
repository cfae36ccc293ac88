/*
 * indexed.c - the key types of values in an index.
 *
 * An index lives in one database, and its keys must stay as they are whatever
 * ALTER does to their types.
 */
#include "pg/keys/keys.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/*
 * ALTER adds columns to the rows of a type and drops others, even where such rows
 * are stored.  The old rows equal the new ones then.  A column that was added is
 * NULL in them and the last one, so NULLs at the end are not hashed (HashStoredRow).
 * What an old row had in a column that was dropped is in its hash, but nobody knows
 * it any more: *lost becomes true if the type has lost a column.
 *
 * ALTER TABLE can also give an added column a value in all rows, so rows of tables
 * are refused.
 */
static bool
FindLostColumns(const KeyType *key, Oid type, Node *soft, bool *lost)
{
	Oid			base = getBaseType(type),
				table = get_typ_typrelid(base);
	TupleDesc	columns;

	if (!OidIsValid(table))
		return true;
	if (get_rel_relkind(table) != RELKIND_COMPOSITE_TYPE)
		ereturn(soft, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows of type %s cannot be keys of an index", format_type_be(type)),
				 errdetail("It is the type of a table, whose columns may change."),
				 errhint("Cast the rows to a type made by CREATE TYPE, or index their columns.")));
	columns = lookup_rowtype_tupdesc(base, -1);
	*lost |= columns->natts > key->n_parts;
	ReleaseTupleDesc(columns);
	return true;
}

/* *lost becomes true if the type, or a part of it, has lost columns. */
static bool
Adapt(KeyType *key, Oid type, Node *soft, bool *lost)
{
	check_stack_depth();
	if (!FindLostColumns(key, type, soft, lost))
		return false;
	if (key->hash == HashEnum)
		key->hash = Hash32Bits;
	if (key->hash == HashRow)
		key->hash = HashStoredRow;
	for (int i = 0; i < key->n_parts; i++)
		if (!Adapt(&key->parts[i], key->parts[i].type, soft, lost))
			return false;
	return true;
}

/* An enum value is hashed as its OID, which stays when its label is renamed. */
bool
LookupIndexedTypeSoftly(KeyType *key, Oid type, Oid collation, MemoryContext context, Node *soft)
{
	if (!LookupKeyTypeSoftly(key, get_typtype(getBaseType(type)) == TYPTYPE_ENUM ? OIDOID : type, collation, context, soft))
		return false;
	key->type = InvalidOid;		/* an error below leaves no half-made entry */
	if (!Adapt(key, type, soft, &key->lost_columns))
		return false;
	key->type = type;
	return true;
}

void
LookupIndexedType(KeyType *key, Oid type, Oid collation, MemoryContext context)
{
	(void) LookupIndexedTypeSoftly(key, type, collation, context, NULL);
}
