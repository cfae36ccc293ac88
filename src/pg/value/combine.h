/*
 * combine.h - a filter made of others, in the current context.
 */
#ifndef BLOOMX_COMBINE_H
#define BLOOMX_COMBINE_H

#include "pg/base/base.h"

#pragma GCC visibility push(hidden)

/* A copy of f.  If f has no key type, the copy takes that of `keys`. */
extern blx_filter *CopyForKeys(const blx_filter *f, const blx_identity *keys);

/* a | b and a & b, or an error that names what differs. */
extern blx_filter *UnionFilters(const blx_filter *a, const blx_filter *b);
extern blx_filter *IntersectFilters(const blx_filter *a, const blx_filter *b);

#pragma GCC visibility pop

#endif							/* BLOOMX_COMBINE_H */
