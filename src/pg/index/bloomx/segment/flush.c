/*
 * flush.c - pending rows become segments: of filters one, of values one for each size
 * class that they have entries of (entries.c).
 *
 * This is done in one step, since there are few rows.  At the end one WAL record puts all
 * segments into the directory and drops the rows.  A crash before that leaves pages
 * without an owner, but a cancel waits: VACUUM may be far away.
 *
 * The first segment chooses what all signatures have in common, if CREATE INDEX found
 * too few rows for that.  Until then each filter's pending row has a signature of the
 * filter's own geometry, and from these the index's is chosen as CREATE INDEX would.
 * The table is not read: the signature of a filter, folded to fewer blocks and parts,
 * is the signature that the filter has there (slices.h).
 */
#include "pg/index/bloomx/segment/segment.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/format/options.h"
#include "pg/index/bloomx/pending/list.h"
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
typedef struct Segments
{
	uint32		n;
	BloomxSegment segments[DIRECTORY_SEGMENTS];
	BloomxRowSource sources[DIRECTORY_SEGMENTS];
} Segments;

/* A BloomxWriteSegment. */
static void
KeepSegment(void *arg, uint32 slices, const BloomxRowSource *source)
{
	Segments   *segments = arg;

	if (segments->n == DIRECTORY_SEGMENTS)
		elog(ERROR, "rows of a bloomx index make too many segments at once");
	segments->segments[segments->n] = (BloomxSegment) {.rows = source->rows, .slices = slices, .tuples = source->tuples};
	segments->sources[segments->n++] = *source;
}

/* ---- filters ---- */

/*
 * Chooses the geometry by the filters of a list.  False if it has had too few.  Those that
 * VACUUM has removed have no say, but make the list long: a table of few rows that are
 * often updated has never enough others, and its list would grow for ever.
 */
static bool
ChooseByRows(Relation index, const BloomxDirectory *directory, int list, BloomxKeys *keys)
{
	BloomxPendingReader *reader = BloomxStartPendingList(index, directory, list);
	BloomxOptions options = BloomxGetOptions(index);
	BloomxGeometrySample sample = {0};
	blx_geometry geometry;
	const uint64 *row;
	uint32		n = 0;

	while ((row = BloomxNextPending(reader)) != NULL)
	{
		BloomxRowHead head = BloomxHeadOf(row);

		n++;
		geometry = BloomxMakeGeometry(head.log2_blocks, head.parts);
		/* if bits were set after CREATE INDEX, filters may have more parts than these have room for */
		if (ItemPointerIsValid(&head.tid) && head.parts > 0 && options.signature_bits == 0)
			BloomxAddToSample(&sample, &geometry);
	}
	BloomxEndPending(reader);
	if (n < LEAST_FILTERS)
		return false;
	geometry = BloomxChooseGeometry(options.signature_bits, options.hash_functions, &sample);
	BloomxSetGeometry(keys, &geometry);
	return true;
}

/* Makes a segment of the filters that take some pages, at least LEAST_FILTERS; *taken is the words of their rows. */
static void
MakeSegmentOfFilters(Relation index, const BloomxDirectory *directory, const BloomxKeys *keys, int list, uint32 most,
					 Segments *segments, uint64 *taken)
{
	BloomxPendingReader *reader = BloomxStartPendingList(index, directory, list);
	blx_geometry geometry = BloomxGeometryOf(keys);
	uint32		stride = (uint32) blx_body_words(&geometry),
				room = Min(MAX_SEGMENT_ROWS, Max(LEAST_FILTERS, most * PAGE_WORDS / stride)),
				rows = 0;
	ItemPointerData *tids = palloc(room * sizeof(ItemPointerData));
	uint64	   *signatures = MemoryContextAllocHuge(CurrentMemoryContext, room * (Size) stride * sizeof(uint64));
	const uint64 *row;

	while (rows < room && (row = BloomxNextPending(reader)) != NULL)
	{
		BloomxRowHead head = BloomxHeadOf(row);
		blx_geometry own = BloomxMakeGeometry(head.log2_blocks, head.parts);

		*taken += reader->n;
		if (!ItemPointerIsValid(&head.tid))	/* VACUUM has removed it */
			continue;
		BloomxConvertSignature(signatures + rows * (Size) stride, &geometry, row + 1, &own);
		tids[rows++] = head.tid;
	}
	BloomxEndPending(reader);
	if (rows > 0)
		KeepSegment(segments, (uint32) blx_bits(&geometry), &(BloomxRowSource) {
			.tids = tids, .rows = rows, .signatures = signatures, .stride = stride, .tuples = rows});
}

/* ---- values ---- */

/* Makes segments of n rows that stand one after the other. */
static void
MakeSegmentsOfValues(Relation index, BloomxKeys *keys, const uint64 *rows, uint32 n, Segments *segments)
{
	BloomxShare share = {.memory = MaxAllocHugeSize / 2};
	BloomxEntries *entries = BloomxStartEntries(index, keys, &share, KeepSegment, segments);
	PendingRow *sorted = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, n) * sizeof(PendingRow));

	for (uint32 i = 0; i < n; i++, rows += BloomxRowWords(true, rows))
		sorted[i] = rows;
	SortRows(sorted, n);
	for (uint32 i = 0; i < n; i++)
	{
		BloomxRowHead head = BloomxHeadOf(sorted[i]);

		BloomxAddToEntries(entries, &head.tid, head.hashes == ANY_HASHES ? NULL : sorted[i] + 1, head.hashes);
	}
	BloomxFinishEntries(entries);
}

/* ---- the step ---- */

bool
BloomxFlushPending(Relation index, const BloomxDirectory *directory, int list, uint32 most)
{
	BloomxKeys	keys = directory->meta.keys;
	Segments   *segments = palloc0(sizeof(Segments));
	uint64		taken = 0;

	if (!keys.of_values)
	{
		if (keys.parts == 0 && !ChooseByRows(index, directory, list, &keys))
			return false;
		MakeSegmentOfFilters(index, directory, &keys, list, most, segments, &taken);
	}
	else
	{
		uint32		n;
		uint64	   *rows = BloomxReadPendingRows(index, directory, list, Min(most * (uint64) PAGE_WORDS, directory->list_words[list]), &n, &taken);

		if (keys.parts == 0)
			keys.parts = BloomxChooseParts(index, BloomxOpenColumns(index), 0);
		MakeSegmentsOfValues(index, &keys, rows, n, segments);
	}
	/* with a full directory rows stay pending until segments have been merged */
	if (!BloomxHasRoom(index, directory, segments->n))
		return false;
	HOLD_INTERRUPTS();
	if (segments->n > 0)
		BloomxWriteKeys(index, &keys);
	for (uint32 i = 0; i < segments->n; i++)
		BloomxCreateSegment(index, &segments->segments[i], &segments->sources[i]);
	BloomxUpdateDirectory(index, directory, &(BloomxUpdate) {.results = segments->segments, .n = segments->n, .list = list, .pending = taken});
	RESUME_INTERRUPTS();
	return true;
}
