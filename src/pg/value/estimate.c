/*
 * estimate.c - how full a filter is, and the complaint if it is too full.
 */
#include "pg/value/growth.h"

#include <math.h>

#include "access/xact.h"

#include "core/layouts/growing/hashes.h"

/*
 * True if a full filter, which says yes to every key, holds more than it
 * promised.  A filter of capacity 0 promised nothing, but one that says yes to
 * everything is of no use.  A small filter for a high rate, or a folded one, may
 * be full with no more keys than its capacity.  Such a number of keys leaves U
 * bits unset on average, and none at all with a probability of about e^-U.  For
 * U = 15 that is as rare as five standard deviations.
 */
static bool
FullBeyondCapacity(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);
	double		bits = (double) blx_bits(&geometry);

	return f->capacity == 0 ||
		bits * exp(-(double) f->capacity * blx_bits_per_key(&geometry) / bits) >= 15;
}

/* The largest estimate that chance explains if the filter holds n keys: five standard errors. */
static double
MostKeys(const blx_geometry *geometry, double n)
{
	return n + 5 * blx_cardinality_error(geometry, n);
}

/*
 * The rate that a union of filters of different sizes promised.  Its capacity is
 * the largest of its sources' capacities, usually that of the finest source.  If
 * that many keys would leave nine bits in ten unset, the union's size was not
 * planned for them (or not planned at all), and the capacity is that of a
 * coarser source.
 */
static double
PromisedRate(const blx_filter *f)
{
	blx_geometry geometry = blx_geometry_of(f);
	double		capacity = (double) f->capacity;

	if (capacity * blx_bits_per_key(&geometry) < 0.1 * (double) blx_bits(&geometry))
		geometry = blx_unexpanded_geometry(f);
	return blx_fpr_expected(&geometry, (uint64) ceil(MostKeys(&geometry, capacity)));
}

/*
 * A filter counts as overfilled beyond five standard errors of the estimate, so
 * that none of many filters within their plans is accused.
 *
 * The bits are counted as they are.  A union of filters of different sizes has
 * each key of a coarse source in several places (blx_filter's `expanded`), and
 * each place raises the rate as a key would.  So the union of a small full
 * filter and a large full one holds few more keys than the large one, but has a
 * much higher rate.  On the other hand, the places of a coarse source's keys are
 * spread more evenly than those of as many keys would be.  The promise is about
 * the rate: for such a union the rate decides.
 */
bool
FilterIsOverfilled(const blx_filter *f)
{
	blx_geometry geometry;
	double		keys;

	if (blx_traits(f->layout) & (BLX_UNBOUNDED | BLX_SEALED))
		return false;
	if (f->layout == BLX_HASHES)
		return f->pending && f->capacity > 0 && blx_hashes_count(f) > f->capacity;
	keys = blx_keys_as_full(f);
	if (isinf(keys))
		return FullBeyondCapacity(f);
	geometry = blx_geometry_of(f);
	if (f->capacity == 0 || keys <= MostKeys(&geometry, (double) f->capacity))
		return false;
	return f->expanded == 0 || blx_fpr(f) > PromisedRate(f);
}

/*
 * A statement is what a client sends in one message, with everything that its
 * functions run: all of it has the same start time.  A parallel worker takes
 * that time from its leader, but cannot know which notices others have given.
 */
bool
FirstInStatement(TimestampTz *last)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (*last == statement)
		return false;
	*last = statement;
	return true;
}

int
OverfillLevel(OverfillCause cause, double fpr)
{
	static struct Notice
	{
		TimestampTz statement;
		double		worst;
	}			notices[2];
	struct Notice *last = &notices[cause == VALUES_SUMMARISED];

	if (bloomx_overfill == OVERFILL_ERROR)
		return ERROR;
	if (bloomx_overfill == OVERFILL_OFF)
		return 0;
	if (!FirstInStatement(&last->statement) && fpr <= 10 * last->worst)
		return 0;
	last->worst = fpr;
	return NOTICE;
}

static const char *
OverfillHint(OverfillCause cause)
{
	switch (cause)
	{
		case FILTERS_UNITED:
			return "Give all filters of a union one capacity, large enough for the keys of all, as in bloom_agg(v, capacity), or set bloomx.overfill to off.";
		case MEMORY_EXHAUSTED:
			return "Raise work_mem or bloomx.build_mem, give bloom_agg the capacity, or set bloomx.overfill to off.";
		default:
			return "Plan a larger capacity, or set bloomx.overfill to off.";
	}
}

/* The message about an overfilled filter. */
static char *
DescribeOverfill(const blx_filter *f)
{
	double		keys = blx_keys_as_full(f);

	if (isinf(keys) && f->capacity == 0)
		return pstrdup("bloom filter is full, it takes every key for one of its own");
	if (isinf(keys))
		return psprintf("bloom filter is full, its capacity is " UINT64_FORMAT " keys", f->capacity);
	if (f->expanded > 0)
		return psprintf("union of bloom filters of different sizes is as full as one of about %.0f keys, more than its capacity of " UINT64_FORMAT,
						keys, f->capacity);
	return psprintf("bloom filter holds about %.0f keys, more than its capacity of " UINT64_FORMAT, keys, f->capacity);
}

void
ReportOverfill(const blx_filter *f, OverfillCause cause)
{
	double		fpr;
	int			level;

	if (bloomx_overfill == OVERFILL_OFF || !FilterIsOverfilled(f))
		return;
	fpr = blx_fpr(f);
	level = OverfillLevel(cause, fpr);
	if (level == ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", DescribeOverfill(f)),
				 errdetail("Its false positive rate is %.2g now.", fpr),
				 errhint("%s", OverfillHint(cause))));
	else if (level != 0)
		ereport(level,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s; its false positive rate is %.2g", DescribeOverfill(f), fpr),
				 errhint("%s", OverfillHint(cause))));
}
