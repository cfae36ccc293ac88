/*
 * geometry.h - shapes and sizes, beyond what bloomx.h says.
 */
#ifndef BLX_GEOMETRY_H
#define BLX_GEOMETRY_H

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* True if the layout can have that geometry and a value can hold it. */
extern bool blx_geometry_check(const blx_geometry *g, blx_error *error);

/* k, the bits that a key sets, on average and rounded down; the 64-bit words of an empty body.  The geometry must be valid. */
extern double blx_bits_per_key(const blx_geometry *g);
extern unsigned blx_k(const blx_geometry *g);
extern uint64_t blx_body_words(const blx_geometry *g);

static inline uint64_t
blx_words_for_bits(uint64_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/*
 * f with another identity, in blx_size(f) bytes plus the difference of the headers (`host` is left alone).
 * False, of an open state only: the hashes stand too close with the other key type (blx_hashes_copy).
 */
extern bool blx_copy_as(blx_filter *dst, const blx_filter *f, const blx_identity *id);

/* Header, name and parameters of a filter of `bytes` bytes, and zeros: what blx_init completes. */
extern void blx_init_sized(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity, uint64_t bytes);

/* The geometry without the body's parameters. */
extern blx_geometry blx_header_geometry(const blx_filter *f);

/* Are the bits beyond part_bits in the last word of each of `parts` parts 0? */
extern bool blx_check_spare_bits(const uint64_t *words, uint64_t parts, uint64_t part_bits, blx_error *error);

/* The error of two filters whose `field` differs; always false. */
extern bool blx_differ(const char *field, uint64_t a, uint64_t b, const char *hint, blx_error *error);

/* Are the geometries of two filters of one layout the same?  The error names what differs. */
extern bool blx_check_equal_geometry(const blx_filter *a, const blx_filter *b, blx_error *error);

/* Are the values of those options that the layout has in their ranges?  The layout must be one of filters. */
extern bool blx_check_options(uint8_t layout, const blx_options *options, blx_error *error);

/* Is it a rate strictly between 0 and 1? */
extern bool blx_check_rate(double fpr, blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_GEOMETRY_H */
