/*
 * vacuum.c - VACUUM: TIDs of removed rows become invalid, segments that are
 * mostly dead are written anew, pages that nothing refers to become free.
 *
 * The structure lock is held for one segment at a time, or for some pages of
 * the list of pending rows, and never while VACUUM sleeps: inserts do not need
 * it, but merges do.  Why no TID is overlooked is told in am.h: a pass of
 * VACUUM has a number, and goes on until all segments carry it.
 */
#include "pg/index/bloomx/index.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Pending rows of so many pages become a segment at once: they are read again
 * for every step, so a larger share of them would cost more than it saves.
 */
#define VACUUM_MERGE_PAGES (8 * VACUUM_STEP)

/* Pages of pending rows that are looked at before others may have the structure lock. */
#define PENDING_STEP 32

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
	Buffer		buffer;
	ItemPointerData *tids;

	if (!LockSegmentPage(removal->index, segment, segment->start + page, BUFFER_LOCK_EXCLUSIVE, &buffer))
		ReportCorruption(removal->index, "a page of row addresses is something else");
	tids = (ItemPointerData *) PageGetContents(BufferGetPage(buffer));
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

/* The pending rows that begin on page `number` of the list; returns the page after it. */
static BlockNumber
RemoveFromPendingPage(Removal *removal, const Structure *structure, uint32 number, BlockNumber block)
{
	const Pending *pending = &structure->meta.pending;
	uint32		row_words = PendingWords(&structure->geometry),
				dead[PAGE_WORDS],
				n = 0;
	uint64		page_first = number * (uint64) PAGE_WORDS,
				row = page_first <= pending->skip ? 0 : (page_first - pending->skip + row_words - 1) / row_words;
	Buffer		buffer = ReadBuffer(removal->index, block);
	const uint64 *words = (const uint64 *) PageGetContents(BufferGetPage(buffer));
	BlockNumber next;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!PageIs(BufferGetPage(buffer), PENDING_PAGE, pending->stamp + number))
		ReportCorruption(removal->index, "a page of pending rows is something else");
	for (; row < pending->rows; row++)
	{
		uint64		place = PendingPlace(pending, row_words, row) - page_first;
		ItemPointerData tid;

		if (place >= PAGE_WORDS)
			break;
		tid = PendingTid(words + place);
		if (ItemPointerIsValid(&tid) && IsDead(removal, tid))
			dead[n++] = (uint32) place;
	}
	if (n > 0)
		ClearItems(removal->index, buffer, dead, n, sizeof(uint64));
	next = GetPageTail(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/* ---- what the pass has seen ---- */

/* A new pass: nothing was seen by it. */
static uint32
BeginPass(Relation index)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state = GenericXLogStart(index);
	uint32		pass;
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	pass = ++meta->pass;
	SealMeta(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	return pass;
}

static void
PassHasSeenPending(Relation index, uint32 pass)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	GenericXLogState *state = GenericXLogStart(index);
	Meta	   *meta;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = GetMeta(index, GenericXLogRegisterBuffer(state, buffer, 0));
	meta->pending.pass = pass;
	SealPending(meta);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* Writes the pass, and how many rows are dead, into the directory; under the structure lock nobody else changes it. */
static void
PassHasSeenSegment(Relation index, const Structure *structure, uint32 number, uint32 pass, uint32 dead)
{
	Buffer		meta = ReadBuffer(index, META_BLOCK),
				buffer = ReadBuffer(index, structure->meta.directory[number / DIRECTORY_SEGMENTS]);
	GenericXLogState *state;
	Segment    *segment;
	Page		page;

	LockBuffer(meta, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	segment = (Segment *) PageGetContents(page) + number % DIRECTORY_SEGMENTS;
	segment->pass = pass;
	segment->dead = dead;
	SealDirectory(page);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta);
}

/* ---- the pass ---- */

/* Before TIDs become invalid: what a merge has begun to write has the TIDs as they were. */
static Structure *
LockForRemoval(Relation index)
{
	LockStructure(index);
	FinishMerge(index);
	return ReadStructure(index, NULL);
}

/*
 * All pages that were there when this began.  Between two steps the first ones
 * may have become part of a segment, and have another number in the list.
 */
static void
RemoveFromPending(Removal *removal, uint32 pass)
{
	uint64		stamp = 0,
				end = PG_UINT64_MAX;
	BlockNumber block = InvalidBlockNumber;
	bool		more = true;

	while (more)
	{
		Structure  *structure = LockForRemoval(removal->index);
		const Pending *pending = &structure->meta.pending;

		end = Min(end, pending->stamp + pending->pages);
		if (stamp < pending->stamp || block == InvalidBlockNumber)
		{
			stamp = pending->stamp;
			block = pending->first;
		}
		for (int i = 0; i < PENDING_STEP && stamp < end; i++, stamp++)
			block = RemoveFromPendingPage(removal, structure, (uint32) (stamp - pending->stamp), block);
		more = stamp < end;
		if (!more)
			PassHasSeenPending(removal->index, pass);
		UnlockStructure(removal->index);
		pfree(structure->segments);
		pfree(structure);
		VacuumDelayPoint();
	}
}

static bool
FindUnseen(const Structure *structure, uint32 pass, uint32 *number)
{
	for (*number = 0; *number < structure->meta.segments; ++*number)
		if (structure->segments[*number].rows > 0 && structure->segments[*number].pass != pass)
			return true;
	return false;
}

/* Returns how many rows are dead. */
static uint32
RemoveFromSegment(Removal *removal, const Segment *segment)
{
	uint32		dead = 0;

	for (uint32 page = 0; page < TidPages(segment->rows); page++)
	{
		CHECK_FOR_INTERRUPTS();
		dead += RemoveFromTidPage(removal, segment, page);
	}
	return dead;
}

static void
RemoveFromSegments(Removal *removal, uint32 pass)
{
	bool		more = true;

	while (more)
	{
		Structure  *structure = LockForRemoval(removal->index);
		uint32		number;

		more = FindUnseen(structure, pass, &number);
		if (more)
			PassHasSeenSegment(removal->index, structure, number, pass, RemoveFromSegment(removal, &structure->segments[number]));
		UnlockStructure(removal->index);
		pfree(structure->segments);
		pfree(structure);
		VacuumDelayPoint();
	}
}

IndexBulkDeleteResult *
RemoveRows(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	Removal		removal = {.index = info->index, .callback = callback, .state = state};
	uint32		pass;

	removal.stats = stats ? stats : palloc0(sizeof(IndexBulkDeleteResult));
	LockStructure(info->index);
	pass = BeginPass(info->index);
	UnlockStructure(info->index);
	RemoveFromPending(&removal, pass);
	RemoveFromSegments(&removal, pass);
	return removal.stats;
}

/* ---- after the pass ---- */

/* Merges what was pending when this began, as far as it is too much. */
static void
MergeAll(Relation index)
{
	uint64		end = 0;
	bool		more = true;

	while (more)
	{
		MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES),
					old = MemoryContextSwitchTo(memory);
		const Structure *structure;
		const Meta *meta;

		LockStructure(index);
		structure = ReadStructure(index, NULL);
		meta = &structure->meta;
		if (end == 0)
			end = meta->pending.stamp + meta->pending.pages;
		more = (meta->merge.segment.rows > 0 || meta->pending.stamp < end) && MergeStep(index, VACUUM_STEP, VACUUM_MERGE_PAGES);
		UnlockStructure(index);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		VacuumDelayPoint();
	}
}

/* False when no segment from *number on has to be written anew. */
static bool
CompactNext(Relation index, uint32 *number)
{
	Structure  *structure;

	LockStructure(index);
	FinishMerge(index);
	structure = ReadStructure(index, NULL);
	while (*number < structure->meta.segments && structure->segments[*number].dead <= structure->segments[*number].rows / 2)
		++*number;
	if (*number < structure->meta.segments)
	{
		if (StartCompaction(index, structure, *number))
			FinishMerge(index);
		else
			ExtendIndex(index, EXTENSION_PAGES);
	}
	UnlockStructure(index);
	return *number < structure->meta.segments;
}

/* One segment after the other, each in memory of its own. */
static void
CompactSegments(Relation index)
{
	uint32		number = 0;
	bool		more = true;

	while (more)
	{
		MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES),
					old = MemoryContextSwitchTo(memory);

		more = CompactNext(index, &number);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		VacuumDelayPoint();
	}
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
	MergeAll(info->index);
	CompactSegments(info->index);
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	LockStructure(info->index);
	stats->pages_free = CollectFreePages(info->index);
	structure = ReadStructure(info->index, NULL);
	UnlockStructure(info->index);

	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = structure->meta.pending.rows;
	for (uint32 i = 0; i < structure->meta.segments; i++)
		stats->num_index_tuples += structure->segments[i].rows - structure->segments[i].dead;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return stats;
}
