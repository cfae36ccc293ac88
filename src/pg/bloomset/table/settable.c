/*
 * settable.c - what is in a set without a table: a chain of stages that are filters of the
 * default layout.
 *
 * It has no transactions: a key or a filter stays when the transaction that added it is
 * rolled back.  That is a false positive, as in an index.
 */
#include "pg/bloomset/table/settable.h"

#include <math.h>

#include "access/xact.h"
#include "storage/lmgr.h"

#include "core/kernels/block.h"
#include "core/kernels/kernels.h"
#include "core/layouts/growing/chain.h"
#include "core/layouts/growing/hashes.h"
#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/stages/stageplan.h"
#include "pg/bloomset/table/stage.h"
#include "pg/functions/functions.h"

/* 64 MB; and 512, which can still be dumped and restored. */
#define STAGE_BLOCKS (UINT64CONST(1) << 20)
#define MOST_STAGE_BLOCKS (UINT64CONST(1) << 23)

/* So large that some four stages have the expected keys: in many, a key would take twice as many bits. */
static uint64
BlocksOfStages(const SetMeta *meta)
{
	SetMeta		unbounded = *meta;

	if (meta->expected == 0)
		return STAGE_BLOCKS;
	unbounded.stage_blocks = UINT64CONST(1) << 40;
	return Min(Max(PlanBuiltStage(&unbounded, meta->expected).blocks / 4, STAGE_BLOCKS), MOST_STAGE_BLOCKS);
}

void
BeginSetTable(Relation rel, const blx_identity *keys)
{
	SetMeta		meta = {.fpr = BLX_DEFAULT_FPR, .seed = keys->seed, .key_type = keys->key_type, .name_len = keys->name_len};

	(void) ReadSetModifier(TupleDescAttr(RelationGetDescr(rel), 0)->atttypmod, &meta.expected, &meta.fpr);
	meta.stage_blocks = BlocksOfStages(&meta);
	if (meta.name_len > 0)
		memcpy(meta.name, keys->name, meta.name_len);
	LockRelationForExtension(rel, ExclusiveLock);
	if (!HasMetaPage(rel))
		CreateSet(rel, MAIN_FORKNUM, &meta);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

blx_filter *
FilterOfStage(SetView *view, Relation rel, uint32 i)
{
	const SetStage *stage = &view->meta->stage[i];
	blx_geometry geometry = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = (uint32) stage->blocks, .parts = (uint16) stage->parts, .probes = 1, .part_bits = 64};
	blx_identity identity = blx_identity_of(view->keys);
	blx_filter *f;

	if (view->meta->stages == 0)
		return NewEmptyFilter(&identity);
	f = NewFilter(&geometry, &identity, stage->keys);
	CopyStage(view, rel, i, blx_words(f));
	return f;
}

/* ---- merging ---- */

/* The words of a filter of that shape, folded and cut to a stage's. */
static uint64 *
FitToStage(const SetStage *stage, const SetStage *shape, const uint64 *words)
{
	uint64		n = stage->blocks * stage->parts,
				folded = shape->blocks / stage->blocks;
	uint64	   *fitted = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint64 b = 0; b < shape->blocks; b++)
		blx_or_words(fitted + b / folded * stage->parts, words + b * shape->parts, stage->parts);
	return fitted;
}

/*
 * True if the filter can be made one of the stage's shape, and the stage has room for its bits:
 * then they are in it.  If it seems to have them all, it still has to be written: some may not
 * be in the WAL yet.
 */
static bool
MergeIntoStage(SetView *view, Relation rel, uint32 i, const SetStage *shape, const uint64 *words)
{
	const SetStage *stage = &view->meta->stage[i];
	uint64		n = stage->blocks * stage->parts;
	uint64	   *fitted,
			   *merged;
	uint64		before,
				after;
	bool		has_room;

	if (shape->blocks % stage->blocks != 0 || shape->parts < stage->parts)
		return false;
	fitted = FitToStage(stage, shape, words);
	merged = MemoryContextAllocHuge(CurrentMemoryContext, n * sizeof(uint64));
	CopyStage(view, rel, i, merged);
	before = blx_popcount(merged, n);
	blx_or_words(merged, fitted, n);
	after = blx_popcount(merged, n);
	has_room = after == before || after <= ShareOfKeys(stage, stage->keys) * 64 * n;
	if (has_room)
		OrIntoStage(view, rel, i, fitted);
	pfree(merged);
	pfree(fitted);
	return has_room;
}

/* True if the set itself would have made that stage next: so a set that is restored has the stages that were dumped. */
static bool
IsNextStage(const SetMeta *meta, const SetStage *stage)
{
	SetStage	next = PlanNextStage(meta);

	return stage->blocks == next.blocks && stage->parts == next.parts && stage->keys == next.keys;
}

static void
ReportParts(unsigned layout, unsigned parts)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a filter of layout %s with %u parts cannot be merged into a bloomset", blx_layout_name(layout), parts),
			 errdetail("A set consists of filters of layout partitioned_blocked with at most eight parts."),
			 errhint("Take the first eight parts, bloom_prefix(filter, 8), build the filter for a higher rate, or add its keys by bloomset_add_new.")));
}

/*
 * The bits of a stage, of a filter that was planned for `capacity` keys, or 0.  Of more than
 * eight parts the first eight, which are a filter of a higher rate, can go into a stage that is
 * there; but to choose that rate for the set is the user's.
 */
static void
MergeStage(SetView *view, Relation rel, uint64 blocks, unsigned parts, uint64 capacity, const uint64 *words)
{
	SetStage	stage = {.blocks = blocks, .keys = capacity, .parts = Min(parts, BLX_GROUP)};
	uint64		n = blocks * stage.parts,
				set = blx_popcount(words, n);

	for (uint32 i = 0; i < view->meta->stages && !IsNextStage(view->meta, &stage); i++)
		if (MergeIntoStage(view, rel, i, &stage, words))
			return;
	if (set == 0)
		return;
	if (parts > BLX_GROUP)
		ReportParts(BLX_PARTITIONED_BLOCKED, parts);
	/* without a plan it is full as it is */
	if (capacity == 0)
		stage.keys = Max(1, (uint64) ceil(KeysOfShare(&stage, set / (64.0 * n))));
	stage.fpr = Min(Max(RateOfStage(&stage, stage.keys), 1e-300), 0.999);
	LockRelationForExtension(rel, ExclusiveLock);
	RereadSetView(view, rel);
	if (view->meta->stages >= SET_MAX_STAGES - SET_STAGES_FOR_GROWTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("bloomset \"%s\" has too many stages for another filter", RelationGetRelationName(rel)),
				 errdetail("It has %u, and each adds to its false positive rate.", view->meta->stages),
				 errhint("Build filters of one size with room for many keys, which share a stage, or add keys by bloomset_add_new.")));
	AppendStage(view, rel, stage, words, false);
	UnlockRelationForExtension(rel, ExclusiveLock);
}

static void
MergeHashes(SetView *view, Relation rel, const blx_filter *f)
{
	uint64		hashes[1024],
				cursor = 0;
	size_t		n;

	/* scattered: in their order, they would fill the first blocks of a stage */
	while ((n = blx_hashes_next_for(BLX_SCALABLE, f, &cursor, hashes, lengthof(hashes))) > 0)
		(void) AddToSet(view, rel, hashes, n, NULL);
}

/* A chain's stages have the largest, which is the newest, first. */
static void
MergeChain(SetView *view, Relation rel, const blx_filter *f)
{
	for (unsigned i = blx_chain_stages(f); i-- > 0;)
	{
		blx_stage	stage = blx_chain_stage(f, i);

		MergeStage(view, rel, stage.blocks, stage.parts, 0, blx_chain_words((blx_filter *) f, i));
	}
}

void
MergeIntoSetTable(Relation rel, const blx_filter *f)
{
	blx_identity keys = blx_identity_of(f),
				of_set;
	SetView    *view;

	/* a transaction that writes nothing else has a commit record, too, so that its WAL is flushed */
	(void) GetCurrentTransactionId();
	CheckSetTable(rel);
	if (keys.key_type == BLX_KEY_NONE)
		return;					/* it has no keys */
	if (f->layout != BLX_HASHES && f->layout != BLX_SCALABLE && f->layout != BLX_PARTITIONED_BLOCKED)
		ReportParts(f->layout, f->parts);
	if (!HasMetaPage(rel))
		BeginSetTable(rel, &keys);
	view = OpenSetView(rel, false);
	of_set = blx_identity_of(view->keys);
	CheckCore(blx_identity_check(&of_set, "The set", &keys, "the filter", &core_error));
	if (f->layout == BLX_HASHES)
		MergeHashes(view, rel, f);
	else if (f->layout == BLX_SCALABLE)
		MergeChain(view, rel, f);
	else
		MergeStage(view, rel, f->blocks, f->parts, f->capacity, blx_cwords(f));
}
