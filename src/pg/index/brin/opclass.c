/*
 * opclass.c - BRIN operator classes that summarise a range of pages in a filter.
 *
 * PostgreSQL's own bloom classes hash to 32 bits, must be told the number of
 * distinct values in advance, and give every range a filter of that size.  Here
 * the distinct hashes of a range are collected (core/layouts/growing/hashes.c) while it
 * is summarised.  Then the smallest filter for their number at the wanted rate is
 * stored, so it need not be guessed.  A few hashes are stored as they are.
 *
 * A summary must fit a page, together with those of the index's other columns.
 * A range with too many values for that gets the filter of the lowest rate that
 * fits.  A range with far too many gets a full filter, which says "perhaps" to
 * everything; the ranges should be smaller.
 *
 * Rows inserted into a range that has a summary are added to the summary.  A set
 * of hashes becomes a scalable filter when it is no longer small.  A filter takes
 * the values as it is, and its rate rises until the range is summarised anew.
 *
 * A summary promises the rate of the operator class.  Its capacity is the number
 * of values up to which it keeps the promise.  A summary with more values is
 * reported according to bloomx.overfill: when it is stored, and when an insert
 * adds a new value to it.  VACUUM must go on, whatever the setting, so there an
 * error becomes a notice.
 *
 * In a parallel build several processes may each scan a part of one range.  The
 * union of their filters is exact only if each has room for the values of all.
 * So the filter of a part is made that large, in the layout that unites filters
 * of any sizes, and the union is folded and cut to what it holds.  A process
 * cannot know whether it has seen all of a range, and the server stores the
 * summary of a whole range unchanged.  So parts are made large only if the scan
 * is dealt out in smaller pieces than a range.
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
#include "catalog/pg_am.h"			/* for assertions of access/brin.h */
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "core/filter/inline.h"
#include "core/layouts/growing/hashes.h"
#include "pg/base/objects.h"
#include "pg/keys/extract/extract.h"
#include "pg/value/value.h"
#include "pg/value/growth.h"

/*
 * Up to this many hashes may be stored as they are; SetIsBetter decides.  They
 * take 350 to 580 bytes, more than a filter of 64 values, but have no false
 * positives.
 */
#define FEW_VALUES 32

/*
 * A summary takes at most a page of 8 kB, 65536 bits.  With one bit per value a
 * filter says nothing, so collecting more values is of no use.
 */
#define MAX_VALUES 65536

/*
 * The bytes of a page that the summaries of all columns may take.  256 bytes are
 * left for the headers of the page, the BRIN tuple and the values.
 */
#define SUMMARY_BYTES (BLCKSZ - 256)

/*
 * A parallel scan deals a table out in pieces: the power of two of pages that is
 * at least a 2048th of the table (PARALLEL_SEQSCAN_NCHUNKS in tableam.c).
 */
#define SCAN_PIECES 2048

#define SUMMARY_HINT \
	"Make the ranges smaller (pages_per_range), summarize again a range that has grown " \
	"(brin_desummarize_range, brin_summarize_range), or set bloomx.overfill to off."

/* The support function of an operator class that says how its values have keys (pg/keys/extract/extract.h). */
#define EXTRACT_PROC BRIN_FIRST_OPTIONAL_PROCNUM

typedef struct BloomxBrinOptions
{
	int32		vl_len_;
	double		fpr;
} BloomxBrinOptions;

/*
 * Filters are planned for a number of values rounded up to a 64th of the next
 * power of two.  So a build needs at most 33 plans per power of two instead of a
 * search for every range, and a summary is at most 3 % too large.
 */
#define PLAN_STEPS 64

typedef struct BloomxBrinPlan
{
	bool		is_known;
	bool		fits;
	blx_geometry geometry;
	uint64		capacity;		/* values that it carries at the wanted rate */
} BloomxBrinPlan;

/* What an index's column keeps between calls. */
typedef struct BloomxBrinOpaque
{
	KeyExtractor *extractor;
	KeyHashes	keys;			/* of the present value */
	MemoryContext conditions;	/* of the present scan, or of the last one */
	int			shares;			/* processes that may share a range in this build; 0 = not looked up yet */
	BloomxBrinPlan *plans;		/* of new summaries' filters */
	uint64		last_count;		/* values of the last range that was summarised */
} BloomxBrinOpaque;

/* A summary in memory. */
typedef struct BloomxBrinSummary
{
	BloomxBrinOpaque *opaque;
	MemoryContext context;		/* of the tuple in memory */
	blx_filter *filter;			/* a set of hashes while the range is summarised, then a filter */
	const blx_filter *stored;	/* the filter as it came from the index, while nothing was added */
	double		fpr;
	uint64		room;			/* bytes that it may take on the page */
	uint8		layout;			/* of the filter that a set becomes */
	int			shares;			/* processes that may each scan a part of the range */
	bool		was_stored;		/* values come one by one, and a set of hashes must not grow for each */
	bool		was_united;		/* it may be larger than its values need */
} BloomxBrinSummary;

PG_FUNCTION_INFO_V1(bloomx_brin_opcinfo);
Datum
bloomx_brin_opcinfo(PG_FUNCTION_ARGS)
{
	BrinOpcInfo *info = palloc0(MAXALIGN(SizeofBrinOpcInfo(1)) + sizeof(BloomxBrinOpaque));

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

/* The keys of column i's values. */
static KeyExtractor *
ExtractorOf(BrinDesc *desc, int i, Oid collation)
{
	BloomxBrinOpaque *opaque = desc->bd_info[i]->oi_opaque;
	Oid			type = desc->bd_index->rd_opcintype[i];
	MemoryContext old;

	if (opaque->extractor != NULL)
		return opaque->extractor;
	if (IsPolymorphicType(type))
		type = TupleDescAttr(desc->bd_tupdesc, i)->atttypid;
	old = MemoryContextSwitchTo(desc->bd_context);
	opaque->keys.room = 64;
	opaque->keys.hash = palloc(opaque->keys.room * sizeof(uint64));
	opaque->extractor = MakeKeyExtractor(index_getprocinfo(desc->bd_index, i + 1, EXTRACT_PROC), type, collation);
	MemoryContextSwitchTo(old);
	return opaque->extractor;
}

static blx_filter *
FullFilter(const blx_identity *identity)
{
	blx_filter *f = NewEmptyFilter(identity);

	blx_set_all(f);
	return f;
}

/* A filter with the hashes of a set, planned for at least as many. */
static blx_filter *
FilterFromSet(const blx_filter *hashes, const blx_geometry *geometry, uint64 capacity)
{
	blx_identity identity = blx_identity_of(hashes);
	blx_filter *f = NewFilter(geometry, &identity, capacity);

	if (!blx_add_set(f, hashes))
		elog(ERROR, "a summary's filter has no room for the values that it was planned for");
	return f;
}

static bool
IsSet(const BloomxBrinSummary *summary)
{
	return summary->filter->layout == BLX_HASHES;
}

/*
 * The geometry of the filter of a part of a range, with room for the values of
 * all parts.  The union takes the most blocks and the fewest parts of any, so all
 * must have the same number of parts: as many as suffice at half fill.  If the
 * page has no room for all of them, the filter gets the most blocks that fit.
 * A filter that had just room for its own values would be overfull after the
 * union.
 */
static bool
PlanShare(const BloomxBrinSummary *summary, uint64 values, blx_geometry *geometry)
{
	uint64		parts = (uint64) ceil(-log2(summary->fpr));
	bool		fits = false;

	/* the first power of two of blocks that reaches the rate, or the last with room */
	for (uint64 bits = parts * 64; bits / 8 < summary->room; bits *= 2)
	{
		blx_geometry larger;

		CheckCore(blx_plan_bits(summary->layout, bits, parts, NULL, &larger, &core_error));
		if (blx_bytes(&larger, BLX_MAX_NAME) > summary->room)
			break;
		*geometry = larger;
		if (blx_fpr_expected(geometry, values * summary->shares) < summary->fpr)
			return true;
		fits = blx_fpr_expected(geometry, values) < summary->fpr;
	}
	return fits;
}

/* The capacity to store; at least 1, because 0 means that nothing was planned. */
static uint64
CapacityAt(const blx_geometry *geometry, double fpr)
{
	return Max(1, blx_capacity(geometry, fpr));
}

static BloomxBrinPlan
MakePlan(const BloomxBrinSummary *summary, uint64 values)
{
	uint64		of_all = values * summary->shares;
	BloomxBrinPlan plan = {.is_known = true};

	/* in this order: room for the values of all shares, exactly united; room for them at all; room for these values */
	plan.fits = (summary->shares > 1 && PlanShare(summary, values, &plan.geometry)) ||
		blx_plan_within(summary->layout, summary->room, of_all, summary->fpr, &plan.geometry) ||
		blx_plan_within(summary->layout, summary->room, values, summary->fpr, &plan.geometry);
	if (plan.fits)
		plan.capacity = CapacityAt(&plan.geometry, summary->fpr);
	return plan;
}

static BloomxBrinPlan
PlanFor(BrinDesc *desc, const BloomxBrinSummary *summary, uint64 values)
{
	BloomxBrinOpaque *opaque = summary->opaque;
	int			shift = Max(pg_leftmost_one_pos64(values) + 1 - pg_leftmost_one_pos32(PLAN_STEPS), 0);
	uint64		steps = (values + (UINT64CONST(1) << shift) - 1) >> shift;
	BloomxBrinPlan *plan;

	/* plans are kept for new summaries only: the others differ in what they need */
	if (summary->was_united || summary->was_stored)
		return MakePlan(summary, values);
	if (opaque->plans == NULL)
		opaque->plans = MemoryContextAllocZero(desc->bd_context,
											   sizeof(BloomxBrinPlan) * (PLAN_STEPS + 1) * (pg_leftmost_one_pos32(MAX_VALUES) + 1));
	plan = &opaque->plans[shift * (PLAN_STEPS + 1) + steps];
	if (!plan->is_known)
		*plan = MakePlan(summary, steps << shift);
	return *plan;
}

/*
 * True if few hashes, summarised at once, are better stored as they are.  They
 * have no false positives, but a filter is smaller.  The filter is better if it
 * saves more bytes of the index, all of which every scan reads, than its false
 * positives read of the table: so it is for small ranges.
 */
static bool
SetIsBetter(BrinDesc *desc, const BloomxBrinSummary *summary, const blx_geometry *filter)
{
	double		read_in_vain = summary->fpr * BrinGetPagesPerRange(desc->bd_index) * BLCKSZ;

	return blx_size(summary->filter) <= blx_bytes(filter, 0) + read_in_vain;
}

/* What to store of a set of hashes: a filter of the size that it needs, or the set itself. */
static blx_filter *
FilterOfSet(BrinDesc *desc, const BloomxBrinSummary *summary)
{
	blx_identity identity = blx_identity_of(summary->filter);
	uint64		count = blx_hashes_count(summary->filter);
	bool		may_stay = count <= FEW_VALUES && blx_size(summary->filter) <= summary->room;
	BloomxBrinPlan plan;

	summary->opaque->last_count = count;
	if (may_stay && summary->was_stored)
		return summary->filter;
	plan = PlanFor(desc, summary, Max(count, 1));
	if (may_stay && (!plan.fits || SetIsBetter(desc, summary, &plan.geometry)))
		return summary->filter;
	return plan.fits ? FilterFromSet(summary->filter, &plan.geometry, plan.capacity) : FullFilter(&identity);
}

static blx_filter *
FilterToStore(BrinDesc *desc, const BloomxBrinSummary *summary)
{
	blx_filter *shrunk = NULL;
	blx_geometry geometry;

	if (IsSet(summary))
		return FilterOfSet(desc, summary);
	if (summary->was_united)
		shrunk = blx_shrink(summary->filter, summary->fpr, &FilterMemory, NULL);
	if (shrunk == NULL)
		return summary->filter;
	geometry = blx_geometry_of(shrunk);
	shrunk->capacity = CapacityAt(&geometry, summary->fpr);
	return shrunk;
}

/* A notice that is shown when its memory context is reset. */
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
 * Reports a summary that does not keep the rate of its operator class.  An insert
 * forms the tuple while it holds the lock of the index page.  A client that does
 * not read its notices must not keep others from that page.  So the notice waits
 * until the tuple's memory is freed, after the lock.
 */
static void
ReportSummary(BrinDesc *desc, const blx_filter *f, MemoryContext of_tuple)
{
	double		fpr;
	int			level;
	char	   *message;
	LateNotice *late;

	if (bloomx_overfill == OVERFILL_OFF || !FilterIsOverfilled(f))
		return;
	fpr = blx_fpr(f);
	level = OverfillLevel(VALUES_SUMMARISED, fpr);
	if (level == 0)
		return;
	message = MemoryContextStrdup(of_tuple, psprintf("a page range of index \"%s\" has too many values for its summary, whose false positive rate is %.2g",
													 RelationGetRelationName(desc->bd_index), fpr));
	/* VACUUM gets a notice instead of the error */
	if (level == ERROR && (MyProc->statusFlags & PROC_IN_VACUUM) == 0 && MyBackendType != B_AUTOVAC_WORKER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", message),
				 errhint("%s", SUMMARY_HINT)));
	/* interrupts are held off: so a page is locked */
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
	const BloomxBrinSummary *summary = (const BloomxBrinSummary *) DatumGetPointer(memory);
	const blx_filter *f = FilterToStore(desc, summary);

	if (f != summary->stored)
		ReportSummary(desc, f, summary->context);
	stored[0] = PointerGetDatum(f);
}

/*
 * The most processes to which the pages of one range may be dealt out.  In
 * parallel mode only a build makes summaries.
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

	/*
	 * A range that is not aligned with the pieces straddles one more.  If pieces
	 * are at least four times as large as ranges, few ranges do, and not all
	 * summaries are made larger for them.
	 */
	pieces = (range + piece - 1) / piece;
	if (range % piece != 0 && piece % range != 0 && piece / 4 < range)
		pieces++;
	return Min(pieces, (BlockNumber) max_parallel_maintenance_workers + 1);
}

/* The column's summary in memory: new, or what was stored. */
static BloomxBrinSummary *
OpenSummary(FunctionCallInfo fcinfo, BrinDesc *desc, BrinValues *column)
{
	BloomxBrinOptions *options = PG_HAS_OPCLASS_OPTIONS() ? (BloomxBrinOptions *) PG_GET_OPCLASS_OPTIONS() : NULL;
	BloomxBrinOpaque *opaque = desc->bd_info[column->bv_attno - 1]->oi_opaque;
	BloomxBrinSummary *summary = (BloomxBrinSummary *) DatumGetPointer(column->bv_mem_value);

	if (summary != NULL && !column->bv_allnulls)
		return summary;
	if (opaque->shares == 0)
		opaque->shares = SharesOfRange(desc->bd_index);
	summary = palloc0(sizeof(BloomxBrinSummary));
	summary->opaque = opaque;
	summary->context = column->bv_context;
	summary->shares = column->bv_allnulls ? opaque->shares : 1;
	summary->layout = IsInParallelMode() ? BLX_PARTITIONED_BLOCKED : BLX_STANDARD;
	summary->fpr = options && options->fpr > 0 ? options->fpr : opaque->extractor->rate > 0 ? opaque->extractor->rate : BLX_DEFAULT_FPR;
	summary->room = SUMMARY_BYTES / desc->bd_tupdesc->natts;
	summary->was_stored = !column->bv_allnulls;
	summary->filter = column->bv_allnulls ? NULL : CopyFilter(DatumGetFilter(column->bv_values[0]));
	summary->stored = summary->filter;
	column->bv_mem_value = PointerGetDatum(summary);
	column->bv_serialize = Serialize;
	column->bv_allnulls = false;
	return summary;
}

/*
 * A filter that grows, for a range whose few values were stored as hashes, while
 * more come one by one.  Its first stage has room for four times as many.
 */
static blx_filter *
GrowingFilter(const BloomxBrinSummary *summary)
{
	blx_geometry geometry;

	CheckCore(blx_plan(BLX_SCALABLE, 4 * FEW_VALUES, summary->fpr, NULL, &geometry, &core_error));
	return FilterFromSet(summary->filter, &geometry, 0);
}

/* The summary's filter from now on; frees the one before. */
static void
SetSummary(BloomxBrinSummary *summary, blx_filter *f)
{
	if (f != summary->filter)
		pfree(summary->filter);
	summary->filter = f;
}

/* A filter that says "perhaps" to everything: it has become too large, or would. */
static void
FillSummary(BloomxBrinSummary *summary)
{
	blx_identity identity = blx_identity_of(summary->filter);

	SetSummary(summary, FullFilter(&identity));
}

/* Adds a hash that the summary does not hold. */
static void
AddNewValue(BloomxBrinSummary *summary, uint64 hash)
{
	/* a set that was stored takes few values; one that is being collected takes what a page can tell apart */
	if (IsSet(summary) && summary->was_stored && blx_hashes_count(summary->filter) >= FEW_VALUES)
		SetSummary(summary, GrowingFilter(summary));
	if (IsSet(summary) && blx_hashes_count(summary->filter) >= MAX_VALUES)
	{
		FillSummary(summary);
		return;
	}

	while (IsSet(summary))
	{
		if (blx_hashes_add(summary->filter, hash))
			return;
		SetSummary(summary, LargerHashes(summary->filter));
	}
	SetSummary(summary, AddHashes(summary->filter, &hash, 1));
	if (blx_size(summary->filter) > summary->room)
		FillSummary(summary);
}

/* Returns true if the value is new. */
static bool
AddToSummary(BloomxBrinSummary *summary, uint64 hash)
{
	if (blx_test_inline(summary->filter, hash))
		return false;
	summary->stored = NULL;
	AddNewValue(summary, hash);
	return true;
}

/* Adds the hashes of a value to the set of a range that is being summarised. */
static void
CollectHashes(BloomxBrinSummary *summary, const uint64 *hashes, size_t n)
{
	while (n > 0)
	{
		size_t		added = blx_add(summary->filter, hashes, n);

		hashes += added;
		n -= added;
		if (n > 0 && blx_hashes_count(summary->filter) >= MAX_VALUES)
		{
			FillSummary(summary);
			return;
		}
		if (n > 0)
			SetSummary(summary, LargerHashes(summary->filter));
	}
}

/* Returns true if there was something new, as far as somebody asks: a new summary is stored in any case. */
static bool
AddHashesToSummary(BloomxBrinSummary *summary, const KeyHashes *keys)
{
	bool		is_new = false;

	if (IsSet(summary) && !summary->was_stored)
	{
		CollectHashes(summary, keys->hash, keys->n);
		return true;
	}
	for (uint32 i = 0; i < keys->n; i++)
		if (AddToSummary(summary, keys->hash[i]))
			is_new = true;
	return is_new;
}

PG_FUNCTION_INFO_V1(bloomx_brin_add_value);
Datum
bloomx_brin_add_value(PG_FUNCTION_ARGS)
{
	BrinDesc   *desc = (BrinDesc *) PG_GETARG_POINTER(0);
	BrinValues *column = (BrinValues *) PG_GETARG_POINTER(1);
	int			i = column->bv_attno - 1;
	KeyExtractor *extractor = ExtractorOf(desc, i, PG_GET_COLLATION());
	KeyHashes  *keys = &((BloomxBrinOpaque *) desc->bd_info[i]->oi_opaque)->keys;
	MemoryContext old;
	BloomxBrinSummary *summary;
	bool		is_new;

	keys->n = 0;
	extractor->value(extractor, PG_GETARG_DATUM(2), keys);
	old = MemoryContextSwitchTo(column->bv_context);
	summary = OpenSummary(fcinfo, desc, column);
	if (summary->filter == NULL)
		summary->filter = NewWideHashes(&extractor->identity, summary->opaque->last_count);
	is_new = AddHashesToSummary(summary, keys);
	MemoryContextSwitchTo(old);
	PG_RETURN_BOOL(is_new);
}

static bool
SummaryHasKey(KeyCondition *leaf, void *summary)
{
	return blx_test_inline(summary, leaf->hash);
}

/*
 * What a scan key of column i asks for.  It is found out for the first range of a scan,
 * and kept with the key's operator, which is not called.
 */
static KeyCondition *
ConditionOf(BrinDesc *desc, int i, ScanKey key)
{
	BloomxBrinOpaque *opaque = desc->bd_info[i]->oi_opaque;
	KeyExtractor *extractor = ExtractorOf(desc, i, key->sk_collation);
	Oid			type = OidIsValid(key->sk_subtype) ? key->sk_subtype : desc->bd_index->rd_opcintype[i];

	if (key->sk_func.fn_extra == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(opaque->conditions);

		key->sk_func.fn_extra = extractor->query(extractor, key->sk_strategy, type, key->sk_argument);
		MemoryContextSwitchTo(old);
	}
	return key->sk_func.fn_extra;
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
	BloomxBrinOpaque *opaque = desc->bd_info[i]->oi_opaque;
	blx_filter *f = DatumGetFilter(column->bv_values[0]);

	if (opaque->conditions == NULL)
		opaque->conditions = AllocSetContextCreate(desc->bd_context, "bloomx brin conditions", ALLOCSET_SMALL_SIZES);
	/* another scan begins with other copies of its keys */
	if (keys[0]->sk_func.fn_extra == NULL)
		MemoryContextReset(opaque->conditions);
	for (int j = 0; j < n; j++)
		if (!MayMeet(ConditionOf(desc, i, keys[j]), SummaryHasKey, f))
			PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(true);
}

/* Adds the hashes of a set.  A set that takes them must have room for all first: they come ascending, and would crowd. */
static void
AddAllToSummary(BloomxBrinSummary *summary, const blx_filter *hashes)
{
	uint64		count = IsSet(summary) ? blx_hashes_union_count(summary->filter, hashes) : 0,
				cursor = 0,
				hash;

	while (IsSet(summary) && blx_hashes_room(summary->filter) < count)
		SetSummary(summary, LargerHashes(summary->filter));
	while (blx_hashes_next(hashes, &cursor, &hash, 1) > 0)
		(void) AddToSummary(summary, hash);
}

/* The union of two filters; a full filter if the union takes too much room, or if there is none. */
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
 * Takes the values of `more` into the summary.  If that is a set, its hashes are
 * added one by one to another set, to a filter that grows (it took the values that
 * came while its range was summarised), or, if they are few, to any filter.
 */
static void
UniteSummaries(BrinDesc *desc, BloomxBrinSummary *summary, BloomxBrinSummary *more)
{
	/* a set goes into a filter, not the other way round */
	if (IsSet(summary) && !IsSet(more))
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
	BloomxBrinSummary *summary;

	(void) ExtractorOf(desc, column->bv_attno - 1, PG_GET_COLLATION());
	summary = OpenSummary(fcinfo, desc, column);
	UniteSummaries(desc, summary, OpenSummary(fcinfo, desc, other));
	MemoryContextSwitchTo(old);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(bloomx_brin_options);
Datum
bloomx_brin_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(BloomxBrinOptions));
	/* 0, which cannot be given: what suits the class */
	add_local_real_reloption(options, "fpr", "false positive rate of a range's summary",
							 0, 0.0001, 0.5, offsetof(BloomxBrinOptions, fpr));
	PG_RETURN_VOID();
}
