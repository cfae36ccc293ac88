/*
 * segment.c - writing and reading a segment.
 *
 * A slice of n rows is n / 64 words, rounded up; as many slices as fit share a
 * page.  Signatures are transposed one word, that is 64 slices, at a time: the
 * rows' words are collected from the sources, those of a segment by
 * transposing its slices back, so that a merge needs memory for a fraction of
 * the signatures only.
 */
#include "pg/index/bloomx/index.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

static inline uint32
SlicesPerPage(uint32 rows)
{
	return PAGE_WORDS / SliceWords(rows);
}

uint32
SegmentPages(const blx_geometry *geometry, uint32 rows)
{
	uint32		per_page = SlicesPerPage(rows);

	return TidPages(rows) + ((uint32) blx_bits(geometry) + per_page - 1) / per_page;
}

/* ---- reading ---- */

static bool
LockSegmentPage(Relation index, BlockNumber block, uint64 stamp, Buffer *buffer)
{
	*buffer = ReadBuffer(index, block);
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	if (PageIs(BufferGetPage(*buffer), SEGMENT_PAGE, stamp))
		return true;
	UnlockReleaseBuffer(*buffer);
	return false;
}

const ItemPointerData *
LockTids(Relation index, const Segment *segment, uint32 page, Snapshot snapshot, Buffer *buffer)
{
	if (!LockSegmentPage(index, segment->start + page, segment->stamp, buffer))
		return NULL;
	CheckForOldSnapshot(snapshot, index, BufferGetPage(*buffer));
	return (const ItemPointerData *) PageGetContents(BufferGetPage(*buffer));
}

ItemPointerData *
ReadAllTids(Relation index, const Segment *segment)
{
	ItemPointerData *tids = palloc(TidPages(segment->rows) * PAGE_TIDS * sizeof(ItemPointerData));

	for (uint32 page = 0; page < TidPages(segment->rows); page++)
	{
		Buffer		buffer;
		const ItemPointerData *of_page = LockTids(index, segment, page, NULL, &buffer);

		if (of_page == NULL)
			ReportCorruption(index, "a page of row addresses is something else");
		memcpy(tids + page * PAGE_TIDS, of_page, PAGE_TIDS * sizeof(ItemPointerData));
		UnlockReleaseBuffer(buffer);
	}
	return tids;
}

BlockNumber
SliceBlock(const Segment *segment, uint32 slice)
{
	return segment->start + TidPages(segment->rows) + slice / SlicesPerPage(segment->rows);
}

const uint64 *
LockSlice(Relation index, const Segment *segment, uint32 slice, Buffer *buffer)
{
	if (!LockSegmentPage(index, SliceBlock(segment, slice), segment->stamp, buffer))
		return NULL;
	return (const uint64 *) PageGetContents(BufferGetPage(*buffer)) +
		slice % SlicesPerPage(segment->rows) * SliceWords(segment->rows);
}

/* ---- writing pages ---- */

typedef struct PageWriter
{
	Relation	index;
	uint64		stamp;
	BlockNumber next;
	GenericXLogState *state;
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	int			pages;			/* in this WAL record */
} PageWriter;

static void
FlushPages(PageWriter *writer)
{
	if (writer->pages == 0)
		return;
	GenericXLogFinish(writer->state);
	while (writer->pages > 0)
		UnlockReleaseBuffer(writer->buffers[--writer->pages]);
}

/* The data of the next page, all zeros. */
static char *
NextPage(PageWriter *writer)
{
	Buffer		buffer;
	Page		page;

	if (writer->pages == MAX_GENERIC_XLOG_PAGES)
		FlushPages(writer);
	if (writer->pages == 0)
	{
		CHECK_FOR_INTERRUPTS();
		writer->state = GenericXLogStart(writer->index);
	}
	buffer = ReadBuffer(writer->index, writer->next++);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	writer->buffers[writer->pages++] = buffer;
	page = GenericXLogRegisterBuffer(writer->state, buffer, GENERIC_XLOG_FULL_IMAGE);
	InitPage(page, SEGMENT_PAGE, writer->stamp);
	return PageGetContents(page);
}

static void
WriteTids(PageWriter *writer, const ItemPointerData *tids, uint32 rows)
{
	for (uint32 row = 0; row < rows; row += PAGE_TIDS)
		memcpy(NextPage(writer), tids + row, Min(PAGE_TIDS, rows - row) * sizeof(ItemPointerData));
}

/* ---- collecting and transposing ---- */

void
ReadColumn(Relation index, const Segment *segment, uint32 number, uint64 *slices, uint64 *column)
{
	uint32		words = SliceWords(segment->rows);

	for (uint32 i = 0; i < 64; i++)
	{
		Buffer		buffer;
		const uint64 *slice = LockSlice(index, segment, 64 * number + i, &buffer);

		if (slice == NULL)
			ReportCorruption(index, "a page of bits is something else");
		memcpy(slices + i * words, slice, words * sizeof(uint64));
		UnlockReleaseBuffer(buffer);
	}
	for (uint32 word = 0; word < words; word++)
	{
		for (uint32 i = 0; i < 64; i++)
			column[64 * word + i] = slices[i * words + word];
		blx_transpose(column + 64 * word);
	}
}

/* Word `number` of the live rows' signatures, to `column`; returns how many. */
static uint32
CollectColumn(Relation index, const RowSource *source, uint32 number, uint64 *slices, uint64 *scratch, uint64 *column)
{
	uint32		live = 0;

	if (source->segment != NULL)
		ReadColumn(index, source->segment, number, slices, scratch);
	for (uint32 row = 0; row < source->rows; row++)
		if (ItemPointerIsValid(&source->tids[row]))
			column[live++] = source->segment != NULL ? scratch[row] : source->signatures[(Size) row * source->stride + number];
	return live;
}

/* The rows' words become 64 slices; what follows the last row is 0. */
static void
TransposeColumn(uint64 *column, uint32 rows, uint64 *slices)
{
	uint32		words = SliceWords(rows);

	memset(column + rows, 0, (64 * words - rows) * sizeof(uint64));
	for (uint32 word = 0; word < words; word++)
	{
		blx_transpose(column + 64 * word);
		for (uint32 i = 0; i < 64; i++)
			slices[i * words + word] = column[64 * word + i];
	}
}

static void
WriteSlices(PageWriter *writer, const blx_geometry *geometry, const RowSource *sources, int n, uint32 rows)
{
	uint64	   *slices = palloc(SLICES_BYTES),
			   *scratch = palloc(COLUMN_BYTES),
			   *column = palloc(COLUMN_BYTES);
	uint32		words = SliceWords(rows),
				per_page = SlicesPerPage(rows),
				slice = 0;
	char	   *page = NULL;

	for (uint32 number = 0; number < blx_body_words(geometry); number++)
	{
		uint32		collected = 0;

		for (int i = 0; i < n; i++)
			collected += CollectColumn(writer->index, &sources[i], number, slices, scratch, column + collected);
		TransposeColumn(column, rows, slices);
		for (uint32 i = 0; i < 64; i++, slice++)
		{
			if (slice % per_page == 0)
				page = NextPage(writer);
			memcpy(page + slice % per_page * words * sizeof(uint64), slices + i * words, words * sizeof(uint64));
		}
	}
	pfree(slices);
	pfree(scratch);
	pfree(column);
}

/* ---- the whole ---- */

/* The TIDs of the live rows. */
static ItemPointerData *
CollectTids(const RowSource *sources, int n, uint32 *rows)
{
	ItemPointerData *tids;
	uint32		total = 0;

	for (int i = 0; i < n; i++)
		total += sources[i].rows;
	tids = palloc(Max(1, total) * sizeof(ItemPointerData));
	*rows = 0;
	for (int i = 0; i < n; i++)
		for (uint32 row = 0; row < sources[i].rows; row++)
			if (ItemPointerIsValid(&sources[i].tids[row]))
				tids[(*rows)++] = sources[i].tids[row];
	return tids;
}

/* A stamp, and pages that are in use from now on, though nobody refers to them yet. */
static Segment
ReservePages(Relation index, const blx_geometry *geometry, uint32 rows)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state;
	Segment		segment = {.rows = rows};
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	segment.stamp = meta->next_stamp++;
	segment.start = TakeFreePages(meta, SegmentPages(geometry, rows));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	if (segment.start == InvalidBlockNumber)
		segment.start = ExtendIndex(index, SegmentPages(geometry, rows));
	return segment;
}

Segment
WriteSegment(Relation index, const blx_geometry *geometry, const RowSource *sources, int n)
{
	PageWriter	writer = {.index = index};
	Segment		segment = {0};
	uint32		rows;
	ItemPointerData *tids = CollectTids(sources, n, &rows);

	if (rows > 0)
	{
		segment = ReservePages(index, geometry, rows);
		writer.stamp = segment.stamp;
		writer.next = segment.start;
		WriteTids(&writer, tids, rows);
		WriteSlices(&writer, geometry, sources, n, rows);
		FlushPages(&writer);
	}
	pfree(tids);
	return segment;
}
