/*
 * view.h - what a process knows of a set: its metapage as it was when last read, and
 * where its pages were in the buffer pool.  Tests need no more.
 *
 * Nothing is pinned or locked between calls.  The caller has the relation open, if nothing else is said.
 */
#pragma once

#include "pg/bloomset/stages/format.h"

#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

typedef struct SetView
{
	MemoryContext memory;		/* of the view */
	Oid			id;				/* of the relation */
	RelationLocator locator;	/* of the pages */
	uint64		resets;			/* number_of_resets then */
	SetMeta    *meta;			/* with room for all stages */
	blx_filter *keys;			/* an empty filter of the set's keys, to check key types against */
	Buffer	   *recent;			/* where each block was last; NULL: not kept yet */
	BlockNumber recent_blocks;
	uint32		reads;
	bool		is_optional;	/* damage is no error, but a warning */
	bool		is_damaged;		/* of such a view: every test is "possibly" */
} SetView;

/*
 * Reads the metapage, or raises an error that says what is wrong with it.  The view lives in the current context.
 * For tests that one can do without, damage, then or later, is a warning, and sets is_damaged.
 */
extern SetView *OpenSetView(Relation rel, bool is_optional);

/* False if the set has no metapage yet, as a table without keys. */
extern bool HasMetaPage(Relation rel);

/* Changes when a view may have become another file's, as after TRUNCATE. */
extern uint64 number_of_resets;

/* True if the view is of the present file: as long as it is, a test needs no open relation. */
static inline bool
IsPresent(const SetView *view)
{
	return view->resets == number_of_resets;
}

/* Reads the metapage again if the set has other stages now.  Returns true if it has.  rel as for TestSet. */
extern bool RefreshSetView(SetView *view, Relation rel);
extern void RereadSetView(SetView *view, Relation rel);

/* From now on it is known where pages were in the buffer pool; otherwise, after some hundred tests. */
extern void KeepRecentBuffers(SetView *view);

/* A pinned page of the set. */
extern Buffer ReadSetPage(SetView *view, Relation rel, BlockNumber block);

/* True if the page can be one of that stage, or of SET_NO_STAGE the metapage. */
extern bool IsSetPage(Page page, uint32 stage);

/* An error unless it is one of that stage. */
extern void CheckSetPage(Relation rel, Buffer buffer, uint32 stage);

/* What the header of a metapage with these contents has. */
extern uint32 SetMetaChecksum(const SetMeta *meta);

pg_noreturn extern void ReportSetDamage(Relation rel, BlockNumber block, const char *detail);

/* Adds the keys that this session has not added yet (pending.h); NULL while there are none. */
extern void (*add_pending_keys) (void);

/*
 * True if the key may be in the set.  False is final for every row that the caller's snapshot sees.  rel is NULL if the caller
 * has the lock, but has not opened the relation.
 */
extern bool TestSet(SetView *view, Relation rel, uint64 hash);

/* The same for one of many keys: since the snapshot was taken, the caller has refreshed the view. */
extern bool TestStages(SetView *view, Relation rel, uint64 hash);

/* The same for a transaction that adds the key, unless it is there: true only if its bits are in the WAL, and are on the disk when it commits. */
extern bool TestSetToAdd(SetView *view, Relation rel, uint64 hash);

/*
 * The same for n keys, best in the order of their hashes: moves those to the front that the
 * first stages do not have, with their numbers, and returns how many there are.
 */
extern uint64 DropKnown(SetView *view, Relation rel, uint32 stages, uint64 *hashes, uint64 *numbers, uint64 n);

/* For a transaction that relies on what is on the page, whose lock the caller has: its WAL is on the disk when the transaction commits. */
extern void RelyOnPage(Page page);

/* Copies the words of a stage: those of a filter of its geometry, if it has 2^e blocks. */
extern void CopyStage(SetView *view, Relation rel, uint32 stage, uint64 *words);

/* The block of a key in a stage: its page, and its place there in words from the start of the page's contents. */
static inline BlockNumber
FindBlock(const SetStage *stage, uint64 hash, uint32 *place)
{
	uint64		block = blx_scale(hash, stage->blocks);
	uint32		per_page = SetBlocksPerPage(stage);
	/* the shorter division takes a third of the time */
	BlockNumber page = block <= PG_UINT32_MAX ? (uint32) block / per_page : (BlockNumber) (block / per_page);

	*place = (uint32) (block - (uint64) page * per_page) * stage->parts;
	return stage->first + page;
}

/* The words of a page of a stage that belong to blocks: how many, and where. */
static inline uint64
WordsOnPage(const SetStage *stage, BlockNumber block)
{
	uint64		per_page = SetBlocksPerPage(stage),
				before = (uint64) (block - stage->first) * per_page;

	return Min(per_page, stage->blocks - before) * stage->parts;
}

static inline uint64 *
WordsOfPage(Page page)
{
	return (uint64 *) (page + SET_PAGE_START);
}

/*
 * The share of bits that are set in a stage: of all pages, or of some that stand for
 * the others.  64 pages tell the number of keys to a quarter of a percent.
 */
#define SAMPLED_PAGES 64
extern double ShareOfBits(SetView *view, Relation rel, uint32 stage, uint64 pages, uint64 random);

/* That of the one page, which the caller has pinned. */
extern double ShareOnPage(const SetStage *stage, BlockNumber block, Page page);
