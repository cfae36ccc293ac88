/*
 * check_places.c - where the rows are in the index (check_places.h).
 */
#include "pg/index/bloomx/inspect/check_places.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/segment.h"

void
BloomxReportRow(const BloomxCheck *check, const ItemPointerData *tid, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\": row (%u,%u) %s", RelationGetRelationName(check->index),
					ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid), problem)));
}

/* ---- the index's TIDs ---- */

static inline int
ComparePlaces(const BloomxPlace *a, const BloomxPlace *b)
{
	return ItemPointerCompare((ItemPointer) &a->tid, (ItemPointer) &b->tid);
}

/* There may be hundreds of millions of places: sorting them must react to a cancel. */
#define ST_SORT SortPlaces
#define ST_ELEMENT_TYPE BloomxPlace
#define ST_COMPARE(a, b) ComparePlaces(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

Size
BloomxFindPlace(const BloomxCheck *check, const ItemPointerData *tid)
{
	const BloomxPlace sought = {.tid = *tid};
	Size		from = 0,
				to = check->nplaces;

	while (from < to)
	{
		Size		middle = from + (to - from) / 2;

		if (ComparePlaces(&check->places[middle], &sought) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void
AddPlace(BloomxCheck *check, ItemPointerData tid, uint32 segment, uint32 row)
{
	if (ItemPointerIsValid(&tid))
		check->places[check->nplaces++] = (BloomxPlace) {.tid = tid, .segment = segment, .row = row};
}

static void
CollectPending(BloomxCheck *check)
{
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->directory);
	const uint64 *words;

	for (uint32 row = 0; (words = BloomxNextPending(reader)) != NULL; row++)
		AddPlace(check, BloomxPendingTid(words), IN_PENDING, row);
	BloomxEndPending(reader);
}

/* Collects the places of all rows, sorted by TID.  Needs the directory lock. */
static void
CollectPlaces(BloomxCheck *check)
{
	const BloomxDirectory *directory = check->directory;
	Size		rows = directory->pending_words;	/* more than there can be */

	for (uint32 i = 0; i < directory->meta.segments; i++)
		rows += directory->segments[i].rows;

	/* the rows of all segments, and the pending ones */
	check->nplaces = 0;
	check->places = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows) * sizeof(BloomxPlace));
	for (uint32 i = 0; i < directory->meta.segments; i++)
	{
		ItemPointerData *tids;

		CHECK_FOR_INTERRUPTS();
		if (directory->segments[i].rows == 0)
			continue;
		tids = BloomxReadAllTids(check->index, &directory->segments[i]);
		for (uint32 row = 0; row < directory->segments[i].rows; row++)
			AddPlace(check, tids[row], i, row);
		pfree(tids);
	}
	CollectPending(check);

	SortPlaces(check->places, check->nplaces);
}

void
BloomxReadPlaces(BloomxCheck *check)
{
	check->directory = BloomxReadDirectory(check->index, NULL);
	pfree(BloomxMapPages(check->index, check->directory));
	CollectPlaces(check);
	for (Size i = 1; i < check->nplaces && !check->directory->meta.keys.of_values; i++)
		if (ItemPointerCompare(&check->places[i - 1].tid, &check->places[i].tid) == 0)
			BloomxReportRow(check, &check->places[i].tid, "is there twice");
}
