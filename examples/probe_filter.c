/*
 * probe_filter.c - looks keys up in a filter that SQL made.
 *
 *     cc probe_filter.c $(pkg-config --cflags --libs bloomx) -o probe_filter
 *     psql -Atc "SELECT bloom_agg(name)::bytea FROM (VALUES ('apple'), ('pear')) t(name)" > fruit
 *     ./probe_filter pear plum < fruit
 *
 * Standard input is the filter as psql prints a bytea, the arguments are keys.
 * Keys of type text are hashed as they stand, integers as eight bytes, the
 * lowest first; docs/internals/FORMAT.md has the other types.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bloomx.h>

/* Reads "\x0123..."; returns the number of bytes. */
static size_t
read_hex(FILE *in, uint8_t **bytes)
{
	size_t		n = 0,
				room = 0;
	unsigned	byte;

	*bytes = NULL;
	if (fscanf(in, " \\x") == EOF)
		return 0;
	while (fscanf(in, "%2x", &byte) == 1)
	{
		if (n == room)
		{
			room = room == 0 ? 4096 : 2 * room;
			*bytes = (uint8_t *) realloc(*bytes, room);
			if (*bytes == NULL)
				abort();
		}
		(*bytes)[n++] = (uint8_t) byte;
	}
	return n;
}

static uint64_t
hash_integer(int64_t key, uint64_t seed)
{
	uint8_t		bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t) ((uint64_t) key >> 8 * i);
	return blx_hash(bytes, sizeof bytes, seed);
}

int
main(int argc, char **argv)
{
	blx_error	error;
	uint8_t    *bytes;
	size_t		length = read_hex(stdin, &bytes);
	blx_filter *filter = blx_import(bytes, length, NULL, &error);

	free(bytes);
	if (filter == NULL)
	{
		fprintf(stderr, "probe_filter: %s\n", error.message);
		return 1;
	}
	if (filter->key_type != BLX_KEY_TEXT && filter->key_type != BLX_KEY_INTEGER)
	{
		fprintf(stderr, "probe_filter: the filter has keys of neither text nor integers\n");
		return 1;
	}
	printf("about %.0f keys, a false positive rate of %.2g\n", blx_cardinality(filter), blx_fpr(filter));
	for (int i = 1; i < argc; i++)
	{
		uint64_t	hash = filter->key_type == BLX_KEY_INTEGER
			? hash_integer(strtoll(argv[i], NULL, 10), filter->seed)
			: blx_hash(argv[i], strlen(argv[i]), filter->seed);

		printf("%s: %s\n", argv[i], blx_test(filter, hash) ? "perhaps" : "no");
	}
	blx_free(filter, NULL);
	return 0;
}
