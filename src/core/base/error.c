/*
 * error.c - how a function of the core reports why it failed.
 *
 * The caller owns the blx_error and decides what becomes of it; the core never
 * prints and never aborts.  A text that is too long for its field is cut.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/base/error.h"

bool
blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint, const char *format,...)
{
	va_list		args;

	if (error == NULL)
		return false;
	error->code = code;
	va_start(args, format);
	vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	snprintf(error->detail, sizeof error->detail, "%s", detail ? detail : "");
	snprintf(error->hint, sizeof error->hint, "%s", hint ? hint : "");
	return false;
}
