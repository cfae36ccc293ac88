/*
 * page.c - what every page of an index has: a kind, and the generation of what it was
 * written for.
 */
#include "pg/index/pages/page.h"

#include "port/pg_crc32c.h"
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

uint32
BloomxChecksum(const void *bytes, Size n)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	COMP_CRC32C(sum, bytes, n);
	FIN_CRC32C(sum);
	return sum;
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

/* True if the page can be one of an access method of this extension. */
static bool
IsOurs(Page page)
{
	const PageHeaderData *header = (PageHeader) page;

	return !PageIsNew(page) && PageGetPageSize(page) == BLCKSZ && PageGetPageLayoutVersion(page) == PG_PAGE_LAYOUT_VERSION &&
		header->pd_special == BLCKSZ - MAXALIGN(sizeof(BloomxPageOpaque)) && header->pd_upper == header->pd_special &&
		BloomxGetPageOpaque(page)->page_id == BLOOMX_PAGE_ID;
}

bool
BloomxPageIs(Page page, BloomxPageKind kind, uint64 generation)
{
	return IsOurs(page) && BloomxGetPageOpaque(page)->kind == kind && BloomxGetPageOpaque(page)->generation == generation &&
		LowerIsValid((PageHeader) page, kind);
}

/* ---- damage ---- */

void
BloomxReportCorruption(Relation index, BlockNumber block, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("unexpected contents at block %u of index \"%s\"", block, RelationGetRelationName(index)),
			 errdetail("%s", detail),
			 errhint("REINDEX it.")));
}

/* Says what a page is that is not of this kind and generation. */
pg_noreturn static void
ReportPage(Relation index, BlockNumber block, Page page, BloomxPageKind kind)
{
	const BloomxPageOpaque *opaque = IsOurs(page) ? BloomxGetPageOpaque(page) : NULL;

	if (opaque == NULL || opaque->kind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("unexpected page type %u at block %u of index \"%s\"", opaque == NULL ? 0 : opaque->kind, block, RelationGetRelationName(index)),
				 errhint("REINDEX it.")));
	BloomxReportCorruption(index, block, psprintf("The page has generation " UINT64_FORMAT ", which belongs to something else.", opaque->generation));
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

Buffer
BloomxReadPage(Relation index, BlockNumber block, BloomxPageKind kind, uint64 generation, int mode, bool may_be_gone)
{
	Buffer		buffer = ReadBuffer(index, block);

	if (mode == BUFFER_LOCK_EXCLUSIVE)
		BloomxLockExclusively(buffer);
	else
		LockBuffer(buffer, mode);
	if (BloomxPageIs(BufferGetPage(buffer), kind, generation))
		return buffer;
	if (!may_be_gone)
		ReportPage(index, block, BufferGetPage(buffer), kind);
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}
