/*
 * options.c - the options of a layout: what can be chosen besides its size and
 * rate.
 *
 * A layout's row lists the options that it has, with their ranges and presets.
 * This file has their names, checks values and reads the text form, "name=value,
 * name=value".  What an option means is the layout's business.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/filter/filter.h"
#include "core/layouts/layout.h"

/* The options by enum blx_option.  If one is not `whole`, it takes any number in its range. */
static const struct
{
	const char *name;
	bool		whole;
} option_names[BLX_OPTIONS] = {
	[BLX_OPT_HASHING] = {"hashing", true},
	[BLX_OPT_PROBES] = {"probes", true},
	[BLX_OPT_BLOCK_BITS] = {"block_bits", true},
	[BLX_OPT_GROWTH] = {"growth", true},
	[BLX_OPT_TIGHTENING] = {"tightening", false},
	[BLX_OPT_GENERATIONS] = {"generations", true},
	[BLX_OPT_FINGERPRINT_BITS] = {"fingerprint_bits", true},
};

static const char *const hashing_names[] = {
	[BLX_INDEPENDENT] = "independent",
	[BLX_DOUBLE] = "double",
	[BLX_ENHANCED_DOUBLE] = "enhanced_double",
	[BLX_TRIPLE] = "triple",
};

#define HASHINGS (sizeof hashing_names / sizeof hashing_names[0])

const char *
blx_hashing_name(uint8_t hashing)
{
	return hashing < HASHINGS ? hashing_names[hashing] : "unknown";
}

blx_options
blx_default_options(uint8_t layout)
{
	const blx_layout *row = blx_filter_row(layout);
	const blx_option_range *range = row != NULL ? row->options : NULL;
	blx_options options = {{0}};

	for (; range != NULL && range->most > 0; range++)
		options.value[range->option] = range->preset;
	return options;
}

/* Writes the hint "Options of layout x are a (1 to 2), b (3 to 4)." */
static void
list_options(const blx_layout *row, char *out, size_t room)
{
	const blx_option_range *range = row->options;
	size_t		used;

	if (range == NULL || range->most == 0)
	{
		snprintf(out, room, "Layout %s has no options.", row->name);
		return;
	}
	used = (size_t) snprintf(out, room, "Options of layout %s are", row->name);
	for (const char *before = " "; range->most > 0 && used < room; range++, before = ", ")
	{
		const char *name = option_names[range->option].name;

		if (range->option == BLX_OPT_HASHING)
			used += (size_t) snprintf(out + used, room - used, "%s%s (independent, double, enhanced_double or triple)", before, name);
		else
			used += (size_t) snprintf(out + used, room - used, "%s%s (%.15g to %.15g)", before, name, range->least, range->most);
	}
	if (used < room)
		snprintf(out + used, room - used, ".");
}

/* True if the option may have that value. */
static bool
in_range(const blx_option_range *range, double value)
{
	return value >= range->least && value <= range->most && (!option_names[range->option].whole || value == floor(value));
}

bool
blx_check_options(uint8_t layout, const blx_options *options, blx_error *error)
{
	const blx_layout *row = blx_filter_row(layout);
	char		hint[300];

	for (const blx_option_range *range = row->options; range != NULL && range->most > 0; range++)
	{
		double		value = options->value[range->option];

		/* a preset may lie outside the range: 0 where the plan chooses */
		if (value == range->preset || in_range(range, value))
			continue;
		list_options(row, hint, sizeof hint);
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, hint, "invalid value %g for option \"%s\" of layout %s",
						value, option_names[range->option].name, row->name);
	}
	return true;
}

/* Reads a number, or the name of a hashing scheme.  False if `value` is neither. */
static bool
read_value(enum blx_option option, const char *value, double *number)
{
	char	   *end;

	if (option == BLX_OPT_HASHING)
	{
		for (size_t i = 0; i < HASHINGS; i++)
			if (blx_same_name(value, hashing_names[i]))
			{
				*number = (double) i;
				return true;
			}
		return false;
	}
	*number = strtod(value, &end);
	return end != value && *end == '\0';
}

/* Sets one option of a layout from its text form. */
static bool
set_option(const blx_layout *row, const char *name, const char *value, blx_options *options, blx_error *error)
{
	const blx_option_range *range = row->options;
	const char *article = row->name[0] == 'a' ? "an" : "a";
	char		hint[300];
	double		number;

	list_options(row, hint, sizeof hint);
	while (range != NULL && range->most > 0 && !blx_same_name(name, option_names[range->option].name))
		range++;
	if (range == NULL || range->most == 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, hint,
						"%s %s filter has no option \"%s\"", article, row->name, name);
	if (!read_value(range->option, value, &number) || !in_range(range, number))
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, hint,
						"invalid value \"%s\" for option \"%s\" of %s %s filter", value, name, article, row->name);
	options->value[range->option] = number;
	return true;
}

/*
 * Reads the next word, without the spaces around it, up to one of `stops` or the
 * end, and moves *text there.  False if the word is empty or too long.
 */
static bool
next_word(const char **text, const char *stops, char *word, size_t room)
{
	const char *start = *text + strspn(*text, " \t\n");
	size_t		length = strcspn(start, stops);

	*text = start + length;
	while (length > 0 && strchr(" \t\n", start[length - 1]) != NULL)
		length--;
	if (length == 0 || length >= room)
		return false;
	memcpy(word, start, length);
	word[length] = '\0';
	return true;
}

bool
blx_parse_options(uint8_t layout, const char *text, blx_options *options, blx_error *error)
{
	const blx_layout *row = blx_filter_row(layout);
	char		name[64],
				value[64],
				hint[300];

	*options = blx_default_options(layout);
	if (row == NULL)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "layout %s has no options", blx_layout_name(layout));
	list_options(row, hint, sizeof hint);
	/* name, =, value, and a comma or the end */
	while (text[strspn(text, " \t\n")] != '\0')
	{
		if (!next_word(&text, "=,", name, sizeof name) || *text++ != '=' ||
			!next_word(&text, "=,", value, sizeof value) || (*text != '\0' && *text++ != ','))
			return blx_fail(error, BLX_INVALID_PARAMETER, "Options are written as name=value, name=value.", hint,
							"invalid filter options");
		if (!set_option(row, name, value, options, error))
			return false;
	}
	return true;
}
