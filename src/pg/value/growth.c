/*
 * growth.c - filters whose size is not known yet.
 *
 * An aggregate collects distinct hashes (core/hashes.c) and becomes a filter
 * when its size is known: at the end, when the planned filter would be smaller
 * than the hashes, or when the hashes of an unplanned one would take more than
 * bloomx.build_mem, which is what a hash table of the executor may take unless
 * it is set.  In the last case it becomes a filter for as many keys as may come
 * (PendingGeometry), marked `pending`, and is cut to what its contents need at
 * the end.
 */
#include "pg/value/growth.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/execnodes.h"

#include "core/layouts/hashes.h"
#include "pg/value/combine.h"

/*
 * Sets are as large as the chunks that palloc makes of their size, powers of
 * two.  Of many groups each has one, and each leaves the chunk that it has grown
 * out of to nobody: so it begins with the size that the planner's guess of the
 * rows in a group asks for, within bounds, for the guess may be wrong, and small
 * ones grow by four.
 */
#define LEAST_BYTES 128
#define MOST_BYTES_TO_BEGIN 1024

static uint64
SlotsWithin(uint64 bytes, unsigned name_len)
{
	uint64		without_slots = blx_hashes_bytes(0, name_len);

	return bytes >= without_slots + LEAST_BYTES / 4 ? (bytes - without_slots) / 8 : LEAST_BYTES / 8;
}

blx_filter *
NewHashes(const blx_geometry *planned, const blx_identity *identity, uint64 capacity, double expected)
{
	uint64		bytes = LEAST_BYTES,
				slots;
	blx_filter *open;

	while (bytes < MOST_BYTES_TO_BEGIN && (double) SlotsWithin(bytes, identity->name_len) <= expected)
		bytes *= 2;
	slots = SlotsWithin(bytes, identity->name_len);
	open = AllocFilter(blx_hashes_bytes(slots, identity->name_len));
	blx_hashes_init(open, slots, planned, identity, capacity);
	return open;
}

uint64
BuildMemory(void)
{
	if (bloomx_build_mem >= 0)
		return (uint64) bloomx_build_mem * 1024;
	return Min(Max(get_hash_memory_limit(), MIN_BUILD_MEM * 1024), BLX_MAX_BYTES);
}

/* How large a set of hashes may get. */
static uint64
HashesLimit(const blx_filter *open)
{
	blx_geometry planned = blx_geometry_of(open);

	return open->pending ? blx_bytes(&planned, open->name_len) : BuildMemory();
}

/*
 * The filter that takes over when an unplanned set has become too large.  With a
 * bloomx.build_mem that somebody set, it is the one of that size that carries
 * the most keys at the default rate.
 *
 * By default the limit is work_mem's, which most leave at 4 MB.  The filter is
 * the result, however, and results have no such limit (nor has array_agg's): a
 * filter that is too small would break its promise only because the memory was
 * small.  So it is made for as many keys as the planner expects rows, and a
 * quarter more, for the guess is a guess.  It may be far too high as well, where
 * keys repeat: the filter takes at most PENDING_FACTOR times the limit.  That is
 * by how much a key takes less in a filter than in a set of hashes, 11 bits
 * against 10.7 bytes.  With the default of 8 MB the set has up to 786,000 keys,
 * the least filter holds 5.8 million and the largest 46 million.
 *
 * Two other ways were considered.  A filter can grow in place, by expansion, but
 * an expanded filter is as full as it was, so each stage must leave most of its
 * bits to the next: eight doublings, each with an eighth of the load, take 5 to
 * 8 times the result's memory and give a result of up to twice its size.
 * Spilling the hashes to disk would make the state a file, and a state must be a
 * value that can be sent to another process.
 */
#define PENDING_FACTOR 8
#define PENDING_MARGIN 1.25

static blx_geometry
PendingGeometry(double expected)
{
	uint64		least = BuildMemory(),
				most = bloomx_build_mem >= 0 ? least : Min(PENDING_FACTOR * least, BLX_MAX_BYTES);
	double		keys = PENDING_MARGIN * expected;
	blx_geometry geometry,
				wanted;
	blx_error	error;

	if (!blx_plan_bytes(most, DEFAULT_FPR, &geometry, &error))
		ThrowCoreError(&error);
	if (most == least || keys >= (double) blx_capacity(&geometry, DEFAULT_FPR))
		return geometry;
	if (blx_plan(BLX_PARTITIONED_BLOCKED, (uint64) Max(keys, 1), DEFAULT_FPR, NULL, &wanted, &error) &&
		blx_bytes(&wanted, BLX_MAX_NAME) > least)
		return wanted;
	if (!blx_plan_bytes(least, DEFAULT_FPR, &geometry, &error))
		ThrowCoreError(&error);
	return geometry;
}

static uint64
MoreSlots(const blx_filter *open)
{
	uint64		bytes = blx_hashes_bytes(blx_hashes_slots(open), open->name_len);

	return SlotsWithin((bytes <= MOST_BYTES_TO_BEGIN / 2 ? 4 : 2) * bytes, open->name_len);
}

/* Hashes that stand too close get more slots: that ends at the limit of all values at last. */
blx_filter *
CopyHashes(const blx_filter *open, uint64 slots, const blx_identity *identity)
{
	blx_geometry geometry = blx_geometry_of(open);

	for (;; slots *= 2)
	{
		blx_filter *result = AllocFilter(blx_hashes_bytes(slots, identity->name_len));

		blx_hashes_init(result, slots, open->pending ? &geometry : NULL, identity, open->capacity);
		if (blx_hashes_copy(result, open))
			return result;
		pfree(result);
	}
}

blx_filter *
LargerHashes(const blx_filter *open)
{
	blx_identity identity = blx_identity_of(open);

	return CopyHashes(open, MoreSlots(open), &identity);
}

/* What a full set becomes. */
static blx_filter *
GrowHashes(const blx_filter *open, double expected)
{
	blx_identity identity = blx_identity_of(open);
	blx_geometry geometry = blx_geometry_of(open);
	blx_filter *result;

	if (blx_hashes_bytes(MoreSlots(open), open->name_len) <= HashesLimit(open))
		return LargerHashes(open);
	if (!open->pending)
		geometry = PendingGeometry(Max(expected, (double) blx_hashes_count(open)));
	result = NewFilter(&geometry, &identity, open->capacity);
	result->pending = open->pending ? 0 : 1;
	blx_hashes_pour(result, open);
	return result;
}

blx_filter *
GrowFilter(const blx_filter *f)
{
	uint64		size;
	blx_error	error;
	blx_filter *result;

	if (!blx_grown_bytes(f, &size, &error))
		ThrowCoreError(&error);
	result = AllocFilter(size);
	blx_grow(result, f);
	return result;
}

/* A layout that counts, orders or grows has no use for a set of distinct hashes. */
bool
LayoutTakesHashes(uint8 layout)
{
	return (blx_traits(layout) & (BLX_STREAM | BLX_UNBOUNDED)) == 0;
}

/* What f has grown into.  Of the filters between the caller's and the last none stays in memory. */
static blx_filter *
Replace(blx_filter *f, blx_filter *grown, const blx_filter *callers)
{
	if (f != callers)
		pfree(f);
	return grown;
}

/* Between two looks for a cancel: a key costs 20 microseconds where chains are long, elsewhere much less. */
#define HASHES_AT_ONCE 4096

blx_filter *
AddHashes(blx_filter *f, const uint64 *hashes, size_t n)
{
	return AddExpectedHashes(f, hashes, n, 0);
}

blx_filter *
AddExpectedHashes(blx_filter *f, const uint64 *hashes, size_t n, double expected)
{
	const blx_filter *callers = f;
	size_t		i = 0;

	if (f->layout == BLX_HASHES && n > 1)
		for (size_t j = 0; j < Min(n, 64); j++)
			blx_hashes_prefetch(f, hashes[j]);
	while (i < n && f->layout == BLX_HASHES)
	{
		CHECK_FOR_INTERRUPTS();
		if (blx_hashes_add(f, hashes[i]))
			i++;
		else
			f = Replace(f, GrowHashes(f, expected), callers);	/* into a filter, perhaps: this hash goes there then */
	}
	while (i < n)
	{
		size_t		now = Min(n - i, HASHES_AT_ONCE),
					taken;

		CHECK_FOR_INTERRUPTS();
		taken = blx_add(f, hashes + i, now);
		i += taken;
		if (taken < now)
			f = Replace(f, GrowFilter(f), callers);
	}
	return f;
}

blx_filter *
MakeRoomForHashes(blx_filter *f, uint64 count, double expected)
{
	const blx_filter *callers = f;

	while (f->layout == BLX_HASHES && blx_hashes_room(f) < count)
		f = Replace(f, GrowHashes(f, Max(expected, (double) count)), callers);
	return f;
}

/*
 * The plan for a number of keys at the default rate.  A GROUP BY asks for the
 * same small numbers over and over.
 */
static blx_geometry
PlanForCount(uint64 count)
{
	static blx_geometry plans[1024];
	blx_geometry geometry;
	blx_error	error;

	if (count < lengthof(plans) && plans[count].blocks != 0)
		return plans[count];
	if (!blx_plan(BLX_PARTITIONED_BLOCKED, count, DEFAULT_FPR, NULL, &geometry, &error))
		ThrowCoreError(&error);
	if (count < lengthof(plans))
		plans[count] = geometry;
	return geometry;
}

/*
 * The smallest fold and prefix that meets the default rate; as it is, when it
 * does not meet it itself.  That one promises the keys that its size is good for.
 */
static blx_filter *
CutToContents(const blx_filter *pending)
{
	blx_geometry geometry;
	blx_error	error;
	blx_filter *result = ShrinkFilter(pending, DEFAULT_FPR, &error);

	if (result != NULL)
		result->capacity = (uint64) rint(blx_cardinality(result));
	else
	{
		result = CopyFilter(pending);
		geometry = blx_geometry_of(result);
		result->capacity = blx_capacity(&geometry, DEFAULT_FPR);
	}
	result->pending = 0;
	return result;
}

blx_filter *
FinishFilter(const blx_filter *open)
{
	blx_identity identity = blx_identity_of(open);
	uint64		count;
	blx_geometry geometry;
	blx_filter *result;

	if (open->layout != BLX_HASHES)
		return open->pending && open->layout == BLX_PARTITIONED_BLOCKED ? CutToContents(open) : CopyFilter(open);

	count = blx_hashes_count(open);
	if (open->pending)
		geometry = blx_geometry_of(open);
	else if (count == 0)
		return NewEmptyFilter(&identity);
	else
		geometry = PlanForCount(count);
	result = NewFilter(&geometry, &identity, open->pending ? open->capacity : count);
	blx_hashes_pour(result, open);
	return result;
}
