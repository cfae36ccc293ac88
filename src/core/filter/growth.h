/*
 * growth.h - open sets that grow, within limits that the host sets, and unions, in
 * which they may.
 */
#pragma once

#include "core/bloomx.h"

/*
 * What an open set may become.  An unplanned set that would take more than
 * set_bytes becomes a partitioned_blocked filter, uncut, of at most
 * filter_bytes; one of more than early_bytes does so if many more keys are
 * expected.  blx_finish cuts it to what its contents need.
 */
typedef struct blx_growth
{
	const blx_memory *memory;
	uint64_t	early_bytes;	/* at most set_bytes */
	uint64_t	set_bytes;
	uint64_t	filter_bytes;	/* at least set_bytes.  Equal to early_bytes: whoever set them wants the best filter of that size */
	double		expected;		/* keys in the end; 0: not known */
	double		seen;			/* hashes that have come, with those that came again; 0: not known */
	void		(*poll) (void); /* called now and then; need not return.  Or NULL */
} blx_growth;

/*
 * An uncut filter is planned for a quarter more keys than expected, since the
 * expectation is a guess.  What is too much costs memory until the end, when the
 * filter is cut; what is too little raises the rate.
 */
#define BLX_UNCUT_MARGIN 1.25

/* No limits but the one of all filters. */
extern blx_growth blx_unlimited_growth(const blx_memory *memory);

/* As blx_open, but the set begins with room for the `expected` keys, within bounds. */
extern blx_filter *blx_open_expecting(const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
									  double expected, const blx_memory *memory, blx_error *error);

/* A set without a plan, wide enough that searches are short until it has `count` hashes. */
extern blx_filter *blx_open_wide(const blx_identity *id, uint64_t count, const blx_memory *memory, blx_error *error);

/*
 * Adds n hashes.  Returns f or what it grew into; then the caller still has to
 * free f.  NULL if it cannot grow: then f is whole and holds some of the hashes.
 */
extern blx_filter *blx_add_growing(blx_filter *f, const uint64_t *hashes, size_t n,
								   const blx_growth *growth, blx_error *error);

/* The same, adding nothing: if f is a set, it gets room for `count` hashes in all, or becomes a filter. */
extern blx_filter *blx_make_room(blx_filter *f, uint64_t count, const blx_growth *growth, blx_error *error);

/* A set of the same hashes with at least twice the slots. */
extern blx_filter *blx_larger_set(const blx_filter *f, const blx_memory *memory, blx_error *error);

/* A copy of f, of any layout.  If f has no key type, the copy takes that of `keys`. */
extern blx_filter *blx_copy_for(const blx_filter *f, const blx_identity *keys, const blx_memory *memory, blx_error *error);

/* As blx_finish, if the caller already knows the geometry g of an unplanned set.  poll as in blx_growth. */
extern blx_filter *blx_finish_as(const blx_filter *open, const blx_geometry *g, double fpr,
								 const blx_memory *memory, void (*poll) (void), blx_error *error);

/* ---- algebra/union.c ---- */

/*
 * True for a filter of no keys at all, the result of an aggregate over no rows.
 * Its size and seed mean nothing: it combines with any filter of its key type.
 */
extern bool blx_is_blank(const blx_filter *f);

/* Checks that a blank filter and f agree in the key type, which is all that they must agree in. */
extern bool blx_check_blank(const blx_filter *f, const blx_filter *blank, blx_error *error);

/* blx_unite, with open sets growing within these limits. */
extern blx_filter *blx_unite_within(const blx_filter *a, const blx_filter *b, const blx_growth *growth, blx_error *error);
