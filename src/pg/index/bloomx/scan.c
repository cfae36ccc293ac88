/*
 * scan.c - bitmap scans: in each segment the AND of the slices that a key
 * has, then the TIDs of the rows that are left.
 *
 * How a scan goes on while the index changes is told in am.h.
 */
#include "pg/index/bloomx/index.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/functions/functions.h"

/* What one scan works with. */
typedef struct Search
{
	Relation	index;
	Snapshot	snapshot;
	Structure  *structure;
	Condition  *conditions;		/* all of which must hold */
	int			nconditions;
	TIDBitmap  *bitmap;
	int64		found;

	/* of the present segment: rows that meet the conditions, any of the keys, one key */
	uint64		rows[PAGE_WORDS];
	uint64		any[PAGE_WORDS];
	uint64		one[PAGE_WORDS];
} Search;

/* ---- one segment ---- */

static void
SetRows(uint64 *rows, uint32 n)
{
	memset(rows, 0xff, SliceWords(n) * sizeof(uint64));
	if (n % 64 != 0)
		rows[n / 64] = ~UINT64CONST(0) >> (64 - n % 64);
}

/* Takes out the rows that do not have the key; *left says whether some are left.  False when the segment is gone. */
static bool
AndKey(Search *search, const Segment *segment, const uint32 *slices, uint32 parts, uint64 *rows, bool *left)
{
	for (uint32 i = 0; i < parts; i++)
	{
		Buffer		buffer;
		const uint64 *slice = LockSlice(search->index, segment, slices[i], &buffer);

		if (slice == NULL)
			return false;
		*left = blx_and_slice(rows, slice, SliceWords(segment->rows)) != 0;
		UnlockReleaseBuffer(buffer);
		if (!*left)
			break;
	}
	return true;
}

static bool
AndAllKeys(Search *search, const Segment *segment, const Condition *condition, bool *left)
{
	*left = true;
	for (uint32 key = 0; key < condition->keys && *left; key++)
		if (!AndKey(search, segment, condition->slices + (Size) key * condition->parts, condition->parts, search->rows, left))
			return false;
	return true;
}

/* Each key begins with the rows that are left: slices are read no further than needed. */
static bool
AndAnyKey(Search *search, const Segment *segment, const Condition *condition, bool *left)
{
	uint32		words = SliceWords(segment->rows);

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
AddTids(Search *search, ItemPointerData *tids, int n)
{
	for (int i = 0; i < n; i++)
		if (ItemPointerGetOffsetNumber(&tids[i]) > MaxHeapTuplesPerPage)
			ReportCorruption(search->index, "a row address is none");
	tbm_add_tuples(search->bitmap, tids, n, true);
	search->found += n;
}

/* Of a page of TIDs only those are touched that are wanted: where one row in a hundred is, copying pages cost more than the slices. */
static bool
EmitRows(Search *search, const Segment *segment)
{
	ItemPointerData found[PAGE_TIDS];
	const ItemPointerData *tids = NULL;
	Buffer		buffer = InvalidBuffer;
	uint32		page = InvalidBlockNumber;
	int			n = 0;

	for (uint32 word = 0; word < SliceWords(segment->rows); word++)
		for (uint64 rows = search->rows[word]; rows != 0; rows &= rows - 1)
		{
			uint32		row = 64 * word + pg_rightmost_one_pos64(rows);

			if (row / PAGE_TIDS != page)
			{
				if (BufferIsValid(buffer))
					UnlockReleaseBuffer(buffer);
				AddTids(search, found, n);
				n = 0;
				page = row / PAGE_TIDS;
				tids = LockTids(search->index, segment, page, search->snapshot, &buffer);
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

static void
PrefetchSegment(Search *search, const Segment *segment)
{
	for (int i = 0; i < search->nconditions; i++)
	{
		const Condition *condition = &search->conditions[i];

		if (!condition->anything && condition->keys > 0)
			for (uint32 part = 0; part < condition->parts; part++)
				PrefetchBuffer(search->index, MAIN_FORKNUM, SliceBlock(segment, condition->slices[part]));
	}
}

static bool
SearchSegment(Search *search, const Segment *segment)
{
	bool		left = true;

	SetRows(search->rows, segment->rows);
	for (int i = 0; i < search->nconditions && left; i++)
	{
		const Condition *condition = &search->conditions[i];

		if (condition->anything)
			continue;
		if (!(condition->all ? AndAllKeys : AndAnyKey) (search, segment, condition, &left))
			return false;
	}
	return !left || EmitRows(search, segment);
}

/* ---- the index ---- */

static bool
SearchPending(Search *search)
{
	PendingReader *reader = StartPending(search->index, search->structure, search->structure->meta.pending.rows, search->snapshot);
	const uint64 *row;

	while ((row = NextPending(reader)) != NULL)
	{
		ItemPointerData tid = PendingTid(row);
		bool		meets = ItemPointerIsValid(&tid);

		for (int j = 0; j < search->nconditions && meets; j++)
			meets = SignatureMeets(row + 1, &search->conditions[j]);
		if (!meets)
			continue;
		AddTids(search, &tid, 1);
	}
	return !reader->gone;
}

/* Pending rows first: they may become a segment, but a segment's never become pending. */
static bool
SearchIndex(Search *search)
{
	const Structure *structure = search->structure;
	const Segment *next = NULL;

	if (!SearchPending(search))
		return false;
	for (uint32 i = structure->meta.segments; i-- > 0;)
	{
		const Segment *segment = next;

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

/* False when nothing can match. */
static bool
MakeConditions(Search *search, IndexScanDesc scan)
{
	search->nconditions = 0;
	search->conditions = palloc(Max(1, scan->numberOfKeys) * sizeof(Condition));
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (key->sk_flags & SK_ISNULL)
			return false;
		search->conditions[search->nconditions++] =
			MakeCondition(search->structure, DatumGetProbe(key->sk_argument), key->sk_strategy == HOLDS_ALL);
	}
	return search->structure->meta.parts > 0;
}

int64
ScanIntoBitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	MemoryContext memory = scan->opaque,
				old = MemoryContextSwitchTo(memory);
	Search	   *search = palloc0(sizeof(Search));
	uint64		changes = 0;
	int64		found;

	search->index = scan->indexRelation;
	search->snapshot = scan->xs_snapshot;
	search->bitmap = bitmap;
	pgstat_count_index_scan(scan->indexRelation);
	for (bool again = false;; again = true)
	{
		search->structure = ReadStructure(scan->indexRelation, scan->xs_snapshot);
		if (again && search->structure->meta.changes == changes)
			ReportCorruption(scan->indexRelation, "a page is something else than the directory says");
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
BeginScan(Relation index, int keys, int orderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, keys, orderbys);

	scan->opaque = AllocSetContextCreate(CurrentMemoryContext, "bloomx scan", ALLOCSET_DEFAULT_SIZES);
	return scan;
}

void
RestartScan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
EndScan(IndexScanDesc scan)
{
	MemoryContextDelete(scan->opaque);
}
