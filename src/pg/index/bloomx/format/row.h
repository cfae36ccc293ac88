/*
 * row.h - a pending row.
 */
#ifndef BLOOMX_ROW_H
#define BLOOMX_ROW_H

#include "pg/base/base.h"

#include "pg/index/bloomx/format/geometry.h"

#pragma GCC visibility push(hidden)

/*
 * A pending row begins with this word.  That of a filter goes on with the
 * signature; while the geometry is provisional, its head has the blocks and parts
 * of the filter, 0 parts if it has no signature.  A row of values goes on with the
 * hashes of its keys, each once, in ascending order.
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

/* So many hashes stand for any keys, and none follows. */
#define ANY_HASHES PG_UINT16_MAX

/* The most words of a row. */
#define MAX_ROW_WORDS PG_UINT16_MAX

/* The words of a row of filters. */
static inline uint32
BloomxPendingWords(const blx_geometry *geometry)
{
	return 1 + (uint32) blx_body_words(geometry);
}

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

/* The words of the row that begins with this one. */
static inline uint32
BloomxRowWords(const BloomxKeys *keys, const uint64 *row)
{
	uint16		hashes = BloomxHeadOf(row).hashes;
	blx_geometry geometry;

	if (keys->of_values)
		return hashes == ANY_HASHES ? 1 : 1 + hashes;
	geometry = BloomxGeometryOf(keys);
	return BloomxPendingWords(&geometry);
}

#pragma GCC visibility pop

#endif							/* BLOOMX_ROW_H */
