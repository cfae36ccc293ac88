/*
 * estimate.h - how full a filter is, and the complaint if it is too full.
 */
#ifndef BLOOMX_ESTIMATE_H
#define BLOOMX_ESTIMATE_H

#include "pg/base/base.h"

#include "datatype/timestamp.h"

#pragma GCC visibility push(hidden)

/* What filled a filter: the hint depends on it. */
typedef enum OverfillCause
{
	KEYS_ADDED,
	FILTERS_UNITED,
	MEMORY_EXHAUSTED,			/* the build could not take the memory that its keys asked for */
	VALUES_SUMMARISED			/* by a BRIN index */
} OverfillCause;

/* True if the filter has more bits set than its capacity explains. */
extern bool FilterIsOverfilled(const blx_filter *f);

/* Complains of an overfilled filter as bloomx.overfill says. */
extern void ReportOverfill(const blx_filter *f, OverfillCause cause);

/* True if *last, which it sets, was in another statement of the client: a notice comes once per statement, not per row. */
extern bool FirstInStatement(TimestampTz *last);

/* ERROR, NOTICE, or 0 if nothing is to be said: a notice comes once per statement and kind of cause. */
extern int	OverfillLevel(OverfillCause cause);

#pragma GCC visibility pop

#endif							/* BLOOMX_ESTIMATE_H */
