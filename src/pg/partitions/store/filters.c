/*
 * filters.c - the filters in the store's pages: testing, adding, filling, transposing.
 *
 * Bits are set under the exclusive lock of their page, with a WAL record that has images
 * of pages after a checkpoint; bloomset/stages/adding.c says why nothing less will do.
 */
#include "pg/partitions/store/filters.h"

#include <math.h>

#include "access/xloginsert.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/rel.h"

#include "pg/index/pages/wal.h"

static inline uint32
BlockOfKey(const StoreSlot *filter, uint64 hash)
{
	return (uint32) blx_scale(hash, filter->blocks);
}

uint32
BlocksForKeys(double keys)
{
	double		blocks = Max(ceil(keys * BITS_PER_KEY / BLOCK_ROWS), MOST_COLUMNS);
	int			exponent;
	double		fraction = frexp(Min(blocks, INT32_MAX / 2), &exponent);	/* 0.5 .. 1 */

	return (uint32) ldexp(ceil(fraction * 16) / 16, exponent);
}

/* ---- testing ---- */

static bool
HasKey(const uint8 *block, const uint16 *rows)
{
	for (int i = 0; i < KEY_ROWS; i++)
		if (!HasRow(block, rows[i]))
			return false;
	return true;
}

static ColumnBits
ColumnsOfRow(const uint8 *block, uint32 width, uint32 row)
{
	ColumnBits	bits = 0;

	/* a row has its columns in the order of the bytes, and of the bits in each */
	if (width == MOST_COLUMNS)
		memcpy(&bits, block + row * sizeof bits, sizeof bits);
	else
		memcpy(&bits, block + row * (width / 8), width / 8);
	return bits;
}

ColumnBits
ColumnsWithKey(Relation rel, const StoreSlot *filter, uint64 hash, bool *is_damaged)
{
	uint32		number = BlockOfKey(filter, hash);
	Buffer		buffer = ReadStorePage(rel, PageOfBlock(filter, number), FILTER_PAGE, filter->generation, BUFFER_LOCK_SHARE);
	const uint8 *block;
	uint16		rows[KEY_ROWS];
	ColumnBits	bits = ~(ColumnBits) 0;

	if (!BufferIsValid(buffer))
	{
		*is_damaged = true;
		return bits;
	}
	block = BlockOnPage(filter, BufferGetPage(buffer), number);
	RowsOfKey(hash, rows);
	if (filter->width == 1)
		bits = HasKey(block, rows) ? bits : 0;
	else
		for (int i = 0; i < KEY_ROWS && bits != 0; i++)
			bits &= ColumnsOfRow(block, filter->width, rows[i]);
	UnlockReleaseBuffer(buffer);
	return bits;
}

/* ---- open filters ---- */

/* Under the lock of its page. */
static void
AddKey(Relation rel, const StoreSlot *filter, Buffer buffer, uint64 hash)
{
	uint8	   *block = BlockOnPage(filter, BufferGetPage(buffer), BlockOfKey(filter, hash));
	uint8		bits[BLOCK_ROWS / 8];
	uint16		rows[KEY_ROWS];
	BloomxChange change;		/* 12 kB, of which little is used */

	RowsOfKey(hash, rows);
	if (HasKey(block, rows))
		return;
	memcpy(bits, block, sizeof bits);
	for (int i = 0; i < KEY_ROWS; i++)
		bits[rows[i] / 8] |= 1 << rows[i] % 8;
	change.buffer = buffer;
	BloomxStartChanges(&change, 1, rel);
	/* with a version whose records are made by comparing pages, change.page is a copy */
	BloomxChangeSomeBytes(&change, change.page + ((char *) block - (char *) BufferGetPage(buffer)), bits, sizeof bits);
	BloomxFinishChanges(&change, 1, rel);
}

/*
 * The metapage is locked, too, in shared mode: as long as the directory says that keys
 * of the leaf go into this filter, whoever supersedes it has not begun.
 */
bool
AddToOpenFilter(Relation rel, const Store *store, uint32 number, uint64 hash, bool *is_damaged)
{
	const StoreSlot *filter = &store->slots[number];
	Buffer		meta = ReadStoreMeta(rel),
				buffer;
	bool		current;

	LockBuffer(meta, BUFFER_LOCK_SHARE);
	current = StoreMetaOf(BufferGetPage(meta))->changes == store->changes;
	if (current)
	{
		buffer = ReadStorePage(rel, PageOfBlock(filter, BlockOfKey(filter, hash)), FILTER_PAGE, filter->generation, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buffer))
			*is_damaged = true;
		else
		{
			AddKey(rel, filter, buffer, hash);
			UnlockReleaseBuffer(buffer);
		}
	}
	UnlockReleaseBuffer(meta);
	return current && !*is_damaged;
}

static double
ShareOfBytes(const uint8 *bytes, uint32 n)
{
	return (double) pg_popcount((const char *) bytes, (int) n) / (8.0 * n);
}

/* A filter that has as many keys as it was made for has this share of its bits. */
static double
FullShare(void)
{
	return 1 - exp(-(double) KEY_ROWS / BITS_PER_KEY);
}

bool
IsPageFull(Relation rel, const StoreSlot *filter, uint64 hash)
{
	uint32		first = BlockOfKey(filter, hash) / BlocksPerPage(filter) * BlocksPerPage(filter),
				n = Min(BlocksPerPage(filter), filter->blocks - first);
	Buffer		buffer = ReadStorePage(rel, PageOfBlock(filter, first), FILTER_PAGE, filter->generation, BUFFER_LOCK_SHARE);
	bool		full;

	if (!BufferIsValid(buffer))
		return false;
	full = ShareOfBytes(BlockOnPage(filter, BufferGetPage(buffer), first), n * (BLOCK_ROWS / 8)) >= FullShare();
	UnlockReleaseBuffer(buffer);
	return full;
}

/* ---- pages that nobody knows yet ---- */

static Buffer
LockOwnPage(Relation rel, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

void
StartPages(Relation rel, const StoreSlot *filter)
{
	for (uint32 i = 0; i < PagesOfFilter(filter); i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, filter->start + i, RBM_ZERO_AND_LOCK, NULL);
		BloomxInitPage(BufferGetPage(buffer), FILTER_PAGE, filter->generation);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

void
FillPages(Relation rel, const StoreSlot *filter, const uint64 *hashes, uint64 n)
{
	Buffer		buffer = InvalidBuffer;

	for (uint64 i = 0; i < n; i++)
	{
		uint32		number = BlockOfKey(filter, hashes[i]);
		BlockNumber page = PageOfBlock(filter, number);
		uint8	   *block;
		uint16		rows[KEY_ROWS];

		if (!BufferIsValid(buffer) || BufferGetBlockNumber(buffer) != page)
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			CHECK_FOR_INTERRUPTS();
			buffer = LockOwnPage(rel, page);
			MarkBufferDirty(buffer);
		}
		block = BlockOnPage(filter, BufferGetPage(buffer), number);
		RowsOfKey(hashes[i], rows);
		for (int j = 0; j < KEY_ROWS; j++)
			block[rows[j] / 8] |= 1 << rows[j] % 8;
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

void
LogPages(Relation rel, const StoreSlot *filter)
{
	if (RelationNeedsWAL(rel))
		log_newpage_range(rel, MAIN_FORKNUM, filter->start, filter->start + PagesOfFilter(filter), true);
}

/* ---- transposing ---- */

static inline bool
HasBit(const uint8 *block, uint32 width, uint32 row, uint32 column)
{
	return width == 1 ? HasRow(block, row) : (block[row * (width / 8) + column / 8] >> column % 8 & 1) != 0;
}

/* Copies a leaf's column of the blocks from `first` on into another filter's page.  Each has as many rows. */
static void
CopyColumn(Relation rel, const StoreSlot *filter, uint8 *to, uint32 column, const NewColumn *new, uint32 first, uint32 n)
{
	const StoreSlot *source = &new->source;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		number = first + i;
		Buffer		buffer = ReadStorePage(rel, PageOfBlock(source, number), FILTER_PAGE, source->generation, BUFFER_LOCK_SHARE);
		uint8	   *block = to + i * (BLOCK_ROWS / 8 * filter->width);

		/* if the page is gone, the leaf has got another filter meanwhile, and the column will have no leaf; if it is damaged, it may have had any key */
		for (uint32 row = 0; row < BLOCK_ROWS; row++)
			if (!BufferIsValid(buffer) || HasBit(BlockOnPage(source, BufferGetPage(buffer), number), source->width, row, new->leaf.column))
				block[row * (filter->width / 8) + column / 8] |= 1 << column % 8;
		if (BufferIsValid(buffer))
			UnlockReleaseBuffer(buffer);
	}
}

void
WriteColumns(Relation rel, const StoreSlot *filter, const NewColumn *columns, int n)
{
	PGAlignedBlock image;

	for (uint32 page = 0; page < PagesOfFilter(filter); page++)
	{
		uint32		first = page * BlocksPerPage(filter);
		Buffer		buffer;

		VacuumDelayPoint();
		BloomxInitPage(image.data, FILTER_PAGE, filter->generation);
		for (int i = 0; i < n; i++)
			CopyColumn(rel, filter, (uint8 *) StoreContents(image.data), i, &columns[i], first, Min(BlocksPerPage(filter), filter->blocks - first));
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, filter->start + page, RBM_ZERO_AND_LOCK, NULL);
		memcpy(BufferGetPage(buffer), image.data, BLCKSZ);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

/* ---- reports ---- */

#define SAMPLED_BLOCKS 512

double
ShareOfColumn(Relation rel, const StoreSlot *filter, uint32 column, double *rate)
{
	uint32		step = Max(1, filter->blocks / SAMPLED_BLOCKS),
				n = 0;
	double		sum = 0;

	*rate = 0;
	for (uint32 number = 0; number < filter->blocks; number += step, n++)
	{
		Buffer		buffer = ReadStorePage(rel, PageOfBlock(filter, number), FILTER_PAGE, filter->generation, BUFFER_LOCK_SHARE);
		uint32		set = 0;

		for (uint32 row = 0; row < BLOCK_ROWS; row++)
			set += !BufferIsValid(buffer) || HasBit(BlockOnPage(filter, BufferGetPage(buffer), number), filter->width, row, column);
		if (BufferIsValid(buffer))
			UnlockReleaseBuffer(buffer);
		sum += (double) set / BLOCK_ROWS;
		*rate += pow((double) set / BLOCK_ROWS, KEY_ROWS);
	}
	*rate /= n;
	return sum / n;
}
