/*
 * reader.c - reads the lists of pending rows.
 */
#include "pg/index/bloomx/pending/list.h"

#include "miscadmin.h"

/* Begins to read the first words of a list. */
static void
StartList(BloomxPendingReader *reader, int list, uint64 words)
{
	reader->pending = &reader->directory->meta.pending[list];
	reader->next = reader->pending->first;
	reader->left = words;
	reader->pages = reader->place = reader->end = 0;
}

BloomxPendingReader *
BloomxStartPending(Relation index, const BloomxDirectory *directory)
{
	BloomxPendingReader *reader = palloc0(sizeof(BloomxPendingReader));

	reader->index = index;
	reader->directory = directory;
	reader->room = PAGE_WORDS;
	reader->row = palloc(reader->room * sizeof(uint64));
	return reader;
}

BloomxPendingReader *
BloomxStartPendingList(Relation index, const BloomxDirectory *directory, int list)
{
	BloomxPendingReader *reader = BloomxStartPending(index, directory);

	reader->next_list = PENDING_LISTS;
	StartList(reader, list, directory->list_words[list]);
	return reader;
}

BloomxPendingReader *
BloomxStartPendingUnlocked(Relation index, const BloomxDirectory *directory, Snapshot snapshot)
{
	BloomxPendingReader *reader = BloomxStartPending(index, directory);

	reader->snapshot = snapshot;
	reader->may_be_gone = true;
	return reader;
}

void
BloomxEndPending(BloomxPendingReader *reader)
{
	pfree(reader->row);
	pfree(reader);
}

/* Copies the next page of the list.  False if it is gone. */
static bool
NextPage(BloomxPendingReader *reader)
{
	BlockNumber block = reader->next;
	Buffer		buffer;
	Page		page;

	CHECK_FOR_INTERRUPTS();
	if (reader->pages == reader->pending->pages)
		BloomxReportCorruption(reader->index, reader->pending->last, "A list of pending rows has more words than its pages.");
	/* the number comes from another page of the list, where nothing has checked it */
	if (block == META_BLOCK || block >= reader->directory->blocks)
		BloomxReportCorruption(reader->index, reader->pending->first, "A page of its list of pending rows names one that does not exist.");
	buffer = BloomxReadPage(reader->index, block, PENDING_PAGE, reader->pending->generation + reader->pages, BUFFER_LOCK_SHARE, reader->may_be_gone);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	CheckForOldSnapshot(reader->snapshot, reader->index, page);
	/* all pages but the last one were full when the directory was read */
	reader->end = BloomxWordsOnPage(page);
	if (reader->end < PAGE_WORDS && reader->pages + 1 < reader->pending->pages)
		BloomxReportCorruption(reader->index, block, "A page of pending rows with a successor is not full.");
	memcpy(reader->words, PageGetContents(page), reader->end * sizeof(uint64));
	reader->next = BloomxGetPageOpaque(page)->extra;
	UnlockReleaseBuffer(buffer);
	reader->place = reader->pages++ == 0 ? reader->pending->skip : 0;
	return true;
}

/* Reads on until there are `n` words of the row.  False if a page is gone. */
static bool
ReadWords(BloomxPendingReader *reader, uint32 n)
{
	if (n > reader->room)
	{
		reader->room = n;
		reader->row = repalloc(reader->row, n * sizeof(uint64));
	}
	/* a row may go on on the next page, and on the one after it */
	while (reader->n < n)
	{
		uint32		more;

		if (reader->place >= reader->end && !NextPage(reader))
			return false;
		if (reader->place >= reader->end)
			BloomxReportCorruption(reader->index, reader->pending->last, "A list of pending rows ends too early.");
		more = Min(n - reader->n, reader->end - reader->place);
		memcpy(reader->row + reader->n, reader->words + reader->place, more * sizeof(uint64));
		reader->place += more;
		reader->n += more;
	}
	return true;
}

const uint64 *
BloomxNextPending(BloomxPendingReader *reader)
{
	uint32		words;

	reader->n = 0;
	for (; reader->left == 0 && reader->next_list < PENDING_LISTS; reader->next_list++)
		StartList(reader, reader->next_list, reader->directory->list_words[reader->next_list]);
	if (reader->left == 0 || reader->gone)
		return NULL;
	reader->gone = !ReadWords(reader, 1);
	if (reader->gone)
		return NULL;
	words = BloomxRowWords(reader->directory->meta.keys.of_values, reader->row);
	if (words > Min(reader->left, MAX_ROW_WORDS))
		BloomxReportCorruption(reader->index, reader->pending->last, "A pending row is longer than its list.");
	reader->gone = !ReadWords(reader, words);
	reader->left -= words;
	return reader->gone ? NULL : reader->row;
}

int64
BloomxCountPendingRows(Relation index, const BloomxDirectory *directory)
{
	BloomxPendingReader *reader = BloomxStartPendingUnlocked(index, directory, NULL);
	const uint64 *row;
	int64		rows = 0;

	while ((row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);

		rows += ItemPointerIsValid(&tid);
	}
	BloomxEndPending(reader);
	return rows;
}

uint64 *
BloomxReadPendingRows(Relation index, const BloomxDirectory *directory, int list, uint64 end, uint32 *n, uint64 *taken)
{
	BloomxPendingReader *reader = BloomxStartPendingList(index, directory, list);
	uint64	   *rows = MemoryContextAllocHuge(CurrentMemoryContext, (end + MAX_ROW_WORDS) * sizeof(uint64)),
			   *place = rows;
	const uint64 *row;

	*n = 0;
	*taken = 0;
	while (*taken < end && (row = BloomxNextPending(reader)) != NULL)
	{
		ItemPointerData tid = BloomxPendingTid(row);

		*taken += reader->n;
		if (!ItemPointerIsValid(&tid))	/* VACUUM has removed it */
			continue;
		memcpy(place, row, reader->n * sizeof(uint64));
		place += reader->n;
		++*n;
	}
	BloomxEndPending(reader);
	return rows;
}

BlockNumber *
BloomxPendingBlocks(Relation index, const BloomxDirectory *directory, int list, uint32 pages)
{
	BloomxPendingReader *reader = BloomxStartPending(index, directory);
	BlockNumber *blocks = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, pages) * sizeof(BlockNumber));

	StartList(reader, list, 0);
	for (uint32 i = 0; i < pages; i++)
	{
		blocks[i] = reader->next;
		(void) NextPage(reader);
	}
	BloomxEndPending(reader);
	return blocks;
}
