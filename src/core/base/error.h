/*
 * error.h - how a function of the core reports why it failed
 * (docs/internals/design.md, "Errors and messages").
 */
#ifndef BLX_ERROR_H
#define BLX_ERROR_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/*
 * Writes code, message, detail and hint into *error.  Always returns false, so
 * that a caller can return the result.  detail and hint may be NULL.  If error
 * is NULL, because the caller only asks whether something is possible, nothing
 * is formatted.
 */
extern bool blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint,
					 const char *format,...) __attribute__((format(printf, 5, 6)));

#pragma GCC visibility pop

#endif							/* BLX_ERROR_H */
