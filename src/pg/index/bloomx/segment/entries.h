/*
 * entries.h - keys of values become size classes of signatures.
 */
#pragma once

#include "pg/base/base.h"

#include "port/atomics.h"
#include "storage/buffile.h"

#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/bloomx/segment/segment.h"

/* The part that a process, or a index, has in CREATE INDEX. */
typedef struct BloomxShare
{
	BlockNumber blocks;			/* of the table */
	Size		memory;			/* that it may use */
	/* if there are other processes */
	pg_atomic_uint32 *width;	/* of the usual entry, which one of them chooses; 0: not yet */
	BufFile    *rest;			/* takes rows that fill no segment, or NULL */
} BloomxShare;

/*
 * Of an index whose options and operator classes do not say otherwise: a rate of one
 * in 16,384.  On a small table a false block is most of a lookup's time.
 * bench/index/rows --probes, 500,000 arrays of eight keys on 7,200 blocks, a key of
 * one row: with 10 parts 14 times as long as with GIN, with 12 5.4 times, with 13 4.1
 * times, with 14 3.5 times, and no less with 15 and 16.  The index of 14 parts has
 * 0.08 of GIN's size.
 */
#define LEAST_PARTS 14

/* The parts that signatures of a table of that number of blocks should have. */
extern uint8 BloomxChooseParts(Relation index, const BloomxColumns *columns, BlockNumber blocks);

/* A row of more distinct keys than this is in every answer, as every other key would seem to be in it. */
extern uint32 BloomxMostKeysOfRow(uint32 parts);

/* Collects rows and makes segments of them. */
typedef struct BloomxEntries BloomxEntries;

/* Called with the rows of a segment and its number of slices; the memory of TIDs and signatures becomes the callee's. */
typedef void (*BloomxWriteSegment) (void *arg, uint32 slices, const BloomxRowSource *source);

/*
 * The number of parts must be chosen; the width is chosen by the rows, if it is
 * not.  The signatures that are not written yet take at most share->memory bytes.
 */
extern BloomxEntries *BloomxStartEntries(Relation index, BloomxKeys *keys, const BloomxShare *share, BloomxWriteSegment write, void *arg);

/*
 * The hashes of some rows of the table, which come in the order of their blocks.
 * NULL instead of hashes: they may hold anything.
 */
extern void BloomxAddToEntries(BloomxEntries *entries, const ItemPointerData *tid, const uint64 *hash, uint32 n);
extern void BloomxFinishEntries(BloomxEntries *entries);

/* Writes all entries to the share's file; takes those in a file, of a process with the same keys, and may use that much memory from then on. */
extern void BloomxHandOverEntries(BloomxEntries *entries);
extern void BloomxTakeOverEntries(BloomxEntries *entries, BufFile *file, Size memory);
