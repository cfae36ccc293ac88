/*
 * memory.h - filters from the memory of the caller (blx_memory).
 */
#ifndef BLX_MEMORY_H
#define BLX_MEMORY_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* Memory for a filter of that size, whose bytes after `host` are undefined.  NULL: BLX_LIMIT, BLX_NO_MEMORY. */
extern blx_filter *blx_alloc(const blx_memory *memory, uint64_t bytes, blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_MEMORY_H */
