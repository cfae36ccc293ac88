/*
 * stores.c - of which stores an index consists.
 */
#include "pg/index/bloomx/format/stores.h"

#include "utils/rel.h"

#include "pg/base/objects.h"

BloomxStores *
BloomxOpenStores(Relation index)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	BloomxStores *stores = palloc(offsetof(BloomxStores, store) + (1 + columns) * sizeof(BloomxStore));

	stores->n = 0;
	if (columns > 1 || index->rd_opcintype[0] != FilterTypeOid())
		stores->store[stores->n++] = (BloomxStore) {.index = index, .of_values = true};
	for (int i = 0; i < columns; i++)
		if (index->rd_opcintype[i] == FilterTypeOid())
		{
			stores->store[stores->n] = (BloomxStore) {.index = index, .meta_block = stores->n, .column = i};
			stores->n++;
		}
	return stores;
}
