/*
 * adding.h - changes of a set: it is made, it takes keys, it grows.
 *
 * The protocol, and what a crash leaves:
 *
 *   change             locks                                           WAL                      crash in between
 *   keys are added     metapage shared, up to 4 pages exclusively      one record, before the   keys of transactions that
 *                                                                      commit record            never committed
 *   a stage is added   extension lock; then metapage exclusively       the pages; then one of   pages without an owner,
 *                                                                      the metapage             which the next stage takes
 *   the set is built   nobody else sees it                             all pages at the end     no set
 *
 * Whoever adds keys holds the metapage shared from the moment it has compared the number
 * of stages until the bits are set.  So a stage is never added in between, and of two
 * sessions that add one key, only one finds it new.
 */
#pragma once

#include "pg/bloomset/stages/view.h"

/* Writes the metapage of a set without stages, into an empty fork. */
extern void CreateSet(Relation rel, ForkNumber fork, const SetMeta *meta);

/*
 * Adds n keys, in any order but that of their hashes.
 * is_new, unless NULL, gets whether each was new: no transaction ever, committed or
 * not, had added it; of equal ones the first is.  Returns how many were.
 */
extern uint64 AddToSet(SetView *view, Relation rel, const uint64 *hashes, uint64 n, bool *is_new);

/* The same for one key.  Returns whether it was new. */
extern bool AddKeyToSet(SetView *view, Relation rel, uint64 hash);

/*
 * Locks a key until the transaction ends, for who claims it: who adds it waits.  Returns false
 * if the transaction had the lock.  Before the first key of a set is locked, ExpectClaims
 * makes the set one whose keys are locked.
 */
extern bool LockKey(Relation rel, uint64 hash);
extern void ExpectClaims(SetView *view, Relation rel);

/*
 * Adds a stage, whose `first` is set here, with these words, or NULL: without bits.  The
 * caller has the extension lock, or is building the set: then nothing is logged.
 */
extern void AppendStage(SetView *view, Relation rel, SetStage stage, const uint64 *words, bool building);

/* ORs words into a stage. */
extern void OrIntoStage(SetView *view, Relation rel, uint32 i, const uint64 *words);

/* Adds keys to stage i of a set that is being built, and sorts them by page: nothing is logged. */
extern void FillStage(SetView *view, Relation rel, uint32 i, uint64 *hashes, uint64 n);

/* Logs all pages of a set that has been built. */
extern void LogBuiltSet(Relation rel);

/* From now on, only snapshots that see all that is committed now can use the set on a standby. */
extern void MoveHorizon(SetView *view, Relation rel);
