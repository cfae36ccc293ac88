/*
 * scan.c - bitmap scans: in each segment the AND of the slices of a key, then
 * the TIDs of the rows that are left.
 *
 * index.h explains how a scan goes on while the index changes.
 */
#include "pg/index/bloomx/index.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/functions/probe.h"

/* What one scan works with. */
typedef struct BloomxSearch
{
	Relation	index;
	Snapshot	snapshot;
	BloomxStructure *structure;
	BloomxCondition *conditions;	/* all of them must hold */
	int			nconditions;
	TIDBitmap  *bitmap;
	int64		found;

	/* one bit per row of the present segment: rows that meet the conditions, any of the keys, one key */
	uint64		rows[PAGE_WORDS];
	uint64		any[PAGE_WORDS];
	uint64		one[PAGE_WORDS];
} BloomxSearch;

/* ---- one segment ---- */

/* All rows: n ones. */
static void
SetRows(uint64 *rows, uint32 n)
{
	memset(rows, 0xff, BloomxSliceWords(n) * sizeof(uint64));
	if (n % 64 != 0)
		rows[n / 64] = ~UINT64CONST(0) >> (64 - n % 64);
}

/*
 * Takes out the rows that do not have the key; *left tells whether some are left.
 * False if the segment is gone.  The parts of a key are independent, so most rows
 * are gone after a few slices, and the others are not read.
 */
static bool
AndKey(BloomxSearch *search, const BloomxSegment *segment, const uint32 *slices, uint32 parts, uint64 *rows, bool *left)
{
	for (uint32 i = 0; i < parts; i++)
	{
		Buffer		buffer;
		const uint64 *slice = BloomxLockSlice(search->index, segment, slices[i], &buffer);

		if (slice == NULL)
			return false;
		*left = blx_and_slice(rows, slice, BloomxSliceWords(segment->rows)) != 0;
		UnlockReleaseBuffer(buffer);
		if (!*left)
			break;
	}
	return true;
}

static bool
AndAllKeys(BloomxSearch *search, const BloomxSegment *segment, const BloomxCondition *condition, bool *left)
{
	*left = true;
	for (uint32 key = 0; key < condition->keys && *left; key++)
	{
		if (!AndKey(search, segment, condition->slices + (Size) key * condition->parts, condition->parts, search->rows, left))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Each key starts with the rows that the conditions before it have left, so that few slices are read. */
static bool
AndAnyKey(BloomxSearch *search, const BloomxSegment *segment, const BloomxCondition *condition, bool *left)
{
	uint32		words = BloomxSliceWords(segment->rows);

	*left = false;
	memset(search->any, 0, words * sizeof(uint64));
	for (uint32 key = 0; key < condition->keys; key++)
	{
		bool		some = true;

		memcpy(search->one, search->rows, words * sizeof(uint64));
		if (!AndKey(search, segment, condition->slices + (Size) key * condition->parts, condition->parts, search->one, &some))
			return false;
		for (uint32 i = 0; i < words && some; i++)
			search->any[i] |= search->one[i];
		*left |= some;
		CHECK_FOR_INTERRUPTS();
	}
	memcpy(search->rows, search->any, words * sizeof(uint64));
	return true;
}

static void
AddTids(BloomxSearch *search, ItemPointerData *tids, int n)
{
	for (int i = 0; i < n; i++)
		if (ItemPointerGetOffsetNumber(&tids[i]) > MaxHeapTuplesPerPage)
			BloomxReportCorruption(search->index, "a row address is none");
	tbm_add_tuples(search->bitmap, tids, n, true);
	search->found += n;
}

/*
 * Adds the TIDs of the rows that are left.  Reads single TIDs from the locked
 * page: copying whole pages cost more than the slices if 1 % of the rows match
 * (a million rows: 12.3 instead of some 8 milliseconds per lookup).
 */
static bool
EmitRows(BloomxSearch *search, const BloomxSegment *segment)
{
	ItemPointerData found[PAGE_TIDS];
	const ItemPointerData *tids = NULL;
	Buffer		buffer = InvalidBuffer;
	uint32		page = InvalidBlockNumber;
	int			n = 0;

	/* row by row, ascending */
	for (uint32 word = 0; word < BloomxSliceWords(segment->rows); word++)
		for (uint64 rows = search->rows[word]; rows != 0; rows &= rows - 1)
		{
			uint32		row = 64 * word + pg_rightmost_one_pos64(rows);

			/* its TID is on another page: hand on those of the last one, without its lock */
			if (row / PAGE_TIDS != page)
			{
				if (BufferIsValid(buffer))
					UnlockReleaseBuffer(buffer);
				AddTids(search, found, n);
				n = 0;
				page = row / PAGE_TIDS;
				tids = BloomxLockTids(search->index, segment, page, search->snapshot, &buffer);
				if (tids == NULL)
					return false;
			}
			if (ItemPointerIsValid(&tids[row % PAGE_TIDS]))
				found[n++] = tids[row % PAGE_TIDS];
		}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	AddTids(search, found, n);
	return true;
}

/* Prefetches the slices of the first key of each condition: they are read next, the others perhaps not at all. */
static void
PrefetchSegment(BloomxSearch *search, const BloomxSegment *segment)
{
	for (int i = 0; i < search->nconditions; i++)
	{
		const BloomxCondition *condition = &search->conditions[i];

		if (!condition->anything && condition->keys > 0)
			for (uint32 part = 0; part < condition->parts; part++)
				PrefetchBuffer(search->index, MAIN_FORKNUM, BloomxSliceBlock(segment, condition->slices[part]));
	}
}

static bool
SearchSegment(BloomxSearch *search, const BloomxSegment *segment)
{
	bool		left = true;

	SetRows(search->rows, segment->rows);
	for (int i = 0; i < search->nconditions && left; i++)
	{
		const BloomxCondition *condition = &search->conditions[i];

		if (condition->anything)
			continue;
		if (!(condition->all ? AndAllKeys : AndAnyKey) (search, segment, condition, &left))
			return false;
	}
	return !left || EmitRows(search, segment);
}

/* ---- the index ---- */

static bool
SearchPending(BloomxSearch *search)
{
	const BloomxStructure *structure = search->structure;
	BloomxPendingReader *reader = BloomxStartPending(search->index, structure, structure->pending_rows, search->snapshot);
	const uint64 *row;

	while ((row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);
		bool		meets = ItemPointerIsValid(&tid);

		for (int j = 0; j < search->nconditions && meets; j++)
			meets = BloomxSignatureMeets(row + 1, &search->conditions[j]);
		if (!meets)
			continue;
		AddTids(search, &tid, 1);
	}
	return !reader->gone;
}

/*
 * Pending rows first: they may become part of a segment during the scan, but a
 * row of a segment never becomes pending.  Segments from the last one on, each
 * searched after the next one's slices have been prefetched.
 */
static bool
SearchIndex(BloomxSearch *search)
{
	const BloomxStructure *structure = search->structure;
	const BloomxSegment *next = NULL;

	if (!SearchPending(search))
		return false;
	for (uint32 i = structure->meta.segments; i-- > 0;)
	{
		const BloomxSegment *segment = next;

		if (structure->segments[i].rows == 0)
			continue;
		next = &structure->segments[i];
		PrefetchSegment(search, next);
		if (segment != NULL && !SearchSegment(search, segment))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return next == NULL || SearchSegment(search, next);
}

/* The keys of a condition.  The index knows the type of those that are texts. */
static const blx_filter *
ProbeOf(ScanKey key, const BloomxStructure *structure)
{
	KeyType		untyped;

	if (key->sk_strategy == HOLDS_ALL_STRATEGY || key->sk_strategy == HOLDS_ANY_STRATEGY)
		return DatumGetProbe(key->sk_argument);
	LookupTextKey(&untyped, key->sk_collation, CurrentMemoryContext);
	return ProbeOfTexts(&untyped, key->sk_argument, key->sk_strategy != HOLDS_TEXT_STRATEGY, &structure->identity);
}

/* False if nothing can match. */
static bool
MakeConditions(BloomxSearch *search, IndexScanDesc scan)
{
	search->nconditions = 0;
	search->conditions = palloc(Max(1, scan->numberOfKeys) * sizeof(BloomxCondition));
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		bool		any = key->sk_strategy == HOLDS_ANY_STRATEGY || key->sk_strategy == HOLDS_ANY_TEXT_STRATEGY;

		if (key->sk_flags & SK_ISNULL)
			return false;
		search->conditions[search->nconditions++] =
			BloomxMakeCondition(search->structure, ProbeOf(key, search->structure), !any);
	}
	return search->structure->meta.keys.parts > 0;
}

int64
bloomxgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	MemoryContext memory = scan->opaque,
				old = MemoryContextSwitchTo(memory);
	BloomxSearch *search = palloc0(sizeof(BloomxSearch));
	uint64		changes = 0;
	int64		found;

	search->index = scan->indexRelation;
	search->snapshot = scan->xs_snapshot;
	search->bitmap = bitmap;
	pgstat_count_index_scan(scan->indexRelation);

	/* from the metapage again whenever a page has been used for something else; TIDs found twice do no harm */
	for (bool again = false;; again = true)
	{
		search->structure = BloomxReadStructure(scan->indexRelation, scan->xs_snapshot);
		/* a wrong page although nothing has changed is damage, and would be found for ever */
		if (again && search->structure->meta.changes == changes)
			BloomxReportCorruption(scan->indexRelation, "a page is something else than the directory says");
		changes = search->structure->meta.changes;
		search->found = 0;
		if (!MakeConditions(search, scan) || SearchIndex(search))
			break;
	}
	found = search->found;
	MemoryContextSwitchTo(old);
	MemoryContextReset(memory);
	return found;
}

/* ---- begin, restart, end ---- */

IndexScanDesc
bloomxbeginscan(Relation index, int keys, int orderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, keys, orderbys);

	scan->opaque = AllocSetContextCreate(CurrentMemoryContext, "bloomx scan", ALLOCSET_DEFAULT_SIZES);
	return scan;
}

void
bloomxrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
bloomxendscan(IndexScanDesc scan)
{
	MemoryContextDelete(scan->opaque);
}
