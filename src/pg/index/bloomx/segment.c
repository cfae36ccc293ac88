/*
 * segment.c - writing and reading a segment.
 *
 * A slice of n rows is n / 64 words, rounded up; as many slices as fit share a
 * page.  Signatures are transposed one word, that is 64 slices, at a time: the
 * rows' words are collected from the sources, those of a segment by
 * transposing its slices back, so that a merge needs memory for a fraction of
 * the signatures only.  Any part of a segment's pages can be written by itself.
 *
 * Every page says the segment's stamp and number of rows.
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

bool
LockSegmentPage(Relation index, const Segment *segment, BlockNumber block, int mode, Buffer *buffer)
{
	Page		page;

	*buffer = ReadBuffer(index, block);
	LockBuffer(*buffer, mode);
	page = BufferGetPage(*buffer);
	if (PageIs(page, SEGMENT_PAGE, segment->stamp) && GetPageTail(page)->extra == segment->rows)
		return true;
	UnlockReleaseBuffer(*buffer);
	return false;
}

const ItemPointerData *
LockTids(Relation index, const Segment *segment, uint32 page, Snapshot snapshot, Buffer *buffer)
{
	if (!LockSegmentPage(index, segment, segment->start + page, BUFFER_LOCK_SHARE, buffer))
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
	if (!LockSegmentPage(index, segment, SliceBlock(segment, slice), BUFFER_LOCK_SHARE, buffer))
		return NULL;
	return (const uint64 *) PageGetContents(BufferGetPage(*buffer)) +
		slice % SlicesPerPage(segment->rows) * SliceWords(segment->rows);
}

/* ---- writing pages ---- */

typedef struct PageWriter
{
	Relation	index;
	const Segment *segment;
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
	buffer = ReadBufferExtended(writer->index, MAIN_FORKNUM, writer->next++, RBM_ZERO_AND_LOCK, NULL);
	writer->buffers[writer->pages++] = buffer;
	page = GenericXLogRegisterBuffer(writer->state, buffer, GENERIC_XLOG_FULL_IMAGE);
	InitPage(page, SEGMENT_PAGE, writer->segment->stamp);
	GetPageTail(page)->extra = writer->segment->rows;
	return PageGetContents(page);
}

/* Pages from .. to-1 of TIDs. */
static void
WriteTids(PageWriter *writer, const ItemPointerData *tids, uint32 rows, uint32 from, uint32 to)
{
	for (uint32 page = from; page < to; page++)
		memcpy(NextPage(writer), tids + page * PAGE_TIDS, Min(PAGE_TIDS, rows - page * PAGE_TIDS) * sizeof(ItemPointerData));
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

	CHECK_FOR_INTERRUPTS();
	if (source->segment != NULL)
		ReadColumn(index, source->segment, number, slices, scratch);
	for (uint32 row = 0; row < source->rows; row++)
		if (ItemPointerIsValid(&source->tids[row]))
			column[live++] = source->segment != NULL ? scratch[row] : source->signatures[(Size) row * source->stride + number - source->first];
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

/* Pages from .. to-1 of slices. */
static void
WriteSlices(PageWriter *writer, const blx_geometry *geometry, const RowSource *sources, int n, uint32 from, uint32 to)
{
	uint64	   *slices = palloc(SLICES_BYTES),
			   *scratch = palloc(COLUMN_BYTES),
			   *column = palloc(COLUMN_BYTES);
	uint32		rows = writer->segment->rows,
				words = SliceWords(rows),
				per_page = SlicesPerPage(rows),
				slice = from * per_page,
				end = (uint32) Min(to * (uint64) per_page, blx_bits(geometry));
	char	   *page = NULL;

	for (uint32 number = slice / 64; slice < end; number++)
	{
		uint32		collected = 0;

		for (int i = 0; i < n; i++)
			collected += CollectColumn(writer->index, &sources[i], number, slices, scratch, column + collected);
		if (collected != rows)
			ReportCorruption(writer->index, "a segment in the making has other rows than it had");
		TransposeColumn(column, rows, slices);
		for (; slice < end && slice / 64 == number; slice++)
		{
			if (slice % per_page == 0)
				page = NextPage(writer);
			memcpy(page + slice % per_page * words * sizeof(uint64), slices + slice % 64 * words, words * sizeof(uint64));
		}
	}
	pfree(slices);
	pfree(scratch);
	pfree(column);
}

/* ---- the whole ---- */

uint32
CountLive(const RowSource *sources, int n)
{
	uint32		live = 0;

	for (int i = 0; i < n; i++)
		for (uint32 row = 0; row < sources[i].rows; row++)
			live += ItemPointerIsValid(&sources[i].tids[row]);
	return live;
}

/* The TIDs of the live rows, which are as many as the segment has. */
static ItemPointerData *
CollectTids(const RowSource *sources, int n, uint32 rows)
{
	ItemPointerData *tids = palloc(Max(1, rows) * sizeof(ItemPointerData));

	rows = 0;
	for (int i = 0; i < n; i++)
		for (uint32 row = 0; row < sources[i].rows; row++)
			if (ItemPointerIsValid(&sources[i].tids[row]))
				tids[rows++] = sources[i].tids[row];
	return tids;
}

void
ColumnsOfPages(const blx_geometry *geometry, uint32 rows, uint32 from, uint32 to, uint32 *first, uint32 *end)
{
	uint32		tids = TidPages(rows),
				per_page = SlicesPerPage(rows);

	*first = (Max(from, tids) - tids) * per_page / 64;
	*end = (uint32) Min(((Max(to, tids) - tids) * (uint64) per_page + 63) / 64, blx_body_words(geometry));
}

void
WritePages(Relation index, const blx_geometry *geometry, const RowSource *sources, int n,
		   const Segment *segment, uint32 from, uint32 to)
{
	PageWriter	writer = {.index = index, .segment = segment, .next = segment->start + from};
	uint32		tid_pages = TidPages(segment->rows);

	if (CountLive(sources, n) != segment->rows)
		ReportCorruption(index, "a segment in the making has other rows than it had");
	if (from < tid_pages)
	{
		ItemPointerData *tids = CollectTids(sources, n, segment->rows);

		WriteTids(&writer, tids, segment->rows, from, Min(to, tid_pages));
		pfree(tids);
	}
	if (to > tid_pages)
		WriteSlices(&writer, geometry, sources, n, Max(from, tid_pages) - tid_pages, to - tid_pages);
	FlushPages(&writer);
}
