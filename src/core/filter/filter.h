/*
 * filter.h - operations on filters in memory that the caller brings, and on
 * parts of filters: what the PostgreSQL half needs beyond bloomx.h.
 */
#pragma once

#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

/* ---- options.c ---- */

/* The presets of a layout. */
extern blx_options blx_default_options(uint8_t layout);

extern const char *blx_hashing_name(uint8_t hashing);

/* ---- format.c ---- */

/* As blx_check, but the filter may only be tested, and its hashes handed out: of an open set the hashes are not checked. */
extern bool blx_check_for_tests(const blx_filter *f, uint64_t size, blx_error *error);

/* ---- filter.c ---- */

/* False if no filter can promise to hold `capacity` keys (blx_new). */
extern bool blx_capacity_valid(uint64_t capacity, blx_error *error);

/* blx_new without its checks, which take longer than a filter of few keys. */
extern blx_filter *blx_new_of_valid(const blx_geometry *g, const blx_identity *id, uint64_t capacity,
									const blx_memory *memory, blx_error *error);

/*
 * Adds key hashes, in order; returns how many it took.  Fewer than n: the
 * filter must grow (blx_grown) before it takes the next.  Layouts of a fixed
 * size take all.
 */
extern size_t blx_add(blx_filter *f, const uint64_t *hashes, size_t n);

/* f, of a layout that grows, with room for the next key.  NULL and BLX_LIMIT if that is larger than a filter can be. */
extern blx_filter *blx_grown(const blx_filter *f, const blx_memory *memory, blx_error *error);

/*
 * The test, if only the header of a filter is in memory, or its head (enum
 * blx_trait).  fetch brings the words of the body that the test needs.
 */
extern bool blx_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);

/* blx_get, in the same way.  Only BLX_HEAD_FETCHABLE layouts have values. */
extern bool blx_get_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg, bool *found, uint32_t *value, blx_error *error);

/* The geometry of f without its counters, and f's keys added to an empty filter of it. */
extern bool blx_to_bits_geometry(const blx_filter *f, blx_geometry *g, blx_error *error);
extern bool blx_to_bits(blx_filter *dst, const blx_filter *f);

/* ---- algebra.c, resize.c ---- */

/*
 * True if a and b can be combined for that operation: their geometries agree
 * in all but parts and resolution, which may differ where the layout can resize.
 */
extern bool blx_compatible(const blx_filter *a, const blx_filter *b, enum blx_operation operation, blx_error *error);

/* The geometry of the prefix of `parts` parts, 1 .. parts of f. */
extern bool blx_prefix_geometry(const blx_filter *f, int64_t parts, blx_geometry *g, blx_error *error);

/* The geometry after `times` halvings of blocks (or of part_bits in the flat layout). */
extern bool blx_fold_geometry(const blx_filter *f, int64_t times, blx_geometry *g, blx_error *error);

/*
 * The union of two filters: its size, and the filter in that much memory
 * (`host` is left alone), with the key type of id, for two whose size was given.
 * The error names what differs.
 */
extern bool blx_union_bytes(const blx_filter *a, const blx_filter *b, unsigned name_len,
							uint64_t *bytes, blx_error *error);
extern void blx_union(blx_filter *dst, uint64_t bytes, const blx_filter *a, const blx_filter *b, const blx_identity *id);

/*
 * The geometries of a | b and a & b (docs/internals/FORMAT.md, "Combining filters"); the error names what differs.
 * Only layouts whose union has a size that follows from the two sizes.
 */
extern bool blx_combined_geometry(enum blx_operation operation, const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error);

/* The largest geometry that both fold and prefix to exactly: where estimates compare them. */
extern bool blx_common_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error);

/* f as it was before any expansion: where cardinality is estimated. */
extern blx_geometry blx_unexpanded_geometry(const blx_filter *f);

/*
 * dst, an empty filter of a geometry made by one of the above, takes the keys
 * of src: folding, expanding and dropping parts as the geometries say.
 */
extern bool blx_or_into(blx_filter *dst, const blx_filter *src);

/*
 * a & b: set all bits of an empty filter of their geometry,
 * then and both into it.  A filter of that geometry may itself be dst.
 */
extern bool blx_set_all(blx_filter *dst);
extern bool blx_and_into(blx_filter *dst, const blx_filter *src);

/*
 * The smallest prefix and fold of f whose false positive rate, with f's
 * present contents, is at most fpr; or, for speed, the one of these that a plan
 * prefers.  scratch: blx_shrink_scratch(f) bytes.
 */
extern uint64_t blx_shrink_scratch(const blx_filter *f);
extern bool blx_shrink_geometry(const blx_filter *f, double fpr, bool for_speed, blx_filter *scratch,
								blx_geometry *g, blx_error *error);

/* As blx_shrink, for_speed. */
extern blx_filter *blx_shrink_for_speed(const blx_filter *f, double fpr, const blx_memory *memory, blx_error *error);

/* f at a geometry that one of the functions above gave. */
extern blx_filter *blx_resize(const blx_filter *f, const blx_geometry *g, const blx_memory *memory, blx_error *error);

/* ---- estimate.c ---- */

/* How many keys would fill f as it is: blx_cardinality, if f was not expanded. */
extern double blx_keys_as_full(const blx_filter *f);

/* The chance that one key sets a given bit. */
extern double blx_hit_probability(const blx_geometry *g);

/* ---- sizing.c ---- */

/*
 * The geometry of a layout for `keys` keys in at most `bytes` bytes: the smallest of
 * rate fpr or, if there is none, the one of the lowest rate.  False if even that
 * rate is above a half.
 */
extern bool blx_plan_within(uint8_t layout, uint64_t bytes, uint64_t keys, double fpr, blx_geometry *g);

/* The most words of body that a faster geometry may have in place of the smallest one. */
extern uint64_t blx_faster_size(uint64_t smallest);

/* The partitioned_blocked geometry that carries the most keys at rate fpr in at most `bytes` bytes. */
extern bool blx_plan_bytes(uint64_t bytes, double fpr, blx_geometry *g, blx_error *error);
