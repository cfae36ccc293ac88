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
#include "pg/index/bloomx/segment/entries.h"

/* A pending row in memory. */
typedef struct PendingRow
{
	ItemPointerData tid;
	uint32		n;
	const uint64 *hash;
} PendingRow;

typedef struct PendingRows
{
	PendingRow *rows;
	uint32		n;
	uint32		room;
	uint64		words;			/* of the list, that they take */
} PendingRows;

#define ST_SORT SortRows
#define ST_ELEMENT_TYPE PendingRow
#define ST_COMPARE(a, b) ItemPointerCompare((ItemPointer) &(a)->tid, (ItemPointer) &(b)->tid)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
KeepRow(PendingRows *rows, const uint64 *row, uint32 words)
{
	uint64	   *hash;

	if (rows->n == rows->room)
	{
		rows->room = Max(1024, 2 * rows->room);
		rows->rows = rows->rows == NULL ? palloc(rows->room * sizeof(PendingRow)) :
			repalloc_huge(rows->rows, rows->room * sizeof(PendingRow));
	}
	hash = palloc(words * sizeof(uint64));
	memcpy(hash, row + 1, (words - 1) * sizeof(uint64));
	rows->rows[rows->n++] = (PendingRow) {.tid = BloomxPendingTid(row), .n = words - 1, .hash = BloomxHeadOf(row).hashes == ANY_HASHES ? NULL : hash};
}

/* The first rows of the list: those that are on `most` pages, and at least one. */
static PendingRows
ReadRows(Relation index, const BloomxDirectory *directory, int list, uint32 most)
{
	PendingRows rows = {0};
	BloomxPendingReader *reader = BloomxStartPendingList(index, directory, list, directory->list_words[list]);
	const uint64 *row;

	while (rows.words < most * (uint64) PAGE_WORDS && (row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);

		rows.words += reader->n;
		if (ItemPointerIsValid(&tid))
			KeepRow(&rows, row, reader->n);
	}
	if (reader->gone)
		BloomxReportCorruption(index, "a page of pending rows is something else");
	BloomxEndPending(reader);
	SortRows(rows.rows, rows.n);
	return rows;
}

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

static BloomxSegments *
MakeSegments(Relation index, BloomxKeys *keys, const PendingRows *rows)
{
	BloomxSegments *segments = BloomxNewSegments();
	BloomxShare share = {.memory = MaxAllocHugeSize / 2};
	BloomxEntries *entries = BloomxStartEntries(index, keys, &share, BloomxKeepSegment, segments);

	for (uint32 i = 0; i < rows->n; i++)
		BloomxAddToEntries(entries, &rows->rows[i].tid, rows->rows[i].hash, rows->rows[i].n);
	BloomxFinishEntries(entries);
	return segments;
}

/* Reserves the pages of all segments, one after the other, and gives these their generations.  False if too few pages are free. */
static bool
Reserve(Relation index, const BloomxKeys *keys, BloomxSegments *segments)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);
	BlockNumber start = BloomxTakeFreePages(meta, segments->pages);

	if (start == InvalidBlockNumber)
	{
		BloomxAbortMetaChange(&change);
		return false;
	}
	meta->merge.reserved = (BloomxRun) {.start = start, .pages = segments->pages};
	meta->keys = *keys;
	for (uint32 i = 0; i < segments->n; i++)
	{
		segments->segments[i].start = start;
		segments->segments[i].generation = meta->next_generation++;
		start += BloomxSegmentPages(&segments->segments[i]);
	}
	BloomxFinishMetaChange(&change);
	return true;
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
	while (segments->n > 0 && !Reserve(index, keys, segments))
		BloomxExtendIndex(index, segments->pages);
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
	int			list = BloomxLongestList(directory);
	PendingRows rows = ReadRows(index, directory, list, most);
	BloomxMerge merge = {.list = list, .pending = rows.words};

	if (keys.parts == 0)
		keys.parts = BloomxChooseParts(index, BloomxOpenColumns(index), 0);
	BloomxAddSegments(index, directory, &keys, MakeSegments(index, &keys, &rows), &merge);
}
