/*
 * gist.c - the GiST operator class of filters: finds the filters that may hold a
 * key, or that may overlap a filter.
 *
 * A key of the tree is a signature, a filter of layout partitioned_blocked that
 * says "yes" to every key to which the filters below it say "yes".  In a leaf it
 * is the fold and prefix of the filter with the lowest rate that fits siglen
 * bytes.  In inner nodes it is the union, which is exact for signatures of any
 * sizes (docs/internals/design.md, "The algebra").  A signature that would say "yes" to
 * nearly everything is replaced by the full one, a single word of ones.  So is
 * the signature of a filter that cannot be folded to one (another layout, another
 * seed).  The full signature has no key type.
 *
 * All conditions are rechecked with the filters themselves.  A tree helps if
 * filters that are near each other in it have keys in common, or if it has few
 * filters.  Filters of unlike keys fill the signatures above them; for those
 * there is the bit-sliced index.
 */
#include "pg/base/base.h"

#include "access/gist.h"
#include "access/reloptions.h"
#include "access/stratnum.h"

#include "core/base/base.h"
#include "core/filter/slices.h"
#include "core/filter/growth.h"
#include "core/layouts/growing/hashes.h"
#include "pg/functions/probe_set.h"
#include "pg/keys/keys.h"
#include "pg/value/callsite.h"
#include "pg/value/value.h"

#define ALL_STRATEGY 10
#define ANY_STRATEGY 11
#define TEXT_STRATEGY 12
#define ALL_TEXTS_STRATEGY 13
#define ANY_TEXT_STRATEGY 14

/*
 * Bytes of a signature.  A longer one keeps more apart, but fewer fit a page, and
 * the tree gets larger.  504 bytes are 63 words, so with the header some 14
 * entries share a page; a default filter (1 %) of some 300 keys fits
 * uncut.  docs/internals/measurements.md has 504 against 1000: where filters
 * leave room for their neighbours' keys, a lookup reads a fifth fewer pages with
 * 1000, and the index is 1.7 times as large; otherwise there is no difference.
 */
#define DEFAULT_SIGLEN 504
#define MAX_SIGLEN (GISTMaxIndexKeySize - 128)

/*
 * A signature with a higher rate is replaced by the full one, which takes a
 * single word.  It would send nine of ten lookups of an absent key into its
 * subtree anyway.  A lower bound would make smaller trees that drop less, a
 * higher one keeps signatures that take a whole entry to drop almost nothing.
 * 0.9 was chosen, not measured.
 */
#define MOST_RATE 0.9

typedef struct BloomxGistOptions
{
	int32		vl_len_;
	int			siglen;
} BloomxGistOptions;

#define SIGLEN() (PG_HAS_OPCLASS_OPTIONS() ? ((BloomxGistOptions *) PG_GET_OPCLASS_OPTIONS())->siglen : DEFAULT_SIGLEN)

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

/* The fold and prefix with the lowest rate whose words take at most `bytes` bytes; NULL if there is none. */
static blx_filter *
CutToLength(const blx_filter *f, uint64 bytes)
{
	blx_filter *best = NULL;
	blx_geometry geometry = blx_geometry_of(f);

	/* fold 0 times, once, twice, and so on; of each fold keep as many parts as fit */
	for (int64 times = 0; blx_fold_geometry(f, times, &geometry, NULL); times++)
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

/* A filter of the hashes of a set that takes at most `bytes` bytes; NULL if there are too many. */
static blx_filter *
SignatureOfSet(const blx_filter *hashes, uint64 bytes)
{
	blx_identity identity = blx_identity_of(hashes);
	blx_geometry geometry;
	blx_filter *f;

	if (!blx_plan_within(BLX_PARTITIONED_BLOCKED, bytes, Max(blx_hashes_count(hashes), 1), BLX_DEFAULT_FPR, &geometry))
		return NULL;
	f = NewFilter(&geometry, &identity, 0);
	blx_add_set(f, hashes);
	return f;
}

static blx_filter *
SignatureOf(const blx_filter *f, int siglen)
{
	blx_geometry geometry;
	blx_filter *plain = NULL;

	if (f->seed != 0)
		return FullSignature();
	if (f->layout == BLX_HASHES)
		plain = SignatureOfSet(f, siglen);
	else if (f->layout == BLX_PARTITIONED_BLOCKED)
		plain = CutToLength(f, siglen);
	else if (blx_to_bits_geometry(f, &geometry, NULL))
	{
		blx_identity identity = blx_identity_of(f);
		blx_filter *bits = NewFilter(&geometry, &identity, 0);

		blx_to_bits(bits, f);
		plain = CutToLength(bits, siglen);
	}
	return plain ? WorthItsRoom(plain) : FullSignature();
}

/* The union of two signatures.  For keys of different types that is the full one. */
static blx_filter *
UniteSignatures(const blx_filter *a, const blx_filter *b)
{
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b),
				joint = blx_joint_identity(&ia, &ib);
	uint64		size;
	blx_filter *result;

	if (!blx_union_bytes(a, b, joint.name_len, &size, NULL))
		return FullSignature();
	result = AllocFilter(size);
	blx_union(result, size, a, b, &joint);
	return WorthItsRoom(result);
}

static bool
IsFull(const blx_filter *signature)
{
	return blx_bits_set(signature) == blx_bits_in(signature);
}

/* The shares of set bits, at the geometry of the union.  For keys of different types the union is the full one. */
static blx_fills
FillsOf(const blx_filter *a, const blx_filter *b)
{
	uint64		scratch[2 * GISTMaxIndexKeySize / sizeof(uint64)];
	blx_identity ia = blx_identity_of(a),
				ib = blx_identity_of(b);
	blx_fills	fills;

	if (a->layout != BLX_PARTITIONED_BLOCKED || b->layout != BLX_PARTITIONED_BLOCKED ||
		2 * blx_union_words(a, b) > lengthof(scratch))
		elog(ERROR, "a key of a GiST index on bloom filters is no signature");
	fills = blx_fills_of_union(a, b, scratch);
	if (!blx_same_keys(&ia, &ib))
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

/* The keys that the texts on the right side are as keys of the signature's type. */
static const blx_filter *
ProbeForSignature(FunctionCallInfo fcinfo, const blx_filter *signature, bool is_array)
{
	blx_identity keys = blx_identity_of(signature);

	return ProbeOfTexts(GetTextKey(GetCallCache(fcinfo->flinfo), PG_GET_COLLATION()), PG_GETARG_DATUM(1), is_array, &keys);
}

PG_FUNCTION_INFO_V1(bloomx_gist_consistent);
Datum
bloomx_gist_consistent(PG_FUNCTION_ARGS)
{
	const blx_filter *signature = DatumGetFilter(((GISTENTRY *) PG_GETARG_POINTER(0))->key);
	const blx_filter *query;	/* of many megabytes, perhaps: fetched and checked once */
	StrategyNumber strategy = (StrategyNumber) PG_GETARG_UINT16(2);
	bool	   *recheck = (bool *) PG_GETARG_POINTER(4);
	bool		disjoint = false;

	*recheck = true;
	switch (strategy)
	{
		case RTOverlapStrategyNumber:
			query = DatumGetFilter(PG_GETARG_DATUM(1));
			/* filters that cannot be compared may overlap: the recheck raises the error */
			if (IsFull(signature) || blx_is_blank(query) || !blx_disjoint(signature, query, &disjoint, NULL))
				PG_RETURN_BOOL(true);
			PG_RETURN_BOOL(!disjoint);
		case ALL_STRATEGY:
		case ANY_STRATEGY:
			PG_RETURN_BOOL(FilterMayHold(signature, DatumGetProbe(PG_GETARG_DATUM(1)), strategy == ALL_STRATEGY));
		case TEXT_STRATEGY:
		case ALL_TEXTS_STRATEGY:
		case ANY_TEXT_STRATEGY:
			PG_RETURN_BOOL(FilterMayHold(signature, ProbeForSignature(fcinfo, signature, strategy != TEXT_STRATEGY),
										 strategy != ANY_TEXT_STRATEGY));
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
 * How unlike `added` is to what is there: the share of the bits still unset that
 * it sets.  Keys that both have set none of them.  A filter without a common key
 * sets as large a share as it has set bits, however full `into` is.  (The usual
 * signature trees count the newly set bits.  These are fewest where nearly all
 * bits are set, and would draw unlike filters there.)
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

/* The share of bits that only one of two signatures has, by inclusion and exclusion, whatever their sizes. */
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
typedef struct BloomxGistHalf
{
	OffsetNumber *offsets;
	int			n;
	blx_filter *signature;
} BloomxGistHalf;

static void
Put(BloomxGistHalf *half, OffsetNumber offset, const blx_filter *signature)
{
	half->offsets[half->n++] = offset;
	half->signature = half->signature ? UniteSignatures(half->signature, signature) : CopyFilter(signature);
}

/*
 * Two entries that are far from each other begin a half each.  Every other entry
 * goes where it adds less, but a half gets at least a third of them.  When it
 * could get a quarter, splits of few large signatures made chains of pages with
 * one entry each: 10,000 rows took 387 MB with siglen 1896, and take 38 MB now.
 */
PG_FUNCTION_INFO_V1(bloomx_gist_picksplit);
Datum
bloomx_gist_picksplit(PG_FUNCTION_ARGS)
{
	GistEntryVector *entries = (GistEntryVector *) PG_GETARG_POINTER(0);
	GIST_SPLITVEC *split = (GIST_SPLITVEC *) PG_GETARG_POINTER(1);
	OffsetNumber last = (OffsetNumber) (entries->n - 1);
	int			most = last - (last + 1) / 3;	/* entries in one half */
	const blx_filter **signatures = palloc(sizeof(blx_filter *) * (last + 1));
	BloomxGistHalf left = {.offsets = palloc(sizeof(OffsetNumber) * (last + 1))},
				right = {.offsets = palloc(sizeof(OffsetNumber) * (last + 1))};
	OffsetNumber first,
				second;

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
		signatures[i] = DatumGetFilter(entries->vector[i].key);

	/* the entry farthest from any one, and the entry farthest from that; if all are alike, any two */
	first = Farthest(signatures, last, signatures[FirstOffsetNumber]);
	second = Farthest(signatures, last, signatures[first]);
	if (first == second)
		second = first == last ? FirstOffsetNumber : last;
	Put(&left, first, signatures[first]);
	Put(&right, second, signatures[second]);

	/* the others; of two equal choices the smaller half */
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

	init_local_reloptions(options, sizeof(BloomxGistOptions));
	add_local_int_reloption(options, "siglen", "length of a signature in bytes",
							DEFAULT_SIGLEN, 64, MAX_SIGLEN, offsetof(BloomxGistOptions, siglen));
	PG_RETURN_VOID();
}
