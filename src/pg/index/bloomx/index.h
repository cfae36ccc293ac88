/*
 * index.h - the index access method bloomx: what its files share.
 *
 * From the ground up:
 *
 *   geometry.c  filters -> signatures
 *   columns.c    values -> keys
 *   scan_condition.c  conditions -> slices
 *   options.c    the options of an index
 *   wal.c     a change of one page or two, and its WAL record
 *   metapage.c      pages, the metapage, free pages
 *   list.c    rows that are in no segment yet
 *   stores.c     the stores of an index
 *   snapshot.c  what the index consists of, and the lock of that
 *   segment.c    writes and reads a segment
 *   space.c      which pages are used, and by what
 *   provisional.c  the geometry of filters before there is a segment
 *   entries.c    keys of values -> size classes of signatures
 *   flush.c      pending rows of values become segments
 *   update.c    the directory: new segments in the place of others
 *   merge.c      from pending rows and small segments to larger ones
 *   concurrent.c  the rows of a concurrent build
 *   append.c     INSERT makes a row a pending row
 *   build_filters.c    CREATE INDEX and INSERT on filters
 *   build_values.c     the same on values
 *   build_scan.c      CREATE INDEX reads the table
 *   build_parallel.c   CREATE INDEX on values by several processes
 *   build.c      what they have in common
 *   scan.c       bitmap scans
 *   summarize.c  VACUUM makes entries of values anew
 *   vacuum.c     VACUUM
 *   nulls.c      what the planner must know of rows without a filter
 *   arrays.c     what the executor must know of arrays
 *   cost.c       the planner's estimate
 *   check.c      bloomx_check_index (check_places.h)
 *   info.c       bloomx_index_info
 *   handler.c    what the access method can do, amvalidate
 *
 * An index consists of *stores* (stores.c).  One of them has the keys of all columns
 * of values, and one more for each column of filters has their signatures.  An index
 * of one column, or of values only, has one store.  If there are several, every row
 * of the table is in the one of values, which has NULL of any column as a key, and a
 * row with a filter is also in the store of that column.  A scan searches only stores
 * that its conditions ask, and returns the rows that it finds in all of these.
 *
 * What stands below of an index holds for each of its stores, but the structure lock
 * and the extension lock are those of the whole index.  What stands of rows holds for
 * the entries of a store of values as well: an entry stands for one row, or for all
 * rows of a block (entries.c).
 *
 * An index is a set of segments and some lists of pending rows.  A segment holds
 * the signatures (core/filter/slices.h) of up to MAX_SEGMENT_ROWS rows, stored
 * transposed: pages of TIDs, then pages of slices.  Slice s is the string of the
 * bits s of all rows.  A lookup reads, in each segment, one slice per part of
 * the signature, and then the pages of TIDs where a row matched.  A segment never
 * changes, except that VACUUM makes TIDs invalid.  Pending rows are TIDs with
 * signatures, or with the hashes of keys, in the order in which they came; when
 * there are many they become segments (merge.c, flush.c).
 *
 * Who may do what at the same time (docs/design.md, "The bit-sliced index"):
 *
 * - The metapage says what the index consists of: the directory's pages, the
 *   pages of pending rows, free pages, the merge under way.  The metapage and the
 *   directory change only under the metapage's exclusive buffer lock, in one WAL
 *   record that is written after all pages that it refers to.  A record names the
 *   metapage first: replay locks pages in the order of the record.
 * - A process that merges, replaces or empties segments, or makes TIDs invalid,
 *   holds the structure lock (a heavyweight lock on the metapage) while it
 *   changes something.  VACUUM and bloomx_check_index release it between their
 *   steps.
 * - INSERT does not wait for the structure lock, except while the geometry is
 *   provisional (provisional.c): the index is small then, and nobody keeps the lock
 *   for long.  It appends a pending row to the last page of one of the lists, under
 *   that page's exclusive lock.  It learns from the metapage, under its share lock,
 *   which page that is, and remembers it for the next rows of the statement: the
 *   page stays the last one until it is full.  The page itself says how far it is
 *   used.  If somebody else has it locked, the statement goes on with another list.
 *   Only a row that fills the page needs the metapage again, and the exclusive lock
 *   if it takes another page.  A list has no largest size.  If it is too long, INSERT
 *   does one small step of a merge, provided that nobody else holds the structure
 *   lock.
 * - A merge proceeds from step to step, perhaps in another process: the metapage
 *   says what is merged, into which pages, and how many of them are written.  A
 *   process that is interrupted leaves a merge that the next one continues, and
 *   no page without an owner.
 * - TIDs become invalid only while no merge is under way: VACUUM first finishes
 *   the merge that it finds.  So a merge sees the same rows in each of its steps,
 *   and no row that VACUUM has removed can come back with it.
 * - VACUUM must see every TID that was in the index when its pass began, although
 *   merges move rows between two of its steps.  So passes are numbered.  A segment
 *   carries the number of the last pass that has seen all of its rows, and so does
 *   the list of pending rows.  The result of a merge carries the present number
 *   only if all its sources do.  The pass goes over the pending rows first, and
 *   then over the segments that carry another number until there is none.  Rows
 *   inserted meanwhile need not be seen: a TID is used again only after VACUUM has
 *   removed it from all indexes.  A merge makes no more segments of another number
 *   than it takes, so the pass ends.
 * - A scan locks only the page that it looks at.  It copies the directory under
 *   the metapage's share lock and then reads.  Meanwhile pages may be freed and
 *   used again.  Therefore each page carries the stamp of the segment, or of the
 *   pending page, that it was written for, and no stamp is used twice.  A scan
 *   that finds another stamp starts again.  TIDs found twice do no harm in a
 *   bitmap.  This asks nothing of the process that frees pages, so it works on a
 *   standby, too.
 * - The processes that build an index (build_parallel.c) only add segments and pages.
 *   Their buffer locks and the extension lock suffice for that.
 * - The index is extended under the extension lock, a few pages at a time.  New
 *   pages become free pages of the metapage before the lock is released, and are
 *   taken from there.  Nobody waits for a heavyweight lock under a buffer lock.
 *   Locks are taken in this order: structure, extension, metapage, other pages.
 *   Nobody has the locks of two metapages.
 * - A page belongs to one store, and stays there when it is free.  Only VACUUM, with
 *   the structure lock, gives one of them the pages that none refers to.
 *
 * Nothing that is read is trusted: the metapage and the directory carry a
 * checksum of everything that a lookup believes, and their fields are checked
 * before they are used.
 *
 * Names: Bloomx for types and functions of the access method; bloomx and the
 * name of the callback (bloomxbuild) for those that PostgreSQL calls.
 */
#ifndef BLOOMX_INDEX_H
#define BLOOMX_INDEX_H

#include "pg/base/base.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/relscan.h"
#include "access/generic_xlog.h"
#include "access/skey.h"
#include "port/pg_bitutils.h"
#include "port/atomics.h"
#include "storage/buffile.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

#include "core/filter/slices.h"
#include "pg/keys/extract/extract.h"

#pragma GCC visibility push(hidden)

#define BLOOMX_INDEX_MAGIC 0x42584958	/* "BXIX" */
#define BLOOMX_INDEX_VERSION 1

/* The support function that an operator class of keys has (pg/keys/extract/extract.h). */
#define EXTRACT_FUNCTION 1

/* Strategies of the operator class of filters. */
#define HOLDS_ALL_STRATEGY 1	/* ?& */
#define HOLDS_ANY_STRATEGY 2	/* ?| */
#define HOLDS_TEXT_STRATEGY 3	/* ?& text, and the next two: keys that have the type of the filters */
#define HOLDS_ALL_TEXTS_STRATEGY 4	/* ?& text[] */
#define HOLDS_ANY_TEXT_STRATEGY 5	/* ?| text[] */

/* ---- stores.c ---- */

/*
 * A set of segments, with a metapage, a directory and pending rows of its own.  The
 * metapages are the first pages of the index, in the order of the stores.
 */
typedef struct BloomxStore
{
	Relation	index;
	BlockNumber meta_block;		/* the number of the store, and of its metapage */
	bool		of_values;		/* of all columns of values, and of NULL in any column */
	int			column;			/* of filters, numbered from 0 */
} BloomxStore;

/* If there are several, the first one is of values: every row of the table is in it. */
typedef struct BloomxStores
{
	int			n;
	BloomxStore store[FLEXIBLE_ARRAY_MEMBER];
} BloomxStores;

/* In the current memory context. */
extern BloomxStores *BloomxOpenStores(Relation index);

/* The first metapage.  Its page lock is the structure lock of the index. */
#define META_BLOCK 0

/* ---- options.c ---- */

/* 128 kB: the INSERT that brings a row writes the whole signature to the pending rows. */
#define MAX_SIGNATURE_BITS (1 << 20)

/*
 * Signatures of an index that must choose them before it has seen a filter of a
 * suitable size.  4096 bits are the size of a default filter (1 %) of some 380
 * keys.  8 parts are one group, and a half-full signature of 8 parts has a rate
 * of 0.4 %.
 */
#define DEFAULT_SIGNATURE_BITS 4096
#define DEFAULT_PARTS 8

/*
 * kB.  Every scan reads all pending rows: a short list makes scans fast, a long
 * one makes inserts cheap, since each segment is written from more rows.
 */
#define DEFAULT_PENDING_LIMIT 1024
#define MAX_PENDING_LIMIT 8000

typedef struct BloomxOptions
{
	int32		varlena;
	int			bits;			/* of a signature; 0: as many as the filters have */
	int			probes;			/* bits per key, which are the parts of a signature; 0: as many as the filters have, or as the rate needs */
	double		rate;			/* of false positives, per entry of values; 0: chosen */
	int			keys;			/* the most keys of an entry of several rows; 0: as many as a signature tells apart */
	int			pending_limit;	/* kB */
} BloomxOptions;

/* At load time: makes the options known to PostgreSQL. */
extern void BloomxInitOptions(void);
extern BloomxOptions BloomxGetOptions(Relation index);

/* ---- what is on the pages ---- */

typedef enum BloomxPageKind
{
	META_PAGE = 1,
	DIRECTORY_PAGE,
	SEGMENT_PAGE,
	PENDING_PAGE,
	FREE_PAGE					/* written only at the end of the file, when it is extended */
} BloomxPageKind;

/*
 * The end of every page.  `extra` has the rows of the segment, the checksum of the
 * directory page, or the page after a page of pending rows; the last of these has
 * a checksum of its pd_lower, to which it is filled.
 */
typedef struct BloomxPageTail
{
	uint64		stamp;			/* of the segment, or of the pending page */
	uint32		extra;
	uint16		kind;
	uint16		page_id;		/* tells tools whose page it is */
} BloomxPageTail;

#define BLOOMX_PAGE_ID 0xFF95
#define PAGE_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(BloomxPageTail)))
#define PAGE_WORDS (PAGE_BYTES / 8)
#define PAGE_TIDS (PAGE_BYTES / sizeof(ItemPointerData))
#define MAX_SEGMENT_ROWS (64 * PAGE_WORDS)	/* a slice fits a page */

typedef struct BloomxSegment
{
	uint64		stamp;
	BlockNumber start;			/* its pages are consecutive: TIDs, then slices */
	uint32		rows;			/* 0: the entry is free */
	uint32		slices;			/* the bits of a signature; with 0 slices all rows match */
	uint32		dead;			/* rows of it that VACUUM has removed */
	uint32		pass;			/* the last pass of VACUUM that has seen all rows */
	uint32		tuples;			/* of the table: more than the rows, if these are entries of many */
} BloomxSegment;

/* The offset in the TID of an entry that stands for rows of a whole block (entries.c). */
#define WHOLE_BLOCK PG_UINT16_MAX

#define DIRECTORY_SEGMENTS (PAGE_BYTES / sizeof(BloomxSegment))

typedef struct BloomxRun
{
	BlockNumber start;
	uint32		pages;
} BloomxRun;

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
 * numbered in order, for ever, and the number is the page's stamp.  All pages are
 * full, except the last one, which says how far it is used, and which stays the last
 * one until it is full, or is marked as full: so a page with its stamp that is not
 * full is the last one.  There is at least one row if there are pages.
 */
typedef struct BloomxPending
{
	uint64		stamp;			/* of the first page */
	BlockNumber first;
	BlockNumber last;
	uint32		pages;
	uint32		skip;			/* words of the first page that are no longer pending */
	uint32		pass;			/* the last pass of VACUUM that has seen all rows */
	uint32		unused;
} BloomxPending;

/*
 * A store has several lists, for sessions that insert at the same time.  Each that is
 * used costs every scan up to pending_limit, and makes segments of its own; so there
 * are few.  Sessions beyond four still share pages, which they lock for a short time.
 */
#define PENDING_LISTS 4
#define FIRST_LIST 0			/* the only one in use while the geometry is provisional */

/*
 * The first bits of a stamp are the numbers of the store and of the list.  So no page
 * has the stamp of another list, nor that of another store, to which VACUUM may have
 * given the page while a statement still remembers it.
 */
#define LIST_SHIFT 48

/* A segment in the making. */
typedef struct BloomxMerge
{
	BloomxSegment segment;		/* 0 rows: no merge is under way */
	BloomxRun	reserved;		/* pages of segments that are made in one step; if there are any between two steps, it failed */
	uint32		written;		/* pages of the segment that are written */
	uint32		sources;		/* how many segments become part of it, all on one page of the directory */
	uint64		pending;		/* words of a list of pending rows, from the first on, that do */
	uint32		list;			/* that list */
	uint32		unused;
	uint32		source[MAX_MERGED];
} BloomxMerge;

/*
 * What is to be known of the signatures.  Those of filters have one geometry, and
 * the filters' keys have a type.  Those of values have the same number of parts,
 * but parts of different widths (entries.c).
 */
typedef struct BloomxKeys
{
	uint8		of_values;		/* 1: the columns are of values, 0: the column is of filters */
	uint8		parts;			/* 0: not chosen yet */
	uint8		log2_blocks;	/* the rest is of filters, but for the width */
	uint8		provisional;	/* 1: the geometry is only that of the pending rows (provisional.c) */
	uint8		key_type;
	uint8		name_len;
	uint8		unused[2];
	uint32		width;			/* of a part of the usual entry of values */
	uint32		unused2;
	char		name[BLX_MAX_NAME + 1];
} BloomxKeys;

typedef struct BloomxMeta
{
	uint32		magic;
	uint32		version;
	uint32		checksum;		/* of what follows `pending` */
	uint32		append_checksum;	/* of keys and pending: all that an insert reads, so it need not sum up the rest */
	BloomxPending pending[PENDING_LISTS];
	BloomxKeys	keys;

	uint32		pass;			/* number of VACUUM's last pass */
	uint32		segments;		/* entries of the directory, free ones included */
	uint64		changes;		/* how often the structure has changed; appending pending rows does not count */
	uint64		next_stamp;		/* of the next segment */
	uint64		old_stamp;		/* segments with a lower stamp are to be dropped (summarize.c); 0: none is */
	uint32		directory_pages;
	uint32		free_runs;
	BloomxMerge merge;
	BlockNumber directory[MAX_DIRECTORY_PAGES];
	BloomxRun	free[MAX_FREE_RUNS];
} BloomxMeta;

/* What a store consists of at one moment. */
typedef struct BloomxStructure
{
	BloomxMeta	meta;
	uint64		pending_words;	/* in all lists */
	uint64		list_words[PENDING_LISTS];
	BlockNumber blocks;			/* length of the file at that moment */
	blx_geometry geometry;		/* of filters; valid if meta.keys.parts > 0 */
	blx_identity identity;		/* of filters */
	BloomxSegment *segments;	/* meta.segments of them */
} BloomxStructure;

/* ---- wal.c ---- */

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

/* The same for those of n words that differ. */
extern void BloomxChangeWords(BloomxChange *change, void *place, const void *words, uint32 n);

/*
 * Writes n pages, at most MAX_GENERIC_XLOG_PAGES, from `first` on, as a whole, in one
 * WAL record.  Nobody refers to them yet.
 */
extern void BloomxWriteImages(const BloomxStore *store, BlockNumber first, const PGAlignedBlock *images, int n);

/* ---- metapage.c ---- */
extern void BloomxInitPage(Page page, BloomxPageKind kind, uint64 stamp);
extern bool BloomxPageIs(Page page, BloomxPageKind kind, uint64 stamp);

static inline BloomxPageTail *
BloomxGetPageTail(Page page)
{
	return (BloomxPageTail *) PageGetSpecialPointer(page);
}

/* The contents of the metapage; an error if it is not one of this access method, or damaged. */
extern BloomxMeta *BloomxGetMeta(const BloomxStore *store, Page page);
extern void BloomxInitMetaPage(const BloomxStore *store, Page page);

/* The same for a file of that length, to be read. */
extern const BloomxMeta *BloomxGetMetaOfFile(const BloomxStore *store, Page page, BlockNumber blocks);

/*
 * The same for an insert, which believes only keys and pending: only these are
 * checked.  Any lock will do.
 */
extern const BloomxMeta *BloomxGetMetaForInsert(const BloomxStore *store, Page page);

/* A change of the metapage alone, in a WAL record of its own. */
typedef struct BloomxMetaChange
{
	Buffer		buffer;
	GenericXLogState *state;
	BloomxMeta *meta;
} BloomxMetaChange;

/* Locks the metapage exclusively and returns its contents, to be changed. */
extern BloomxMeta *BloomxStartMetaChange(BloomxMetaChange *change, const BloomxStore *store);

/* Writes the record, with new checksums, or leaves the metapage as it was; unlocks it. */
extern void BloomxFinishMetaChange(const BloomxMetaChange *change);
extern void BloomxAbortMetaChange(const BloomxMetaChange *change);

/* Computes the checksums after a change: to the metapage, to a page of the directory. */
extern void BloomxSealMeta(BloomxMeta *meta);
extern void BloomxSealDirectory(Page page);

extern bool BloomxDirectoryIsSound(Page page);
extern bool BloomxSegmentIsValid(const BloomxMeta *meta, const BloomxSegment *segment, BlockNumber blocks);

extern blx_geometry BloomxGeometryOf(const BloomxKeys *keys);
extern blx_identity BloomxIdentityOf(const BloomxKeys *keys);
extern void BloomxSetGeometry(BloomxKeys *keys, const blx_geometry *geometry);

/* Writes keys to the metapage. */
extern void BloomxWriteKeys(const BloomxStore *store, const BloomxKeys *keys);
extern bool BloomxSameKeys(const BloomxKeys *a, const BloomxKeys *b);

/* Makes the key type of the rows include f's.  False if f has keys of another type. */
extern bool BloomxJoinKeyType(BloomxKeys *keys, const blx_filter *f);

/*
 * Makes the index longer, by at most EXTENSION_PAGES; the new pages become free
 * pages of the metapage.  128 pages, one megabyte: other backends wait for the
 * extension lock meanwhile, and interrupts are held off.
 */
#define EXTENSION_PAGES 128
extern void BloomxExtendIndex(const BloomxStore *store, uint32 pages);

/* Takes consecutive free pages out of meta and returns the first, or InvalidBlockNumber if there are none. */
extern BlockNumber BloomxTakeFreePages(BloomxMeta *meta, uint32 pages);
extern void BloomxFreePages(BloomxMeta *meta, BlockNumber start, uint32 pages);

/* Raises the error that the index is damaged, and in what way. */
pg_noreturn extern void BloomxReportCorruption(const BloomxStore *store, const char *what);

/* ---- geometry.c ---- */

/* The geometries of some filters, from which the index's is chosen. */
typedef struct BloomxGeometrySample
{
	uint32		filters;
	uint32		log2_blocks[32];	/* how many of the filters have 2^i blocks */
	uint32		parts[BLX_MAX_K + 1];	/* how many have i parts */
	uint32		both[32][BLX_MAX_K + 1];	/* how many have 2^i blocks and j parts */
	bool		planned;		/* true if the last one was planned for a number of keys */
} BloomxGeometrySample;

extern void BloomxSampleGeometry(BloomxGeometrySample *sample, const blx_filter *f);
extern void BloomxAddToSample(BloomxGeometrySample *sample, const blx_geometry *geometry);

/* The same for a filter that a column's type is declared for; false if it can have no signature. */
extern bool BloomxSampleType(BloomxGeometrySample *sample, const blx_geometry *geometry);

/* The geometry that the options ask for; what they leave open is taken from the filters. */
extern blx_geometry BloomxChooseGeometry(const BloomxOptions *options, const BloomxGeometrySample *sample);

/* The signature of f, in blx_body_words(geometry) words.  comparable: f's keys are of the index's key type. */
extern void BloomxMakeSignature(uint64 *words, const blx_geometry *geometry, const blx_filter *f, bool comparable);

/* ---- columns.c ---- */

/* Of all columns of an index. */
typedef struct BloomxColumns
{
	KeyHashes	hashes;			/* of the last row */
	int			n;
	int			of_values;		/* so many of them are not of filters */
	KeyExtractor *extractors[FLEXIBLE_ARRAY_MEMBER];	/* NULL of filters */
} BloomxColumns;

/* Everything is in the current memory context. */
extern BloomxColumns *BloomxOpenColumns(Relation index);

/* The hashes of all keys of a row, as they come, or each once in ascending order; valid until the next call. */
extern const KeyHashes *BloomxHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull);
extern const KeyHashes *BloomxSortedHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull);

/* A key's hash as the index has it; columns are numbered from 0. */
extern uint64 BloomxHashInColumn(uint64 hash, int column);
extern uint64 BloomxHashOfNull(int column);

/* The type that an extractor is made for (pg/keys/extract/extract.h). */
extern Oid	BloomxTypeOfColumn(Relation index, int column);

/* ---- scan_condition.c ---- */

/*
 * What a scan asks of the keys of a row, as KeyCondition says it.  A leaf knows
 * its slices in segments of that many slices.
 */
typedef struct BloomxCondition
{
	KeyConditionKind kind;
	uint32		n;				/* parts of HAS_ALL and HAS_ANY */
	struct BloomxCondition *parts;
	uint64		hash;			/* of HAS_KEY */
	uint32		of_slices;		/* 0: the slices are not known yet */
	uint32	   *slices;			/* meta.keys.parts of them */
} BloomxCondition;

extern BloomxCondition BloomxConditionOfProbe(const BloomxStructure *structure, const blx_filter *probe, bool all);

/* Of a scan key on a value, with that argument, which is not NULL, and of IS NULL. */
extern BloomxCondition BloomxConditionOfValue(Relation index, BloomxColumns *columns, const ScanKeyData *key, Datum argument);
extern BloomxCondition BloomxConditionOfNull(int column);

/* The slices of a leaf in segments of that many. */
extern const uint32 *BloomxSlicesOfKey(const BloomxKeys *keys, BloomxCondition *leaf, uint32 of_slices);

/* True if a pending row may meet the condition. */
extern bool BloomxRowMeets(const BloomxKeys *keys, const uint64 *row, BloomxCondition *condition);

/* ---- snapshot.c ---- */

/* What a store consists of now, in the current memory context. */
extern BloomxStructure *BloomxReadStructure(const BloomxStore *store, Snapshot snapshot);

/* The entries in its segments that may hold anything. */
extern int64 BloomxCountAnything(const BloomxStructure *structure);

/* The same of all stores, one after the other. */
extern BloomxStructure **BloomxReadStructures(const BloomxStores *stores);

extern void BloomxLockStructure(Relation index);
extern bool BloomxTryLockStructure(Relation index);
extern void BloomxUnlockStructure(Relation index);

/* ---- segment.c ---- */

/* Rows to be written, from memory or from a segment.  Rows whose TID is invalid are left out. */
typedef struct BloomxRowSource
{
	const ItemPointerData *tids;
	uint32		rows;
	const BloomxSegment *segment;	/* that has the signatures, or NULL */
	/* otherwise they are here: from word `first` on, one every `stride` words */
	const uint64 *signatures;
	uint32		stride;
	uint32		first;
	uint32		tuples;			/* of the table */
} BloomxRowSource;

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

/* The words of the signatures, *first .. *end - 1, that pages from .. to - 1 of a segment consist of. */
extern void BloomxColumnsOfPages(const BloomxSegment *segment, uint32 from, uint32 to, uint32 *first, uint32 *end);

/* Writes pages from .. to - 1 of a segment that nobody refers to yet: the live rows of the sources. */
extern void BloomxWritePages(const BloomxStore *store, const BloomxRowSource *sources, int n, const BloomxSegment *segment, uint32 from, uint32 to);

/* The number of rows with a valid TID. */
extern uint32 BloomxCountLive(const BloomxRowSource *sources, int n);

/*
 * These lock a page of a segment and return what is on it.  If the page belongs
 * to another segment by now, they lock nothing and return NULL or false.
 */
extern const ItemPointerData *BloomxLockTids(const BloomxStore *store, const BloomxSegment *segment, uint32 page,
											 Snapshot snapshot, Buffer *buffer);
extern const uint64 *BloomxLockSlice(const BloomxStore *store, const BloomxSegment *segment, uint32 slice, Buffer *buffer);
extern bool BloomxLockSegmentPage(const BloomxStore *store, const BloomxSegment *segment, BlockNumber block, int mode, Buffer *buffer);

/* The page that a slice is on. */
extern BlockNumber BloomxSliceBlock(const BloomxSegment *segment, uint32 slice);

/* The TIDs of all rows, under the structure lock. */
extern ItemPointerData *BloomxReadAllTids(const BloomxStore *store, const BloomxSegment *segment);

/*
 * A column is word `number` of the signatures of all rows, live or not, with
 * zeros up to the next multiple of 64 rows.  The last one has zeros for the slices
 * that are not there.  `slices` is scratch memory.
 */
#define COLUMN_BYTES (MAX_SEGMENT_ROWS * sizeof(uint64))
#define SLICES_BYTES (64 * PAGE_WORDS * sizeof(uint64))
extern void BloomxReadColumn(const BloomxStore *store, const BloomxSegment *segment, uint32 number, uint64 *slices, uint64 *column);

/* ---- list.c ---- */

/*
 * A pending row begins with this word.  That of a filter goes on with the
 * signature; while the geometry is provisional, its head has the blocks and parts
 * of the filter, 0 parts if it has no signature.  A row of values goes on with the
 * hashes of its keys, each once, in ascending order.
 */
typedef struct BloomxRowHead
{
	ItemPointerData tid;
	union
	{
		struct
		{
			uint8		log2_blocks;
			uint8		parts;
		};
		uint16		hashes;
	};
} BloomxRowHead;

/* So many hashes stand for any keys, and none follows. */
#define ANY_HASHES PG_UINT16_MAX

/* The most words of a row. */
#define MAX_ROW_WORDS PG_UINT16_MAX

/* The words of a row of filters. */
static inline uint32
BloomxPendingWords(const blx_geometry *geometry)
{
	return 1 + (uint32) blx_body_words(geometry);
}

static inline BloomxRowHead
BloomxHeadOf(const uint64 *row)
{
	BloomxRowHead head;

	memcpy(&head, row, sizeof head);
	return head;
}

static inline ItemPointerData
BloomxPendingTid(const uint64 *row)
{
	return BloomxHeadOf(row).tid;
}

/* The words of the row that begins with this one. */
static inline uint32
BloomxRowWords(const BloomxKeys *keys, const uint64 *row)
{
	uint16		hashes = BloomxHeadOf(row).hashes;
	blx_geometry geometry;

	if (keys->of_values)
		return hashes == ANY_HASHES ? 1 : 1 + hashes;
	geometry = BloomxGeometryOf(keys);
	return BloomxPendingWords(&geometry);
}

/* Reads pending rows in their order, with one page in memory at a time. */
typedef struct BloomxPendingReader
{
	const BloomxStore *store;
	Snapshot	snapshot;
	const BloomxStructure *structure;
	const BloomxPending *pending;	/* the list that is being read */
	const BloomxKeys *keys;
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

/* Begins to read all pending rows, or those on the first words of a list. */
extern BloomxPendingReader *BloomxStartPending(const BloomxStore *store, const BloomxStructure *structure, Snapshot snapshot);
extern BloomxPendingReader *BloomxStartPendingList(const BloomxStore *store, const BloomxStructure *structure, int list, uint64 words);

/* The next row, of reader->n words, valid until the next call; NULL after the last row, or if a page is gone. */
extern const uint64 *BloomxNextPending(BloomxPendingReader *reader);
extern void BloomxEndPending(BloomxPendingReader *reader);

/*
 * Reads the TIDs of the first rows of a list of filters, and words first .. end - 1
 * of their signatures.  Needs the structure lock.
 */
extern void BloomxReadPendingColumns(const BloomxStore *store, const BloomxStructure *structure, int list, uint32 rows,
									 ItemPointerData *tids, uint64 *signatures, uint32 first, uint32 end);

/* The list that has the most words; the pages of all lists. */
extern int	BloomxLongestList(const BloomxStructure *structure);
extern uint32 BloomxAllPendingPages(const BloomxMeta *meta);

/* Locks a page of a list, or the metapage, as an insert does, which keeps it for a short time. */
extern void BloomxLockExclusively(Buffer buffer);

/* The pages that a list should have at most; true if a list of that number of words takes more than some, and can become a segment. */
extern uint32 BloomxPendingLimit(const BloomxStore *store);
extern bool BloomxListIsTooLong(const BloomxMeta *meta, int list, uint64 words, uint32 pages);

/* The number of words of a list, under any lock of the metapage. */
extern uint64 BloomxCountPending(const BloomxStore *store, const BloomxMeta *meta, int list);

/* Where a statement appends its rows. */
typedef struct BloomxTarget
{
	int			list;
	BlockNumber block;			/* the last page of the list, when it was last seen; META_BLOCK: not known */
	uint64		stamp;			/* of that page */
} BloomxTarget;

typedef enum BloomxAppended
{
	APPENDED,
	OTHER_KEYS,					/* the index has other keys by now than those that the row was made for */
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
extern BloomxAppended BloomxAppendToOpenPage(const BloomxStore *store, const BloomxTarget *target, const uint64 *row, uint32 n);
extern bool BloomxAppendToLastPage(const BloomxStore *store, const BloomxMeta *meta, int list, const uint64 *row, uint32 n, uint64 *words);
extern bool BloomxAppendToNewPages(const BloomxStore *store, Buffer buffer, int list, const uint64 *row, uint32 n, uint64 *words);

/* The number of pages on which the first words of a list are; the blocks of its first pages, NULL if one of them is gone. */
extern uint32 BloomxPendingPages(const BloomxPending *pending, uint64 words);
extern BlockNumber *BloomxPendingBlocks(const BloomxStore *store, const BloomxStructure *structure, int list, uint32 pages);

/*
 * Takes the rows on the first words of a list, which are on these pages, out of meta
 * and frees pages that become empty.  Needs the metapage's exclusive lock.  Returns
 * a page that is locked, and changes in the record as well, or InvalidBuffer.
 */
extern Buffer BloomxDropPending(const BloomxStore *store, GenericXLogState *state, BloomxMeta *meta, int list, uint64 words, BlockNumber *blocks);

/*
 * Writes n words to new pages, which take the place of all pages of the first list, in
 * meta.  Needs the metapage's exclusive lock.  False if too few pages are free;
 * then meta is of no use.
 */
extern bool BloomxReplacePending(const BloomxStore *store, BloomxMeta *meta, BlockNumber *blocks, const uint64 *words, uint64 n);

/* ---- space.c ---- */

/* For each block, true if one of the structures says that it is used; an error if it is used twice. */
extern bool *BloomxMapPages(const BloomxStores *stores, BloomxStructure *const *structures, BlockNumber blocks);

/* Makes pages that nothing refers to free pages; returns how many are free.  Needs the structure lock. */
extern uint32 BloomxCollectFreePages(const BloomxStores *stores);

/* ---- provisional.c ---- */

/* The blocks and parts that a row's filter has by itself; 0 parts if it has no signature. */
extern blx_geometry BloomxOwnGeometry(const blx_filter *f);

/* Makes a provisional geometry, perhaps of 0 parts, one that holds such filters as well. */
extern void BloomxWidenKeys(const BloomxStore *store, BloomxKeys *keys, const blx_geometry *own);

/*
 * Makes the index's provisional geometry, which is in keys, one that holds such
 * filters.  False if it does already.  Waits for the structure lock.
 */
extern bool BloomxWidenPending(const BloomxStore *store, const BloomxKeys *keys, const blx_geometry *own);

/* Chooses the geometry, if it is provisional.  Needs the structure lock. */
extern void BloomxSettleGeometry(const BloomxStore *store);

/*
 * Phases in pg_stat_progress_create_index.  The server numbers the one before
 * them, in which the scan of the table begins (PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE).
 */
#define SCANNING_PHASE 2
#define WRITING_PHASE 3

/* ---- build_filters.c and build_values.c: CREATE INDEX ---- */

/* The part that a process, or a store, has in CREATE INDEX. */
typedef struct BloomxShare
{
	BlockNumber blocks;			/* of the table */
	Size		memory;			/* that it may use */
	/* if there are other processes */
	pg_atomic_uint32 *width;	/* of the usual entry, which one of them chooses; 0: not yet */
	BufFile    *rest;			/* takes rows that fill no segment, or NULL */
} BloomxShare;

/* What CREATE INDEX does with each row, in memory that is reset after it, and at the end. */
typedef struct BloomxBuilder
{
	const BloomxStore *store;
	int64		indexed;		/* rows */
	void		(*add_row) (struct BloomxBuilder *builder, const ItemPointerData *tid, const Datum *values, const bool *isnull);
	void		(*finish) (struct BloomxBuilder *builder);
} BloomxBuilder;

/* ---- concurrent.c ---- */

/* The TIDs of the rows from which a concurrent build makes the index: begins a file of them, adds one, adds another file's, hands on all. */
extern BufFile *BloomxStartTidFile(Relation index);
extern void BloomxNoteTid(BufFile *file, const ItemPointerData *tid);
extern void BloomxCopyTids(BufFile *to, BufFile *from);
extern void BloomxReportTidFile(Relation index, IndexBulkDeleteCallback callback, void *state);

/* ---- append.c ---- */

/*
 * Makes a row a pending row.  *step is the step of a merge that is due then.  False
 * if the index has other keys by now than those that the row was made for.
 */
extern bool BloomxAppendRow(const BloomxStore *store, BloomxTarget *target, const BloomxKeys *keys, const uint64 *row, uint32 *step);

/* ---- build_filters.c ---- */
extern BloomxBuilder *BloomxStartFilters(const BloomxStore *store, const BloomxShare *share);

/* Makes a filter a pending row; returns the step of a merge that is due then, or 0.  *keys is what is known of the index's. */
extern uint32 BloomxInsertFilter(const BloomxStore *store, BloomxTarget *target, Datum filter, ItemPointer tid, BloomxKeys *keys);

/* ---- build_values.c ---- */
extern BloomxBuilder *BloomxStartValues(const BloomxStore *store, const BloomxShare *share);

/* A process writes all rows that it still has to its file; the leader takes the rows in a file, and may use all of the memory from then on. */
extern void BloomxHandOverValues(BloomxBuilder *builder);
extern void BloomxTakeOverValues(BloomxBuilder *builder, BufFile *file);

/* The same for a row of values. */
extern uint32 BloomxInsertValues(const BloomxStore *store, BloomxTarget *target, BloomxColumns *columns, const Datum *values, const bool *isnull, ItemPointer tid);

/* ---- entries.c ---- */

/*
 * Of an index whose options and operator classes do not say otherwise: a rate of one
 * in 16,384.  On a small table a block read in vain is most of a lookup's time.
 * bench/index/rows --probes, 500,000 arrays of eight keys on 7,200 blocks, a key of
 * one row: with 10 parts 14 times as long as with GIN, with 12 5.4 times, with 13 4.1
 * times, with 14 3.5 times, and no less with 15 and 16.  The index of 14 parts has
 * 0.08 of GIN's size.
 */
#define LEAST_PARTS 14

/* The parts that signatures of a table of that number of blocks should have. */
extern uint8 BloomxChooseParts(const BloomxStore *store, const BloomxColumns *columns, BlockNumber blocks);

/* A row of more distinct keys than this is in every answer, as every other key would seem to be in it. */
extern uint32 BloomxMostKeysOfRow(uint32 parts);

/* Collects rows and makes segments of them. */
typedef struct BloomxEntries BloomxEntries;

/* Called with the rows of a segment and its number of slices; the memory of TIDs and signatures becomes the callee's. */
typedef void (*BloomxWriteSegment) (void *arg, uint32 slices, const BloomxRowSource *source);

/*
 * The number of parts must be chosen; the width is chosen by the rows, if it is
 * not.  The signatures that are not written yet take at most share->memory bytes.
 */
extern BloomxEntries *BloomxStartEntries(const BloomxStore *store, BloomxKeys *keys, const BloomxShare *share, BloomxWriteSegment write, void *arg);

/*
 * The hashes of some rows of the table, which come in the order of their blocks.
 * NULL instead of hashes: they may hold anything.
 */
extern void BloomxAddToEntries(BloomxEntries *entries, const ItemPointerData *tid, const uint64 *hash, uint32 n);
extern void BloomxFinishEntries(BloomxEntries *entries);

/* Writes all entries to the share's file; takes those in a file, of a process with the same keys, and may use that much memory from then on. */
extern void BloomxHandOverEntries(BloomxEntries *entries);
extern void BloomxTakeOverEntries(BloomxEntries *entries, BufFile *file, Size memory);

/* ---- flush.c ---- */

/* Segments that are in memory, and are added to the index at once. */
typedef struct BloomxSegments BloomxSegments;

extern BloomxSegments *BloomxNewSegments(void);

/* A BloomxWriteSegment. */
extern void BloomxKeepSegment(void *segments, uint32 slices, const BloomxRowSource *source);

/* Puts them in the place of what the merge names.  Needs the structure lock; no other merge may be under way. */
extern void BloomxAddSegments(const BloomxStore *store, const BloomxStructure *structure, const BloomxKeys *keys, BloomxSegments *segments,
							  const BloomxMerge *merge);

/* Makes the pending rows of values on `most` pages segments.  Needs the structure lock. */
extern void BloomxFlushPending(const BloomxStore *store, const BloomxStructure *structure, uint32 most);

/* Frees the pages of a flush that failed. */
extern void BloomxFreeReserved(const BloomxStore *store);

/* ---- update.c ---- */

/* Finds n free slots on one page of the directory.  False if there are not so many, and no further page may be added. */
extern bool BloomxFindSlots(const BloomxStructure *structure, uint32 n, uint32 *slots);

/*
 * From now on the n results stand for the sources of the merge and for its pending
 * rows.  Needs the structure lock.
 */
extern void BloomxReplace(const BloomxStore *store, const BloomxStructure *structure, const BloomxMerge *merge, const BloomxSegment *results, uint32 n);

/* Adds a segment that is written, in CREATE INDEX: the metapage's lock suffices, since nothing is removed. */
extern void BloomxAppendSegment(const BloomxStore *store, const BloomxSegment *segment);

/* ---- merge.c ---- */

/*
 * Does one step, which writes about `pages` pages, of the merge under way, or of
 * a new one if there are too many pending rows.  False if there was nothing to
 * do.  Needs the structure lock.
 *
 * A new merge takes the pending rows of at most `most` pages, but at least 64, of a
 * list of more than `limit` pages.
 */
extern bool BloomxMergeStep(const BloomxStore *store, uint32 pages, uint32 most, uint32 limit);

/* Merges some segments into one.  False if a lookup would not gain enough.  Needs the structure lock, and keeps it. */
extern bool BloomxMergeSegments(const BloomxStore *store);

/* Continues the merge under way to its end.  Needs the structure lock, and keeps it. */
extern void BloomxFinishMerge(const BloomxStore *store);

/*
 * Begins to rewrite a segment with its live rows only, or frees it if there are
 * none.  False if the index must be extended first.
 */
extern bool BloomxStartCompaction(const BloomxStore *store, const BloomxStructure *structure, uint32 number);

/*
 * Adds a segment of so many slices to an index that only those know who build it,
 * and shows that in the progress.  Several of them may do so at the same time.
 */
extern void BloomxAddSegment(const BloomxStore *store, uint32 slices, const BloomxRowSource *source);

/*
 * The pages that a step of VACUUM writes.  Each step reads the pending rows and
 * the TIDs of the sources again, so large steps are cheaper; 1024 pages, 8 MB,
 * keep the time between two looks for other work and for the cost delay short.
 */
#define VACUUM_STEP 1024

/*
 * The pages that the step of a merge writes which is due after an insert of n
 * words, with which the list has so many words; 0 if none is due.
 */
extern uint32 BloomxInsertStep(const BloomxMeta *meta, int list, uint64 words, uint32 n, const BloomxStore *store);

/* The memory that the settings allow to VACUUM. */
extern Size BloomxVacuumMemory(void);

/* ---- summarize.c ---- */

/* Makes the segments of an index of values anew, if they have many more rows than the table, which has `tuples`. */
extern void BloomxSummarizeAnew(const BloomxStore *store, double tuples);

/* ---- nulls.c ---- */

/* At load time: tells the planner that rows without a filter are not in the index. */
extern void BloomxInitNulls(void);

/* ---- arrays.c ---- */

/* At load time: arrays that are parameters, of elements by value, are hashed when rows are rechecked. */
extern void BloomxInitArrays(void);

/* The function by which the executor can hash the array of column = ANY (array), or InvalidOid. */
extern Oid	BloomxHashOfElements(struct ScalarArrayOpExpr *condition);

/* ---- build_scan.c ---- */

/* Reads the table, or the blocks that a parallel scan gives, and adds the rows; returns how many there were, indexed or not.  tids: takes theirs, or NULL. */
extern double BloomxScanTable(BloomxBuilder *builder, Relation heap, struct IndexInfo *info, BufFile *tids,
							  TableScanDesc scan, bool progress);

/* ---- build_parallel.c ---- */

/* Builds an index of values with workers.  False, with nothing done, if it may have none. */
extern bool BloomxBuildInParallel(Relation heap, const BloomxStore *store, struct IndexInfo *info, BufFile *tids, IndexBuildResult *result);

/* ---- info.c ---- */

/* An index that may be inspected, and its table, both locked. */
extern Relation BloomxOpenIndex(Oid id, Relation *heap);

/* ---- what handler.c hands to PostgreSQL ---- */
extern bytea *bloomxoptions(Datum reloptions, bool validate);
extern IndexBuildResult *bloomxbuild(Relation heap, Relation index, struct IndexInfo *info);
extern void bloomxbuildempty(Relation index);
extern char *bloomxbuildphasename(int64 phase);
extern bool bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
						 IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);
extern IndexScanDesc bloomxbeginscan(Relation index, int keys, int orderbys);
extern void bloomxrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 bloomxgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void bloomxendscan(IndexScanDesc scan);
extern IndexBulkDeleteResult *bloomxbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *bloomxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
extern void bloomxcostestimate(struct PlannerInfo *root, struct IndexPath *path, double loops, Cost *startup, Cost *total,
							   Selectivity *selectivity, double *correlation, double *pages);

#pragma GCC visibility pop

#endif							/* BLOOMX_INDEX_H */
