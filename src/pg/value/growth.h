/*
 * growth.h - filters whose size is not known yet.
 */
#ifndef BLOOMX_GROWTH_H
#define BLOOMX_GROWTH_H

#include "pg/base/base.h"

#include "core/filter/growth.h"

#pragma GCC visibility push(hidden)

/* How large a set of hashes without a planned size may get, in bytes. */
extern uint64 BuildMemory(void);

/* How sets may grow, for `expected` keys in all (0 = not known), in the current context. */
extern blx_growth GrowthFor(double expected);

/* An open set in the current context for about `expected` keys.  planned NULL = sized at the end. */
extern blx_filter *NewHashes(const blx_geometry *planned, const blx_identity *identity, uint64 capacity, double expected);

/* An open set that has room to spare for `count` hashes; most of them come many times. */
extern blx_filter *NewWideHashes(const blx_identity *identity, uint64 count);

/* A set of at least twice the slots, in the current context. */
extern blx_filter *LargerHashes(const blx_filter *open);

/*
 * Adds n hashes in place.  Returns f, or what it grew into (f is not freed).  A
 * set that becomes a filter becomes one for the `expected` keys, 0 = not known, and
 * the earlier the fewer of the hashes `seen` so far, these included, were repeated.
 */
extern blx_filter *AddHashes(blx_filter *f, const uint64 *hashes, size_t n);
extern blx_filter *AddExpectedHashes(blx_filter *f, const uint64 *hashes, size_t n, double expected, double seen);

/*
 * Makes room for `count` hashes if f is a set.  Returns f, or what it grew into:
 * a larger set, or the filter that it was to become (f is not freed).
 */
extern blx_filter *MakeRoomForHashes(blx_filter *f, uint64 count, double expected);

/* The finished filter, in the current context. */
extern blx_filter *FinishFilter(const blx_filter *open);

#pragma GCC visibility pop

#endif							/* BLOOMX_GROWTH_H */
