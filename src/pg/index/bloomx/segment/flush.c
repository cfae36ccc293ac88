/*
 * flush.c - pending rows of values become segments: one for each size class that
 * they have entries of (entries.c).
 *
 * This is done in one step, since the pages that it writes are fewer than those
 * that it reads.  The pages are reserved first, in the metapage.  If the step fails,
 * the next one frees them.  At the end one WAL record puts all segments into the
 * directory and drops the rows.
 */
#include "pg/index/bloomx/segment/flush.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/index/bloomx/directory/update.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/pending/reader.h"
#include "pg/index/bloomx/segment/entries.h"

/* A row of TID and hashes, as BloomxReadPendingRows has it. */
typedef const uint64 *PendingRow;

static inline int
CompareRows(const PendingRow *a, const PendingRow *b)
{
	ItemPointerData x = BloomxPendingTid(*a),
				y = BloomxPendingTid(*b);

	return ItemPointerCompare(&x, &y);
}

#define ST_SORT SortRows
#define ST_ELEMENT_TYPE PendingRow
#define ST_COMPARE(a, b) CompareRows(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Segments in memory. */
struct BloomxSegments
{
	uint32		n;
	uint32		pages;
	BloomxSegment segments[DIRECTORY_SEGMENTS];
	BloomxRowSource sources[DIRECTORY_SEGMENTS];
};

BloomxSegments *
BloomxNewSegments(void)
{
	return palloc0(sizeof(BloomxSegments));
}

void
BloomxKeepSegment(void *arg, uint32 slices, const BloomxRowSource *source)
{
	BloomxSegments *segments = arg;
	BloomxSegment *segment = &segments->segments[segments->n];

	if (segments->n == DIRECTORY_SEGMENTS)
		elog(ERROR, "rows of a bloomx index make too many segments at once");
	*segment = (BloomxSegment) {.rows = source->rows, .slices = slices, .tuples = source->tuples};
	segments->sources[segments->n++] = *source;
	segments->pages += BloomxSegmentPages(segment);
}

/* Makes segments of n rows that stand one after the other. */
static BloomxSegments *
MakeSegments(Relation index, BloomxKeys *keys, const uint64 *rows, uint32 n)
{
	BloomxSegments *segments = BloomxNewSegments();
	BloomxShare share = {.memory = MaxAllocHugeSize / 2};
	BloomxEntries *entries = BloomxStartEntries(index, keys, &share, BloomxKeepSegment, segments);
	PendingRow *sorted = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, n) * sizeof(PendingRow));

	for (uint32 i = 0; i < n; i++, rows += BloomxRowWords(keys, rows))
		sorted[i] = rows;
	SortRows(sorted, n);
	for (uint32 i = 0; i < n; i++)
	{
		BloomxRowHead head = BloomxHeadOf(sorted[i]);

		BloomxAddToEntries(entries, &head.tid, head.hashes == ANY_HASHES ? NULL : sorted[i] + 1, head.hashes);
	}
	BloomxFinishEntries(entries);
	return segments;
}

/* Reserves the pages of all segments, one after the other, and gives these their generations. */
static void
Reserve(Relation index, const BloomxKeys *keys, BloomxSegments *segments)
{
	BloomxMetaChange change;
	BlockNumber start;
	BloomxMeta *meta = BloomxReserve(&change, index, segments->pages, segments->pages, &start);

	/* if the step fails from here on, BloomxFreeReserved gives the pages back */
	meta->merge.reserved = (BloomxRun) {.start = start, .pages = segments->pages};
	meta->keys = *keys;
	for (uint32 i = 0; i < segments->n; i++)
	{
		segments->segments[i].start = start;
		segments->segments[i].generation = meta->next_generation++;
		start += BloomxSegmentPages(&segments->segments[i]);
	}
	BloomxFinishMetaChange(&change);
}

void
BloomxFreeReserved(Relation index)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);

	BloomxFreePages(meta, meta->merge.reserved.start, meta->merge.reserved.pages);
	meta->merge.reserved = (BloomxRun) {0};
	BloomxFinishMetaChange(&change);
}

void
BloomxAddSegments(Relation index, const BloomxDirectory *directory, const BloomxKeys *keys, BloomxSegments *segments, const BloomxMerge *merge)
{
	if (segments->n > 0)
		Reserve(index, keys, segments);
	for (uint32 i = 0; i < segments->n; i++)
	{
		segments->segments[i].pass = directory->meta.pending[merge->list].pass;
		BloomxWritePages(index, &segments->sources[i], 1, &segments->segments[i], 0, BloomxSegmentPages(&segments->segments[i]));
	}
	BloomxUpdateDirectory(index, directory, merge, segments->segments, segments->n);
}

void
BloomxFlushPending(Relation index, const BloomxDirectory *directory, uint32 most)
{
	BloomxKeys	keys = directory->meta.keys;
	BloomxMerge merge = {.list = BloomxLongestList(directory)};
	uint32		n;
	uint64	   *rows = BloomxReadPendingRows(index, directory, merge.list, Min(most * (uint64) PAGE_WORDS, directory->list_words[merge.list]),
											 &n, &merge.pending);

	if (keys.parts == 0)
		keys.parts = BloomxChooseParts(index, BloomxOpenColumns(index), 0);
	BloomxAddSegments(index, directory, &keys, MakeSegments(index, &keys, rows, n), &merge);
}
