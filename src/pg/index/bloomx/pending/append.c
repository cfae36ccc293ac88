/*
 * append.c - INSERT makes a row a pending row.
 */

#include "pg/index/bloomx/pending/list.h"

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

	if (meta->merge.segment.rows == 0 && !BloomxListIsTooLong(index, meta, list, words, BloomxPendingLimit(index)))
		return 0;
	if (BloomxAllPendingPages(meta) > LONG_LISTS * BloomxPendingLimit(index))
	{
		due *= LONG_LISTS;
		period /= LONG_LISTS;
	}
	if (due >= INSERT_STEP * PAGE_WORDS)
		return due / PAGE_WORDS;
	if (end / period != (end - n) / period || !BloomxListIsTooLong(index, meta, list, words - n, BloomxPendingLimit(index)))
		return INSERT_STEP;
	return 0;
}

/*
 * Appends a row under a lock of the metapage; *step is the step of a merge that is due
 * then.  The next row may go to the same page without a look at the metapage.
 */
static bool
TryAppend(Relation index, Buffer buffer, int mode, BloomxTarget *target, const uint64 *row, uint32 n, uint32 *step)
{
	const BloomxMeta *meta;
	bool		done;
	uint64		words;

	if (mode == BUFFER_LOCK_EXCLUSIVE)
		BloomxLockExclusively(buffer);
	else
		LockBuffer(buffer, mode);
	meta = BloomxGetMeta(index, BufferGetPage(buffer));
	done = BloomxAppendToLastPage(index, meta, target->list, row, n, &words) ||
		(mode == BUFFER_LOCK_EXCLUSIVE && BloomxAppendToNewPages(index, buffer, target->list, row, n, &words));
	if (done)
	{
		const BloomxPending *pending = &meta->pending[target->list];

		*step = InsertStep(meta, target->list, words, n, index);
		target->block = pending->last;
		target->generation = pending->generation + pending->pages - 1;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return done;
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

uint32
BloomxAppendRow(Relation index, BloomxTarget *target, const uint64 *row, uint32 n)
{
	BloomxAppended result = PAGE_IS_BUSY;
	uint32		step = 0;
	Buffer		buffer;

	if (target->block != META_BLOCK)
		result = AppendToTarget(index, target, row, n);
	if (result == APPENDED)
		return 0;				/* without a look at the metapage */
	buffer = ReadBuffer(index, META_BLOCK);
	/* if the page is full, the metapage will have to change */
	if (result == NO_ROOM || !TryAppend(index, buffer, BUFFER_LOCK_SHARE, target, row, n, &step))
		while (!TryAppend(index, buffer, BUFFER_LOCK_EXCLUSIVE, target, row, n, &step))
			BloomxExtendIndex(index, NEW_PAGES);
	ReleaseBuffer(buffer);
	return step;
}
