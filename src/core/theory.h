/*
 * theory.h - the formulas of the papers.
 *
 * n counts keys, m bits, k probes of a key (1 .. BLX_MAX_K).  Arguments are
 * the caller's to check: ranges are with each function.
 */
#ifndef BLX_THEORY_H
#define BLX_THEORY_H

#include "core/bloom.h"

/* ---- theory.c ---- */

/*
 * The probability that, of n independent trials in a row of which trial i
 * succeeds with probability r[i], some k adjacent ones all succeed.  k is at
 * most BLX_MAX_K; no run is asked for when k = 0, so the answer is 1.
 */
extern double blx_run_probability(const double *r, unsigned n, unsigned k);

#endif							/* BLX_THEORY_H */
