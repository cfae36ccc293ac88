/*
 * merge.c - from pending rows and small segments to larger ones.
 *
 * When the pending rows reach the limit they become a segment.  If there are
 * FAN_OUT - 1 segments no larger than that, these are merged with it, and so
 * on with the next larger ones: a row is written again once for each power of
 * FAN_OUT, and a lookup meets few small segments.
 *
 * That can be gigabytes, so it is done in steps, a few pages at a time: by the
 * inserts that find the list too long, each of which does one step, and by
 * VACUUM.  Pages are set aside for the new segment, and the metapage says what
 * becomes part of it and how many pages are written (struct Merge).  The new
 * segment is complete before one WAL record puts it into the directory and
 * takes out what it replaces.  Rows that were appended meanwhile stay pending.
 *
 * An interrupt, an error or a crash costs what the present step has written.
 */
#include "pg/index/bloomx/index.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#define FAN_OUT 8

/* Fewer rows than this do not become a segment, however large: slices are whole words. */
#define LEAST_ROWS 32

/*
 * What a step of an INSERT writes: half a megabyte, which takes a millisecond
 * or two, and is 64 slices of the longest kind, which are collected together.
 *
 * Not every row pays for a step.  A row is written once as a pending row and
 * some five times in segments, so merges of eight pages for each page of pending
 * rows keep up with the inserts, and a statement of many rows takes its share
 * and not a whole merge.  If a merge had to wait, for VACUUM or a check, and the
 * list has become long, the rows pay more.
 */
#define INSERT_STEP 64
#define PAGES_FOR_A_PAGE 8
#define LONG_LIST 4				/* limits */

static bool
TooManyPending(const Pending *pending, uint32 rows, uint32 row_words, Relation index, uint32 limits)
{
	uint64		pages = (PendingPlace(pending, row_words, rows) + PAGE_WORDS - 1) / PAGE_WORDS;

	return rows >= LEAST_ROWS && pages * (BLCKSZ / 1024) > limits * (uint64) GetIndexOptions(index).pending_limit;
}

bool
PendingIsFull(const Meta *meta, Relation index)
{
	blx_geometry geometry = GeometryOf(meta);

	return TooManyPending(&meta->pending, meta->pending.rows, PendingWords(&geometry), index, 1);
}

/* The row that makes the list too long begins; then each that comes to so many pages. */
uint32
InsertStep(const Meta *meta, Relation index)
{
	const Pending *pending = &meta->pending;
	blx_geometry geometry = GeometryOf(meta);
	uint32		words = PendingWords(&geometry),
				due = words * PAGES_FOR_A_PAGE,
				period;

	if (TooManyPending(pending, pending->rows, words, index, LONG_LIST))
		due *= LONG_LIST;
	else if (meta->merge.segment.rows == 0 && !PendingIsFull(meta, index))
		return 0;
	if (due >= INSERT_STEP * PAGE_WORDS)
		return due / PAGE_WORDS;
	period = INSERT_STEP * PAGE_WORDS / due;
	if (pending->rows % period == 0 || !TooManyPending(pending, pending->rows - 1, words, index, 1))
		return INSERT_STEP;
	return 0;
}

/* ---- the directory ---- */

/* A place for a new segment: an empty one, or behind the last one. */
static uint32
FreeSlot(const Structure *structure)
{
	for (uint32 i = 0; i < structure->meta.segments; i++)
		if (structure->segments[i].rows == 0)
			return i;
	return structure->meta.segments;
}

/* The directory page of a slot, which may be a new page; locked. False when it cannot be had. */
static bool
LockDirectoryPage(Relation index, GenericXLogState *state, Meta *meta, uint32 slot, Buffer *buffer, Page *page)
{
	uint32		number = slot / DIRECTORY_SEGMENTS;
	bool		new = number == meta->directory_pages;

	if (new)
	{
		BlockNumber block = TakeFreePages(meta, 1);

		if (block == InvalidBlockNumber)
			return false;
		meta->directory[meta->directory_pages++] = block;
	}
	*buffer = ReadBuffer(index, meta->directory[number]);
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	*page = GenericXLogRegisterBuffer(state, *buffer, new ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (new)
	{
		InitPage(*page, DIRECTORY_PAGE, number);
		memset(PageGetContents(*page), 0, PAGE_BYTES);
	}
	return true;
}

/* What replaces what; false when there is no page for the directory. */
static bool
TryReplace(Relation index, const Structure *structure, const Merge *merge, BlockNumber *pending_blocks)
{
	bool		in_directory = merge->sources > 0 || merge->segment.rows > 0;
	uint32		slot = merge->sources > 0 ? merge->source[0] : FreeSlot(structure);
	Buffer		buffer = ReadBuffer(index, META_BLOCK),
				directory = InvalidBuffer;
	GenericXLogState *state;
	Page		page;
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	if (in_directory && !LockDirectoryPage(index, state, meta, slot, &directory, &page))
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return false;
	}
	if (in_directory)
	{
		Segment    *slots = (Segment *) PageGetContents(page);

		for (uint32 i = 0; i < merge->sources; i++)
		{
			Segment    *old = &slots[merge->source[i] % DIRECTORY_SEGMENTS];

			FreePages(meta, old->start, SegmentPages(&structure->geometry, old->rows));
			memset(old, 0, sizeof *old);
		}
		slots[slot % DIRECTORY_SEGMENTS] = merge->segment;
		SealDirectory(page);
		meta->segments = Max(meta->segments, slot + 1);
	}
	if (merge->pending > 0)
		DropPending(index, meta, merge->pending, pending_blocks);
	memset(&meta->merge, 0, sizeof meta->merge);
	meta->changes++;
	SealMeta(meta);
	GenericXLogFinish(state);
	if (BufferIsValid(directory))
		UnlockReleaseBuffer(directory);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* The segment (if it has rows) stands for its sources and for the first pending rows from now on. */
static void
Replace(Relation index, const Structure *structure, const Merge *merge)
{
	BlockNumber *pending = NULL;

	if (merge->pending > 0)
	{
		uint64		end = PendingPlace(&structure->meta.pending, PendingWords(&structure->geometry), merge->pending);

		pending = PendingBlocks(index, structure, (uint32) ((end + PAGE_WORDS - 1) / PAGE_WORDS));
		if (pending == NULL)
			ReportCorruption(index, "a page of pending rows is something else");
	}
	while (!TryReplace(index, structure, merge, pending))
		ExtendIndex(index, 1);
}

/* ---- what to merge ---- */

/*
 * Which segments of a page of the directory are merged with `rows` new rows:
 * their slots, and how many.
 */
static uint32
ChooseSegments(const Structure *structure, uint32 page, uint32 rows, uint32 *chosen)
{
	uint32		first = page * DIRECTORY_SEGMENTS,
				last = Min(structure->meta.segments, first + DIRECTORY_SEGMENTS),
				n = 0,
				before;

	do
	{
		uint32		limit = rows,
					total = 0,
					found = 0;

		before = n;
		for (uint32 i = first; i < last; i++)
			if (structure->segments[i].rows > 0 && structure->segments[i].rows <= limit)
				found++;
		if (found - n < FAN_OUT - 1)
			break;
		for (uint32 i = first; i < last && n < MAX_MERGED; i++)
		{
			const Segment *segment = &structure->segments[i];
			bool		taken = false;

			for (uint32 j = 0; j < before; j++)
				taken |= chosen[j] == i;
			if (taken || segment->rows == 0 || segment->rows > limit || rows + total + segment->rows > MAX_SEGMENT_ROWS)
				continue;
			chosen[n++] = i;
			total += segment->rows;
		}
		rows += total;
	} while (n > before);
	return n;
}

/* From the page of the directory that has the most to merge, for one WAL record changes one page of it. */
static void
ChooseSources(const Structure *structure, Merge *merge)
{
	uint32		chosen[MAX_MERGED];

	for (uint32 page = 0; page < structure->meta.directory_pages; page++)
	{
		uint32		n = ChooseSegments(structure, page, merge->pending, chosen);

		if (n <= merge->sources)
			continue;
		merge->sources = n;
		memcpy(merge->source, chosen, n * sizeof *chosen);
	}
}

/* All that goes into it was seen by the present pass of VACUUM, or it has to be seen. */
static uint32
PassOf(const Structure *structure, const Merge *merge)
{
	uint32		pass = structure->meta.pass;

	if (merge->pending > 0 && structure->meta.pending.pass != pass)
		return pass - 1;
	for (uint32 i = 0; i < merge->sources; i++)
		if (structure->segments[merge->source[i]].pass != pass)
			return pass - 1;
	return pass;
}

/* ---- sources ---- */

/* The pending rows' TIDs, and of their signatures the words first .. end-1. */
static RowSource
PendingSource(Relation index, const Structure *structure, uint32 rows, uint32 first, uint32 end)
{
	uint32		stride = Max(1, end - first);
	ItemPointerData *tids = palloc(Max(1, rows) * sizeof(ItemPointerData));
	uint64	   *signatures = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows) * (Size) stride * sizeof(uint64));
	PendingReader *reader = StartPending(index, structure, rows, NULL);
	const uint64 *row;

	for (uint32 i = 0; (row = NextPending(reader)) != NULL; i++)
	{
		tids[i] = PendingTid(row);
		memcpy(signatures + i * (Size) stride, row + 1 + first, (end - first) * sizeof(uint64));
	}
	if (reader->gone)
		ReportCorruption(index, "a page of pending rows is something else");
	return (RowSource) {.tids = tids, .rows = rows, .signatures = signatures, .stride = stride, .first = first};
}

/* Segments in the order that the merge names them, then pending rows: always the same order. */
static RowSource *
Sources(Relation index, const Structure *structure, const Merge *merge, uint32 first, uint32 end, int *n)
{
	RowSource  *sources = palloc((merge->sources + 1) * sizeof(RowSource));

	for (uint32 i = 0; i < merge->sources; i++)
	{
		const Segment *segment = &structure->segments[merge->source[i]];

		sources[i] = (RowSource) {.tids = ReadAllTids(index, segment), .rows = segment->rows, .segment = segment};
	}
	*n = merge->sources;
	if (merge->pending > 0)
		sources[(*n)++] = PendingSource(index, structure, merge->pending, first, end);
	return sources;
}

/* ---- steps ---- */

/* Pages for the new segment, which the metapage calls its own from now on; false when too few are free. */
static bool
ReservePages(Relation index, const Structure *structure, Merge *merge)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state = GenericXLogStart(index);
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	merge->segment.start = TakeFreePages(meta, SegmentPages(&structure->geometry, merge->segment.rows));
	if (merge->segment.start == InvalidBlockNumber)
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return false;
	}
	merge->segment.stamp = meta->next_stamp++;
	meta->merge = *merge;
	SealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* Begins a merge, or does what there is to do at once when no row is alive; false when too few pages are free. */
static bool
StartMerge(Relation index, const Structure *structure, Merge *merge)
{
	int			n;
	RowSource  *sources = Sources(index, structure, merge, 0, 0, &n);

	merge->segment.rows = CountLive(sources, n);
	merge->segment.pass = PassOf(structure, merge);
	if (merge->segment.rows > 0)
		return ReservePages(index, structure, merge);
	Replace(index, structure, merge);
	return true;
}

static void
NoteProgress(Relation index, uint32 written)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state = GenericXLogStart(index);
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	meta->merge.written = written;
	SealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* The next pages of the merge under way; after the last one it is in the directory. */
static void
ContinueMerge(Relation index, const Structure *structure, uint32 pages)
{
	const Merge *merge = &structure->meta.merge;
	const blx_geometry *geometry = &structure->geometry;
	uint32		total = SegmentPages(geometry, merge->segment.rows),
				to = Min(total, merge->written + pages),
				first,
				end;
	int			n;
	RowSource  *sources;

	ColumnsOfPages(geometry, merge->segment.rows, merge->written, to, &first, &end);
	sources = Sources(index, structure, merge, first, end, &n);
	WritePages(index, geometry, sources, n, &merge->segment, merge->written, to);
	if (to < total)
		NoteProgress(index, to);
	else
		Replace(index, structure, merge);
}

/* What to merge with the first pending rows, so many as are on `most` pages; 0 rows: nothing, the directory is full. */
static Merge
PlanMerge(const Structure *structure, uint32 most)
{
	uint64		rows = most * (uint64) PAGE_WORDS / PendingWords(&structure->geometry);
	Merge		merge = {.pending = (uint32) Min(structure->meta.pending.rows, Min(MAX_SEGMENT_ROWS, Max(64, rows)))};

	ChooseSources(structure, &merge);
	if (merge.sources == 0 && FreeSlot(structure) == MAX_DIRECTORY_PAGES * DIRECTORY_SEGMENTS)
		merge.pending = 0;
	return merge;
}

static bool
MergeStepInMemory(Relation index, uint32 pages, uint32 most)
{
	Structure  *structure = ReadStructure(index, NULL);
	Merge		merge;

	if (structure->meta.merge.segment.rows > 0)
	{
		ContinueMerge(index, structure, pages);
		return true;
	}
	if (!PendingIsFull(&structure->meta, index))
		return false;
	merge = PlanMerge(structure, most);
	if (merge.pending == 0)
		return false;
	if (!StartMerge(index, structure, &merge))
	{
		ExtendIndex(index, pages);
		return true;
	}
	/* what fits into one step is done in one */
	structure = ReadStructure(index, NULL);
	if (structure->meta.merge.segment.rows > 0 && SegmentPages(&structure->geometry, structure->meta.merge.segment.rows) <= pages)
		ContinueMerge(index, structure, pages);
	return true;
}

bool
MergeStep(Relation index, uint32 pages, uint32 most)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx merge", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	bool		done = MergeStepInMemory(index, pages, most);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return done;
}

void
FinishMerge(Relation index)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx merge", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	Structure  *structure;

	while (structure = ReadStructure(index, NULL), structure->meta.merge.segment.rows > 0)
	{
		ContinueMerge(index, structure, VACUUM_STEP);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

bool
StartCompaction(Relation index, const Structure *structure, uint32 number)
{
	Merge		merge = {.sources = 1, .source = {number}};

	return StartMerge(index, structure, &merge);
}

/* ---- CREATE INDEX ---- */

/* A merge of one step: its pages are free pages until then, and should it fail nobody knows the index. */
void
AddSegment(Relation index, const blx_geometry *geometry, const RowSource *source)
{
	Merge		merge = {.segment.rows = CountLive(source, 1)};
	Structure  *structure;
	uint32		total;

	if (merge.segment.rows == 0)
		return;
	structure = ReadStructure(index, NULL);
	if (FreeSlot(structure) == MAX_DIRECTORY_PAGES * DIRECTORY_SEGMENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has too many segments", RelationGetRelationName(index)),
				 errhint("Use more maintenance_work_mem, or partition the table.")));
	merge.segment.pass = structure->meta.pass;
	total = SegmentPages(geometry, merge.segment.rows);
	while (!ReservePages(index, structure, &merge))
		ExtendIndex(index, EXTENSION_PAGES);
	WritePages(index, geometry, source, 1, &merge.segment, 0, total);
	Replace(index, structure, &merge);
}
