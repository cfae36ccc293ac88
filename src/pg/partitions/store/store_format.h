/*
 * store_format.h - what is on the pages of the store (docs/internals/partitions.md).
 *
 * Block 0 is the metapage; it names the pages of the directory, which is an array of
 * slots.  All other pages are of filters, or free.  Pages of these two kinds have checksums of
 * their own, because a server may run without those of pages: what has the right one is believed.
 *
 * A filter is of some columns: one, or 8 to 128.  It has blocks of BLOCK_ROWS rows, and a
 * row has a bit of each column, so that one page answers for all of them: of a key, all bits
 * are in one block, and a block is on one page.  A filter of one column is a Bloom filter
 * of a leaf; others are such filters transposed.
 */
#pragma once

#include "pg/base/base.h"

#include "core/base/hash.h"
#include "pg/index/pages/page.h"
#include "pg/index/pages/runs.h"

#define STORE_MAGIC 0x42585053	/* "BXPS" */
#define STORE_GIVEN_UP 0x42585047	/* "BXPG": it was found damaged, and keys came that it does not have */
#define STORE_VERSION 1

#define MOST_COLUMNS 128
#define BLOCK_ROWS ((PAGE_BYTES / (MOST_COLUMNS / 8)) & ~(Size) 7)	/* 504 */
#define BITS_PER_KEY 16			/* 0.08 % */
#define KEY_ROWS 10				/* that a key sets in its block */

typedef enum StoreSlotKind
{
	SLOT_FREE,
	SLOT_LEAF,					/* a leaf index */
	SLOT_FILTER					/* if neither a leaf nor an owner refers to it, whoever has the page lock of its first page makes it */
} StoreSlotKind;

/* States of a leaf. */
#define LEAF_COMPLETE 1			/* all of its rows have their keys in its filters */
#define LEAF_BUILDING 2			/* keys go into open filters from `generation` on, while the table is read */

#define NO_SLOT PG_UINT32_MAX

typedef struct StoreSlot
{
	uint16		kind;
	uint16		state;			/* of a leaf */
	uint16		width;			/* of a filter: its columns */
	uint16		column;			/* of a leaf: in its main filter */
	Oid			root;			/* of a leaf: topmost partitioned index, as last seen: groups leaves, nothing more */
	Oid			leaf;
	Oid			heap;			/* the leaf's table */
	uint32		main;			/* of a leaf: slot of the filter that is never changed, or NO_SLOT */
	uint32		owner;			/* of a filter of one column that inserts change (open): the leaf's slot; else NO_SLOT */
	BlockNumber start;			/* of a filter: its pages are consecutive */
	uint32		blocks;			/* of a filter; any number */
	uint64		generation;		/* of a filter's pages; of a leaf: open filters below it are superseded when it is built */
	uint64		keys;			/* of a leaf: in its main filter */
} StoreSlot;

#define SLOTS_PER_PAGE (PAGE_BYTES / sizeof(StoreSlot))

#define STORE_DIRECTORY_PAGES (BLCKSZ / 8)
#define STORE_FREE_RUNS (BLCKSZ / 32)

/*
 * REINDEX CONCURRENTLY puts a store in the place of one that others have open: inserts go
 * on to feed the old one, and questions may still be asked of it.  So the old one answers no
 * question any more, and the new one none until the last of those inserts has ended.
 */
#define FED 0
#define SWAPPED 1				/* and nobody has asked for it yet */
#define CLOSED 2

typedef struct StoreMeta
{
	uint32		magic;
	uint32		version;
	uint64		changes;		/* of the directory, since an arbitrary number when the store was made */
	uint64		next_generation;
	uint64		fed_from;		/* FED, SWAPPED, CLOSED, or the first transaction whose inserts all know this store */
	uint32		slots;			/* free ones included */
	uint32		free_runs;
	BlockNumber directory[STORE_DIRECTORY_PAGES];
	BloomxRun	free[STORE_FREE_RUNS];
} StoreMeta;

StaticAssertDecl(sizeof(StoreMeta) <= PAGE_BYTES, "the metapage has room");

static inline char *
StoreContents(Page page)
{
	return page + MAXALIGN(SizeOfPageHeaderData);
}

static inline StoreMeta *
StoreMetaOf(Page page)
{
	return (StoreMeta *) StoreContents(page);
}

/* ---- a filter ---- */

static inline uint32
BlocksPerPage(const StoreSlot *filter)
{
	return MOST_COLUMNS / filter->width;
}

static inline uint32
PagesOfFilter(const StoreSlot *filter)
{
	return (filter->blocks + BlocksPerPage(filter) - 1) / BlocksPerPage(filter);
}

/* The page of a block, and its first byte there. */
static inline BlockNumber
PageOfBlock(const StoreSlot *filter, uint32 block)
{
	return filter->start + block / BlocksPerPage(filter);
}

static inline uint8 *
BlockOnPage(const StoreSlot *filter, Page page, uint32 block)
{
	return (uint8 *) StoreContents(page) + block % BlocksPerPage(filter) * (BLOCK_ROWS / 8 * filter->width);
}

/* The rows of a key.  The block takes the first bits of the hash, so these are of another one. */
static inline void
RowsOfKey(uint64 hash, uint16 *rows)
{
	uint64		mixed = blx_derive(hash, 1);

	for (int i = 0; i < KEY_ROWS; i++)
	{
		rows[i] = (uint16) blx_scale(mixed, BLOCK_ROWS);
		mixed *= UINT64CONST(0x9E3779B97F4A7C13);
	}
}

static inline bool
HasRow(const uint8 *block, uint32 row)
{
	return (block[row / 8] >> row % 8 & 1) != 0;
}
