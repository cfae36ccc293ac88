/*
 * build.c - CREATE INDEX and INSERT, as far as they are the same for filters and
 * values.
 *
 * INSERT appends to the pending rows; when there are too many, some inserts do a
 * step of a merge.
 */
#include "pg/index/bloomx/build/build.h"

#include "access/htup_details.h"
#include "access/xloginsert.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pg/base/objects.h"
#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/concurrent.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/format/options.h"
#include "pg/index/bloomx/segment/merge.h"

/*
 * The most pages of pending rows that a merge begun by an INSERT takes.  Of filters,
 * each of its steps reads them all again, a few words of each row: with 1024 pages a
 * row cost twice as much as with the 129 of a list that has just become too long, and
 * of two sessions that inserted, one was left behind with ever longer steps.  Of
 * values, they become segments in one step, and fewer pages would make smaller ones.
 */
#define MERGE_PAGES_OF_FILTERS 160
#define MERGE_PAGES_OF_VALUES 1024

char *
bloomxbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case SCANNING_PHASE:
			return "scanning table";
		case WRITING_PHASE:
			return "writing segment";
		default:
			return NULL;
	}
}

static void
WriteMetaPage(const BloomxStore *store)
{
	Buffer		buffer = ReadBuffer(store->index, P_NEW);
	GenericXLogState *state;

	Assert(BufferGetBlockNumber(buffer) == store->meta_block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(store->index);
	BloomxInitMetaPage(store, GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* The default class of all types that have no other takes only those whose values it can find. */
static void
CheckType(Relation index, int column)
{
	Oid			type = getBaseType(TupleDescAttr(RelationGetDescr(index), column)->atttypid);
	char		kind = get_typtype(type);

	if (index->rd_opcintype[column] != ANYNONARRAYOID ||
		kind == TYPTYPE_ENUM || kind == TYPTYPE_RANGE || kind == TYPTYPE_MULTIRANGE || kind == TYPTYPE_COMPOSITE)
		return;
	if (IsFilterType(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the operator class of index \"%s\" is not for filters", RelationGetRelationName(index)),
				 errhint("Leave the operator class out: bloomx_ops is the default for filters.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("access method bloomx has no operator class for type %s", format_type_be(type)),
			 errhint("Index an expression of a type that has one, for example a cast to text, or name an operator class.")));
}

static void
RefuseOption(bool given, const char *option, const char *what, const char *hint)
{
	if (given)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" of a bloomx index is for %s", option, what),
				 errhint("%s", hint)));
}

static void
CheckOptions(Relation index)
{
	BloomxOptions options = BloomxGetOptions(index);
	bool		filters = false,
				values = false;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_opcintype[i] == FilterTypeOid())
			filters = true;
		else
			values = true;
	if (!filters)
		RefuseOption(options.bits > 0, "bits", "filters", "Set rate: the bits of a signature follow from its keys.");
	if (!values)
	{
		RefuseOption(options.rate > 0, "rate", "values", "Set bits and probes, or make filters of a lower rate.");
		RefuseOption(options.keys > 0, "keys", "values", "Leave it out: every filter has a signature of its own.");
	}
}

/* Of an index of several stores: each row goes to the builders of all of them. */
typedef struct MixedBuilder
{
	BloomxBuilder builder;
	int			n;
	BloomxBuilder *of_stores[FLEXIBLE_ARRAY_MEMBER];
} MixedBuilder;

static void
AddToAll(BloomxBuilder *builder, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	MixedBuilder *mixed = (MixedBuilder *) builder;

	for (int i = 0; i < mixed->n; i++)
		mixed->of_stores[i]->add_row(mixed->of_stores[i], tid, values, isnull);
	builder->indexed++;
}

static void
FinishAll(BloomxBuilder *builder)
{
	MixedBuilder *mixed = (MixedBuilder *) builder;

	for (int i = 0; i < mixed->n; i++)
		mixed->of_stores[i]->finish(mixed->of_stores[i]);
}

static BloomxBuilder *
StartStore(const BloomxStore *store, Relation heap, Size memory)
{
	BloomxShare share = {.blocks = RelationGetNumberOfBlocks(heap), .memory = memory};

	return store->of_values ? BloomxStartValues(store, &share) : BloomxStartFilters(store, &share);
}

static BloomxBuilder *
StartAll(const BloomxStores *stores, Relation heap)
{
	MixedBuilder *mixed = palloc(offsetof(MixedBuilder, of_stores) + stores->n * sizeof(BloomxBuilder *));
	Size		memory = maintenance_work_mem * (Size) 1024 / stores->n;

	if (stores->n == 1)
		return StartStore(&stores->store[0], heap, memory);
	mixed->builder = (BloomxBuilder) {.store = &stores->store[0], .add_row = AddToAll, .finish = FinishAll};
	mixed->n = stores->n;
	for (int i = 0; i < stores->n; i++)
		mixed->of_stores[i] = StartStore(&stores->store[i], heap, memory);
	return &mixed->builder;
}

static void
BuildAlone(Relation heap, const BloomxStores *stores, IndexInfo *info, BufFile *tids, IndexBuildResult *result)
{
	BloomxBuilder *builder = StartAll(stores, heap);

	result->heap_tuples = BloomxScanTable(builder, heap, info, tids, NULL, true);
	builder->finish(builder);
	result->index_tuples = builder->indexed;
}

/* Says that the index is of little use for some rows. */
static void
NoteRowsOfTooManyKeys(const BloomxStore *store)
{
	const BloomxStructure *structure = BloomxReadStructure(store, NULL);
	int64		rows = BloomxCountAnything(structure);

	if (rows > 0)
		ereport(NOTICE,
				(errmsg_plural("index \"%s\" has " INT64_FORMAT " row that every scan returns",
							   "index \"%s\" has " INT64_FORMAT " rows that every scan returns",
							   (unsigned long) rows, RelationGetRelationName(store->index), rows),
				 errdetail("A row that the index can exclude has at most %u keys.", BloomxMostKeysOfRow(structure->meta.keys.parts)),
				 errhint("Store such values in several rows, or index an expression of fewer keys.")));
}

IndexBuildResult *
bloomxbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	const BloomxStores *stores = BloomxOpenStores(index);
	BufFile    *tids = NULL;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		CheckType(index, i);
	CheckOptions(index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	for (int i = 0; i < stores->n; i++)
		WriteMetaPage(&stores->store[i]);
	if (heap->rd_rel->reltuples > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) heap->rd_rel->reltuples);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, SCANNING_PHASE);
	if (info->ii_Concurrent && stores->store[0].of_values)
		tids = BloomxStartTidFile(index);
	if (stores->n > 1 || !stores->store[0].of_values || !BloomxBuildInParallel(heap, &stores->store[0], info, tids, result))
		BuildAlone(heap, stores, info, tids, result);
	if (stores->store[0].of_values)
		NoteRowsOfTooManyKeys(&stores->store[0]);
	return result;
}

/* The init fork, to which an unlogged index is reset after a crash. */
void
bloomxbuildempty(Relation index)
{
	const BloomxStores *stores = BloomxOpenStores(index);

	for (int i = 0; i < stores->n; i++)
	{
		Buffer		buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, NULL);

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		START_CRIT_SECTION();
		BloomxInitMetaPage(&stores->store[i], BufferGetPage(buffer));
		MarkBufferDirty(buffer);
		log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buffer);
	}
}

/* ---- INSERT ---- */

/* What the INSERTs of one statement keep, in IndexInfo.ii_AmCache. */
typedef struct BloomxInsertState
{
	MemoryContext memory;		/* reset after every row */
	const BloomxStores *stores;
	BloomxKeys *keys;			/* of stores of filters when they were read; 0 parts: not read yet */
	BloomxTarget *targets;		/* of the stores */
	uint32	   *owed;			/* the step of a merge that is due in a store, but was not done */
	uint32		rows;			/* that came while a step was due */
	BloomxColumns *columns;		/* of the store of values */
} BloomxInsertState;

static BloomxInsertState *
GetInsertState(Relation index, IndexInfo *info)
{
	BloomxInsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(info->ii_Context);

		state = palloc0(sizeof(BloomxInsertState));
		state->memory = AllocSetContextCreate(info->ii_Context, "bloomx insert", ALLOCSET_DEFAULT_SIZES);
		state->stores = BloomxOpenStores(index);
		state->keys = palloc0(state->stores->n * sizeof(BloomxKeys));
		state->targets = palloc0(state->stores->n * sizeof(BloomxTarget));
		state->owed = palloc0(state->stores->n * sizeof(uint32));
		if (state->stores->store[0].of_values)
			state->columns = BloomxOpenColumns(index);
		MemoryContextSwitchTo(old);
		info->ii_AmCache = state;
	}
	return state;
}

/*
 * If a step of a merge is due while somebody else holds the structure lock, it is
 * tried again after so many rows.  Of two sessions that insert at once, one would
 * otherwise do most of the steps, and be left with its rows when the other has ended.
 * A step takes as long as some hundred rows: after 16 it is early enough, and to ask
 * for the lock once in so many rows does not count.
 */
#define RETRY_ROWS 16

/*
 * Makes a row a pending row of a store.  If a step of a merge is due and nobody else
 * holds the structure lock, the step follows.  By then the row is in the store, so a
 * cancel loses no more than the step.
 */
static void
InsertIntoStore(BloomxInsertState *state, int number, const Datum *values, const bool *isnull, ItemPointer tid)
{
	const BloomxStore *store = &state->stores->store[number];
	uint32		step;

	if (store->of_values)
		step = BloomxInsertValues(store, &state->targets[number], state->columns, values, isnull, tid);
	else if (!isnull[store->column])
		step = BloomxInsertFilter(store, &state->targets[number], values[store->column], tid, &state->keys[number]);
	else
		return;
	if (step == 0 && (state->owed[number] == 0 || ++state->rows % RETRY_ROWS > 0))
		return;
	state->owed[number] = Max(state->owed[number], step);
	if (BloomxTryLockStructure(store->index))
	{
		(void) BloomxMergeStep(store, state->owed[number], store->of_values ? MERGE_PAGES_OF_VALUES : MERGE_PAGES_OF_FILTERS, BloomxPendingLimit(store));
		BloomxUnlockStructure(store->index);
		state->owed[number] = 0;
	}
}

/*
 * An INSERT does not wait for a merge, VACUUM or a check.  It waits only for page
 * locks, for a process that extends the index by a few pages, and, while a store of
 * filters has no segment, for one that works on the pending rows.
 *
 * Until its transaction commits nobody asks for the row.  So it need not come into all
 * stores at once, and if it comes only into some, the transaction fails.
 */
bool
bloomxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			 IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	BloomxInsertState *state = GetInsertState(index, info);
	MemoryContext old = MemoryContextSwitchTo(state->memory);

	for (int i = 0; i < state->stores->n; i++)
		InsertIntoStore(state, i, values, isnull, tid);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->memory);
	return false;
}
