/*
 * plans.c - geometries that are planned once.
 */
#include "pg/base/base.h"

/*
 * A plan is a search over geometries.  A GROUP BY with an aggregate asks for the
 * same capacities over and over, once per group.  Small capacities, the numbers
 * of keys in the groups, have a place each; larger ones share the places, for
 * they are usually one constant in a query.  Only the two numbers of a geometry
 * that differ are kept: a place takes 24 bytes.
 */
#define PLANS 1024

typedef struct KnownPlan
{
	uint64		capacity;		/* 0 = none yet */
	double		fpr;
	uint32		blocks;
	uint16		parts;
} KnownPlan;

blx_geometry
PlanDefaultLayout(uint64 capacity, double fpr)
{
	static KnownPlan plans[PLANS];
	KnownPlan  *plan = &plans[capacity % PLANS];
	blx_geometry geometry = {.layout = BLX_PARTITIONED_BLOCKED, .probes = 1, .part_bits = 64};
	blx_error	error;

	if (plan->capacity == capacity && plan->fpr == fpr && capacity > 0)
	{
		geometry.blocks = plan->blocks;
		geometry.parts = plan->parts;
		return geometry;
	}
	if (!blx_plan(BLX_PARTITIONED_BLOCKED, capacity, fpr, NULL, &geometry, &error))
		ThrowCoreError(&error);
	*plan = (KnownPlan) {capacity, fpr, geometry.blocks, geometry.parts};
	return geometry;
}

/*
 * The plan of some layouts takes milliseconds.  In bloom_agg(v, bloom_empty(capacity,
 * fpr, 'dynamic_blocked')) the template is made for each input row, if its arguments
 * come from an outer query or from the row.  They seldom change from one row to
 * the next: the last plan is remembered.
 */
blx_geometry
PlanLayout(uint8 layout, uint64 capacity, double fpr, const blx_options *options)
{
	static struct
	{
		uint8		layout;		/* BLX_HASHES, which is never planned: none yet */
		uint64		capacity;
		double		fpr;
		blx_options options;
		blx_geometry geometry;
	}			last;
	blx_error	error;

	if (last.layout == layout && last.capacity == capacity && last.fpr == fpr &&
		memcmp(&last.options, options, sizeof(blx_options)) == 0)
		return last.geometry;
	last.layout = BLX_HASHES;
	if (!blx_plan(layout, capacity, fpr, options, &last.geometry, &error))
		ThrowCoreError(&error);
	last.capacity = capacity;
	last.fpr = fpr;
	last.options = *options;
	last.layout = layout;
	return last.geometry;
}
