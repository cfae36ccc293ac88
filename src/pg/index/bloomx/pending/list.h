/*
 * list.h - the lists of pending rows.
 */
#pragma once

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"
#include "pg/index/bloomx/format/row.h"

/* The words that are in use on a page of a list. */
static inline uint32
BloomxWordsOnPage(Page page)
{
	return (((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) / sizeof(uint64);
}

/* The list that has the most words; the pages of all lists. */
extern int	BloomxLongestList(const BloomxDirectory *directory);
extern uint32 BloomxAllPendingPages(const BloomxMeta *meta);

/*
 * Fewer filters than this do not become a segment, however large they are: a slice
 * takes whole words, so most of the segment would be padding.
 */
#define LEAST_FILTERS 32

/* The pages that a list should have at most; true if a list of that number of words takes more than some, and can become a segment. */
extern uint32 BloomxPendingLimit(Relation index);
extern bool BloomxListIsTooLong(Relation index, const BloomxMeta *meta, int list, uint64 words, uint32 pages);

/* The number of words of a list, under any lock of the metapage. */
extern uint64 BloomxCountPending(Relation index, const BloomxMeta *meta, int list);

/* Where a statement appends its rows. */
typedef struct BloomxTarget
{
	int			list;
	BlockNumber block;			/* the last page of the list, when it was last seen; META_BLOCK: not known */
	uint64		generation;			/* of that page */
} BloomxTarget;

typedef enum BloomxAppended
{
	APPENDED,
	NO_ROOM,					/* on the page, or among the free pages */
	PAGE_IS_BUSY				/* somebody else has locked it */
} BloomxAppended;

/*
 * These append a row of n words.  The first one needs no lock, and wants the row to
 * leave room on the page that the target names.  The second one wants it to fit on
 * the last page, and any lock of the metapage.  The third one takes pages, and wants
 * the exclusive lock, which `buffer` has.  False: there is no room on the page, or
 * too few pages are free.  *words is the length of the list.
 */
extern BloomxAppended BloomxAppendToOpenPage(Relation index, const BloomxTarget *target, const uint64 *row, uint32 n);
extern bool BloomxAppendToLastPage(Relation index, const BloomxMeta *meta, int list, const uint64 *row, uint32 n, uint64 *words);
extern bool BloomxAppendToNewPages(Relation index, Buffer buffer, int list, const uint64 *row, uint32 n, uint64 *words);

/* The number of pages on which the first words of a list are. */
extern uint32 BloomxPendingPages(const BloomxPending *pending, uint64 words);

/*
 * Takes the rows on the first words of a list, which are on these pages, out of meta
 * and frees pages that become empty.  Needs the metapage's exclusive lock.  Returns
 * a page that is locked, and changes in the record as well, or InvalidBuffer.
 */
extern Buffer BloomxDropPending(Relation index, GenericXLogState *state, BloomxMeta *meta, int list, uint64 words, BlockNumber *blocks);

/* ---- append.c ---- */

/* Makes a row of n words a pending row; returns the step of a merge that is due then, or 0. */
extern uint32 BloomxAppendRow(Relation index, BloomxTarget *target, const uint64 *row, uint32 n);

/* ---- reader.c ---- */

/* Reads pending rows in their order, with one page in memory at a time. */
typedef struct BloomxPendingReader
{
	Relation	index;
	const BloomxDirectory *directory;
	Snapshot	snapshot;
	bool		may_be_gone;	/* the pages of the lists, as the reader does not have the directory lock */
	const BloomxPending *pending;	/* the list that is being read */
	int			next_list;		/* lists still to be read: from this one on */
	uint64		left;			/* words of this list that are still to come */
	uint32		pages;			/* of it, read so far */
	BlockNumber next;			/* the page to be read next */
	uint32		place;			/* of the next word on the page in memory */
	uint32		end;			/* of the words on it */
	bool		gone;			/* true if a page is something else by now */
	uint64	   *row;
	uint32		room;			/* for words of it */
	uint32		n;				/* words of it */
	uint64		words[PAGE_WORDS];
} BloomxPendingReader;

/* Begins to read all pending rows, with the directory lock or without, or those of a list, with the lock. */
extern BloomxPendingReader *BloomxStartPending(Relation index, const BloomxDirectory *directory);
extern BloomxPendingReader *BloomxStartPendingList(Relation index, const BloomxDirectory *directory, int list);
extern BloomxPendingReader *BloomxStartPendingUnlocked(Relation index, const BloomxDirectory *directory, Snapshot snapshot);

/* The next row, of reader->n words, valid until the next call; NULL after the last row, or if a page is gone. */
extern const uint64 *BloomxNextPending(BloomxPendingReader *reader);
extern void BloomxEndPending(BloomxPendingReader *reader);

/* The number of all pending rows that VACUUM has not removed, without the lock. */
extern int64 BloomxCountPendingRows(Relation index, const BloomxDirectory *directory);

/* What follows needs the directory lock. */

/*
 * The live rows that begin on the first words of a list, up to `end`, one after the other,
 * *n of them.  *taken is the number of words that all rows take there, dead ones included.
 */
extern uint64 *BloomxReadPendingRows(Relation index, const BloomxDirectory *directory, int list, uint64 end, uint32 *n, uint64 *taken);

/* The blocks of the first pages of a list. */
extern BlockNumber *BloomxPendingBlocks(Relation index, const BloomxDirectory *directory, int list, uint32 pages);
