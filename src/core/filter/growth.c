/*
 * growth.c - filters whose size is not known yet (docs/internals/design.md, "The open
 * set").
 *
 * Keys are collected as distinct hashes (layouts/growing/hashes.c) until the size is
 * known: at the end, or when the planned filter is smaller than the hashes, or
 * when the hashes of an unplanned one would pass a limit.  In the last case
 * they become an uncut filter, for as many keys as may come, which is cut to what
 * its contents need at the end.
 */
#include <math.h>
#include <string.h>

#include "core/base/base.h"
#include "core/filter/filter.h"
#include "core/filter/growth.h"
#include "core/filter/inline.h"
#include "core/kernels/block.h"
#include "core/layouts/growing/hashes.h"

/*
 * The finest geometry is looked for among the plans for this many numbers of
 * keys per doubling: each is 2.2 % larger than the next.  At 1 % the rarest of
 * the geometries is the plan for a tenth of the numbers.
 */
#define PLANS_PER_OCTAVE 32

/*
 * Sets fill powers of two, which is what allocators round chunks up to.  If there
 * are many sets, as in a GROUP BY, nobody reuses the chunks that they outgrow.  So
 * a set begins with the size for the expected number of keys, and small sets grow
 * by four, to outgrow fewer chunks.  The expectation may be wrong: it may not ask
 * for more than a kilobyte, which is cheap even if the set stays empty.
 */
#define LEAST_BYTES 128
#define MOST_BYTES_TO_BEGIN 1024

/*
 * A set that gets most of its hashes many times over is read more often than
 * written, so its searches should end at the first slot.  Building the n-gram BRIN
 * index of bench/index/run-ngrams (8 pages per range) took 1.43 to 1.48 seconds of
 * the processor with this many slots per hash, 1.39 to 1.44 with 3.5, 1.46 to 1.55
 * with 1.7.  Twice as many slots are twice the memory, too.
 */
#define SLOTS_PER_HASH 2.5

/* By what factor the number of keys may differ from the planner's guess, if that is a good one. */
#define LIKELY 1.1

blx_growth
blx_unlimited_growth(const blx_memory *memory)
{
	return (blx_growth) {.memory = memory, .early_bytes = BLX_MAX_BYTES, .set_bytes = BLX_MAX_BYTES, .filter_bytes = BLX_MAX_BYTES};
}

/* False if whoever set the limits wants the best filter of that size. */
static bool
limits_differ(const blx_growth *growth)
{
	return growth->filter_bytes > growth->early_bytes;
}

static uint64_t
slots_within(uint64_t bytes, unsigned name_len)
{
	uint64_t	without_slots = blx_hashes_bytes(0, name_len);

	return bytes >= without_slots + LEAST_BYTES / 4 ? (bytes - without_slots) / 8 : LEAST_BYTES / 8;
}

static blx_filter *
open_with(uint64_t slots, const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
		  const blx_memory *memory, blx_error *error)
{
	blx_filter *open = blx_alloc(memory, blx_hashes_bytes(slots, id->name_len), error);

	if (open != NULL)
		blx_hashes_init(open, slots, planned, id, capacity);
	return open;
}

blx_filter *
blx_open_expecting(const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
				   double expected, const blx_memory *memory, blx_error *error)
{
	uint64_t	bytes = LEAST_BYTES;
	const blx_layout *row = planned != NULL ? blx_layout_row(planned->layout) : NULL;

	if (row != NULL && row->value_bits != NULL && row->value_bits(planned) > 0)
	{
		blx_fail(error, BLX_UNSUPPORTED, "The plan has a value for each key.", "Plan a filter without values, or build a map of keys and values.",
				 "a set of keys cannot become a map");
		return NULL;
	}
	while (bytes < MOST_BYTES_TO_BEGIN && (double) slots_within(bytes, id->name_len) <= expected)
		bytes *= 2;
	return open_with(slots_within(bytes, id->name_len), planned, id, capacity, memory, error);
}

blx_filter *
blx_open_wide(const blx_identity *id, uint64_t count, const blx_memory *memory, blx_error *error)
{
	uint64_t	bytes = MOST_BYTES_TO_BEGIN;

	while (slots_within(bytes, id->name_len) / SLOTS_PER_HASH < count)
		bytes *= 2;
	return open_with(slots_within(bytes, id->name_len), NULL, id, 0, memory, error);
}

blx_filter *
blx_open(const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
		 const blx_memory *memory, blx_error *error)
{
	if (!blx_identity_valid(id, error) || !blx_capacity_valid(capacity, error))
		return NULL;
	if (planned != NULL)
	{
		if (!blx_geometry_check(planned, error))
			return NULL;
		if (!blx_takes_sets(planned->layout))
		{
			blx_fail(error, BLX_UNSUPPORTED, "Such a filter counts its keys or depends on their order, which a set of distinct hashes does not have.",
					 "Begin with an empty filter.", "a filter of layout %s cannot begin as an open set", blx_layout_name(planned->layout));
			return NULL;
		}
	}
	return blx_open_expecting(planned, id, capacity, 0, memory, error);
}

/* ---- sets ---- */

/* A set of the same hashes with at least `slots` slots.  If the hashes stand too close, tries twice as many, up to the size limit of all filters. */
static blx_filter *
copy_set(const blx_filter *f, uint64_t slots, const blx_identity *id, const blx_memory *memory, blx_error *error)
{
	blx_geometry planned = blx_geometry_of(f);

	for (;; slots *= 2)
	{
		blx_filter *result = blx_alloc(memory, blx_hashes_bytes(slots, id->name_len), error);

		if (result == NULL)
			return NULL;
		blx_hashes_init(result, slots, blx_is_planned(f) ? &planned : NULL, id, f->capacity);
		if (blx_hashes_copy(result, f))
			return result;
		blx_free(result, memory);
	}
}

static uint64_t
more_slots(const blx_filter *f)
{
	uint64_t	bytes = blx_hashes_bytes(blx_hashes_slots(f), f->name_len);

	return slots_within((bytes <= MOST_BYTES_TO_BEGIN / 2 ? 4 : 2) * bytes, f->name_len);
}

blx_filter *
blx_larger_set(const blx_filter *f, const blx_memory *memory, blx_error *error)
{
	blx_identity id = blx_identity_of(f);

	return copy_set(f, more_slots(f), &id, memory, error);
}

/* How large a set may get.  One that will be sealed stays a set: it has to have all its keys. */
static uint64_t
set_limit(const blx_filter *set, const blx_growth *growth)
{
	blx_geometry planned = blx_geometry_of(set);

	if (blx_is_sealed(planned.layout))
		return BLX_MAX_BYTES;
	return blx_is_planned(set) ? blx_bytes(&planned, set->name_len) : growth->set_bytes;
}

/*
 * True if the keys seem to be different, and so many that their set is to pass
 * early_bytes.  Of D keys in random order, D (1 - exp(-r / D)) are among the first
 * r hashes.  If no more than a sixteenth of these have come again, there are at
 * least eight times as many keys as have come.
 */
#define EARLIER 8
#define REPEATED (1.0 / 16)

static bool
seem_different(const blx_growth *growth, double count)
{
	return growth->seen > 0 && count >= (1 - REPEATED) * growth->seen && growth->expected >= 2 * EARLIER * count;
}

/* Makes *g, a plan of n keys, one of a single group, if that is at most a little larger.  False if it cannot be. */
static bool
take_one_group(blx_geometry *g, uint64_t n, double fpr)
{
	uint64_t	most = blx_faster_size(blx_body_words(g));

	if (g->parts <= BLX_GROUP)
		return true;
	g->blocks *= 2;
	g->parts = (uint16_t) (most / g->blocks);
	return g->parts <= BLX_GROUP && blx_geometry_check(g, NULL) && blx_fpr_expected(g, n) < fpr;
}

/*
 * Sets *g to a geometry that can be cut to a good one for any number of keys up to
 * `keys`: it has as many blocks and parts as any of theirs.  Plans for half as many
 * keys have half as many blocks and the same numbers of parts, so one octave tells
 * all.
 *
 * With one_group these are not the plans, but geometries of one group that are at
 * most 15 % larger than the plans of more than one.  False if there are none.
 */
static bool
finest_geometry(double keys, double fpr, bool one_group, blx_geometry *g)
{
	uint32_t	blocks = 1;
	uint16_t	parts = 1;

	for (int i = 0; i < PLANS_PER_OCTAVE; i++)
	{
		uint64_t	n = (uint64_t) fmax(fmin(keys, BLX_MAX_BYTES) / exp2((double) i / PLANS_PER_OCTAVE), 1);

		if (!blx_plan(BLX_PARTITIONED_BLOCKED, n, fpr, NULL, g, NULL) || (one_group && !take_one_group(g, n, fpr)))
			return false;
		blocks = g->blocks > blocks ? g->blocks : blocks;
		parts = g->parts > parts ? g->parts : parts;
	}
	g->blocks = blocks;
	g->parts = parts;
	return blx_geometry_check(g, NULL);
}

/* True if the plans for about `keys` keys have one group of parts. */
static bool
plans_have_one_group(double keys, double fpr)
{
	blx_geometry g;

	for (double n = keys / LIKELY; n <= keys * LIKELY; n *= exp2(1.0 / PLANS_PER_OCTAVE))
		if (!blx_plan(BLX_PARTITIONED_BLOCKED, (uint64_t) fmax(1, fmin(n, BLX_MAX_BYTES)), fpr, NULL, &g, NULL) || g.parts > BLX_GROUP)
			return false;
	return true;
}

/*
 * The filter that an unplanned set becomes.  If more keys are expected than have
 * come, one that can be cut to fit any number of keys up to somewhat more than
 * expected, or else the plan for that many.  If neither is allowed, or if the
 * expectation has turned out too low, the filter of the most keys that is.
 *
 * At 1 % the plans for a quarter of the numbers of keys have 9 or 11 parts, that is
 * two groups, and a key that is added costs two cache lines.  The plans for the
 * others have one.  Ten million keys took a fifth more time in a filter of 11 parts,
 * and a third more in two processes.  So if the keys seem to be different, and the
 * plans for about as many as are expected have one group, the filter has one.  If
 * quite another number of keys comes then, the result may have 5 or 6 parts where the
 * plan has 9 or 11 in half as many blocks: it is 9 to 11 % larger than the plan.
 */
static bool
uncut_geometry(const blx_growth *growth, double count, double fpr, blx_geometry *g, blx_error *error)
{
	double		keys = BLX_UNCUT_MARGIN * growth->expected;
	bool		one_group;

	if (!limits_differ(growth))
		return blx_plan_bytes(growth->filter_bytes, fpr, g, error);
	if (growth->expected <= count)
		return blx_plan_bytes(growth->set_bytes, fpr, g, error);
	one_group = seem_different(growth, count) && plans_have_one_group(growth->expected, fpr);
	if (((one_group && finest_geometry(keys, fpr, true, g)) || finest_geometry(keys, fpr, false, g)) &&
		blx_bytes(g, BLX_MAX_NAME) <= growth->filter_bytes)
	{
		/* no smaller than the set was: more keys than expected may come */
		while (16 * blx_body_words(g) <= growth->early_bytes)
			g->blocks *= 2;
		return true;
	}
	if (blx_plan(BLX_PARTITIONED_BLOCKED, (uint64_t) fmin(keys, BLX_MAX_BYTES), fpr, NULL, g, NULL) &&
		blx_bytes(g, BLX_MAX_NAME) <= growth->filter_bytes)
		return true;
	return blx_plan_bytes(growth->filter_bytes, fpr, g, error);
}

/*
 * True if the set stays a set, of `bytes` bytes.  A key takes 8 bytes and room
 * to grow in a set, and 2 to 4 in a filter that is to be cut.  The set is exact,
 * whatever the planner expects, so it is left early only if twice as many keys
 * are expected as it has room for: then it would have to grow again.  If it is sure
 * to become a filter, it does so at an eighth of early_bytes: to add a key to a set of
 * megabytes takes longer than to add it to the filter.
 */
static bool
stays_a_set(const blx_filter *set, uint64_t bytes, const blx_growth *growth)
{
	double		count = (double) blx_hashes_count(set);

	if (blx_is_planned(set) || bytes > set_limit(set, growth))
		return bytes <= set_limit(set, growth);
	if (bytes <= growth->early_bytes)
		return bytes <= growth->early_bytes / EARLIER || !limits_differ(growth) || !seem_different(growth, count);
	return growth->expected < 2 * (double) blx_hashes_room(set);
}

/* The last step of a set that will be sealed: sizes double, and the limit is no power of two. */
static blx_filter *
largest_set(const blx_filter *set, const blx_memory *memory, blx_error *error)
{
	blx_identity id = blx_identity_of(set);
	uint64_t	slots = slots_within(BLX_MAX_BYTES, set->name_len);

	if (4 * blx_hashes_slots(set) <= 3 * slots)
		return copy_set(set, slots, &id, memory, error);
	blx_fail(error, BLX_LIMIT, "Until it is sealed, 8 bytes or more of each key are kept.", "Split the keys among several filters.",
			 "the keys of a %s filter exceed the limit of 1 GB", blx_layout_name(set->pending));
	return NULL;
}

/* What a full set becomes. */
static blx_filter *
grow_set(const blx_filter *set, const blx_growth *growth, blx_error *error)
{
	blx_identity id = blx_identity_of(set);
	blx_geometry g = blx_geometry_of(set);
	blx_filter *result;

	if (stays_a_set(set, blx_hashes_bytes(more_slots(set), set->name_len), growth))
		return blx_larger_set(set, growth->memory, error);
	if (blx_is_sealed(set->pending))
		return largest_set(set, growth->memory, error);
	if (!blx_is_planned(set) && !uncut_geometry(growth, (double) blx_hashes_count(set), blx_rate_wanted(set), &g, error))
		return NULL;
	result = blx_new_of_valid(&g, &id, set->capacity, growth->memory, error);
	if (result == NULL)
		return NULL;
	result->pending = !blx_is_planned(set);
	blx_add_set(result, set);
	return result;
}

/* ---- growing ---- */

/* Frees f, which has grown, unless the caller owns it.  Returns what it grew into; NULL if that failed. */
static blx_filter *
replace(blx_filter *f, blx_filter *grown, const blx_filter *callers, const blx_memory *memory)
{
	if (f != callers)
		blx_free(f, memory);
	return grown;
}

/* Hashes between two calls of poll.  A key costs up to 20 microseconds, where chains of blocks are long. */
#define HASHES_AT_ONCE 4096

blx_filter *
blx_add_growing(blx_filter *f, const uint64_t *hashes, size_t n, const blx_growth *growth, blx_error *error)
{
	const blx_filter *callers = f;

	if (f->layout == BLX_HASHES && n > 1)
		for (size_t i = 0; i < (n < BLX_BATCH ? n : BLX_BATCH); i++)
			blx_hashes_prefetch(f, hashes[i]);
	while (n > 0)
	{
		size_t		now = n < HASHES_AT_ONCE ? n : HASHES_AT_ONCE,
					taken;

		if (growth->poll != NULL)
			growth->poll();
		taken = blx_add_inline(f, hashes, now);
		hashes += taken;
		n -= taken;
		if (taken == now)
			continue;
		f = replace(f, f->layout == BLX_HASHES
					? grow_set(f, growth, error)
					: blx_grown(f, growth->memory, error), callers, growth->memory);
		if (f == NULL)
			return NULL;
	}
	return f;
}

blx_filter *
blx_make_room(blx_filter *f, uint64_t count, const blx_growth *growth, blx_error *error)
{
	const blx_filter *callers = f;
	blx_growth	known = *growth;

	known.expected = fmax(growth->expected, (double) count);
	while (f != NULL && f->layout == BLX_HASHES && blx_hashes_room(f) < count)
		f = replace(f, grow_set(f, &known, error), callers, growth->memory);
	return f;
}

bool
blx_grow_add(blx_filter **f, const uint64_t *hashes, size_t n, const blx_memory *memory, blx_error *error)
{
	blx_growth	growth = blx_unlimited_growth(memory);
	blx_filter *grown = blx_add_growing(*f, hashes, n, &growth, error);

	if (grown == NULL)
		return false;
	if (grown != *f)
	{
		blx_free(*f, memory);
		*f = grown;
	}
	return true;
}

/* ---- copies ---- */

static blx_filter *
copy(const blx_filter *f, const blx_memory *memory, blx_error *error)
{
	uint64_t	bytes = blx_size(f);
	blx_filter *result = blx_alloc(memory, bytes, error);

	if (result != NULL)
		memcpy((char *) result + sizeof f->host, (const char *) f + sizeof f->host, bytes - sizeof f->host);
	return result;
}

blx_filter *
blx_copy_for(const blx_filter *f, const blx_identity *keys, const blx_memory *memory, blx_error *error)
{
	blx_identity of_f = blx_identity_of(f),
				joint = blx_joint_identity(&of_f, keys);
	blx_filter *result;

	if (f->key_type != BLX_KEY_NONE)
		return copy(f, memory, error);
	if (f->layout == BLX_HASHES)
		return copy_set(f, blx_hashes_slots(f), &joint, memory, error);
	result = blx_alloc(memory, blx_size(f) - blx_header_bytes(f->name_len) + blx_header_bytes(joint.name_len), error);
	if (result != NULL)
		blx_copy_as(result, f, &joint);
	return result;
}

/* ---- finishing ---- */

/*
 * Returns the smallest fold and prefix that meets the rate.  If the filter itself
 * does not meet it, returns a copy, whose capacity is what its size is good for.
 */
static blx_filter *
cut_to_contents(const blx_filter *uncut, double fpr, const blx_memory *memory, blx_error *error)
{
	blx_filter *result = blx_shrink_for_speed(uncut, fpr, memory, NULL);

	if (result != NULL)
		result->capacity = (uint64_t) rint(blx_cardinality(result));
	else
	{
		blx_geometry g = blx_geometry_of(uncut);

		result = copy(uncut, memory, error);
		if (result == NULL)
			return NULL;
		result->capacity = blx_capacity(&g, fpr);
	}
	result->pending = 0;
	return result;
}

blx_filter *
blx_finish_as(const blx_filter *open, const blx_geometry *g, double fpr, const blx_memory *memory, void (*poll) (void), blx_error *error)
{
	blx_identity id = blx_identity_of(open);
	blx_filter *result;

	if (open->layout != BLX_HASHES)
		return blx_is_uncut(open) && open->layout == BLX_PARTITIONED_BLOCKED
			? cut_to_contents(open, fpr, memory, error) : copy(open, memory, error);
	if (blx_is_sealed(g->layout))
		return blx_layout_row(g->layout)->seal(open, g, memory, poll, error);
	result = blx_new_of_valid(g, &id, blx_is_planned(open) ? open->capacity : blx_hashes_count(open), memory, error);
	if (result != NULL)
		blx_add_set(result, open);
	return result;
}

blx_filter *
blx_finish(const blx_filter *open, double fpr, const blx_memory *memory, blx_error *error)
{
	blx_geometry g = blx_geometry_of(open);
	uint64_t	count = blx_hashes_count(open); /* 0 for a filter */

	if (!blx_check_rate(fpr, error))
		return NULL;
	if (open->layout == BLX_HASHES && !blx_is_planned(open) &&
		!blx_plan(BLX_PARTITIONED_BLOCKED, count > 0 ? count : 1, fpr, NULL, &g, error))
		return NULL;
	return blx_finish_as(open, &g, fpr, memory, NULL, error);
}
