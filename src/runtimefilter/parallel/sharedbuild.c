/*
 * sharedbuild.c - the keys of a filter, from the processes that read them.
 *
 * In a Parallel Hash each process reads a part of the inner side.  At the end of its
 * part, it leaves the keys of that part in memory that all processes of the query
 * share.  Before a process tests the first row of the outer side, it takes the keys
 * that were left and makes the filter from them.  Keys that were left do not change
 * any more, so no process waits for another.
 *
 * No key is missing then.  The build barrier of the hash join lets no process begin
 * with the outer side before all have reached the end of the inner one, and a process
 * that comes later finds the inner side read.  One danger is left: a process that
 * reads rows but does not collect keys, because its settings or its memory do not
 * allow a filter.  So each process is counted when it begins and when it has left its
 * keys, and one that has no such filter says so when it starts (workers.c).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "runtimefilter/runtimefilter.h"

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

void
BeginPart(RuntimeFilter *filter)
{
	SharedBuild *build = filter->shared_build;

	if (build == NULL)
		return;
	SpinLockAcquire(&build->mutex);
	build->begun++;
	SpinLockRelease(&build->mutex);
}

/* Copies the sets into shared memory.  An invalid pointer if there is not enough of it. */
static dsa_pointer
ExportSets(RuntimeFilter *filter)
{
	dsa_area   *area = filter->query->area;
	uint64		bytes = offsetof(PublishedKeys, sets);
	SetOfKeys  *sets;
	PublishedKeys *left;
	uint64	   *to;
	dsa_pointer at;
	int			n;

	sets = AllSets(filter, &n);
	for (int i = 0; i < n; i++)
		bytes += sizeof(uint64) + KeySetExportBytes(sets[i].set);
	at = dsa_allocate_extended(area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	if (!DsaPointerIsValid(at))
		return at;
	left = dsa_get_address(area, at);
	left->rows = filter->rows;
	left->n_sets = n;
	to = left->sets;
	for (int i = 0; i < n; i++)
	{
		*to++ = sets[i].keys;
		KeySetExport(sets[i].set, (ExportedKeySet *) to);
		to += ((ExportedKeySet *) to)->bytes / sizeof(uint64);
	}
	return at;
}

void
PublishKeys(RuntimeFilter *filter)
{
	SharedBuild *build = filter->shared_build;
	PublishedKeys *left;
	dsa_pointer at;

	if (build == NULL)
		return;
	at = filter->n_keys > MOST_KEYS ? InvalidDsaPointer : ExportSets(filter);
	left = DsaPointerIsValid(at) ? dsa_get_address(filter->query->area, at) : NULL;
	SpinLockAcquire(&build->mutex);
	build->ended++;
	if (left != NULL)
	{
		left->next = build->left;
		build->left = at;
	}
	else
		build->is_given_up = true;
	SpinLockRelease(&build->mutex);
}

/* The set of these keys that a process has left; NULL if it has none. */
static ExportedKeySet *
FindExported(PublishedKeys *left, uint64 keys)
{
	uint64	   *at = left->sets;

	for (int i = 0; i < left->n_sets; i++)
	{
		ExportedKeySet *exported = (ExportedKeySet *) (at + 1);

		if (*at == keys)
			return exported;
		at = (uint64 *) ((char *) exported + exported->bytes);
	}
	return NULL;
}

/* False if the process has not left all that is needed here. */
static bool
ImportSets(RuntimeFilter *filter, PublishedKeys *left)
{
	int			n;
	SetOfKeys  *sets = AllSets(filter, &n);

	for (int i = 0; i < n; i++)
	{
		ExportedKeySet *exported = FindExported(left, sets[i].keys);

		if (exported == NULL)
			return false;
		KeySetImport(sets[i].set, exported);
	}
	filter->rows += left->rows;
	return true;
}

bool
ImportKeys(RuntimeFilter *filter)
{
	SharedBuild *build = filter->shared_build;
	bool		are_all;
	dsa_pointer at;

	if (build == NULL)
		return false;
	SpinLockAcquire(&build->mutex);
	are_all = !build->is_given_up && build->begun > 0 && build->begun == build->ended;
	at = build->left;
	SpinLockRelease(&build->mutex);
	while (are_all && DsaPointerIsValid(at))
	{
		PublishedKeys *left = dsa_get_address(filter->query->area, at);

		CHECK_FOR_INTERRUPTS();
		are_all = ImportSets(filter, left);
		at = left->next;
	}
	return are_all;
}

void
DiscardKeys(SharedBuild *build, dsa_area *area)
{
	while (DsaPointerIsValid(build->left))
	{
		dsa_pointer at = build->left;

		build->left = ((PublishedKeys *) dsa_get_address(area, at))->next;
		dsa_free(area, at);
	}
	build->begun = build->ended = 0;
	build->is_given_up = false;
}
