/*
 * registry.h - what is known of running queries, and the way from a plan node to its point.
 */
#pragma once

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"

#include "runtimefilter/runtimefilter.h"

#pragma GCC visibility push(hidden)

struct FilteredQuery
{
	dlist_node	node;
	EState	   *estate;
	MemoryContext context;		/* es_query_cxt */
	MemoryContextCallback at_end;
	List	   *filters;		/* of RuntimeFilter */
	List	   *points;			/* of FilterPoint */
	List	   *unfiltered;		/* of UnfilteredJoin, if EXPLAIN shows them */
	uint64		completions;	/* counts those of all filters: what was learned of them before may be void */
	TimestampTz statement;		/* when the client's statement began */
	XLogRecPtr	position;		/* PositionOfSnapshot, if page ranges can be skipped */
	double		on_bounds,		/* nanoseconds spent to read bounds of partitions, */
				for_bounds;		/* and that may be spent */
	bool		has_filters;	/* not only what optional parts do on their own */
	bool		is_shown_only;	/* by EXPLAIN without ANALYZE */
	bool		is_reported;	/* somebody else has reported it */
	Oid			role;			/* whose query it is */
	enum
	{
		HIDING_UNKNOWN, HIDES_NOTHING, HIDES_ROWS
	}			hiding;			/* row-level security or a security barrier */
	struct ParallelQuery *parallel; /* what its processes share; NULL if there is nothing */
};

/* Why a join has no filter, for EXPLAIN. */
typedef struct UnfilteredJoin
{
	PlanState  *ps;
	const char *reason;
} UnfilteredJoin;

/* True if reasons are shown: by EXPLAIN before a query runs, and by bloomx.explain_conditions after it has. */
extern bool WantsReasons(const EState *estate);

/* Keeps the first reason of a join, if it will be shown. */
extern void NoFilter(FilteredQuery *query, PlanState *join, const char *reason);

/*
 * True if a key may be tested before, or below, the conditions of the filtered side:
 * no condition hides rows from the user, or the equality is leakproof.
 */
extern bool MayTestEarly(FilteredQuery *query, Oid equality);

/* What is kept of a query that is starting. */
extern FilteredQuery *NewFilteredQuery(EState *estate);

/* NULL if the query has no filters.  Cheap if none has that runs. */
extern FilteredQuery *FindFilteredQuery(EState *estate);

/* Points by node. */
typedef struct PointEntry
{
	const PlanState *ps;
	FilterPoint *point;
	char		status;
} PointEntry;

#define SH_PREFIX points
#define SH_ELEMENT_TYPE PointEntry
#define SH_KEY_TYPE const PlanState *
#define SH_KEY ps
#define SH_HASH_KEY(table, ps) ((uint32) (((uint64) (uintptr_t) (ps) * UINT64CONST(0x9E3779B97F4A7C15)) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

extern points_hash *all_points; /* of all queries; NULL if there never was one */
extern FilterPoint *last_point; /* that was looked for; never NULL */

/* The point of a node; NULL if it has none.  Called for each row, and mostly the point is that of the row before. */
static inline FilterPoint *
FindPoint(const PlanState *ps)
{
	PointEntry *entry;

	if (likely(last_point->ps == ps))
		return last_point;
	if (all_points == NULL || (entry = points_lookup(all_points, ps)) == NULL)
		return NULL;
	return last_point = entry->point;
}

/* The point of a node, which is made with that method if there is none. */
extern FilterPoint *GetPoint(FilteredQuery *query, PlanState *ps, ExecProcNodeMtd method);

/* True if the method is one of the server, not of another module. */
extern bool IsOfServer(ExecProcNodeMtd method);

/* Visits the node and all below it until a visit returns true, and then does the same: each once, also what several subplans share. */
extern bool VisitPlan(PlanState *ps, bool (*visit) (PlanState *ps, void *context), void *context);

#pragma GCC visibility pop
