/*
 * selectivity.c - the share of rows that membership keeps.
 *
 * One key of a column is in a filter of n keys with the probability
 *
 *     s + (1 - s) fpr,    s = min(1, n / d)
 *
 * where d is the number of distinct values of the column, or of the values that
 * the filter's keys were taken from, whichever is larger.  As for the equality of
 * two columns, the smaller set is thought to be part of the larger.  If both
 * sides are at hand (a constant filter and the column's most common values, or a
 * constant key and a sample of the filters), the keys are tested.  Keys of an
 * array count as independent.  So do a filter and a join that drops the same rows:
 * only bloom_prefilter says that the join implies the filter.
 */
#include "pg/planner/planner.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"

#include "core/filter/inline.h"
#include "core/layouts/growing/hashes.h"
#include "pg/functions/functions.h"
#include "pg/keys/keys.h"
#include "pg/value/value.h"

/* The probability of a "yes", if `held` is the probability that the key is held. */
static double
WithFalsePositives(const FilterFacts *facts, double held)
{
	return held + (1 - held) * facts->fpr;
}

/* From the probability of each of n keys to that of all, or any, of them. */
static double
Combine(double chance, double n, bool all)
{
	return all ? pow(chance, n) : 1 - pow(1 - chance, n);
}

/* The values of a statistics slot: number and total frequency of all, and of those to which the filter says "yes". */
typedef struct TestedValues
{
	double		frequency,
				found_frequency;
	int			values,
				found;
} TestedValues;

/*
 * The statistics are those of the column below a COLLATE or a cast between types
 * of one representation.  The query hashes keys of the type above it.
 */
static bool
TestSlot(const VariableStatData *column, int kind, const blx_filter *f, Oid type, TestedValues *tested)
{
	AttStatsSlot slot;
	KeyType		key;

	memset(tested, 0, sizeof *tested);
	if (!HeapTupleIsValid(column->statsTuple) || !column->acl_ok ||
		!get_attstatsslot(&slot, column->statsTuple, kind, InvalidOid, ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return false;
	if (IsBinaryCoercible(slot.valuetype, type) &&
		LookupKeyTypeSoftly(&key, type, InvalidOid, CurrentMemoryContext, NewSoftErrors()) && key.row_context == NULL)
		tested->values = Min(slot.nvalues, slot.nnumbers);
	for (int i = 0; i < tested->values; i++)
	{
		tested->frequency += slot.numbers[i];
		if (blx_test_inline(f, HashKey(&key, slot.values[i], f->seed)))
		{
			tested->found++;
			tested->found_frequency += slot.numbers[i];
		}
	}
	free_attstatsslot(&slot);
	return tested->values > 0;
}

/* A key that is a column: tests the most common values, and estimates the others by their number. */
static double
ColumnSelectivity(PlannerInfo *root, const FilterFacts *facts, Node *key, VariableStatData *column)
{
	double		distinct = EstimateDistinctValues(root, key),
				nulls = 0,
				keys = facts->keys;
	TestedValues common = {0};

	if (distinct == 0)
		distinct = fmin(DEFAULT_NUM_DISTINCT, fmax(1, column->rel->tuples));
	distinct = fmax(distinct, facts->universe);
	if (HeapTupleIsValid(column->statsTuple))
		nulls = ((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac;
	if (facts->constant != NULL && TestSlot(column, STATISTIC_KIND_MCV, facts->constant, column->vartype, &common))
	{
		keys = fmax(0, keys - common.found);
		distinct = fmax(1, distinct - common.values);
	}
	return common.found_frequency +
		fmax(0, 1 - nulls - common.frequency) * WithFalsePositives(facts, fmin(1, keys / distinct));
}

static double
KeySelectivity(PlannerInfo *root, const FilterFacts *facts, Node *key)
{
	VariableStatData column;
	double		selectivity;

	examine_variable(root, key, 0, &column);
	if (column.rel == NULL)		/* a constant, a parameter */
		selectivity = WithFalsePositives(facts, facts->chance);
	else
		selectivity = ColumnSelectivity(root, facts, key, &column);
	ReleaseVariableStats(column);
	return selectivity;
}

/* The mean number of elements of a column of arrays; 0 = not known. */
static double
MeanElements(const VariableStatData *column)
{
	AttStatsSlot slot;
	double		elements = 0;

	if (HeapTupleIsValid(column->statsTuple) &&
		get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			elements = slot.numbers[slot.nnumbers - 1];
		free_attstatsslot(&slot);
	}
	return elements;
}

/* A column of arrays, by its most common elements. */
static double
ArrayColumnSelectivity(const FilterFacts *facts, const VariableStatData *column, double elements, bool all)
{
	AttStatsSlot slot;
	TestedValues common;
	double		distinct = fmax(facts->universe, DEFAULT_NUM_DISTINCT);

	if (MeanElements(column) > 0)
		elements = MeanElements(column);
	if (facts->constant != NULL &&
		TestSlot(column, STATISTIC_KIND_MCELEM, facts->constant, get_base_element_type(column->vartype), &common) && common.frequency > 0)
		return Combine(common.found_frequency / common.frequency, elements, all);
	if (HeapTupleIsValid(column->statsTuple) &&
		get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCELEM, InvalidOid, ATTSTATSSLOT_VALUES))
	{
		distinct = fmax(facts->universe, slot.nvalues);
		free_attstatsslot(&slot);
	}
	return Combine(WithFalsePositives(facts, fmin(1, facts->keys / distinct)), elements, all);
}

static double
ArraySelectivity(PlannerInfo *root, const FilterFacts *facts, Node *array, bool all)
{
	VariableStatData column;
	double		selectivity,
				elements = ESTIMATE_ARRAY_LENGTH(root, array);

	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
	{
		ListCell   *cell;
		double		none = 1,
					each = 1;

		foreach(cell, ((ArrayExpr *) array)->elements)
		{
			double		one = KeySelectivity(root, facts, lfirst(cell));

			none *= 1 - one;
			each *= one;
		}
		return all ? each : 1 - none;
	}
	examine_variable(root, array, 0, &column);
	if (column.rel == NULL)
		selectivity = Combine(WithFalsePositives(facts, facts->chance), elements, all);
	else
		selectivity = ArrayColumnSelectivity(facts, &column, elements, all);
	ReleaseVariableStats(column);
	return selectivity;
}

/* Tests the filters of the column that ANALYZE kept: adds their number, and that of those which may hold the keys. */
static void
TestSample(const VariableStatData *column, int kind, const blx_filter *probe, bool all, double *filters, double *found)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, column->statsTuple, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	/* the statistics may be those of a column of another type, below the expression */
	for (int i = 0; i < slot.nvalues && IsFilterType(slot.valuetype); i++)
	{
		const blx_filter *f = DatumGetFilter(slot.values[i]);

		if (ProbeSaysNothing(f, probe))
			continue;
		*filters += 1;
		*found += FilterMayHold(f, probe, all);
	}
	free_attstatsslot(&slot);
}

/*
 * Constant keys, and a sample of the filters.  The estimate without the
 * sample counts as one more filter, which matters only if the sample is small.
 * The result is never less than the false positives.
 */
static double
SampledSelectivity(const FilterFacts *facts, const blx_filter *probe, bool all, double expected)
{
	double		filters = 0,
				found = 0;

	if (facts->constant != NULL)
		return ProbeSaysNothing(facts->constant, probe) ? expected : FilterMayHold(facts->constant, probe, all);
	if (HeapTupleIsValid(facts->column.statsTuple) && facts->column.acl_ok)
	{
		TestSample(&facts->column, STATISTIC_KIND_MCV, probe, all, &filters, &found);
		TestSample(&facts->column, STATISTIC_KIND_HISTOGRAM, probe, all, &filters, &found);
	}
	return fmax((found + expected) / (filters + 1), Combine(facts->fpr, (double) blx_hashes_count(probe), all));
}

static double
FilterSelectivity(PlannerInfo *root, const FilterFacts *facts, const Membership *m)
{
	Node	   *keys = estimate_expression_value(root, m->keys);
	const blx_filter *probe = NULL;
	double		expected,
				chance = WithFalsePositives(facts, facts->chance);

	/* constant keys can be tested */
	if (IsA(keys, Const))
	{
		if (((Const *) keys)->constisnull)
			return 0;
		probe = ProbeOfConstant((Const *) keys, m->form);
	}

	/* from the numbers of keys, then from samples */
	if (m->form == PROBE_SET)	/* if the number of keys is not known, as for one */
		expected = probe != NULL ? Combine(chance, (double) blx_hashes_count(probe), m->all) : chance;
	else
		expected = m->form == KEY_ARRAY ? ArraySelectivity(root, facts, keys, m->all) : KeySelectivity(root, facts, keys);
	if (probe != NULL)
		expected = SampledSelectivity(facts, probe, m->all, expected);
	return (1 - facts->nulls) * expected;
}

double
MembershipSelectivity(PlannerInfo *root, const Membership *m)
{
	FilterFacts facts;
	double		selectivity = UNKNOWN_SELECTIVITY;

	if (m->is_prefilter)
		return 1;
	if (GatherFilterFacts(root, m->filter, &facts))
		selectivity = FilterSelectivity(root, &facts, m);
	ReleaseVariableStats(facts.column);
	return fmax(0, fmin(1, selectivity));
}

/* The rows on the right side of a semijoin; keys that repeat make no difference. */
static double
InnerRows(PlannerInfo *root, Node *keys, const SpecialJoinInfo *join)
{
	int			only;
	RelOptInfo *rel = bms_get_singleton_member(join->min_righthand, &only)
		? find_base_rel(root, only) : find_join_rel(root, join->min_righthand);
	double		rows = rel ? rel->rows : 1;
	VariableStatData key;
	bool		is_default;

	if (keys == NULL)
		return rows;
	examine_variable(root, keys, 0, &key);
	if (key.rel != NULL && bms_is_subset(key.rel->relids, join->min_righthand))
		rows = fmin(rows, get_variable_numdistinct(&key, &is_default));
	ReleaseVariableStats(key);
	return rows;
}

double
ShareWithPartner(PlannerInfo *root, double share, Node *keys, const SpecialJoinInfo *join)
{
	return Combine(share, InnerRows(root, keys, join), false);
}
