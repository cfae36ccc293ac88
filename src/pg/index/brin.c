/*
 * brin.c - BRIN operator classes that summarise a range of pages in a filter.
 *
 * Core's bloom classes hash to 32 bits, must be told the number of distinct
 * values in advance, and give every range a filter of that size.  Here a
 * range's distinct hashes are collected (core/hashes.c) while it is summarised,
 * and what is stored is the smallest filter for their number at the wanted
 * rate: adaptive, and without a guess.  A few hashes are stored as they are.
 *
 * A summary must fit a page, with those of the index's other columns.  A range
 * of more values than that gets the filter of the lowest rate that fits, and
 * one of far more gets a full one, which says "perhaps" to everything: make the
 * ranges smaller.
 *
 * Rows inserted into a range that has a summary are added to it: to the set of
 * hashes, which becomes a scalable filter when it is no longer small, or to the
 * filter as it is, whose rate rises until the range is summarised anew.
 *
 * What a summary promises is the rate of the operator class.  Its capacity is
 * the number of values up to which it keeps that, and one that has more is
 * reported as bloomx.overfill wants: as it is stored, and when an insert adds a
 * new value to it.  VACUUM must go on, whatever the setting: there an error is
 * a notice.
 *
 * In a parallel build several processes may scan a part of one range each.  A
 * union of filters fits only if each had room for the values of all: a part's
 * filter is made that large, of the layout that unites filters of any sizes, and
 * their union is folded and cut to what it holds.  A process cannot know whether it got all of a range: the server
 * stores what it made of such a range as it is.  So parts are made large only
 * where the scan is dealt out in smaller pieces than a range.
 */
#include "pg/base/base.h"

#include <math.h>

#include "access/brin.h"
#include "access/brin_internal.h"
#include "access/brin_tuple.h"
#include "access/reloptions.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "core/filter/inline.h"
#include "core/layouts/hashes.h"
#include "pg/base/objects.h"
#include "pg/keys/keys.h"
#include "pg/value/combine.h"
#include "pg/value/estimate.h"
#include "pg/value/growth.h"
#include "pg/value/value.h"

/* So many hashes may be stored as they are. */
#define FEW_VALUES 32

/* Beyond so many values a bit of the largest summary stands for each: it would say nothing. */
#define MAX_VALUES 65536

/* What summaries of all columns may take of a page: the rest is for the page's and the tuple's headers. */
#define SUMMARY_BYTES (BLCKSZ - 256)

/* A parallel scan deals a table out in at least so many pieces of a power of two of pages (tableam.c). */
#define SCAN_PIECES 2048

#define SUMMARY_HINT "Make the ranges smaller (pages_per_range), summarize a range that has grown anew (brin_desummarize_range, brin_summarize_range), or set bloomx.overfill to off."

typedef struct BloomxOptions
{
	int32		vl_len_;
	double		fpr;
} BloomxOptions;

/* Filters are planned for a number of values in 64ths of a power of two: as many plans as a build needs. */
#define PLAN_STEPS 64

typedef struct FilterPlan
{
	bool		is_known;
	bool		fits;
	blx_geometry geometry;
	uint64		capacity;		/* values that it carries at the wanted rate */
} FilterPlan;

/* What an index's column keeps between calls. */
typedef struct BrinOpaque
{
	KeyType		stored;			/* of the column's values */
	KeyType		asked;			/* of the last condition's */
	int			shares;			/* of a range, when this process builds; 0 = not looked up yet */
	FilterPlan *plans;			/* of new summaries' filters */
} BrinOpaque;

/* A summary in memory. */
typedef struct Summary
{
	BrinOpaque *opaque;
	MemoryContext context;		/* of the tuple in memory */
	blx_filter *filter;			/* a set of hashes, while the range is summarised; then a filter */
	const blx_filter *stored;	/* the filter as it came from the index, while nothing was added */
	double		fpr;
	uint64		room;			/* bytes that it may take on the page */
	uint8		layout;			/* of the filter that a set becomes */
	int			shares;			/* so many processes may scan a part of the range */
	bool		was_stored;		/* its values come one by one: a set of hashes must not grow for each */
	bool		was_united;		/* may be larger than its values need */
} Summary;

PG_FUNCTION_INFO_V1(bloomx_brin_opcinfo);
Datum
bloomx_brin_opcinfo(PG_FUNCTION_ARGS)
{
	BrinOpcInfo *info = palloc0(MAXALIGN(SizeofBrinOpcInfo(1)) + sizeof(BrinOpaque));

	if (!OidIsValid(FilterTypeOid()))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension bloomx has no type bloomfilter in its schema")));
	info->oi_nstored = 1;
	info->oi_regular_nulls = true;
	info->oi_opaque = (char *) info + MAXALIGN(SizeofBrinOpcInfo(1));
	info->oi_typcache[0] = lookup_type_cache(FilterTypeOid(), 0);
	PG_RETURN_POINTER(info);
}

/*
 * As which type are the values of column i hashed, or those of a condition?  As
 * the class's, whatever its column is (an oid's index may be on regclass, a
 * text's on citext): so are the conditions that the planner gives it.  An enum
 * value is its OID, which stays when its label is changed.
 */
static Oid
TypeInIndex(BrinDesc *desc, int i, Oid asked)
{
	Oid			type = OidIsValid(asked) ? asked : desc->bd_index->rd_opcintype[i];

	return type == ANYENUMOID ? OIDOID : type;
}

static uint64
HashOf(KeyType *key, Oid type, Oid collation, MemoryContext context, Datum value)
{
	if (key->type != type)
		LookupKeyType(key, type, collation, context);
	return HashKey(key, value, 0);
}

static blx_filter *
FullFilter(const blx_identity *identity)
{
	blx_filter *f = NewEmptyFilter(identity);

	blx_set_all(f);
	return f;
}

static blx_filter *
Pour(const blx_filter *hashes, const blx_geometry *geometry, uint64 capacity)
{
	blx_identity identity = blx_identity_of(hashes);
	blx_filter *f = NewFilter(geometry, &identity, capacity);
	uint64		cursor = 0,
				hash;

	while (blx_hashes_next(hashes, &cursor, &hash, 1) > 0)
		f = AddHashes(f, &hash, 1);
	return f;
}

static bool
IsSet(const Summary *summary)
{
	return summary->filter->layout == BLX_HASHES;
}

/*
 * The filter of a share of a range, which has room for the values of all.  The
 * union takes the most blocks and the fewest parts of any: so all have the same
 * parts, those that suffice at half fill.
 */
static bool
PlanShare(const Summary *summary, uint64 values, blx_geometry *geometry)
{
	uint64		parts = (uint64) ceil(-log2(summary->fpr));
	uint64		bits = parts * 64;
	blx_error	error;

	for (; bits / 8 < summary->room; bits *= 2)
	{
		if (!blx_plan_bits(summary->layout, bits, parts, NULL, geometry, &error))
			ThrowCoreError(&error);
		if (blx_fpr_expected(geometry, values) < summary->fpr)
			return blx_bytes(geometry, BLX_MAX_NAME) <= summary->room;
	}
	return false;
}

/* 0 would mean that nothing was planned. */
static uint64
CapacityAt(const blx_geometry *geometry, double fpr)
{
	return Max(1, blx_capacity(geometry, fpr));
}

static FilterPlan
MakePlan(const Summary *summary, uint64 values)
{
	uint64		of_all = values * summary->shares;
	FilterPlan	plan = {.is_known = true};

	plan.fits = (summary->shares > 1 && PlanShare(summary, of_all, &plan.geometry)) ||
		blx_plan_within(summary->layout, summary->room, of_all, summary->fpr, &plan.geometry) ||
		blx_plan_within(summary->layout, summary->room, values, summary->fpr, &plan.geometry);
	if (plan.fits)
		plan.capacity = CapacityAt(&plan.geometry, summary->fpr);
	return plan;
}

static FilterPlan
PlanFor(BrinDesc *desc, const Summary *summary, uint64 values)
{
	BrinOpaque *opaque = summary->opaque;
	int			shift = Max(pg_leftmost_one_pos64(values) + 1 - pg_leftmost_one_pos32(PLAN_STEPS), 0);
	uint64		steps = (values + (UINT64CONST(1) << shift) - 1) >> shift;
	FilterPlan *plan;

	if (summary->was_united || summary->was_stored)
		return MakePlan(summary, values);
	if (opaque->plans == NULL)
		opaque->plans = MemoryContextAllocZero(desc->bd_context,
											   sizeof(FilterPlan) * (PLAN_STEPS + 1) * (pg_leftmost_one_pos32(MAX_VALUES) + 1));
	plan = &opaque->plans[shift * (PLAN_STEPS + 1) + steps];
	if (!plan->is_known)
		*plan = MakePlan(summary, steps << shift);
	return *plan;
}

/*
 * Are few hashes, summarised at once, better stored as they are?  They never
 * err.  But a filter is smaller: where that spares more than its false positives
 * read, as of a small range, it is the better.
 */
static bool
SetIsBetter(BrinDesc *desc, const Summary *summary, const blx_geometry *filter)
{
	double		read_in_vain = summary->fpr * BrinGetPagesPerRange(desc->bd_index) * BLCKSZ;

	return blx_size(summary->filter) <= blx_bytes(filter, 0) + read_in_vain;
}

/* Of a set of hashes, what to store: a filter of the size that it needs. */
static blx_filter *
FilterOfSet(BrinDesc *desc, const Summary *summary)
{
	blx_identity identity = blx_identity_of(summary->filter);
	uint64		count = blx_hashes_count(summary->filter);
	bool		may_stay = count <= FEW_VALUES && blx_size(summary->filter) <= summary->room;
	FilterPlan	plan;

	if (may_stay && summary->was_stored)
		return summary->filter;
	plan = PlanFor(desc, summary, Max(count, 1));
	if (may_stay && (!plan.fits || SetIsBetter(desc, summary, &plan.geometry)))
		return summary->filter;
	return plan.fits ? Pour(summary->filter, &plan.geometry, plan.capacity) : FullFilter(&identity);
}

static blx_filter *
FilterToStore(BrinDesc *desc, const Summary *summary)
{
	blx_filter *shrunk = NULL;
	blx_geometry geometry;
	blx_error	too_full;

	if (IsSet(summary))
		return FilterOfSet(desc, summary);
	if (summary->was_united)
		shrunk = ShrinkFilter(summary->filter, summary->fpr, &too_full);
	if (shrunk == NULL)
		return summary->filter;
	geometry = blx_geometry_of(shrunk);
	shrunk->capacity = CapacityAt(&geometry, summary->fpr);
	return shrunk;
}

/* A notice that waits for the end of its context. */
typedef struct LateNotice
{
	MemoryContextCallback at_end;
	char	   *message;
} LateNotice;

static void
NoticeSummary(const char *message)
{
	ereport(NOTICE,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s", message),
			 errhint("%s", SUMMARY_HINT)));
}

static void
AtEndOfTuple(void *notice)
{
	if (IsTransactionState())
		NoticeSummary(((LateNotice *) notice)->message);
}

/*
 * Complains of a summary that does not keep the rate of its operator class.  An
 * insert forms the tuple while it has the index page locked.  A client that
 * does not read its notices must not keep others from that page: the notice
 * waits until the tuple's memory goes, after the lock.
 */
static void
ReportSummary(BrinDesc *desc, const blx_filter *f, MemoryContext of_tuple)
{
	int			level;
	char	   *message;
	LateNotice *late;

	if (bloomx_overfill == OVERFILL_OFF || !FilterIsOverfilled(f))
		return;
	level = OverfillLevel(VALUES_SUMMARISED);
	if (level == 0)
		return;
	message = MemoryContextStrdup(of_tuple, psprintf("a page range of index \"%s\" has too many values for its summary, whose false positive rate is %.2g",
													 RelationGetRelationName(desc->bd_index), blx_fpr(f)));
	if (level == ERROR && (MyProc->statusFlags & PROC_IN_VACUUM) == 0 && MyBackendType != B_AUTOVAC_WORKER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", message),
				 errhint("%s", SUMMARY_HINT)));
	if (InterruptHoldoffCount == 0)
		NoticeSummary(message);
	else
	{
		late = MemoryContextAlloc(of_tuple, sizeof(LateNotice));
		late->message = message;
		late->at_end.func = AtEndOfTuple;
		late->at_end.arg = late;
		MemoryContextRegisterResetCallback(of_tuple, &late->at_end);
	}
}

/* Called before a tuple is formed, perhaps more than once. */
static void
Serialize(BrinDesc *desc, Datum memory, Datum *stored)
{
	const Summary *summary = (const Summary *) DatumGetPointer(memory);
	const blx_filter *f = FilterToStore(desc, summary);

	if (f != summary->stored)
		ReportSummary(desc, f, summary->context);
	stored[0] = PointerGetDatum(f);
}

/*
 * Among how many processes at most are the pages of a range dealt out?  In
 * parallel mode only a build makes summaries.  Where only some ranges straddle
 * two pieces, not all need larger filters.
 */
static int
SharesOfRange(Relation index)
{
	BlockNumber range = BrinGetPagesPerRange(index);
	BlockNumber piece,
				pieces;
	Relation	heap;

	if (!IsInParallelMode())
		return 1;
	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), NoLock);
	piece = pg_nextpower2_32(Max(RelationGetNumberOfBlocks(heap) / SCAN_PIECES, 1));
	table_close(heap, NoLock);
	pieces = (range + piece - 1) / piece;
	if (range % piece != 0 && piece % range != 0 && piece / 4 < range)
		pieces++;
	return Min(pieces, (BlockNumber) max_parallel_maintenance_workers + 1);
}

/* The column's summary in memory: new, or what was stored. */
static Summary *
OpenSummary(FunctionCallInfo fcinfo, BrinDesc *desc, BrinValues *column)
{
	BloomxOptions *options = PG_HAS_OPCLASS_OPTIONS() ? (BloomxOptions *) PG_GET_OPCLASS_OPTIONS() : NULL;
	BrinOpaque *opaque = desc->bd_info[column->bv_attno - 1]->oi_opaque;
	Summary    *summary = (Summary *) DatumGetPointer(column->bv_mem_value);

	if (summary != NULL && !column->bv_allnulls)
		return summary;
	if (opaque->shares == 0)
		opaque->shares = SharesOfRange(desc->bd_index);
	summary = palloc0(sizeof(Summary));
	summary->opaque = opaque;
	summary->context = column->bv_context;
	summary->shares = column->bv_allnulls ? opaque->shares : 1;
	summary->layout = IsInParallelMode() ? BLX_PARTITIONED_BLOCKED : BLX_STANDARD;
	summary->fpr = options ? options->fpr : DEFAULT_FPR;
	summary->room = SUMMARY_BYTES / desc->bd_tupdesc->natts;
	summary->was_stored = !column->bv_allnulls;
	summary->filter = column->bv_allnulls ? NULL : CopyFilter(DatumGetFilter(column->bv_values[0]));
	summary->stored = summary->filter;
	column->bv_mem_value = PointerGetDatum(summary);
	column->bv_serialize = Serialize;
	column->bv_allnulls = false;
	return summary;
}

/* A filter that grows: the range's few values were stored as hashes, and more come one by one. */
static blx_filter *
GrowingFilter(const Summary *summary)
{
	blx_geometry geometry;
	blx_error	error;

	if (!blx_plan(BLX_SCALABLE, 4 * FEW_VALUES, summary->fpr, NULL, &geometry, &error))
		ThrowCoreError(&error);
	return Pour(summary->filter, &geometry, 0);
}

/* What is in the summary, with one more value; a set that has become too large says nothing any more. */
static blx_filter *
WithValue(const Summary *summary, uint64 hash)
{
	blx_filter *f = summary->filter;
	blx_identity identity = blx_identity_of(f);

	if (f->layout == BLX_HASHES && summary->was_stored && blx_hashes_count(f) >= FEW_VALUES)
		f = GrowingFilter(summary);
	if (f->layout == BLX_HASHES && blx_hashes_count(f) >= MAX_VALUES)
		return FullFilter(&identity);
	if (f->layout == BLX_HASHES)
	{
		while (!blx_hashes_add(f, hash))
			f = LargerHashes(f);
		return f;
	}
	f = AddHashes(f, &hash, 1);
	return blx_size(f) <= summary->room ? f : FullFilter(&identity);
}

static void
SetSummary(Summary *summary, blx_filter *f)
{
	if (f != summary->filter)
		pfree(summary->filter);
	summary->filter = f;
}

/* Is the value new? */
static bool
AddToSummary(Summary *summary, uint64 hash)
{
	if (blx_test_inline(summary->filter, hash))
		return false;
	summary->stored = NULL;
	SetSummary(summary, WithValue(summary, hash));
	return true;
}

PG_FUNCTION_INFO_V1(bloomx_brin_add_value);
Datum
bloomx_brin_add_value(PG_FUNCTION_ARGS)
{
	BrinDesc   *desc = (BrinDesc *) PG_GETARG_POINTER(0);
	BrinValues *column = (BrinValues *) PG_GETARG_POINTER(1);
	int			i = column->bv_attno - 1;
	BrinOpaque *opaque = desc->bd_info[i]->oi_opaque;
	uint64		hash = HashOf(&opaque->stored, TypeInIndex(desc, i, InvalidOid),
							  PG_GET_COLLATION(), desc->bd_context, PG_GETARG_DATUM(2));
	MemoryContext old = MemoryContextSwitchTo(column->bv_context);
	Summary    *summary = OpenSummary(fcinfo, desc, column);
	bool		is_new;

	if (summary->filter == NULL)
		summary->filter = NewHashes(NULL, &opaque->stored.identity, 0, 0);
	is_new = AddToSummary(summary, hash);
	MemoryContextSwitchTo(old);
	PG_RETURN_BOOL(is_new);
}

PG_FUNCTION_INFO_V1(bloomx_brin_consistent);
Datum
bloomx_brin_consistent(PG_FUNCTION_ARGS)
{
	BrinDesc   *desc = (BrinDesc *) PG_GETARG_POINTER(0);
	BrinValues *column = (BrinValues *) PG_GETARG_POINTER(1);
	ScanKey    *keys = (ScanKey *) PG_GETARG_POINTER(2);
	int			n = PG_GETARG_INT32(3);
	int			i = column->bv_attno - 1;
	BrinOpaque *opaque = desc->bd_info[i]->oi_opaque;
	const blx_filter *f = DatumGetFilter(column->bv_values[0]);

	for (int j = 0; j < n; j++)
	{
		Oid			type = TypeInIndex(desc, i, keys[j]->sk_subtype);

		if (!blx_test_inline(f, HashOf(&opaque->asked, type, PG_GET_COLLATION(), desc->bd_context, keys[j]->sk_argument)))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}

static void
AddAllToSummary(Summary *summary, const blx_filter *hashes)
{
	uint64		count = IsSet(summary) ? blx_hashes_union_count(summary->filter, hashes) : 0,
				cursor = 0,
				hash;

	while (IsSet(summary) && blx_hashes_room(summary->filter) < count)
		SetSummary(summary, LargerHashes(summary->filter));
	while (blx_hashes_next(hashes, &cursor, &hash, 1) > 0)
		(void) AddToSummary(summary, hash);
}

/* What two filters hold: everything, when that takes too much room or no union does. */
static blx_filter *
UniteWithinRoom(const blx_filter *a, const blx_filter *b, uint64 room)
{
	blx_identity identity = blx_identity_of(a);
	blx_filter *both;

	if (a->layout != BLX_PARTITIONED_BLOCKED || b->layout != BLX_PARTITIONED_BLOCKED)
		return FullFilter(&identity);
	both = UnionFilters(a, b);
	return blx_size(both) <= room ? both : FullFilter(&identity);
}

/*
 * Values go one by one into another set, and few, or those of a filter that
 * grows, into a filter: that one took the values that came while its range was
 * summarised.
 */
static void
UniteSummaries(BrinDesc *desc, Summary *summary, Summary *more)
{
	if (IsSet(summary) && !IsSet(more))	/* a set goes into a filter */
	{
		blx_filter *set = summary->filter;

		summary->filter = more->filter;
		more->filter = set;
	}
	summary->was_stored = false;
	summary->was_united = true;
	summary->stored = NULL;
	if (IsSet(more) && (IsSet(summary) || summary->filter->layout == BLX_SCALABLE ||
						blx_hashes_count(more->filter) <= FEW_VALUES))
		AddAllToSummary(summary, more->filter);
	else
		SetSummary(summary, UniteWithinRoom(summary->filter, FilterToStore(desc, more), summary->room));
}

PG_FUNCTION_INFO_V1(bloomx_brin_union);
Datum
bloomx_brin_union(PG_FUNCTION_ARGS)
{
	BrinDesc   *desc = (BrinDesc *) PG_GETARG_POINTER(0);
	BrinValues *column = (BrinValues *) PG_GETARG_POINTER(1);
	BrinValues *other = (BrinValues *) PG_GETARG_POINTER(2);
	MemoryContext old = MemoryContextSwitchTo(column->bv_context);
	Summary    *summary = OpenSummary(fcinfo, desc, column);

	UniteSummaries(desc, summary, OpenSummary(fcinfo, desc, other));
	MemoryContextSwitchTo(old);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(bloomx_brin_options);
Datum
bloomx_brin_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(BloomxOptions));
	add_local_real_reloption(options, "fpr", "false positive rate of a range's summary",
							 DEFAULT_FPR, 0.0001, 0.5, offsetof(BloomxOptions, fpr));
	PG_RETURN_VOID();
}
