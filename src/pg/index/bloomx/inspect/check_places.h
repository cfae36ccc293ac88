/*
 * check_places.h - what the files of bloomx_check_index share:
 *
 *   check_places.c         where the rows are in the index
 *   check_filters.c  the bits of filters
 *   check_values.c   the bits of values
 *   check.c          the whole
 */
#ifndef BLOOMX_CHECK_PLACES_H
#define BLOOMX_CHECK_PLACES_H

#include "pg/base/base.h"

#include "pg/index/bloomx/format/metapage.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

#define IN_PENDING PG_UINT32_MAX

/* Where a TID is in the index. */
typedef struct BloomxPlace
{
	ItemPointerData tid;
	uint32		segment;		/* its number, or IN_PENDING */
	uint32		row;
	Size		signature;		/* its number in the batch */
} BloomxPlace;

typedef struct BloomxCheck BloomxCheck;

struct BloomxCheck
{
	Relation	index;
	BloomxDirectory *directory;
	MemoryContext memory;		/* has the directory and the places; reset when they are read again */

	BloomxPlace *places;		/* sorted by TID */
	Size		nplaces;
	bool		outdated;		/* true if the geometry has been chosen: the check must begin again */
	int64		checked;
	MemoryContext row_memory;

	/*
	 * What filters and values do with a row of the table, in row_memory, and with the
	 * rows that wait to be checked together, under the directory lock.  Then `changed`
	 * is true if the index was read again since they were added.
	 */
	void		(*start) (BloomxCheck *check);
	bool		(*add_row) (BloomxCheck *check, const ItemPointerData *tid, const Datum *values, const bool *isnull);	/* true: the batch is full */
	void		(*check_batch) (BloomxCheck *check, bool changed);
	void	   *state;
};

/* What check_filters.c and check_values.c offer. */
extern void BloomxCheckFilters(BloomxCheck *check);
extern void BloomxCheckValues(BloomxCheck *check);

pg_noreturn extern void BloomxReportRow(const BloomxCheck *check, const ItemPointerData *tid, const char *problem);

/* Reads what the index consists of now, and the places of all rows.  Needs the directory lock. */
extern void BloomxReadPlaces(BloomxCheck *check);

/* The first place of a TID, or the place after it. */
extern Size BloomxFindPlace(const BloomxCheck *check, const ItemPointerData *tid);

/* Sorts by segment, the pending rows last, and then by row. */
extern void BloomxSortBatch(BloomxPlace *batch, Size n);

/* ---- info.c ---- */

/* An index that may be inspected, and its table, both locked. */
extern Relation BloomxOpenIndex(Oid id, Relation *heap);

#pragma GCC visibility pop

#endif							/* BLOOMX_CHECK_PLACES_H */
