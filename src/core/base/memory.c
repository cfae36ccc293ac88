/*
 * memory.c - filters from the memory of the caller.
 */
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/memory.h"

static void *
allocate(const blx_memory *memory, uint64_t bytes)
{
	blx_filter *f;

	if (memory != NULL)
		return memory->alloc(memory->arg, bytes);
	f = malloc(bytes);
	if (f != NULL)
		f->host = 0;
	return f;
}

blx_filter *
blx_alloc(const blx_memory *memory, uint64_t bytes, blx_error *error)
{
	blx_filter *f;

	if (bytes > BLX_MAX_BYTES)
	{
		blx_fail(error, BLX_LIMIT, NULL, "Split the keys over several filters.",
				 "a bloom filter of %llu bytes exceeds the limit of 1 GB", (unsigned long long) bytes);
		return NULL;
	}
	f = allocate(memory, bytes);
	if (f == NULL)
		blx_fail(error, BLX_NO_MEMORY, NULL, NULL, "out of memory for a bloom filter of %llu bytes", (unsigned long long) bytes);
	return f;
}

void
blx_free(blx_filter *f, const blx_memory *memory)
{
	if (f == NULL)
		return;
	if (memory != NULL)
		memory->free(memory->arg, f);
	else
		free(f);
}
