/*
 * growth.h - filters that grow within PostgreSQL's memory or are made of others,
 * and the complaint if they are too full.
 */
#pragma once

#include "pg/base/base.h"

#include "datatype/timestamp.h"

#include "core/filter/growth.h"

/* ---- growth.c ---- */

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

/* A copy of f.  If f has no key type, the copy takes that of `keys`. */
extern blx_filter *CopyForKeys(const blx_filter *f, const blx_identity *keys);

/* a | b and a & b, or an error that names what differs. */
extern blx_filter *UnionFilters(const blx_filter *a, const blx_filter *b);
extern blx_filter *IntersectFilters(const blx_filter *a, const blx_filter *b);

/* ---- estimate.c ---- */

/* What filled a filter: the hint depends on it. */
typedef enum OverfillCause
{
	KEYS_ADDED,
	FILTERS_UNITED,
	MEMORY_EXHAUSTED,			/* the build could not take the memory that its keys asked for */
	VALUES_SUMMARISED			/* by a BRIN index */
} OverfillCause;

/* True if the filter has more bits set than its capacity explains. */
extern bool FilterIsOverfilled(const blx_filter *f);

/* Complains of an overfilled filter as bloomx.overfill says. */
extern void ReportOverfill(const blx_filter *f, OverfillCause cause);

/* True if *last, which it sets, was in another statement of the client: a notice comes once per statement, not per row. */
extern bool FirstInStatement(TimestampTz *last);

/* ERROR, NOTICE, or 0 if nothing is to be said: a notice comes once per statement and kind of cause, and again of a filter that is much worse. */
extern int	OverfillLevel(OverfillCause cause, double fpr);
