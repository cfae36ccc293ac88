/*
 * metapage.h - the metapage: what an index consists of.
 */
#pragma once

#include "pg/base/base.h"

#include "access/generic_xlog.h"

#include "pg/index/bloomx/format/geometry.h"
#include "pg/index/bloomx/format/directory.h"
#include "pg/index/pages/runs.h"

#define BLOOMX_INDEX_MAGIC 0x42584958	/* "BXIX" */
#define BLOOMX_INDEX_VERSION 1

/*
 * The metapage's room: an eighth for the numbers of the directory's pages, and
 * half for runs of free pages.  With pages of 8 kB these are 256 pages of 254
 * segments each, more than 4 billion rows, and 512 runs.  A run too many is
 * forgotten until VACUUM finds its pages again.
 */
#define MAX_DIRECTORY_PAGES (BLCKSZ / 32)
#define MAX_FREE_RUNS (BLCKSZ / 16)

/* The largest number of segments that one merge makes into one: their numbers must fit the metapage. */
#define MAX_MERGED 64

/*
 * A list of pending rows, one after the other on a chain of pages.  The pages are
 * numbered in order, for ever, and the number is the page's generation.  All pages are
 * full, except the last one, which says how far it is used, and which stays the last
 * one until it is full, or is marked as full: so a page with its generation that is not
 * full is the last one.  There is at least one row if there are pages.
 */
typedef struct BloomxPending
{
	uint64		generation;			/* of the first page */
	BlockNumber first;
	BlockNumber last;
	uint32		pages;
	uint32		skip;			/* words of the first page that are no longer pending */
} BloomxPending;

/*
 * There are several lists, for sessions that insert at the same time.  Each that is
 * used costs every scan up to pending_limit, and makes segments of its own; so there
 * are few.  Sessions beyond four still share pages, which they lock for a short time.
 */
#define PENDING_LISTS 4

/*
 * The first bits of a generation are the number of the list.  So no page has the generation
 * of another list, to which it may have gone while a statement still remembers it.
 */
#define LIST_SHIFT 48

/* A segment in the making. */
typedef struct BloomxMerge
{
	BloomxSegment segment;		/* 0 rows: no merge is under way; start META_BLOCK: no pages are reserved */
	uint32		written;		/* pages of the segment that are written */
	uint32		sources;		/* how many segments become part of it, all on one page of the directory */
	uint32		source[MAX_MERGED];
} BloomxMerge;

typedef struct BloomxMeta
{
	uint32		magic;
	uint32		version;
	uint32		checksum;		/* of what follows */
	uint32		segments;		/* entries of the directory, free ones included */
	BloomxPending pending[PENDING_LISTS];
	BloomxKeys	keys;

	uint64		changes;		/* how often the directory has changed; appending pending rows does not count */
	uint64		next_generation;		/* of the next segment */
	uint32		directory_pages;
	uint32		free_runs;
	BloomxMerge merge;
	BlockNumber directory[MAX_DIRECTORY_PAGES];
	BloomxRun	free[MAX_FREE_RUNS];
} BloomxMeta;

/* What an index consists of at one moment. */
typedef struct BloomxDirectory
{
	BloomxMeta	meta;
	uint64		pending_words;	/* in all lists */
	uint64		list_words[PENDING_LISTS];
	BlockNumber blocks;			/* length of the file at that moment */
	blx_geometry geometry;		/* of filters; valid if meta.keys.parts > 0 */
	blx_identity identity;		/* of filters */
	BloomxSegment *segments;	/* meta.segments of them */
} BloomxDirectory;

/* The support function that an operator class of keys has (pg/keys/extract/extract.h). */
#define EXTRACT_FUNCTION 1

/* True if it is of a column of filters, false if it is of values. */
extern bool BloomxIsOfFilters(Relation index);

/* The contents of the metapage; an error if it is not one of this access method, or damaged. */
extern BloomxMeta *BloomxGetMeta(Relation index, Page page);
extern void BloomxInitMetaPage(Relation index, Page page);

/* A change of the metapage alone, in a WAL record of its own. */
typedef struct BloomxMetaChange
{
	Buffer		buffer;
	GenericXLogState *state;
	BloomxMeta *meta;
} BloomxMetaChange;

/* Locks the metapage exclusively and returns its contents, to be changed. */
extern BloomxMeta *BloomxStartMetaChange(BloomxMetaChange *change, Relation index);

/* Writes the record, with a new checksum, or leaves the metapage as it was; unlocks it. */
extern void BloomxFinishMetaChange(const BloomxMetaChange *change);
extern void BloomxAbortMetaChange(const BloomxMetaChange *change);

/* Computes the checksum after a change: to the metapage, to a page of the directory. */
extern void BloomxSealMeta(BloomxMeta *meta);
extern void BloomxSealDirectory(Page page);

extern bool BloomxDirectoryIsSound(Page page);

/* Writes keys to the metapage; a type of keys that is there already stays. */
extern void BloomxWriteKeys(Relation index, const BloomxKeys *keys);

/* Makes the index longer, by at most a megabyte; the new pages become free pages of the metapage. */
extern void BloomxExtendIndex(Relation index, uint32 pages);

/* Takes consecutive free pages out of meta and returns the first, or InvalidBlockNumber if there are none. */
extern BlockNumber BloomxTakeFreePages(BloomxMeta *meta, uint32 pages);
extern void BloomxFreePages(BloomxMeta *meta, BlockNumber start, uint32 pages);
extern uint32 BloomxCountFreePages(const BloomxMeta *meta);

/* Begins a change of the metapage that takes consecutive free pages, from *start on; the caller finishes it. */
extern BloomxMeta *BloomxReserve(BloomxMetaChange *change, Relation index, uint32 pages, BlockNumber *start);
