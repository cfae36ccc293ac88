/*
 * vacuum.c - VACUUM: TIDs of removed rows become invalid, segments that are
 * mostly dead are rewritten, pages that nothing refers to become free.
 *
 * The directory lock is held for the lists of pending rows, and then for one segment
 * at a time, and never while VACUUM sleeps: inserts do not need it, but merges do.
 * No TID is overlooked: a row that a merge moves comes into a segment of a higher
 * generation than any before, and VACUUM goes over the pending rows first, and then
 * over the segments in the order of their generations.
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

/* Makes the rows at n places of a page of pending rows invalid. */
static void
RemoveFromPendingPage(Relation index, BlockNumber block, uint64 generation, const uint32 *places, uint32 n)
{
	Buffer		buffer;

	if (n == 0)
		return;
	buffer = BloomxReadPage(index, block, PENDING_PAGE, generation, BUFFER_LOCK_EXCLUSIVE, false);
	ClearTids(index, buffer, places, n, sizeof(uint64));
	UnlockReleaseBuffer(buffer);
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

/* Goes over the rows of a list; those that begin on one page of it are removed together. */
static void
RemoveFromList(BloomxRemoval *removal, const BloomxDirectory *directory, int list)
{
	const BloomxPending *pending = &directory->meta.pending[list];
	BlockNumber *blocks = BloomxPendingBlocks(removal->index, directory, list, pending->pages);
	BloomxPendingReader *reader = BloomxStartPendingList(removal->index, directory, list);
	uint64		number = 0;		/* of the page of the last row */
	uint32		dead[PAGE_WORDS],
				n = 0;
	const uint64 *row;

	while ((row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);
		uint64		place = pending->skip + directory->list_words[list] - reader->left - reader->n;	/* in words of the pages */

		if (place / PAGE_WORDS != number)
		{
			RemoveFromPendingPage(removal->index, blocks[number], pending->generation + number, dead, n);
			number = place / PAGE_WORDS;
			n = 0;
		}
		if (ItemPointerIsValid(&tid) && IsDead(removal, tid))
			dead[n++] = place % PAGE_WORDS;
	}
	RemoveFromPendingPage(removal->index, blocks[number], pending->generation + number, dead, n);
}

/* The pending rows in one step.  Those that come later are alive. */
static bool
RemoveFromPending(Relation index, void *arg)
{
	const BloomxDirectory *directory = PrepareRemoval(index);

	for (int list = 0; list < PENDING_LISTS; list++)
		if (directory->meta.pending[list].pages > 0)
			RemoveFromList(arg, directory, list);
	return false;
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
	RepeatStep(index, RemoveFromPending, &removal);
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

/* Rewrites or merges segments, each no more often than there were some at first: inserts may bring others. */
static bool
MergeNextSegments(Relation index, void *arg)
{
	uint32	   *left = arg;

	if (*left == PG_UINT32_MAX)
		*left = 2 * BloomxReadDirectory(index, NULL)->meta.segments + 1;
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
	uint32		flushes = PG_UINT32_MAX,
				merges = PG_UINT32_MAX;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	RepeatStep(index, FlushNextPending, &flushes);
	if (info->num_heap_tuples >= 0)
		BloomxRebuildEntries(index, info->num_heap_tuples);
	RepeatStep(index, MergeNextSegments, &merges);
	(void) BloomxRunStep(index, FinishCleanup, &(Cleanup) {.info = info, .stats = stats});
	if (bloomx_feed != NULL && !BloomxIsOfFilters(index))
		bloomx_feed->vacuum(info);
	return stats;
}
