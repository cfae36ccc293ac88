/*
 * sort.h - 64-bit values in ascending order, in place, in memory of any alignment.
 */
#ifndef BLX_SORT_H
#define BLX_SORT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* n values of 8 bytes in native order.  At most 8 passes, whatever the values are. */
extern void blx_sort_values(uint8_t *values, uint64_t n);

#pragma GCC visibility pop

#endif							/* BLX_SORT_H */
