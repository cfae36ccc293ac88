/*
 * reader.h - reads the lists of pending rows.
 */
#ifndef BLOOMX_READER_H
#define BLOOMX_READER_H

#include "pg/base/base.h"

#include "utils/snapshot.h"

#include "pg/index/bloomx/format/metapage.h"
#include "pg/index/bloomx/format/row.h"

#pragma GCC visibility push(hidden)

/* Reads pending rows in their order, with one page in memory at a time. */
typedef struct BloomxPendingReader
{
	Relation	index;
	const BloomxDirectory *directory;
	Snapshot	snapshot;
	bool		may_be_gone;	/* the pages of the lists, as the reader does not have the directory lock */
	const BloomxPending *pending;	/* the list that is being read */
	int			next_list;		/* lists still to be read: from this one on */
	int			lists;			/* up to this one; 0: none */
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

/* The number of all pending rows, without the lock. */
extern int64 BloomxCountPendingRows(Relation index, const BloomxDirectory *directory);

/* What follows needs the directory lock. */

/*
 * The live rows that begin on the first words of a list, up to `end`, one after the other,
 * *n of them.  *taken is the number of words that all rows take there, dead ones included.
 */
extern uint64 *BloomxReadPendingRows(Relation index, const BloomxDirectory *directory, int list, uint64 end, uint32 *n, uint64 *taken);

/* The blocks of the first pages of a list. */
extern BlockNumber *BloomxPendingBlocks(Relation index, const BloomxDirectory *directory, int list, uint32 pages);

#pragma GCC visibility pop

#endif							/* BLOOMX_READER_H */
