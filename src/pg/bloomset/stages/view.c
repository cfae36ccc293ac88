/*
 * view.c - reading a set.
 *
 * A test pins the page of the key's block, looks at the words and unpins it; it takes
 * no lock.  Words are read as a whole, and bits only come.  So "possibly" is final.
 * "Definitely not" is final for what the caller's snapshot sees: a row's bits are on the
 * page before its transaction commits.  Of the metapage, too, only the number of stages
 * is read without a lock, and that only grows.
 *
 * Whoever adds a key must not rely on such a "possibly".  The bits may be those of a writer
 * whose WAL record is yet to be written: if a row with the key were committed before that, a
 * crash could leave the row without the bits, and a standby would see it without them.  That
 * writer has locked the page until its record is there, so its lock is waited for.
 *
 * On a standby this is not enough.  Replay reads a page that is restored from an image
 * as zeros, and then fills it.  There a "no" is asked again under the page's lock, and
 * so is the number of stages.
 */
#include "pg/bloomset/stages/view.h"

#include <math.h>

#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "core/base/base.h"
#include "core/kernels/block.h"
#include "core/kernels/kernels.h"
#include "pg/index/pages/page.h"

void		(*add_pending_keys) (void) = NULL;

/* ---- damage ---- */

static void
ReportDamage(int level, Relation rel, BlockNumber block, const char *detail)
{
	ereport(level,
			(errcode(rel->rd_rel->relkind == RELKIND_INDEX ? ERRCODE_INDEX_CORRUPTED : ERRCODE_DATA_CORRUPTED),
			 errmsg("unexpected contents at block %u of bloomset \"%s\"", block, RelationGetRelationName(rel)),
			 errdetail("%s", detail),
			 rel->rd_rel->relkind == RELKIND_INDEX ? errhint("REINDEX it.") : 0));
}

void
ReportSetDamage(Relation rel, BlockNumber block, const char *detail)
{
	ReportDamage(ERROR, rel, block, detail);
	pg_unreachable();
}

/* Of a caller who has not opened the relation, it is opened for a moment. */
static Relation
OpenForNow(const SetView *view, Relation rel)
{
	return rel != NULL ? rel : relation_open(view->id, NoLock);
}

static void
CloseForNow(Relation opened, Relation rel)
{
	if (rel == NULL)
		relation_close(opened, NoLock);
}

/* Returns, with a warning, only if the view is of one who can do without. */
static void
FindDamage(SetView *view, Relation rel, BlockNumber block, const char *detail)
{
	Relation	opened = OpenForNow(view, rel);

	view->is_damaged = true;
	ReportDamage(view->is_optional ? WARNING : ERROR, opened, block, detail);
	CloseForNow(opened, rel);
}

uint32
SetMetaChecksum(const SetMeta *meta)
{
	return BloomxChecksum(meta, SetMetaBytes(meta->stages));
}

bool
IsSetPage(Page page, uint32 stage)
{
	const SetPageHeader *header = SetHeaderOf(page);

	return header->magic == SET_MAGIC && header->version == SET_VERSION && header->stage == stage;
}

void
CheckSetPage(Relation rel, Buffer buffer, uint32 stage)
{
	if (!IsSetPage(BufferGetPage(buffer), stage))
		ReportSetDamage(rel, BufferGetBlockNumber(buffer), psprintf("The page is not one of stage %u.", stage + 1));
}

static const char *
DamageOfStage(const SetMeta *meta, uint32 i, BlockNumber blocks)
{
	const SetStage *stage = &meta->stage[i];
	uint64		start = i == 0 ? SET_META_BLOCK + 1 : meta->stage[i - 1].first + SetPagesOf(&meta->stage[i - 1]);

	if (stage->parts < 1 || stage->parts > BLX_GROUP || stage->blocks < 1 || stage->blocks > (uint64) MaxBlockNumber * SET_PAGE_WORDS)
		return "A stage has an impossible shape.";
	if (stage->first < start || SetPagesOf(stage) > blocks || stage->first > blocks - SetPagesOf(stage))
		return "A stage is beyond the end of the file, or overlaps another one.";
	if (!(stage->fpr > 0 && stage->fpr < 1))
		return "A stage has an impossible rate.";
	return NULL;
}

/* Says what is wrong with a copy of the metapage; NULL if nothing is. */
static const char *
DamageOf(const PGAlignedBlock *copy, BlockNumber blocks)
{
	Page		page = (Page) copy->data;
	const SetMeta *meta = SetMetaOf(page);
	blx_identity identity = {.key_type = meta->key_type, .name_len = meta->name_len, .name = meta->name};

	if (PageIsNew(page) || !IsSetPage(page, SET_NO_STAGE))
		return "The page is not the metapage of a bloomset of this version.";
	if (meta->stages > SET_MAX_STAGES)
		return "The set has an impossible number of stages.";
	if (SetMetaChecksum(meta) != SetHeaderOf(page)->checksum)
		return "The checksum of the metapage is wrong.";
	if (!blx_identity_valid(&identity, NULL) || !(meta->fpr > 0 && meta->fpr < 1))
		return "The set has an impossible rate or key type.";
	for (uint32 i = 0; i < meta->stages; i++)
	{
		const char *damage = DamageOfStage(meta, i, blocks);

		if (damage != NULL)
			return damage;
	}
	return NULL;
}

/* ---- the view ---- */

Buffer
ReadSetPage(SetView *view, Relation rel, BlockNumber block)
{
	Buffer	   *recent = block < view->recent_blocks ? &view->recent[block] : NULL;
	Relation	opened;
	Buffer		buffer;

	if (recent != NULL && BufferIsValid(*recent) && ReadRecentBuffer(view->locator, MAIN_FORKNUM, block, *recent))
		return *recent;
	opened = OpenForNow(view, rel);
	/* a page that the server refuses to read is not one of the set then */
	buffer = ReadBufferExtended(opened, MAIN_FORKNUM, block, view->is_optional ? RBM_ZERO_ON_ERROR : RBM_NORMAL, NULL);
	CloseForNow(opened, rel);
	if (recent != NULL)
		*recent = buffer;
	return buffer;
}

/* To keep where buffers were saves half the time of a test in memory, but takes memory and time of its own. */
#define READS_BEFORE_KEEPING 256

void
KeepRecentBuffers(SetView *view)
{
	const SetMeta *meta = view->meta;
	BlockNumber blocks = 1;

	if (meta->stages > 0)
		blocks = meta->stage[meta->stages - 1].first + SetPagesOf(&meta->stage[meta->stages - 1]);
	if (view->recent == NULL)
		view->recent = MemoryContextAllocExtended(view->memory, blocks * sizeof(Buffer), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	else if (blocks > view->recent_blocks)
	{
		view->recent = repalloc_huge(view->recent, blocks * sizeof(Buffer));
		memset(view->recent + view->recent_blocks, 0, (blocks - view->recent_blocks) * sizeof(Buffer));
	}
	view->recent_blocks = blocks;
}

void
RereadSetView(SetView *view, Relation rel)
{
	PGAlignedBlock copy;
	Relation	opened = OpenForNow(view, rel);
	const SetMeta *meta = SetMetaOf((Page) copy.data);
	MemoryContext old;
	blx_identity identity;
	const char *damage = "The file is empty.";

	if (RelationGetNumberOfBlocks(opened) > 0)
	{
		Buffer		buffer = ReadSetPage(view, opened, SET_META_BLOCK);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
		UnlockReleaseBuffer(buffer);
		/* not before: another session may be adding pages, and then a stage */
		damage = DamageOf(&copy, RelationGetNumberOfBlocks(opened));
	}
	CloseForNow(opened, rel);
	if (damage != NULL)
	{
		FindDamage(view, rel, SET_META_BLOCK, damage);
		return;
	}
	old = MemoryContextSwitchTo(view->memory);
	memcpy(view->meta, meta, SetMetaBytes(meta->stages));
	identity = (blx_identity) {.seed = meta->seed, .key_type = meta->key_type, .name_len = meta->name_len, .name = view->meta->name};
	if (view->keys != NULL)
		pfree(view->keys);
	view->keys = NewEmptyFilter(&identity);
	if (view->recent != NULL)
		KeepRecentBuffers(view);
	MemoryContextSwitchTo(old);
}

uint64		number_of_resets = 0;

static void
CountReset(Datum arg, Oid relation)
{
	number_of_resets++;
}

SetView *
OpenSetView(Relation rel, bool is_optional)
{
	static bool is_registered = false;
	SetView    *view = palloc0(sizeof(SetView));

	if (!is_registered)
		CacheRegisterRelcacheCallback(CountReset, (Datum) 0);
	is_registered = true;
	view->memory = CurrentMemoryContext;
	view->id = RelationGetRelid(rel);
	view->locator = LOCATOR_OF(rel);
	view->resets = number_of_resets;
	view->is_optional = is_optional;
	view->meta = palloc(SET_PAGE_BYTES);
	RereadSetView(view, rel);
	return view;
}

static bool
IsNewPage(Relation rel, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);
	bool		is_new;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_new = PageIsNew(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return is_new;
}

/*
 * A crash may come between the extension of the file and the first record.  All pages are new then, for those of
 * the first stage are logged after the metapage.
 */
bool
HasMetaPage(Relation rel)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	if (blocks == 0)
		return false;
	if (!IsNewPage(rel, SET_META_BLOCK))
		return true;
	if (blocks > SET_META_BLOCK + 1 && !IsNewPage(rel, SET_META_BLOCK + 1))
		ReportSetDamage(rel, SET_META_BLOCK, "The metapage is empty, but the set has other pages.");
	return false;
}

bool
RefreshSetView(SetView *view, Relation rel)
{
	bool		in_recovery = RecoveryInProgress();
	uint32		stages;
	Buffer		buffer;

	if (add_pending_keys != NULL)
		add_pending_keys();
	/* a set with a capacity does not grow */
	if (view->meta->capacity > 0 && view->meta->stages > 0)
		return false;
	buffer = ReadSetPage(view, rel, SET_META_BLOCK);
	if (in_recovery)
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
	stages = *(volatile uint32 *) &SetMetaOf(BufferGetPage(buffer))->stages;
	if (in_recovery)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
	if (stages == view->meta->stages)
		return false;
	RereadSetView(view, rel);
	return !view->is_damaged;
}

/* ---- tests ---- */

/* A "no" from a page that is not the stage's would be wrong. */
static void
CheckPage(SetView *view, Relation rel, BlockNumber block, Page page, uint32 stage)
{
	if (!IsSetPage(page, stage))
		FindDamage(view, rel, block, psprintf("The page is not one of stage %u.", stage + 1));
}

static bool
TestStage(SetView *view, Relation rel, uint32 i, uint64 hash, bool in_recovery)
{
	const SetStage *stage = &view->meta->stage[i];
	uint64		mixed = blx_group_mix(hash);
	uint32		place;
	BlockNumber block = FindBlock(stage, hash, &place);
	Buffer		buffer = ReadSetPage(view, rel, block);
	Page		page = BufferGetPage(buffer);
	bool		found = blx_parts_have(WordsOfPage(page) + place, 0, stage->parts, mixed);

	if (!found && in_recovery)
	{
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		found = blx_parts_have(WordsOfPage(page) + place, 0, stage->parts, mixed);
	}
	if (!found)
		CheckPage(view, rel, block, page, i);
	if (!found && in_recovery)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
	return found;
}

static inline void
CountReads(SetView *view, uint64 n)
{
	if (view->recent == NULL && (view->reads += n) >= READS_BEFORE_KEEPING)
		KeepRecentBuffers(view);
}

/*
 * Loads what a test will read of shared buffers, all at once: in a large set each of these lines is a miss, and
 * a pin, which is atomic, would wait for one after the other.  Always inlined: gcc takes a function that only
 * prefetches for one without effect, and leaves the call out.
 */
static pg_attribute_always_inline void
PrefetchBlock(const SetView *view, const SetStage *stage, uint64 hash)
{
	uint32		place;
	BlockNumber block = FindBlock(stage, hash, &place);
	Buffer		buffer = block < view->recent_blocks ? view->recent[block] : InvalidBuffer;

	if (buffer > 0)
	{
		__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
		__builtin_prefetch(BufferGetPage(buffer));
		__builtin_prefetch(WordsOfPage(BufferGetPage(buffer)) + place);
	}
}

/* The newest first: it has the most keys that came lately. */
static bool
TestStagesFrom(SetView *view, Relation rel, uint32 first, uint64 hash)
{
	bool		in_recovery = RecoveryInProgress();

	for (uint32 i = view->meta->stages; i > first; i--)
		PrefetchBlock(view, &view->meta->stage[i - 1], hash);
	for (uint32 i = view->meta->stages; i > first; i--)
		if (TestStage(view, rel, i - 1, hash, in_recovery))
			return true;
	return false;
}

bool
TestStages(SetView *view, Relation rel, uint64 hash)
{
	CountReads(view, 1);
	return TestStagesFrom(view, rel, 0, hash);
}

bool
TestSet(SetView *view, Relation rel, uint64 hash)
{
	uint32		tested = 0;

	if (add_pending_keys != NULL)
		add_pending_keys();
	CountReads(view, 1);
	do
	{
		if (TestStagesFrom(view, rel, tested, hash))
			return true;
		tested = view->meta->stages;
	} while (RefreshSetView(view, rel));
	return view->is_damaged;
}

/*
 * If it is not there yet, the transaction gets an ID, and so a commit record, and counts that
 * WAL as its own: then COMMIT flushes it.  What a client was told to be known must be known
 * after a crash.
 */
void
RelyOnPage(Page page)
{
	XLogRecPtr	lsn = PageGetLSN(page);

	if (XactLastRecEnd < lsn && XLogNeedsFlush(lsn))
	{
		(void) GetTopTransactionId();
		XactLastRecEnd = lsn;
	}
}

/* Far enough for a line to arrive while others are tested, and few enough for the lines that a processor can wait for. */
#define KEYS_AHEAD 4

/* Moves those of the keys to the front that stage i does not have. */
static uint64
DropKnownOfStage(SetView *view, Relation rel, uint32 i, uint64 *hashes, uint64 *numbers, uint64 n)
{
	const SetStage *stage = &view->meta->stage[i];
	uint64		left = 0;

	for (uint64 from = 0, to; from < n; from = to)
	{
		uint32		place;
		BlockNumber block = FindBlock(stage, hashes[from], &place);
		Buffer		buffer = ReadSetPage(view, rel, block);
		Page		page = BufferGetPage(buffer);
		uint64		before = left;

		for (to = from; to < n && FindBlock(stage, hashes[to], &place) == block; to++)
		{
			if (to + KEYS_AHEAD < n)
				PrefetchBlock(view, stage, hashes[to + KEYS_AHEAD]);
			if (!blx_parts_have(WordsOfPage(page) + place, 0, stage->parts, blx_group_mix(hashes[to])))
			{
				numbers[left] = numbers[to];
				hashes[left++] = hashes[to];
			}
		}
		if (left > before)
			CheckPage(view, rel, block, page, i);
		if (left - before < to - from)
		{
			/* until the bits are in the WAL */
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			RelyOnPage(page);
			LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buffer);
	}
	return left;
}

uint64
DropKnown(SetView *view, Relation rel, uint32 stages, uint64 *hashes, uint64 *numbers, uint64 n)
{
	CountReads(view, n);
	for (uint32 i = stages; i > 0 && n > 0; i--)
		n = DropKnownOfStage(view, rel, i - 1, hashes, numbers, n);
	return n;
}

bool
TestSetToAdd(SetView *view, Relation rel, uint64 hash)
{
	do
	{
		uint64		number;

		if (DropKnown(view, rel, view->meta->stages, &hash, &number, 1) == 0)
			return true;
	} while (RefreshSetView(view, rel));
	return false;
}

void
CopyStage(SetView *view, Relation rel, uint32 i, uint64 *words)
{
	const SetStage *stage = &view->meta->stage[i];

	for (BlockNumber block = stage->first; block < stage->first + SetPagesOf(stage); block++)
	{
		Buffer		buffer = ReadSetPage(view, rel, block);
		uint64		n = WordsOnPage(stage, block);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		CheckPage(view, rel, block, BufferGetPage(buffer), i);
		memcpy(words, WordsOfPage(BufferGetPage(buffer)), n * sizeof(uint64));
		UnlockReleaseBuffer(buffer);
		words += n;
	}
}

/* ---- how full a stage is ---- */

double
ShareOnPage(const SetStage *stage, BlockNumber block, Page page)
{
	uint64		words = WordsOnPage(stage, block);

	return (double) blx_popcount(WordsOfPage(page), words) / (64.0 * words);
}

double
ShareOfBits(SetView *view, Relation rel, uint32 i, uint64 pages, uint64 random)
{
	const SetStage *stage = &view->meta->stage[i];
	uint64		all = SetPagesOf(stage),
				n = Min(all, pages);
	double		set = 0,
				bits = 0;

	for (uint64 j = 0; j < n; j++)
	{
		/* one page of each of n equal ranges */
		uint64		from = j * all / n,
					to = (j + 1) * all / n;
		BlockNumber block = stage->first + from + random % (to - from);
		Buffer		buffer = ReadSetPage(view, rel, block);
		uint64		words = WordsOnPage(stage, block);

		CHECK_FOR_INTERRUPTS();
		set += blx_popcount(WordsOfPage(BufferGetPage(buffer)), words);
		bits += 64.0 * words;
		ReleaseBuffer(buffer);
	}
	return set / bits;
}
