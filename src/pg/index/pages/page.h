/*
 * page.h - a page of an index: its kind, whom it belongs to, what is wrong with it.
 */
#pragma once

#include "pg/base/base.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

/* The first metapage.  Its page lock is the directory lock of the index. */
#define META_BLOCK 0

typedef enum BloomxPageKind
{
	META_PAGE = 1,
	DIRECTORY_PAGE,
	SEGMENT_PAGE,
	PENDING_PAGE,
	FREE_PAGE,					/* written only at the end of the file, when it is extended */
	FILTER_PAGE					/* of the store of partitions' keys */
} BloomxPageKind;

/*
 * The end of every page.  `extra` has the rows of the segment, the checksum of the
 * directory page, or the page after a page of pending rows; the last of these has
 * a checksum of its pd_lower, to which it is filled.
 */
typedef struct BloomxPageOpaque
{
	uint64		generation;			/* of the segment, or of the pending page */
	uint32		extra;
	uint16		kind;
	uint16		page_id;		/* tells tools whose page it is */
} BloomxPageOpaque;

#define BLOOMX_PAGE_ID 0xFF95
#define PAGE_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(BloomxPageOpaque)))
#define PAGE_WORDS (PAGE_BYTES / 8)
#define PAGE_TIDS (PAGE_BYTES / sizeof(ItemPointerData))

extern void BloomxInitPage(Page page, BloomxPageKind kind, uint64 generation);
extern bool BloomxPageIs(Page page, BloomxPageKind kind, uint64 generation);

static inline BloomxPageOpaque *
BloomxGetPageOpaque(Page page)
{
	return (BloomxPageOpaque *) PageGetSpecialPointer(page);
}

/* Of bytes that are to be believed only as they were written (CRC-32C). */
extern uint32 BloomxChecksum(const void *bytes, Size n);

/* Spins before it sleeps: inserts hold this lock only briefly. */
extern void BloomxLockExclusively(Buffer buffer);

/*
 * Reads and locks a page of that kind and generation.  If the page has become something
 * else: InvalidBuffer if it may be gone, that is, without the directory lock, and otherwise
 * an error that names the block.
 */
extern Buffer BloomxReadPage(Relation index, BlockNumber block, BloomxPageKind kind, uint64 generation, int mode, bool may_be_gone);

/* Raises the error that a page contradicts the others, or itself; the detail is a sentence. */
pg_noreturn extern void BloomxReportCorruption(Relation index, BlockNumber block, const char *detail);
