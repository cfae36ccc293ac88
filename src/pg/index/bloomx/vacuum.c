/*
 * vacuum.c - VACUUM: TIDs of removed rows become invalid, segments that are
 * mostly dead are rewritten, pages that nothing refers to become free.
 *
 * The directory lock is held for one segment at a time, or for some pages of
 * the list of pending rows, and never while VACUUM sleeps: inserts do not need
 * it, but merges do.  README explains why no TID is overlooked: a pass of
 * VACUUM has a number, and goes on until all segments carry it.
 */
#include "pg/index/bloomx/bloomx.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/index/bloomx/build/concurrent.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/directory/space.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/merge.h"

/*
 * The most pages of pending rows that become a segment at once.  Every step of
 * the merge reads all of them: eight steps' worth bounds that, and a long list
 * still gives large segments.  Rows and what is made of them take up to six times
 * the memory.
 */
#define VACUUM_MERGE_PAGES (8 * VACUUM_STEP)
#define MEMORY_PER_PAGE (6 * BLCKSZ)

/*
 * The pages of pending rows that VACUUM leaves in a list.  Every lookup reads all of
 * them: 40,000 rows in 128 pages took 1 ms, in a segment 0.02.
 */
#define VACUUM_PENDING 1

/*
 * Pages of pending rows that are looked at before others may have the directory
 * lock: a merge waits for this quarter of a megabyte.  Each step reads the
 * metapage and the directory again, which forbids very small steps.
 */
#define PENDING_STEP 32

typedef struct BloomxRemoval
{
	Relation	index;
	IndexBulkDeleteCallback callback;
	void	   *state;
	double		removed;		/* rows */
} BloomxRemoval;

/* An entry of several rows of a block stays, whatever becomes of them. */
static bool
IsDead(BloomxRemoval *removal, ItemPointerData tid)
{
	if (ItemPointerGetOffsetNumberNoCheck(&tid) == WHOLE_BLOCK || !removal->callback(&tid, removal->state))
		return false;
	removal->removed++;
	return true;
}

/* Writes zeros over n TIDs of a locked page: items[i] times `bytes` bytes from its start. */
static void
ClearTids(Relation index, Buffer buffer, const uint32 *items, uint32 n, Size bytes)
{
	GenericXLogState *state = GenericXLogStart(index);
	char	   *data = PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0));

	for (uint32 i = 0; i < n; i++)
		memset(data + items[i] * bytes, 0, sizeof(ItemPointerData));
	GenericXLogFinish(state);
}

/* Returns how many TIDs of the page are invalid now. */
static uint32
RemoveFromTidPage(BloomxRemoval *removal, const BloomxSegment *segment, uint32 page)
{
	uint32		rows = Min(PAGE_TIDS, segment->rows - page * PAGE_TIDS),
				dead[PAGE_TIDS],
				n = 0,
				before = 0;
	Buffer		buffer;
	ItemPointerData *tids;

	if (!BloomxLockSegmentPage(removal->index, segment, segment->start + page, BUFFER_LOCK_EXCLUSIVE, &buffer))
		BloomxReportCorruption(removal->index, "a page of row addresses is something else");
	tids = (ItemPointerData *) PageGetContents(BufferGetPage(buffer));

	/* ask about all rows first, so that a page without dead ones is not written */
	for (uint32 i = 0; i < rows; i++)
		if (!ItemPointerIsValid(&tids[i]))
			before++;
		else if (IsDead(removal, tids[i]))
			dead[n++] = i;
	if (n > 0)
		ClearTids(removal->index, buffer, dead, n, sizeof(ItemPointerData));
	UnlockReleaseBuffer(buffer);
	return before + n;
}

/*
 * Goes over the pending rows that begin on page `number` of the list, the first one
 * at word *place of it; *place becomes that of the next one on the page after it,
 * which is returned.
 */
static BlockNumber
RemoveFromPendingPage(BloomxRemoval *removal, const BloomxDirectory *directory, int list, uint32 number, BlockNumber block, uint64 *place)
{
	const BloomxPending *pending = &directory->meta.pending[list];
	uint32		dead[PAGE_WORDS],
				n = 0;
	/* the end of the list, as if this page went on to there */
	uint64		end = pending->skip + directory->list_words[list] - number * (uint64) PAGE_WORDS;
	Buffer		buffer = ReadBuffer(removal->index, block);
	const uint64 *words = (const uint64 *) PageGetContents(BufferGetPage(buffer));
	BlockNumber next;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!BloomxPageIs(BufferGetPage(buffer), PENDING_PAGE, pending->generation + number))
		BloomxReportCorruption(removal->index, "a page of pending rows is something else");
	while (*place < Min(end, PAGE_WORDS))
	{
		const uint64 *row = words + *place;
		ItemPointerData tid = BloomxPendingTid(row);

		if (ItemPointerIsValid(&tid) && IsDead(removal, tid))
			dead[n++] = (uint32) *place;
		*place += BloomxRowWords(&directory->meta.keys, row);
		if (*place > end)
			BloomxReportCorruption(removal->index, "a pending row is longer than the list");
	}
	*place -= Min(*place, PAGE_WORDS);
	if (n > 0)
		ClearTids(removal->index, buffer, dead, n, sizeof(uint64));
	next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/* ---- what the pass has seen ---- */

/* Begins a new pass, which has seen nothing yet; returns its number. */
static uint32
BeginPass(Relation index)
{
	BloomxMetaChange change;
	uint32		pass = ++BloomxStartMetaChange(&change, index)->pass;

	BloomxFinishMetaChange(&change);
	return pass;
}

static void
PassHasSeenPending(Relation index, int list, uint32 pass)
{
	BloomxMetaChange change;

	BloomxStartMetaChange(&change, index)->pending[list].pass = pass;
	BloomxFinishMetaChange(&change);
}

/*
 * Writes the pass, and how many rows are dead, to the directory.  The metapage is
 * locked as for every change of the directory, but does not change.
 */
static void
PassHasSeenSegment(Relation index, const BloomxDirectory *directory, uint32 number, uint32 pass, uint32 dead)
{
	Buffer		meta = ReadBuffer(index, META_BLOCK),
				buffer = ReadBuffer(index, directory->meta.directory[number / DIRECTORY_SEGMENTS]);
	GenericXLogState *state;
	BloomxSegment *segment;
	Page		page;

	LockBuffer(meta, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	segment = (BloomxSegment *) PageGetContents(page) + number % DIRECTORY_SEGMENTS;
	segment->pass = pass;
	segment->dead = dead;
	BloomxSealDirectory(page);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta);
}

/* ---- the pass ---- */

/* TIDs must not become invalid during a merge: the pages that it has written have the TIDs as they were. */
static BloomxDirectory *
LockForRemoval(Relation index)
{
	BloomxLockDirectory(index);
	BloomxFinishMerge(index);
	return BloomxReadDirectory(index, NULL);
}

/*
 * Goes over all pages of a list that were there when this began.  Between
 * two steps the first pages may have become part of a segment, and the others
 * have another number in the list.  Their generations, however, stay.
 */
static void
RemoveFromPending(BloomxRemoval *removal, int list, uint32 pass)
{
	uint64		generation = 0,
				end = PG_UINT64_MAX,
				place = 0;		/* of the next row, on the page with that generation */
	BlockNumber block = InvalidBlockNumber;
	bool		more = true;

	while (more)
	{
		BloomxDirectory *directory = LockForRemoval(removal->index);
		const BloomxPending *pending = &directory->meta.pending[list];

		/* the first step sets `end`: pages appended later have higher generations */
		end = Min(end, pending->generation + pending->pages);

		/* begin, or go on with the first page that is still pending */
		if (generation < pending->generation || block == InvalidBlockNumber)
		{
			generation = pending->generation;
			block = pending->first;
			place = 0;
		}
		if (generation == pending->generation)
			place = Max(place, pending->skip);
		/* a provisional list in one step: an insert that rewrites it gives all rows new pages */
		for (int i = 0; (i < PENDING_STEP || directory->meta.keys.provisional) && generation < end; i++, generation++)
			block = RemoveFromPendingPage(removal, directory, list, (uint32) (generation - pending->generation), block, &place);
		more = generation < end;
		if (!more)
			PassHasSeenPending(removal->index, list, pass);
		BloomxUnlockDirectory(removal->index);
		pfree(directory->segments);
		pfree(directory);
		VacuumDelayPoint();
	}
}

static bool
FindUnseen(const BloomxDirectory *directory, uint32 pass, uint32 *number)
{
	for (*number = 0; *number < directory->meta.segments; ++*number)
		if (directory->segments[*number].rows > 0 && directory->segments[*number].pass != pass)
			return true;
	return false;
}

/* Returns how many rows are dead. */
static uint32
RemoveFromSegment(BloomxRemoval *removal, const BloomxSegment *segment)
{
	uint32		dead = 0;

	for (uint32 page = 0; page < BloomxTidPages(segment->rows); page++)
	{
		CHECK_FOR_INTERRUPTS();
		dead += RemoveFromTidPage(removal, segment, page);
	}
	return dead;
}

static void
RemoveFromSegments(BloomxRemoval *removal, uint32 pass)
{
	bool		more = true;

	while (more)
	{
		BloomxDirectory *directory = LockForRemoval(removal->index);
		uint32		number;

		more = FindUnseen(directory, pass, &number);
		if (more)
			PassHasSeenSegment(removal->index, directory, number, pass, RemoveFromSegment(removal, &directory->segments[number]));
		BloomxUnlockDirectory(removal->index);
		pfree(directory->segments);
		pfree(directory);
		VacuumDelayPoint();
	}
}

/* Returns how many rows were removed. */
static double
RemoveRows(Relation index, IndexBulkDeleteCallback callback, void *state)
{
	BloomxRemoval removal = {.index = index, .callback = callback, .state = state};
	uint32		pass;

	BloomxLockDirectory(index);
	pass = BeginPass(index);
	BloomxUnlockDirectory(index);
	for (int list = 0; list < PENDING_LISTS; list++)
		RemoveFromPending(&removal, list, pass);
	RemoveFromSegments(&removal, pass);
	return removal.removed;
}

IndexBulkDeleteResult *
bloomxbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->tuples_removed += RemoveRows(info->index, callback, state);
	if (!info->index->rd_index->indisvalid)
		BloomxReportTidFile(info->index, callback, state);
	return stats;
}

/* ---- after the pass ---- */

/*
 * True if the list that the next merge takes has pages from before those ends.  Old
 * pages of another list do not count: that may be short, and stay so, while inserts
 * make this one too long again and again.
 */
static bool
HasOlderPages(const BloomxDirectory *directory, const uint64 *ends)
{
	int			list = BloomxLongestList(directory);

	return directory->meta.pending[list].generation < ends[list];
}

/* As many pages as the memory allows, at most n: their rows, or the part of the rows that becomes so many pages, are in memory. */
static uint32
PagesInMemory(uint32 n)
{
	return (uint32) Max(64, Min(n, BloomxVacuumMemory() / MEMORY_PER_PAGE));
}

/* Merges the rows that were pending when this began, until the longest list is short, or has none of them. */
static void
MergeAll(Relation index)
{
	uint64		ends[PENDING_LISTS];
	bool		settled = false,
				more = true;

	while (more)
	{
		MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES),
					old = MemoryContextSwitchTo(memory);
		const BloomxDirectory *directory;
		const BloomxMeta *meta;

		BloomxLockDirectory(index);
		directory = BloomxReadDirectory(index, NULL);
		meta = &directory->meta;
		/* the step that chooses the geometry gives the same rows new pages */
		for (int i = 0; i < PENDING_LISTS && !settled; i++)
			ends[i] = meta->pending[i].generation + meta->pending[i].pages;
		settled = !meta->keys.provisional;
		more = (meta->merge.segment.rows > 0 || HasOlderPages(directory, ends)) && BloomxMergeStep(index, PagesInMemory(VACUUM_STEP), PagesInMemory(VACUUM_MERGE_PAGES), VACUUM_PENDING);
		BloomxUnlockDirectory(index);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		VacuumDelayPoint();
	}
}

/*
 * Rewrites the next segment, from *number on, of which more than half is dead.
 * False if there is none.  At half, a rewrite frees at least as many pages as it
 * writes; a lower bound would write more to free less.
 */
static bool
CompactNext(Relation index, uint32 *number)
{
	BloomxDirectory *directory;

	BloomxLockDirectory(index);
	BloomxFinishMerge(index);
	directory = BloomxReadDirectory(index, NULL);
	while (*number < directory->meta.segments && directory->segments[*number].dead <= directory->segments[*number].rows / 2)
		++*number;
	/* it keeps its number, and is looked at again: after a rewrite nothing in it is dead */
	if (*number < directory->meta.segments)
	{
		if (BloomxStartCompaction(index, directory, *number))
			BloomxFinishMerge(index);
		else
			BloomxExtendIndex(index, EXTENSION_PAGES);
	}
	BloomxUnlockDirectory(index);
	return *number < directory->meta.segments;
}

/* Rewrites one segment after the other, each in memory of its own. */
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

/* Merges segments, no more often than there are some now: inserts may bring others. */
static void
MergeSegments(Relation index)
{
	bool		more = true;

	for (uint32 left = PG_UINT32_MAX; more && left > 0; left--)
	{
		MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES),
					old = MemoryContextSwitchTo(memory);

		BloomxLockDirectory(index);
		if (left == PG_UINT32_MAX)
			left = BloomxReadDirectory(index, NULL)->meta.segments + 1;
		more = BloomxMergeSegments(index);
		BloomxUnlockDirectory(index);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(memory);
		VacuumDelayPoint();
	}
}

/* Entries of blocks do not know how many of their rows are alive; but they are those of the table. */
static void
CountTuples(IndexVacuumInfo *info, const BloomxDirectory *directory, IndexBulkDeleteResult *stats)
{
	blx_geometry geometry = directory->geometry;

	if (directory->meta.keys.of_values)
	{
		stats->num_index_tuples = Max(info->num_heap_tuples, 0);
		stats->estimated_count = info->estimated_count;
		return;
	}
	stats->num_index_tuples = directory->pending_words / (directory->pending_words == 0 ? 1 : BloomxPendingWords(&geometry));
	for (uint32 i = 0; i < directory->meta.segments; i++)
		stats->num_index_tuples += directory->segments[i].rows - directory->segments[i].dead;
}

IndexBulkDeleteResult *
bloomxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	MemoryContext memory,
				old;
	BloomxDirectory *directory;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	MergeAll(index);
	if (info->num_heap_tuples >= 0)
		BloomxRebuildEntries(index, info->num_heap_tuples);
	CompactSegments(index);
	MergeSegments(index);
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx vacuum", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(memory);
	BloomxLockDirectory(index);
	stats->pages_free = BloomxCollectFreePages(index);
	directory = BloomxReadDirectory(index, NULL);
	BloomxUnlockDirectory(index);

	stats->num_pages = RelationGetNumberOfBlocks(index);
	CountTuples(info, directory, stats);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return stats;
}
