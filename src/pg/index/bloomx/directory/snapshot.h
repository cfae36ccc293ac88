/*
 * snapshot.h - what the index consists of at one moment, and the directory lock.
 */
#ifndef BLOOMX_SNAPSHOT_H
#define BLOOMX_SNAPSHOT_H

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

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

#pragma GCC visibility pop

#endif							/* BLOOMX_SNAPSHOT_H */
