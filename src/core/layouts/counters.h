/*
 * counters.h - 64 saturating counters of 4 bits, side by side.
 *
 * Counters are stored as four planes: the word planes[p * stride] holds bit p of
 * all counters, that of counter c in its bit c.  So the logic of one adder
 * increments, adds or compares 64 counters at once, and the mask of the counters
 * that are not 0 is the word that a filter of bits would have in their place.
 * (Sideways addition: Knuth, TAOCP 4A, 7.1.3.)
 *
 * A counter of 15 is saturated: it stands for 15 or more and never changes
 * again, since nobody knows when it should fall below (Fan et al. 2000).  Four
 * bits are their choice, too: if half of the cells are set, a cell gets 16 keys
 * with a probability below 1.4e-15.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BLX_PLANES 4

/* The highest value of a counter: this or more. */
#define BLX_SATURATED ((1u << BLX_PLANES) - 1)

/* Returns the mask of the counters that are not 0. */
static inline uint64_t
blx_counters_nonzero(const uint64_t *planes, size_t stride)
{
	return planes[0] | planes[stride] | planes[2 * stride] | planes[3 * stride];
}

/* Returns the mask of the counters that are 15. */
static inline uint64_t
blx_counters_saturated(const uint64_t *planes, size_t stride)
{
	return planes[0] & planes[stride] & planes[2 * stride] & planes[3 * stride];
}

/* Returns the counter c. */
static inline unsigned
blx_counters_value(const uint64_t *planes, size_t stride, unsigned c)
{
	unsigned	value = 0;

	for (size_t p = 0; p < BLX_PLANES; p++)
		value |= (unsigned) (planes[p * stride] >> c & 1) << p;
	return value;
}

/* Adds 1 to each counter in the mask `which`, except saturated ones. */
static inline void
blx_counters_increment(uint64_t *planes, size_t stride, uint64_t which)
{
	uint64_t	carry = which & ~blx_counters_saturated(planes, stride);

	for (size_t p = 0; p < BLX_PLANES; p++)
	{
		uint64_t	bits = planes[p * stride];

		planes[p * stride] = bits ^ carry;
		carry &= bits;
	}
}

/* Subtracts 1 from each counter in the mask `which`, except saturated ones.  None of them may be 0. */
static inline void
blx_counters_decrement(uint64_t *planes, size_t stride, uint64_t which)
{
	uint64_t	borrow = which & ~blx_counters_saturated(planes, stride);

	for (size_t p = 0; p < BLX_PLANES; p++)
	{
		uint64_t	bits = planes[p * stride];

		planes[p * stride] = bits ^ borrow;
		borrow &= ~bits;
	}
}

/* Adds each counter of src to that of dst.  A sum above 15 becomes 15. */
static inline void
blx_counters_add(uint64_t *dst, size_t dst_stride, const uint64_t *src, size_t src_stride)
{
	uint64_t	carry = 0;

	for (size_t p = 0; p < BLX_PLANES; p++)
	{
		uint64_t	a = dst[p * dst_stride],
					b = src[p * src_stride];

		dst[p * dst_stride] = a ^ b ^ carry;
		carry = (a & b) | (carry & (a ^ b));
	}
	for (size_t p = 0; p < BLX_PLANES; p++)
		dst[p * dst_stride] |= carry;	/* a carry out of the top plane: saturate */
}
