/*
 * merge.c - from pending rows and small segments to larger ones.
 *
 * When the pending rows reach the limit they become a segment.  If there are
 * FAN_OUT - 1 segments no larger than that, these are merged with it, and so
 * on with the next larger ones: a row is written again once for each power of
 * FAN_OUT, and a lookup meets few small segments.
 *
 * The new segment is complete before one WAL record puts it into the directory
 * and takes out what it replaces.  Rows that were appended meanwhile stay
 * pending.
 */
#include "pg/index/bloomx/index.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#define FAN_OUT 8

/* The largest number of segments that become one. */
#define MAX_MERGED 64

/* Fewer rows than this do not become a segment, however large: slices are whole words. */
#define LEAST_ROWS 32

bool
PendingIsFull(const Meta *meta, Relation index)
{
	Size		size = meta->pending_pages * (Size) (BLCKSZ / 1024);

	return meta->pending_pages > MAX_PENDING_PAGES * 3 / 4 ||
		(meta->pending_rows >= LEAST_ROWS && size > (Size) GetIndexOptions(index).pending_limit);
}

/* ---- the directory ---- */

/* The place for a new segment: an empty one of the last page, or behind the last one. */
static uint32
FreeSlot(const Structure *structure)
{
	uint32		n = structure->meta.segments;

	for (uint32 i = n - n % DIRECTORY_SEGMENTS; i < n; i++)
		if (structure->segments[i].rows == 0)
			return i;
	return n;
}

/* The directory page of a slot, which may be a new page; locked. */
static Page
LockDirectoryPage(Relation index, GenericXLogState *state, Meta *meta, uint32 slot, Buffer *buffer)
{
	uint32		number = slot / DIRECTORY_SEGMENTS;
	bool		new = number == meta->directory_pages;
	Page		page;

	if (number == MAX_DIRECTORY_PAGES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has too many segments", RelationGetRelationName(index)),
				 errhint("REINDEX it with more maintenance_work_mem, or partition the table.")));
	if (new)
		meta->directory[meta->directory_pages++] = TakePages(index, meta, 1);
	*buffer = ReadBuffer(index, meta->directory[number]);
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	page = GenericXLogRegisterBuffer(state, *buffer, new ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (new)
	{
		InitPage(page, DIRECTORY_PAGE, number);
		memset(PageGetContents(page), 0, PAGE_BYTES);
	}
	return page;
}

/*
 * `segment` (if it has rows) stands for the first `pending` pending rows and
 * for n segments, all on one page of the directory, from now on.
 */
static void
Replace(Relation index, const Structure *structure, uint32 pending, const uint32 *replaced, int n, const Segment *segment)
{
	uint32		slot = n > 0 ? replaced[0] : FreeSlot(structure);
	Buffer		buffer = ReadBuffer(index, META_BLOCK),
				directory = InvalidBuffer;
	GenericXLogState *state;
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	if (n > 0 || segment->rows > 0)
	{
		Segment    *slots = (Segment *) PageGetContents(LockDirectoryPage(index, state, meta, slot, &directory));

		for (int i = 0; i < n; i++)
		{
			Segment    *old = &slots[replaced[i] % DIRECTORY_SEGMENTS];

			FreePages(meta, old->start, SegmentPages(&structure->geometry, old->rows));
			memset(old, 0, sizeof *old);
		}
		slots[slot % DIRECTORY_SEGMENTS] = *segment;
		meta->segments = Max(meta->segments, slot + 1);
	}
	if (pending > 0)
		DropPending(meta, pending);
	meta->changes++;
	GenericXLogFinish(state);
	if (BufferIsValid(directory))
		UnlockReleaseBuffer(directory);
	UnlockReleaseBuffer(buffer);
}

void
AddSegment(Relation index, const blx_geometry *geometry, const RowSource *source)
{
	Segment		segment = WriteSegment(index, geometry, source, 1);

	if (segment.rows > 0)
		Replace(index, ReadStructure(index, NULL), 0, NULL, 0, &segment);
}

/* ---- merging ---- */

/*
 * Which segments of the directory's last page are merged with `rows` new rows:
 * their slots, and how many.
 */
static int
ChooseSegments(const Structure *structure, uint32 rows, uint32 *chosen)
{
	uint32		last = structure->meta.segments,
				first = last == 0 ? 0 : (last - 1) / DIRECTORY_SEGMENTS * DIRECTORY_SEGMENTS;
	int			n = 0,
				before;

	do
	{
		uint32		limit = rows,
					total = 0;
		int			found = 0;

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

			for (int j = 0; j < before; j++)
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

static ItemPointerData *
PendingTids(const uint64 *pending, uint32 rows, uint32 row_words)
{
	ItemPointerData *tids = palloc(rows * sizeof(ItemPointerData));

	for (uint32 row = 0; row < rows; row++)
		tids[row] = PendingTid(pending + (Size) row * row_words);
	return tids;
}

static RowSource
SegmentSource(Relation index, const Segment *segment)
{
	return (RowSource) {.tids = ReadAllTids(index, segment), .rows = segment->rows, .segment = segment};
}

/* Makes a segment of pending rows, as many as fit. */
static void
MergeOnce(Relation index, const Structure *structure)
{
	uint32		row_words = PendingWords(&structure->geometry),
				rows = Min(structure->meta.pending_rows, MAX_SEGMENT_ROWS),
				chosen[MAX_MERGED];
	int			n = ChooseSegments(structure, rows, chosen);
	uint64	   *pending = ReadPending(index, structure, NULL);
	RowSource  *sources = palloc((1 + n) * sizeof(RowSource));
	Segment		segment;

	if (pending == NULL)
		ReportCorruption(index, "a page of pending rows is something else");
	for (int i = 0; i < n; i++)
		sources[i] = SegmentSource(index, &structure->segments[chosen[i]]);
	sources[n] = (RowSource) {.tids = PendingTids(pending, rows, row_words), .rows = rows, .signatures = pending + 1, .stride = row_words};
	segment = WriteSegment(index, &structure->geometry, sources, n + 1);
	Replace(index, structure, rows, chosen, n, &segment);
}

void
MergePending(Relation index)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx merge", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	Structure  *structure;

	while (structure = ReadStructure(index, NULL), PendingIsFull(&structure->meta, index) && structure->meta.pending_rows > 0)
	{
		MergeOnce(index, structure);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

void
CompactSegment(Relation index, const Structure *structure, uint32 number)
{
	RowSource	source = SegmentSource(index, &structure->segments[number]);
	Segment		segment = WriteSegment(index, &structure->geometry, &source, 1);

	Replace(index, structure, 0, &number, 1, &segment);
}
