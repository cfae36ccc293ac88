/*
 * append.c - INSERT makes a row a pending row.
 */
#include "pg/index/bloomx/index.h"

#include "storage/bufmgr.h"

/*
 * By how many pages an INSERT that finds no free one extends the index: enough
 * for a row of the largest signatures, which needs 17, and for many small rows,
 * but few enough that the INSERT and those that wait for it lose little time.
 */
#define NEW_PAGES 32

typedef enum BloomxAppended
{
	APPENDED,
	OTHER_KEYS,					/* the index has other keys by now than those that the row was made for */
	NO_ROOM						/* on the last page, or, under the exclusive lock, among the free pages */
} BloomxAppended;

/* Appends a row under a lock of the metapage; *step is the step of a merge that is due then. */
static BloomxAppended
TryAppend(const BloomxStore *store, Buffer buffer, int mode, const BloomxKeys *keys, const uint64 *row, uint32 *step)
{
	uint32		n = BloomxRowWords(keys, row);
	const BloomxMeta *meta;
	BloomxAppended result = NO_ROOM;
	uint64		words;

	LockBuffer(buffer, mode);
	meta = BloomxGetMetaForInsert(store, BufferGetPage(buffer));
	/* a row of values has hashes, whatever the signatures will be */
	if (meta->keys.of_values != keys->of_values || (!keys->of_values && !BloomxSameKeys(&meta->keys, keys)))
		result = OTHER_KEYS;
	else if (BloomxAppendToLastPage(store, meta, row, n, &words) ||
			 (mode == BUFFER_LOCK_EXCLUSIVE && BloomxAppendToNewPages(store, buffer, row, n, &words)))
	{
		result = APPENDED;
		*step = BloomxInsertStep(meta, words, n, store);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

bool
BloomxAppendRow(const BloomxStore *store, Buffer buffer, const BloomxKeys *keys, const uint64 *row, uint32 *step)
{
	BloomxAppended result = NO_ROOM;

	while (result == NO_ROOM)
	{
		result = TryAppend(store, buffer, BUFFER_LOCK_SHARE, keys, row, step);
		if (result == NO_ROOM)
			result = TryAppend(store, buffer, BUFFER_LOCK_EXCLUSIVE, keys, row, step);
		if (result == NO_ROOM)
			BloomxExtendIndex(store, NEW_PAGES);
	}
	return result == APPENDED;
}
