/*
 * rangeindex.h - asks a BRIN index whether a page range may hold a key of a set.
 */
#pragma once

#include "runtimefilter/query/registry.h"

typedef struct RangeIndex RangeIndex;

/* The function by which an index class's summaries are known to be filters of this extension. */
extern void SetFilterFunction(PGFunction function);

/* True if the table has a BRIN index on that key: a column or an expression over columns, which are Vars of 1. */
extern bool HasRangeIndex(Relation table, Node *key);

/*
 * Opens an index that is complete, has all rows, and of which no chain of updates that this query might see hides one:
 * the planner would use it, too.  NULL if it is no such index, or gone, or somebody would have to be waited for.
 */
extern Relation OpenTrustworthyIndex(Oid oid);

/* The BRIN indexes that know the values of a key as the coder reads them: a List of RangeIndex. */
extern List *OpenRangeIndexes(const FilteredQuery *query, Relation table, Node *key, const KeyCoder *coder);
extern void CloseRangeIndex(RangeIndex *index);

/*
 * A position in the WAL at which the snapshot saw all transactions that had ended; invalid if none is known, as it
 * is some time after the snapshot was taken.
 */
extern XLogRecPtr PositionOfSnapshot(Snapshot snapshot);

/* Lets go of the page that the last question has pinned. */
extern void ReleaseRangePage(RangeIndex *index);

/*
 * False if no key of the set is on the pages of the range that begins with that page.
 * True as well if that is not known after so many nanoseconds; *gave_up then.
 */
extern bool RangeMayHold(RangeIndex *index, const KeySet *set, BlockNumber start, double limit, bool *gave_up);

/* What a question costs, in nanoseconds; infinite if the answer would always be yes. */
extern double RangeQuestionCost(const RangeIndex *index, const KeySet *set);
extern BlockNumber PagesPerRange(const RangeIndex *index);
