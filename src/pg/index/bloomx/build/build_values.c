/*
 * build_values.c - CREATE INDEX and INSERT on columns of values: rows become hashes of
 * keys, and these become entries (entries.c).
 *
 * The number of parts of a signature, and so the rate of false positives, is
 * chosen when the first segment is made, and stays until REINDEX.
 */
#include "pg/base/base.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/directory/snapshot.h"

typedef struct ValueBuilder
{
	BloomxBuilder builder;
	BloomxKeys	keys;
	BloomxColumns *columns;
	BloomxEntries *entries;
	MemoryContext memory;		/* of the entries */
	MemoryContext segment_memory;	/* reset after every segment */
} ValueBuilder;

static void
WriteSegment(void *arg, uint32 slices, const BloomxRowSource *source)
{
	ValueBuilder *state = arg;
	MemoryContext old = MemoryContextSwitchTo(state->segment_memory);

	/* the metapage must say how signatures are before there is one */
	BloomxWriteKeys(state->builder.index, &state->keys);
	BloomxAddSegment(&state->builder, slices, source);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->segment_memory);
	pfree((void *) source->tids);
	if (source->signatures != NULL)
		pfree((void *) source->signatures);
}

static void
BuildRow(BloomxBuilder *builder, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	ValueBuilder *state = (ValueBuilder *) builder;
	const KeyHashes *hashes = values == NULL ? NULL : BloomxHashesOfRow(state->columns, values, isnull);
	MemoryContext old = MemoryContextSwitchTo(state->memory);

	BloomxAddToEntries(state->entries, tid, hashes == NULL ? NULL : hashes->hash, hashes == NULL ? 0 : hashes->n);
	MemoryContextSwitchTo(old);
	builder->indexed++;
}

static void
Finish(BloomxBuilder *builder)
{
	ValueBuilder *state = (ValueBuilder *) builder;

	BloomxFinishEntries(state->entries);
	MemoryContextDelete(state->memory);
}

void
BloomxHandOverValues(BloomxBuilder *builder)
{
	ValueBuilder *state = (ValueBuilder *) builder;
	MemoryContext old = MemoryContextSwitchTo(state->memory);

	BloomxHandOverEntries(state->entries);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(state->memory);
}

void
BloomxTakeOverValues(BloomxBuilder *builder, BufFile *file)
{
	ValueBuilder *state = (ValueBuilder *) builder;
	MemoryContext old = MemoryContextSwitchTo(state->memory);

	BloomxTakeOverEntries(state->entries, file, maintenance_work_mem * (Size) 1024);
	MemoryContextSwitchTo(old);
}

BloomxBuilder *
BloomxStartValues(Relation index, const BloomxShare *share)
{
	ValueBuilder *state = palloc0(sizeof(ValueBuilder));
	MemoryContext old;

	state->builder = (BloomxBuilder) {.index = index, .add_row = BuildRow, .finish = Finish};
	state->keys = BloomxReadDirectory(index, NULL)->meta.keys;
	state->columns = BloomxOpenColumns(index);
	/* of an empty table the number of blocks tells nothing: the first pending rows decide */
	if (state->keys.parts == 0)
		state->keys.parts = BloomxChooseParts(index, state->columns, share->blocks);
	state->memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build entries", ALLOCSET_DEFAULT_SIZES);
	state->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build segment", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(state->memory);
	state->entries = BloomxStartEntries(index, &state->keys, share, WriteSegment, state);
	MemoryContextSwitchTo(old);
	return &state->builder;
}

/* Appends a row to the list of pending rows; returns the step of a merge that is due then, or 0. */
uint32
BloomxInsertValues(Relation index, BloomxTarget *target, BloomxColumns *columns, const Datum *values, const bool *isnull, ItemPointer tid)
{
	const KeyHashes *hashes = BloomxSortedHashesOfRow(columns, values, isnull);
	uint32		n = hashes->n < ANY_HASHES ? hashes->n : 0;
	BloomxRowHead head = {.tid = *tid, .hashes = (uint16) Min(hashes->n, ANY_HASHES)};
	uint64	   *row = palloc((1 + n) * sizeof(uint64));

	memcpy(row, &head, sizeof head);
	memcpy(row + 1, hashes->hash, n * sizeof(uint64));
	return BloomxAppendRow(index, target, row, 1 + n);
}
