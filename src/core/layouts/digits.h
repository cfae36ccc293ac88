/*
 * digits.h - the bits of a key in a block, from derived hashes.
 *
 * A derived hash, taken as a fraction, gives several positions: its digits to the
 * base of the block's size.  How many digits a hash gives is the layout's choice
 * and part of the format (docs/internals/FORMAT.md).
 */
#pragma once

#include "core/base/hash.h"

/* Yields the positions of one key, one after another. */
typedef struct blx_digits
{
	uint64_t	hash;
	uint64_t	base;			/* bits of the block */
	unsigned	derived;		/* number of the next derived hash */
	unsigned	each;			/* digits per derived hash */
	unsigned	more;			/* digits that the present one still gives */
	uint64_t	fraction;		/* what is left of it */
} blx_digits;

static inline uint64_t
blx_next_digit(blx_digits *d)
{
	uint64_t	bit;

	if (d->more == 0)
	{
		d->fraction = blx_derive(d->hash, d->derived++);
		d->more = d->each;
	}
	d->more--;
	bit = blx_scale(d->fraction, d->base);
	d->fraction *= d->base;
	return bit;
}
