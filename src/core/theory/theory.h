/*
 * theory.h - the formulas of the papers.
 *
 * n is a number of keys, m a number of bits, k the number of probes per key.  n
 * is at least 0, m at least 1, and k is 1 .. BLX_MAX_K except in the closed
 * forms (blx_fpr_approx, blx_fpr_goel_gupta and blx_fpr_partitioned).
 * Arguments are the caller's to check.  Counts of type double may exceed 2^53,
 * and are rounded then.  Every result is a probability from 0 to 1.  Every
 * function takes milliseconds at most, whatever the numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ---- false positive rates ---- */

/* The textbooks' "standard analysis", too low for a standard filter unless k = 1: (1 - (1 - 1/m)^(kn))^k.  Almeida 2022, eq. 5. */
extern double blx_fpr_approx(double n, double m, unsigned k);

/* An upper bound for a standard filter: (1 - e^(-k(n + 1/2)/(m - 1)))^k.  m is at least 2.  Goel and Gupta 2010. */
extern double blx_fpr_goel_gupta(double n, double m, unsigned k);

/* A standard filter, exact.  Almeida 2022, eq. 10. */
extern double blx_fpr_standard(double n, uint64_t m, unsigned k);

/*
 * The filter that Bloom proposed in 1970, exact: a key sets k different bits, all
 * sets of k bits being equally likely.  m is at least k.  Bloom's own formula
 * for it, Almeida 2022, eq. 3, is that of blx_fpr_partitioned, and too high.
 */
extern double blx_fpr_distinct(uint64_t n, double m, unsigned k);

/* A partitioned filter of k parts of m/k bits, exact.  m is at least k.  Almeida 2022, eq. 11. */
extern double blx_fpr_partitioned(double n, double m, unsigned k);

/* A standard filter's rate for an absent key whose probes are d different bits, d = 0 .. k.  Almeida 2022, eq. 14. */
extern double blx_fpr_element(double n, double m, unsigned k, unsigned d);

/*
 * A rational filter (Walther et al.): a standard filter with a k above 0 that need
 * not be whole.  Every key sets floor(k) bits, and a fraction k - floor(k) of
 * the keys sets one more.  The rate is a mean over keys.
 */
extern double blx_fpr_rational(double n, double m, double k);

/*
 * A blocked filter, whose blocks are standard filters.  Putze, Sanders and
 * Singler 2009, eq. 3, but with binomial loads and the exact rate of a block.
 */
extern double blx_fpr_blocked(uint64_t n, uint64_t blocks, uint64_t block_bits, unsigned k);

/*
 * The default layout: in each group of up to eight parts of 64 bits a key picks
 * one of `blocks` blocks, a power of two.  The product over the groups of their
 * mean rates, with binomial loads.  After Almeida 2022, section 6.1.
 */
extern double blx_fpr_partitioned_blocked(uint64_t n, uint64_t blocks, unsigned parts);

/*
 * An age-partitioned filter (Shtul, Baquero and Almeida 2020): the probability of
 * k adjacent matches among k + l slices, just before a turn, the worst moment.
 * Slice i of the first k has taken i + 1 of its k generations; all others have
 * taken k, which fills them to a half.  If `linear`, a slice's fill is the
 * paper's (i + 1)/2k; otherwise it is the expected 1 - 2^(-(i + 1)/k), which is
 * higher.  k + l is at most BLX_MAX_RING, which bounds an array of 80 kB on the
 * stack and leaves room for any setting of the paper.
 */
#define BLX_MAX_RING 10000
extern double blx_fpr_age_partitioned(unsigned k, unsigned l, bool linear);

/* ---- other probabilities ---- */

/*
 * The probability that a key of a standard filter has exactly c collisions,
 * c = 0 .. k: its k probes hit k - c different bits.  Almeida 2022, eq. 1 and 8.
 */
extern double blx_collisions(double m, unsigned k, unsigned c);

/*
 * The probability that the filters of two disjoint sets, of a and b keys, do not
 * prove them disjoint (Almeida 2022, section 6.2).  Two standard filters fail if
 * they share a bit; two partitioned ones only if they share a bit in each of
 * the k parts.  m is a multiple of k for partitioned filters.
 */
extern double blx_overlap_standard(double m, unsigned k, double a, double b);
extern double blx_overlap_partitioned(double m, unsigned k, double a, double b);

/*
 * The probability that k adjacent trials among n independent ones all succeed,
 * where trial i succeeds with probability r[i].  k is 0 .. BLX_MAX_K; the
 * result is 1 if k = 0.  Takes n k steps.
 */
extern double blx_run_probability(const double *r, unsigned n, unsigned k);
