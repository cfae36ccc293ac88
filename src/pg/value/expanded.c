/*
 * expanded.c - a filter that changes in memory, as an expanded object of PostgreSQL.
 *
 * In `f := bloom_add(f, x)` PL/pgSQL hands f over read-only: the old value must
 * stay as it is, for somebody may look at it again.  Copying a megabyte for each
 * key would cost thousands of times as much as adding the key.
 *
 * So the old value and the new one are versions of one filter, which they share:
 * version n contains the first n of the hashes added to it.  The bits of the
 * filter are those of a version that no living one precedes; later hashes wait
 * in a queue.  Usually the old version dies with the assignment, and a batch of
 * hashes is added when the queue is full or somebody looks.  A version that is
 * looked at while an older one lives gets a copy of its own; so does a second
 * successor of one version.  From PostgreSQL 18 on the variable comes read-write,
 * and its version simply moves on.
 *
 * The state of an aggregate is the case of one version that is always
 * read-write.  The executor would copy a flat state each time it moves; an
 * expanded one is handed from call to call by reference.  Its queue makes batches, too:
 * the core fetches the blocks of many keys at once, for the blocks of a large
 * filter are rarely in the cache.
 *
 * The memory context of an expanded object may go away at any time, also at the
 * end of an aborted transaction.  So what versions share is in a context of its
 * own, which the last version takes along.  A state shares nothing: all of it is
 * in the context of its object, where the executor counts its memory.
 */
#include "pg/value/expanded.h"

#include "lib/ilist.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "pg/value/growth.h"

#define EXPANDED_MAGIC 0x424c58

/* 64 fetches at once keep the memory busy, and are one word of answers in a test. */
#define QUEUE BLX_BATCH

/* With more living versions than a function has variables, new ones no longer share. */
#define MAX_ALIVE 8

/* What the versions of a filter share. */
typedef struct Versions
{
	MemoryContext context;
	blx_filter *filter;			/* as of version `applied` */
	void	   *chunk;			/* its memory */
	double		expected;		/* keys in the end; 0 = not known */
	uint64		applied;		/* no living version is older */
	uint64		newest;			/* applied .. applied + QUEUE */
	uint64		unchecked;		/* keys added by bloom_add since the last check for an overfill */
	int			alive;
	dlist_head	versions;		/* the living ones, the newest first */
	uint64		queue[QUEUE];	/* the hashes of versions applied + 1 .. newest */
} Versions;

typedef struct ExpandedFilter
{
	ExpandedObjectHeader header;
	int			magic;
	bool		is_state;
	uint64		number;
	Versions   *shared;
	dlist_node	node;
	MemoryContextCallback at_end;
} ExpandedFilter;

/* Both in one chunk. */
typedef struct State
{
	ExpandedFilter	object;
	Versions	versions;
} State;

/* ---- the filter that versions share ---- */

/* f, allocated in the shared context, takes the place of the filter before. */
static void
Hold(Versions *shared, blx_filter *f)
{
	void	   *chunk;

	if (shared->filter == f)
		return;
	/* the only step that may fail comes first: a version may be looked at after an error, too */
	f = AlignFilter(f, &chunk);
	if (shared->filter != NULL)
		pfree(shared->chunk);
	shared->filter = f;
	shared->chunk = chunk;
}

static void
AddToFilter(Versions *shared, const uint64 *hashes, size_t n)
{
	MemoryContext old = MemoryContextSwitchTo(shared->context);

	Hold(shared, AddExpectedHashes(shared->filter, hashes, n, shared->expected, (double) (shared->applied + n)));
	MemoryContextSwitchTo(old);
}

/* Adds the hashes that every living version contains. */
static void
Apply(Versions *shared)
{
	uint64		n = dlist_tail_element(ExpandedFilter, node, &shared->versions)->number - shared->applied;

	if (n == 0)
		return;
	AddToFilter(shared, shared->queue, n);
	shared->applied += n;
	memmove(shared->queue, shared->queue + n, (shared->newest - shared->applied) * sizeof(uint64));
}

/* Around a copy of f, to which n hashes are added.  It has no version yet. */
static Versions *
MakeVersions(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bloom filter versions", ALLOCSET_START_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Versions   *shared = palloc0(sizeof(Versions));

	shared->context = context;
	shared->filter = CopyForKeys(f, keys);
	shared->chunk = shared->filter;
	MemoryContextSwitchTo(old);
	AddToFilter(shared, hashes, n);
	dlist_init(&shared->versions);
	MemoryContextSetParent(context, TopMemoryContext);	/* the last version deletes it */
	return shared;
}

/* ---- one object ---- */

/* Also as the end of its memory context. */
static void
Leave(void *arg)
{
	ExpandedFilter *object = arg;
	Versions   *shared = object->shared;

	dlist_delete(&object->node);
	if (--shared->alive == 0)
		MemoryContextDelete(shared->context);
}

static void
Enter(ExpandedFilter *object, Versions *shared, uint64 number)
{
	object->shared = shared;
	object->number = number;
	dlist_push_head(&shared->versions, &object->node);
	shared->alive++;
}

/* The filter as of that version. */
static blx_filter *
Look(ExpandedFilter *object)
{
	Versions   *shared = object->shared;

	Apply(shared);
	if (object->number > shared->applied)
	{
		/* an older version lives: take a copy */
		blx_identity identity = blx_identity_of(shared->filter);
		Versions   *own = MakeVersions(shared->filter, &identity, shared->queue, object->number - shared->applied);

		own->unchecked = shared->unchecked;
		Leave(object);
		Enter(object, own, 0);
	}
	return object->shared->filter;
}

/* The value leaves the variable, for a table or a result: the last moment to check bloom_add's keys for an overfill. */
static Size
FlatSize(ExpandedObjectHeader *header)
{
	ExpandedFilter *object = (ExpandedFilter *) header;
	const blx_filter *f = Look(object);

	if (object->shared->unchecked > 0)
	{
		object->shared->unchecked = 0;
		ReportOverfill(f, KEYS_ADDED);
	}
	return blx_size(f);
}

static void
Flatten(ExpandedObjectHeader *header, void *result, Size size)
{
	AskForHugePages(result, size);	/* new memory of the executor, which it copies from at once */
	memcpy(result, Look((ExpandedFilter *) header), size);
	SET_VARSIZE(result, size);
}

static const ExpandedObjectMethods methods = {FlatSize, Flatten};

/* DatumGetEOHP, inline: each key looks several times. */
static inline ExpandedFilter *
GetExpanded(Datum datum)
{
	varatt_expanded pointer;

	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(datum)), sizeof(pointer));
	return (ExpandedFilter *) pointer.eohptr;
}

static ExpandedFilter *
CheckExpanded(Datum datum)
{
	ExpandedFilter *object = GetExpanded(datum);

	if (object->magic != EXPANDED_MAGIC)
		elog(ERROR, "expanded object is not a bloom filter");
	return object;
}

blx_filter *
ExpandedFilterOf(Datum datum)
{
	return Look(CheckExpanded(datum));
}

const blx_filter *
ExpandedHeaderOf(Datum datum)
{
	return CheckExpanded(datum)->shared->filter;
}

/* ---- versions ---- */

/* A version that Publish completes: until then it may vanish without a trace. */
static ExpandedFilter *
NewVersion(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bloom filter version", ALLOCSET_SMALL_SIZES);
	ExpandedFilter *object = MemoryContextAlloc(context, sizeof(ExpandedFilter));

	EOH_init_header(&object->header, &methods, context);
	object->magic = EXPANDED_MAGIC;
	object->is_state = false;
	object->at_end.func = Leave;
	object->at_end.arg = object;
	return object;
}

static Datum
Publish(ExpandedFilter *object, Versions *shared, uint64 number)
{
	Enter(object, shared, number);
	MemoryContextRegisterResetCallback(object->header.eoh_context, &object->at_end);
	return EOHPGetRWDatum(&object->header);
}

Datum
MakeVersion(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	ExpandedFilter *object = NewVersion();
	Versions   *shared = MakeVersions(f, keys, hashes, n);
	Datum		result = Publish(object, shared, 0);

	ReportOverfill(shared->filter, KEYS_ADDED);
	return result;
}

/*
 * Before n more keys.  The check counts all bits of the filter, so it comes only
 * once for as many keys as a 64th of the capacity.
 */
static inline void
CheckOverfill(Versions *shared, size_t n)
{
	shared->unchecked += n;
	if (likely(shared->unchecked <= shared->filter->capacity / 64 + QUEUE))
		return;
	shared->unchecked = 0;
	Apply(shared);
	ReportOverfill(shared->filter, KEYS_ADDED);
}

/* True if the version may have a successor that shares, with n more keys.  Makes room for them. */
static inline bool
CanExtend(ExpandedFilter *object, size_t n)
{
	Versions   *shared = object->shared;

	if (object->number < shared->newest)
		shared->newest = dlist_head_element(ExpandedFilter, node, &shared->versions)->number;	/* forget the hashes of a dead successor */
	if (object->number < shared->newest || shared->alive >= MAX_ALIVE)
		return false;
	if (shared->newest - shared->applied + n > QUEUE)
		Apply(shared);
	return shared->newest - shared->applied + n <= QUEUE;
}

static inline void
Extend(Versions *shared, const uint64 *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)	/* usually one: no string instruction pays */
		shared->queue[shared->newest++ - shared->applied] = hashes[i];
}

/* Adds the hashes to a read-write object itself: it is the newest version from now on. */
static Datum
AddInPlace(Datum datum, const uint64 *hashes, size_t n)
{
	ExpandedFilter *object = GetExpanded(datum);

	CheckOverfill(object->shared, n);
	for (size_t i = 0; i < n;)
	{
		size_t		batch = Min(n - i, QUEUE);

		if (!CanExtend(object, batch))
		{
			/* other versions are in the way: leave them */
			blx_identity identity = blx_identity_of(object->shared->filter);
			Versions   *own = MakeVersions(Look(object), &identity, NULL, 0);

			Leave(object);
			Enter(object, own, 0);
		}
		Extend(object->shared, hashes + i, batch);
		object->number = object->shared->newest;
		dlist_move_head(&object->shared->versions, &object->node);
		i += batch;
	}
	return datum;
}

static pg_attribute_always_inline Datum
Succeed(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	ExpandedFilter *old = GetExpanded(datum);
	ExpandedFilter *object;
	Versions   *shared;

	/* a state stays as it is; and a filter of no key type yet (null rows have none) is copied, as one of these keys */
	if (old->is_state || old->shared->filter->key_type == BLX_KEY_NONE)
		return MakeVersion(Look(old), keys, hashes, n);
	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return AddInPlace(datum, hashes, n);
	if (n > QUEUE || !CanExtend(old, n))
		return MakeVersion(Look(old), keys, hashes, n);
	object = NewVersion();
	shared = old->shared;
	CheckOverfill(shared, n);
	Extend(shared, hashes, n);
	return Publish(object, shared, shared->newest);
}

Datum
NextVersion(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	return Succeed(datum, keys, hashes, n);
}

/* Compiled for one key: in a loop of PL/pgSQL a twentieth of all instructions. */
Datum
NextVersionWithKey(Datum datum, KeyType *type, Datum key)
{
	const blx_filter *f = ExpandedHeaderOf(datum);
	uint64		hash;

	CheckKeyType(f, type);
	hash = HashKey(type, key, f->seed);
	return Succeed(datum, &type->identity, &hash, 1);
}

/* ---- states ---- */

Datum
MakeState(MemoryContext parent, double expected)
{
	MemoryContext context = AllocSetContextCreate(parent, "bloom filter state", ALLOCSET_START_SMALL_SIZES);
	State	   *state = MemoryContextAlloc(context, sizeof(State));
	Versions   *alone = &state->versions;

	memset(state, 0, offsetof(State, versions.queue));
	EOH_init_header(&state->object.header, &methods, context);
	state->object.magic = EXPANDED_MAGIC;
	state->object.is_state = true;
	alone->context = context;
	alone->expected = expected;
	dlist_init(&alone->versions);
	Enter(&state->object, alone, 0);
	return EOHPGetRWDatum(&state->object.header);
}

bool
ExpandedIsState(Datum datum)
{
	return CheckExpanded(datum)->is_state;
}

static inline void
Enqueue(ExpandedFilter *state, uint64 hash)
{
	Versions   *alone = state->shared;

	alone->queue[alone->newest - alone->applied] = hash;
	state->number = ++alone->newest;
	if (alone->newest - alone->applied == QUEUE)
		Apply(alone);
}

void
AddToState(Datum state, uint64 hash)
{
	Enqueue(GetExpanded(state), hash);
}

/* In an aggregate of a user's own the state may have become another object on its way. */
bool
AddKeyToState(Datum datum, KeyType *type, Datum key)
{
	ExpandedFilter *object = GetExpanded(datum);

	if (object->magic != EXPANDED_MAGIC || !object->is_state)
		return false;
	Enqueue(object, HashKey(type, key, object->shared->filter->seed));
	return true;
}

MemoryContext
StateContext(Datum state)
{
	return GetExpanded(state)->header.eoh_context;
}

blx_filter *
SetState(Datum state, blx_filter *f)
{
	ExpandedFilter *object = CheckExpanded(state);

	Hold(object->shared, f);
	return object->shared->filter;
}
