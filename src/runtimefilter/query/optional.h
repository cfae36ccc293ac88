/*
 * optional.h - parts of this room that can be left out.
 */
#pragma once

#include "utils/guc.h"

#include "runtimefilter/runtimefilter.h"

struct FilterReport;

/*
 * An optional part is a folder that no other one names.  It registers itself, when the module is
 * loaded, by a function that is a constructor; each callback may be NULL.  To leave it out is to remove
 * the folder and its line of the Makefile.
 */
typedef struct OptionalPart
{
	/* the module is being loaded: its settings and hooks */
	void		(*load) (void);
	/* its switch; NULL if it has none and does something only with filters */
	const int  *is_on;
	/* true if it may do something at a node that has no filter; asked of each node of each query, before anything is kept of the query */
	bool		(*wants) (PlanState *ps);
	/* such a node, after the joins above it: GetPoint, and what the part needs there (of_part) */
	void		(*consider) (FilteredQuery *query, PlanState *ps);
	/* the points of a query are known, and nothing has run */
	void		(*attach) (FilteredQuery *query);
	/* a filter whose keys several processes read; NULL if it can have none */
	struct SharedBuild *(*share) (RuntimeFilter *filter);
	/* what it did at its point, beside what filters did there, in this process; false if it did nothing */
	bool		(*report) (const FilterPoint *point, struct FilterReport *report);
	/* adds what a filter or a part did at a point in other processes, given the number of its shared report */
	void		(*add_to_report) (const FilteredQuery *query, int shared_report, struct FilterReport *report);
	struct OptionalPart *next;
} OptionalPart;

extern OptionalPart *optional_parts;

/* Values of a part's switch. */
typedef enum PartSwitch
{
	PART_OFF,
	PART_ON,
	PART_AUTO					/* on if bloomx.runtime_filter is */
} PartSwitch;

extern const struct config_enum_entry part_switch_options[];

static inline bool
PartIsOn(const OptionalPart *part)
{
	return part->is_on != NULL && (*part->is_on == PART_ON || (*part->is_on == PART_AUTO && bloomx_runtime_filter));
}

/* True if there is something to do for queries. */
static inline bool
AnythingIsOn(void)
{
	OptionalPart *part = optional_parts;

	if (bloomx_runtime_filter)
		return true;
	while (part != NULL && !PartIsOn(part))
		part = part->next;
	return part != NULL;
}

/* True if a part wants the node. */
extern bool IsWanted(PlanState *ps);

extern void RegisterPart(OptionalPart *part);

/* Somebody who wants the same keys as a filter.  Each callback gets the listener; what it needs stands behind it. */
typedef struct BuildListener
{
	void		(*start) (struct BuildListener *listener);	/* the sets are empty */
	void		(*add_row) (struct BuildListener *listener);	/* the keys have a row's values */
	void		(*finish) (struct BuildListener *listener); /* the filter is about to be complete */
} BuildListener;

/* What is done for a filter whose keys several processes read. */
typedef struct SharedBuild
{
	/* this process begins to read its part of the inner side */
	void		(*start_part) (RuntimeFilter *filter);
	/* it has read its part; false if that is all */
	bool		(*end_part) (RuntimeFilter *filter);
	/* makes the filter from the keys of all processes, as soon as that is possible */
	void		(*complete) (RuntimeFilter *filter);
} SharedBuild;
