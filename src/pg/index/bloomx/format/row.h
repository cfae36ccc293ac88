/*
 * row.h - a pending row.
 */
#pragma once

#include "pg/base/base.h"

#include "storage/itemptr.h"

#include "pg/index/bloomx/format/geometry.h"

/*
 * A pending row begins with this word.  That of a filter goes on with a signature of
 * the blocks and parts that the head names, whatever those of the index are; if it has
 * no parts, it has no words either, and the filter may hold any key.  A row of values
 * goes on with the hashes of its keys, each once, in ascending order.
 */
typedef struct BloomxRowHead
{
	ItemPointerData tid;
	union
	{
		struct
		{
			uint8		log2_blocks;
			uint8		parts;
		};
		uint16		hashes;
	};
} BloomxRowHead;

/* This count of hashes stands for any keys, and none follows. */
#define ANY_HASHES PG_UINT16_MAX

/* The most words of a row. */
#define MAX_ROW_WORDS PG_UINT16_MAX

static inline BloomxRowHead
BloomxHeadOf(const uint64 *row)
{
	BloomxRowHead head;

	memcpy(&head, row, sizeof head);
	return head;
}

static inline ItemPointerData
BloomxPendingTid(const uint64 *row)
{
	return BloomxHeadOf(row).tid;
}

/* The words of the row that begins with this one; more than MAX_ROW_WORDS if there can be no such row. */
static inline uint32
BloomxRowWords(bool of_values, const uint64 *row)
{
	BloomxRowHead head = BloomxHeadOf(row);

	if (of_values)
		return head.hashes == ANY_HASHES ? 1 : 1 + head.hashes;
	return head.parts <= BLX_MAX_K && head.log2_blocks <= MAX_LOG2_BLOCKS ? 1 + ((uint32) head.parts << head.log2_blocks) : UINT32_MAX;
}
