/*
 * slices.h - filters brought to one geometry and stored transposed: what a
 * bit-sliced index is built of (BitFunnel: Goodwin et al. 2017; BIGSI: Bradley
 * et al. 2019; COBS: Bingmann et al. 2019).
 *
 * The signature of a filter is the filter of the index's geometry, of layout
 * partitioned_blocked, that says no only where the filter does: folded or
 * expanded (algebra.c), with ones in the parts that the filter does not have.
 * Slice s of many signatures is the string of their bits s.  Which of them may
 * hold a key is the AND of one slice for each part.
 */
#ifndef BLX_SLICES_H
#define BLX_SLICES_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/*
 * The geometry of which f is, or (an open state, counters) would be: what an
 * index of such filters had best have.  False when f has no signature.
 */
extern bool blx_signature_geometry(const blx_filter *f, blx_geometry *g);

/*
 * The signature of f, in blx_body_words(g) words; f's seed must be the
 * index's.  A filter that has none (another layout) gets all ones: it may hold
 * anything.  Counters first lose their counts (blx_to_bits).
 */
extern void blx_signature(uint64_t *words, const blx_geometry *g, const blx_filter *f);
extern void blx_signature_of_anything(uint64_t *words, const blx_geometry *g);

/*
 * What a tree of signatures asks of two filters of layout partitioned_blocked:
 * which share of the bits of their union's geometry has a, b, and either.  The
 * union itself is not made; `scratch` has room for 2 * blx_union_words(a, b).
 */
typedef struct blx_fills
{
	double		a;
	double		b;
	double		either;
} blx_fills;

extern uint64_t blx_union_words(const blx_filter *a, const blx_filter *b);
extern blx_fills blx_fills_of_union(const blx_filter *a, const blx_filter *b, uint64_t *scratch);

/* The slices of a key, one for each part: bit s % 64 of word s / 64 of a signature. */
extern void blx_slices_of_key(const blx_geometry *g, uint64_t hash, uint32_t *slices);

/* Bit i of word j becomes bit j of word i. */
extern void blx_transpose(uint64_t words[64]);

/* dst &= src; what is left, ORed together. */
extern uint64_t blx_and_slice(uint64_t *dst, const uint64_t *src, size_t n);

#pragma GCC visibility pop

#endif							/* BLX_SLICES_H */
