/*
 * gist.c - the GiST operator class of filters: which filters may hold a key,
 * which may overlap a filter?
 *
 * A key of the tree is a signature, a filter of layout partitioned_blocked that
 * says yes to every key that the filters below it say yes to.  Of a filter in a
 * leaf it is the fold and prefix of the lowest rate that fits siglen bytes; in
 * inner nodes the union, exact for signatures of any sizes (core/algebra.c).  A
 * signature that would say yes to nearly everything is replaced by the full
 * one, a single word of ones; so is that of a filter which cannot be folded
 * to one (another layout, another seed).  The full signature has no key type.
 *
 * All conditions are asked again of the filters themselves.  A tree helps where
 * filters that are near each other in it have keys in common, or where it has
 * few of them; filters of unlike keys fill the signatures above them, and the
 * bit-sliced index is for those.
 */
#include "pg/base/base.h"

#include "access/gist.h"
#include "access/reloptions.h"
#include "access/stratnum.h"

#include "core/filter/slices.h"
#include "core/layouts/hashes.h"
#include "pg/functions/functions.h"
#include "pg/keys/keys.h"
#include "pg/value/combine.h"
#include "pg/value/value.h"

#define ALL_STRATEGY 10
#define ANY_STRATEGY 11

#define DEFAULT_SIGLEN 504
#define MAX_SIGLEN (GISTMaxIndexKeySize - 128)

/* A signature of a higher rate leaves out too little to be worth its room. */
#define MOST_RATE 0.9

typedef struct GistOptions
{
	int32		vl_len_;
	int			siglen;
} GistOptions;

#define SIGLEN() (PG_HAS_OPCLASS_OPTIONS() ? ((GistOptions *) PG_GET_OPCLASS_OPTIONS())->siglen : DEFAULT_SIGLEN)

static blx_filter *
FullSignature(void)
{
	const blx_geometry geometry = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = 1, .parts = 1, .probes = 1, .part_bits = 64};
	const blx_identity anyone = {0};
	blx_filter *f = NewFilter(&geometry, &anyone, 0);

	blx_set_all(f);
	return f;
}

/* The signature itself, or the full one in its place. */
static blx_filter *
WorthItsRoom(blx_filter *signature)
{
	return blx_fpr(signature) > MOST_RATE ? FullSignature() : signature;
}

/* The fold and prefix of the lowest rate that takes at most `bytes` bytes of words. */
static blx_filter *
CutToLength(const blx_filter *f, uint64 bytes)
{
	blx_filter *best = NULL;
	blx_geometry geometry = blx_geometry_of(f);
	blx_error	no_more;

	for (int64 times = 0; blx_fold_geometry(f, times, &geometry, &no_more); times++)
	{
		uint64		parts = Min(geometry.parts, bytes / 8 / geometry.blocks);
		blx_filter *cut;

		if (parts == 0)
			continue;
		geometry.parts = (uint16) parts;
		cut = ResizeFilter(f, &geometry);
		if (best == NULL || blx_fpr(cut) < blx_fpr(best))
			best = cut;
		if (geometry.blocks == 1)
			break;
	}
	return best;
}

/* A plain filter of the keys of a set of hashes, that takes at most `bytes` bytes; NULL when they are too many. */
static blx_filter *
PourHashes(const blx_filter *hashes, uint64 bytes)
{
	blx_identity identity = blx_identity_of(hashes);
	blx_geometry geometry;
	blx_filter *f;

	if (!blx_plan_within(BLX_PARTITIONED_BLOCKED, bytes, Max(blx_hashes_count(hashes), 1), DEFAULT_FPR, &geometry))
		return NULL;
	f = NewFilter(&geometry, &identity, 0);
	blx_hashes_pour(f, hashes);
	return f;
}

static blx_filter *
SignatureOf(const blx_filter *f, int siglen)
{
	blx_geometry geometry;
	blx_error	no_counters;
	blx_filter *plain = NULL;

	if (f->seed != 0)
		return FullSignature();
	if (f->layout == BLX_HASHES)
		plain = PourHashes(f, siglen);
	else if (f->layout == BLX_PARTITIONED_BLOCKED)
		plain = CutToLength(f, siglen);
	else if (blx_to_bits_geometry(f, &geometry, &no_counters))
	{
		blx_identity identity = blx_identity_of(f);
		blx_filter *bits = NewFilter(&geometry, &identity, 0);

		blx_to_bits(bits, f);
		plain = CutToLength(bits, siglen);
	}
	return plain ? WorthItsRoom(plain) : FullSignature();
}

/* The union of two signatures; keys of different types have nothing in common but the full one. */
static blx_filter *
UniteSignatures(const blx_filter *a, const blx_filter *b)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = JointIdentity(&ia, &ib);
	uint64		size;
	blx_error	error;
	blx_filter *result;

	if (!blx_union_bytes(a, b, joint.name_len, &size, &error))
		return FullSignature();
	result = AllocFilter(size);
	blx_union(result, a, b, &joint);
	return WorthItsRoom(result);
}

static bool
IsFull(const blx_filter *signature)
{
	return blx_bits_set(signature) == blx_bits_in(signature);
}

/* Shares of bits set, at the geometry of the union; keys of different types have none but the full one. */
static blx_fills
FillsOf(const blx_filter *a, const blx_filter *b)
{
	uint64		scratch[2 * GISTMaxIndexKeySize / sizeof(uint64)];
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b);
	blx_fills	fills;
	blx_error	error;

	if (a->layout != BLX_PARTITIONED_BLOCKED || b->layout != BLX_PARTITIONED_BLOCKED ||
		2 * blx_union_words(a, b) > lengthof(scratch))
		elog(ERROR, "a key of a GiST index on bloom filters is no signature");
	fills = blx_fills_of_union(a, b, scratch);
	if (!blx_identity_check(&ia, "", &ib, "", &error))
		fills.either = 1;
	return fills;
}

PG_FUNCTION_INFO_V1(bloomx_gist_compress);
Datum
bloomx_gist_compress(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	GISTENTRY  *compressed;

	if (!entry->leafkey)
		PG_RETURN_POINTER(entry);
	compressed = palloc(sizeof(GISTENTRY));
	gistentryinit(*compressed, PointerGetDatum(SignatureOf(DatumGetFilter(entry->key), SIGLEN())),
				  entry->rel, entry->page, entry->offset, false);
	PG_RETURN_POINTER(compressed);
}

PG_FUNCTION_INFO_V1(bloomx_gist_consistent);
Datum
bloomx_gist_consistent(PG_FUNCTION_ARGS)
{
	const blx_filter *signature = DatumGetFilter(((GISTENTRY *) PG_GETARG_POINTER(0))->key);
	const blx_filter *query = DatumGetFilter(PG_GETARG_DATUM(1));
	StrategyNumber strategy = (StrategyNumber) PG_GETARG_UINT16(2);
	bool	   *recheck = (bool *) PG_GETARG_POINTER(4);
	bool		disjoint = false;
	blx_error	error;

	*recheck = true;
	switch (strategy)
	{
		case RTOverlapStrategyNumber:
			/* what cannot be compared may overlap: the recheck complains */
			if (IsFull(signature) || FilterIsBlank(query) || !blx_disjoint(signature, query, &disjoint, &error))
				PG_RETURN_BOOL(true);
			PG_RETURN_BOOL(!disjoint);
		case ALL_STRATEGY:
		case ANY_STRATEGY:
			PG_RETURN_BOOL(FilterMayHold(signature, DatumGetProbe(PG_GETARG_DATUM(1)), strategy == ALL_STRATEGY));
		default:
			elog(ERROR, "unknown strategy number %u of a GiST index on bloom filters", strategy);
	}
	PG_RETURN_BOOL(true);
}

PG_FUNCTION_INFO_V1(bloomx_gist_union);
Datum
bloomx_gist_union(PG_FUNCTION_ARGS)
{
	GistEntryVector *entries = (GistEntryVector *) PG_GETARG_POINTER(0);
	int		   *size = (int *) PG_GETARG_POINTER(1);
	blx_filter *all = CopyFilter(DatumGetFilter(entries->vector[0].key));

	for (int i = 1; i < entries->n && !IsFull(all); i++)
		all = UniteSignatures(all, DatumGetFilter(entries->vector[i].key));
	*size = VARSIZE(all);
	PG_RETURN_POINTER(all);
}

/*
 * How unlike is `added` to what is there: the share of the bits still unset
 * that it sets.  Keys that both have set none; a filter with none of the keys
 * sets the share of bits that it has itself, however full `into` is.  (The
 * bits that it sets, as the usual signature trees count them, are the fewest
 * where all is nearly full: unlike filters would go there, whatever is alike.)
 */
static double
Unlikeness(const blx_filter *into, const blx_filter *added)
{
	blx_fills	fills = FillsOf(into, added);

	if (fills.a >= 1)
		return fills.b >= 1 ? 0 : 1;
	return (fills.either - fills.a) / (1 - fills.a);
}

PG_FUNCTION_INFO_V1(bloomx_gist_penalty);
Datum
bloomx_gist_penalty(PG_FUNCTION_ARGS)
{
	const blx_filter *into = DatumGetFilter(((GISTENTRY *) PG_GETARG_POINTER(0))->key);
	const blx_filter *added = DatumGetFilter(((GISTENTRY *) PG_GETARG_POINTER(1))->key);
	float	   *penalty = (float *) PG_GETARG_POINTER(2);

	*penalty = (float) Unlikeness(into, added);
	PG_RETURN_POINTER(penalty);
}

PG_FUNCTION_INFO_V1(bloomx_gist_same);
Datum
bloomx_gist_same(PG_FUNCTION_ARGS)
{
	bool	   *same = (bool *) PG_GETARG_POINTER(2);

	*same = blx_compare(DatumGetFilter(PG_GETARG_DATUM(0)), DatumGetFilter(PG_GETARG_DATUM(1))) == 0;
	PG_RETURN_POINTER(same);
}

/* ---- splitting a page ---- */

/* The share of bits that only one of two has: by inclusion-exclusion, whatever their sizes. */
static double
Distance(const blx_filter *a, const blx_filter *b)
{
	blx_fills	fills = FillsOf(a, b);

	return 2 * fills.either - fills.a - fills.b;
}

/* The entry farthest from `from`. */
static OffsetNumber
Farthest(const blx_filter **signatures, OffsetNumber last, const blx_filter *from)
{
	OffsetNumber farthest = FirstOffsetNumber;
	double		most = -1;

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
	{
		double		distance = Distance(signatures[i], from);

		if (distance > most)
		{
			most = distance;
			farthest = i;
		}
	}
	return farthest;
}

/* One half of a split. */
typedef struct Half
{
	OffsetNumber *offsets;
	int			n;
	blx_filter *signature;
} Half;

static void
Put(Half *half, OffsetNumber offset, const blx_filter *signature)
{
	half->offsets[half->n++] = offset;
	half->signature = half->signature ? UniteSignatures(half->signature, signature) : CopyFilter(signature);
}

/*
 * The two entries that are far from each other begin a half each; every other
 * goes where it adds less, unless a half would be left with too little.
 */
PG_FUNCTION_INFO_V1(bloomx_gist_picksplit);
Datum
bloomx_gist_picksplit(PG_FUNCTION_ARGS)
{
	GistEntryVector *entries = (GistEntryVector *) PG_GETARG_POINTER(0);
	GIST_SPLITVEC *split = (GIST_SPLITVEC *) PG_GETARG_POINTER(1);
	OffsetNumber last = (OffsetNumber) (entries->n - 1);
	int			most = last - (last + 1) / 3;	/* lopsided splits of few large signatures would leave a page to each */
	const blx_filter **signatures = palloc(sizeof(blx_filter *) * (last + 1));
	Half		left = {.offsets = palloc(sizeof(OffsetNumber) * (last + 1))},
				right = {.offsets = palloc(sizeof(OffsetNumber) * (last + 1))};
	OffsetNumber first,
				second;

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
		signatures[i] = DatumGetFilter(entries->vector[i].key);
	first = Farthest(signatures, last, signatures[FirstOffsetNumber]);
	second = Farthest(signatures, last, signatures[first]);
	if (first == second)
		second = first == last ? FirstOffsetNumber : last;
	Put(&left, first, signatures[first]);
	Put(&right, second, signatures[second]);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
	{
		bool		leftwards;

		if (i == first || i == second)
			continue;
		if (left.n >= most || right.n >= most)
			leftwards = left.n < right.n;
		else
		{
			double		in_left = Unlikeness(left.signature, signatures[i]),
						in_right = Unlikeness(right.signature, signatures[i]);

			leftwards = in_left < in_right || (in_left == in_right && left.n < right.n);
		}
		Put(leftwards ? &left : &right, i, signatures[i]);
	}
	split->spl_left = left.offsets;
	split->spl_nleft = left.n;
	split->spl_ldatum = PointerGetDatum(left.signature);
	split->spl_right = right.offsets;
	split->spl_nright = right.n;
	split->spl_rdatum = PointerGetDatum(right.signature);
	PG_RETURN_POINTER(split);
}

PG_FUNCTION_INFO_V1(bloomx_gist_options);
Datum
bloomx_gist_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(GistOptions));
	add_local_int_reloption(options, "siglen", "length of a signature in bytes",
							DEFAULT_SIGLEN, 64, MAX_SIGLEN, offsetof(GistOptions, siglen));
	PG_RETURN_VOID();
}
