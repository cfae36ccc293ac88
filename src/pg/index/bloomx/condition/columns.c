/*
 * columns.c - the keys of a row of values.
 *
 * A row has the keys of all its columns.  The hash of a key is mixed with the
 * number of its column, so that one value in two columns is two keys.  NULL is one
 * key of its column.  So every row of the table is in the index, whatever is NULL
 * in it, and a condition on any of the columns can be looked up.
 */
#include "pg/index/bloomx/condition/columns.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "core/base/hash.h"
#include "pg/index/bloomx/format/metapage.h"

Oid
BloomxTypeOfColumn(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	return IsPolymorphicType(type) ? getBaseType(TupleDescAttr(RelationGetDescr(index), column)->atttypid) : type;
}

BloomxColumns *
BloomxOpenColumns(Relation index)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);
	BloomxColumns *columns = palloc0(sizeof(BloomxColumns) + n * sizeof(KeyExtractor *));

	columns->n = n;
	for (int i = 0; i < n; i++)
		columns->extractors[i] = MakeKeyExtractor(index_getprocinfo(index, i + 1, EXTRACT_FUNCTION),
												  BloomxTypeOfColumn(index, i), index->rd_indcollation[i]);
	columns->hashes.room = 64;
	columns->hashes.hash = palloc(columns->hashes.room * sizeof(uint64));
	return columns;
}

/* No hash is 0, which sets of hashes keep for free slots. */
static inline uint64
NotZero(uint64 hash)
{
	return hash + (hash == 0);
}

uint64
BloomxHashInColumn(uint64 hash, int column)
{
	return NotZero(blx_hash_int64(hash, (uint64) column));
}

/* Seeds that no column number is. */
uint64
BloomxHashOfNull(int column)
{
	return NotZero(blx_hash_int64(0, UINT64CONST(1) << 32 | (uint64) column));
}

const KeyHashes *
BloomxHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull)
{
	KeyHashes  *hashes = &columns->hashes;

	hashes->n = 0;
	for (int i = 0; i < columns->n; i++)
	{
		uint32		first = hashes->n;

		if (isnull[i])
		{
			AddKeyHash(hashes, BloomxHashOfNull(i));
			continue;
		}
		columns->extractors[i]->value(columns->extractors[i], values[i], hashes);
		for (uint32 j = first; j < hashes->n; j++)
			hashes->hash[j] = BloomxHashInColumn(hashes->hash[j], i);
	}
	return hashes;
}

const KeyHashes *
BloomxSortedHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull)
{
	(void) BloomxHashesOfRow(columns, values, isnull);
	CompactKeyHashes(&columns->hashes, 0);
	return &columns->hashes;
}
