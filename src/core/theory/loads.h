/*
 * loads.h - how many keys fall into one of many blocks.
 */
#ifndef BLX_LOADS_H
#define BLX_LOADS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * The mean of f(i, arg) over the load i of one of `blocks` equally likely
 * blocks that got n keys: Binomial(n, 1/blocks).  f must not fall as i grows.
 */
extern double blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg);

/* x^k by repeated multiplication. */
static inline double
blx_power(double x, unsigned k)
{
	double		r = 1;

	for (; k > 0; k >>= 1, x *= x)
		if (k & 1)
			r *= x;
	return r;
}

#pragma GCC visibility pop

#endif							/* BLX_LOADS_H */
