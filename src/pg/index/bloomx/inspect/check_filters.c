/*
 * check_filters.c - bloomx_check_index of filters: the signature of every row has every
 * bit that it must have.
 */
#include "pg/base/base.h"

#include "miscadmin.h"

#include "pg/index/bloomx/format/row.h"
#include "pg/index/bloomx/inspect/check_places.h"
#include "pg/index/bloomx/segment/segment.h"
#include "pg/value/value.h"

typedef struct FilterCheck
{
	blx_geometry geometry;		/* of these signatures: the index's, or any if that is not chosen yet */
	Size		words;			/* of each */
	uint64	   *signatures;		/* what the rows of the batch must have */
	uint64	   *converted;		/* that of a pending row */
	uint64	   *slices;			/* scratch memory for a column */
	uint64	   *column;
} FilterCheck;

static bool
KeepRow(BloomxCheck *check, uint32 number, const Datum *values, const bool *isnull)
{
	FilterCheck *state = check->state;
	blx_filter *f;

	if (isnull[0])
		return false;
	f = DatumGetFilter(values[0]);
	BloomxMakeSignature(state->signatures + number * state->words, &state->geometry, f,
						BloomxJoinKeyType(&check->directory->meta.keys, f));
	return true;
}

/* Word by word of the signatures. */
static void
CheckSegment(BloomxCheck *check, const BloomxSegment *segment, BloomxPlace *places, Size n)
{
	FilterCheck *state = check->state;

	for (uint32 number = 0; number < state->words; number++)
	{
		CHECK_FOR_INTERRUPTS();
		BloomxReadColumn(check->index, segment, number, state->slices, state->column);
		for (uint32 row = segment->rows; row % 64 != 0; row++)
			if (state->column[row] != 0)
				BloomxReportCorruption(check->index, BloomxSliceBlock(segment, 64 * number), "There are bits beyond the last row of the segment.");
		for (Size i = 0; i < n; i++)
			places[i].lacks |= (state->signatures[places[i].of * state->words + number] & ~state->column[places[i].row]) != 0;
	}
}

/* A pending row is checked as what a segment would have of it. */
static bool
PendingLacks(BloomxCheck *check, uint32 number, const uint64 *row, uint32 n)
{
	FilterCheck *state = check->state;
	BloomxRowHead head = BloomxHeadOf(row);
	blx_geometry own = BloomxMakeGeometry(head.log2_blocks, head.parts);
	bool		lacks = false;

	BloomxConvertSignature(state->converted, &state->geometry, row + 1, &own);
	for (Size word = 0; word < state->words; word++)
		lacks |= (state->signatures[number * state->words + word] & ~state->converted[word]) != 0;
	return lacks;
}

void
BloomxCheckFilters(BloomxCheck *check)
{
	FilterCheck *state = palloc0(sizeof(FilterCheck));
	BloomxGeometrySample none = {0};

	state->geometry = check->directory->geometry.parts > 0 ? check->directory->geometry : BloomxChooseGeometry(0, 0, &none);
	state->words = blx_body_words(&state->geometry);
	check->most_rows = Min(MAX_SEGMENT_ROWS, Max(64, maintenance_work_mem * (Size) 1024 / (8 * state->words)));
	state->signatures = MemoryContextAllocHuge(CurrentMemoryContext, check->most_rows * 8 * state->words);
	state->converted = palloc(8 * state->words);
	state->slices = palloc(SLICES_BYTES);
	state->column = palloc(COLUMN_BYTES);
	check->keep_row = KeepRow;
	check->check_segment = CheckSegment;
	check->pending_lacks = PendingLacks;
	check->state = state;
}
