/*
 * vacuum.c - VACUUM: TIDs of removed rows become invalid, segments that are
 * mostly dead are rewritten, pages that nothing refers to become free.
 *
 * The directory lock is held for one segment at a time, or for some pages of
 * the list of pending rows, and never while VACUUM sleeps: inserts do not need
 * it, but merges do.  No TID is overlooked: a row that a merge moves comes into a
 * segment of a higher generation than any before, and VACUUM goes over the pending
 * rows first, and then over the segments in the order of their generations.
 */
#include "pg/index/bloomx/bloomx.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "pg/index/bloomx/build/concurrent.h"
#include "pg/index/bloomx/build/feed.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/merge.h"

/* Pending rows and what is made of them take up to six times the memory. */
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
	uint64		next;			/* segments of lower generations are done */
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
	Buffer		buffer = BloomxReadPage(removal->index, segment->start + page, SEGMENT_PAGE, segment->generation, BUFFER_LOCK_EXCLUSIVE, false);
	const ItemPointerData *tids = (ItemPointerData *) PageGetContents(BufferGetPage(buffer));

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
	Buffer		buffer = BloomxReadPage(removal->index, block, PENDING_PAGE, pending->generation + number, BUFFER_LOCK_EXCLUSIVE, false);
	const uint64 *words = (const uint64 *) PageGetContents(BufferGetPage(buffer));
	BlockNumber next;

	while (*place < Min(end, PAGE_WORDS))
	{
		const uint64 *row = words + *place;
		ItemPointerData tid = BloomxPendingTid(row);

		if (ItemPointerIsValid(&tid) && IsDead(removal, tid))
			dead[n++] = (uint32) *place;
		*place += BloomxRowWords(directory->meta.keys.of_values, row);
		if (*place > end)
			BloomxReportCorruption(removal->index, block, "A pending row is longer than its list.");
	}
	*place -= Min(*place, PAGE_WORDS);
	if (n > 0)
		ClearTids(removal->index, buffer, dead, n, sizeof(uint64));
	next = BloomxGetPageOpaque(BufferGetPage(buffer))->extra;
	UnlockReleaseBuffer(buffer);
	return next;
}

/* ---- the pass ---- */

/* A half-done merge has already copied TIDs: it is finished before any of them is marked dead. */
static BloomxDirectory *
PrepareRemoval(Relation index)
{
	BloomxFinishMerge(index);
	return BloomxReadDirectory(index, NULL);
}

/* A step that VACUUM repeats while it returns true; sleeps after each as the cost delay says. */
static void
RepeatStep(Relation index, bool (*step) (Relation index, void *arg), void *arg)
{
	bool		more;

	do
	{
		more = BloomxRunStep(index, step, arg);
		VacuumDelayPoint();
	} while (more);
}

/* How far the pass has come in a list. */
typedef struct ListPass
{
	BloomxRemoval *removal;
	int			list;
	uint64		generation;		/* of the next page */
	uint64		end;			/* pages appended later have higher generations */
	BlockNumber block;			/* that page; not known at first */
	uint64		place;			/* of the next row on it */
} ListPass;

/*
 * Goes over some pages of a list.  Since the last step the first pages may have become
 * part of a segment, and the others have another number in the list.  Their
 * generations, however, stay.
 */
static bool
RemoveFromPages(Relation index, void *arg)
{
	ListPass   *pass = arg;
	const BloomxDirectory *directory = PrepareRemoval(index);
	const BloomxPending *pending = &directory->meta.pending[pass->list];

	pass->end = Min(pass->end, pending->generation + pending->pages);
	/* begin, or go on with the first page that is still pending */
	if (pass->generation < pending->generation || pass->block == InvalidBlockNumber)
	{
		pass->generation = pending->generation;
		pass->block = pending->first;
		pass->place = 0;
	}
	if (pass->generation == pending->generation)
		pass->place = Max(pass->place, pending->skip);
	for (int i = 0; i < PENDING_STEP && pass->generation < pass->end; i++, pass->generation++)
		pass->block = RemoveFromPendingPage(pass->removal, directory, pass->list, (uint32) (pass->generation - pending->generation), pass->block, &pass->place);
	return pass->generation < pass->end;
}

/* The slot of the first segment of a generation from that one on, or the number of slots. */
static uint32
FindSegment(const BloomxDirectory *directory, uint64 generation)
{
	uint32		n = directory->meta.segments,
				found = n;

	for (uint32 i = 0; i < n; i++)
		if (directory->segments[i].rows > 0 && directory->segments[i].generation >= generation &&
			(found == n || directory->segments[i].generation < directory->segments[found].generation))
			found = i;
	return found;
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

/*
 * Goes over the next segment.  False if there is none.  Here no merge is under way, so
 * every later segment will have a higher generation than this one.
 */
static bool
RemoveFromNextSegment(Relation index, void *arg)
{
	BloomxRemoval *removal = arg;
	const BloomxDirectory *directory = PrepareRemoval(index);
	uint32		number = FindSegment(directory, removal->next),
				dead;

	if (number == directory->meta.segments)
		return false;
	dead = RemoveFromSegment(removal, &directory->segments[number]);
	if (dead != directory->segments[number].dead)
		BloomxNoteDead(index, number, dead);
	removal->next = directory->segments[number].generation + 1;
	return true;
}

IndexBulkDeleteResult *
bloomxbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	Relation	index = info->index;
	BloomxRemoval removal = {.index = index, .callback = callback, .state = state};

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	for (int list = 0; list < PENDING_LISTS; list++)
	{
		ListPass	pass = {.removal = &removal, .list = list, .end = PG_UINT64_MAX, .block = InvalidBlockNumber};

		RepeatStep(index, RemoveFromPages, &pass);
	}
	RepeatStep(index, RemoveFromNextSegment, &removal);
	stats->tuples_removed += removal.removed;
	if (!index->rd_index->indisvalid)
		BloomxReportTidFile(index, callback, state);
	return stats;
}

/* ---- after the pass ---- */

/*
 * Makes rows of the longest list segments, until it is short: no more often than takes
 * all that were pending at first, since inserts may bring others.
 */
static bool
FlushNextPending(Relation index, void *arg)
{
	uint32	   *left = arg,
				pages = (uint32) Max(64, Min(FLUSH_PAGES, BloomxVacuumMemory() / MEMORY_PER_PAGE));

	BloomxFinishMerge(index);
	if (*left == PG_UINT32_MAX)
		*left = PENDING_LISTS + BloomxAllPendingPages(&BloomxReadDirectory(index, NULL)->meta) / pages;
	return BloomxMergeStep(index, VACUUM_STEP, pages, VACUUM_PENDING) && --*left > 0;
}

/*
 * Rewrites the next segment, from *number on, of which more than half is dead.
 * False if there is none.  At half, a rewrite frees at least as many pages as it
 * writes; a lower bound would write more to free less.
 */
static bool
CompactNext(Relation index, void *arg)
{
	uint32	   *number = arg;
	const BloomxDirectory *directory = PrepareRemoval(index);

	while (*number < directory->meta.segments && directory->segments[*number].dead <= directory->segments[*number].rows / 2)
		++*number;
	if (*number == directory->meta.segments)
		return false;
	/* it keeps its number, and is looked at again: after a rewrite nothing in it is dead */
	if (BloomxStartCompaction(index, directory, *number))
		BloomxFinishMerge(index);
	else
		BloomxExtendIndex(index, EXTENSION_PAGES);
	return true;
}

/* Merges segments, no more often than there were some at first: inserts may bring others. */
static bool
MergeNextSegments(Relation index, void *arg)
{
	uint32	   *left = arg;

	if (*left == PG_UINT32_MAX)
		*left = BloomxReadDirectory(index, NULL)->meta.segments + 1;
	return BloomxMergeSegments(index) && --*left > 0;
}

typedef struct Cleanup
{
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
} Cleanup;

/* The last step: collects pages without an owner, and counts. */
static bool
FinishCleanup(Relation index, void *arg)
{
	const IndexVacuumInfo *info = ((Cleanup *) arg)->info;
	IndexBulkDeleteResult *stats = ((Cleanup *) arg)->stats;
	const BloomxDirectory *directory;

	stats->pages_free = BloomxCollectFreePages(index);
	stats->num_pages = RelationGetNumberOfBlocks(index);
	directory = BloomxReadDirectory(index, NULL);
	if (directory->meta.keys.of_values)
	{
		/* range entries do not count live rows: the table's are reported */
		stats->num_index_tuples = Max(info->num_heap_tuples, 0);
		stats->estimated_count = info->estimated_count;
		return false;
	}
	stats->num_index_tuples = (double) BloomxCountPendingRows(index, directory);
	for (uint32 i = 0; i < directory->meta.segments; i++)
		stats->num_index_tuples += directory->segments[i].rows - directory->segments[i].dead;
	return false;
}

IndexBulkDeleteResult *
bloomxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	uint32		number = 0,
				flushes = PG_UINT32_MAX,
				merges = PG_UINT32_MAX;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	RepeatStep(index, FlushNextPending, &flushes);
	if (info->num_heap_tuples >= 0)
		BloomxRebuildEntries(index, info->num_heap_tuples);
	RepeatStep(index, CompactNext, &number);
	RepeatStep(index, MergeNextSegments, &merges);
	(void) BloomxRunStep(index, FinishCleanup, &(Cleanup) {.info = info, .stats = stats});
	if (bloomx_feed != NULL && !BloomxIsOfFilters(index))
		bloomx_feed->vacuum(info);
	return stats;
}
