/*
 * segment.c - writes and reads a segment.
 *
 * A slice of n rows takes n / 64 words, rounded up; as many slices as fit share a
 * page.  A slice of a merge consists of the slices of its sources.  Those of
 * segments without dead rows are appended to each other, bit by bit, as they are.
 * Other signatures are transposed one word at a time, that is, 64 slices.  The word
 * is collected from all live rows; if the source is a segment, its slices are
 * transposed back.  So a merge needs memory for a fraction of the signatures only,
 * and any range of a segment's pages can be written by itself.
 *
 * Every page carries the segment's generation and number of rows.
 */
#include "pg/index/bloomx/segment/segment.h"

#include "miscadmin.h"

#include "pg/index/pages/wal.h"

/* ---- reading ---- */

const ItemPointerData *
BloomxLockTids(Relation index, const BloomxSegment *segment, uint32 page, Snapshot snapshot, bool may_be_gone, Buffer *buffer)
{
	*buffer = BloomxReadPage(index, segment->start + page, SEGMENT_PAGE, segment->generation, BUFFER_LOCK_SHARE, may_be_gone);
	if (!BufferIsValid(*buffer))
		return NULL;
	CheckForOldSnapshot(snapshot, index, BufferGetPage(*buffer));
	return (const ItemPointerData *) PageGetContents(BufferGetPage(*buffer));
}

ItemPointerData *
BloomxReadAllTids(Relation index, const BloomxSegment *segment)
{
	ItemPointerData *tids = palloc(BloomxTidPages(segment->rows) * PAGE_TIDS * sizeof(ItemPointerData));

	for (uint32 page = 0; page < BloomxTidPages(segment->rows); page++)
	{
		Buffer		buffer;

		memcpy(tids + page * PAGE_TIDS, BloomxLockTids(index, segment, page, NULL, false, &buffer), PAGE_TIDS * sizeof(ItemPointerData));
		UnlockReleaseBuffer(buffer);
	}
	return tids;
}

BlockNumber
BloomxSliceBlock(const BloomxSegment *segment, uint32 slice)
{
	return segment->start + BloomxTidPages(segment->rows) + slice / BloomxSlicesPerPage(segment->rows);
}

const uint64 *
BloomxLockSlice(Relation index, const BloomxSegment *segment, uint32 slice, bool may_be_gone, Buffer *buffer)
{
	*buffer = BloomxReadPage(index, BloomxSliceBlock(segment, slice), SEGMENT_PAGE, segment->generation, BUFFER_LOCK_SHARE, may_be_gone);
	if (!BufferIsValid(*buffer))
		return NULL;
	return (const uint64 *) PageGetContents(BufferGetPage(*buffer)) +
		slice % BloomxSlicesPerPage(segment->rows) * BloomxSliceWords(segment->rows);
}

/* ---- writing pages ---- */

/* Pages are made in memory, as many as one WAL record takes: no page of the index is locked while others are read. */
typedef struct BloomxPageWriter
{
	Relation	index;
	const BloomxSegment *segment;
	BlockNumber next;			/* the first of those in memory */
	int			pages;			/* in memory */
	PGAlignedBlock images[MAX_GENERIC_XLOG_PAGES];
} BloomxPageWriter;

static void
FlushPages(BloomxPageWriter *writer)
{
	CHECK_FOR_INTERRUPTS();
	if (writer->pages > 0)
		BloomxWriteImages(writer->index, writer->next, writer->images, writer->pages);
	writer->next += writer->pages;
	writer->pages = 0;
}

/* The contents of the next page, all zeros. */
static char *
NextPage(BloomxPageWriter *writer)
{
	Page		page;

	if (writer->pages == MAX_GENERIC_XLOG_PAGES)
		FlushPages(writer);
	page = writer->images[writer->pages++].data;
	BloomxInitPage(page, SEGMENT_PAGE, writer->segment->generation);
	BloomxGetPageOpaque(page)->extra = writer->segment->rows;
	return PageGetContents(page);
}

/* ---- collecting and transposing ---- */

/* Locks the page of a slice; *on_page of n slices, from that one on, are there, one after the other. */
static const uint64 *
LockSlices(Relation index, const BloomxSegment *segment, uint32 slice, uint32 n, uint32 *on_page, Buffer *buffer)
{
	uint32		per_page = BloomxSlicesPerPage(segment->rows);

	*on_page = Min(n, per_page - slice % per_page);
	return BloomxLockSlice(index, segment, slice, false, buffer);
}

void
BloomxReadColumn(Relation index, const BloomxSegment *segment, uint32 number, uint64 *slices, uint64 *column)
{
	uint32		words = BloomxSliceWords(segment->rows),
				n = Min(64, segment->slices - 64 * number);

	/* copy the 64 slices, so that no page is locked for long */
	memset(slices + n * words, 0, (64 - n) * words * sizeof(uint64));
	for (uint32 i = 0, on_page; i < n; i += on_page)
	{
		Buffer		buffer;
		const uint64 *slice = LockSlices(index, segment, 64 * number + i, n - i, &on_page, &buffer);

		memcpy(slices + i * words, slice, on_page * words * sizeof(uint64));
		UnlockReleaseBuffer(buffer);
	}
	/* transpose them, 64 rows at a time */
	for (uint32 word = 0; word < words; word++)
	{
		for (uint32 i = 0; i < 64; i++)
			column[64 * word + i] = slices[i * words + word];
		blx_transpose(column + 64 * word);
	}
}

/*
 * Columns of the rows that are collected at once.  Signatures in memory are read in
 * the order of their rows, and 8 words are a cache line: with one column at a time
 * each line would come from memory 8 times.
 */
#define COLLECTED_COLUMNS 8

typedef struct Collector
{
	Relation	index;
	const BloomxRowSource *sources;
	int			n;
	int			whole;			/* of these, the first ones, are segments without dead rows */
	uint32		before;			/* rows of those */
	uint32		rows;			/* live rows of the other ones */
	uint64	   *columns;		/* of these rows, one after the other, each of `room` words */
	uint32		room;
	uint32		first;			/* the number of the first one */
	uint32		end;
	/* scratch memory */
	uint64	   *slices;
	uint64	   *scratch;
} Collector;

/* Copies the columns of a source's live rows, after those of `before` rows; returns how many rows there are. */
static uint32
CollectFromMemory(Collector *collector, const BloomxRowSource *source, uint32 before)
{
	uint32		n = collector->end - collector->first,
				live = 0;

	for (uint32 row = 0; row < source->rows; row++)
	{
		const uint64 *signature = source->signatures + (Size) row * source->stride + collector->first;
		uint64	   *to = collector->columns + before + live;

		if (!ItemPointerIsValid(&source->tids[row]))
			continue;
		for (uint32 i = 0; i < n; i++)
			to[i * (Size) collector->room] = signature[i];
		live++;
	}
	return live;
}

static uint32
CollectFromSegment(Collector *collector, const BloomxRowSource *source, uint32 before)
{
	uint32		live = 0;

	for (uint32 number = collector->first; number < collector->end; number++)
	{
		uint64	   *to = collector->columns + (number - collector->first) * (Size) collector->room + before;

		BloomxReadColumn(collector->index, source->segment, number, collector->slices, collector->scratch);
		live = 0;
		for (uint32 row = 0; row < source->rows; row++)
			if (ItemPointerIsValid(&source->tids[row]))
				to[live++] = collector->scratch[row];
	}
	return live;
}

/* Column `number` of all rows that are collected, source after source.  Columns are asked for in ascending order, up to `end`. */
static uint64 *
GetColumn(Collector *collector, uint32 number, uint32 end)
{
	uint32		rows = 0;

	if (number >= collector->end)
	{
		collector->first = number;
		collector->end = Min(number + COLLECTED_COLUMNS, end);
		for (int i = collector->whole; i < collector->n; i++)
		{
			const BloomxRowSource *source = &collector->sources[i];

			CHECK_FOR_INTERRUPTS();
			rows += source->segment != NULL ? CollectFromSegment(collector, source, rows) : CollectFromMemory(collector, source, rows);
		}
		if (rows != collector->rows)
			BloomxReportCorruption(collector->index, META_BLOCK, "A merge has other rows than when it began.");
	}
	return collector->columns + (number - collector->first) * (Size) collector->room;
}

/* Transposes one word of each row into 64 slices; the bits after the last row are 0. */
static void
TransposeColumn(uint64 *column, uint32 rows, uint64 *slices)
{
	uint32		words = BloomxSliceWords(rows);

	memset(column + rows, 0, (64 * words - rows) * sizeof(uint64));
	for (uint32 word = 0; word < words; word++)
	{
		blx_transpose(column + 64 * word);
		for (uint32 i = 0; i < 64; i++)
			slices[i * words + word] = column[64 * word + i];
	}
}

/* Writes a slice of some rows to one of more rows, after those of `before` rows, where all bits are 0. */
static void
AppendSlice(uint64 *to, uint32 before, const uint64 *from, uint32 rows)
{
	uint32		words = BloomxSliceWords(rows),
				shift = before % 64;
	uint64		carry = 0;

	to += before / 64;
	if (shift == 0)
	{
		memcpy(to, from, words * sizeof(uint64));
		return;
	}
	for (uint32 i = 0; i < words; i++)
	{
		to[i] |= from[i] << shift | carry;
		carry = from[i] >> (64 - shift);
	}
	if (shift + rows > 64 * words)
		to[words] |= carry;
}

/* Appends slices 64 * number and the next 63 of a segment, as far as it has them, to those of `before` rows. */
static void
AppendSegment(const Collector *collector, const BloomxSegment *segment, uint32 number, uint32 before, uint64 *slices, uint32 words)
{
	uint32		n = Min(64, segment->slices - 64 * number);

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0, on_page; i < n; i += on_page)
	{
		Buffer		buffer;
		const uint64 *from = LockSlices(collector->index, segment, 64 * number + i, n - i, &on_page, &buffer);

		for (uint32 j = 0; j < on_page; j++)
			AppendSlice(slices + (i + j) * words, before, from + j * BloomxSliceWords(segment->rows), segment->rows);
		UnlockReleaseBuffer(buffer);
	}
}

/* Makes slices 64 * number and the next 63 of all live rows, each of `words` words.  Columns end at `end`. */
static void
MakeSlices(Collector *collector, uint32 number, uint32 end, uint64 *slices, uint32 words)
{
	uint32		before = 0;

	if (collector->before == 0)
	{
		TransposeColumn(GetColumn(collector, number, end), collector->rows, slices);
		return;
	}
	memset(slices, 0, 64 * words * sizeof(uint64));
	for (int i = 0; i < collector->whole; i++)
	{
		AppendSegment(collector, collector->sources[i].segment, number, before, slices, words);
		before += collector->sources[i].rows;
	}
	if (collector->rows == 0)
		return;
	TransposeColumn(GetColumn(collector, number, end), collector->rows, collector->slices);
	for (uint32 i = 0; i < 64; i++)
		AppendSlice(slices + i * words, before, collector->slices + i * BloomxSliceWords(collector->rows), collector->rows);
}

/* Writes pages from .. to - 1 of the slices, which are slices `slice` .. `end` - 1. */
static void
WriteSlices(BloomxPageWriter *writer, Collector *collector, uint32 from, uint32 to)
{
	uint32		rows = writer->segment->rows,
				words = BloomxSliceWords(rows),
				per_page = BloomxSlicesPerPage(rows),
				slice = from * per_page,
				end = (uint32) Min(to * (uint64) per_page, writer->segment->slices);
	uint64	   *slices = palloc(SLICES_BYTES);
	char	   *page = NULL;

	/* a cache line more: columns at distances of whole pages would drive each other out of the cache */
	collector->room = 64 * BloomxSliceWords(collector->rows) + 8;
	collector->columns = palloc(COLLECTED_COLUMNS * collector->room * sizeof(uint64));
	collector->slices = palloc(SLICES_BYTES);
	collector->scratch = palloc(COLUMN_BYTES);
	/* one word of the signatures at a time: `number` of all rows makes slices 64 * number and the next 63 */
	for (uint32 number = slice / 64; slice < end; number++)
	{
		MakeSlices(collector, number, (end + 63) / 64, slices, words);

		/* the slices among them that are asked for; each page begins with a multiple of per_page */
		for (; slice < end && slice / 64 == number; slice++)
		{
			if (slice % per_page == 0)
				page = NextPage(writer);
			memcpy(page + slice % per_page * words * sizeof(uint64), slices + slice % 64 * words, words * sizeof(uint64));
		}
	}
	pfree(collector->columns);
	pfree(collector->slices);
	pfree(collector->scratch);
	pfree(slices);
}

/* ---- the whole ---- */

uint32
BloomxCountLive(const BloomxRowSource *sources, int n)
{
	uint32		live = 0;

	for (int i = 0; i < n; i++)
		for (uint32 row = 0; row < sources[i].rows; row++)
			live += ItemPointerIsValid(&sources[i].tids[row]);
	return live;
}

/* The TIDs of the live rows.  The caller has checked that there are `rows` of them. */
static ItemPointerData *
CollectTids(const BloomxRowSource *sources, int n, uint32 rows)
{
	ItemPointerData *tids = palloc(Max(1, rows) * sizeof(ItemPointerData));

	rows = 0;
	for (int i = 0; i < n; i++)
		for (uint32 row = 0; row < sources[i].rows; row++)
			if (ItemPointerIsValid(&sources[i].tids[row]))
				tids[rows++] = sources[i].tids[row];
	return tids;
}

/*
 * The sources in the order of their rows in the new segment: segments without dead
 * rows from the beginning on, the others from the end.  No row of a source dies
 * during a merge, so each step finds the same order.
 */
static Collector
ArrangeSources(Relation index, const BloomxRowSource *sources, int n)
{
	BloomxRowSource *arranged = palloc(n * sizeof(BloomxRowSource));
	Collector	collector = {.index = index, .sources = arranged, .n = n};
	int			last = n;

	for (int i = 0; i < n; i++)
	{
		uint32		live = BloomxCountLive(&sources[i], 1);

		if (sources[i].segment != NULL && live == sources[i].rows)
		{
			arranged[collector.whole++] = sources[i];
			collector.before += live;
		}
		else
		{
			arranged[--last] = sources[i];
			collector.rows += live;
		}
	}
	return collector;
}

void
BloomxWritePages(Relation index, const BloomxRowSource *sources, int n, const BloomxSegment *segment, uint32 from, uint32 to)
{
	BloomxPageWriter *writer = palloc(sizeof(BloomxPageWriter));
	Collector	collector = ArrangeSources(index, sources, n);
	uint32		tid_pages = BloomxTidPages(segment->rows);

	writer->index = index;
	writer->segment = segment;
	writer->next = segment->start + from;
	writer->pages = 0;

	/* the pages written in earlier steps have been laid out for this number of rows */
	if (collector.before + collector.rows != segment->rows)
		BloomxReportCorruption(index, META_BLOCK, "A merge has other rows than when it began.");
	if (from < tid_pages)
	{
		ItemPointerData *tids = CollectTids(collector.sources, n, segment->rows);

		for (uint32 page = from; page < Min(to, tid_pages); page++)
			memcpy(NextPage(writer), tids + page * PAGE_TIDS, Min(PAGE_TIDS, segment->rows - page * PAGE_TIDS) * sizeof(ItemPointerData));
		pfree(tids);
	}
	if (to > tid_pages)
		WriteSlices(writer, &collector, Max(from, tid_pages) - tid_pages, to - tid_pages);
	FlushPages(writer);
	pfree(writer);
	pfree((void *) collector.sources);
}

void
BloomxCreateSegment(Relation index, BloomxSegment *segment, const BloomxRowSource *source)
{
	uint32		pages = BloomxSegmentPages(segment);
	BloomxMetaChange change;

	segment->generation = BloomxReserve(&change, index, pages, &segment->start)->next_generation++;
	BloomxFinishMetaChange(&change);
	/* until the directory names them, the pages have no owner */
	BloomxWritePages(index, source, 1, segment, 0, pages);
}
