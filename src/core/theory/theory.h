/*
 * theory.h - the formulas of the papers.
 *
 * n counts keys, m bits, k the probes of a key: n >= 0, m >= 1 and, but for
 * the closed forms, k is 1 .. BLX_MAX_K.  Arguments are the caller's to check.
 * Counts that are double may exceed 2^53: then they are rounded.  Every answer
 * is a probability, from 0 to 1, and takes a time that is bounded whatever the
 * numbers: milliseconds.
 */
#ifndef BLX_THEORY_H
#define BLX_THEORY_H

#include "core/bloomx.h"

/* ---- false positive rates ---- */

/* Almeida 2022, eq. 5, the standard analysis: (1 - (1 - 1/m)^(kn))^k, too low for every filter. */
extern double blx_fpr_approx(double n, double m, unsigned k);

/* Goel & Gupta 2010: an upper bound for a standard filter, (1 - e^(-k(n + 1/2)/(m - 1)))^k.  m >= 2. */
extern double blx_fpr_goel_gupta(double n, double m, unsigned k);

/* Almeida 2022, eq. 10: a standard filter. */
extern double blx_fpr_standard(double n, uint64_t m, unsigned k);

/* Almeida 2022, eq. 11: k parts of m/k bits.  m >= k. */
extern double blx_fpr_partitioned(double n, double m, unsigned k);

/* Almeida 2022, eq. 14: a standard filter's rate for a key whose probes are d different bits, d <= k. */
extern double blx_fpr_element(double n, double m, unsigned k, unsigned d);

/*
 * A standard filter whose keys set k >= 1 bits (Walther et al.), a fraction of
 * them one more than the others, chosen by the key: a mean over keys.
 */
extern double blx_fpr_rational(double n, double m, double k);

/* Putze, Sanders and Singler 2009, eq. 3, with binomial loads and the standard filter's exact rate in a block. */
extern double blx_fpr_blocked(uint64_t n, uint64_t blocks, uint64_t block_bits, unsigned k);

/*
 * Almeida 2022, section 6.1, with one block per group of eight parts: binomial
 * loads, the product over groups of their mean rates.  blocks is a power of two.
 */
extern double blx_fpr_partitioned_blocked(uint64_t n, uint64_t blocks, unsigned parts);

/*
 * Shtul, Baquero and Almeida 2020: k adjacent matches among k + l parts, right
 * before a shift, the worst moment.  Part i of the first k has been filled for
 * i + 1 generations of k, all others for k, which fills them to a half.
 * linear: the paper's fill (i + 1)/2k; otherwise the expected 1 - 2^-((i + 1)/k),
 * which is higher.  k + l at most BLX_MAX_RING.
 */
#define BLX_MAX_RING 10000
extern double blx_fpr_age_partitioned(unsigned k, unsigned l, bool linear);

/* ---- other probabilities ---- */

/* Almeida 2022, eq. 1 and 8: a standard filter's key has exactly c collisions, its k probes hit k - c different bits. */
extern double blx_collisions(double m, unsigned k, unsigned c);

/*
 * Almeida 2022, section 6.2: the filters of two disjoint sets of a and b keys
 * are not proven disjoint, because they share a bit (standard) or a bit in
 * each of the k parts (m a multiple of k).
 */
extern double blx_overlap_standard(double m, unsigned k, double a, double b);
extern double blx_overlap_partitioned(double m, unsigned k, double a, double b);

/*
 * The probability that, of n independent trials in a row of which trial i
 * succeeds with probability r[i], some k adjacent ones all succeed.  k is at
 * most BLX_MAX_K; no run is asked for when k = 0, so the answer is 1.
 */
extern double blx_run_probability(const double *r, unsigned n, unsigned k);

#endif							/* BLX_THEORY_H */
