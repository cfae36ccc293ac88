/*
 * planner.h - what the planner's files share, from the ground up.
 *
 *   statistics.c        what ANALYZE keeps of a column of filters
 *   membership.c        reads a membership call from a plan tree
 *   index_condition.c   membership as a condition that an index can take
 *   facts.c             what is known of a filter before the query runs
 *   selectivity.c       the share of rows that membership keeps
 *   overlap.c           the share of rows whose filters may overlap
 *   support.c           what PostgreSQL calls: selectivity, cost, index conditions
 */
#pragma once

#include "pg/base/objects.h"

#include "core/bloomx.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "utils/selfuncs.h"

/* ---- membership.c ---- */

/* What the keys' argument is. */
typedef enum KeysForm
{
	ONE_KEY,
	KEY_ARRAY,
	ONE_HASH,
	PROBE_SET					/* a bloomfilter made by bloomx_probe */
} KeysForm;

/* A membership function: what it asks, and how an index is asked the same. */
typedef struct MembershipForm
{
	OwnFunction function;
	int			filter;			/* number of the filter's argument, 0 or 1 */
	KeysForm	keys;			/* the other argument */
	bool		all;			/* true if all keys must be held, false if any */
	bool		indexed;		/* false if no index is asked */
	OwnOperator operator;		/* filter operator probe(keys) */
	OwnFunction probe;
	OwnOperator text_operator;	/* filter text_operator keys, for untyped keys; NO_OPERATOR if these have a type */
} MembershipForm;

/* NULL if it is no membership function. */
extern const MembershipForm *FindMembershipForm(OwnFunction function);

/* A call that asks whether the filter may hold all, or any, of some keys, however it is spelled. */
typedef struct Membership
{
	Node	   *filter;
	Node	   *keys;
	KeysForm	form;
	bool		all;
	bool		is_prefilter;	/* bloom_prefilter: the query's author says that a join implies it */
} Membership;

/* False if it is no membership call, or its arguments do not have the declared types. */
extern bool ReadMembership(Oid function, List *args, Membership *m);

/* Constant keys, not NULL, as the set on the right side of ?& and ?|.  NULL if they cannot be keys, which is an error when the query runs. */
extern const blx_filter *ProbeOfConstant(const Const *keys, KeysForm form);

/* ---- index_condition.c ---- */

/* A list of the one condition, or NIL if this index cannot take it. */
extern List *MembershipIndexCondition(SupportRequestIndexCondition *request);

/* ---- statistics.c ---- */

/* Means over a column's filters. */
typedef struct FilterStatistics
{
	double		keys;
	double		fpr;
	double		bytes;
	double		shared;			/* the part of a filter's keys that another filter of the column has too */
	double		overlaps;		/* the share of pairs of filters of the column that may overlap; negative = not known */
} FilterStatistics;

extern bool GetFilterStatistics(HeapTuple pg_statistic, FilterStatistics *statistics);

/* ---- facts.c ---- */

/* What is known of a filter, or on average of the filters that an expression yields for many rows. */
typedef struct FilterFacts
{
	const blx_filter *constant; /* the filter itself, or NULL */
	double		keys;
	double		fpr;
	double		nulls;			/* fraction of the filters that are NULL */
	double		universe;		/* distinct values that its keys were taken from; 0 = not known */
	double		chance;			/* probability that it holds an arbitrary key */
	VariableStatData column;	/* statistics of the column that holds the filters; release it */
} FilterFacts;

/* False if nothing is known. */
extern bool GatherFilterFacts(PlannerInfo *root, Node *filter, FilterFacts *facts);

/* False if the planner has not yet seen the tables of the expression: an outer query is planned after its subqueries. */
extern bool TablesAreKnown(PlannerInfo *root, Node *expr);

/* Distinct values of an expression of the query; 0 = not known. */
extern double EstimateDistinctValues(PlannerInfo *root, Node *expr);

/* The mean size of the filters of a column; 0 = not known. */
extern double MeanFilterBytes(PlannerInfo *root, Node *filter);

/* ---- selectivity.c ---- */

/*
 * The estimate if nothing is known.  Nobody filters to keep most rows; 0.01 is
 * the rate of a default filter, and so the share of rows that remains if it
 * holds none of the keys.
 */
#define UNKNOWN_SELECTIVITY 0.01

extern double MembershipSelectivity(PlannerInfo *root, const Membership *m);

/*
 * The share of rows on the left of a semijoin or an antijoin that have a partner,
 * from the share of pairs.  keys: those of the right side, or NULL.
 */
extern double ShareWithPartner(PlannerInfo *root, double share, Node *keys, const SpecialJoinInfo *join);

/* ---- overlap.c ---- */

/* The selectivity of a && b, or of a !&& b. */
extern double OverlapSelectivity(PlannerInfo *root, List *args, bool overlap);
