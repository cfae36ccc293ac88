/*
 * runs.h - free pages, as runs in a metapage.
 */
#pragma once

#include "pg/base/base.h"

#include "storage/block.h"

typedef struct BloomxRun
{
	BlockNumber start;
	uint32		pages;
} BloomxRun;

/* Takes pages out of one of *n runs and returns the first, or InvalidBlockNumber if no run has as many. */
extern BlockNumber BloomxTakeRun(BloomxRun *runs, uint32 *n, uint32 pages);

/*
 * Adds a run, joined with adjacent ones.  If there are `most` of them already, the smallest
 * of all is forgotten; with `keep`, the smallest of the others.
 */
extern void BloomxAddRun(BloomxRun *runs, uint32 *n, uint32 most, BloomxRun added, bool keep);
