/*
 * adding.c - changes of a set (adding.h has the protocol).
 *
 * Bits must not be set under a shared lock, as hint bits are.  A generic WAL record has
 * the values of bytes; if the records of two writers came in another order than their
 * changes, replay would clear a bit of a committed key.  Nor may a record go without
 * images of pages: on a torn page, whose first half has the new LSN, recovery would
 * not replay it.
 */
#include "pg/bloomset/stages/adding.h"

#include "access/transam.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "core/base/hash.h"
#include "core/kernels/block.h"
#include "pg/bloomset/stages/stageplan.h"
#include "pg/index/pages/wal.h"

/* ---- the metapage ---- */

static void
InitSetPage(Page page, uint32 stage, uint16 lower)
{
	PageInit(page, BLCKSZ, 0);
	*SetHeaderOf(page) = (SetPageHeader) {.magic = SET_MAGIC, .version = SET_VERSION, .stage = stage};
	((PageHeader) page)->pd_lower = lower;
}

void
CreateSet(Relation rel, ForkNumber fork, const SetMeta *meta)
{
	bool		is_empty = RelationGetNumberOfBlocksInFork(rel, fork) == 0;
	Buffer		buffer = ReadBufferExtended(rel, fork, is_empty ? P_NEW : SET_META_BLOCK, RBM_ZERO_AND_LOCK, NULL);
	Page		page = BufferGetPage(buffer);

	Assert(BufferGetBlockNumber(buffer) == SET_META_BLOCK);
	START_CRIT_SECTION();
	InitSetPage(page, SET_NO_STAGE, BLCKSZ);
	memcpy(SetMetaOf(page), meta, SetMetaBytes(0));
	SetHeaderOf(page)->checksum = SetMetaChecksum(meta);
	MarkBufferDirty(buffer);
	/* an init fork is copied after a crash, whatever the table's persistence */
	if (fork == INIT_FORKNUM || RelationNeedsWAL(rel))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* Writes the metapage of the view. */
static void
WriteMeta(SetView *view, Relation rel)
{
	const SetMeta *meta = view->meta;
	uint32		checksum = SetMetaChecksum(meta);
	BloomxChange change = {.buffer = ReadBuffer(rel, SET_META_BLOCK)};

	LockBuffer(change.buffer, BUFFER_LOCK_EXCLUSIVE);
	BloomxStartChanges(&change, 1, rel);
	BloomxChangeSomeBytes(&change, SetMetaOf(change.page), meta, SetMetaBytes(meta->stages));
	BloomxChangeBytes(&change, &SetHeaderOf(change.page)->checksum, &checksum, sizeof checksum);
	BloomxFinishChanges(&change, 1, rel);
	UnlockReleaseBuffer(change.buffer);
}

void
MoveHorizon(SetView *view, Relation rel)
{
	LockRelationForExtension(rel, ExclusiveLock);
	RereadSetView(view, rel);
	view->meta->horizon = U64FromFullTransactionId(ReadNextFullTransactionId());
	WriteMeta(view, rel);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

/* ---- claims ---- */

/* Advisory locks of users have 1 or 2 there. */
#define CLAIM_LOCK 0xB100

static LOCKTAG
TagOfKey(Relation rel, uint64 hash)
{
	uint64		of_set = blx_hash_int64(hash, RelationGetRelid(rel));
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (of_set >> 32), (uint32) of_set, CLAIM_LOCK);
	return tag;
}

bool
LockKey(Relation rel, uint64 hash)
{
	LOCKTAG		tag = TagOfKey(rel, hash);

	return LockAcquire(&tag, ExclusiveLock, false, false) == LOCKACQUIRE_OK;
}

static void
UnlockKey(Relation rel, uint64 hash)
{
	LOCKTAG		tag = TagOfKey(rel, hash);

	(void) LockRelease(&tag, ExclusiveLock, false);
}

void
ExpectClaims(SetView *view, Relation rel)
{
	if (view->meta->has_claims)
		return;
	LockRelationForExtension(rel, ExclusiveLock);
	RereadSetView(view, rel);
	view->meta->has_claims = 1;
	WriteMeta(view, rel);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

/* ---- growth ---- */

/* Empty pages have nothing after their header: so a WAL record of one is short.  `words` are the stage's, or NULL. */
static void
MakePages(Relation rel, const SetStage *stage, uint32 number, const uint64 *words)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel),
				end = stage->first + SetPagesOf(stage);

	for (BlockNumber block = stage->first; block < end; block++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		/* pages that a crash has left without an owner are taken over */
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block < blocks ? block : P_NEW, RBM_ZERO_AND_LOCK, NULL);
		if (BufferGetBlockNumber(buffer) != block)
			elog(ERROR, "bloomset \"%s\" was extended by block %u instead of %u", RelationGetRelationName(rel), BufferGetBlockNumber(buffer), block);
		InitSetPage(BufferGetPage(buffer), number, words != NULL ? BLCKSZ : SET_PAGE_START);
		if (words != NULL)
		{
			memcpy(WordsOfPage(BufferGetPage(buffer)), words, WordsOnPage(stage, block) * sizeof(uint64));
			words += WordsOnPage(stage, block);
		}
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

/* Under the extension lock, unless the set is being built. */
void
AppendStage(SetView *view, Relation rel, SetStage stage, const uint64 *words, bool building)
{
	SetMeta    *meta = view->meta;
	uint64		first = SET_META_BLOCK + 1;

	if (meta->stages > 0)
		first = meta->stage[meta->stages - 1].first + SetPagesOf(&meta->stage[meta->stages - 1]);
	if (meta->stages == SET_MAX_STAGES || SetPagesOf(&stage) > MaxBlockNumber - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("bloomset \"%s\" cannot grow any further", RelationGetRelationName(rel)),
				 errhint("Create it again with a capacity and a larger stage_size.")));
	stage.first = first;
	MakePages(rel, &stage, meta->stages, words);
	if (!building && RelationNeedsWAL(rel))
		log_newpage_range(rel, MAIN_FORKNUM, first, first + SetPagesOf(&stage), true);
	meta->stage[meta->stages++] = stage;
	WriteMeta(view, rel);
	RereadSetView(view, rel);
}

/* Adds a stage, unless somebody else has done so since the set had that many. */
static void
Grow(SetView *view, Relation rel, uint32 stages)
{
	LockRelationForExtension(rel, ExclusiveLock);
	RereadSetView(view, rel);
	if (view->meta->stages == stages)
		AppendStage(view, rel, view->meta->capacity > 0 ? PlanOneStage(view->meta->capacity, view->meta->fpr) : PlanNextStage(view->meta), NULL, false);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

/*
 * One key in 256 looks how full its page is, and more in a stage of few keys, such as a
 * filter that was merged.  That of a single page varies by 2 %, so if it is nearly full,
 * a sample of pages decides.  The bits of the mixed hash that tell are not among those
 * that choose bits.
 */
#define LOOKS_PER_STAGE 64
#define NEARLY 0.97

static bool
LooksAtFullness(const SetStage *stage, uint64 hash)
{
	return (blx_group_mix(hash) & 255) * stage->keys < 256 * LOOKS_PER_STAGE;
}

static bool
IsFull(SetView *view, Relation rel, uint32 i, uint64 hash)
{
	const SetStage *stage = &view->meta->stage[i];
	double		full = ShareOfKeys(stage, stage->keys);
	uint32		place;
	BlockNumber block = FindBlock(stage, hash, &place);
	Buffer		buffer = ReadSetPage(view, rel, block);
	double		share = ShareOnPage(stage, block, BufferGetPage(buffer));

	ReleaseBuffer(buffer);
	return share >= NEARLY * full && ShareOfBits(view, rel, i, SAMPLED_PAGES, hash) >= full;
}

/* ---- keys ---- */

/* The keys of one page, hashes[from .. to - 1], and its buffer. */
typedef struct PageOfKeys
{
	Buffer		buffer;
	uint64		from,
				to;
	bool		changed;
} PageOfKeys;

/* Pins the pages of the next keys.  Returns how many there are. */
static int
PinPages(SetView *view, Relation rel, const SetStage *stage, const uint64 *hashes, uint64 n, PageOfKeys *pages)
{
	BlockNumber last = InvalidBlockNumber;
	int			count = 0;

	for (uint64 i = 0; i < n; i++)
	{
		uint32		place;
		BlockNumber block = FindBlock(stage, hashes[i], &place);

		if (block != last && count == MAX_GENERIC_XLOG_PAGES)
			break;
		if (block != last)
			pages[count++] = (PageOfKeys) {.buffer = ReadSetPage(view, rel, block), .from = i};
		pages[count - 1].to = i + 1;
		last = block;
	}
	return count;
}

static inline bool
HasKey(const SetStage *stage, Page page, uint64 hash)
{
	uint32		place;

	(void) FindBlock(stage, hash, &place);
	return blx_parts_have(WordsOfPage(page) + place, 0, stage->parts, blx_group_mix(hash));
}

/* Locks the pages, the lowest first, and looks whether any key is missing.  Returns how many pages will change; these come first. */
static int
LockPages(const SetView *view, Relation rel, uint32 i, const uint64 *hashes, PageOfKeys *pages, int n)
{
	const SetStage *stage = &view->meta->stage[i];
	int			changed = 0;

	for (int p = 0; p < n; p++)
	{
		Page		page = BufferGetPage(pages[p].buffer);
		PageOfKeys	swapped;

		BloomxLockExclusively(pages[p].buffer);
		CheckSetPage(rel, pages[p].buffer, i);
		for (uint64 k = pages[p].from; k < pages[p].to && !pages[p].changed; k++)
			pages[p].changed = !HasKey(stage, page, hashes[k]);
		if (!pages[p].changed)
		{
			RelyOnPage(page);
			continue;
		}
		swapped = pages[changed];
		pages[changed++] = pages[p];
		pages[p] = swapped;
	}
	return changed;
}

/*
 * Sets the bits of the keys of one page.  Returns how many were new.  Of many keys the page
 * is compared as a whole: logged one by one, those of one block could be longer than the record.
 */
#define FEW_KEYS_ON_PAGE 16

static uint64
ChangePage(BloomxChange *change, const SetStage *stage, const uint64 *hashes, const uint64 *numbers, const PageOfKeys *keys, bool *is_new)
{
	const uint16 full = BLCKSZ;
	uint64	   *words = WordsOfPage(change->page);
	uint64		changed[SET_PAGE_WORDS],
				added = 0;
	bool		one_by_one = keys->to - keys->from <= FEW_KEYS_ON_PAGE;

	/* the first keys of a page: what follows the header is data from now on */
	if (((PageHeader) change->page)->pd_lower != BLCKSZ)
		BloomxChangeBytes(change, &((PageHeader) change->page)->pd_lower, &full, sizeof full);
	if (!one_by_one)
		memcpy(changed, words, SET_PAGE_BYTES);
	for (uint64 i = keys->from; i < keys->to; i++)
	{
		uint64		mixed = blx_group_mix(hashes[i]);
		uint32		place;
		bool		is_known;

		(void) FindBlock(stage, hashes[i], &place);
		if (one_by_one)
			memcpy(changed + place, words + place, stage->parts * sizeof(uint64));
		is_known = blx_parts_have(changed + place, 0, stage->parts, mixed);
		blx_parts_set(changed + place, 0, stage->parts, mixed);
		if (one_by_one)
			BloomxChangeSomeBytes(change, words + place, changed + place, stage->parts * sizeof(uint64));
		added += !is_known;
		if (is_new != NULL)
			is_new[numbers[i]] = !is_known;
	}
	if (!one_by_one)
		BloomxChangeSomeBytes(change, words, changed, SET_PAGE_BYTES);
	return added;
}

/*
 * Adds the keys of up to four pages to the newest stage, in one WAL record.  Sets *done
 * to how many keys that were: none if the set has grown since the caller tested them.  Their
 * numbers are places in is_new, unless that is NULL.
 */
static uint64
AddSome(SetView *view, Relation rel, const uint64 *hashes, const uint64 *numbers, uint64 n, bool *is_new, uint64 *done)
{
	uint32		newest = view->meta->stages - 1;
	const SetStage *stage = &view->meta->stage[newest];
	Buffer		meta = ReadSetPage(view, rel, SET_META_BLOCK);
	PageOfKeys	pages[MAX_GENERIC_XLOG_PAGES];
	BloomxChange changes[MAX_GENERIC_XLOG_PAGES];
	int			count = PinPages(view, rel, stage, hashes, n, pages),
				changed;
	uint64		added = 0;

	*done = 0;
	LockBuffer(meta, BUFFER_LOCK_SHARE);
	if (SetMetaOf(BufferGetPage(meta))->stages == newest + 1 && SetMetaOf(BufferGetPage(meta))->has_claims == view->meta->has_claims)
	{
		*done = pages[count - 1].to;
		changed = LockPages(view, rel, newest, hashes, pages, count);
		if (changed > 0)
		{
			for (int p = 0; p < changed; p++)
				changes[p].buffer = pages[p].buffer;
			BloomxStartChanges(changes, changed, rel);
			for (int p = 0; p < changed; p++)
				added += ChangePage(&changes[p], stage, hashes, numbers, &pages[p], is_new);
			BloomxFinishChanges(changes, changed, rel);
		}
		for (int p = 0; p < count; p++)
			LockBuffer(pages[p].buffer, BUFFER_LOCK_UNLOCK);
	}
	LockBuffer(meta, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(meta);
	for (int p = 0; p < count; p++)
		ReleaseBuffer(pages[p].buffer);
	return added;
}

/* After these keys were added: adds a stage if the newest one is full. */
static void
GrowIfFull(SetView *view, Relation rel, const uint64 *hashes, uint64 n)
{
	uint32		stages = view->meta->stages;

	if (view->meta->capacity > 0)
		return;
	for (uint64 i = 0; i < n; i++)
		if (LooksAtFullness(&view->meta->stage[stages - 1], hashes[i]))
		{
			if (IsFull(view, rel, stages - 1, hashes[i]))
				Grow(view, rel, stages);
			return;
		}
}

/* One key, as most come. */
bool
AddKeyToSet(SetView *view, Relation rel, uint64 hash)
{
	uint64		number,
				done = 0,
				added = 0;

	while (done == 0)
	{
		bool		may_be_claimed;

		if (DropKnown(view, rel, view->meta->stages, &hash, &number, 1) == 0)
			return false;
		if (view->meta->stages == 0)
			Grow(view, rel, 0);
		may_be_claimed = view->meta->has_claims;
		if (may_be_claimed)
			(void) LockKey(rel, hash);
		added = AddSome(view, rel, &hash, NULL, 1, NULL, &done);
		if (may_be_claimed)
			UnlockKey(rel, hash);
		if (done == 0)
			RereadSetView(view, rel);
	}
	GrowIfFull(view, rel, &hash, 1);
	return added > 0;
}

/* Where keys are claimed, each is locked, and there may be more than fit in the lock table. */
static uint64
AddOneByOne(SetView *view, Relation rel, const uint64 *hashes, const uint64 *numbers, uint64 n, bool *is_new)
{
	uint64		added = 0;

	for (uint64 i = 0; i < n; i++)
	{
		bool		is_added = AddKeyToSet(view, rel, hashes[i]);

		added += is_added;
		if (is_new != NULL)
			is_new[numbers[i]] = is_added;
	}
	return added;
}

/*
 * Puts keys in the order of their pages in the stage, and leaves those of one page in theirs.
 * numbers go with them, unless NULL.  To sort the whole hashes would be half the time of a build.
 */
static void
SortByPage(const SetStage *stage, uint64 *hashes, uint64 *numbers, uint64 n)
{
	uint64		pages = SetPagesOf(stage);
	int			arrays = numbers != NULL ? 2 : 1;
	uint64	   *from[2] = {hashes, numbers},
			   *scratch = MemoryContextAllocHuge(CurrentMemoryContext, Max(arrays * n, 1) * sizeof(uint64)),
			   *to[2] = {scratch, scratch + n};

	/* a byte of the page number at a time, the lowest first */
	for (int shift = 0; (pages - 1) >> shift > 0; shift += 8)
	{
		uint64		places[257] = {0};
		uint32		place;

		for (uint64 i = 0; i < n; i++)
			places[((FindBlock(stage, from[0][i], &place) - stage->first) >> shift & 255) + 1]++;
		for (int i = 1; i < 256; i++)
			places[i] += places[i - 1];
		for (uint64 i = 0; i < n; i++)
		{
			uint64		next = places[(FindBlock(stage, from[0][i], &place) - stage->first) >> shift & 255]++;

			for (int j = 0; j < arrays; j++)
				to[j][next] = from[j][i];
		}
		for (int i = 0; i < arrays; i++)
		{
			uint64	   *swapped = from[i];

			from[i] = to[i];
			to[i] = swapped;
		}
	}
	if (from[0] != hashes)
		for (int i = 0; i < arrays; i++)
			memcpy(to[i], from[i], n * sizeof(uint64));
	pfree(scratch);
}

/* Adds keys of all parts of the set; the arrays are spoilt.  numbers has their places in is_new, unless that is NULL. */
static uint64
AddBatch(SetView *view, Relation rel, uint64 *hashes, uint64 *numbers, uint64 n, bool *is_new)
{
	uint64		added = 0,
				left = n,
				done,
				some;

	for (;;)
	{
		/* whether the newest stage has them is seen when its pages are locked */
		left = DropKnown(view, rel, view->meta->stages - 1, hashes, numbers, left);
		if (left == 0 || view->meta->has_claims)
			break;
		SortByPage(&view->meta->stage[view->meta->stages - 1], hashes, numbers, left);
		for (done = 0, some = 1; done < left && some > 0; done += some)
		{
			CHECK_FOR_INTERRUPTS();
			added += AddSome(view, rel, hashes + done, numbers + done, left - done, is_new, &some);
		}
		if (done == left)
			break;
		/* somebody else has added a stage, and perhaps keys */
		left -= done;
		memmove(hashes, hashes + done, left * sizeof(uint64));
		memmove(numbers, numbers + done, left * sizeof(uint64));
		RereadSetView(view, rel);
	}
	if (view->meta->has_claims)
		return added + AddOneByOne(view, rel, hashes, numbers, left, is_new);
	if (left > 0)
		GrowIfFull(view, rel, hashes, left);
	return added;
}

/*
 * The most keys of a batch.  A stage is looked at when a batch is in it, so it may hold one
 * batch more than planned.
 */
#define MOST_IN_BATCH (4 * 1024 * 1024)
#define LEAST_IN_BATCH 4
#define BATCHES_PER_STAGE 64

static uint64
KeysPerBatch(const SetMeta *meta)
{
	uint64		keys = meta->stage[meta->stages - 1].keys / BATCHES_PER_STAGE;

	return meta->capacity > 0 ? MOST_IN_BATCH : Max(Min(keys, MOST_IN_BATCH), LEAST_IN_BATCH);
}

/*
 * Batches are taken in the order in which the keys were given, and each looks how full the
 * stage is.  Their hashes come from anywhere: in the order of hashes, they would fill one end of it.
 */
uint64
AddToSet(SetView *view, Relation rel, const uint64 *given, uint64 n, bool *is_new)
{
	uint64		added = 0,
				done = 0;

	if (is_new != NULL)
		memset(is_new, 0, n);
	if (view->meta->stages == 0)
		Grow(view, rel, 0);
	while (done < n)
	{
		uint64		batch = Min(n - done, KeysPerBatch(view->meta));
		uint64	   *hashes = MemoryContextAllocHuge(CurrentMemoryContext, batch * sizeof(uint64)),
				   *numbers = MemoryContextAllocHuge(CurrentMemoryContext, batch * sizeof(uint64));

		for (uint64 i = 0; i < batch; i++)
		{
			hashes[i] = given[done + i];
			numbers[i] = done + i;
		}
		added += AddBatch(view, rel, hashes, numbers, batch, is_new);
		pfree(hashes);
		pfree(numbers);
		done += batch;
	}
	return added;
}

/*
 * ORs words into a stage, page by page.  Growth does not wait for it, nor need it: the
 * stage stays what it is.  A page that has all bits is not written, but only its lock says
 * that they are in the WAL.
 */
void
OrIntoStage(SetView *view, Relation rel, uint32 i, const uint64 *words)
{
	const SetStage *stage = &view->meta->stage[i];
	const uint16 full = BLCKSZ;
	uint64		merged[SET_PAGE_WORDS];
	BloomxChange change;

	for (BlockNumber block = stage->first; block < stage->first + SetPagesOf(stage); block++)
	{
		uint64		n = WordsOnPage(stage, block);
		const uint64 *place;

		CHECK_FOR_INTERRUPTS();
		change.buffer = ReadSetPage(view, rel, block);
		BloomxLockExclusively(change.buffer);
		CheckSetPage(rel, change.buffer, i);
		place = WordsOfPage(BufferGetPage(change.buffer));
		for (uint64 j = 0; j < n; j++)
			merged[j] = place[j] | words[j];
		if (memcmp(place, merged, n * sizeof(uint64)) != 0)
		{
			BloomxStartChanges(&change, 1, rel);
			BloomxChangeBytes(&change, &((PageHeader) change.page)->pd_lower, &full, sizeof full);
			BloomxChangeSomeBytes(&change, WordsOfPage(change.page), merged, n * sizeof(uint64));
			BloomxFinishChanges(&change, 1, rel);
		}
		UnlockReleaseBuffer(change.buffer);
		words += n;
	}
}

/* ---- building ---- */

void
FillStage(SetView *view, Relation rel, uint32 i, uint64 *hashes, uint64 n)
{
	const SetStage *stage = &view->meta->stage[i];
	PageOfKeys	page;

	SortByPage(stage, hashes, NULL, n);
	for (uint64 done = 0; done < n; done += page.to)
	{
		BlockNumber block,
					next;
		uint32		place;
		uint64	   *words;

		CHECK_FOR_INTERRUPTS();
		block = next = FindBlock(stage, hashes[done], &place);
		page = (PageOfKeys) {.buffer = ReadSetPage(view, rel, block)};
		LockBuffer(page.buffer, BUFFER_LOCK_EXCLUSIVE);
		words = WordsOfPage(BufferGetPage(page.buffer));
		while (block == next)
		{
			blx_parts_set(words + place, 0, stage->parts, blx_group_mix(hashes[done + page.to]));
			if (done + ++page.to == n)
				break;
			next = FindBlock(stage, hashes[done + page.to], &place);
		}
		((PageHeader) BufferGetPage(page.buffer))->pd_lower = BLCKSZ;
		MarkBufferDirty(page.buffer);
		UnlockReleaseBuffer(page.buffer);
	}
}

void
LogBuiltSet(Relation rel)
{
	if (RelationNeedsWAL(rel))
		log_newpage_range(rel, MAIN_FORKNUM, SET_META_BLOCK + 1, RelationGetNumberOfBlocks(rel), true);
}
