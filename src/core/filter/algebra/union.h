/*
 * union.h - what a union is, also of open sets and of filters of no keys.
 */
#ifndef BLX_UNION_H
#define BLX_UNION_H

#include "core/filter/growth.h"

#pragma GCC visibility push(hidden)

/*
 * True for a filter of no keys at all, the result of an aggregate over no rows.
 * Its size and seed mean nothing: it combines with any filter of its key type.
 */
extern bool blx_is_blank(const blx_filter *f);

/* Checks that a blank filter and f agree in the key type, which is all that they must agree in. */
extern bool blx_check_blank(const blx_filter *f, const blx_filter *blank, blx_error *error);

/* blx_unite, with open sets growing within these limits. */
extern blx_filter *blx_unite_within(const blx_filter *a, const blx_filter *b, const blx_growth *growth, blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_UNION_H */
