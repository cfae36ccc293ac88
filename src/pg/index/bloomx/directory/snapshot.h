/*
 * snapshot.h - what the index consists of at one moment, and the structure lock.
 */
#ifndef BLOOMX_SNAPSHOT_H
#define BLOOMX_SNAPSHOT_H

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

/* What the index consists of now, in the current memory context. */
extern BloomxStructure *BloomxReadStructure(Relation index, Snapshot snapshot);

/* The entries in its segments that may hold anything. */
extern int64 BloomxCountAnything(const BloomxStructure *structure);

extern void BloomxLockStructure(Relation index);
extern bool BloomxTryLockStructure(Relation index);
extern void BloomxUnlockStructure(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_SNAPSHOT_H */
