/*
 * merge.c - from pending rows and small segments to larger ones.
 *
 * When the pending rows reach the limit they become a segment (flush.c).  If there are
 * FAN_OUT - 1 segments that are no larger, these are merged with it, and so on
 * with the next larger ones.  So a row is rewritten once per power of FAN_OUT,
 * and a lookup meets few small segments.
 *
 * A merge may write gigabytes.  So it is done in steps of a few pages, by the
 * inserts that find the list too long and by VACUUM.  The metapage says what becomes
 * part of the new segment, which pages are reserved for it, for which the index first
 * becomes longer step by step, and how many are written (BloomxMerge).  When the new segment is complete, one WAL record
 * puts it into the directory and takes out what it replaces.
 *
 * An interrupt, an error or a crash costs the work of the present step.
 */
#include "pg/index/bloomx/segment/merge.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"

/*
 * A larger fan-out rewrites rows less often, but leaves more small segments,
 * each of which costs every lookup a page per slice.  With 8 a row is rewritten
 * about five times until its segment is full, and there are at most seven
 * segments of each order of size.
 */
#define FAN_OUT 8

/*
 * VACUUM leaves as few segments as it may: lookups should be as fast as after CREATE
 * INDEX.  But of a large segment not every VACUUM makes a new one: the others must have
 * at least this part of its rows, and until then they are merged with one another.
 */
#define FAN_OUT_OF_VACUUM 2
#define LEAST_PART 16

Size
BloomxVacuumMemory(void)
{
	int			kilobytes = AmAutoVacuumWorkerProcess() && autovacuum_work_mem != -1 ? autovacuum_work_mem : maintenance_work_mem;

	return kilobytes * (Size) 1024;
}

/* Ends a merge whose segment, if it has rows, is written. */
static void
EndMerge(Relation index, const BloomxDirectory *directory, const BloomxMerge *merge)
{
	BloomxUpdateDirectory(index, directory, &(BloomxUpdate) {.results = &merge->segment, .n = merge->segment.rows > 0,
		.sources = merge->source, .nsources = merge->sources});
}

/* ---- what to merge ---- */

static bool
IsChosen(const uint32 *chosen, uint32 n, uint32 slot)
{
	for (uint32 i = 0; i < n; i++)
		if (chosen[i] == slot)
			return true;
	return false;
}

/* True if the segment has that number of slices and no more rows. */
static bool
MayMerge(const BloomxDirectory *directory, uint32 i, uint32 slices, uint32 rows)
{
	const BloomxSegment *segment = &directory->segments[i];

	return segment->rows > 0 && segment->rows <= rows && segment->slices == slices;
}

/*
 * Chooses the segments of one page of the directory that are merged with `rows`
 * other rows of as many slices: writes their slots to `chosen`, after the n that
 * are chosen already, and returns how many there are.
 *
 * In each round the merge has `rows` rows so far, and the segments that are no
 * larger are counted.  If there are enough for the fan-out, they are taken, and
 * the next round asks the same for the larger merge.
 */
static uint32
ChooseSegments(const BloomxDirectory *directory, uint32 fan_out, uint32 page, uint32 slices, uint32 rows, uint32 *chosen, uint32 n)
{
	uint32		first = page * DIRECTORY_SEGMENTS,
				last = Min(directory->meta.segments, first + DIRECTORY_SEGMENTS),
				before;

	do
	{
		uint32		limit = rows,
					total = 0,
					found = 0;

		/* count the segments that are no larger than the merge, those already chosen included */
		before = n;
		for (uint32 i = first; i < last; i++)
			if (MayMerge(directory, i, slices, limit))
				found++;
		if (found - n < fan_out - 1)
			break;

		/* take those that are not chosen yet, as far as the result stays a segment */
		for (uint32 i = first; i < last && n < MAX_MERGED; i++)
		{
			const BloomxSegment *segment = &directory->segments[i];

			if (!MayMerge(directory, i, slices, limit) || IsChosen(chosen, before, i) ||
				rows + total + segment->rows > MAX_SEGMENT_ROWS)
				continue;
			chosen[n++] = i;
			total += segment->rows;
		}
		rows += total;
	} while (n > before);
	return n;
}

/*
 * True if a segment may be rewritten for others that are merged with it.  VACUUM does
 * that also for few, if they have a part of its rows, or it takes no more than a step.
 */
static bool
PaysOff(const BloomxDirectory *directory, uint32 fan_out, uint32 i, const uint32 *others, uint32 n)
{
	const BloomxSegment *segment = &directory->segments[i];
	uint32		rows = 0;

	for (uint32 j = 0; j < n; j++)
		rows += directory->segments[others[j]].rows;
	return fan_out == FAN_OUT || rows > segment->rows / LEAST_PART || BloomxSegmentPages(segment) <= VACUUM_STEP;
}

/*
 * Chooses segments that become one: each of them is asked how many of as many slices
 * could be merged with it.  0 sources: none.
 */
static BloomxMerge
PlanMergeOfSegments(const BloomxDirectory *directory, uint32 fan_out)
{
	BloomxMerge merge = {.sources = 0};
	uint32		chosen[MAX_MERGED];

	for (uint32 i = 0; i < directory->meta.segments; i++)
	{
		const BloomxSegment *segment = &directory->segments[i];
		uint32		n;

		if (!MayMerge(directory, i, segment->slices, segment->rows))
			continue;
		chosen[0] = i;
		n = ChooseSegments(directory, fan_out, i / DIRECTORY_SEGMENTS, segment->slices, segment->rows, chosen, 1);
		if (n <= Max(1, merge.sources) || !PaysOff(directory, fan_out, i, chosen + 1, n - 1))
			continue;
		merge.sources = n;
		memcpy(merge.source, chosen, n * sizeof *chosen);
	}
	return merge;
}

/*
 * What VACUUM merges: one segment is written again, without its dead rows, if more than
 * half of them are dead; then others become one.  At half, a rewrite frees at least as
 * many pages as it writes; a lower bound would write more to free less.
 */
static BloomxMerge
PlanMergeOfVacuum(const BloomxDirectory *directory)
{
	for (uint32 i = 0; i < directory->meta.segments; i++)
		if (directory->segments[i].dead > directory->segments[i].rows / 2)
			return (BloomxMerge) {.sources = 1, .source = {i}};
	return PlanMergeOfSegments(directory, FAN_OUT_OF_VACUUM);
}

/* ---- sources ---- */

/* The sources of a merge, in the order in which it names them, which is the same in each step. */
static BloomxRowSource *
Sources(Relation index, const BloomxDirectory *directory, const BloomxMerge *merge)
{
	BloomxRowSource *sources = palloc(merge->sources * sizeof(BloomxRowSource));

	for (uint32 i = 0; i < merge->sources; i++)
	{
		const BloomxSegment *segment = &directory->segments[merge->source[i]];

		sources[i] = (BloomxRowSource) {.tids = BloomxReadAllTids(index, segment), .rows = segment->rows, .segment = segment,
		.tuples = segment->tuples - Min(segment->tuples, segment->dead)};
	}
	return sources;
}

/* ---- steps ---- */

/* Begins a merge, or ends it at once if no row is alive. */
static void
StartMerge(Relation index, const BloomxDirectory *directory, BloomxMerge *merge)
{
	BloomxRowSource *sources = Sources(index, directory, merge);
	BloomxMetaChange change;

	merge->segment.rows = BloomxCountLive(sources, merge->sources);
	merge->segment.slices = directory->segments[merge->source[0]].slices;
	/* dead entries of values are of one row each */
	merge->segment.tuples = directory->meta.keys.of_values ? 0 : merge->segment.rows;
	for (uint32 i = 0; i < merge->sources && directory->meta.keys.of_values; i++)
		merge->segment.tuples += sources[i].tuples;
	if (merge->segment.rows == 0)
	{
		EndMerge(index, directory, merge);
		return;
	}
	/* from now on a merge is under way, whoever continues it; its pages are still to be reserved */
	merge->segment.start = META_BLOCK;
	merge->segment.generation = BloomxStartMetaChange(&change, index)->next_generation++;
	change.meta->merge = *merge;
	BloomxFinishMetaChange(&change);
}

/*
 * Reserves the pages of the merge under way.  False if too few are free and it takes more
 * than a step: then to get some of them was the step.
 */
static bool
ReservePages(Relation index, uint32 total, uint32 pages)
{
	for (;;)
	{
		BloomxMetaChange change;
		BlockNumber start = BloomxTakeFreePages(BloomxStartMetaChange(&change, index), total);

		if (start != InvalidBlockNumber)
		{
			change.meta->merge.segment.start = start;
			BloomxFinishMetaChange(&change);
			return true;
		}
		BloomxAbortMetaChange(&change);
		BloomxExtendIndex(index, pages);
		if (total > pages)
			return false;
	}
}

static void
NoteProgress(Relation index, uint32 written)
{
	BloomxMetaChange change;

	BloomxStartMetaChange(&change, index)->merge.written = written;
	BloomxFinishMetaChange(&change);
}

/* Reserves or writes the next pages of the merge under way; with the last one the segment enters the directory. */
static void
ContinueMerge(Relation index, const BloomxDirectory *directory, uint32 pages)
{
	const BloomxMerge *merge = &directory->meta.merge;
	uint32		total = BloomxSegmentPages(&merge->segment),
				to = Min(total, merge->written + pages);

	if (merge->segment.start == META_BLOCK)
	{
		if (!ReservePages(index, total, pages))
			return;
		directory = BloomxReadDirectory(index, NULL);
		merge = &directory->meta.merge;
	}
	BloomxWritePages(index, Sources(index, directory, merge), merge->sources, &merge->segment, merge->written, to);
	/* after a crash here the same pages are written again */
	if (to < total)
		NoteProgress(index, to);
	else
		EndMerge(index, directory, merge);
}

bool
BloomxMergeStep(Relation index, uint32 pages, uint32 most, uint32 limit)
{
	BloomxDirectory *directory = BloomxReadDirectory(index, NULL);
	BloomxMerge merge;
	int			list = BloomxLongestList(directory);

	/* what somebody has begun comes first */
	if (directory->meta.merge.segment.rows > 0)
	{
		ContinueMerge(index, directory, pages);
		return true;
	}
	/* the list becomes segments; then a merge of those that are due begins */
	if (!BloomxListIsTooLong(index, &directory->meta, list, directory->list_words[list], limit) ||
		!BloomxFlushPending(index, directory, list, most))
		return false;
	directory = BloomxReadDirectory(index, NULL);
	merge = PlanMergeOfSegments(directory, FAN_OUT);
	if (merge.sources == 0)
		return true;
	StartMerge(index, directory, &merge);
	/* a merge that fits into one step is done in this one */
	if (merge.segment.rows > 0 && BloomxSegmentPages(&merge.segment) <= pages)
		ContinueMerge(index, BloomxReadDirectory(index, NULL), pages);
	return true;
}

bool
BloomxMergeSegments(Relation index)
{
	BloomxDirectory *directory;
	BloomxMerge merge;

	BloomxFinishMerge(index);
	directory = BloomxReadDirectory(index, NULL);
	merge = PlanMergeOfVacuum(directory);
	if (merge.sources == 0)
		return false;
	StartMerge(index, directory, &merge);
	BloomxFinishMerge(index);
	return true;
}

void
BloomxFinishMerge(Relation index)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx merge", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	BloomxDirectory *directory;

	for (;;)
	{
		directory = BloomxReadDirectory(index, NULL);
		if (directory->meta.merge.segment.rows == 0)
			break;
		ContinueMerge(index, directory, VACUUM_STEP);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}
