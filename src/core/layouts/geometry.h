/*
 * geometry.h - shapes and sizes, beyond what bloomx.h says.
 */
#pragma once

#include "core/base/base.h"
#include "core/base/words.h"
#include "core/bloomx.h"

/* True if the layout can have that geometry and a value can hold it. */
extern bool blx_geometry_check(const blx_geometry *g, blx_error *error);

/* k, the bits that a key sets: on average, and rounded down.  The geometry must be valid. */
extern double blx_bits_per_key(const blx_geometry *g);
extern unsigned blx_k(const blx_geometry *g);

/* The 64-bit words of an empty body. */
extern uint64_t blx_body_words(const blx_geometry *g);

/* Returns how many words hold `bits` bits. */
static inline uint64_t
blx_words_for_bits(uint64_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/*
 * Copies f, which is no open set, with another identity into blx_size(f) bytes
 * plus the difference of the headers (`host` is left alone).
 */
extern void blx_copy_as(blx_filter *dst, const blx_filter *f, const blx_identity *id);

/*
 * Writes header, name and parameters of a filter of `bytes` bytes, and zeros
 * after them.  blx_init calls it and then the layout's init.
 */
extern void blx_init_sized(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity, uint64_t bytes);

/* Returns the geometry without the parameters, from the header alone. */
extern blx_geometry blx_header_geometry(const blx_filter *f);

/* True if, in each of `parts` parts, the bits beyond part_bits in its last word are 0. */
extern bool blx_check_spare_bits(const uint64_t *words, uint64_t parts, uint64_t part_bits, blx_error *error);

/* Reports that two filters differ in `field`.  Always returns false. */
extern bool blx_differ(const char *field, uint64_t a, uint64_t b, const char *hint, blx_error *error);

/* True if two filters of one layout have the same geometry.  The error names the field that differs. */
extern bool blx_check_equal_geometry(const blx_filter *a, const blx_filter *b, blx_error *error);

/* True if the options that the layout has are all in their ranges.  The layout is not BLX_HASHES. */
extern bool blx_check_options(uint8_t layout, const blx_options *options, blx_error *error);

/*
 * Returns the largest k that a plan tries; a larger one only fills the filter
 * further.  The best k of the textbook's filter is -log2 of the rate.  Blocks and
 * small sizes move it, so a plan looks at somewhat more than twice as many, and
 * at three more for rates near 1.  (The pairs of k and l that the paper on
 * age_partitioned publishes have k of at most 8 for a rate of 0.1, which allows 10,
 * 12 for 0.01, 17, and 22 for 1e-5, 39.)
 */
extern unsigned blx_most_k(double fpr);

/* True if 0 < fpr < 1. */
extern bool blx_check_rate(double fpr, blx_error *error);
