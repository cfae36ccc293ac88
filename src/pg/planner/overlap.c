/*
 * overlap.c - the share of rows, or of pairs of rows, whose filters may overlap.
 *
 * Filters that share no key often share bits, and those with one key in common
 * always do.  How often two filters overlap depends on their sizes, loads and
 * keys in ways that means do not tell, so they are tested: a constant against the
 * filters that ANALYZE kept of the other side, or those of both sides against each
 * other.  Of large filters ANALYZE keeps none, but the share of its sample whose
 * neighbours overlap (statistics.c).
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pg/value/value.h"

/* The share of pairs if nothing is known. */
#define UNKNOWN_OVERLAP 0.5

/* Filters per side: 2,500 pairs tell a share of 1 % within a fifth. */
#define TESTED_FILTERS 50

/* The bytes that the tests of one estimate may read: about a millisecond. */
#define TESTED_BYTES (16 * 1024 * 1024)

/* Filters that stand for those of one side. */
typedef struct Sample
{
	int			n;
	const blx_filter *filters[2 * TESTED_FILTERS];
	double		weights[2 * TESTED_FILTERS];
} Sample;

/* Up to TESTED_FILTERS values of a slot.  The most common ones have frequencies; those of the histogram share what is left. */
static void
TakeSlot(const VariableStatData *column, int kind, Sample *sample)
{
	AttStatsSlot slot;
	double		left = 1 - ((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac;

	if (!get_attstatsslot(&slot, column->statsTuple, kind, InvalidOid,
						  ATTSTATSSLOT_VALUES | (kind == STATISTIC_KIND_MCV ? ATTSTATSSLOT_NUMBERS : 0)))
		return;
	for (int i = 0; i < sample->n; i++)
		left -= sample->weights[i];
	/* the statistics may be those of a column of another type, below the expression */
	for (int i = 0; i < Min(slot.nvalues, TESTED_FILTERS) && IsFilterType(slot.valuetype); i++)
	{
		int			place = slot.nvalues <= TESTED_FILTERS ? i : (int) ((int64) i * slot.nvalues / TESTED_FILTERS);

		sample->filters[sample->n] = DatumGetFilter(datumCopy(slot.values[place], false, -1));
		sample->weights[sample->n++] = place < slot.nnumbers ? slot.numbers[place] : fmax(0, left) / Min(slot.nvalues, TESTED_FILTERS);
	}
	free_attstatsslot(&slot);
}

static void
TakeSample(const FilterFacts *facts, Sample *sample)
{
	sample->n = 0;
	if (facts->constant != NULL)
	{
		sample->filters[0] = facts->constant;
		sample->weights[sample->n++] = 1;
	}
	else if (HeapTupleIsValid(facts->column.statsTuple) && facts->column.acl_ok)
	{
		TakeSlot(&facts->column, STATISTIC_KIND_MCV, sample);
		TakeSlot(&facts->column, STATISTIC_KIND_HISTOGRAM, sample);
	}
}

/* What is expected without a test: as ANALYZE found in the columns. */
static double
ExpectedOverlap(const FilterFacts *a, const FilterFacts *b)
{
	FilterStatistics of_a,
				of_b;
	bool		know_a = GetFilterStatistics(a->column.statsTuple, &of_a) && of_a.overlaps >= 0,
				know_b = GetFilterStatistics(b->column.statsTuple, &of_b) && of_b.overlaps >= 0;

	if (know_a && know_b)
		return (of_a.overlaps + of_b.overlaps) / 2;
	return know_a ? of_a.overlaps : know_b ? of_b.overlaps : UNKNOWN_OVERLAP;
}

/* The expectation counts as one more pair, which matters only if the samples are small. */
static double
TestedOverlap(const FilterFacts *facts_a, const FilterFacts *facts_b, double expected)
{
	Sample		a,
				b;
	double		pairs = 0,
				tested = 0,
				found = 0,
				bytes = 0;

	TakeSample(facts_a, &a);
	TakeSample(facts_b, &b);
	for (int i = 0; i < a.n; i++)
		for (int j = 0; j < b.n && bytes < TESTED_BYTES; j++)
		{
			bool		disjoint;

			bytes += Max(VARSIZE(a.filters[i]), VARSIZE(b.filters[j]));
			/* two that cannot be compared are an error when the query runs */
			if (!blx_disjoint(a.filters[i], b.filters[j], &disjoint, NULL))
				continue;
			pairs++;
			tested += a.weights[i] * b.weights[j];
			if (!disjoint)
				found += a.weights[i] * b.weights[j];
		}
	return tested > 0 ? (found / tested * pairs + expected) / (pairs + 1) : expected;
}

/* A filter overlaps itself. */
static double
LeastOverlap(const FilterFacts *facts)
{
	return facts->column.rel != NULL ? 1 / fmax(1, facts->column.rel->tuples) : 0;
}

double
OverlapSelectivity(PlannerInfo *root, List *args, bool overlap)
{
	FilterFacts a,
				b;
	double		share;

	(void) GatherFilterFacts(root, linitial(args), &a);
	(void) GatherFilterFacts(root, lsecond(args), &b);
	share = TestedOverlap(&a, &b, ExpectedOverlap(&a, &b));
	share = fmin(1, fmax(share, fmin(LeastOverlap(&a), LeastOverlap(&b))));
	share = (1 - a.nulls) * (1 - b.nulls) * (overlap ? share : 1 - share);
	ReleaseVariableStats(a.column);
	ReleaseVariableStats(b.column);
	return share;
}
