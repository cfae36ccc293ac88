/*
 * seal.h - builds a sealed filter.
 */
#pragma once

#include "core/bloomx.h"

/* The member seal of the row (layout.h). */
extern blx_filter *blx_fuse_seal(const blx_filter *set, const blx_geometry *planned, const blx_memory *memory,
								 void (*poll) (void), blx_error *error);
