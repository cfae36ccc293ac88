/*
 * pending.c - keys of inserted rows, kept in the session for a while, for many keys at once
 * cost a third of the time and of the WAL.
 *
 * Nobody else can see the rows before the transaction commits.  So their keys are added
 *
 *   before the commit record, or that of PREPARE TRANSACTION, is written
 *   before this session reads any set (add_pending_keys), or begins another query, which may have parallel workers
 *   before a subtransaction begins, which may replace the index's file and be rolled back
 *   before a relation is dropped: ALTER TABLE ... TYPE may drop the index and make another one of its file
 *   when there are MOST_KEYS
 *
 * Keys of a subtransaction that is rolled back are added like others: they are false positives.
 * If the index's file is replaced, they go into the new one, which has them already: what filled it has read the rows, or
 * copied the pages.  If that is rolled back, so are the rows, for keys of rows before the subtransaction are not pending
 * any more.
 *
 * Under SERIALIZABLE keys are added at once.  A transaction that tests a key locks the set,
 * and is in conflict with inserts that come after that; of one that came before, it must see
 * the key.
 */
#include "pg/bloomset/stages/pending.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "pg/bloomset/stages/adding.h"

#define MOST_SETS 64
#define MOST_KEYS 32768

/*
 * A transaction's first keys are added one by one, for most transactions have no more.  So are
 * the keys after some that were asked for too early.
 */
#define FIRST_KEYS 16
#define FEW_KEYS 16
#define KEYS_AFTER_FEW 256

typedef struct PendingKeys
{
	Oid			set;
	uint32		one_by_one;		/* that many are added at once */
	uint32		n;
	uint64	   *hashes;			/* in TopTransactionContext */
} PendingKeys;

static PendingKeys sets[MOST_SETS];
static int	n_sets = 0;
static PendingKeys *last = NULL;	/* of the key before */
static bool is_ending = false;	/* the transaction is past the point where keys are added */
static ExecutorStart_hook_type next_start;
static object_access_hook_type next_access;

/* NULL: the transaction has too many sets. */
static PendingKeys *
PendingKeysOf(Oid set)
{
	if (last != NULL && last->set == set)
		return last;
	for (int i = 0; i < n_sets; i++)
		if (sets[i].set == set)
			return last = &sets[i];
	if (n_sets == MOST_SETS)
		return NULL;
	sets[n_sets] = (PendingKeys) {.set = set, .one_by_one = FIRST_KEYS};
	return last = &sets[n_sets++];
}

/* If there is an error, the keys are still pending. */
static void
AddPending(PendingKeys *pending, SetView *view, Relation index)
{
	(void) AddToSet(view, index, pending->hashes, pending->n, NULL);
	if (pending->n < FEW_KEYS)
		pending->one_by_one = KEYS_AFTER_FEW;
	pending->n = 0;
}

/* The index may have been made by a subtransaction that was rolled back. */
static void
OpenAndAddPending(PendingKeys *pending)
{
	Relation	index = try_relation_open(pending->set, RowExclusiveLock);

	if (index != NULL)
	{
		AddPending(pending, OpenSetView(index, false), index);
		relation_close(index, NoLock);
	}
	pending->n = 0;
}

static void
AddAllPendingKeys(void)
{
	static MemoryContext memory = NULL;
	MemoryContext old;

	if (memory == NULL)
		memory = AllocSetContextCreate(TopMemoryContext, "bloomset pending keys", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(memory);
	old = MemoryContextSwitchTo(memory);
	for (int i = 0; i < n_sets; i++)
		if (sets[i].n > 0)
			OpenAndAddPending(&sets[i]);
	add_pending_keys = NULL;
	MemoryContextSwitchTo(old);
	MemoryContextReset(memory);
}

void
AddKeyOfRow(SetView *view, Relation index, uint64 hash)
{
	PendingKeys *pending = PendingKeysOf(RelationGetRelid(index));

	if (pending == NULL || is_ending || pending->one_by_one > 0 || IsolationIsSerializable())
	{
		(void) AddKeyToSet(view, index, hash);
		/* the server has looked before the key was there, and does not know who has tested it since */
		CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
		if (pending != NULL && pending->one_by_one > 0)
			pending->one_by_one--;
		return;
	}
	if (pending->hashes == NULL)
		pending->hashes = MemoryContextAlloc(TopTransactionContext, MOST_KEYS * sizeof(uint64));
	/* before the key, for what failed here is tried again by the next one */
	if (pending->n == MOST_KEYS)
		AddPending(pending, view, index);
	pending->hashes[pending->n++] = hash;
	add_pending_keys = AddAllPendingKeys;
}

void
ForgetPendingKeys(Oid set)
{
	for (int i = 0; i < n_sets; i++)
		if (sets[i].set == set)
			sets[i].n = 0;
}

static void
AtTransactionEnd(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		if (add_pending_keys != NULL)
			AddAllPendingKeys();
		is_ending = true;
	}
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
	{
		n_sets = 0;
		last = NULL;
		add_pending_keys = NULL;
		is_ending = false;
	}
}

static void
AtSubtransactionStart(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_START_SUB && add_pending_keys != NULL)
		AddAllPendingKeys();
}

static void
AtQueryStart(QueryDesc *query, int flags)
{
	if (add_pending_keys != NULL)
		AddAllPendingKeys();
	if (next_start)
		next_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
AtDrop(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (access == OAT_DROP && class == RelationRelationId && add_pending_keys != NULL)
		AddAllPendingKeys();
	if (next_access)
		next_access(access, class, object, part, arg);
}

void
InitPendingKeys(void)
{
	RegisterXactCallback(AtTransactionEnd, NULL);
	RegisterSubXactCallback(AtSubtransactionStart, NULL);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = AtQueryStart;
	next_access = object_access_hook;
	object_access_hook = AtDrop;
}
