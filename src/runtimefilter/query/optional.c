/*
 * optional.c - parts of this room that can be left out.
 *
 * Constructors run when the library is loaded, before anything else of it, in no
 * known order.  So a part only registers itself then, and parts know nothing of one another.
 */
#include "postgres.h"

#include "runtimefilter/query/optional.h"

OptionalPart *optional_parts;

void
RegisterPart(OptionalPart *part)
{
	part->next = optional_parts;
	optional_parts = part;
}
