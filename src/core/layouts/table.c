/*
 * table.c - the table of layouts: the register in which the core finds the
 * functions of a layout by its number.
 *
 * This is the one file that names the layouts.  A number is stored in every
 * filter, so it keeps its meaning for ever.
 */
#include <stdio.h>
#include <string.h>

#include "core/layouts/layout.h"

const blx_layout *const blx_layouts[BLX_LAYOUTS] = {
	[BLX_HASHES] = &blx_layout_hashes,
	[BLX_STANDARD] = &blx_layout_standard,
	[BLX_PARTITIONED] = &blx_layout_partitioned,
	[BLX_BLOCKED] = &blx_layout_blocked,
	[BLX_PARTITIONED_BLOCKED] = &blx_layout_partitioned_blocked,
	[BLX_SCALABLE] = &blx_layout_scalable,
	[BLX_DYNAMIC_BLOCKED] = &blx_layout_dynamic_blocked,
	[BLX_AGE_PARTITIONED] = &blx_layout_age_partitioned,
	[BLX_COUNTING] = &blx_layout_counting,
	[BLX_HYBRID] = &blx_layout_hybrid,
	[BLX_RATIONAL] = &blx_layout_rational,
	[BLX_VARIABLE_BLOCKED] = &blx_layout_variable_blocked,
	[BLX_BINARY_FUSE] = &blx_layout_binary_fuse,
};

const char *
blx_layout_name(uint8_t layout)
{
	const blx_layout *row = blx_layout_row(layout);

	return row ? row->name : "unknown";
}

unsigned
blx_traits(uint8_t layout)
{
	const blx_layout *row = blx_layout_row(layout);

	return row ? row->traits : 0;
}

bool
blx_check_operation(uint8_t layout, enum blx_operation operation, blx_error *error)
{
	static const char *const done[BLX_OPERATIONS] = {
		[BLX_UNION] = "merged",
		[BLX_INTERSECTION] = "intersected",
		[BLX_DISJOINT] = "tested for disjointness",
		[BLX_COMPARISON] = "compared with another by estimates",
		[BLX_PREFIX] = "cut to a prefix",
		[BLX_FOLD] = "folded or shrunk",
	};
	const blx_layout *row = blx_layout_row(layout);

	if ((unsigned) operation >= BLX_OPERATIONS)
		return blx_fail(error, BLX_UNSUPPORTED, NULL, NULL, "unknown operation %u", (unsigned) operation);
	if (row != NULL && row->why_not[operation] == NULL)
		return true;
	return blx_fail(error, BLX_UNSUPPORTED, row ? row->why_not[operation] : NULL, row ? row->instead[operation] : NULL,
					"a filter of layout %s cannot be %s", blx_layout_name(layout), done[operation]);
}

/*
 * The layouts that can be asked for, those that most users need first: the
 * default, what grows and what forgets, then those for comparison.
 */
static const uint8_t by_use[] = {
	BLX_PARTITIONED_BLOCKED, BLX_SCALABLE, BLX_BINARY_FUSE, BLX_COUNTING, BLX_AGE_PARTITIONED, BLX_BLOCKED, BLX_PARTITIONED,
	BLX_STANDARD, BLX_HYBRID, BLX_DYNAMIC_BLOCKED, BLX_RATIONAL, BLX_VARIABLE_BLOCKED,
};

_Static_assert(sizeof by_use == BLX_LAYOUTS - 1, "every layout but BLX_HASHES can be asked for");

/* ASCII alone counts: a locale may have letters of its own. */
bool
blx_same_name(const char *text, const char *name)
{
	for (;; text++, name++)
	{
		char		lower = *text >= 'A' && *text <= 'Z' ? (char) (*text - 'A' + 'a') : *text;

		if (lower != *name)
			return false;
		if (lower == '\0')
			return true;
	}
}

bool
blx_layout_by_name(const char *name, uint8_t *layout, blx_error *error)
{
	char		hint[300] = "Layouts are";
	size_t		used = strlen(hint);

	for (size_t i = 0; i < sizeof by_use / sizeof by_use[0]; i++)
	{
		if (blx_same_name(name, blx_layouts[by_use[i]]->name))
		{
			*layout = by_use[i];
			return true;
		}
		used += (size_t) snprintf(hint + used, sizeof hint - used, "%s %s%s", i == 0 ? "" : ",",
								  blx_layouts[by_use[i]]->name, i == 0 ? " (the default)" : "");
	}
	snprintf(hint + used, sizeof hint - used, ".");
	return blx_fail(error, BLX_INVALID_PARAMETER, NULL, hint, "unknown filter layout \"%s\"", name);
}
