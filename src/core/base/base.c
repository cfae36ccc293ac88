/*
 * base.c - errors and memory of the core, and the hash of a key for callers
 * from outside.
 *
 * The caller owns the blx_error and decides what becomes of it; the core never
 * prints and never aborts.  A text that is too long for its field is cut.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/base.h"
#include "core/base/hash.h"

bool
blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint, const char *format,...)
{
	va_list		args;

	if (error == NULL)
		return false;
	error->code = code;
	va_start(args, format);
	vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	snprintf(error->detail, sizeof error->detail, "%s", detail ? detail : "");
	snprintf(error->hint, sizeof error->hint, "%s", hint ? hint : "");
	return false;
}

blx_filter *
blx_alloc(const blx_memory *memory, uint64_t bytes, blx_error *error)
{
	blx_filter *f;

	if (bytes > BLX_MAX_BYTES)
	{
		blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
				 "a bloom filter of %llu bytes exceeds the limit of 1 GB", (unsigned long long) bytes);
		return NULL;
	}
	f = memory != NULL ? memory->alloc(memory->arg, bytes) : malloc(bytes);
	if (f != NULL && memory == NULL)
		f->host = 0;
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

uint64_t
blx_hash(const void *bytes, size_t length, uint64_t seed)
{
	return blx_hash_bytes(bytes, length, seed);
}

unsigned
blx_version(void)
{
	return BLX_VERSION;
}
