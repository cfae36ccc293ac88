/*
 * check_values.c - bloomx_check_index of values: for every row of the table there is
 * an entry of the row or of its block, or a pending row, that has all of its keys.
 */
#include "pg/base/base.h"

#include "miscadmin.h"

#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/bloomx/format/row.h"
#include "pg/index/bloomx/inspect/check_places.h"
#include "pg/index/bloomx/segment/segment.h"

typedef struct ValueCheck
{
	BloomxColumns *columns;
	uint64	   *hashes;			/* of the rows of the batch, one row after the other */
	Size		nhashes;
	Size	   *first;			/* where those of each row begin; the last one is where they end */
} ValueCheck;

/* The hashes of a row. */
static uint32
HashesOf(const ValueCheck *state, uint32 number, const uint64 **hashes)
{
	*hashes = state->hashes + state->first[number];
	return (uint32) (state->first[number + 1] - state->first[number]);
}

/* ---- the slices of one segment ---- */

/* The bits that places must have, sorted by slice: those of slice s are places[first[s] .. first[s + 1] - 1]. */
typedef struct NeededBits
{
	uint32	   *first;
	uint32	   *places;
} NeededBits;

static NeededBits
SortNeededBits(const ValueCheck *state, const BloomxKeys *keys, const BloomxSegment *segment, const BloomxPlace *places, Size n)
{
	blx_partitioned shape = {.parts = keys->parts, .width = segment->slices / keys->parts};
	NeededBits	bits = {.first = MemoryContextAllocExtended(CurrentMemoryContext, (segment->slices + 2) * sizeof(uint32), MCXT_ALLOC_ZERO)};
	uint32		slices[BLX_MAX_K];
	const uint64 *hashes;
	Size		total = 0;

	for (Size i = 0; i < n; i++)
		total += HashesOf(state, places[i].of, &hashes) * keys->parts;
	bits.places = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, total) * sizeof(uint32));
	/* counted one slot too far, the counts become starting points that the second round moves to their places */
	for (int round = 0; round < 2; round++)
	{
		for (Size i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 key = 0; key < HashesOf(state, places[i].of, &hashes); key++)
			{
				blx_partitioned_slices(&shape, hashes[key], slices);
				for (uint32 part = 0; part < keys->parts; part++)
					if (round == 0)
						bits.first[slices[part] + 2]++;
					else
						bits.places[bits.first[slices[part] + 1]++] = (uint32) i;
			}
		}
		for (uint32 slice = 0; round == 0 && slice < segment->slices; slice++)
			bits.first[slice + 2] += bits.first[slice + 1];
	}
	return bits;
}

static void
CheckSegment(BloomxCheck *check, const BloomxSegment *segment, BloomxPlace *places, Size n)
{
	NeededBits	bits = SortNeededBits(check->state, &check->directory->meta.keys, segment, places, n);

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
			BloomxPlace *place = &places[bits.places[i]];

			place->lacks |= !(words[place->row / 64] >> place->row % 64 & 1);
		}
		UnlockReleaseBuffer(buffer);
	}
	pfree(bits.first);
	pfree(bits.places);
}

/* ---- rows ---- */

/* Both are sorted. */
static bool
PendingLacks(BloomxCheck *check, uint32 number, const uint64 *row, uint32 n)
{
	const uint64 *hashes;
	uint32		of_row = HashesOf(check->state, number, &hashes),
				found = 0;

	for (uint32 i = 1; i < n && found < of_row; i++)
		found += row[i] == hashes[found];
	return found < of_row && BloomxHeadOf(row).hashes != ANY_HASHES;
}

static bool
KeepRow(BloomxCheck *check, uint32 number, const Datum *values, const bool *isnull)
{
	ValueCheck *state = check->state;
	const KeyHashes *hashes = BloomxSortedHashesOfRow(state->columns, values, isnull);
	uint32		n = hashes->n < ANY_HASHES ? hashes->n : 0;	/* of too many keys only the place is checked */

	if (number == 0)
		state->nhashes = 0;
	state->first[number] = state->nhashes;
	memcpy(state->hashes + state->nhashes, hashes->hash, n * sizeof(uint64));
	state->nhashes += n;
	state->first[number + 1] = state->nhashes;
	check->is_full = state->nhashes + ANY_HASHES > check->most_rows;
	return true;
}

/* The hashes of a batch, at most as many as rows, take a tenth of the memory; their bits take as much for each part. */
void
BloomxCheckValues(BloomxCheck *check)
{
	ValueCheck *state = palloc0(sizeof(ValueCheck));

	check->most_rows = (uint32) Max(2 * ANY_HASHES, Min(maintenance_work_mem * (Size) 1024 / 10 / sizeof(uint64), PG_UINT32_MAX / BLX_MAX_K));
	state->columns = BloomxOpenColumns(check->index);
	state->hashes = MemoryContextAllocHuge(CurrentMemoryContext, check->most_rows * sizeof(uint64));
	state->first = MemoryContextAllocHuge(CurrentMemoryContext, (check->most_rows + 1) * sizeof(Size));
	check->keep_row = KeepRow;
	check->check_segment = CheckSegment;
	check->pending_lacks = PendingLacks;
	check->state = state;
}
