/*
 * mulx.h - blx_scale for the paths of x86-64.  A part of their files, like
 * template.h: TARGET is defined before.
 *
 * Only the upper half of the product is wanted.  mulx leaves it in a register of
 * its choice and touches no flags; the compiler would take mul, which needs a
 * copy before.
 */
#pragma once

#include <stdint.h>

#define scale scale

TARGET static inline __attribute__((always_inline)) uint64_t
scale(uint64_t n, uint64_t h)
{
	uint64_t	high;

	__asm__("mulx %[h], %[high], %[high]" : [high] "=r"(high) : [h] "r"(h), "d"(n));
	return high;
}
