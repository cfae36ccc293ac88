/*
 * growth.h - open sets that grow, within limits that the host sets.
 */
#ifndef BLX_GROWTH_H
#define BLX_GROWTH_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/*
 * What an open set may become.  An unplanned set that would take more than
 * set_bytes becomes a partitioned_blocked filter, marked `pending`, of as many
 * bytes as the keys ask for that are expected in all, between set_bytes and
 * filter_bytes; blx_finish cuts it to what its contents need.
 */
typedef struct blx_growth
{
	const blx_memory *memory;
	uint64_t	set_bytes;
	uint64_t	filter_bytes;	/* at least set_bytes */
	double		expected;		/* keys; 0: not known */
	double		fpr;
	void		(*poll) (void); /* called now and then; need not return.  Or NULL */
} blx_growth;

/* Without limits but that of all filters, for a rate of 1 %. */
extern blx_growth blx_unlimited_growth(const blx_memory *memory);

/* blx_open, for some `expected` keys: a set begins with room for them, within bounds. */
extern blx_filter *blx_open_expecting(const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
									  double expected, const blx_memory *memory, blx_error *error);

/*
 * Adds n hashes.  Returns f, or what it grew into: then f is still there, and
 * the caller's to free.  NULL if it cannot grow: f is whole.
 */
extern blx_filter *blx_add_growing(blx_filter *f, const uint64_t *hashes, size_t n,
								   const blx_growth *growth, blx_error *error);

/* The same without adding anything: f, if it is a set, gets room for `count` hashes in all, or becomes a filter. */
extern blx_filter *blx_make_room(blx_filter *f, uint64_t count, const blx_growth *growth, blx_error *error);

/* A set of the same hashes with at least that many slots, for keys of another identity. */
extern blx_filter *blx_copy_set(const blx_filter *f, uint64_t slots, const blx_identity *id,
								const blx_memory *memory, blx_error *error);

/* A set of the same hashes with at least twice the slots. */
extern blx_filter *blx_larger_set(const blx_filter *f, const blx_memory *memory, blx_error *error);

/* f, of whatever layout, as a filter of keys of that identity too: a copy that takes the key type where it had none. */
extern blx_filter *blx_copy_for(const blx_filter *f, const blx_identity *keys, const blx_memory *memory, blx_error *error);

/* blx_finish, where the host knows the geometry of an unplanned set already. */
extern blx_filter *blx_finish_as(const blx_filter *open, const blx_geometry *g, double fpr,
								 const blx_memory *memory, blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_GROWTH_H */
