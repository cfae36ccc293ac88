/*
 * check_values.c - bloomx_check_index of values: for every row of the table there is
 * an entry of the row or of its block, or a pending row, that has all of its keys.
 */
#include "pg/base/base.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/bloomx/inspect/check_places.h"
#include "pg/index/bloomx/pending/reader.h"
#include "pg/index/bloomx/segment/segment.h"

/* A row of the table that is still to be checked. */
typedef struct ValueRow
{
	ItemPointerData tid;
	uint32		n;				/* hashes, or ANY_HASHES */
	Size		first;			/* of its hashes */
	bool		found;			/* true if some entry has all of its keys */
} ValueRow;

typedef struct ValueCheck
{
	BloomxColumns *columns;
	ValueRow   *rows;
	Size		nrows;
	uint64	   *hashes;
	Size		nhashes;
	Size		room;			/* for rows, and for hashes */
} ValueCheck;

/* A place where the keys of a row may be. */
typedef struct Candidate
{
	uint32		row;			/* of the segment */
	ValueRow   *of;
	bool		lacks;			/* true if it does not have all of the keys */
} Candidate;

/* ---- the slices of one segment ---- */

/* The bits that candidates must have, sorted by slice: those of slice s are candidates[first[s] .. first[s + 1] - 1]. */
typedef struct NeededBits
{
	uint32	   *first;
	uint32	   *candidates;
} NeededBits;

static NeededBits
SortNeededBits(const ValueCheck *state, const BloomxKeys *keys, const BloomxSegment *segment, const Candidate *candidates, Size n)
{
	blx_partitioned shape = {.parts = keys->parts, .width = segment->slices / keys->parts};
	NeededBits	bits = {.first = MemoryContextAllocExtended(CurrentMemoryContext, (segment->slices + 2) * sizeof(uint32), MCXT_ALLOC_ZERO)};
	uint32		slices[BLX_MAX_K];
	Size		total = 0;

	for (Size i = 0; i < n; i++)
		total += candidates[i].of->n * keys->parts;
	bits.candidates = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, total) * sizeof(uint32));
	/* counted one slot too far, the counts become starting points that the second round moves to their places */
	for (int round = 0; round < 2; round++)
	{
		for (Size i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 key = 0; key < candidates[i].of->n; key++)
			{
				blx_partitioned_slices(&shape, state->hashes[candidates[i].of->first + key], slices);
				for (uint32 part = 0; part < keys->parts; part++)
					if (round == 0)
						bits.first[slices[part] + 2]++;
					else
						bits.candidates[bits.first[slices[part] + 1]++] = (uint32) i;
			}
		}
		for (uint32 slice = 0; round == 0 && slice < segment->slices; slice++)
			bits.first[slice + 2] += bits.first[slice + 1];
	}
	return bits;
}

static void
CheckSegment(BloomxCheck *check, uint32 number, Candidate *candidates, Size n)
{
	const BloomxSegment *segment = &check->directory->segments[number];
	NeededBits	bits;

	if (segment->slices == 0)	/* may hold anything */
		return;
	bits = SortNeededBits(check->state, &check->directory->meta.keys, segment, candidates, n);
	for (uint32 slice = 0; slice < segment->slices; slice++)
	{
		Buffer		buffer;
		const uint64 *words;

		CHECK_FOR_INTERRUPTS();
		words = BloomxLockSlice(check->index, segment, slice, false, &buffer);
		if (segment->rows % 64 != 0 && words[segment->rows / 64] >> segment->rows % 64 != 0)
			BloomxReportCorruption(check->index, BloomxSliceBlock(segment, slice), "There are bits beyond the last row of the segment.");
		for (uint32 i = bits.first[slice]; i < bits.first[slice + 1]; i++)
		{
			Candidate  *candidate = &candidates[bits.candidates[i]];

			candidate->lacks |= !(words[candidate->row / 64] >> candidate->row % 64 & 1);
		}
		UnlockReleaseBuffer(buffer);
	}
	pfree(bits.first);
	pfree(bits.candidates);
}

/* ---- pending rows ---- */

static void
CheckPending(BloomxCheck *check, Candidate *candidates, Size n)
{
	const ValueCheck *state = check->state;
	BloomxPendingReader *reader = BloomxStartPending(check->index, check->directory);
	const uint64 *row;
	Size		i = 0;

	for (uint32 number = 0; i < n && (row = BloomxNextPending(reader)) != NULL; number++)
		for (; i < n && candidates[i].row == number; i++)
		{
			const ValueRow *of = candidates[i].of;
			uint32		found = 0;

			/* both are sorted */
			for (uint32 j = 1; j < reader->n && found < of->n; j++)
				found += row[j] == state->hashes[of->first + found];
			candidates[i].lacks = found < of->n && BloomxHeadOf(row).hashes != ANY_HASHES;
		}
	BloomxEndPending(reader);
}

/* ---- the batch ---- */

/* Counts the entries of the rows and of their blocks; batch, if it is not NULL, gets their places. */
static Size
CountOrCollect(const BloomxCheck *check, ValueRow *rows, Size nrows, BloomxPlace *batch)
{
	Size		n = 0;

	for (Size i = 0; i < nrows; i++)
	{
		ItemPointerData tids[2] = {rows[i].tid, rows[i].tid};

		ItemPointerSetOffsetNumber(&tids[1], WHOLE_BLOCK);
		for (int j = 0; j < 2; j++)
			for (Size place = BloomxFindPlace(check, &tids[j]);
				 place < check->nplaces && ItemPointerCompare(&check->places[place].tid, &tids[j]) == 0; place++)
			{
				if (batch != NULL)
				{
					batch[n] = check->places[place];
					batch[n].signature = i;
				}
				n++;
			}
	}
	return n;
}

static void
CheckBatch(BloomxCheck *check, bool changed)
{
	ValueCheck *state = check->state;
	Size		total = CountOrCollect(check, state->rows, state->nrows, NULL),
				n;
	BloomxPlace *batch = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, total) * sizeof(BloomxPlace));
	Candidate  *candidates = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, total) * sizeof(Candidate));

	(void) CountOrCollect(check, state->rows, state->nrows, batch);
	BloomxSortBatch(batch, total);
	for (Size i = 0; i < total; i++)
		candidates[i] = (Candidate) {.row = batch[i].row, .of = &state->rows[batch[i].signature]};
	for (Size first = 0; first < total; first += n)
	{
		uint32		segment = batch[first].segment;

		for (n = 1; first + n < total && batch[first + n].segment == segment;)
			n++;
		if (segment == IN_PENDING)
			CheckPending(check, candidates + first, n);
		else
			CheckSegment(check, segment, candidates + first, n);
	}
	for (Size i = 0; i < total; i++)
		candidates[i].of->found |= !candidates[i].lacks;
	for (Size i = 0; i < state->nrows; i++)
		if (!state->rows[i].found)
			BloomxReportRow(check, &state->rows[i].tid, "is in no entry with all of its keys");
	pfree(batch);
	pfree(candidates);
	state->nrows = state->nhashes = 0;
}

static bool
AddRow(BloomxCheck *check, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	ValueCheck *state = check->state;
	const KeyHashes *hashes = BloomxSortedHashesOfRow(state->columns, values, isnull);
	uint32		n = hashes->n < ANY_HASHES ? hashes->n : 0;	/* of too many keys only the place is checked */

	state->rows[state->nrows++] = (ValueRow) {.tid = *tid, .n = n, .first = state->nhashes};
	memcpy(state->hashes + state->nhashes, hashes->hash, n * sizeof(uint64));
	state->nhashes += n;
	check->checked++;
	return state->nrows == state->room || state->nhashes + ANY_HASHES > state->room;
}

/* The hashes of a batch take a tenth of the memory; their bits take as much for each part. */
static void
Start(BloomxCheck *check)
{
	ValueCheck *state = palloc0(sizeof(ValueCheck));

	state->columns = BloomxOpenColumns(check->index);
	state->room = Max(2 * ANY_HASHES, Min(maintenance_work_mem * (Size) 1024 / 10 / sizeof(uint64), PG_UINT32_MAX / BLX_MAX_K));
	state->rows = MemoryContextAllocHuge(CurrentMemoryContext, state->room * sizeof(ValueRow));
	state->hashes = MemoryContextAllocHuge(CurrentMemoryContext, state->room * sizeof(uint64));
	check->state = state;
}

void
BloomxCheckValues(BloomxCheck *check)
{
	check->start = Start;
	check->add_row = AddRow;
	check->check_batch = CheckBatch;
}
