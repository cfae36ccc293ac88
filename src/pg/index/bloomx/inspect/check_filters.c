/*
 * check_filters.c - bloomx_check_index of filters: every row with a filter is in
 * the index exactly once, and its signature has every bit that it must have.
 */
#include "pg/base/base.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/inspect/check_places.h"
#include "pg/index/bloomx/pending/reader.h"
#include "pg/index/bloomx/segment/segment.h"
#include "pg/value/value.h"

/* Rows whose bits are still to be checked, and the bits that their signatures must have. */
typedef struct FilterCheck
{
	blx_geometry geometry;		/* of these signatures: the index's, or any if that is not chosen yet */
	BloomxPlace *batch;
	uint64	   *signatures;
	Size		n;
	Size		room;
} FilterCheck;

static const BloomxPlace *
PlaceOf(const BloomxCheck *check, const ItemPointerData *tid)
{
	Size		i = BloomxFindPlace(check, tid);

	if (i == check->nplaces || ItemPointerCompare(&check->places[i].tid, (ItemPointer) tid) != 0)
		BloomxReportRow(check, tid, "is missing");
	return &check->places[i];
}

/* Every TID has one place; a second one would be next to it. */
static void
CheckPlaces(const BloomxCheck *check)
{
	for (Size i = 1; i < check->nplaces; i++)
		if (ItemPointerCompare(&check->places[i - 1].tid, &check->places[i].tid) == 0)
			BloomxReportRow(check, &check->places[i].tid, "is there twice");
}

/* Checks word `number` of the signatures of n rows of one segment. */
static void
CheckWord(BloomxCheck *check, const BloomxPlace *rows, Size n, uint32 number, uint64 *slices, uint64 *column)
{
	const BloomxSegment *segment = &check->directory->segments[rows->segment];
	Size		words = blx_body_words(&check->directory->geometry);

	BloomxReadColumn(check->index, segment, number, slices, column);
	for (uint32 row = segment->rows; row % 64 != 0; row++)
		if (column[row] != 0)
			BloomxReportCorruption(check->index, BloomxSliceBlock(segment, 64 * number), "There are bits beyond the last row of the segment.");
	for (Size i = 0; i < n; i++)
		if (((FilterCheck *) check->state)->signatures[rows[i].signature * words + number] & ~column[rows[i].row])
			BloomxReportRow(check, &rows[i].tid, "lacks a bit");
}

/* Checks n rows of one segment, word by word. */
static void
CheckSegmentRows(BloomxCheck *check, const BloomxPlace *rows, Size n, uint64 *slices, uint64 *column)
{
	for (uint32 word = 0; word < blx_body_words(&check->directory->geometry); word++)
	{
		CHECK_FOR_INTERRUPTS();
		CheckWord(check, rows, n, word, slices, column);
	}
}

/* Checks n pending rows, which are in the order of the list: what a segment would have of them. */
static void
CheckPendingRows(BloomxCheck *check, const BloomxPlace *rows, Size n)
{
	const FilterCheck *state = check->state;
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->directory);
	Size		words = blx_body_words(&state->geometry),
				i = 0;
	uint64	   *converted = palloc(words * sizeof(uint64));
	const uint64 *row;

	for (uint32 number = 0; i < n && (row = BloomxNextPending(reader)) != NULL; number++)
	{
		BloomxRowHead head = BloomxHeadOf(row);
		blx_geometry own = BloomxMakeGeometry(head.log2_blocks, head.parts);

		if (rows[i].row != number)
			continue;
		BloomxConvertSignature(converted, &state->geometry, row + 1, &own);
		for (Size word = 0; word < words; word++)
			if (state->signatures[rows[i].signature * words + word] & ~converted[word])
				BloomxReportRow(check, &rows[i].tid, "lacks a bit");
		i++;
	}
	pfree(converted);
	BloomxEndPending(reader);
}

/*
 * Finds the rows of the batch again after merges have moved rows.  VACUUM cannot
 * have removed any: the snapshot sees them.
 */
static void
FindBatchAnew(BloomxCheck *check)
{
	FilterCheck *state = check->state;

	CheckPlaces(check);
	for (Size i = 0; i < state->n; i++)
	{
		const BloomxPlace *place = PlaceOf(check, &state->batch[i].tid);

		state->batch[i].segment = place->segment;
		state->batch[i].row = place->row;
	}
}

static void
CheckBatch(BloomxCheck *check, bool changed)
{
	FilterCheck *state = check->state;
	uint64	   *slices = palloc(SLICES_BYTES),
			   *column = palloc(COLUMN_BYTES);
	Size		n;

	if (changed)
		FindBatchAnew(check);
	/* the rows of each segment together, since a column is read for all of its rows */
	BloomxSortBatch(state->batch, state->n);
	for (Size first = 0; first < state->n; first += n)
	{
		uint32		segment = state->batch[first].segment;

		for (n = 1; first + n < state->n && state->batch[first + n].segment == segment;)
			n++;
		if (segment == IN_PENDING)
			CheckPendingRows(check, state->batch + first, n);
		else
			CheckSegmentRows(check, state->batch + first, n, slices, column);
	}
	pfree(slices);
	pfree(column);
	state->n = 0;
}

/* A row of the table: must have a place; its bits are checked with the batch. */
static bool
AddRow(BloomxCheck *check, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	FilterCheck *state = check->state;
	const blx_geometry *geometry = &state->geometry;
	blx_filter *f;

	if (isnull[0])
		return false;
	state->batch[state->n] = *PlaceOf(check, tid);
	state->batch[state->n].signature = state->n;
	f = DatumGetFilter(values[0]);
	BloomxMakeSignature(state->signatures + state->n * blx_body_words(geometry), geometry, f,
						BloomxJoinKeyType(&check->directory->meta.keys, f));
	check->checked++;
	return ++state->n == state->room;
}

static void
Start(BloomxCheck *check)
{
	FilterCheck *state = palloc0(sizeof(FilterCheck));
	BloomxGeometrySample none = {0};
	Size		bytes;

	CheckPlaces(check);
	state->geometry = check->directory->geometry.parts > 0 ? check->directory->geometry : BloomxChooseGeometry(0, 0, &none);
	bytes = 8 * blx_body_words(&state->geometry);
	state->room = Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / bytes));
	state->signatures = MemoryContextAllocHuge(CurrentMemoryContext, state->room * bytes);
	state->batch = palloc(state->room * sizeof(BloomxPlace));
	check->state = state;
}

void
BloomxCheckFilters(BloomxCheck *check)
{
	check->start = Start;
	check->add_row = AddRow;
	check->check_batch = CheckBatch;
}
