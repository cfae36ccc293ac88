/*
 * build_filters.c - CREATE INDEX and INSERT on a column of filters: rows become
 * signatures.
 *
 * The index's geometry is chosen from the first filters, unless an option or the
 * column's type sets it, and stays until REINDEX.  If the table is empty, the
 * first rows that are inserted decide (flush.c).  CREATE INDEX collects
 * rows in memory and writes a segment whenever its memory or a segment is full.
 */
#include "pg/base/base.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/functions/functions.h"
#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/format/options.h"
#include "pg/value/value.h"

/*
 * The filters from which CREATE INDEX chooses the geometry.  As a rule 99 in 100
 * of them do not exceed it (geometry.c), so a tenth of this number would leave the
 * choice to the second largest filter.  They wait in memory.
 */
#define SAMPLE_FILTERS 1000

typedef struct FilterBuilder
{
	BloomxBuilder builder;
	BloomxOptions options;
	Size		most_bytes;		/* of signatures, and half of filters, that wait */
	BloomxKeys	keys;			/* geometry and key type so far */

	/* filters that wait for the geometry to be chosen */
	BloomxGeometrySample sample;
	blx_filter *filters[SAMPLE_FILTERS];
	Size		sample_bytes;

	/* rows that wait to be written; at first the TIDs are those of the waiting filters */
	ItemPointerData *tids;
	uint64	   *signatures;
	uint32		rows;
	uint32		max_rows;
	uint32		stride;

	MemoryContext memory;		/* of the builder */
	MemoryContext segment_memory;	/* reset after every segment */
} FilterBuilder;

static void
FlushRows(FilterBuilder *state)
{
	blx_geometry geometry = BloomxGeometryOf(&state->keys);
	BloomxRowSource source = {.tids = state->tids, .rows = state->rows, .signatures = state->signatures, .stride = state->stride, .tuples = state->rows};
	MemoryContext old = MemoryContextSwitchTo(state->segment_memory);

	BloomxAddSegment(&state->builder, (uint32) blx_bits(&geometry), &source);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->segment_memory);
	state->rows = 0;
}

static void
AddRow(FilterBuilder *state, const ItemPointerData *tid, const blx_filter *f)
{
	blx_geometry geometry = BloomxGeometryOf(&state->keys);

	BloomxMakeSignature(state->signatures + (Size) state->rows * state->stride, &geometry, f, BloomxJoinKeyType(&state->keys, f));
	state->tids[state->rows++] = *tid;
	if (state->rows == state->max_rows)
		FlushRows(state);
}

/*
 * The geometry without a filter to look at: that of the type, if the column is
 * declared as bloomfilter(capacity, fpr).  0 parts: the filters have to say.
 */
static void
ChooseByType(Relation index, const BloomxOptions *options, BloomxKeys *keys)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), 0);
	int32		typmod = column->atttypmod;
	FilterType	type;
	BloomxGeometrySample sample = {0};

	(void) getBaseTypeAndTypmod(column->atttypid, &typmod);	/* that of a domain */
	if (LookupFilterType(typmod, &type) && type.geometry.layout == BLX_PARTITIONED_BLOCKED)
	{
		blx_geometry geometry;

		sample.planned = true;
		BloomxAddToSample(&sample, &type.geometry);
		geometry = BloomxChooseGeometry(options->signature_bits, options->hash_functions, &sample);
		BloomxSetGeometry(keys, &geometry);
	}
}

/* Chooses the geometry, unless an option has set it, and makes room for rows of it. */
static void
StartRows(FilterBuilder *state)
{
	uint32		waiting = state->rows;
	blx_geometry geometry;

	if (state->keys.parts == 0)
	{
		geometry = BloomxChooseGeometry(state->options.signature_bits, state->options.hash_functions, &state->sample);
		BloomxSetGeometry(&state->keys, &geometry);
	}
	/* the metapage must have it before the first segment is added */
	BloomxWriteKeys(state->builder.index, &state->keys);
	geometry = BloomxGeometryOf(&state->keys);
	state->stride = (uint32) blx_body_words(&geometry);
	state->max_rows = (uint32) Min(MAX_SEGMENT_ROWS, Max(64, state->most_bytes / (8 * state->stride)));
	state->signatures = MemoryContextAllocHuge(CurrentMemoryContext, 8 * (Size) state->stride * state->max_rows);

	/* the rows that waited: row i is written to place i or an earlier one, so it overwrites no TID that waits */
	state->rows = 0;
	for (uint32 i = 0; i < waiting; i++)
	{
		AddRow(state, &state->tids[i], state->filters[i]);
		pfree(state->filters[i]);
	}
}

static void
HoldFilter(FilterBuilder *state, const ItemPointerData *tid, const blx_filter *f)
{
	BloomxSampleGeometry(&state->sample, f);
	state->sample_bytes += blx_size(f);
	state->filters[state->rows] = CopyFilter(f);
	state->tids[state->rows++] = *tid;
	if (state->rows == SAMPLE_FILTERS || state->sample_bytes > state->most_bytes / 2)
		StartRows(state);
}

/* In the memory of one row. */
static void
BuildFilter(BloomxBuilder *builder, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	FilterBuilder *state = (FilterBuilder *) builder;
	blx_filter *f;

	if (isnull[0])
		return;
	f = DatumGetFilter(values[0]);
	if (state->signatures != NULL)
		AddRow(state, tid, f);
	else
	{
		MemoryContext old = MemoryContextSwitchTo(state->memory);

		HoldFilter(state, tid, f);
		MemoryContextSwitchTo(old);
	}
	builder->indexed++;
}

static void
FinishFilters(BloomxBuilder *builder)
{
	FilterBuilder *state = (FilterBuilder *) builder;

	/* a small table: its filters still wait */
	if (state->signatures == NULL && state->rows > 0)
		StartRows(state);
	if (state->rows > 0)
		FlushRows(state);
	BloomxWriteKeys(builder->index, &state->keys);	/* the last rows may have brought the key type */
	if (state->signatures != NULL)
		pfree(state->signatures);
}

BloomxBuilder *
BloomxStartFilters(Relation index, const BloomxShare *share)
{
	FilterBuilder *state = palloc0(sizeof(FilterBuilder));

	state->builder = (BloomxBuilder) {.index = index, .add_row = BuildFilter, .finish = FinishFilters};
	state->options = BloomxGetOptions(index);
	state->most_bytes = share->memory;
	state->keys = BloomxReadDirectory(index, NULL)->meta.keys;
	state->tids = palloc(MAX_SEGMENT_ROWS * sizeof(ItemPointerData));
	state->memory = CurrentMemoryContext;
	state->segment_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx build segment", ALLOCSET_DEFAULT_SIZES);
	if (state->keys.parts == 0)
		ChooseByType(index, &state->options, &state->keys);
	if (state->keys.parts > 0)	/* set by an option or the type: no filters need wait */
		StartRows(state);
	return &state->builder;
}

/* ---- INSERT ---- */

static void
ReadKeys(Relation index, BloomxKeys *keys)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*keys = BloomxGetMeta(index, BufferGetPage(buffer))->keys;
	UnlockReleaseBuffer(buffer);
}

/*
 * True if f's keys are of the index's type.  *keys is what is known of the index: what is
 * chosen there stays until REINDEX, and the rest is read again.
 */
static bool
JoinKeys(Relation index, const blx_filter *f, BloomxKeys *keys)
{
	if (keys->parts == 0 || keys->key_type == BLX_KEY_NONE)
		ReadKeys(index, keys);
	if (keys->key_type == BLX_KEY_NONE && blx_identity_of(f).key_type != BLX_KEY_NONE)
	{
		BloomxMetaChange change;
		BloomxMeta *meta = BloomxStartMetaChange(&change, index);

		(void) BloomxJoinKeyType(&meta->keys, f);
		*keys = meta->keys;
		BloomxFinishMetaChange(&change);
	}
	return BloomxJoinKeyType(keys, f);
}

/*
 * The geometry of a row's signature: the index's, or the filter's own before that is
 * chosen, folded if it is too large.  0 parts: the row may hold any key.
 */
static blx_geometry
GeometryOfRow(const blx_filter *f, const BloomxKeys *keys, bool comparable)
{
	blx_geometry own;
	uint32		log2_blocks;

	if (!comparable || !blx_signature_geometry(f, &own))
		return BloomxMakeGeometry(0, 0);
	if (keys->parts > 0)
		return BloomxGeometryOf(keys);
	log2_blocks = pg_leftmost_one_pos32(own.blocks);
	while ((64 * (uint64) own.parts) << log2_blocks > MAX_SIGNATURE_BITS)
		log2_blocks--;
	return BloomxMakeGeometry(log2_blocks, own.parts);
}

/*
 * Makes a filter a pending row; returns the step of a merge that is due then, or
 * 0.  The signature is made without a lock, because a large filter takes its time.
 */
uint32
BloomxInsertFilter(Relation index, BloomxTarget *target, Datum filter, ItemPointer tid, BloomxKeys *keys)
{
	const blx_filter *f = DatumGetFilter(filter);
	blx_geometry geometry = GeometryOfRow(f, keys, JoinKeys(index, f, keys));
	uint32		n = 1 + (uint32) blx_body_words(&geometry);
	uint64	   *row = palloc(n * sizeof(uint64));
	BloomxRowHead head = {.tid = *tid, .log2_blocks = pg_leftmost_one_pos32(geometry.blocks), .parts = geometry.parts};

	memcpy(row, &head, sizeof head);
	if (geometry.parts > 0)
		BloomxMakeSignature(row + 1, &geometry, f, true);
	return BloomxAppendRow(index, target, row, n);
}
