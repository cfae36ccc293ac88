/*
 * growth.c - filters whose size is not known yet: how the core's open sets
 * grow (core/filter/growth.c) within the memory that PostgreSQL allows; and
 * filters made of others, of which sets may grow.
 */
#include "pg/value/growth.h"

#include "miscadmin.h"

#include "core/layouts/growing/hashes.h"

uint64
BuildMemory(void)
{
	if (bloomx_build_mem >= 0)
		return Min((uint64) bloomx_build_mem * 1024, BLX_MAX_BYTES);
	return Min(Max(get_hash_memory_limit(), MIN_BUILD_MEM * 1024), BLX_MAX_BYTES);
}

/* ---- limits ---- */

/*
 * With the default settings a set of more than this becomes a filter early, if the
 * planner expects many more keys, however much memory it may take.  Ten million
 * keys take 64 to 128 MB as hashes, which costs twice as much time as the filter
 * itself, and a parallel worker must send them.  A table of 8 MB is about what
 * the caches of a processor hold.
 */
#define EARLY_BYTES (8 * 1024 * 1024)

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

blx_growth
GrowthFor(double expected)
{
	uint64		least = BuildMemory();

	return (blx_growth) {
		.memory = &FilterMemory,
		.early_bytes = bloomx_build_mem >= 0 ? least : Min(least, EARLY_BYTES),
		.set_bytes = least,
		.filter_bytes = bloomx_build_mem >= 0 ? least : Min(PENDING_FACTOR * least, BLX_MAX_BYTES),
		.expected = expected,
		.poll = PollInterrupts,
	};
}

/* ---- open sets ---- */

blx_filter *
NewHashes(const blx_geometry *planned, const blx_identity *identity, uint64 capacity, double expected)
{
	return CheckResult(blx_open_expecting(planned, identity, capacity, expected, &FilterMemory, &core_error));
}

blx_filter *
NewWideHashes(const blx_identity *identity, uint64 count)
{
	return CheckResult(blx_open_wide(identity, count, &FilterMemory, &core_error));
}

blx_filter *
LargerHashes(const blx_filter *open)
{
	return CheckResult(blx_larger_set(open, &FilterMemory, &core_error));
}

blx_filter *
AddHashes(blx_filter *f, const uint64 *hashes, size_t n)
{
	return AddExpectedHashes(f, hashes, n, 0, 0);
}

blx_filter *
AddExpectedHashes(blx_filter *f, const uint64 *hashes, size_t n, double expected, double seen)
{
	blx_growth	growth = GrowthFor(expected);

	growth.seen = seen;
	return CheckResult(blx_add_growing(f, hashes, n, &growth, &core_error));
}

blx_filter *
MakeRoomForHashes(blx_filter *f, uint64 count, double expected)
{
	blx_growth	growth = GrowthFor(expected);

	return CheckResult(blx_make_room(f, count, &growth, &core_error));
}

blx_filter *
FinishFilter(const blx_filter *open)
{
	blx_identity identity = blx_identity_of(open);
	blx_geometry geometry = blx_geometry_of(open);
	double		fpr = blx_rate_wanted(open);

	if (open->layout == BLX_HASHES && !blx_is_planned(open))
	{
		if (blx_hashes_count(open) == 0)
			return NewEmptyFilter(&identity);
		geometry = PlanDefaultLayout(blx_hashes_count(open), fpr);
	}
	return CheckResult(blx_finish_as(open, &geometry, fpr, &FilterMemory, PollInterrupts, &core_error));
}

/* ---- filters made of others ---- */

blx_filter *
CopyForKeys(const blx_filter *f, const blx_identity *keys)
{
	return CheckResult(blx_copy_for(f, keys, &FilterMemory, &core_error));
}

blx_filter *
UnionFilters(const blx_filter *a, const blx_filter *b)
{
	blx_growth	growth = GrowthFor(0);

	return CheckResult(blx_unite_within(a, b, &growth, &core_error));
}

blx_filter *
IntersectFilters(const blx_filter *a, const blx_filter *b)
{
	return CheckResult(blx_intersect(a, b, &FilterMemory, &core_error));
}
