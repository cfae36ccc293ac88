/*
 * index.h - the index access method bloomx: what its files share.
 *
 *   am_handler.c    the handler, options, amvalidate
 *   am_pages.c      pages, the metapage, the directory of segments, free pages
 *   am_signature.c  filters -> signatures, conditions -> slices
 *   am_segment.c    writing and reading a segment
 *   am_pending.c    rows that are in no segment yet
 *   am_merge.c      from pending rows and small segments to larger ones
 *   am_build.c      CREATE INDEX and INSERT
 *   am_scan.c       bitmap scans
 *   am_vacuum.c     VACUUM
 *   am_cost.c       the planner's estimate
 *   am_check.c      bloomx_check_index, bloomx_index_info
 *
 * An index is a set of segments and a list of pending rows.  A segment holds
 * the signatures (core/slices.h) of up to MAX_SEGMENT_ROWS rows transposed:
 * pages of TIDs, then pages of slices, slice s being the bits s of all rows.  A
 * lookup reads, in each segment, one slice for each part of the key, and the
 * pages of TIDs where something matched.  A segment never changes but for its
 * TIDs, which VACUUM makes invalid.  Pending rows are TIDs with signatures as
 * they come; when there are many they become a segment (am_merge.c).
 *
 * Who may do what at the same time:
 *
 * - The metapage says what the index consists of: the directory's pages, the
 *   list of pending rows, free pages, the merge under way.  It and the directory
 *   change only under the metapage's exclusive buffer lock, in one WAL record,
 *   written after all pages that it refers to.
 * - Whoever merges, replaces or empties segments, or makes TIDs invalid, holds
 *   the structure lock (a heavyweight lock on the metapage) while he changes
 *   something.  VACUUM and bloomx_check_index release it between their steps.
 * - INSERT never waits for the structure lock.  It appends a pending row under
 *   the metapage's exclusive lock; the list of pending rows has no largest size.
 *   When the list is longer than it should be, INSERT does one small step of a
 *   merge, if nobody else has the lock.
 * - A merge goes on from step to step, perhaps in another process: the metapage
 *   says what is merged, into which pages, and how many of them are written.
 *   Whoever is interrupted leaves a merge that the next one continues, and no
 *   page without an owner.
 * - TIDs become invalid only while no merge is under way: VACUUM first finishes
 *   the one that it finds.  So a merge sees the same rows in each of its steps,
 *   and no row that VACUUM has removed can come back with it.
 * - VACUUM must see every TID that was in the index when its pass began, though
 *   merges move rows between two of its steps.  Passes are numbered.  A segment
 *   carries the number of the last pass that has seen all of its rows, and so
 *   does the list of pending rows; a merge's result carries the present one only
 *   if all that went into it does.  The pass goes over the pending rows first
 *   and then over segments of another number until there is none.  Rows that are
 *   inserted meanwhile need not be seen: a TID is used again only after VACUUM
 *   has removed it from all indexes.  A merge makes no more segments of another
 *   number than it takes, so the pass ends.
 * - Scans lock nothing but the page that they look at.  They copy the directory
 *   under the metapage's share lock and then read.  Pages may meanwhile be freed
 *   and used again; each page carries the stamp of the segment, or of the
 *   pending page, that it was written for, no stamp is used twice, and a scan
 *   that finds another one starts again.  TIDs found twice do no harm in a
 *   bitmap.  This needs nothing from whoever frees pages, so it works on a
 *   standby just as well.
 * - The index is extended under the extension lock, a few pages at a time.  New
 *   pages become free pages of the metapage before the lock is released, and are
 *   taken from there.  No heavyweight lock is waited for under a buffer lock.
 *   Locks are taken in this order: structure, extension, metapage, other pages.
 *
 * What is read is not trusted: the metapage and the directory carry a checksum
 * of what a lookup believes, and their fields are checked before they are used.
 */
#ifndef BLOOMX_AM_H
#define BLOOMX_AM_H

#include "pg/base/base.h"

#include "access/amapi.h"
#include "access/generic_xlog.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

#include "core/filter/slices.h"

#pragma GCC visibility push(hidden)

#define META_BLOCK 0
#define AM_MAGIC 0x42584958		/* "BXIX" */
#define AM_VERSION 1

/* Strategies of the operator class. */
#define HOLDS_ALL 1				/* ?& */
#define HOLDS_ANY 2				/* ?| */

/* ---- options ---- */
#define MIN_SIGNATURE_BITS 64
#define MAX_SIGNATURE_BITS (1 << 20)
#define DEFAULT_SIGNATURE_BITS 4096
#define DEFAULT_PROBES 8
#define MAX_PENDING_LIMIT 8000	/* kB; every scan reads what is pending */

typedef struct IndexOptions
{
	int32		varlena;
	int			bits;			/* 0: as the filters have */
	int			probes;			/* 0: as the filters have */
	int			pending_limit;	/* kB */
} IndexOptions;

extern void InitIndexOptions(void);
extern IndexOptions GetIndexOptions(Relation index);

/* ---- pages ---- */

typedef enum PageKind
{
	META_PAGE = 1,
	DIRECTORY_PAGE,
	SEGMENT_PAGE,
	PENDING_PAGE,
	FREE_PAGE					/* the last one of those that the index was extended by */
} PageKind;

/* The end of every page. */
typedef struct PageTail
{
	uint64		stamp;			/* of the segment, or of the pending page */
	uint32		extra;			/* rows of the segment, next page of pending rows, checksum of the directory's page */
	uint16		kind;
	uint16		page_id;		/* says to tools whose page it is */
} PageTail;

#define AM_PAGE_ID 0xFF95
#define PAGE_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(PageTail)))
#define PAGE_WORDS (PAGE_BYTES / 8)
#define PAGE_TIDS (PAGE_BYTES / sizeof(ItemPointerData))
#define MAX_SEGMENT_ROWS (64 * PAGE_WORDS)	/* a slice fits a page */

typedef struct Segment
{
	uint64		stamp;
	BlockNumber start;			/* its pages are consecutive: TIDs, then slices */
	uint32		rows;			/* 0: nothing is here any more */
	uint32		dead;			/* of these, removed by VACUUM */
	uint32		pass;			/* the last pass of VACUUM that has seen all rows */
} Segment;

#define DIRECTORY_SEGMENTS (PAGE_BYTES / sizeof(Segment))

typedef struct Run
{
	BlockNumber start;
	uint32		pages;
} Run;

#define MAX_DIRECTORY_PAGES (BLCKSZ / 32)
#define MAX_FREE_RUNS (BLCKSZ / 16)

/* The largest number of segments that become one. */
#define MAX_MERGED 64

/*
 * Pending rows, one after the other on a chain of pages that are numbered on,
 * each number being the page's stamp.
 */
typedef struct Pending
{
	uint64		stamp;			/* of the first page */
	BlockNumber first;
	BlockNumber last;
	uint32		pages;
	uint32		rows;
	uint32		skip;			/* words of the first page that are no longer pending */
	uint32		pass;			/* as in Segment, of all rows that are here */
	uint32		unused;
	uint32		checksum;
} Pending;

/* A segment in the making. */
typedef struct Merge
{
	Segment		segment;		/* 0 rows: none */
	uint32		written;		/* of its pages */
	uint32		pending;		/* the first pending rows become part of it */
	uint32		sources;		/* and these segments, all on one page of the directory */
	uint32		source[MAX_MERGED];
} Merge;

typedef struct Meta
{
	uint32		magic;
	uint32		version;
	uint32		checksum;		/* of all that follows but `pending` */
	uint32		pass;			/* of VACUUM */
	uint64		changes;		/* of what the index consists of, but for appended pending rows */
	uint64		next_stamp;		/* of a segment */

	/* the geometry of signatures (0 parts: not chosen yet), and the type of the keys that they are of */
	uint8		log2_blocks;
	uint8		parts;
	uint8		key_type;
	uint8		name_len;
	char		name[BLX_MAX_NAME + 1];

	uint32		segments;		/* in the directory, empty ones included */
	uint32		directory_pages;
	uint32		free_runs;
	Merge		merge;
	BlockNumber directory[MAX_DIRECTORY_PAGES];
	Run			free[MAX_FREE_RUNS];

	Pending		pending;		/* last: every insert changes it, and has no need to sum up the rest again */
} Meta;

/* What the index consists of at one moment. */
typedef struct Structure
{
	Meta		meta;
	BlockNumber blocks;			/* of the file, or more by now */
	blx_geometry geometry;		/* when meta.parts > 0 */
	blx_identity identity;
	Segment    *segments;		/* meta.segments of them */
} Structure;

/* ---- am_pages.c ---- */
extern void InitPage(Page page, PageKind kind, uint64 stamp);
extern bool PageIs(Page page, PageKind kind, uint64 stamp);

static inline PageTail *
GetPageTail(Page page)
{
	return (PageTail *) PageGetSpecialPointer(page);
}

/* Of the metapage; errors when it is none of this access method, or damaged. */
extern Meta *GetMeta(Relation index, Page page);
extern void InitMetaPage(Relation index, Page page);

/* Checksums anew, after changes to the metapage: all of it, or only what is pending; and to a page of the directory. */
extern void SealMeta(Meta *meta);
extern void SealPending(Meta *meta);
extern void SealDirectory(Page page);

extern Structure *ReadStructure(Relation index, Snapshot snapshot);
extern blx_geometry GeometryOf(const Meta *meta);
extern void SetGeometry(Meta *meta, const blx_geometry *geometry);

/* The key type of the rows becomes the joint one; false when these are other keys. */
extern bool JoinKeyType(Meta *meta, const blx_filter *f);

/* Makes the index longer; the new pages are free ones of the metapage. At most so many pages in one go. */
#define EXTENSION_PAGES 128
extern void ExtendIndex(Relation index, uint32 pages);

/* Consecutive free pages, gone from meta, or InvalidBlockNumber. */
extern BlockNumber TakeFreePages(Meta *meta, uint32 pages);
extern void FreePages(Meta *meta, BlockNumber start, uint32 pages);

/* Pages that nothing refers to become free; returns how many are free. Needs the structure lock. */
extern uint32 CollectFreePages(Relation index);

/* Which pages are used, by what the structure says; errors when one is twice. */
extern bool *MapPages(Relation index, const Structure *structure, BlockNumber blocks);

extern void LockStructure(Relation index);
extern bool TryLockStructure(Relation index);
extern void UnlockStructure(Relation index);

/* A page that has changed hands although the structure has not: errors. */
pg_noreturn extern void ReportCorruption(Relation index, const char *what);

/* ---- am_signature.c ---- */

/* The geometries of some filters, from which to choose the index's. */
typedef struct GeometrySample
{
	uint32		filters;
	uint32		log2_blocks[32];
	uint32		parts[BLX_MAX_K + 1];
	bool		planned;		/* one of them, for a number of keys */
} GeometrySample;

extern void SampleGeometry(GeometrySample *sample, const blx_filter *f);

/* What the options say, and for the rest what most of the filters have. */
extern blx_geometry ChooseGeometry(const IndexOptions *options, const GeometrySample *sample);

/* comparable: f's keys are of the index's key type. */
extern void MakeSignature(uint64 *words, const blx_geometry *geometry, const blx_filter *f, bool comparable);

/* A condition of a scan, as slices. */
typedef struct Condition
{
	bool		all;			/* of the keys, or any */
	bool		anything;		/* says nothing about these signatures */
	uint32		keys;
	uint32		parts;
	uint32	   *slices;			/* keys * parts */
} Condition;

extern Condition MakeCondition(const Structure *structure, const blx_filter *probe, bool all);
extern bool SignatureMeets(const uint64 *words, const Condition *condition);

/* ---- am_segment.c ---- */

/* Rows to be written: those whose TID is valid, from memory or from a segment. */
typedef struct RowSource
{
	const ItemPointerData *tids;
	uint32		rows;
	const uint64 *signatures;	/* words `first` and on of each, `stride` words after the last; or NULL */
	uint32		stride;
	uint32		first;
	const Segment *segment;
} RowSource;

static inline uint32
SliceWords(uint32 rows)
{
	return (rows + 63) / 64;
}

static inline uint32
TidPages(uint32 rows)
{
	return (rows + PAGE_TIDS - 1) / PAGE_TIDS;
}

extern uint32 SegmentPages(const blx_geometry *geometry, uint32 rows);

/* The words of signatures that pages from .. to-1 of a segment are made of. */
extern void ColumnsOfPages(const blx_geometry *geometry, uint32 rows, uint32 from, uint32 to, uint32 *first, uint32 *end);

/* Writes pages from .. to-1 of a segment that nobody refers to yet: the live rows of the sources. */
extern void WritePages(Relation index, const blx_geometry *geometry, const RowSource *sources, int n,
					   const Segment *segment, uint32 from, uint32 to);

extern uint32 CountLive(const RowSource *sources, int n);

/* The TIDs on a locked page, or NULL when the segment is gone (and nothing is locked). */
extern const ItemPointerData *LockTids(Relation index, const Segment *segment, uint32 page, Snapshot snapshot, Buffer *buffer);

/* Finds the slice's words on a locked page, or NULL when the segment is gone (and nothing is locked). */
extern const uint64 *LockSlice(Relation index, const Segment *segment, uint32 slice, Buffer *buffer);
extern BlockNumber SliceBlock(const Segment *segment, uint32 slice);

extern ItemPointerData *ReadAllTids(Relation index, const Segment *segment);

/* A page of a segment, locked; false when the segment is gone (and nothing is locked). */
extern bool LockSegmentPage(Relation index, const Segment *segment, BlockNumber block, int mode, Buffer *buffer);

/* Word `number` of the signatures of a segment's rows, live or not, and zeros to the next multiple of 64 rows. */
#define COLUMN_BYTES (MAX_SEGMENT_ROWS * sizeof(uint64))
#define SLICES_BYTES (64 * PAGE_WORDS * sizeof(uint64))
extern void ReadColumn(Relation index, const Segment *segment, uint32 number, uint64 *slices, uint64 *column);

/* ---- am_pending.c ---- */

/* A pending row: its TID in the first word, then the signature. */
static inline uint32
PendingWords(const blx_geometry *geometry)
{
	return 1 + (uint32) blx_body_words(geometry);
}

static inline ItemPointerData
PendingTid(const uint64 *row)
{
	ItemPointerData tid;

	memcpy(&tid, row, sizeof tid);
	return tid;
}

/* Goes over the pending rows, one page in memory at a time. */
typedef struct PendingReader
{
	Relation	index;
	Snapshot	snapshot;
	BlockNumber blocks;			/* of the index */
	const Pending *pending;
	uint32		row_words;
	uint32		rows;			/* how many are still to come */
	uint32		pages;			/* read so far */
	BlockNumber block;			/* of the page that was read last */
	BlockNumber next;
	uint32		place;			/* of the next word */
	bool		gone;			/* a page is something else by now */
	uint64	   *row;
	uint64		words[PAGE_WORDS];
} PendingReader;

/* The first `rows` pending rows. */
extern PendingReader *StartPending(Relation index, const Structure *structure, uint32 rows, Snapshot snapshot);

/* The next row, which stays until the one after it; NULL after the last, or when they are gone. */
extern const uint64 *NextPending(PendingReader *reader);

/* Where a row begins, in words from the start of the first page. */
static inline uint64
PendingPlace(const Pending *pending, uint32 row_words, uint64 row)
{
	return pending->skip + row * row_words;
}

/* A row to be appended under the metapage's exclusive lock; false when there are not enough free pages. */
extern bool AppendPending(Relation index, Buffer buffer, Meta *joined, ItemPointer tid, uint64 *row);

/* The blocks of the first pages of pending rows; NULL when they are gone. */
extern BlockNumber *PendingBlocks(Relation index, const Structure *structure, uint32 pages);

/* The page after one page of pending rows, when there is one. */
extern BlockNumber NextPendingPage(Relation index, BlockNumber block, uint64 stamp);

/* Forgets the first pending rows, which are on these pages. */
extern void DropPending(Relation index, Meta *meta, uint32 rows, BlockNumber *blocks);

/* ---- am_merge.c ---- */

/*
 * One step of a merge, which writes about as many pages: of the one under way,
 * or of a new one when there are too many pending rows.  False when there was
 * nothing to do.  Needs the structure lock.
 *
 * A merge takes pending rows of no more than `most` pages, or 64 rows.
 */
extern bool MergeStep(Relation index, uint32 pages, uint32 most);

/* The merge under way, to its end, in steps between which the structure lock stays. */
extern void FinishMerge(Relation index);

/* Begins to write a segment's live rows anew, or frees it when there are none; false when the index must be longer. */
extern bool StartCompaction(Relation index, const Structure *structure, uint32 number);

/* A new segment of an index that nobody else knows. */
extern void AddSegment(Relation index, const blx_geometry *geometry, const RowSource *source);

/* Are there too many pending rows? */
extern bool PendingIsFull(const Meta *meta, Relation index);

/* Pages that a step in VACUUM writes, and a step that is due after the last row was inserted; 0: none is. */
#define VACUUM_STEP 1024
extern uint32 InsertStep(const Meta *meta, Relation index);

/* ---- the access method's functions ---- */
extern IndexBuildResult *BuildIndex(Relation heap, Relation index, struct IndexInfo *info);
extern void BuildEmptyIndex(Relation index);
extern bool InsertRow(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
					  IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);
extern IndexScanDesc BeginScan(Relation index, int keys, int orderbys);
extern void RestartScan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 ScanIntoBitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void EndScan(IndexScanDesc scan);
extern IndexBulkDeleteResult *RemoveRows(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
										 IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *CleanUp(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
extern void EstimateCost(struct PlannerInfo *root, struct IndexPath *path, double loops, Cost *startup, Cost *total,
						 Selectivity *selectivity, double *correlation, double *pages);

#pragma GCC visibility pop

#endif							/* BLOOMX_AM_H */
