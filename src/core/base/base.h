/*
 * base.h - what the core stands on, beyond what bloomx.h says: errors
 * (docs/internals/design.md, "Errors and messages"), memory, identities, sorting.
 */
#pragma once

#include "core/bloomx.h"

/* ---- base.c ---- */

/*
 * Writes code, message, detail and hint into *error.  Always returns false, so
 * that a caller can return the result.  detail and hint may be NULL.  If error
 * is NULL, because the caller only asks whether something is possible, nothing
 * is formatted.
 */
extern bool blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint,
					 const char *format,...) __attribute__((format(printf, 5, 6)));

/* Memory for a filter of that size, whose bytes after `host` are undefined.  NULL: BLX_LIMIT, BLX_NO_MEMORY. */
extern blx_filter *blx_alloc(const blx_memory *memory, uint64_t bytes, blx_error *error);

/* ---- identity.c: whose the keys of a filter are ---- */

/* True if that is the code of a key type. */
extern bool blx_key_type_known(uint8_t code);

/* blx_identity_check for a caller that needs no reason. */
extern bool blx_same_keys(const blx_identity *a, const blx_identity *b);

/* False with the reason if the fields of an identity do not go together. */
extern bool blx_identity_valid(const blx_identity *id, blx_error *error);

/* The identity of a filter that has the keys of both: a's, or a's seed with b's key type if a has none. */
extern blx_identity blx_joint_identity(const blx_identity *a, const blx_identity *b);

/* ---- sort.c ---- */

/*
 * Sorts n values of 8 bytes in native byte order.  Takes at most 8 passes over
 * them, whatever the values are, and allocates nothing.
 */
extern void blx_sort_values(uint8_t *values, uint64_t n);

/* The same with n pairs of 16 bytes, by the first 8.  poll (or NULL) is called now and then; if it does not return, the pairs are all there. */
extern void blx_sort_pairs(uint8_t *pairs, uint64_t n, void (*poll) (void));
