/*
 * keyindex.h - indexes that can say which keys their table has.
 */
#pragma once

#include "pg/base/compat.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/* An access method of such indexes.  It registers itself, when the module is loaded, by a function that is a constructor. */
typedef struct KeyIndexMethod
{
	/*
	 * Prepares to test values of that type, which the default equality of the only column's type compares with the
	 * column under that collation; all that is allocated is in the current memory context.  NULL if the index is of another
	 * access method, or does not know what the snapshot sees.
	 */
	void	   *(*open) (Relation index, Oid type, Oid collation, Snapshot snapshot);
	/*
	 * False if no row that the snapshot sees has the key.  The index may have been closed since it was opened,
	 * and rebuilt, but its lock was kept.
	 */
	bool		(*may_have) (void *opened, Relation index, Datum key);
	struct KeyIndexMethod *next;
} KeyIndexMethod;

extern KeyIndexMethod *key_index_methods;

extern void RegisterKeyIndexMethod(KeyIndexMethod *method);
