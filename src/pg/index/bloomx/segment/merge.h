/*
 * merge.h - from pending rows and small segments to larger ones.
 */
#pragma once

#include "pg/base/base.h"

#include "pg/index/bloomx/segment/segment.h"

/*
 * Does one step of the merge under way, which writes about `pages` pages.  If there is
 * none, but a list of more than `limit` pages, makes the rows on at most `most` of them
 * segments, and begins the merge that is due then.  False if there was nothing to do.
 * Needs the directory lock.
 */
extern bool BloomxMergeStep(Relation index, uint32 pages, uint32 most, uint32 limit);

/*
 * Rewrites a segment of which most is dead, or merges some into one.  False if a lookup
 * would not gain enough.  Needs the directory lock, and keeps it.
 */
extern bool BloomxMergeSegments(Relation index);

/* Continues the merge under way to its end.  Needs the directory lock, and keeps it. */
extern void BloomxFinishMerge(Relation index);

/*
 * The pages that a step of VACUUM writes.  Each step reads the TIDs of the sources
 * again, so large steps are cheaper; 1024 pages, 8 MB, keep the time between two looks
 * for other work and for the cost delay short.
 */
#define VACUUM_STEP 1024

/* The memory that the settings allow to VACUUM. */
extern Size BloomxVacuumMemory(void);
