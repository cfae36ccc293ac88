/*
 * candidates.c - which partitions may hold a key.
 */
#include "pg/partitions/store/candidates.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "pg/index/bloomx/build/build.h"
#include "pg/index/bloomx/format/options.h"

bool
HasPartitionLookup(Relation index)
{
	return index->rd_indam != NULL && index->rd_indam->aminsert == bloomxinsert && BloomxGetOptions(index).partition_lookup;
}

const LookupMap *
LookupMapOf(Oid root_index, bool *available)
{
	static LookupMap none;

	*available = false;
	return &none;
}

Bitmapset *
LookupCandidates(Oid root_index, AttrNumber column, const uint64 *hashes, int nhashes, uint64 *serial)
{
	*serial = 0;
	return NULL;
}

void
LookupPredicateLocks(Oid root_index, AttrNumber column, const uint64 *hashes, int n, Snapshot snapshot)
{
}

bool
LookupHashOf(Oid root_index, AttrNumber column, Oid operator, Oid key_type, Oid collation, Datum key, uint64 *hash)
{
	return false;
}
