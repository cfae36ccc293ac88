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
 *   list of pending rows, free pages.  It and the directory change only under
 *   the metapage's exclusive buffer lock, in one WAL record, written after all
 *   pages that it refers to.  A crash in between leaves pages that nobody
 *   refers to; VACUUM finds them.
 * - Whoever builds, merges, replaces or empties segments, or makes TIDs
 *   invalid, holds the structure lock (a heavyweight lock on the metapage).
 *   So no row that VACUUM has removed can come back with a merge.
 * - Inserting appends a pending row under the metapage's exclusive lock; the
 *   structure lock is not needed, so inserts go on while a merge runs.
 * - Scans lock nothing but the page that they look at.  They copy the directory
 *   under the metapage's share lock and then read.  Pages may meanwhile be freed
 *   and used again; each page carries the stamp of the segment, or of the
 *   pending page, that it was written for, no stamp is used twice, and a scan
 *   that finds another one starts again.  TIDs found twice do no harm in a
 *   bitmap.  This needs nothing from whoever frees pages, so it works on a
 *   standby just as well.
 */
#ifndef BLOOMX_AM_H
#define BLOOMX_AM_H

#include "pg/base/bloomx.h"

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
	PENDING_PAGE
} PageKind;

/* The end of every page. */
typedef struct PageTail
{
	uint64		stamp;			/* of the segment, or of the pending page */
	uint32		unused;
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
	uint32		unused;
} Segment;

#define DIRECTORY_SEGMENTS (PAGE_BYTES / sizeof(Segment))

typedef struct Run
{
	BlockNumber start;
	uint32		pages;
} Run;

#define MAX_PENDING_PAGES (BLCKSZ / 8 - 24)
#define MAX_DIRECTORY_PAGES (BLCKSZ / 32)
#define MAX_FREE_RUNS (BLCKSZ / 32)

typedef struct Meta
{
	uint32		magic;
	uint32		version;
	uint64		changes;		/* of what the index consists of, but for appended pending rows */
	uint64		next_stamp;		/* of a segment */

	/* the geometry of signatures (0 parts: not chosen yet), and the type of the keys that they are of */
	uint8		log2_blocks;
	uint8		parts;
	uint8		key_type;
	uint8		name_len;
	char		name[BLX_MAX_NAME + 1];

	/* pending rows, one after the other on pages that are numbered on, each number being the page's stamp */
	uint32		pending_rows;
	uint32		pending_skip;	/* words of the first page that are no longer pending */
	uint32		pending_pages;
	uint64		pending_stamp;	/* of the first page */

	uint32		segments;		/* in the directory, empty ones included */
	uint32		directory_pages;
	uint32		free_runs;
	BlockNumber pending[MAX_PENDING_PAGES];
	BlockNumber directory[MAX_DIRECTORY_PAGES];
	Run			free[MAX_FREE_RUNS];
} Meta;

/* What the index consists of at one moment. */
typedef struct Structure
{
	Meta		meta;
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

/* Of the metapage; errors when it is none of this access method. */
extern Meta *GetMeta(Relation index, Page page);
extern void InitMetaPage(Relation index, Page page);

extern Structure *ReadStructure(Relation index, Snapshot snapshot);
extern blx_geometry GeometryOf(const Meta *meta);
extern void SetGeometry(Meta *meta, const blx_geometry *geometry);

/* The key type of the rows becomes the joint one; false when these are other keys. */
extern bool JoinKeyType(Meta *meta, const blx_filter *f);

/* Consecutive pages, to be had from the free ones (then gone from meta) or by extending the index. */
extern BlockNumber TakePages(Relation index, Meta *meta, uint32 pages);
extern BlockNumber ExtendIndex(Relation index, uint32 pages);
extern BlockNumber TakeFreePages(Meta *meta, uint32 pages);
extern void FreePages(Meta *meta, BlockNumber start, uint32 pages);

/* All free pages, anew from what the structure refers to; returns how many. Needs the structure lock. */
extern uint32 CollectFreePages(Relation index);

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
	const uint64 *signatures;	/* each `stride` words after the last; or NULL */
	uint32		stride;
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

/* Writes the rows of the sources, at most MAX_SEGMENT_ROWS, on pages that nobody refers to yet. */
extern Segment WriteSegment(Relation index, const blx_geometry *geometry, const RowSource *sources, int n);

/* The TIDs on a locked page, or NULL when the segment is gone (and nothing is locked). */
extern const ItemPointerData *LockTids(Relation index, const Segment *segment, uint32 page, Snapshot snapshot, Buffer *buffer);

/* Finds the slice's words on a locked page, or NULL when the segment is gone (and nothing is locked). */
extern const uint64 *LockSlice(Relation index, const Segment *segment, uint32 slice, Buffer *buffer);
extern BlockNumber SliceBlock(const Segment *segment, uint32 slice);

extern ItemPointerData *ReadAllTids(Relation index, const Segment *segment);

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

/* All pending rows, one after the other; NULL when they are gone. */
extern uint64 *ReadPending(Relation index, const Structure *structure, Snapshot snapshot);

/* Appends a row under the metapage's exclusive lock; false when there is no room. */
extern bool AppendPending(Relation index, Buffer meta, const Meta *joined, ItemPointer tid, uint64 *row);

/* Forgets the first pending rows. */
extern void DropPending(Meta *meta, uint32 rows);

/* ---- am_merge.c ---- */

/* Makes segments of pending rows until they are within the limit.  Needs the structure lock. */
extern void MergePending(Relation index);

/* Writes the segment's live rows anew, or frees it when there are none.  Needs the structure lock. */
extern void CompactSegment(Relation index, const Structure *structure, uint32 number);

/* A new segment. Needs the structure lock (or an index that nobody else knows). */
extern void AddSegment(Relation index, const blx_geometry *geometry, const RowSource *source);

/* Is it time to merge? */
extern bool PendingIsFull(const Meta *meta, Relation index);

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
