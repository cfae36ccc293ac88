/*
 * seal.h - builds a sealed filter.
 */
#ifndef BLX_SEAL_H
#define BLX_SEAL_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* The member seal of the row (layout.h). */
extern blx_filter *blx_fuse_seal(const blx_filter *set, const blx_geometry *planned, const blx_memory *memory,
								 void (*poll) (void), blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_SEAL_H */
