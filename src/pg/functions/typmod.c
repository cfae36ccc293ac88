/*
 * typmod.c - the type modifier: bloomfilter(capacity [, fpr [, layout]]).
 *
 * The values of such a type all have the geometry of bloom_empty(capacity, fpr,
 * layout) and seed 0.  So any two with one key type unite exactly: their union is
 * the filter that would have been built of both sets of keys.
 *
 * PostgreSQL keeps a modifier in 31 bits.  They hold what the user wrote, in
 * decimal, and not the geometry: a dump must print it, and the planner computes
 * the geometry from it.  A capacity has up to four significant digits, a rate two.
 */
#include "pg/functions/functions.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "core/filter/growth.h"
#include "core/layouts/growing/hashes.h"
#include "pg/value/stored.h"
#include "pg/value/growth.h"

/*
 * ---- the encoding ----
 *
 * typmod = (layout * CAPACITIES + capacity) * RATES + rate, and that is what
 * catalogs keep: it never changes.
 *
 * A capacity is itself up to 9,999.  Above, a mantissa of 1,000 to 9,999 and an
 * exponent of 1 to MOST_ZEROS follow: up to 9,999 * 10^9.  That is beyond every
 * filter, for which a gigabyte is the limit.
 *
 * A rate is a mantissa of 10 to 99 and an exponent: from 99 * 10^-2 to 10 * 10^-17.
 * At half fill, 10^-16 takes 53 of the 64 probes that a filter can have, and 77 bits
 * per key.
 */
#define LEAST_MANTISSA 1000
#define SMALL_CAPACITIES (10 * LEAST_MANTISSA)
#define MANTISSAS (SMALL_CAPACITIES - LEAST_MANTISSA)
#define MOST_ZEROS 9
#define MOST_CAPACITY INT64CONST(9999000000000)
#define CAPACITIES (SMALL_CAPACITIES + MOST_ZEROS * MANTISSAS)
#define LEAST_RATE_MANTISSA 10
#define RATE_MANTISSAS 90
#define FIRST_RATE_EXPONENT (-2)
#define RATE_EXPONENTS 16
#define RATES (RATE_EXPONENTS * RATE_MANTISSAS)

StaticAssertDecl((int64) BLX_LAYOUTS * CAPACITIES * RATES <= INT_MAX, "a modifier must fit a positive int32");

/* What a modifier says.  The rate is mantissa * 10^exponent. */
typedef struct Modifier
{
	uint8		layout;
	uint64		capacity;
	int			rate_mantissa;
	int			rate_exponent;
} Modifier;

static int32
EncodeModifier(const Modifier *m)
{
	int64		capacity = (int64) m->capacity;
	int			zeros = 0;
	int			rate = (FIRST_RATE_EXPONENT - m->rate_exponent) * RATE_MANTISSAS + m->rate_mantissa - LEAST_RATE_MANTISSA;

	if (capacity >= SMALL_CAPACITIES)
	{
		for (; capacity >= SMALL_CAPACITIES; capacity /= 10)
			zeros++;
		capacity += SMALL_CAPACITIES - LEAST_MANTISSA + (zeros - 1) * MANTISSAS;
	}
	return (int32) ((m->layout * (int64) CAPACITIES + capacity) * RATES + rate);
}

/* False if no type has that modifier. */
static bool
DecodeModifier(int32 typmod, Modifier *m)
{
	int			rate = typmod % RATES,
				capacity = typmod / RATES % CAPACITIES;

	m->layout = (uint8) Min(typmod / RATES / CAPACITIES, BLX_LAYOUTS);
	m->rate_mantissa = rate % RATE_MANTISSAS + LEAST_RATE_MANTISSA;
	m->rate_exponent = FIRST_RATE_EXPONENT - rate / RATE_MANTISSAS;
	m->capacity = (uint64) capacity;
	if (capacity >= SMALL_CAPACITIES)
	{
		int			zeros = (capacity - SMALL_CAPACITIES) / MANTISSAS + 1;

		m->capacity = (uint64) ((capacity - SMALL_CAPACITIES) % MANTISSAS + LEAST_MANTISSA);
		while (zeros-- > 0)
			m->capacity *= 10;
	}
	return typmod >= 0 && m->capacity > 0 && blx_filter_row(m->layout) != NULL;
}

/* The rate as the nearest double, which is that of the same number in SQL. */
static double
RateOf(const Modifier *m)
{
	double		power = 1;

	/* powers of ten up to 10^22 are exact, so only the division rounds */
	for (int i = 0; i < -m->rate_exponent; i++)
		power *= 10;
	return m->rate_mantissa / power;
}

/* "0.01" */
static char *
PrintRate(const Modifier *m)
{
	bool		one_digit = m->rate_mantissa % 10 == 0;

	return psprintf("0.%0*d", -m->rate_exponent - one_digit, one_digit ? m->rate_mantissa / 10 : m->rate_mantissa);
}

/* "(1000000,0.01)", with the layout if it is not the default: as SQL reads it. */
static char *
PrintModifier(const Modifier *m)
{
	bool		default_layout = m->layout == BLX_PARTITIONED_BLOCKED;

	return psprintf("(" UINT64_FORMAT ",%s%s%s)", m->capacity, PrintRate(m),
					default_layout ? "" : ",", default_layout ? "" : blx_layout_name(m->layout));
}

/* ---- reading a modifier ---- */

static Datum
NumericOf(const char *text)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/*
 * Reads a number as digits * 10^exponent, where digits has n of them.  False if it
 * has more significant ones.  Of what is not a positive number digits is 0.
 */
static bool
ReadDecimal(const char *text, int n, int64 *digits, int *exponent)
{
	Datum		number = NumericOf(text);
	char	   *rounded = numeric_out_sci(DatumGetNumeric(number), n - 1),	/* "1.234e+05" */
			   *c = rounded;

	*digits = 0;
	*exponent = 0;
	if (*c < '0' || *c > '9')
		return true;			/* a sign, NaN, Infinity */
	for (; *c != 'e'; c++)
		if (*c != '.')
			*digits = 10 * *digits + (*c - '0');
	*exponent = atoi(c + 1) - (n - 1);
	return DatumGetBool(DirectFunctionCall2(numeric_eq, number, NumericOf(rounded)));
}

static void
ReadCapacity(const char *text, Modifier *m)
{
	int64		digits;
	int			exponent;
	bool		fits = ReadDecimal(text, 4, &digits, &exponent);

	for (; exponent < 0 && digits > 0 && digits % 10 == 0; exponent++)
		digits /= 10;
	if (fits && (digits == 0 || exponent < 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of type bloomfilter must be a whole number and at least 1, not %s", text)));
	while (fits && exponent > 0 && digits <= MOST_CAPACITY / 10)
	{
		digits *= 10;
		exponent--;
	}
	if (fits && exponent > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of type bloomfilter must be at most " INT64_FORMAT ", not %s", MOST_CAPACITY, text)));
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of type bloomfilter must have at most four significant digits, not %s", text),
				 errhint("Round it up, for example 123456 to 123500.")));
	m->capacity = (uint64) digits;
}

static void
ReadRate(const char *text, Modifier *m)
{
	int64		digits;
	int			exponent;
	bool		fits = ReadDecimal(text, 2, &digits, &exponent);

	if (fits && (digits == 0 || exponent > FIRST_RATE_EXPONENT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false positive rate must be between 0 and 1, not %s", text)));
	if (fits && exponent <= FIRST_RATE_EXPONENT - RATE_EXPONENTS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false positive rate of type bloomfilter must be at least 1e-16, not %s", text)));
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false positive rate of type bloomfilter must have at most two significant digits, not %s", text),
				 errhint("Round it down, for example 0.0125 to 0.012.")));
	m->rate_mantissa = (int) digits;
	m->rate_exponent = exponent;
}

/* Only layouts of a fixed size whose filters unite. */
static void
ReadLayout(const char *text, Modifier *m)
{
	CheckCore(blx_layout_by_name(text, &m->layout, &core_error));
	if ((blx_traits(m->layout) & BLX_UNBOUNDED) || !blx_check_operation(m->layout, BLX_UNION, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type bloomfilter cannot have a modifier for layout %s", blx_layout_name(m->layout)),
				 errdetail("The modifier is for filters of one fixed size, any two of which can be merged."),
				 errhint("Use type bloomfilter without a modifier.")));
}

/* The modifier of a type, as up to `most` words between its parentheses. */
static Modifier
ReadModifier(ArrayType *array, const char *type, int most, const char *hint)
{
	Modifier	m = {.layout = BLX_PARTITIONED_BLOCKED, .rate_mantissa = 10, .rate_exponent = -3};	/* BLX_DEFAULT_FPR */
	Datum	   *words;
	int			n;

	if (ARR_ELEMTYPE(array) != CSTRINGOID || ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_ELEMENT_ERROR),
				 errmsg("type modifiers must be an array of cstring without nulls")));
	deconstruct_array(array, CSTRINGOID, -2, false, TYPALIGN_CHAR, &words, NULL, &n);
	if (n < 1 || n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type %s has one to %s modifiers, not %d", type, most == 2 ? "two" : "three", n),
				 errhint("%s", hint)));
	ReadCapacity(DatumGetCString(words[0]), &m);
	if (n > 1)
		ReadRate(DatumGetCString(words[1]), &m);
	if (n > 2)
		ReadLayout(DatumGetCString(words[2]), &m);
	return m;
}

/* bloomfilter_typmod_in(cstring[]) */
PG_FUNCTION_INFO_V1(bloomfilter_typmod_in);
Datum
bloomfilter_typmod_in(PG_FUNCTION_ARGS)
{
	Modifier	m = ReadModifier(PG_GETARG_ARRAYTYPE_P(0), "bloomfilter", 3,
								 "Write bloomfilter(capacity), bloomfilter(capacity, fpr) or bloomfilter(capacity, fpr, layout).");
	int32		typmod = EncodeModifier(&m);
	FilterType	type;

	(void) LookupFilterType(typmod, &type); /* a capacity that no filter has is an error here, not at the first row */
	PG_RETURN_INT32(typmod);
}

/* bloomset_stage_typmod_in(cstring[]): of a set, which may be larger than any filter */
PG_FUNCTION_INFO_V1(bloomset_stage_typmod_in);
Datum
bloomset_stage_typmod_in(PG_FUNCTION_ARGS)
{
	Modifier	m = ReadModifier(PG_GETARG_ARRAYTYPE_P(0), "bloomset_stage", 2,
								 "Write bloomset_stage(capacity) or bloomset_stage(capacity, fpr).");

	PG_RETURN_INT32(EncodeModifier(&m));
}

static Modifier
GetModifier(int32 typmod)
{
	Modifier	m;

	if (!DecodeModifier(typmod, &m))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid modifier %d of type bloomfilter", typmod)));
	return m;
}

/* bloomfilter_typmod_out(integer) */
PG_FUNCTION_INFO_V1(bloomfilter_typmod_out);
Datum
bloomfilter_typmod_out(PG_FUNCTION_ARGS)
{
	Modifier	m;

	if (PG_GETARG_INT32(0) < 0)
		PG_RETURN_CSTRING(pstrdup(""));
	m = GetModifier(PG_GETARG_INT32(0));
	PG_RETURN_CSTRING(PrintModifier(&m));
}

bool
ReadSetModifier(int32 typmod, uint64 *capacity, double *fpr)
{
	Modifier	m;

	if (typmod < 0)
		return false;
	m = GetModifier(typmod);
	*capacity = m.capacity;
	*fpr = RateOf(&m);
	return true;
}

/* ---- values ---- */

bool
LookupFilterType(int32 typmod, FilterType *type)
{
	blx_options presets;
	Modifier	m;

	if (typmod < 0)
		return false;
	m = GetModifier(typmod);
	presets = blx_default_options(m.layout);
	type->capacity = m.capacity;
	type->fpr = RateOf(&m);
	type->geometry = PlanLayout(m.layout, m.capacity, type->fpr, &presets);
	return true;
}

/* True if f can be a value of the type as it is.  A filter that was expanded has the geometry, but not the bits that it should have. */
static bool
HasType(const blx_filter *f, const FilterType *type)
{
	blx_geometry geometry;

	if (f->layout != type->geometry.layout || f->seed != 0 || f->pending != 0 || f->expanded != 0)
		return false;
	geometry = blx_geometry_of(f);
	return blx_geometry_equal(&geometry, &type->geometry);
}

/* True if f holds no keys and nobody chose another layout for it. */
static bool
IsEmptyFor(const blx_filter *f, const FilterType *type)
{
	return blx_is_blank(f) || (f->layout == type->geometry.layout && f->seed == 0 && blx_bits_set(f) == 0);
}

/* True if f is finer than the type in no other way than a fold and a prefix undo: then these give what would have been built. */
static bool
CanFold(const blx_filter *f, const FilterType *type)
{
	blx_identity identity = blx_identity_of(f);
	blx_geometry common;

	if (f->layout != type->geometry.layout || f->seed != 0 || f->expanded != 0)
		return false;
	return blx_common_geometry(f, NewFilter(&type->geometry, &identity, 0), &common, NULL) &&
		blx_geometry_equal(&common, &type->geometry);
}

/* f as a value of the type; NULL if that would need its keys. */
static blx_filter *
Convert(const blx_filter *f, const FilterType *type, bool is_explicit)
{
	blx_identity identity = blx_identity_of(f);
	blx_filter *result;

	if (f->layout == BLX_HASHES ? f->seed == 0 : IsEmptyFor(f, type))
	{
		result = NewFilter(&type->geometry, &identity, type->capacity);
		if (f->layout == BLX_HASHES && !blx_add_set(result, f))
			elog(ERROR, "a filter of layout %s did not take all keys of a set", blx_layout_name(result->layout));
	}
	else if (is_explicit && CanFold(f, type))
	{
		result = ResizeFilter(f, &type->geometry);
		result->capacity = type->capacity;
	}
	else
		return NULL;
	ReportOverfill(result, KEYS_ADDED);
	return result;
}

static char *
DescribeGeometry(const blx_geometry *g)
{
	return psprintf("layout %s, blocks %u, parts %u, part_bits " UINT64_FORMAT ", k %g%s%s", blx_layout_name(g->layout),
					g->blocks, g->parts, g->part_bits, blx_bits_per_key(g),
					g->hashing == BLX_INDEPENDENT ? "" : ", hashing ", g->hashing == BLX_INDEPENDENT ? "" : blx_hashing_name(g->hashing));
}

/* The calls that make filters of the type. */
static char *
WhatToBuild(const Modifier *m)
{
	char	   *arguments = psprintf(UINT64_FORMAT ", %s", m->capacity, PrintRate(m));

	if (m->layout == BLX_PARTITIONED_BLOCKED)
		return psprintf("bloom_empty(%s) or bloom_agg(key, %s)", arguments, arguments);
	return psprintf("bloom_empty(%s, '%s'), the template of bloom_agg", arguments, blx_layout_name(m->layout));
}

/* The error about a filter that does not have the type. */
static void
ReportMisfit(const blx_filter *f, const FilterType *type, int32 typmod, Node *context)
{
	Modifier	m = GetModifier(typmod);
	blx_geometry geometry = blx_geometry_of(f);
	bool		expanded = blx_geometry_equal(&geometry, &type->geometry);

	if (expanded)
		geometry = blx_unexpanded_geometry(f);
	if (f->seed != 0)
		errsave(context,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("bloom filter with seed " INT64_FORMAT " cannot be a value of type bloomfilter%s", (int64) f->seed, PrintModifier(&m)),
				 errdetail("Types with a modifier are for filters of seed 0."),
				 errhint("Use type bloomfilter without a modifier, and a CHECK constraint on (bloom_header(f)).seed.")));
	else
		errsave(context,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("bloom filter does not have the geometry of type bloomfilter%s", PrintModifier(&m)),
				 errdetail("%s %s; the type has %s.", expanded ? "Part of the filter was expanded from" : "The filter has",
						   DescribeGeometry(&geometry), DescribeGeometry(&type->geometry)),
				 errhint("Build it with %s%s.", WhatToBuild(&m),
						 CanFold(f, type) ? ", or fold this one by an explicit cast to the type" : "")));
}

/* A filter, for its header.  Of an open set, all of it. */
static const blx_filter *
HeaderOfFilter(Datum datum)
{
	if (DatumIsExpanded(datum) && ExpandedHeaderOf(datum)->layout != BLX_HASHES)
		return ExpandedHeaderOf(datum);
	return DatumGetFilterHead(datum);
}

Datum
FitFilter(Datum datum, int32 typmod, bool is_explicit, Node *context)
{
	FilterType	type;
	blx_filter *f,
			   *result;

	if (!LookupFilterType(typmod, &type) || HasType(HeaderOfFilter(datum), &type))
		return datum;
	f = DatumGetFilter(datum);
	if (blx_is_uncut(f))		/* a partial state of bloom_agg */
	{
		f = FinishFilter(f);
		if (HasType(f, &type))
			return PointerGetDatum(f);
	}
	result = Convert(f, &type, is_explicit);
	if (result == NULL)
		ReportMisfit(f, &type, typmod, context);
	return PointerGetDatum(result);
}

/* bloomfilter(bloomfilter, integer, boolean): the cast that PostgreSQL applies to values of a column with a modifier */
PG_FUNCTION_INFO_V1(bloomfilter_apply_typmod);
Datum
bloomfilter_apply_typmod(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(FitFilter(PG_GETARG_DATUM(0), PG_GETARG_INT32(1), PG_GETARG_BOOL(2), NULL));
}
