/*
 * metapage.c - pages, the metapage, checksums of the directory, free pages.
 *
 * Free pages are runs in the metapage.  A run that does not fit there is
 * forgotten until VACUUM collects the pages that nothing refers to (space.c),
 * which also finds what a crash left behind.
 *
 * A lookup that trusts a damaged directory overlooks rows.  So the metapage and
 * the directory carry checksums of their own, because a server may run without
 * page checksums.  What has the right checksum is believed.
 */
#include "pg/index/bloomx/format/metapage.h"

#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "pg/index/bloomx/format/options.h"

StaticAssertDecl(sizeof(BloomxMeta) <= PAGE_BYTES, "the metapage must fit");
StaticAssertDecl(sizeof(BloomxKeys) == 16 + BLX_MAX_NAME + 1, "what is on disk has no gaps");

/* ---- the metapage ---- */

/* Covers only the entries in use: an index of few segments is summed up quickly, by every lookup and INSERT. */
static uint32
MetaChecksum(const BloomxMeta *meta)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	COMP_CRC32C(sum, &meta->segments, offsetof(BloomxMeta, directory) - offsetof(BloomxMeta, segments));
	COMP_CRC32C(sum, meta->directory, meta->directory_pages * sizeof(BlockNumber));
	COMP_CRC32C(sum, meta->free, meta->free_runs * sizeof(BloomxRun));
	FIN_CRC32C(sum);
	return sum;
}

/* Every lookup sums up the directory: of the zeros at its end, which most of a page is, it sums up nothing. */
static uint32
DirectoryChecksum(Page page)
{
	const uint64 *words = (const uint64 *) PageGetContents(page);
	uint32		n = DIRECTORY_SEGMENTS * sizeof(BloomxSegment) / sizeof(uint64);

	while (n >= 4 && (words[n - 1] | words[n - 2] | words[n - 3] | words[n - 4]) == 0)
		n -= 4;
	return BloomxChecksum(words, n * sizeof(uint64));
}

void
BloomxSealMeta(BloomxMeta *meta)
{
	meta->checksum = MetaChecksum(meta);
}

void
BloomxSealDirectory(Page page)
{
	BloomxGetPageOpaque(page)->extra = DirectoryChecksum(page);
}

bool
BloomxDirectoryIsSound(Page page)
{
	return BloomxGetPageOpaque(page)->extra == DirectoryChecksum(page);
}

/* Counts that are too large would lead the checksum beyond the page. */
static bool
IsSound(const BloomxMeta *meta)
{
	return meta->directory_pages <= MAX_DIRECTORY_PAGES && meta->free_runs <= MAX_FREE_RUNS && meta->checksum == MetaChecksum(meta);
}

/* Looks into no catalog: the caller may hold the extension lock, and the lock of the metapage. */
bool
BloomxIsOfFilters(Relation index)
{
	return !OidIsValid(index_getprocid(index, 1, EXTRACT_FUNCTION));
}

BloomxMeta *
BloomxGetMeta(Relation index, Page page)
{
	BloomxMeta *meta = (BloomxMeta *) PageGetContents(page);

	if (!BloomxPageIs(page, META_PAGE, 0) || meta->magic != BLOOMX_INDEX_MAGIC || meta->version != BLOOMX_INDEX_VERSION)
		BloomxReportCorruption(index, META_BLOCK, "It is not the metapage of a bloomx index.");
	if (!IsSound(meta) || meta->keys.of_values != !BloomxIsOfFilters(index))
		BloomxReportCorruption(index, META_BLOCK, "The metapage has a wrong checksum.");
	return meta;
}

BloomxMeta *
BloomxStartMetaChange(BloomxMetaChange *change, Relation index)
{
	change->buffer = ReadBuffer(index, META_BLOCK);
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	change->state = GenericXLogStart(index);
	change->meta = BloomxGetMeta(index, GenericXLogRegisterBuffer(change->state, change->buffer, 0));
	return change->meta;
}

void
BloomxFinishMetaChange(const BloomxMetaChange *change)
{
	BloomxSealMeta(change->meta);
	GenericXLogFinish(change->state);
	UnlockReleaseBuffer(change->buffer);
}

void
BloomxAbortMetaChange(const BloomxMetaChange *change)
{
	GenericXLogAbort(change->state);
	UnlockReleaseBuffer(change->buffer);
}

void
BloomxInitMetaPage(Relation index, Page page)
{
	BloomxOptions options = BloomxGetOptions(index);
	BloomxMeta *meta = (BloomxMeta *) PageGetContents(page);

	BloomxInitPage(page, META_PAGE, 0);
	memset(meta, 0, sizeof *meta);
	meta->magic = BLOOMX_INDEX_MAGIC;
	meta->version = BLOOMX_INDEX_VERSION;
	for (int i = 0; i < PENDING_LISTS; i++)
		meta->pending[i].generation = (uint64) i << LIST_SHIFT;
	meta->next_generation = 1;
	meta->keys.of_values = !BloomxIsOfFilters(index);
	if (options.signature_bits > 0 && !meta->keys.of_values)
	{
		BloomxGeometrySample none = {0};
		blx_geometry geometry = BloomxChooseGeometry(options.signature_bits, options.hash_functions, &none);

		BloomxSetGeometry(&meta->keys, &geometry);
	}
	BloomxSealMeta(meta);
}

void
BloomxWriteKeys(Relation index, const BloomxKeys *keys)
{
	BloomxMetaChange change;
	BloomxMeta *meta = BloomxStartMetaChange(&change, index);

	/* an INSERT may have set the type since the caller read it */
	if (meta->keys.key_type == BLX_KEY_NONE)
		meta->keys = *keys;
	meta->keys.parts = keys->parts;
	meta->keys.log2_blocks = keys->log2_blocks;
	meta->keys.width = keys->width;
	BloomxFinishMetaChange(&change);
}

/* ---- free pages ---- */

BlockNumber
BloomxTakeFreePages(BloomxMeta *meta, uint32 pages)
{
	return BloomxTakeRun(meta->free, &meta->free_runs, pages);
}

void
BloomxFreePages(BloomxMeta *meta, BlockNumber start, uint32 pages)
{
	BloomxAddRun(meta->free, &meta->free_runs, MAX_FREE_RUNS, (BloomxRun) {start, pages}, false);
}

uint32
BloomxCountFreePages(const BloomxMeta *meta)
{
	uint32		pages = 0;

	for (uint32 i = 0; i < meta->free_runs; i++)
		pages += meta->free[i].pages;
	return pages;
}

/* 128 pages, one megabyte: other backends wait for the extension lock meanwhile, and interrupts are held off. */
#define EXTENSION_PAGES 128

/*
 * One WAL record makes the new pages free pages and writes the last of them, so
 * that the file has its length after a crash and on a standby, too.  Interrupts
 * are held off, so no page is left without an owner.
 */
void
BloomxExtendIndex(Relation index, uint32 pages)
{
	BloomxMetaChange change;
	BloomxMeta *meta;
	Buffer		buffer = InvalidBuffer;
	BlockNumber first = InvalidBlockNumber;

	CHECK_FOR_INTERRUPTS();
	pages = Min(pages, EXTENSION_PAGES);
	LockRelationForExtension(index, ExclusiveLock);
	HOLD_INTERRUPTS();

	/* lengthen the file; only the last buffer stays pinned */
	for (uint32 i = 0; i < pages; i++)
	{
		if (BufferIsValid(buffer))
			ReleaseBuffer(buffer);
		buffer = ReadBuffer(index, P_NEW);
		if (i == 0)
			first = BufferGetBlockNumber(buffer);
	}

	/* nobody refers to the new pages until this record */
	meta = BloomxStartMetaChange(&change, index);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	BloomxInitPage(GenericXLogRegisterBuffer(change.state, buffer, GENERIC_XLOG_FULL_IMAGE), FREE_PAGE, 0);
	BloomxAddRun(meta->free, &meta->free_runs, MAX_FREE_RUNS, (BloomxRun) {first, pages}, true);	/* keep: the caller waits for them */
	BloomxFinishMetaChange(&change);
	UnlockReleaseBuffer(buffer);
	RESUME_INTERRUPTS();
	UnlockRelationForExtension(index, ExclusiveLock);
}

BloomxMeta *
BloomxReserve(BloomxMetaChange *change, Relation index, uint32 pages, BlockNumber *start)
{
	for (;;)
	{
		BloomxMeta *meta = BloomxStartMetaChange(change, index);

		*start = BloomxTakeFreePages(meta, pages);
		if (*start != InvalidBlockNumber)
			return meta;
		BloomxAbortMetaChange(change);
		BloomxExtendIndex(index, pages);
	}
}
