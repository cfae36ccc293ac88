/*
 * flush.h - pending rows become segments.
 */
#ifndef BLOOMX_FLUSH_H
#define BLOOMX_FLUSH_H

#include "pg/base/base.h"

#include "pg/index/bloomx/segment/segment.h"

#pragma GCC visibility push(hidden)

/* Segments that are in memory, and are added to the index at once. */
typedef struct BloomxSegments BloomxSegments;

extern BloomxSegments *BloomxNewSegments(void);

/* A BloomxWriteSegment. */
extern void BloomxKeepSegment(void *segments, uint32 slices, const BloomxRowSource *source);

/*
 * Puts them in the place of the first words of a list of pending rows; from now on the
 * signatures are as keys say.  Needs the directory lock; no merge may be under way.
 */
extern void BloomxAddSegments(Relation index, const BloomxDirectory *directory, const BloomxKeys *keys, BloomxSegments *segments,
							  int list, uint64 pending);

/*
 * The most pages of pending rows that become segments at once.  They, and what is made of
 * them, are in memory; fewer pages would make smaller segments.
 */
#define FLUSH_PAGES 1024

/*
 * Makes the rows on that many pages of the longest list segments.  False if there is
 * nothing to be made of them yet.  Needs the directory lock.
 */
extern bool BloomxFlushPending(Relation index, const BloomxDirectory *directory, uint32 most);

/* Frees the pages of a flush that failed. */
extern void BloomxFreeReserved(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_FLUSH_H */
