/*
 * wal.h - changes of pages, and their WAL records.
 */
#pragma once

#include "pg/base/base.h"

#include "access/generic_xlog.h"

#include "pg/index/pages/page.h"

/*
 * A change of one page by a caller who knows which bytes change.  Where the format
 * of a generic WAL record is known (compat.h), these are logged as they are: the
 * server would compare the page with a copy of it, byte by byte.
 */
typedef struct BloomxChange
{
	Buffer		buffer;			/* set by the caller, who has locked it exclusively */
	GenericXLogState *state;	/* NULL: the record is written by hand */
	Page		page;			/* to be read; only these functions write */
	uint32		length;			/* of the record */
	char		record[BLCKSZ + BLCKSZ / 2];	/* the page, at worst every second word with offset and length */
} BloomxChange;

/*
 * A WAL record of changes to n pages, of which the metapage comes first.  Between
 * start and finish there must be no error: it may be a critical section.
 */
extern void BloomxStartChanges(BloomxChange *changes, int n, Relation index);
extern void BloomxFinishChanges(BloomxChange *changes, int n, Relation index);
extern void BloomxChangeBytes(BloomxChange *change, void *place, const void *bytes, uint32 length);

/* The same for those of the bytes that differ, and short gaps between them. */
extern void BloomxChangeSomeBytes(BloomxChange *change, void *place, const void *bytes, uint32 length);

/*
 * Writes n pages, at most MAX_GENERIC_XLOG_PAGES, from `first` on, as a whole, in one
 * WAL record.  Nobody refers to them yet.
 */
extern void BloomxWriteImages(Relation index, BlockNumber first, const PGAlignedBlock *images, int n);
