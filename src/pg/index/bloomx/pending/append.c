/*
 * append.c - INSERT makes a row a pending row.
 */
#include "pg/index/bloomx/pending/append.h"

#include "storage/bufmgr.h"

/*
 * By how many pages an INSERT that finds no free one extends the index: enough
 * for a row of the largest signatures, which needs 17, and for many small rows,
 * but few enough that the INSERT and those that wait for it lose little time.
 */
#define NEW_PAGES 32

/*
 * The pages that a step of an INSERT writes: half a megabyte, a millisecond or
 * two.  64 pages are 64 slices of the longest kind, which are collected together
 * anyway; smaller steps would collect them several times.
 */
#define INSERT_STEP 64

/*
 * Not every row pays for a step.  A row is written once as a pending row and
 * about five times in segments.  So eight merged pages per page of pending rows
 * keep up with the inserts, and a statement of many rows does its share and not
 * a whole merge.
 */
#define MERGED_PAGES_PER_PAGE 8

/*
 * If merges had to wait for VACUUM or a check, or could not keep up, and the lists
 * together have grown to this many times the limit of one, rows pay as many times
 * more until the lists are shorter.  All lists count, so that of several sessions
 * each pays as much.
 */
#define LONG_LISTS 4

/*
 * The pages that the step of a merge writes which is due after an insert of n
 * words, with which the list has `words`; 0 if none is due.
 *
 * Rows owe MERGED_PAGES_PER_PAGE times their own size.  The row that makes the
 * list too long begins the merge; after it a step is due whenever the rows since
 * the last one owe INSERT_STEP pages.  A row that owes more by itself does a
 * larger step.
 */
static uint32
InsertStep(const BloomxMeta *meta, int list, uint64 words, uint32 n, Relation index)
{
	uint32		due = n * MERGED_PAGES_PER_PAGE,	/* what this row owes, in words */
				period = INSERT_STEP * PAGE_WORDS / MERGED_PAGES_PER_PAGE;	/* words per step */
	uint64		pages = meta->pending[list].generation % (UINT64CONST(1) << LIST_SHIFT),	/* that the list had before */
				end = pages * PAGE_WORDS + meta->pending[list].skip + words;

	if (meta->merge.segment.rows == 0 && !BloomxListIsTooLong(meta, list, words, BloomxPendingLimit(index)))
		return 0;
	if (BloomxAllPendingPages(meta) > LONG_LISTS * BloomxPendingLimit(index))
	{
		due *= LONG_LISTS;
		period /= LONG_LISTS;
	}
	if (due >= INSERT_STEP * PAGE_WORDS)
		return due / PAGE_WORDS;
	if (end / period != (end - n) / period || !BloomxListIsTooLong(meta, list, words - n, BloomxPendingLimit(index)))
		return INSERT_STEP;
	return 0;
}

/*
 * True if the keys stay as they are until REINDEX, as far as a row depends on them:
 * of values it has hashes, whatever the signatures will be.
 */
static bool
KeysAreFinal(const BloomxKeys *keys)
{
	return keys->of_values || (keys->parts > 0 && !keys->provisional && keys->key_type != BLX_KEY_NONE);
}

/* Once the keys are final, the next row may go to the last page without a look at the metapage. */
static void
SetTarget(BloomxTarget *target, const BloomxMeta *meta)
{
	const BloomxPending *pending = &meta->pending[target->list];

	if (!KeysAreFinal(&meta->keys))
		return;
	target->block = pending->last;
	target->generation = pending->generation + pending->pages - 1;
}

/* Appends a row under a lock of the metapage; *step is the step of a merge that is due then. */
static BloomxAppended
TryAppend(Relation index, Buffer buffer, int mode, BloomxTarget *target, const BloomxKeys *keys, const uint64 *row, uint32 *step)
{
	uint32		n = BloomxRowWords(keys, row);
	const BloomxMeta *meta;
	BloomxAppended result = NO_ROOM;
	uint64		words;

	if (mode == BUFFER_LOCK_EXCLUSIVE)
		BloomxLockExclusively(buffer);
	else
		LockBuffer(buffer, mode);
	meta = BloomxGetMetaForInsert(index, BufferGetPage(buffer));
	/* a row of values has hashes, whatever the signatures will be */
	if (meta->keys.of_values != keys->of_values || (!keys->of_values && !BloomxSameKeys(&meta->keys, keys)))
		result = OTHER_KEYS;
	else if (BloomxAppendToLastPage(index, meta, target->list, row, n, &words) ||
			 (mode == BUFFER_LOCK_EXCLUSIVE && BloomxAppendToNewPages(index, buffer, target->list, row, n, &words)))
	{
		result = APPENDED;
		*step = InsertStep(meta, target->list, words, n, index);
		SetTarget(target, meta);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

/*
 * Appends a row to the page that took the last one.  If somebody else is at work
 * there, this statement goes on with another list, so that each of several sessions
 * has a page of its own.  No step of a merge is due before the page is full.
 */
static BloomxAppended
AppendToTarget(Relation index, BloomxTarget *target, const uint64 *row, uint32 n)
{
	BloomxAppended result = BloomxAppendToOpenPage(index, target, row, n);

	if (result == PAGE_IS_BUSY)
		target->list = (target->list + 1) % PENDING_LISTS;
	if (result != APPENDED)
		target->block = META_BLOCK;
	return result;
}

bool
BloomxAppendRow(Relation index, BloomxTarget *target, const BloomxKeys *keys, const uint64 *row, uint32 *step)
{
	BloomxAppended result = PAGE_IS_BUSY;
	Buffer		buffer;

	if (target->block != META_BLOCK)
		result = AppendToTarget(index, target, row, BloomxRowWords(keys, row));
	if (result == APPENDED)
		return true;			/* without a look at the metapage */
	buffer = ReadBuffer(index, META_BLOCK);
	/* if the page is full, the metapage will have to change */
	if (result == PAGE_IS_BUSY)
		result = TryAppend(index, buffer, BUFFER_LOCK_SHARE, target, keys, row, step);
	while (result == NO_ROOM)
	{
		result = TryAppend(index, buffer, BUFFER_LOCK_EXCLUSIVE, target, keys, row, step);
		if (result == NO_ROOM)
			BloomxExtendIndex(index, NEW_PAGES);
	}
	ReleaseBuffer(buffer);
	return result == APPENDED;
}
