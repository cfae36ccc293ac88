/*
 * format.h - what is on the pages of a bloomset (docs/internals/indexes.md, "Sets: bloomset").
 *
 * A set is a chain of stages.  A stage is a Bloom filter of up to eight parts of 64
 * bits, one bit per key in each (kernels/block.h), cut into pages: a key has all its
 * bits in one block, and a block is on one page.  So whoever adds a key locks one page
 * and logs one page.
 *
 * Block 0 is the metapage.  Every page has the page header of PostgreSQL, then a header
 * of its own up to byte 64, and then its contents.  There is no special space: that
 * would move the blocks of eight parts off the cache lines.  The header of a page says
 * whose it is and which stage it belongs to.
 */
#pragma once

#include "pg/base/base.h"

#include "storage/block.h"
#include "storage/bufpage.h"

#define SET_META_BLOCK 0
#define SET_PAGE_START 64		/* of the contents */
#define SET_PAGE_BYTES (BLCKSZ - SET_PAGE_START)
#define SET_PAGE_WORDS (SET_PAGE_BYTES / sizeof(uint64))

#define SET_MAGIC 0xB100F5E7
#define SET_VERSION 1
#define SET_NO_STAGE 0xFFFF		/* in the header of the metapage */

/* Of every page, after PostgreSQL's. */
typedef struct SetPageHeader
{
	uint32		magic;
	uint16		version;
	uint16		stage;
	uint32		checksum;		/* of the metapage: CRC-32C of its contents up to the last stage; else 0 */
} SetPageHeader;

StaticAssertDecl(MAXALIGN(SizeOfPageHeaderData) + sizeof(SetPageHeader) <= SET_PAGE_START, "headers end before the contents");

/* A stage.  Its pages follow one another. */
typedef struct SetStage
{
	uint64		blocks;			/* any number; block = floor(hash * blocks / 2^64) */
	uint64		keys;			/* with that many it is full */
	double		fpr;			/* and has that rate */
	BlockNumber first;
	uint32		parts;			/* 1 .. 8: words of a block */
} SetStage;

/* The metapage. */
typedef struct SetMeta
{
	uint64		capacity;		/* of a set of one stage; 0: the set grows */
	double		fpr;			/* of the whole set */
	uint64		seed;			/* of the key hashes */
	uint64		horizon;		/* snapshots of a standby see keys that the set lacks, unless this transaction ID is in their past */
	uint64		stage_blocks;	/* the most that a stage gets which the set adds as it grows */
	uint64		expected;		/* keys of a growing set that begins empty; 0: not known */
	uint32		stages;
	uint8		key_type;		/* enum blx_key_type */
	uint8		name_len;
	uint16		has_claims;		/* 1 since the first bloomset_claim: who adds a key waits for those who have claimed it */
	char		name[BLX_MAX_NAME + 1];
	SetStage	stage[FLEXIBLE_ARRAY_MEMBER];
} SetMeta;

#define SET_MAX_STAGES ((SET_PAGE_BYTES - offsetof(SetMeta, stage)) / sizeof(SetStage))

/*
 * From this stage on each is as large as all pages of the one before allow, and twice
 * that: the metapage never runs out of room.
 */
#define SET_BOUNDED_STAGES 160

/*
 * So many stages are left for growth when filters are merged.  A set that has only grown
 * has some 180 at most, so a dump of it can be restored.
 */
#define SET_STAGES_FOR_GROWTH 40

static inline SetPageHeader *
SetHeaderOf(Page page)
{
	return (SetPageHeader *) (page + MAXALIGN(SizeOfPageHeaderData));
}

static inline SetMeta *
SetMetaOf(Page page)
{
	return (SetMeta *) (page + SET_PAGE_START);
}

/* The blocks on one page, and the pages, of a stage. */
static inline uint32
SetBlocksPerPage(const SetStage *stage)
{
	/* a division would be a tenth of a test's time */
	static const uint16 per_page[] = {0, SET_PAGE_WORDS, SET_PAGE_WORDS / 2, SET_PAGE_WORDS / 3, SET_PAGE_WORDS / 4,
	SET_PAGE_WORDS / 5, SET_PAGE_WORDS / 6, SET_PAGE_WORDS / 7, SET_PAGE_WORDS / 8};

	return per_page[stage->parts];
}

static inline uint64
SetPagesOf(const SetStage *stage)
{
	return (stage->blocks + SetBlocksPerPage(stage) - 1) / SetBlocksPerPage(stage);
}

static inline Size
SetMetaBytes(uint32 stages)
{
	return offsetof(SetMeta, stage) + stages * sizeof(SetStage);
}
