/*
 * check_places.h - what the files of bloomx_check_index share:
 *
 *   check_places.c         where the rows are in the index
 *   check_filters.c  the bits of filters
 *   check_values.c   the bits of values
 *   check.c          the whole
 */
#pragma once

#include "pg/base/base.h"

#include "pg/index/bloomx/format/metapage.h"
#include "utils/relcache.h"

#define IN_PENDING PG_UINT32_MAX

/* Where a TID is in the index. */
typedef struct BloomxPlace
{
	ItemPointerData tid;
	uint32		segment;		/* its number, or IN_PENDING */
	uint32		row;
	uint32		of;				/* in a batch: the number of the table's row */
	bool		lacks;			/* and true if a bit of that row is not there */
} BloomxPlace;

typedef struct BloomxCheck BloomxCheck;

struct BloomxCheck
{
	Relation	index;
	BloomxDirectory *directory;
	BloomxPlace *places;		/* of all rows of the index, sorted by TID */
	Size		nplaces;
	int64		checked;
	MemoryContext row_memory;

	/* the batch: rows of the table, and their places */
	ItemPointerData *rows;
	uint32		nrows;
	uint32		most_rows;
	BloomxPlace *batch;
	Size		nbatch;
	Size		room;

	/*
	 * What filters and values do.  keep_row, in row_memory: keeps what row `number` of the
	 * batch must have in the index, and sets is_full if there is room for no other; false if
	 * the row is not in the index.  check_segment sets `lacks` of places in one segment.
	 * pending_lacks: true if a pending row of n words lacks something.
	 */
	bool		(*keep_row) (BloomxCheck *check, uint32 number, const Datum *values, const bool *isnull);
	void		(*check_segment) (BloomxCheck *check, const BloomxSegment *segment, BloomxPlace *places, Size n);
	bool		(*pending_lacks) (BloomxCheck *check, uint32 number, const uint64 *row, uint32 n);
	bool		is_full;
	void	   *state;
};

/* What check_filters.c and check_values.c offer: set most_rows, what filters or values do, and their state. */
extern void BloomxCheckFilters(BloomxCheck *check);
extern void BloomxCheckValues(BloomxCheck *check);

pg_noreturn extern void BloomxReportRow(const BloomxCheck *check, const ItemPointerData *tid, const char *problem);

/* Reads what the index consists of, and the places of all rows, of filters each once.  Needs the directory lock. */
extern void BloomxReadPlaces(BloomxCheck *check);

/* The first place of a TID, or the place after it. */
extern Size BloomxFindPlace(const BloomxCheck *check, const ItemPointerData *tid);

/* ---- info.c ---- */

/* An index that may be inspected, and its table, both locked. */
extern Relation BloomxOpenIndex(Oid id, Relation *heap);
