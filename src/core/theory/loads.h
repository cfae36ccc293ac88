/*
 * loads.h - means over the number of keys that fall into one of many blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the mean of f(i, arg) over the load i of one of `blocks` equally
 * likely blocks that share n keys: i is Binomial(n, 1/blocks).  n is any number,
 * blocks at least 1.  f must not fall as i grows; it is called for loads in
 * ascending order, with gaps where there are many.
 */
extern double blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg);

/*
 * True if n keys fill the filter, so that its rate is 1: in blocks of block_bits
 * bits, of which a key sets up to k, the chance that a tested bit is unset
 * is too small to matter.  Spares the caller a sum that would end at 1.
 */
extern bool blx_all_set(double n, double blocks, double block_bits, unsigned k);

/* Returns x^k, by repeated squaring. */
static inline double
blx_power(double x, unsigned k)
{
	double		r = 1;

	for (; k > 0; k >>= 1, x *= x)
		if (k & 1)
			r *= x;
	return r;
}
