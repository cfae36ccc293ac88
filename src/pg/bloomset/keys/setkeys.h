/*
 * setkeys.h - the keys of a set that is an index: of the rows of its table, and of the
 * arguments of functions.
 */
#pragma once

#include "pg/keys/keys.h"

#include "utils/relcache.h"

typedef struct SetColumn
{
	Oid			type;			/* without its domains */
	Oid			collation;
	KeyType		stored;
	bool		portable;		/* its values have the same hash as in a bloomfilter */
	KeyType		given;			/* of an argument of another type that has the same keys; its `type` is that of the last one */
	FmgrInfo	input;			/* reads texts; fn_oid is InvalidOid before the first one */
	Oid			io_param;
} SetColumn;

typedef struct SetKeys
{
	MemoryContext memory;
	blx_identity identity;		/* of the set's keys */
	int			n;
	bool		lost_columns;	/* what old rows had as keys is not known any more: every test is "possibly" */
	SetColumn  *columns;
	KeyType   **parts;			/* of the columns */
	Datum	   *values;			/* of a row, for one call */
} SetKeys;

/*
 * The keys of an index, in the current memory context; an error if a column's values cannot be keys (any more, after
 * ALTER TYPE), or NULL if `soft` is not.
 */
extern SetKeys *OpenSetKeys(Relation index, Node *soft);

/* True if a filter with these hashes is a bloomfilter of keys of these types. */
extern bool ArePortable(const SetKeys *keys);

/* The hash of an indexed row.  False if a column is NULL: then the row has no key. */
extern bool HashIndexedRow(SetKeys *keys, const Datum *values, const bool *isnull, uint64 *hash);

/* True if values of that type can be arguments; the key must have one column. */
extern bool CanBeArgument(SetKeys *keys, Oid type);

/*
 * The hash of an argument of that type; `untyped` says that it is a constant text, which
 * may stand for a value of any type.  False if a column of a row is NULL.
 */
extern bool HashArgument(SetKeys *keys, Oid type, bool untyped, Datum value, uint64 *hash);
