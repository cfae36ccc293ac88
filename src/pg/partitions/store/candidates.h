/*
 * candidates.h - which partitions may hold a key.
 *
 * A column of the store is a leaf index, by its OID.  Columns of one partitioned index are
 * numbered from 0, by this backend, as it last saw them: the serial, a hash of them, tells one
 * numbering from another.  A leaf that has no column may hold any key.
 */
#pragma once

#include "pg/base/base.h"

#include "nodes/bitmapset.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct LookupMap
{
	Oid			root_index;
	uint64		serial;
	int			ncolumns;
	Oid		   *leaf_index;		/* of each column */
} LookupMap;

/* True if the index, perhaps a partitioned one, was made with partition_lookup = on. */
extern bool HasPartitionLookup(Relation index);

/* Such an index, locked; an error if it is another one. */
extern Relation OpenLookupIndex(Oid oid);

/* The columns of the topmost partitioned index; valid until the next call of any of these functions.  NULL without a store. */
extern const LookupMap *LookupMapOf(Oid root_index);

/*
 * The columns that may hold one of the keys, in the current memory context, and the
 * serial of the map that numbers them; 0 if there is no answer.
 */
extern Bitmapset *LookupCandidates(Oid root_index, const uint64 *hashes, int nhashes, uint64 *serial);

/*
 * A transaction that is serializable must say what it has asked before it believes the answer, and look who has asked after it
 * has added keys to the store.
 */
extern void LookupPredicateLocks(const uint64 *hashes, int n, Snapshot snapshot);
extern void CheckPredicateLocks(Relation rel, const uint64 *hashes, int n);

/* The hash of a key that is not NULL; false if `column operator key` cannot be looked up. */
extern bool LookupHashOf(Oid root_index, AttrNumber column, Oid operator, Oid key_type, Oid collation, Datum key, uint64 *hash);
