/*
 * planner.h - what the planner's files share.
 *
 *   planner.c               what PostgreSQL calls: selectivity, cost, index conditions
 *   planner_selectivity.c   the share of rows that membership keeps
 *   planner_filter.c        what is known of a filter before the query runs
 *   planner_implied.c       what a join already says of a pre-filter
 *   statistics.c            what ANALYZE keeps of a column of filters
 *   probe.c                 membership as a condition that an index can take
 */
#ifndef BLOOMX_PLANNER_H
#define BLOOMX_PLANNER_H

#include "pg/base/objects.h"

#include "core/bloomx.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "utils/selfuncs.h"

#pragma GCC visibility push(hidden)

/* ---- probe.c ---- */

typedef enum KeysForm
{
	ONE_KEY,
	KEY_ARRAY,
	ONE_HASH,
	PROBE_SET					/* a bloomfilter as of bloom_probe */
} KeysForm;

/* What a call asks, whatever its spelling: may the filter hold all, or any, of these keys? */
typedef struct Membership
{
	Node	   *filter;
	Node	   *keys;
	KeysForm	form;
	bool		all;
	bool		is_prefilter;	/* bloom_prefilter: implied by a join, says its writer */
} Membership;

/* False when it is no membership, or the arguments have not the types that are declared. */
extern bool ReadMembership(Oid function, List *args, Membership *m);

/* Constant keys, not NULL, as the set on the right side of ?& and ?|. */
extern const blx_filter *ProbeOfConstant(const Const *keys, KeysForm form);

extern List *IndexCondition(SupportRequestIndexCondition *request);

/* ---- statistics.c ---- */

/* Means over a column's filters. */
typedef struct FilterStatistics
{
	double		keys;
	double		fpr;
	double		bytes;
	double		shared;			/* the part of a filter's keys that another filter of the column has too */
} FilterStatistics;

extern bool GetFilterStatistics(HeapTuple pg_statistic, FilterStatistics *statistics);

/* ---- planner_filter.c ---- */

/* What is known of a filter, or on average of those that an expression gives for many rows. */
typedef struct FilterFacts
{
	const blx_filter *constant; /* the filter itself, or NULL */
	double		keys;
	double		fpr;
	double		nulls;			/* fraction of the filters that are NULL */
	double		universe;		/* distinct values that its keys were taken from; 0 = not known */
	double		chance;			/* that it holds an arbitrary key */
	VariableStatData column;	/* statistics of the column that holds the filters; release it */
	/* the bloom_agg, without GROUP BY, that it is, and its query; or NULL */
	const Aggref *aggregate;
	PlannerInfo *source;
} FilterFacts;

/* False when nothing is known. */
extern bool DescribeFilter(PlannerInfo *root, Node *filter, FilterFacts *facts);

/* Distinct values of an expression of the query; 0 = not known. */
extern double DistinctValues(PlannerInfo *root, Node *expr);

/* The mean size of the filters of a column; 0 = not known. */
extern double FilterColumnBytes(PlannerInfo *root, Node *filter);

/* The planned query of the InitPlan that sets a parameter, and which of its columns does; or NULL. */
extern PlannerInfo *InitPlanRoot(PlannerInfo *root, const Param *param, int *column);

/* The planned query of a CTE that is computed once, or NULL. */
extern PlannerInfo *CteRoot(PlannerInfo *root, const RangeTblEntry *rte);

/* ---- planner_implied.c ---- */

/*
 * Of the keys that a join on `key` keeps, the share that the filter was made of,
 * where the join is with the table that these were taken from; 0 = there is none
 * such.
 */
extern double ShareOfJoinedKeys(PlannerInfo *root, Node *key, const FilterFacts *facts);

/* Is the same filter asked of an equal column of another table, whose estimate counts it already? */
extern bool IsAskedElsewhere(PlannerInfo *root, const Membership *m);

/* ---- planner_selectivity.c ---- */

/* Nobody filters to keep most rows. */
#define UNKNOWN_SELECTIVITY 0.01

extern double MembershipSelectivity(PlannerInfo *root, const Membership *m);
extern double MembershipJoinSelectivity(PlannerInfo *root, const Membership *m, JoinType type, SpecialJoinInfo *join);

#pragma GCC visibility pop

#endif							/* BLOOMX_PLANNER_H */
