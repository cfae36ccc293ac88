/*
 * slices.h - filters brought to one geometry and stored transposed: what a
 * bit-sliced index is built of (BitFunnel: Goodwin et al. 2017; BIGSI: Bradley
 * et al. 2019; COBS: Bingmann et al. 2019).
 *
 * All signatures of an index have one geometry, of layout partitioned_blocked.
 * The signature of a filter says "no" only where the filter does: it is the
 * filter folded or expanded (algebra.c), with ones in the parts that the filter
 * does not have.  Slice s of many signatures is the string of their bits s.  The
 * AND of one slice per part of a key tells which of them may hold it.
 */
#pragma once

#include "core/bloomx.h"

/*
 * Sets *g to the geometry that an index of such filters should have: that of f,
 * or the one that f would have without counters or once it is closed.  False if
 * f has no signature.
 */
extern bool blx_signature_geometry(const blx_filter *f, blx_geometry *g);

/*
 * Writes the signature of f to blx_body_words(g) words.  f has the index's seed.
 * A filter of another layout has no signature and gets all ones: it may hold
 * anything.  The caller converts a counting filter first (blx_to_bits).
 */
extern void blx_signature(uint64_t *words, const blx_geometry *g, const blx_filter *f);
extern void blx_signature_of_anything(uint64_t *words, const blx_geometry *g);

/*
 * Writes a signature of geometry `from` as one of geometry g.  If `from` has at
 * least the blocks and parts of a filter, the result is the filter's signature
 * of geometry g; otherwise it may have more bits, and none is missing.
 */
extern void blx_signature_convert(uint64_t *words, const blx_geometry *g, const uint64_t *signature, const blx_geometry *from);

/* Writes the slices of a key to slices[0 .. parts - 1].  Slice s is bit s % 64 of word s / 64 of a signature. */
extern void blx_slices_of_key(const blx_geometry *g, uint64_t hash, uint32_t *slices);

/*
 * Signatures of keys that are in no filter: `parts` of `width` bits, one after the
 * other, and of each key one bit in each.  The width is any number, so a signature
 * has just the bits that its keys need (a partitioned Bloom filter, as in Almeida
 * 2022).
 */
typedef struct blx_partitioned
{
	uint32_t	parts;			/* 1 .. BLX_MAX_K */
	uint32_t	width;			/* at least 1 */
} blx_partitioned;

/* Writes the slices of a key to slices[0 .. parts - 1]. */
extern void blx_partitioned_slices(const blx_partitioned *s, uint64_t hash, uint32_t *slices);

/* Sets the bits of n keys. */
extern void blx_partitioned_add(uint64_t *words, const blx_partitioned *s, const uint64_t *hashes, size_t n);

/* Returns the most keys, 0 or more, of a signature with at most that rate, which is between 0 and 1. */
extern uint64_t blx_partitioned_capacity(const blx_partitioned *s, double fpr);

/* Returns the least width at which signatures of `keys` keys, at least 1, have at most that rate; UINT32_MAX if it is no less. */
extern uint32_t blx_partitioned_width(uint32_t parts, uint64_t keys, double fpr);

/* Transposes a square of 64 x 64 bits: bit i of word j becomes bit j of word i. */
extern void blx_transpose(uint64_t words[64]);

/* ANDs n words of src into dst.  Returns the OR of the results: 0 if no bit is left. */
extern uint64_t blx_and_slice(uint64_t *dst, const uint64_t *src, size_t n);
