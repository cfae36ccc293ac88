/*
 * page.c - what every page of an index has: a kind, and the generation of what it was
 * written for.
 */
#include "pg/index/pages/page.h"

#include "storage/s_lock.h"
#include "utils/rel.h"

void
BloomxInitPage(Page page, BloomxPageKind kind, uint64 generation)
{
	BloomxPageOpaque *opaque;

	PageInit(page, BLCKSZ, sizeof(BloomxPageOpaque));
	opaque = BloomxGetPageOpaque(page);
	opaque->generation = generation;
	opaque->kind = kind;
	opaque->page_id = BLOOMX_PAGE_ID;
	/* all of it is data; only a page of pending rows is filled little by little */
	if (kind != PENDING_PAGE)
		((PageHeader) page)->pd_lower = ((PageHeader) page)->pd_upper;
}

/* What lies between pd_lower and pd_upper does not survive a WAL record. */
static bool
LowerIsValid(const PageHeaderData *header, BloomxPageKind kind)
{
	uint32		first = MAXALIGN(SizeOfPageHeaderData);

	if (kind != PENDING_PAGE)
		return header->pd_lower == header->pd_special;
	return header->pd_lower >= first && header->pd_lower <= header->pd_special && (header->pd_lower - first) % sizeof(uint64) == 0;
}

bool
BloomxPageIs(Page page, BloomxPageKind kind, uint64 generation)
{
	PageHeader	header = (PageHeader) page;
	const BloomxPageOpaque *opaque;

	if (PageIsNew(page) || PageGetPageSize(page) != BLCKSZ || PageGetPageLayoutVersion(page) != PG_PAGE_LAYOUT_VERSION ||
		header->pd_special != BLCKSZ - MAXALIGN(sizeof(BloomxPageOpaque)) ||
		header->pd_upper != header->pd_special || !LowerIsValid(header, kind))
		return false;
	opaque = BloomxGetPageOpaque(page);
	return opaque->page_id == BLOOMX_PAGE_ID && opaque->kind == kind && opaque->generation == generation;
}

void
BloomxReportCorruption(Relation index, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged: %s", RelationGetRelationName(index), what),
			 errhint("Please REINDEX it.")));
}

/* ---- locks ---- */

/*
 * How often an insert tries to get the last page, or the metapage, before it sleeps.
 * Whoever has the page keeps it for a microsecond or two; to sleep and to be woken
 * takes several.  Two sessions that appended 800,000 rows of 256 bits each to one list
 * took 2.5 seconds without this, and 2.2 with it.
 */
#define LOCK_TRIES 50
#define PAUSES_PER_TRY 5

void
BloomxLockExclusively(Buffer buffer)
{
	for (int i = 0; i < LOCK_TRIES; i++)
	{
		if (ConditionalLockBuffer(buffer))
			return;
		for (int j = 0; j < PAUSES_PER_TRY; j++)
			SPIN_DELAY();
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
}
