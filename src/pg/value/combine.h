/*
 * combine.h - a filter made of others.
 */
#ifndef BLOOMX_COMBINE_H
#define BLOOMX_COMBINE_H

#include "pg/base/base.h"

#pragma GCC visibility push(hidden)

/* A copy of f.  If f has no key type, the copy takes that of `keys`. */
extern blx_filter *CopyForKeys(const blx_filter *f, const blx_identity *keys);

/* ---- functions/algebra.c ---- */
extern blx_filter *UnionFilters(const blx_filter *a, const blx_filter *b);
extern blx_filter *IntersectFilters(const blx_filter *a, const blx_filter *b);

/* The smallest fold and prefix of f whose rate is at most fpr, or NULL and the error. */
extern blx_filter *ShrinkFilter(const blx_filter *f, double fpr, blx_error *error);

/* A blank filter, that of no keys at all, goes with every filter of its key type; CheckBlank checks just that. */
extern bool FilterIsBlank(const blx_filter *f);
extern void CheckBlank(const blx_filter *f, const blx_filter *blank);

#pragma GCC visibility pop

#endif							/* BLOOMX_COMBINE_H */
