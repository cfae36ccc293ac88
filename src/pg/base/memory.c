/*
 * memory.c - filters in the current memory context.
 *
 * A filter in memory is the core's struct blx_filter with the varlena length in
 * its first word: a PostgreSQL value as it stands.
 */
#include "pg/base/base.h"

#include "utils/memutils.h"

StaticAssertDecl(BLX_MAX_BYTES <= MaxAllocSize, "a filter must fit a palloc chunk");

blx_filter *
AllocFilter(uint64 size)
{
	blx_filter *f;

	if (size > BLX_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a bloom filter of " UINT64_FORMAT " bytes exceeds the limit of 1 GB", size),
				 errhint("Split the keys over several filters.")));
	f = palloc(size);
	SET_VARSIZE(f, size);
	return f;
}

static void *
AllocForCore(void *arg, size_t size)
{
	return AllocFilter(size);
}

static void
FreeForCore(void *arg, void *filter)
{
	pfree(filter);
}

const blx_memory FilterMemory = {AllocForCore, FreeForCore, NULL};

/*
 * The smallest filter that is moved.  A smaller one usually is in the cache,
 * where a second line costs little; moving it would cost a copy.
 */
#define ALIGNED_BYTES 65536
#define CACHE_LINE 64

blx_filter *
AlignFilter(blx_filter *f, void **chunk)
{
	uint64		size = VARSIZE(f);
	size_t		header = blx_header_bytes(f->name_len);
	blx_filter *aligned;

	*chunk = f;
	if (size < ALIGNED_BYTES || f->layout == BLX_HASHES)
		return f;
	*chunk = repalloc_huge(f, size + CACHE_LINE);
	aligned = (blx_filter *) (TYPEALIGN(CACHE_LINE, (char *) *chunk + header) - header);
	memmove(aligned, *chunk, size);
	return aligned;
}

blx_filter *
NewFilter(const blx_geometry *geometry, const blx_identity *identity, uint64 capacity)
{
	blx_filter *f = AllocFilter(blx_bytes(geometry, identity->name_len));

	blx_init(f, geometry, identity, capacity);
	return f;
}

blx_filter *
NewEmptyFilter(const blx_identity *identity)
{
	blx_geometry geometry = PlanDefaultLayout(1, DEFAULT_FPR);

	return NewFilter(&geometry, identity, 0);
}

blx_filter *
CopyFilter(const blx_filter *f)
{
	uint64		size = blx_size(f);
	blx_filter *copy = AllocFilter(size);

	memcpy(copy, f, size);
	SET_VARSIZE(copy, size);
	return copy;
}

blx_filter *
ResizeFilter(const blx_filter *f, const blx_geometry *geometry)
{
	blx_error	error;

	return CheckResult(blx_resize(f, geometry, &FilterMemory, &error), &error);
}
