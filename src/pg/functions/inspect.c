/*
 * inspect.c - what a filter is and holds.
 */
#include "pg/functions/functions.h"

#include "pg/value/growth.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "core/layouts/growing/hashes.h"

Datum
MakeRow(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	columns;

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
}

/* blx_emit: one more member of a JSON object */
static void
EmitJson(void *arg, const char *name, double number, const char *text)
{
	StringInfo	json = arg;

	appendStringInfo(json, "%s", json->len > 1 ? ", " : "");
	escape_json(json, name);
	appendStringInfoString(json, ": ");
	if (text != NULL)
		escape_json(json, text);
	else if (isfinite(number))
		appendStringInfoString(json, float8out_internal(number));
	else
		appendStringInfoString(json, "null");
}

/* The details that only f's layout has, as jsonb. */
static Datum
DetailsOf(const blx_filter *f)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	blx_details(f, EmitJson, &json);
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

#define HEADER_COLUMNS 10
#define INFO_COLUMNS 16

/* The columns for which the head of a stored filter suffices. */
static int
DescribeHeader(const blx_filter *f, Datum *values, bool *nulls)
{
	blx_identity identity = blx_identity_of(f);
	blx_geometry geometry = blx_geometry_of(f);
	char		buffer[BLX_MAX_NAME + 1];
	int			i = 0;

	values[i++] = CStringGetTextDatum(blx_layout_name(f->layout));
	values[i++] = Int64GetDatum((int64) blx_bits_in(f));
	values[i++] = Int64GetDatum((int64) blx_size(f));
	values[i++] = Int64GetDatum(f->blocks);
	values[i++] = Int32GetDatum(f->parts);
	values[i++] = Int64GetDatum((int64) f->part_bits);
	values[i++] = Int32GetDatum((int32) blx_bits_per_key(&geometry));
	nulls[i] = f->key_type == BLX_KEY_NONE;
	values[i++] = CStringGetTextDatum(blx_key_type_name(&identity, buffer));
	values[i++] = Int64GetDatum((int64) f->seed);
	nulls[i] = blx_capacity_promised(f) == 0;
	values[i++] = Int64GetDatum((int64) f->capacity);
	Assert(i == HEADER_COLUMNS);
	return i;
}

/* bloom_header(f) */
PG_FUNCTION_INFO_V1(bloom_header);
Datum
bloom_header(PG_FUNCTION_ARGS)
{
	Datum		values[HEADER_COLUMNS];
	bool		nulls[HEADER_COLUMNS] = {false};

	DescribeHeader(DatumGetFilterHead(PG_GETARG_DATUM(0)), values, nulls);
	return MakeRow(fcinfo, values, nulls);
}

/* bloom_info(f) */
PG_FUNCTION_INFO_V1(bloom_info);
Datum
bloom_info(PG_FUNCTION_ARGS)
{
	blx_filter *f = PG_GETARG_FILTER(0);
	bool		open = f->layout == BLX_HASHES;
	uint64		bits_set = blx_bits_set(f);
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS] = {false};
	int			i = DescribeHeader(f, values, nulls);

	values[i++] = BoolGetDatum(FilterIsOverfilled(f));
	values[i++] = Int64GetDatum((int64) bits_set);
	nulls[i] = open;
	values[i++] = Float8GetDatum(open ? 0 : (double) bits_set / (double) blx_bits_in(f));
	values[i++] = Float8GetDatum(blx_cardinality(f));
	values[i++] = Float8GetDatum(blx_fpr(f));
	values[i++] = DetailsOf(f);
	Assert(i == INFO_COLUMNS);
	return MakeRow(fcinfo, values, nulls);
}

/* bloom_is_empty(f) */
PG_FUNCTION_INFO_V1(bloom_is_empty);
Datum
bloom_is_empty(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(blx_cardinality(PG_GETARG_FILTER(0)) == 0);
}

/* "about 1000 integer keys", "no keys" */
static void
DescribeKeys(StringInfo line, const blx_filter *f)
{
	blx_identity identity = blx_identity_of(f);
	char		buffer[BLX_MAX_NAME + 1];
	double		keys = blx_cardinality(f);
	bool		exact = f->layout == BLX_HASHES || blx_is_sealed(f->layout);

	if (isinf(keys))
		appendStringInfoString(line, "too many");
	else if (keys == 0)
		appendStringInfoString(line, "no");
	else
		appendStringInfo(line, "%s%.0f", exact ? "" : "about ", keys);
	if (f->key_type != BLX_KEY_NONE)
		appendStringInfo(line, " %s", blx_key_type_name(&identity, buffer));
	appendStringInfoString(line, keys >= 0.5 && keys < 1.5 ? " key" : " keys");
	if (blx_capacity_promised(f) > 0 && !blx_is_sealed(f->layout))
		appendStringInfo(line, " (planned for " UINT64_FORMAT "%s)", f->capacity, FilterIsOverfilled(f) ? ", overfilled" : "");
}

/* bloom_summary(f): one line for people, whose words may change; programs use bloom_info */
PG_FUNCTION_INFO_V1(bloom_summary);
Datum
bloom_summary(PG_FUNCTION_ARGS)
{
	const blx_filter *f = PG_GETARG_FILTER(0);
	double		percent = fabs(100 * blx_fpr(f));	/* a rate may be -0 */
	StringInfoData line;

	initStringInfo(&line);
	appendStringInfo(&line, "%s: ", f->layout == BLX_HASHES ? "open set" : blx_layout_name(f->layout));
	DescribeKeys(&line, f);
	if (f->layout == BLX_HASHES)
		appendStringInfoString(&line, ", not yet a filter");
	else
		appendStringInfo(&line, ", false positive rate %.*g %%, %.0f %% of the bits set", percent < 10 ? 2 : 3,
						 percent, 100 * (double) blx_bits_set(f) / (double) blx_bits_in(f));
	appendStringInfo(&line, ", %s", TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, Int64GetDatum((int64) blx_size(f)))));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(line.data, line.len));
}

PG_FUNCTION_INFO_V1(bloom_cardinality);
Datum
bloom_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(blx_cardinality(PG_GETARG_FILTER(0)));
}

PG_FUNCTION_INFO_V1(bloom_fpr);
Datum
bloom_fpr(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(blx_fpr(PG_GETARG_FILTER(0)));
}

PG_FUNCTION_INFO_V1(bloom_fill);
Datum
bloom_fill(PG_FUNCTION_ARGS)
{
	blx_filter *f = PG_GETARG_FILTER(0);

	if (f->layout == BLX_HASHES)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8((double) blx_bits_set(f) / (double) blx_bits_in(f));
}

/* ---- two filters ---- */

static blx_pair
EstimatePair(const blx_filter *a, const blx_filter *b)
{
	blx_pair	pair;

	CheckCore(blx_estimate_pair(a, b, &FilterMemory, &pair, &core_error));
	return pair;
}

bool
EstimateOverlap(const blx_filter *a, const blx_filter *b, double *keys, double *error)
{
	blx_pair	pair;

	if (a->layout == BLX_HASHES || b->layout == BLX_HASHES || !blx_estimate_pair(a, b, &FilterMemory, &pair, NULL) || isnan(pair.in_both))
		return false;
	*keys = pair.in_both;
	*error = pair.in_both_error;
	return true;
}

/* At least 0, and at most the keys in either; NaN if nothing is known. */
static double
KeysInBoth(const blx_pair *pair)
{
	return isnan(pair->in_both) ? pair->in_both : fmax(0, fmin(pair->in_both, pair->in_either));
}

PG_FUNCTION_INFO_V1(bloom_union_cardinality);
Datum
bloom_union_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(EstimatePair(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1)).in_either);
}

PG_FUNCTION_INFO_V1(bloom_intersection_cardinality);
Datum
bloom_intersection_cardinality(PG_FUNCTION_ARGS)
{
	blx_pair	pair = EstimatePair(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1));

	PG_RETURN_FLOAT8(KeysInBoth(&pair));
}

/* |a and b| / |a or b|; 1 for two empty filters, as for any set and itself */
PG_FUNCTION_INFO_V1(bloom_jaccard);
Datum
bloom_jaccard(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(EstimatePair(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1)).jaccard);
}

/* bloom_compare(a bloomfilter, b bloomfilter): the three estimates and their standard errors */
PG_FUNCTION_INFO_V1(bloom_compare);
Datum
bloom_compare(PG_FUNCTION_ARGS)
{
	blx_pair	pair = EstimatePair(PG_GETARG_FILTER(0), PG_GETARG_FILTER(1));
	Datum		values[6];
	bool		nulls[6] = {false};
	int			i = 0;

	values[i++] = Float8GetDatum(pair.in_either);
	values[i++] = Float8GetDatum(pair.in_either_error);
	values[i++] = Float8GetDatum(KeysInBoth(&pair));
	values[i++] = Float8GetDatum(pair.in_both_error);
	values[i++] = Float8GetDatum(pair.jaccard);
	values[i++] = Float8GetDatum(pair.jaccard_error);
	Assert(i == lengthof(values));
	return MakeRow(fcinfo, values, nulls);
}
