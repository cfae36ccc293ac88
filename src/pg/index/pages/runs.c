/*
 * runs.c - free pages, as runs in a metapage.
 *
 * A run that does not fit there is forgotten.  VACUUM finds pages that nothing refers to.
 */
#include "pg/index/pages/runs.h"

/* Best fit: long runs stay for large requests. */
BlockNumber
BloomxTakeRun(BloomxRun *runs, uint32 *n, uint32 pages)
{
	BloomxRun  *best = NULL;
	BlockNumber start;

	for (uint32 i = 0; i < *n; i++)
		if (runs[i].pages >= pages && (best == NULL || runs[i].pages < best->pages))
			best = &runs[i];
	if (best == NULL)
		return InvalidBlockNumber;
	start = best->start;
	best->start += pages;
	best->pages -= pages;
	if (best->pages == 0)
		*best = runs[--*n];
	return start;
}

void
BloomxAddRun(BloomxRun *runs, uint32 *n, uint32 most, BloomxRun added, bool keep)
{
	uint32		smallest = 0;

	/* take out each run that touches this one; the joined run may touch one that was passed, so begin again */
	for (uint32 i = 0; i < *n;)
	{
		BloomxRun	run = runs[i];

		if (run.start + run.pages != added.start && added.start + added.pages != run.start)
		{
			i++;
			continue;
		}
		added.start = Min(added.start, run.start);
		added.pages += run.pages;
		runs[i] = runs[--*n];
		i = 0;
	}
	if (*n < most)
	{
		runs[(*n)++] = added;
		return;
	}
	/* no room: the new run may take the place of the smallest */
	for (uint32 i = 1; i < most; i++)
		if (runs[i].pages < runs[smallest].pages)
			smallest = i;
	if (runs[smallest].pages < added.pages || keep)
		runs[smallest] = added;
}
