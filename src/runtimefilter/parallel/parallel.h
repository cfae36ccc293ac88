/*
 * parallel.h - filters of parallel queries: an optional part.
 */
#pragma once

#include "storage/dsm.h"
#include "storage/spin.h"
#include "utils/dsa.h"

#include "runtimefilter/exec/collect.h"

/* The filter of a Parallel Hash, in shared memory. */
typedef struct PartsOfBuild
{
	int			join_node;
	slock_t		mutex;
	int			begun,			/* processes that have begun with the inner side, */
				ended;			/* and that have published the keys of their part */
	bool		is_given_up;	/* some process does not publish its keys */
	dsa_pointer published;		/* the last keys that were; they point to others */
} PartsOfBuild;

/* The same filter, as this process has it. */
typedef struct ParallelBuild
{
	SharedBuild shared;			/* first: what filter->shared points to */
	PartsOfBuild *parts;		/* where the processes publish their keys; NULL if nowhere */
	double		most_rows;		/* of a shared table that are worth reading */
} ParallelBuild;

/* What the processes of a query share, from the first start of workers on. */
typedef struct ParallelQuery
{
	dsm_segment *segment;		/* NULL: there was none to be had */
	struct SharedQuery *shared; /* what is in it */
	dsa_area   *area;			/* in it, for keys; NULL if none are published */
	MemoryContextCallback at_end;
} ParallelQuery;

static inline ParallelBuild *
ParallelBuildOf(const RuntimeFilter *filter)
{
	return (ParallelBuild *) filter->shared;
}

/* For a join that is a Parallel Hash. */
extern SharedBuild *NewParallelBuild(RuntimeFilter *filter);

/* True if so much shared memory may be taken. */
extern bool MayShare(uint64 bytes);

/* The shared hash table will be built anew; no other process is at work. */
extern void ForgetParts(RuntimeFilter *filter);
