/*
 * loads.h - how many keys fall into one of many blocks.
 */
#ifndef BLX_LOADS_H
#define BLX_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * The mean of f(i, arg) over the load i of one of `blocks` equally likely
 * blocks that got n keys: Binomial(n, 1/blocks).  f must not fall as i grows.
 */
extern double blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg);

/*
 * True if n keys are hopelessly many for those blocks: the chance of any unset
 * bit, in a block of so many bits of which a key sets up to k, is too small to
 * matter, and the rate is 1.
 */
extern bool blx_all_set(double n, double blocks, double block_bits, unsigned k);

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
