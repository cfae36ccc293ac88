/*
 * indexscans.h - scans of indexes, as the supported PostgreSQL versions begin them and walk through bitmaps.
 */
#pragma once

#include "access/genam.h"
#include "access/tableam.h"
#include "nodes/tidbitmap.h"

/* 18: somebody may count the searches.  19: the table's scan has options. */
#if PG_VERSION_NUM >= 190000
#define BeginIndexScan(table, index, snapshot, n_keys) index_beginscan(table, index, snapshot, NULL, n_keys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define BeginIndexScan(table, index, snapshot, n_keys) index_beginscan(table, index, snapshot, NULL, n_keys, 0)
#else
#define BeginIndexScan(table, index, snapshot, n_keys) index_beginscan(table, index, snapshot, n_keys, 0)
#endif

#if PG_VERSION_NUM >= 180000
#define BeginBitmapScan(index, snapshot, n_keys) index_beginscan_bitmap(index, snapshot, NULL, n_keys)
#define BitmapPages TBMPrivateIterator
#define BeginBitmapPages(bitmap) tbm_begin_private_iterate(bitmap)
#define EndBitmapPages(pages) tbm_end_private_iterate(pages)
#else
#define BeginBitmapScan(index, snapshot, n_keys) index_beginscan_bitmap(index, snapshot, n_keys)
#define BitmapPages TBMIterator
#define BeginBitmapPages(bitmap) tbm_begin_iterate(bitmap)
#define EndBitmapPages(pages) tbm_end_iterate(pages)
#endif

/* The bitmap's next page.  False if there is none. */
static inline bool
NextBitmapPage(BitmapPages *pages, BlockNumber *page)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;
	bool		found = tbm_private_iterate(pages, &result);

	*page = result.blockno;
	return found;
#else
	TBMIterateResult *result = tbm_iterate(pages);

	*page = result != NULL ? result->blockno : InvalidBlockNumber;
	return result != NULL;
#endif
}
