/*
 * build.c - CREATE INDEX: the keys of all rows become a set.
 *
 * The size of a growing set follows from the number of different keys, which is known
 * only after the last row.  So the hashes are written to a temporary file, and counted
 * (HyperLogLog, within half a percent).  If the set has a capacity, they go into its one
 * stage at once.  Either way they come in batches, as many as fit in
 * maintenance_work_mem, sorted by page: a batch writes each page once, in the file's order.
 *
 * The server reads the table.  It passes row versions that no snapshot sees, and those
 * of a HOT chain that is broken for this index; then it notes that the index is not for
 * old snapshots (indcheckxmin).  Snapshots of a standby may be older than the server
 * knows: for them the metapage has the horizon.
 */
#include "pg/bloomset/index/bloomset.h"

#include <math.h>

#include "access/tableam.h"
#include "access/transam.h"
#include "commands/tablespace.h"
#include "lib/hyperloglog.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/kernels/block.h"
#include "pg/base/base.h"
#include "pg/bloomset/keys/setkeys.h"
#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/stages/pending.h"
#include "pg/bloomset/stages/stageplan.h"

/* Of the mixed hash, bits that choose neither a block nor a bit: they spread keys over stages. */
#define PORTIONS 65536
#define PortionOf(hash) ((uint32) (blx_group_mix(hash) % PORTIONS))

/* A sample of that many pages tells the number of keys to within half a percent. */
#define SAMPLED_FOR_NOTICE 512
#define MORE_FOR_SURE 1.03

typedef struct SetBuild
{
	Relation	index;
	SetView    *view;
	SetKeys    *keys;
	MemoryContext row_memory;	/* reset after every row */
	uint64	   *hashes;			/* a batch */
	uint64		n,
				room;
	BufFile    *file;			/* of a growing set */
	uint64		total;
	hyperLogLogState distinct;
} SetBuild;

/* ---- the metapage ---- */

static SetMeta
NewMeta(Relation index)
{
	BloomsetOptions options = BloomsetGetOptions(index);
	SetKeys    *keys = OpenSetKeys(index, NULL);
	SetMeta		meta = {
		.capacity = (uint64) options.capacity,
		.fpr = options.fpr,
		.horizon = U64FromFullTransactionId(ReadNextFullTransactionId()),
		.stage_blocks = UINT64CONST(1) << (63 - __builtin_clzll((uint64) options.stage_size * 1024 / 64)),
		.key_type = keys->identity.key_type,
		.name_len = keys->identity.name_len
	};

	if (meta.name_len > 0)
		memcpy(meta.name, keys->identity.name, meta.name_len);
	return meta;
}

/* An unlogged index after a crash: the first key makes its first stage. */
void
bloomsetbuildempty(Relation index)
{
	SetMeta		meta = NewMeta(index);

	CreateSet(index, INIT_FORKNUM, &meta);
}

/* ---- batches ---- */

static void
EndBatch(SetBuild *build)
{
	if (build->file != NULL)
		BufFileWrite(build->file, build->hashes, build->n * sizeof(uint64));
	else
		FillStage(build->view, build->index, 0, build->hashes, build->n);
	build->n = 0;
}

static void
BuildRow(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	SetBuild   *build = arg;
	MemoryContext old = MemoryContextSwitchTo(build->row_memory);
	uint64		hash;

	if (HashIndexedRow(build->keys, values, isnull, &hash))
	{
		if (build->n == build->room)
			EndBatch(build);
		build->hashes[build->n++] = hash;
		build->total++;
		if (build->file != NULL)
			addHyperLogLog(&build->distinct, (uint32) (hash >> 32) ^ (uint32) hash);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->row_memory);
}

/* ---- a growing set ---- */

/* Makes stages for that number of keys.  Stage i gets the keys whose Portion is below ends[i] and not below those before. */
static void
MakeStages(SetBuild *build, uint64 keys, uint32 *ends)
{
	SetMeta    *meta = build->view->meta;

	for (uint64 left = keys; left > 0;)
	{
		SetStage	stage = PlanBuiltStage(meta, left);

		left -= Min(left, stage.keys);
		ends[meta->stages] = left == 0 ? PORTIONS : (uint32) (PORTIONS - (double) left / keys * PORTIONS);
		AppendStage(build->view, build->index, stage, NULL, true);
	}
}

static void
FillStagesByPortion(SetBuild *build, const uint32 *ends, uint64 *some)
{
	for (uint32 i = 0; i < build->view->meta->stages; i++)
	{
		uint32		from = i == 0 ? 0 : ends[i - 1];
		uint64		n = 0;

		for (uint64 j = 0; j < build->n; j++)
			if (PortionOf(build->hashes[j]) >= from && PortionOf(build->hashes[j]) < ends[i])
				some[n++] = build->hashes[j];
		FillStage(build->view, build->index, i, some, n);
	}
}

static void
FillStages(SetBuild *build)
{
	uint32		ends[SET_MAX_STAGES];
	uint64	   *some = MemoryContextAllocHuge(CurrentMemoryContext, build->room * sizeof(uint64));
	double		distinct = Min(estimateHyperLogLog(&build->distinct) * 1.01, build->total);

	EndBatch(build);
	MakeStages(build, (uint64) ceil(distinct), ends);
	if (BufFileSeek(build->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind a temporary file: %m")));
	for (uint64 done = 0; done < build->total; done += build->n)
	{
		build->n = Min(build->room, build->total - done);
		if (BufFileRead(build->file, build->hashes, build->n * sizeof(uint64)) != build->n * sizeof(uint64))
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read a temporary file: %m")));
		FillStagesByPortion(build, ends, some);
	}
	build->n = 0;
	pfree(some);
	BufFileClose(build->file);
	freeHyperLogLog(&build->distinct);
}

/* A set of one stage with so many keys that its rate is not the one that was chosen: a notice, for the index works. */
static void
ReportTooManyKeys(SetBuild *build)
{
	const SetMeta *meta = build->view->meta;
	double		keys = KeysOfShare(&meta->stage[0], ShareOfBits(build->view, build->index, 0, SAMPLED_FOR_NOTICE, 0)),
				rate = RateOfStage(&meta->stage[0], rint(keys));

	if (bloomx_overfill != OVERFILL_OFF && keys > MORE_FOR_SURE * meta->capacity && rate > meta->fpr)
		ereport(NOTICE,
				(errmsg("bloomset \"%s\" has more keys than its capacity of " UINT64_FORMAT "; its false positive rate is %.2g",
						RelationGetRelationName(build->index), meta->capacity, rate),
				 errhint("Choose a larger capacity, or none, with which the set grows, or set bloomx.overfill to off.")));
}

IndexBuildResult *
bloomsetbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	SetMeta		meta = NewMeta(index);
	SetBuild	build = {.index = index};

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	/* nothing must go into it but by this build, whatever an expression of the index does */
	ForgetPendingKeys(RelationGetRelid(index));
	CreateSet(index, MAIN_FORKNUM, &meta);
	build.view = OpenSetView(index, false);
	build.keys = OpenSetKeys(index, NULL);
	build.row_memory = AllocSetContextCreate(CurrentMemoryContext, "bloomset build row", ALLOCSET_DEFAULT_SIZES);
	build.room = maintenance_work_mem * (Size) 1024 / sizeof(uint64) / 3;	/* the batch, those of a stage, and those sorted */
	build.hashes = MemoryContextAllocHuge(CurrentMemoryContext, build.room * sizeof(uint64));
	if (meta.capacity > 0)
		AppendStage(build.view, index, PlanOneStage(meta.capacity, meta.fpr), NULL, true);
	else
	{
		PrepareTempTablespaces();
		build.file = BufFileCreateTemp(false);
		initHyperLogLog(&build.distinct, 16);
	}
	result->heap_tuples = table_index_build_scan(heap, index, info, true, true, BuildRow, &build, NULL);
	if (build.file != NULL)
		FillStages(&build);
	else
	{
		EndBatch(&build);
		ReportTooManyKeys(&build);
	}
	LogBuiltSet(index);
	result->index_tuples = build.total;
	MemoryContextDelete(build.row_memory);
	pfree(build.hashes);
	return result;
}
