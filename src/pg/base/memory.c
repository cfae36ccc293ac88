/*
 * memory.c - filters in the current memory context.
 *
 * A filter in memory is the core's struct blx_filter with the varlena length in
 * its first word: a PostgreSQL value as it stands.
 */
#include "pg/base/base.h"

#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/memutils.h"

StaticAssertDecl(BLX_MAX_BYTES <= MaxAllocSize, "a filter must fit a palloc chunk");

/*
 * The smallest filter that asks for huge pages.  Keys go to random places of it:
 * with pages of 4 kB each first touch costs the kernel a page fault, and most later
 * ones miss the processor's table of pages.  At 4 MB and more at least half of the
 * memory lies in whole huge pages of 2 MB, wherever it begins.  The kernel gives
 * them if it can; where nobody allows or knows them, nothing changes.
 */
#define HUGE_PAGE_BYTES (4 * 1024 * 1024)

/* Only whole pages, for no others may lie in them. */
void
AskForHugePages(void *memory, uint64 size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	page = (uintptr_t) sysconf(_SC_PAGESIZE);
	uintptr_t	first = TYPEALIGN(page, (uintptr_t) memory),
				end = TYPEALIGN_DOWN(page, (uintptr_t) memory + size);

	if (size >= HUGE_PAGE_BYTES)
		(void) madvise((void *) first, end - first, MADV_HUGEPAGE);
#endif
}

/*
 * The smallest filter that is moved.  A smaller one usually is in the cache,
 * where a second line costs little; moving it would cost a copy.
 */
#define ALIGNED_BYTES 65536
#define CACHE_LINE 64

/* A line to move by, and one for palloc's header, which GetMemoryChunkSpace counts. */
#define ROOM_TO_ALIGN (2 * CACHE_LINE)

void
PollInterrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

blx_filter *
AllocFilter(uint64 size)
{
	blx_filter *f;

	if (size > BLX_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a bloom filter of " UINT64_FORMAT " bytes exceeds the limit of 1 GB", size),
				 errhint("Split the keys among several filters.")));
	f = MemoryContextAllocHuge(CurrentMemoryContext, size < ALIGNED_BYTES ? size : size + ROOM_TO_ALIGN);
	AskForHugePages(f, size);
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

blx_filter *
AlignFilter(blx_filter *f, void **chunk)
{
	uint64		size = VARSIZE(f);
	size_t		header = blx_header_bytes(f->name_len);
	blx_filter *aligned;

	*chunk = f;
	if (size < ALIGNED_BYTES || f->layout == BLX_HASHES)
		return f;
	if (GetMemoryChunkSpace(f) < size + ROOM_TO_ALIGN)	/* not from AllocFilter */
		*chunk = repalloc_huge(f, size + ROOM_TO_ALIGN);
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
	blx_geometry geometry = PlanDefaultLayout(1, BLX_DEFAULT_FPR);

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
	return CheckResult(blx_resize(f, geometry, &FilterMemory, &core_error));
}
