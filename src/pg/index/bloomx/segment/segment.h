/*
 * segment.h - writes and reads a segment.
 */
#pragma once

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"

/* Rows to be written, from memory or from a segment.  Rows whose TID is invalid are left out. */
typedef struct BloomxRowSource
{
	const ItemPointerData *tids;
	uint32		rows;
	const BloomxSegment *segment;	/* that has the signatures, or NULL */
	const uint64 *signatures;	/* otherwise they are here, one every `stride` words */
	uint32		stride;
	uint32		tuples;			/* of the table */
} BloomxRowSource;

/* Writes pages from .. to - 1 of a segment that nobody refers to yet: the live rows of the sources. */
extern void BloomxWritePages(Relation index, const BloomxRowSource *sources, int n, const BloomxSegment *segment, uint32 from, uint32 to);

/* The number of rows with a valid TID. */
extern uint32 BloomxCountLive(const BloomxRowSource *sources, int n);

/*
 * These lock a page of a segment and return what is on it.  If the page belongs to
 * something else by now: NULL if it may be gone, otherwise an error (BloomxReadPage).
 */
extern const ItemPointerData *BloomxLockTids(Relation index, const BloomxSegment *segment, uint32 page, Snapshot snapshot,
											 bool may_be_gone, Buffer *buffer);
extern const uint64 *BloomxLockSlice(Relation index, const BloomxSegment *segment, uint32 slice, bool may_be_gone, Buffer *buffer);

/* The page that a slice is on. */
extern BlockNumber BloomxSliceBlock(const BloomxSegment *segment, uint32 slice);

/* The TIDs of all rows, under the directory lock. */
extern ItemPointerData *BloomxReadAllTids(Relation index, const BloomxSegment *segment);

/*
 * A column is word `number` of the signatures of all rows, live or not, with
 * zeros up to the next multiple of 64 rows.  The last one has zeros for the slices
 * that are not there.  `slices` is scratch memory.
 */
#define COLUMN_BYTES (MAX_SEGMENT_ROWS * sizeof(uint64))
#define SLICES_BYTES (64 * PAGE_WORDS * sizeof(uint64))
extern void BloomxReadColumn(Relation index, const BloomxSegment *segment, uint32 number, uint64 *slices, uint64 *column);

/* Writes a segment to free pages, which nobody refers to yet. */
extern void BloomxCreateSegment(Relation index, BloomxSegment *segment, const BloomxRowSource *source);

/* ---- flush.c ---- */

/*
 * The most pages of pending rows that become segments at once.  They, and what is made of
 * them, are in memory; fewer pages would make smaller segments.
 */
#define FLUSH_PAGES 1024

/*
 * Makes the rows on that many pages of a list segments.  False if there is
 * nothing to be made of them yet.  Needs the directory lock.
 */
extern bool BloomxFlushPending(Relation index, const BloomxDirectory *directory, int list, uint32 most);
