/*
 * plans.c - geometries that are planned once.
 */
#include "pg/base/base.h"

/*
 * A plan is a search over geometries, and takes from a tenth of a millisecond to
 * some.  A GROUP BY with an aggregate asks for the same capacities over and over,
 * once per group; a template that is made per row, and a column with a type
 * modifier, for one.  Small capacities, the numbers of keys in groups, have a place
 * each; larger ones share the places, for they are usually one constant in a query.
 */
#define PLANS 1024

typedef struct KnownPlan
{
	uint64		capacity;		/* 0 = none yet */
	double		fpr;
	blx_options options;
	blx_geometry geometry;
} KnownPlan;

blx_geometry
PlanLayout(uint8 layout, uint64 capacity, double fpr, const blx_options *options)
{
	static KnownPlan plans[PLANS];
	KnownPlan  *plan = &plans[capacity % PLANS];

	if (plan->capacity == capacity && plan->fpr == fpr && plan->geometry.layout == layout && capacity > 0 &&
		memcmp(&plan->options, options, sizeof(blx_options)) == 0)
		return plan->geometry;
	plan->capacity = 0;			/* if the plan is an error */
	CheckCore(blx_plan(layout, capacity, fpr, options, &plan->geometry, &core_error));
	plan->capacity = capacity;
	plan->fpr = fpr;
	plan->options = *options;
	return plan->geometry;
}

blx_geometry
PlanDefaultLayout(uint64 capacity, double fpr)
{
	static const blx_options none;	/* the layout has no options */

	return PlanLayout(BLX_PARTITIONED_BLOCKED, capacity, fpr, &none);
}
