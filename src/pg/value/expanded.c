/*
 * expanded.c - a filter in a memory context of its own, which an aggregate
 * changes in place.
 *
 * An aggregate's state that grows would be copied by the executor each time it
 * moves; an expanded object is handed from call to call by reference.  Small
 * states stay flat: a context of its own costs a kilobyte.
 *
 * Keys are added in batches, for the core can then fetch many blocks at once:
 * a large filter's blocks are rarely in the cache.
 */
#include "pg/base/bloomx.h"

#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#define EXPANDED_FILTER_MAGIC 0x424c58

typedef struct ExpandedFilter
{
	ExpandedObjectHeader header;
	int			magic;
	double		expected;		/* keys in the end; 0 = not known */
	blx_filter *filter;
	void	   *chunk;			/* its memory */
	int			queued;			/* hashes yet to be added */
	uint64		queue[64];
} ExpandedFilter;

/* f, allocated in the object's context, takes the place of the filter before. */
static void
Hold(ExpandedFilter *expanded, blx_filter *f)
{
	if (expanded->filter == f)
		return;
	if (expanded->filter != NULL)
		pfree(expanded->chunk);
	expanded->filter = AlignFilter(f, &expanded->chunk);
}

static blx_filter *
Flush(ExpandedFilter *expanded)
{
	if (expanded->queued > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(expanded->header.eoh_context);

		Hold(expanded, AddExpectedHashes(expanded->filter, expanded->queue, expanded->queued, expanded->expected));
		MemoryContextSwitchTo(old);
		expanded->queued = 0;
	}
	return expanded->filter;
}

static Size
FlatSize(ExpandedObjectHeader *header)
{
	return blx_size(Flush((ExpandedFilter *) header));
}

static void
Flatten(ExpandedObjectHeader *header, void *result, Size size)
{
	memcpy(result, ((ExpandedFilter *) header)->filter, size);
	SET_VARSIZE(result, size);
}

static const ExpandedObjectMethods methods = {FlatSize, Flatten};

Datum
MakeExpandedFilter(MemoryContext parent, double expected)
{
	MemoryContext context = AllocSetContextCreate(parent, "expanded bloom filter", ALLOCSET_START_SMALL_SIZES);
	ExpandedFilter *expanded = MemoryContextAlloc(context, sizeof(ExpandedFilter));

	EOH_init_header(&expanded->header, &methods, context);
	expanded->magic = EXPANDED_FILTER_MAGIC;
	expanded->expected = expected;
	expanded->filter = NULL;
	expanded->queued = 0;
	return EOHPGetRWDatum(&expanded->header);
}

static ExpandedFilter *
GetExpanded(Datum datum)
{
	ExpandedFilter *expanded = (ExpandedFilter *) DatumGetEOHP(datum);

	if (expanded->magic != EXPANDED_FILTER_MAGIC)
		elog(ERROR, "expanded object is not a bloom filter");
	return expanded;
}

bool
DatumIsExpandedFilter(Datum datum)
{
	return VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum));
}

blx_filter *
ExpandedFilterGet(Datum datum)
{
	if (DatumIsFilterVersion(datum))
		return FilterVersionGet(datum);
	return Flush(GetExpanded(datum));
}

static inline void
Enqueue(ExpandedFilter *expanded, uint64 hash)
{
	expanded->queue[expanded->queued++] = hash;
	if (expanded->queued == lengthof(expanded->queue))
		Flush(expanded);
}

void
ExpandedFilterAdd(Datum datum, uint64 hash)
{
	Enqueue(GetExpanded(datum), hash);
}

/* The state of somebody's own aggregate may have become another object on its way. */
bool
ExpandedFilterAddKey(Datum datum, KeyType *type, Datum key)
{
	ExpandedFilter *expanded = (ExpandedFilter *) DatumGetEOHP(datum);

	if (expanded->magic != EXPANDED_FILTER_MAGIC)
		return false;
	Enqueue(expanded, HashKey(type, key, expanded->filter->seed));
	return true;
}

MemoryContext
ExpandedFilterContext(Datum datum)
{
	return GetExpanded(datum)->header.eoh_context;
}

blx_filter *
ExpandedFilterSet(Datum datum, blx_filter *f)
{
	ExpandedFilter *expanded = GetExpanded(datum);

	Hold(expanded, f);
	return expanded->filter;
}
