/*
 * sort.h - sorts 64-bit values in ascending order, in place, in memory of any
 * alignment.
 */
#ifndef BLX_SORT_H
#define BLX_SORT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Sorts n values of 8 bytes in native byte order.  Takes at most 8 passes over
 * them, whatever the values are, and allocates nothing.
 */
extern void blx_sort_values(uint8_t *values, uint64_t n);

#pragma GCC visibility pop

#endif							/* BLX_SORT_H */
