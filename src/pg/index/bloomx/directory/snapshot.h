/*
 * snapshot.h - what the index consists of at one moment, and the directory lock.
 */
#pragma once

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"

/* What the index consists of now, in the current memory context. */
extern BloomxDirectory *BloomxReadDirectory(Relation index, Snapshot snapshot);

/* The entries in its segments that may hold anything. */
extern int64 BloomxCountAnything(const BloomxDirectory *directory);

extern void BloomxLockDirectory(Relation index);
extern bool BloomxTryLockDirectory(Relation index);
extern void BloomxUnlockDirectory(Relation index);

/* Does a step under the directory lock, in memory that is freed after it; returns what the step returned. */
extern bool BloomxRunStep(Relation index, bool (*step) (Relation index, void *arg), void *arg);

/* ---- space.c ---- */

/* For each block, true if the directory says that it is used; an error if it is used twice. */
extern bool *BloomxMapPages(Relation index, const BloomxDirectory *directory);

/* Makes pages that nothing refers to free pages; returns how many are free.  Needs the directory lock. */
extern uint32 BloomxCollectFreePages(Relation index);

/* ---- update.c ---- */

/* True if n segments have room on one page of the directory, or it may have another page. */
extern bool BloomxHasRoom(Relation index, const BloomxDirectory *directory, uint32 n);

/* New segments, and what goes for them: other segments, or the rows on the first words of a list. */
typedef struct BloomxUpdate
{
	const BloomxSegment *results;
	uint32		n;
	const uint32 *sources;		/* their slots, on one page of the directory */
	uint32		nsources;
	int			list;
	uint64		pending;		/* words of it */
} BloomxUpdate;

/*
 * Makes the update true.  Needs the directory lock if something goes; of what only comes, several
 * processes may do so at the same time.  The directory says where pending rows are.
 */
extern void BloomxUpdateDirectory(Relation index, const BloomxDirectory *directory, const BloomxUpdate *update);

/* Notes how many rows of a segment are dead.  Needs the directory lock. */
extern void BloomxNoteDead(Relation index, uint32 slot, uint32 dead);
