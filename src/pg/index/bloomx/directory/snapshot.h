/*
 * snapshot.h - what a store consists of at one moment, and the structure lock.
 */
#ifndef BLOOMX_SNAPSHOT_H
#define BLOOMX_SNAPSHOT_H

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

/* What a store consists of now, in the current memory context. */
extern BloomxStructure *BloomxReadStructure(const BloomxStore *store, Snapshot snapshot);

/* The entries in its segments that may hold anything. */
extern int64 BloomxCountAnything(const BloomxStructure *structure);

/* The same of all stores, one after the other. */
extern BloomxStructure **BloomxReadStructures(const BloomxStores *stores);

extern void BloomxLockStructure(Relation index);
extern bool BloomxTryLockStructure(Relation index);
extern void BloomxUnlockStructure(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_SNAPSHOT_H */
