/*
 * statistics.c - what ANALYZE keeps of a column of filters.
 *
 * Beside what it keeps of any type (NULLs, distinct values, and small filters as
 * most common values and as a histogram, which is a sample of them) ANALYZE keeps
 * a slot of five means: keys, false positive rate, bytes, the part of a filter's
 * keys that another filter of the column has, too, and how often two overlap.  They are taken from
 * up to SAMPLE_FILTERS filters.  When SAMPLE_BYTES are used up, only the header of
 * a filter is read, and it counts as filled as planned.
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "commands/vacuum.h"
#include "utils/lsyscache.h"

#include "core/layouts/growing/hashes.h"
#include "pg/functions/functions.h"
#include "pg/value/stored.h"
#include "pg/value/value.h"

/* A number from the range for private use, 10000 to 30000 (pg_statistic.h). */
#define STATISTIC_KIND_FILTERS 21837

/*
 * The means of 100 filters are within a tenth of a standard deviation, closer
 * than the planner needs.  16 MB of TOASTed filters bound the time of ANALYZE if
 * the filters are large.
 */
#define SAMPLE_FILTERS 100
#define SAMPLE_BYTES (16 * 1024 * 1024)

/* The functions of the standard analysis, which ours calls first. */
typedef struct StandardAnalysis
{
	AnalyzeAttrComputeStatsFunc compute_stats;
	void	   *extra_data;
} StandardAnalysis;

/* Sums over the sample. */
typedef struct FilterSample
{
	int			filters;
	double		keys;
	double		fpr;
	double		bytes;
	double		budget;			/* bytes that may still be read */
	blx_filter *previous;		/* the last filter that was read whole */
	int			pairs;			/* neighbours in the sample that can be compared, to within the keys of the filter */
	double		shared;
	double		shared_squared;
	int			compared;		/* neighbours that were tested for an overlap */
	int			overlaps;
} FilterSample;

/* Counts a filter that is read whole, and what it shares with the one before. */
static void
CountFilter(FilterSample *sample, blx_filter *f)
{
	double		keys = blx_cardinality(f),
				overlap,
				error;
	bool		disjoint;

	/* a full filter says "perhaps" to everything, and has no estimate of its keys: its rate tells enough */
	if (!isinf(keys))
		sample->keys += keys;
	sample->fpr += blx_fpr(f);
	if (sample->previous != NULL && keys >= 1 && EstimateOverlap(f, sample->previous, &overlap, &error) && error <= keys)
	{
		sample->pairs++;
		sample->shared += overlap / keys;
		sample->shared_squared += (overlap / keys) * (overlap / keys);
	}
	if (sample->previous != NULL && blx_disjoint(f, sample->previous, &disjoint, NULL))
	{
		sample->compared++;
		sample->overlaps += !disjoint;
	}
	sample->previous = f;
}

/* Counts a filter by its header.  False if the header does not tell its keys. */
static bool
CountHeader(FilterSample *sample, Datum datum, Size size)
{
	const blx_filter *header = FetchFilterHeader(datum, size);
	blx_geometry geometry;

	if (header == NULL || blx_capacity_promised(header) == 0)
		return false;
	geometry = blx_geometry_of(header);
	sample->keys += (double) header->capacity;
	sample->fpr += blx_fpr_expected(&geometry, header->capacity);
	return true;
}

static void
CountValue(FilterSample *sample, Datum datum)
{
	Size		size = toast_raw_datum_size(datum);

	if (size <= sample->budget)
	{
		sample->budget -= size;
		CountFilter(sample, DatumGetFilter(datum));
	}
	else if (!CountHeader(sample, datum, size))
		return;
	sample->filters++;
	sample->bytes += size;
}

/* The mean part that pairs share.  0 if it is within two standard errors of 0: then it is noise of the estimates. */
static double
SharedPart(const FilterSample *sample)
{
	double		mean,
				variance;

	if (sample->pairs < 2)
		return 0;
	mean = sample->shared / sample->pairs;
	variance = (sample->shared_squared / sample->pairs - mean * mean) / (sample->pairs - 1);
	return mean > 2 * sqrt(fmax(0, variance)) ? fmin(1, mean) : 0;
}

static void
StoreMeans(VacAttrStats *stats, const FilterSample *sample)
{
	int			slot = 0;
	float4	   *means = MemoryContextAlloc(stats->anl_context, 5 * sizeof(float4));

	while (slot < STATISTIC_NUM_SLOTS && stats->stakind[slot] != 0)
		slot++;
	if (slot == STATISTIC_NUM_SLOTS)
		return;
	means[0] = (float4) (sample->keys / sample->filters);
	means[1] = (float4) (sample->fpr / sample->filters);
	means[2] = (float4) (sample->bytes / sample->filters);
	means[3] = (float4) SharedPart(sample);
	means[4] = sample->compared > 0 ? (float4) sample->overlaps / sample->compared : -1;
	stats->stakind[slot] = STATISTIC_KIND_FILTERS;
	stats->stanumbers[slot] = means;
	stats->numnumbers[slot] = 5;
}

static void
ComputeStatistics(VacAttrStats *stats, AnalyzeAttrFetchFunc fetch, int rows, double total_rows)
{
	StandardAnalysis *standard = stats->extra_data;
	FilterSample sample = {.budget = SAMPLE_BYTES};
	int			step = Max(1, rows / SAMPLE_FILTERS);

	stats->extra_data = standard->extra_data;
	standard->compute_stats(stats, fetch, rows, total_rows);
	stats->extra_data = standard;
	for (int row = 0; row < rows; row += step)
	{
		bool		null;
		Datum		datum = fetch(stats, row, &null);

		AnalyzeDelayPoint();
		if (!null)
			CountValue(&sample, datum);
	}
	if (stats->stats_valid && sample.filters > 0)
		StoreMeans(stats, &sample);
}

/* ANALYZE of the type */
PG_FUNCTION_INFO_V1(bloomfilter_typanalyze);
Datum
bloomfilter_typanalyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);
	StandardAnalysis *standard;

	if (!std_typanalyze(stats))
		PG_RETURN_BOOL(false);
	standard = palloc(sizeof(StandardAnalysis));
	standard->compute_stats = stats->compute_stats;
	standard->extra_data = stats->extra_data;
	stats->compute_stats = ComputeStatistics;
	stats->extra_data = standard;
	PG_RETURN_BOOL(true);
}

bool
GetFilterStatistics(HeapTuple pg_statistic, FilterStatistics *statistics)
{
	AttStatsSlot slot;
	bool		found;

	if (!HeapTupleIsValid(pg_statistic) ||
		!get_attstatsslot(&slot, pg_statistic, STATISTIC_KIND_FILTERS, InvalidOid, ATTSTATSSLOT_NUMBERS))
		return false;
	found = slot.nnumbers == 5;
	if (found)
	{
		statistics->keys = slot.numbers[0];
		statistics->fpr = slot.numbers[1];
		statistics->bytes = slot.numbers[2];
		statistics->shared = slot.numbers[3];
		statistics->overlaps = slot.numbers[4];
	}
	free_attstatsslot(&slot);
	return found;
}
