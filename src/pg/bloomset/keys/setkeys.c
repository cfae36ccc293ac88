/*
 * setkeys.c - the keys of a set that is an index.
 *
 * The key of a row is the value of the indexed column, or the row of all of them, hashed
 * as bloom_agg(column) or bloom_agg(ROW(...)) hashes it.  There is one difference: in an
 * index keys must stay as they are whatever ALTER does to their types (keys/indexed.c),
 * so enums and rows of composite types are hashed otherwise, and a set with such keys is
 * no bloomfilter.
 *
 * Arguments are of the columns' types, which the index knows.  So an untyped key is
 * read by the column's own input function.
 */
#include "pg/bloomset/keys/setkeys.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

/* ---- the columns ---- */

static bool
HaveSameHash(const KeyType *a, const KeyType *b)
{
	if (a->hash != b->hash || a->n_parts != b->n_parts)
		return false;
	for (int i = 0; i < a->n_parts; i++)
		if (!HaveSameHash(&a->parts[i], &b->parts[i]))
			return false;
	return true;
}

static bool
OpenColumn(SetKeys *keys, SetColumn *column, Oid type, Oid collation, Node *soft)
{
	KeyType		in_filter;

	column->type = getBaseType(type);
	column->collation = collation;
	if (!LookupIndexedTypeSoftly(&column->stored, column->type, collation, keys->memory, soft))
		return false;
	LookupKeyType(&in_filter, column->type, collation, keys->memory);
	column->portable = HaveSameHash(&column->stored, &in_filter);
	keys->lost_columns |= column->stored.lost_columns;
	return true;
}

/* That of ROW(...), whatever the columns are called. */
static blx_identity
IdentityOfRow(const SetKeys *keys)
{
	TupleDesc	columns = CreateTemplateTupleDesc(keys->n);
	KeyType		row;

	for (int i = 0; i < keys->n; i++)
	{
		TupleDescInitEntry(columns, i + 1, NULL, keys->columns[i].type, -1, 0);
		TupleDescInitEntryCollation(columns, i + 1, keys->columns[i].collation);
	}
	LookupKeyType(&row, RECORDOID, InvalidOid, keys->memory);
	(void) LookupRowOfTypmod(&row, BlessTupleDesc(columns)->tdtypmod, NULL);
	return row.identity;
}

SetKeys *
OpenSetKeys(Relation index, Node *soft)
{
	TupleDesc	columns = RelationGetDescr(index);
	SetKeys    *keys = palloc0(sizeof(SetKeys));

	keys->memory = CurrentMemoryContext;
	keys->n = IndexRelationGetNumberOfKeyAttributes(index);
	keys->columns = palloc0(keys->n * sizeof(SetColumn));
	keys->parts = palloc(keys->n * sizeof(KeyType *));
	keys->values = palloc(keys->n * sizeof(Datum));
	for (int i = 0; i < keys->n; i++)
	{
		if (!OpenColumn(keys, &keys->columns[i], TupleDescAttr(columns, i)->atttypid, index->rd_indcollation[i], soft))
			return NULL;
		keys->parts[i] = &keys->columns[i].stored;
	}
	keys->identity = keys->n == 1 ? keys->columns[0].stored.identity : IdentityOfRow(keys);
	return keys;
}

bool
ArePortable(const SetKeys *keys)
{
	for (int i = 0; i < keys->n; i++)
		if (!keys->columns[i].portable)
			return false;
	return true;
}

bool
HashIndexedRow(SetKeys *keys, const Datum *values, const bool *isnull, uint64 *hash)
{
	for (int i = 0; i < keys->n; i++)
		if (isnull[i])
			return false;
	*hash = keys->n == 1 ? HashKey(keys->parts[0], values[0], 0) : HashOfColumns(keys->parts, values, keys->n, 0);
	return true;
}

/* ---- arguments ---- */

/* A value of the column's type, or one of another type that is the same key, as an integer of another width. */
static Datum
ReadKey(SetKeys *keys, SetColumn *column, char *text)
{
	if (!OidIsValid(column->input.fn_oid))
	{
		Oid			input;

		getTypeInputInfo(column->type, &input, &column->io_param);
		fmgr_info_cxt(input, &column->input, keys->memory);
	}
	return InputFunctionCall(&column->input, text, column->io_param, -1);
}

/* Says "bpchar" for char(n): a cast to "character" would cut the key to one character. */
static void
ReportOtherType(const SetColumn *column, Oid type)
{
	const char *name = format_type_with_typemod(column->type, -1);

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the set has keys of type %s, not of type %s", name, format_type_be(type)),
			 errhint("Cast the key to type %s.", name)));
}

/* Looks the type of an argument up.  False if its values are no keys of the column. */
static bool
LookupGiven(SetKeys *keys, SetColumn *column, Oid type, Node *soft)
{
	/* the hash of an enum or a row differs between a column and a value by itself */
	if (column->portable && type != RECORDOID &&
		LookupKeyTypeSoftly(&column->given, type, column->collation, keys->memory, soft) &&
		blx_key_check(&column->stored.identity, &column->given.identity, NULL))
		return true;
	column->given.type = InvalidOid;
	return false;
}

bool
CanBeArgument(SetKeys *keys, Oid type)
{
	SetColumn  *column = &keys->columns[0];

	return getBaseType(type) == column->type || LookupGiven(keys, column, type, NewSoftErrors());
}

/* The hash of a column's value, or the value itself as one of the column's type, and by what it is hashed. */
static KeyType *
TypeOfArgument(SetKeys *keys, SetColumn *column, Oid type, bool untyped, Datum *value)
{
	Oid			base;

	/* most calls: to look up the base type would be a third of a test's time */
	if (type == column->type)
		return &column->stored;
	if (type == column->given.type)
		return &column->given;
	base = getBaseType(type);
	if (base == column->type)
		return &column->stored;
	if (base == UNKNOWNOID || (untyped && base == TEXTOID))
	{
		*value = ReadKey(keys, column, base == UNKNOWNOID ? DatumGetCString(*value) : TextDatumGetCString(*value));
		return &column->stored;
	}
	if (!LookupGiven(keys, column, type, NULL))
		ReportOtherType(column, type);
	return &column->given;
}

/* The columns of a row given as an argument, in the key's order. */
static bool
HashRowArgument(SetKeys *keys, Datum value, uint64 *hash)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	TupleDesc	columns = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row, .t_tableOid = InvalidOid};
	Datum	   *values = palloc(sizeof(Datum) * Max(columns->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(columns->natts, 1));
	KeyType   **types = palloc(sizeof(KeyType *) * keys->n);
	int			n = 0;
	bool		has_null = false;

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, columns, values, nulls);
	for (int i = 0; i < columns->natts; i++)
	{
		if (TupleDescAttr(columns, i)->attisdropped)
			continue;
		if (n < keys->n && nulls[i])
			has_null = true;
		else if (n < keys->n)
		{
			keys->values[n] = values[i];
			types[n] = TypeOfArgument(keys, &keys->columns[n], TupleDescAttr(columns, i)->atttypid, false, &keys->values[n]);
		}
		n++;
	}
	ReleaseTupleDesc(columns);
	if (n != keys->n)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("keys of the set have %d columns, not %d", keys->n, n)));
	if (!has_null)
		*hash = HashOfColumns(types, keys->values, n, 0);
	return !has_null;
}

bool
HashArgument(SetKeys *keys, Oid type, bool untyped, Datum value, uint64 *hash)
{
	KeyType    *key;

	if (keys->n > 1 && type_is_rowtype(getBaseType(type)))
		return HashRowArgument(keys, value, hash);
	if (keys->n > 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("keys of the set have %d columns", keys->n),
				 errhint("Give the key as ROW(...), with a value for each column of the index.")));
	key = TypeOfArgument(keys, keys->columns, type, untyped, &value);
	*hash = HashKey(key, value, 0);
	return true;
}
