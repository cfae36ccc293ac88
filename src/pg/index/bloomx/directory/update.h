/*
 * update.h - new segments in the place of others.
 */
#ifndef BLOOMX_UPDATE_H
#define BLOOMX_UPDATE_H

#include "pg/base/base.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

/* Finds n free slots on one page of the directory.  False if no page has as many, and none may be added. */
extern bool BloomxFindSlots(const BloomxDirectory *directory, uint32 n, uint32 *slots);

/* New segments, and what goes for them: other segments, or the rows on the first words of a list. */
typedef struct BloomxUpdate
{
	const BloomxSegment *results;
	uint32		n;
	const uint32 *sources;		/* their slots, on one page of the directory */
	uint32		nsources;
	int			list;
	uint64		pending;		/* words of it */
} BloomxUpdate;

/* Makes the update true.  Needs the directory lock. */
extern void BloomxUpdateDirectory(Relation index, const BloomxDirectory *directory, const BloomxUpdate *update);

/* Adds a segment that is written, in CREATE INDEX: the metapage's lock suffices, since nothing is removed. */
extern void BloomxAppendSegment(Relation index, const BloomxSegment *segment);

/* Notes how many rows of a segment are dead.  Needs the directory lock. */
extern void BloomxNoteDead(Relation index, uint32 slot, uint32 dead);

#pragma GCC visibility pop

#endif							/* BLOOMX_UPDATE_H */
