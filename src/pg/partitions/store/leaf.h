/*
 * leaf.h - the filters of a leaf: made, kept current, and transposed with others'.
 */
#pragma once

#include "pg/base/base.h"

#include "pg/partitions/store/store.h"

/* The topmost partitioned index of a leaf index, or InvalidOid. */
extern Oid	RootOfLeaf(Oid leaf);

/* Notes it, if the leaf has come to another table since.  An invalid index may lack rows: it is not for that. */
extern void NoteRoot(Relation store, Oid leaf);

/*
 * Reads the table and makes a filter of all of its rows, which takes the place of all
 * others.  The caller has a lock on the table that keeps others from doing the same.  False
 * if the next VACUUM must try again.
 */
extern bool BuildLeaf(Relation store, Relation heap, Relation index);

/* False if this transaction has made the table's file: when it is rolled back there are other rows. */
extern bool IsOlderThanTransaction(Relation heap);

/* True if keys that came since the leaf was built take so many pages that it should be built anew; with any, if there are some. */
extern bool LeafIsDue(Relation store, Relation index, bool any);

/* ---- seal.c ---- */

/* Fewer leaves than this are not worth a segment, unless somebody asks for it. */
#define LEAST_COLUMNS 8

/* Transposes the filters of leaves that are in none, or in narrow ones, if there are at least that many of a size. */
extern void SealLeaves(Relation store, Oid root, int least);

/* Looks whether some leaves still exist, or all. */
extern void ForgetDroppedLeaves(Relation store, bool all);
