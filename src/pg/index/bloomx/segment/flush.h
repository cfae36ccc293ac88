/*
 * flush.h - pending rows of values become segments.
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

/* Puts them in the place of what the merge names.  Needs the directory lock; no other merge may be under way. */
extern void BloomxAddSegments(Relation index, const BloomxDirectory *directory, const BloomxKeys *keys, BloomxSegments *segments,
							  const BloomxMerge *merge);

/* Makes the pending rows of values on `most` pages segments.  Needs the directory lock. */
extern void BloomxFlushPending(Relation index, const BloomxDirectory *directory, uint32 most);

/* Frees the pages of a flush that failed. */
extern void BloomxFreeReserved(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_FLUSH_H */
