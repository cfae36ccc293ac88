/*
 * optional.c - parts of this room that can be left out, and access methods that they ask.
 *
 * Constructors run when the library is loaded, before anything else of it, in no
 * known order.  So a part only registers itself then, and parts know nothing of one another.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "runtimefilter/query/keyindex.h"
#include "runtimefilter/query/optional.h"

OptionalPart *optional_parts;
KeyIndexMethod *key_index_methods;

const struct config_enum_entry part_switch_options[] = {
	{"auto", PART_AUTO, false},
	{"on", PART_ON, false},
	{"off", PART_OFF, false},
	{"true", PART_ON, true},
	{"false", PART_OFF, true},
	{"yes", PART_ON, true},
	{"no", PART_OFF, true},
	{"1", PART_ON, true},
	{"0", PART_OFF, true},
	{NULL, 0, false}
};

void
RegisterPart(OptionalPart *part)
{
	part->next = optional_parts;
	optional_parts = part;
}

bool
IsWanted(PlanState *ps)
{
	for (OptionalPart *part = optional_parts; part != NULL; part = part->next)
		if (part->wants != NULL && PartIsOn(part) && part->wants(ps))
			return true;
	return false;
}

void
RegisterKeyIndexMethod(KeyIndexMethod *method)
{
	method->next = key_index_methods;
	key_index_methods = method;
}
