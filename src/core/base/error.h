/*
 * error.h - how a function of the core says why it failed.
 */
#ifndef BLX_ERROR_H
#define BLX_ERROR_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/*
 * Writes the reason into *error and returns false.  detail and hint may be NULL.
 * A caller that only asks whether something is possible passes error NULL: then
 * no text is formatted.
 */
extern bool blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint,
					 const char *format,...) __attribute__((format(printf, 5, 6)));

#pragma GCC visibility pop

#endif							/* BLX_ERROR_H */
