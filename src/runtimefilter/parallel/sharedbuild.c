/*
 * sharedbuild.c - the keys of a Parallel Hash, from the processes that read them.
 *
 * Each process reads a part of the inner side.  At the end of its part, it publishes
 * the keys of that part in memory that all processes of the query share.  Before a
 * process tests the first row of the outer side, it imports the keys that were
 * published and makes the filter from them.  They do not change any more, so no process
 * waits for another.
 *
 * No key is missing then.  The build barrier of the hash join lets no process begin
 * with the outer side before all have reached the end of the inner one, and a process
 * that comes later finds the inner side read.  One danger is left: a process that
 * reads rows but does not collect keys, because its settings or its memory do not
 * allow a filter.  So each process is counted when it begins and when it has published its
 * keys, and one that has no such filter says so when it starts (workers.c).
 *
 * If the inner side is itself a parallel hash join, it cannot be a point, because its
 * method is set anew when its shared memory is.  Then each process reads the keys from
 * the complete table when its outer side starts.  That is possible if the table has
 * one batch, so that all of it is in memory.
 */
#include "postgres.h"

#include <float.h>
#include <sys/statvfs.h>

#include "executor/hashjoin.h"
#include "miscadmin.h"
#include "storage/dsm_impl.h"

#include "runtimefilter/parallel/parallel.h"

/* The sets of one process. */
typedef struct PublishedKeys
{
	dsa_pointer next;
	uint64		rows;
	int			n_sets;
	/* n_sets times: the keys that the set is of, and the ExportedKeySet */
	uint64		sets[FLEXIBLE_ARRAY_MEMBER];
} PublishedKeys;

/* A set of the filter, and the numbers of the keys that it is of: a bit for each. */
typedef struct SetOfKeys
{
	KeySet	   *set;
	uint64		keys;
} SetOfKeys;

/* A filter with more keys than a word has bits is not built together. */
#define MOST_KEYS 64

/* All sets of the filter, in the current memory context. */
static SetOfKeys *
AllSets(RuntimeFilter *filter, int *n)
{
	SetOfKeys  *sets = palloc((filter->n_keys + list_length(filter->combined)) * sizeof(SetOfKeys));
	ListCell   *lc;

	*n = 0;
	for (int i = 0; i < filter->n_keys; i++)
		if (filter->keys[i].is_used)
			sets[(*n)++] = (SetOfKeys) {&filter->keys[i].set, UINT64CONST(1) << i};
	foreach(lc, filter->combined)
	{
		CombinedKey *combined = lfirst(lc);
		uint64		keys = 0;
		int			i = -1;

		while ((i = bms_next_member(combined->keys, i)) >= 0)
			keys |= UINT64CONST(1) << i;
		sets[(*n)++] = (SetOfKeys) {&combined->set, keys};
	}
	return sets;
}

/* ---- this process's part ---- */

/* True if other processes read the rest of the inner side.  (A Parallel Hash may run without parallelism.) */
static bool
IsBuiltInParts(const RuntimeFilter *filter)
{
	return castNode(HashState, innerPlanState(filter->join))->parallel_state != NULL;
}

static void
StartPart(RuntimeFilter *filter)
{
	PartsOfBuild *parts = ParallelBuildOf(filter)->parts;

	if (parts == NULL || !IsBuiltInParts(filter))
		return;
	SpinLockAcquire(&parts->mutex);
	parts->begun++;
	SpinLockRelease(&parts->mutex);
}

/*
 * At most a sixteenth of what is free: containers often have 64 MB, and a hash table
 * that grows and finds none left ends the query.
 */
bool
MayShare(uint64 bytes)
{
	struct statvfs memory;

	return dynamic_shared_memory_type != DSM_IMPL_POSIX || statvfs("/dev/shm", &memory) != 0 ||
		bytes <= (uint64) memory.f_bavail * memory.f_frsize / 16;
}

/* Copies the sets into shared memory.  An invalid pointer if there is not enough of it. */
static dsa_pointer
ExportSets(RuntimeFilter *filter)
{
	dsa_area   *area = filter->query->parallel->area;
	uint64		bytes = offsetof(PublishedKeys, sets);
	SetOfKeys  *sets;
	PublishedKeys *published;
	uint64	   *to;
	dsa_pointer at;
	int			n;

	sets = AllSets(filter, &n);
	for (int i = 0; i < n; i++)
		bytes += sizeof(uint64) + KeySetExportBytes(sets[i].set);
	if (!MayShare(bytes))
		return InvalidDsaPointer;
	at = dsa_allocate_extended(area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	if (!DsaPointerIsValid(at))
		return at;
	published = dsa_get_address(area, at);
	published->rows = filter->rows;
	published->n_sets = n;
	to = published->sets;
	for (int i = 0; i < n; i++)
	{
		*to++ = sets[i].keys;
		KeySetExport(sets[i].set, (ExportedKeySet *) to);
		to += ((ExportedKeySet *) to)->bytes / sizeof(uint64);
	}
	return at;
}

static void
PublishKeys(RuntimeFilter *filter, PartsOfBuild *parts)
{
	dsa_pointer at = filter->n_keys > MOST_KEYS || filter->state == FILTER_GIVEN_UP ? InvalidDsaPointer : ExportSets(filter);
	PublishedKeys *published = DsaPointerIsValid(at) ? dsa_get_address(filter->query->parallel->area, at) : NULL;

	/* what is published is complete before anybody can find it */
	SpinLockAcquire(&parts->mutex);
	parts->ended++;
	if (published != NULL)
	{
		published->next = parts->published;
		parts->published = at;
	}
	else
		parts->is_given_up = true;
	SpinLockRelease(&parts->mutex);
}

static bool
EndPart(RuntimeFilter *filter)
{
	if (!IsBuiltInParts(filter))
		return false;
	if (ParallelBuildOf(filter)->parts != NULL)
		PublishKeys(filter, ParallelBuildOf(filter)->parts);
	return true;
}

/* ---- the keys of all processes ---- */

/* The set of these keys that a process has published; NULL if it has none. */
static ExportedKeySet *
FindExported(PublishedKeys *published, uint64 keys)
{
	uint64	   *at = published->sets;

	for (int i = 0; i < published->n_sets; i++)
	{
		ExportedKeySet *exported = (ExportedKeySet *) (at + 1);

		if (*at == keys)
			return exported;
		at = (uint64 *) ((char *) exported + exported->bytes);
	}
	return NULL;
}

/* False if the process has not published all that is needed here. */
static bool
ImportSets(RuntimeFilter *filter, PublishedKeys *published)
{
	int			n;
	SetOfKeys  *sets = AllSets(filter, &n);

	for (int i = 0; i < n; i++)
	{
		ExportedKeySet *exported = FindExported(published, sets[i].keys);

		if (exported == NULL)
			return false;
		KeySetImport(sets[i].set, exported);
	}
	filter->rows += published->rows;
	return true;
}

/* Adds the keys of all processes to the filter's empty sets.  False if some are missing. */
static bool
ImportKeys(RuntimeFilter *filter, PartsOfBuild *parts)
{
	bool		are_all;
	dsa_pointer at;

	if (parts == NULL)
		return false;
	SpinLockAcquire(&parts->mutex);
	are_all = !parts->is_given_up && parts->begun > 0 && parts->begun == parts->ended;
	at = parts->published;
	SpinLockRelease(&parts->mutex);
	while (are_all && DsaPointerIsValid(at))
	{
		PublishedKeys *published = dsa_get_address(filter->query->parallel->area, at);

		CHECK_FOR_INTERRUPTS();
		are_all = ImportSets(filter, published);
		at = published->next;
	}
	return are_all;
}

/* True if each process may cheaply read the whole hash table itself. */
static bool
TableIsReadable(const RuntimeFilter *filter, HashJoinTable table)
{
	return table->nbatch == 1 && table->curbatch == 0 && table->buckets.shared != NULL &&
		table->batches[0].shared->ntuples <= ParallelBuildOf(filter)->most_rows;
}

/* Every row of a shared table of one batch. */
static void
ReadSharedTable(RuntimeFilter *filter, HashJoinTable table)
{
	for (int i = 0; i < table->nbuckets; i++)
	{
		dsa_pointer at = dsa_pointer_atomic_read(&table->buckets.shared[i]);

		while (DsaPointerIsValid(at))
		{
			HashJoinTuple tuple = dsa_get_address(table->area, at);

			CHECK_FOR_INTERRUPTS();
			ExecStoreMinimalTuple(HJTUPLE_MINTUPLE(tuple), filter->hash_join->hj_HashTupleSlot, false);
			AddRow(filter, filter->hash_join->hj_HashTupleSlot);
			at = tuple->next.shared;
		}
	}
	ExecClearTuple(filter->hash_join->hj_HashTupleSlot);
}

/* False if some keys are not to be had. */
static bool
FillSets(RuntimeFilter *filter, HashJoinTable table)
{
	if (!filter->reads_table)
		return ImportKeys(filter, ParallelBuildOf(filter)->parts);
	if (!TableIsReadable(filter, table))
		return false;
	ReadSharedTable(filter, table);
	return true;
}

/*
 * The outer side of a shared table is read only after the table is complete, so
 * whoever calls this while there is a table may have its keys.
 */
static void
CompleteFromAll(RuntimeFilter *filter)
{
	HashJoinTable table = filter->hash_join->hj_HashTable;

	if (filter->state == FILTER_COMPLETE || filter->state == FILTER_GIVEN_UP || table == NULL ||
		table->parallel_state == NULL || BarrierPhase(&table->parallel_state->build_barrier) <= PHJ_BUILD_HASH_INNER)
		return;
	StartCollecting(filter);
	if (FillSets(filter, table))
		CompleteFilter(filter);
	else
		GiveUpFilter(filter);
}

void
ForgetParts(RuntimeFilter *filter)
{
	PartsOfBuild *parts = ParallelBuildOf(filter)->parts;

	ForgetKeys(filter);
	if (parts == NULL)
		return;
	while (DsaPointerIsValid(parts->published))
	{
		dsa_pointer at = parts->published;

		parts->published = ((PublishedKeys *) dsa_get_address(filter->query->parallel->area, at))->next;
		dsa_free(filter->query->parallel->area, at);
	}
	parts->begun = parts->ended = 0;
	parts->is_given_up = false;
}

SharedBuild *
NewParallelBuild(RuntimeFilter *filter)
{
	ParallelBuild *build = palloc0(sizeof(ParallelBuild));

	build->shared.start_part = StartPart;
	build->shared.end_part = EndPart;
	build->shared.complete = CompleteFromAll;
	/* reading a row of the table costs a fraction of what a removed outer row saves */
	build->most_rows = bloomx_runtime_filter_min_removed == 0 ? DBL_MAX : filter->filtered->plan->plan_rows / 2;
	return &build->shared;
}
