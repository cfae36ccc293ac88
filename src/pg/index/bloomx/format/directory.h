/*
 * directory.h - what the directory has of a segment, and the pages that this takes.
 */
#pragma once

#include "pg/base/base.h"

#include "pg/index/pages/page.h"

#define MAX_SEGMENT_ROWS (64 * PAGE_WORDS)	/* a slice fits a page */

typedef struct BloomxSegment
{
	uint64		generation;
	BlockNumber start;			/* its pages are consecutive: TIDs, then slices */
	uint32		rows;			/* 0: the entry is free */
	uint32		slices;			/* the bits of a signature; with 0 slices all rows match */
	uint32		dead;			/* rows of it that VACUUM has removed */
	uint32		tuples;			/* of the table: more than the rows, if these are entries of many */
	uint32		unused;
} BloomxSegment;

/* The offset in the TID of an entry that stands for rows of a whole block (entries.c). */
#define WHOLE_BLOCK PG_UINT16_MAX

#define DIRECTORY_SEGMENTS (PAGE_BYTES / sizeof(BloomxSegment))

static inline uint32
BloomxSliceWords(uint32 rows)
{
	return (rows + 63) / 64;
}

static inline uint32
BloomxTidPages(uint32 rows)
{
	return (rows + PAGE_TIDS - 1) / PAGE_TIDS;
}

static inline uint32
BloomxSlicesPerPage(uint32 rows)
{
	return PAGE_WORDS / BloomxSliceWords(rows);
}

/* Pages of a segment: TIDs, then slices. */
static inline uint32
BloomxSegmentPages(const BloomxSegment *segment)
{
	uint32		per_page = BloomxSlicesPerPage(segment->rows);

	return BloomxTidPages(segment->rows) + (segment->slices + per_page - 1) / per_page;
}
