/*
 * vacuum.c - VACUUM: TIDs of removed rows become invalid, segments that are
 * mostly dead are written anew, pages that nothing refers to become free.
 */
#include "pg/index/bloomx/index.h"

#include "commands/vacuum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct Removal
{
	Relation	index;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *state;
} Removal;

static bool
IsDead(Removal *removal, ItemPointerData tid)
{
	if (!removal->callback(&tid, removal->state))
		return false;
	removal->stats->tuples_removed++;
	return true;
}

/* Writes zeros over items, each of `bytes` bytes, of a locked page. */
static void
ClearItems(Relation index, Buffer buffer, const uint32 *items, uint32 n, Size bytes)
{
	GenericXLogState *state = GenericXLogStart(index);
	char	   *data = PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0));

	for (uint32 i = 0; i < n; i++)
		memset(data + items[i] * bytes, 0, bytes);
	GenericXLogFinish(state);
}

/* Returns how many TIDs of the page are invalid now. */
static uint32
RemoveFromTidPage(Removal *removal, const Segment *segment, uint32 page)
{
	uint32		rows = Min(PAGE_TIDS, segment->rows - page * PAGE_TIDS),
				dead[PAGE_TIDS],
				n = 0,
				before = 0;
	Buffer		buffer = ReadBuffer(removal->index, segment->start + page);
	ItemPointerData *tids = (ItemPointerData *) PageGetContents(BufferGetPage(buffer));

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!PageIs(BufferGetPage(buffer), SEGMENT_PAGE, segment->stamp))
		ReportCorruption(removal->index, "a page of row addresses is something else");
	for (uint32 i = 0; i < rows; i++)
		if (!ItemPointerIsValid(&tids[i]))
			before++;
		else if (IsDead(removal, tids[i]))
			dead[n++] = i;
	if (n > 0)
		ClearItems(removal->index, buffer, dead, n, sizeof(ItemPointerData));
	UnlockReleaseBuffer(buffer);
	return before + n;
}

/* The pending rows that begin on page `number` of the list. */
static void
RemoveFromPendingPage(Removal *removal, const Structure *structure, uint32 number)
{
	const Meta *meta = &structure->meta;
	uint32		row_words = PendingWords(&structure->geometry),
				dead[PAGE_WORDS],
				n = 0;
	uint64		page_first = number * (uint64) PAGE_WORDS,
				row = page_first <= meta->pending_skip ? 0 : (page_first - meta->pending_skip + row_words - 1) / row_words;
	Buffer		buffer = ReadBuffer(removal->index, meta->pending[number]);
	const uint64 *words = (const uint64 *) PageGetContents(BufferGetPage(buffer));

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!PageIs(BufferGetPage(buffer), PENDING_PAGE, meta->pending_stamp + number))
		ReportCorruption(removal->index, "a page of pending rows is something else");
	for (; row < meta->pending_rows; row++)
	{
		uint64		place = meta->pending_skip + row * row_words - page_first;
		ItemPointerData tid;

		if (place >= PAGE_WORDS)
			break;
		tid = PendingTid(words + place);
		if (ItemPointerIsValid(&tid) && IsDead(removal, tid))
			dead[n++] = (uint32) place;
	}
	if (n > 0)
		ClearItems(removal->index, buffer, dead, n, sizeof(uint64));
	UnlockReleaseBuffer(buffer);
}

/* Writes what is dead in the segments of one page of the directory. */
static void
WriteDead(Relation index, const Structure *structure, uint32 number)
{
	uint32		first = number * DIRECTORY_SEGMENTS,
				n = Min(DIRECTORY_SEGMENTS, structure->meta.segments - first);
	Buffer		meta = ReadBuffer(index, META_BLOCK),
				buffer = ReadBuffer(index, structure->meta.directory[number]);
	GenericXLogState *state;

	LockBuffer(meta, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	memcpy(PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0)), structure->segments + first, n * sizeof(Segment));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta);
}

/* Returns whether the number of dead rows has changed. */
static bool
RemoveFromSegment(Removal *removal, Segment *segment)
{
	uint32		dead = 0;
	bool		changed;

	for (uint32 page = 0; page < TidPages(segment->rows); page++)
	{
		VacuumDelayPoint();
		dead += RemoveFromTidPage(removal, segment, page);
	}
	changed = dead != segment->dead;
	segment->dead = dead;
	return changed;
}

IndexBulkDeleteResult *
RemoveRows(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	Removal		removal = {.index = info->index, .callback = callback, .state = state};
	Structure  *structure;
	bool		changed = false;

	removal.stats = stats ? stats : palloc0(sizeof(IndexBulkDeleteResult));
	LockStructure(info->index);
	structure = ReadStructure(info->index, NULL);
	for (uint32 i = 0; i < structure->meta.segments; i++)
	{
		changed |= RemoveFromSegment(&removal, &structure->segments[i]);
		if (changed && ((i + 1) % DIRECTORY_SEGMENTS == 0 || i + 1 == structure->meta.segments))
		{
			WriteDead(info->index, structure, i / DIRECTORY_SEGMENTS);
			changed = false;
		}
	}
	for (uint32 i = 0; i < structure->meta.pending_pages; i++)
	{
		VacuumDelayPoint();
		RemoveFromPendingPage(&removal, structure, i);
	}
	UnlockStructure(info->index);
	return removal.stats;
}

static void
CompactSegments(Relation index)
{
	Structure  *structure = ReadStructure(index, NULL);

	for (uint32 i = 0; i < structure->meta.segments; i++)
		if (structure->segments[i].dead > structure->segments[i].rows / 2)
			CompactSegment(index, structure, i);
}

IndexBulkDeleteResult *
CleanUp(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	MemoryContext memory,
				old;
	Structure  *structure;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	LockStructure(info->index);
	MergePending(info->index);
	CompactSegments(info->index);
	stats->pages_free = CollectFreePages(info->index);
	structure = ReadStructure(info->index, NULL);
	UnlockStructure(info->index);

	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = structure->meta.pending_rows;
	for (uint32 i = 0; i < structure->meta.segments; i++)
		stats->num_index_tuples += structure->segments[i].rows - structure->segments[i].dead;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return stats;
}
