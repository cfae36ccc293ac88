/*
 * scan.c - bitmap scans: in each segment the AND of the slices of a key, then
 * the TIDs of the rows that are left.
 *
 * README explains how a scan goes on while the index changes.
 */
#include "pg/index/bloomx/bloomx.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/table.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/functions/functions.h"
#include "pg/index/bloomx/condition/scan_condition.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/segment/segment.h"
#include "pg/value/value.h"

/* What a scan keeps from its beginning to its end. */
typedef struct BloomxScan
{
	Relation	heap;
	BloomxColumns *columns;		/* of values; NULL: the index is of filters */

	/*
	 * The length of the table, for the whole scan: nobody shortens the table while it is
	 * locked for the scan, and rows that come later are not those of its snapshot.  A
	 * serializable transaction has locked the index against these already.
	 */
	BlockNumber blocks;
	MemoryContext memory;		/* of one search */
} BloomxScan;

/* What one search works with. */
typedef struct BloomxSearch
{
	Relation	index;
	Snapshot	snapshot;
	BlockNumber blocks;			/* of the table */
	BloomxDirectory *directory;
	KeyCondition **conditions;	/* all of them must hold */
	const BloomxElements **elements;	/* of the long arrays of those that are HAS_ANY of one, or NULL */
	ScanKeyData **keys;			/* of the conditions */
	int			nconditions;
	const ScanKeyData *in_parts;	/* has an array of too many elements */
	int			first;			/* of its elements that this search has */
	int			next;			/* that the next search has; 0: there is none */
	bool		has_parts;		/* true if a condition of an element consists of parts */
	uint8	   *in;				/* takes the blocks that are found, a bit for each, whose rows are looked at then; or NULL */
	TIDBitmap  *bitmap;
	int64		found;
} BloomxSearch;

/* ---- one segment ---- */

/*
 * Takes out the rows that do not have the key, or the bit; *left tells whether some are left.
 * False if the segment is gone.  The parts of a key are independent, so most rows
 * are gone after a few slices, and the others are not read.
 */
static bool
AndLeaf(BloomxSearch *search, const BloomxSegment *segment, KeyCondition *leaf, uint64 *rows, bool *left)
{
	const BloomxKeys *keys = &search->directory->meta.keys;
	uint32		bit = (uint32) leaf->hash,
				n = leaf->kind == HAS_BIT ? 1 : keys->parts;
	const uint32 *slices = leaf->kind == HAS_BIT ? &bit : BloomxSlicesOfKey(keys, leaf, segment->slices);

	for (uint32 i = 0; i < n; i++)
	{
		Buffer		buffer;
		const uint64 *slice = BloomxLockSlice(search->index, segment, slices[i], true, &buffer);

		if (slice == NULL)
			return false;
		*left = blx_and_slice(rows, slice, BloomxSliceWords(segment->rows)) != 0;
		UnlockReleaseBuffer(buffer);
		if (!*left)
			break;
	}
	CHECK_FOR_INTERRUPTS();
	return true;
}

static bool AndCondition(BloomxSearch *search, const BloomxSegment *segment, KeyCondition *condition, uint64 *rows, bool *left);

static bool
AndAll(BloomxSearch *search, const BloomxSegment *segment, const KeyCondition *condition, uint64 *rows, bool *left)
{
	for (uint32 i = 0; i < condition->n && *left; i++)
		if (!AndCondition(search, segment, condition->parts[i], rows, left))
			return false;
	return true;
}

/*
 * Of a long array it is worth the slices only to leave some blocks out.  So if what so
 * many elements have found tells that all of them will find most of the rows, then all
 * rows are found.
 */
#define ELEMENTS_TO_JUDGE_BY 512
#define MOST_OF_THE_ROWS 0.75

static uint32
CountRows(const uint64 *rows, uint32 words)
{
	return (uint32) pg_popcount((const char *) rows, (int) (words * sizeof(uint64)));
}

static bool
WillFindMost(const uint64 *rows, const uint64 *any, uint32 words, uint32 tested, uint32 n)
{
	double		found = CountRows(any, words) / (double) CountRows(rows, words);

	return 1 - pow(1 - found, n / (double) tested) > MOST_OF_THE_ROWS;
}

/* The parts in another order, so that the first ones tell of all: the prime has no factor with their number in common. */
static uint32
Shuffled(uint32 i, uint32 n)
{
	const uint32 prime = 1000003;

	return n % prime == 0 ? i : (uint32) (i * (uint64) prime % n);
}

/*
 * Each part starts with the rows that the conditions before it have left and no part
 * has had, so that few slices are read.  is_long: the parts are the elements of an array.
 */
static bool
AndAny(BloomxSearch *search, const BloomxSegment *segment, const KeyCondition *condition, bool is_long, uint64 *rows, bool *left)
{
	uint32		words = BloomxSliceWords(segment->rows);
	uint64	   *any = palloc0(words * sizeof(uint64)),
			   *one = palloc(words * sizeof(uint64));

	*left = false;
	for (uint32 i = 0; i < condition->n; i++)
	{
		bool		some;
		uint64		open = 0;

		if (is_long && i > 0 && i % ELEMENTS_TO_JUDGE_BY == 0 && WillFindMost(rows, any, words, i, condition->n))
		{
			memcpy(any, rows, words * sizeof(uint64));
			break;
		}
		for (uint32 j = 0; j < words; j++)
			open |= one[j] = rows[j] & ~any[j];
		some = open != 0;
		if (!some)
			break;
		if (!AndCondition(search, segment, condition->parts[is_long ? Shuffled(i, condition->n) : i], one, &some))
			return false;
		for (uint32 j = 0; j < words && some; j++)
			any[j] |= one[j];
		*left |= some;
	}
	memcpy(rows, any, words * sizeof(uint64));
	pfree(any);
	pfree(one);
	return true;
}

/* Takes out the rows that do not meet the condition; on entry, and if *left is set afterwards, there are some. */
static bool
AndCondition(BloomxSearch *search, const BloomxSegment *segment, KeyCondition *condition, uint64 *rows, bool *left)
{
	check_stack_depth();
	switch (condition->kind)
	{
		case ANY_VALUE:
			return true;
		case NO_VALUE:
			memset(rows, 0, BloomxSliceWords(segment->rows) * sizeof(uint64));
			*left = false;
			return true;
		case HAS_KEY:
		case HAS_BIT:
			return segment->slices == 0 || AndLeaf(search, segment, condition, rows, left);
		case HAS_ALL:
			return AndAll(search, segment, condition, rows, left);
		case HAS_ANY:
			return AndAny(search, segment, condition, false, rows, left);
	}
	pg_unreachable();
}

/*
 * All that leaves the index.  An entry of a block stays when VACUUM has removed its
 * rows and cut off the end of the table.  The executor may not be told of such a
 * block: it prefetches what it is told, and in a serializable transaction it reads it.
 */
static void
AddTids(BloomxSearch *search, ItemPointerData *tids, int n)
{
	int			exact = 0;

	for (int i = 0; i < n; i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);
		OffsetNumber offset = ItemPointerGetOffsetNumber(&tids[i]);

		if (offset != WHOLE_BLOCK && offset > MaxHeapTuplesPerPage)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("invalid heap TID (%u,%u) in index \"%s\"", block, offset, RelationGetRelationName(search->index)),
					 errhint("REINDEX it.")));
		if (block >= search->blocks)
			continue;
		if (search->in != NULL)
		{
			search->in[block / 8] |= 1 << block % 8;
			continue;
		}
		search->found++;
		if (offset == WHOLE_BLOCK)
			tbm_add_page(search->bitmap, block);
		else
			tids[exact++] = tids[i];
	}
	if (exact > 0)
		tbm_add_tuples(search->bitmap, tids, exact, true);
}

/*
 * Adds the TIDs of the rows that are left.  Reads single TIDs from the locked
 * page: copying whole pages cost more than the slices if 1 % of the rows match
 * (a million rows: 12.3 instead of some 8 milliseconds per lookup).
 */
static bool
EmitRows(BloomxSearch *search, const BloomxSegment *segment, const uint64 *left)
{
	ItemPointerData found[PAGE_TIDS];
	const ItemPointerData *tids = NULL;
	Buffer		buffer = InvalidBuffer;
	uint32		page = InvalidBlockNumber;
	int			n = 0;

	/* row by row, ascending */
	for (uint32 word = 0; word < BloomxSliceWords(segment->rows); word++)
		for (uint64 rows = left[word]; rows != 0; rows &= rows - 1)
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
				tids = BloomxLockTids(search->index, segment, page, search->snapshot, true, &buffer);
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

/* Prefetches the slices of the first key of a condition: they are read next, the others perhaps not at all. */
static void
PrefetchCondition(BloomxSearch *search, const BloomxSegment *segment, KeyCondition *condition)
{
	const uint32 *slices;

	while ((condition->kind == HAS_ALL || condition->kind == HAS_ANY) && condition->n > 0)
		condition = condition->parts[0];
	if (condition->kind != HAS_KEY || segment->slices == 0)
		return;
	slices = BloomxSlicesOfKey(&search->directory->meta.keys, condition, segment->slices);
	for (uint32 part = 0; part < search->directory->meta.keys.parts; part++)
		PrefetchBuffer(search->index, MAIN_FORKNUM, BloomxSliceBlock(segment, slices[part]));
}

static bool
SearchSegment(BloomxSearch *search, const BloomxSegment *segment)
{
	uint64		rows[PAGE_WORDS];
	bool		left = true;

	/* all rows */
	memset(rows, 0xff, BloomxSliceWords(segment->rows) * sizeof(uint64));
	if (segment->rows % 64 != 0)
		rows[segment->rows / 64] = ~UINT64CONST(0) >> (64 - segment->rows % 64);
	for (int i = 0; i < search->nconditions && left; i++)
	{
		KeyCondition *condition = search->conditions[i];

		if (search->elements[i] != NULL && segment->slices > 0 ? !AndAny(search, segment, condition, true, rows, &left) :
			!AndCondition(search, segment, condition, rows, &left))
			return false;
	}
	return !left || EmitRows(search, segment, rows);
}

/* ---- the index ---- */

static bool
SearchPending(BloomxSearch *search)
{
	const BloomxDirectory *directory = search->directory;
	BloomxPendingReader *reader;
	const uint64 *row;

	if (directory->pending_words == 0)	/* a reader has two pages of memory */
		return true;
	reader = BloomxStartPendingUnlocked(search->index, directory, search->snapshot);
	while ((row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);
		bool		meets = ItemPointerIsValid(&tid);

		for (int j = 0; j < search->nconditions && meets; j++)
			meets = BloomxRowMeets(&directory->meta.keys, row, search->conditions[j], search->elements[j]);
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
	const BloomxDirectory *directory = search->directory;
	const BloomxSegment *next = NULL;

	/* in this order no row is between the two */
	if (!SearchPending(search))
		return false;
	for (uint32 i = directory->meta.segments; i-- > 0;)
	{
		const BloomxSegment *segment = next;

		if (directory->segments[i].rows == 0)
			continue;
		next = &directory->segments[i];
		for (int j = 0; j < search->nconditions; j++)
			PrefetchCondition(search, next, search->conditions[j]);
		if (segment != NULL && !SearchSegment(search, segment))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return next == NULL || SearchSegment(search, next);
}

/* The keys of a condition.  The index knows the type of those that are texts. */
static const blx_filter *
ProbeOf(ScanKey key, Datum argument, const BloomxDirectory *directory)
{
	KeyType		untyped;

	if (key->sk_strategy == HOLDS_ALL_STRATEGY || key->sk_strategy == HOLDS_ANY_STRATEGY)
		return CheckFilter((blx_filter *) (uintptr_t) DatumGetProbe(argument));	/* it is not only tested */
	LookupTextKey(&untyped, key->sk_collation, CurrentMemoryContext);
	return ProbeOfTexts(&untyped, argument, key->sk_strategy != HOLDS_TEXT_STRATEGY, &directory->identity);
}

static KeyCondition *
ConditionOf(BloomxSearch *search, const BloomxScan *scan, ScanKey key, Datum argument)
{
	bool		any = key->sk_strategy == HOLDS_ANY_STRATEGY || key->sk_strategy == HOLDS_ANY_TEXT_STRATEGY;

	if (scan->columns != NULL)
		return BloomxConditionOfValue(search->index, scan->columns, key, argument);
	if (key->sk_strategy == OVERLAPS_STRATEGY)
		return BloomxConditionOfOverlap(search->directory, DatumGetFilter(argument));
	return BloomxConditionOfProbe(search->directory, ProbeOf(key, argument, search->directory), !any);
}

/* From this number of elements on the executor hashes an array of constants, and a scan looks at the rows itself. */
#define LONG_ARRAY 9

/* The most elements of an array whose conditions are in memory at once: each is a leaf with its slices, in an allocation of its own, and among the BloomxElements. */
static int
MostElements(const BloomxDirectory *directory)
{
	return (int) (work_mem * (Size) 1024 / (sizeof(KeyCondition) + sizeof(KeyCondition *) + 48 + 2 * sizeof(uint32) * directory->meta.keys.parts)) + 1;
}

/*
 * column operator ANY (array).  Of an array of too many elements a search has some,
 * from search->first on, and the index is searched again for the next ones.  A second
 * such array says nothing.
 */
static KeyCondition *
ConditionOfArray(BloomxSearch *search, const BloomxScan *scan, ScanKey key, const BloomxElements **of_array)
{
	ArrayType  *array = DatumGetArrayTypeP(key->sk_argument);
	KeyCondition *condition,
			   *parts;
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)),
				first = 0,
				most = MostElements(search->directory);
	MemoryContext leaves = AllocSetContextCreate(CurrentMemoryContext, "bloomx elements", ALLOCSET_DEFAULT_SIZES),
				old;
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	BloomxElements *elements = NULL;
	Datum		value;
	bool		isnull;

	if (n > most && search->in_parts != NULL && search->in_parts != key)
		return MakeKeyCondition(ANY_VALUE, 0);
	if (n > most)
	{
		search->in_parts = key;
		first = search->first;
		search->next = first + most < n ? first + most : 0;
	}
	most = Min(n - first, most);
	condition = MakeKeyCondition(HAS_ANY, most);
	condition->n = 0;
	parts = palloc_extended(Max(1, most) * sizeof(KeyCondition), MCXT_ALLOC_HUGE);
	if (n >= LONG_ARRAY && scan->columns != NULL)
		elements = BloomxNewElements(most);
	for (int i = 0; i < first + most && array_iterate(iterator, &value, &isnull); i++)
	{
		KeyCondition *part = &parts[condition->n];

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (isnull || i < first)
			continue;
		old = MemoryContextSwitchTo(leaves);
		*part = *ConditionOf(search, scan, key, value);
		MemoryContextSwitchTo(old);
		/* what the element's condition was made of can go, unless it consists of parts */
		search->has_parts |= part->parts != NULL;
		if (!search->has_parts)
			MemoryContextReset(leaves);
		condition->parts[condition->n++] = part;
		if (part->kind != HAS_KEY)
			elements = NULL;
		if (elements != NULL)
			BloomxAddElement(elements, part->hash, value);
	}
	*of_array = elements;
	array_free_iterator(iterator);
	return condition;
}

static KeyCondition *
ConditionOfScanKey(BloomxSearch *search, const BloomxScan *scan, ScanKey key, const BloomxElements **of_array)
{
	if (key->sk_flags & SK_SEARCHNULL)
		return BloomxConditionOfNull(key->sk_attno - 1);
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return MakeKeyCondition(ANY_VALUE, 0);
	if (key->sk_flags & SK_ISNULL)	/* all operators are strict */
		return MakeKeyCondition(NO_VALUE, 0);
	if (key->sk_flags & SK_SEARCHARRAY)
		return ConditionOfArray(search, scan, key, of_array);
	return ConditionOf(search, scan, key, key->sk_argument);
}

static void
MakeConditions(BloomxSearch *search, IndexScanDesc scan)
{
	search->nconditions = scan->numberOfKeys;
	search->in_parts = NULL;
	search->next = 0;
	search->has_parts = false;
	search->conditions = palloc(Max(1, scan->numberOfKeys) * sizeof(KeyCondition *));
	search->elements = palloc0(Max(1, scan->numberOfKeys) * sizeof(BloomxElements *));
	search->keys = palloc(Max(1, scan->numberOfKeys) * sizeof(ScanKeyData *));
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		search->keys[i] = &scan->keyData[i];
		search->conditions[i] = ConditionOfScanKey(search, scan->opaque, &scan->keyData[i], &search->elements[i]);
	}
}

/* Looks for rows in the blocks that are found, if a condition is of a long array. */
static void
TakeBlocks(BloomxSearch *search, Relation heap)
{
	bool		has_elements = false;

	for (int i = 0; i < search->nconditions; i++)
		has_elements |= search->elements[i] != NULL;
	search->in = has_elements && BloomxCanFindRows(heap, search->index, search->snapshot, search->blocks) ?
		palloc_extended(search->blocks / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO) : NULL;
}

static void
FindRows(BloomxSearch *search, const BloomxScan *scan)
{
	BloomxRowsAsked asked = {
		.heap = scan->heap, .index = search->index, .snapshot = search->snapshot, .columns = scan->columns,
		.nkeys = search->nconditions, .keys = search->keys,
		.elements = search->elements, .in = search->in, .blocks = search->blocks
	};

	search->found += BloomxFindRows(&asked, search->bitmap);
}

int64
bloomxgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	const BloomxScan *ours = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(ours->memory);
	BloomxSearch search = {.index = scan->indexRelation, .snapshot = scan->xs_snapshot, .blocks = ours->blocks, .bitmap = bitmap};
	uint64		changes = 0;
	bool		again = false;	/* true if a page has been used for something else: from the metapage again */

	pgstat_count_index_scan(scan->indexRelation);
	/* TIDs found twice do no harm */
	do
	{
		MemoryContextReset(ours->memory);
		search.directory = BloomxReadDirectory(search.index, scan->xs_snapshot);
		/* a wrong page although nothing has changed is damage, and would be found for ever */
		if (again && search.directory->meta.changes == changes)
			BloomxReportCorruption(search.index, META_BLOCK, "The directory names pages that belong to something else.");
		changes = search.directory->meta.changes;
		MakeConditions(&search, scan);
		TakeBlocks(&search, ours->heap);
		again = !SearchIndex(&search);
		if (again)
			continue;
		if (search.in != NULL)
			FindRows(&search, ours);
		search.first = search.next;
	} while (again || search.first > 0);
	MemoryContextSwitchTo(old);
	MemoryContextReset(ours->memory);
	return search.found;
}

/* ---- begin, restart, end ---- */

IndexScanDesc
bloomxbeginscan(Relation index, int keys, int orderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, keys, orderbys);
	BloomxScan *ours = palloc0(sizeof(BloomxScan));

	ours->columns = BloomxIsOfFilters(index) ? NULL : BloomxOpenColumns(index);
	ours->heap = table_open(index->rd_index->indrelid, NoLock);
	ours->blocks = RelationGetNumberOfBlocks(ours->heap);
	ours->memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx scan", ALLOCSET_DEFAULT_SIZES);
	scan->opaque = ours;
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
	BloomxScan *ours = scan->opaque;

	table_close(ours->heap, NoLock);
	MemoryContextDelete(ours->memory);
	pfree(ours);
}
