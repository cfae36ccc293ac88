/*
 * versions.c - a filter variable that a function changes again and again.
 *
 * In `f := bloom_add(f, x)` PL/pgSQL hands f over read-only: the old value must
 * stay as it is, for nobody knows whether it will be looked at again.  Copying
 * a megabyte for each key would cost thousands of times what the key does.
 *
 * So the old value and the new one are versions of one filter, which they
 * share: version n holds the first n of the hashes added to it.  The bits are
 * those of a version that no living one precedes; the hashes after it wait in
 * order.  Usually the old version dies with the assignment, and a batch of
 * hashes is added when the queue is full or somebody looks.  A version that is
 * looked at while an older one lives, and a second successor of one version,
 * get a copy of their own.  From PostgreSQL 18 on the variable comes read-write,
 * and its version simply moves on.
 *
 * A version is an expanded object, whose memory context may go away at any
 * time, at the end of an aborted transaction too.  The bits are in a context
 * of their own, which the last version takes along.
 */
#include "pg/base/bloomx.h"

#include "lib/ilist.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#define FILTER_VERSION_MAGIC 0x424c59
#define QUEUE 64

/* More living versions than a function's variables: they no longer share. */
#define MAX_ALIVE 8

typedef struct Versions
{
	MemoryContext context;
	blx_filter *filter;			/* as of version `applied` */
	uint64		applied;		/* no living version is older */
	uint64		newest;			/* applied .. applied + QUEUE */
	uint64		unchecked;		/* keys since the filter was last asked whether it is overfilled */
	int			alive;
	dlist_head	versions;
	uint64		queue[QUEUE];	/* the hashes of versions applied + 1 .. newest */
} Versions;

typedef struct FilterVersion
{
	ExpandedObjectHeader header;
	int			magic;
	uint64		number;
	Versions   *shared;
	dlist_node	node;
	MemoryContextCallback at_end;
} FilterVersion;

static uint64
OldestAlive(Versions *shared)
{
	uint64		oldest = shared->newest;
	dlist_iter	i;

	dlist_foreach(i, &shared->versions)
		oldest = Min(oldest, dlist_container(FilterVersion, node, i.cur)->number);
	return oldest;
}

static uint64
NewestAlive(Versions *shared)
{
	uint64		newest = shared->applied;
	dlist_iter	i;

	dlist_foreach(i, &shared->versions)
		newest = Max(newest, dlist_container(FilterVersion, node, i.cur)->number);
	return newest;
}

/* Adds n hashes to a filter that lives in that context. */
static blx_filter *
AddWithin(MemoryContext context, blx_filter *f, const uint64 *hashes, size_t n)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	blx_filter *result = AddHashes(f, hashes, n);

	MemoryContextSwitchTo(old);
	if (result != f)
		pfree(f);
	return result;
}

/* Adds the hashes that every living version has. */
static void
Apply(Versions *shared)
{
	uint64		n = OldestAlive(shared) - shared->applied;

	if (n == 0)
		return;
	shared->filter = AddWithin(shared->context, shared->filter, shared->queue, n);
	shared->applied += n;
	memmove(shared->queue, shared->queue + n, (shared->newest - shared->applied) * sizeof(uint64));
}

static void
Leave(FilterVersion *version)
{
	Versions   *shared = version->shared;

	dlist_delete(&version->node);
	if (--shared->alive == 0)
		MemoryContextDelete(shared->context);
}

static void
AtEnd(void *version)
{
	Leave(version);
}

static void
Enter(FilterVersion *version, Versions *shared, uint64 number)
{
	version->shared = shared;
	version->number = number;
	dlist_push_head(&shared->versions, &version->node);
	shared->alive++;
}

/* Around a copy of f, to which n hashes are added; nobody uses it yet. */
static Versions *
MakeVersions(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bloom filter versions", ALLOCSET_START_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Versions   *shared = palloc0(sizeof(Versions));

	shared->context = context;
	shared->filter = CopyForKeys(f, keys);
	MemoryContextSwitchTo(old);
	shared->filter = AddWithin(context, shared->filter, hashes, n);
	dlist_init(&shared->versions);
	MemoryContextSetParent(context, TopMemoryContext);	/* the last version deletes it */
	return shared;
}

/* The filter as of that version. */
static blx_filter *
Look(FilterVersion *version)
{
	Versions   *shared = version->shared;

	Apply(shared);
	if (version->number > shared->applied)
	{
		blx_identity identity = blx_identity_of(shared->filter);
		Versions   *own = MakeVersions(shared->filter, &identity, shared->queue, version->number - shared->applied);

		own->unchecked = shared->unchecked;
		Leave(version);
		Enter(version, own, 0);
	}
	return version->shared->filter;
}

/* The value leaves the variable, for a table or a result: the last moment to ask whether it is overfilled. */
static Size
FlatSize(ExpandedObjectHeader *header)
{
	FilterVersion *version = (FilterVersion *) header;
	const blx_filter *f = Look(version);

	if (version->shared->unchecked > 0)
	{
		version->shared->unchecked = 0;
		ReportOverfill(f, KEYS_ADDED);
	}
	return blx_size(f);
}

static void
Flatten(ExpandedObjectHeader *header, void *result, Size size)
{
	memcpy(result, Look((FilterVersion *) header), size);
	SET_VARSIZE(result, size);
}

static const ExpandedObjectMethods methods = {FlatSize, Flatten};

static FilterVersion *
MakeVersion(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bloom filter version", ALLOCSET_SMALL_SIZES);
	FilterVersion *version = MemoryContextAlloc(context, sizeof(FilterVersion));

	EOH_init_header(&version->header, &methods, context);
	version->magic = FILTER_VERSION_MAGIC;
	version->at_end.func = AtEnd;
	version->at_end.arg = version;
	return version;
}

static Datum
Publish(FilterVersion *version, Versions *shared, uint64 number)
{
	Enter(version, shared, number);
	MemoryContextRegisterResetCallback(version->header.eoh_context, &version->at_end);
	return EOHPGetRWDatum(&version->header);
}

/* DatumGetEOHP, here: each key takes several looks. */
static inline FilterVersion *
GetVersion(Datum datum)
{
	varatt_expanded pointer;

	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(datum)), sizeof(pointer));
	return (FilterVersion *) pointer.eohptr;
}

bool
DatumIsFilterVersion(Datum datum)
{
	return VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)) && GetVersion(datum)->magic == FILTER_VERSION_MAGIC;
}

blx_filter *
FilterVersionGet(Datum datum)
{
	return Look(GetVersion(datum));
}

const blx_filter *
FilterVersionHeader(Datum datum)
{
	return GetVersion(datum)->shared->filter;
}

Datum
MakeFilterVersion(const blx_filter *f, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	FilterVersion *version = MakeVersion();
	Versions   *shared = MakeVersions(f, keys, hashes, n);
	Datum		result = Publish(version, shared, 0);

	ReportOverfill(shared->filter, KEYS_ADDED);
	return result;
}

/* Before n more keys.  Asking counts the bits: now and then is enough. */
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

/* May that version have a successor that shares, of n more keys?  Makes room for them. */
static inline bool
CanExtend(FilterVersion *version, size_t n)
{
	Versions   *shared = version->shared;

	if (version->number < shared->newest)
		shared->newest = NewestAlive(shared);	/* a dead successor's hashes are forgotten */
	if (version->number < shared->newest || shared->alive >= MAX_ALIVE)
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

/* A version that may be changed itself: it is the newest from now on. */
static Datum
AddInPlace(Datum datum, const uint64 *hashes, size_t n)
{
	FilterVersion *version = GetVersion(datum);

	CheckOverfill(version->shared, n);
	for (size_t i = 0; i < n;)
	{
		size_t		batch = Min(n - i, QUEUE);

		if (!CanExtend(version, batch))
		{
			blx_identity identity = blx_identity_of(version->shared->filter);
			Versions   *own = MakeVersions(Look(version), &identity, NULL, 0);

			Leave(version);
			Enter(version, own, 0);
		}
		Extend(version->shared, hashes + i, batch);
		version->number = version->shared->newest;
		i += batch;
	}
	return datum;
}

static pg_attribute_always_inline Datum
Succeed(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	FilterVersion *old = GetVersion(datum);
	FilterVersion *version;
	Versions   *shared;

	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return AddInPlace(datum, hashes, n);
	if (n > QUEUE || !CanExtend(old, n))
		return MakeFilterVersion(Look(old), keys, hashes, n);
	version = MakeVersion();
	shared = old->shared;
	CheckOverfill(shared, n);
	Extend(shared, hashes, n);
	return Publish(version, shared, shared->newest);
}

Datum
AddToFilterVersion(Datum datum, const blx_identity *keys, const uint64 *hashes, size_t n)
{
	return Succeed(datum, keys, hashes, n);
}

Datum
AddKeyToFilterVersion(Datum datum, KeyType *key, Datum value)
{
	const blx_filter *f = GetVersion(datum)->shared->filter;
	uint64		hash;

	CheckKeyType(f, key);
	hash = HashKey(key, value, f->seed);
	return Succeed(datum, &key->identity, &hash, 1);
}

/* bloom_add may change its first argument, when that is the variable that its result goes to. */
PG_FUNCTION_INFO_V1(bloom_add_support);
Datum
bloom_add_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(ArgumentChangedInPlace((Node *) PG_GETARG_POINTER(0)));
}
