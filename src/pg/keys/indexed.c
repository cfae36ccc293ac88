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

#include "pg/keys/canonical.h"

/*
 * ALTER TABLE adds columns to the rows of a table's type and drops others, even
 * where such rows are stored.  The old rows equal the new ones then, but they
 * have other keys.  Nobody can alter a composite type whose values are stored.
 */
static void
RefuseTableRows(Oid type)
{
	Oid			table = get_typ_typrelid(getBaseType(type));

	if (OidIsValid(table) && get_rel_relkind(table) != RELKIND_COMPOSITE_TYPE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows of type %s cannot be keys of an index", format_type_be(type)),
				 errdetail("It is the type of a table, whose columns may change."),
				 errhint("Cast the rows to a type made by CREATE TYPE, or index their columns.")));
}

static void
AdaptParts(KeyType *key)
{
	check_stack_depth();
	RefuseTableRows(key->type);
	if (key->hash == HashEnum)
		key->hash = Hash32Bits;
	for (int i = 0; i < key->n_parts; i++)
		AdaptParts(&key->parts[i]);
}

/* An enum value is hashed as its OID, which stays when its label is renamed. */
void
LookupIndexedType(KeyType *key, Oid type, Oid collation, MemoryContext context)
{
	LookupKeyType(key, get_typtype(getBaseType(type)) == TYPTYPE_ENUM ? OIDOID : type, collation, context);
	key->type = InvalidOid;		/* an error below leaves no half-made entry */
	RefuseTableRows(type);
	for (int i = 0; i < key->n_parts; i++)
		AdaptParts(&key->parts[i]);
	key->type = type;
}
