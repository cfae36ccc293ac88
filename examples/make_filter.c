/*
 * make_filter.c - builds a filter of the lines of standard input and prints it as
 * bytea, which SQL casts to bloomfilter.
 *
 *     cc make_filter.c $(pkg-config --cflags --libs bloomx) -o make_filter
 *     printf 'apple\npear\n' | ./make_filter > fruit
 *     psql -c "SELECT '$(cat fruit)'::bytea::bloomfilter @> 'pear'"
 *
 * The keys are text.  How many are coming is not known: they are collected in
 * an open set, which is sized at the end for a false positive rate of 1 %.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bloomx.h>

static void
fail(const blx_error *error)
{
	fprintf(stderr, "make_filter: %s\n%s%s\n", error->message, error->detail, error->hint);
	exit(1);
}

int
main(void)
{
	char		line[4096];
	blx_identity keys = {0, BLX_KEY_TEXT, 0, NULL};	/* seed 0, as SQL's bloom_agg has it */
	blx_error	error;
	blx_filter *open,
			   *filter;
	uint8_t    *bytes;
	uint64_t	length;

	open = blx_open(NULL, &keys, 0, NULL, &error);
	if (open == NULL)
		fail(&error);

	while (fgets(line, sizeof line, stdin) != NULL)
	{
		uint64_t	hash = blx_hash(line, strcspn(line, "\n"), keys.seed);

		if (!blx_grow_add(&open, &hash, 1, NULL, &error))
			fail(&error);
	}

	filter = blx_finish(open, 0.01, NULL, &error);
	if (filter == NULL)
		fail(&error);

	length = blx_export_bytes(filter);
	bytes = (uint8_t *) malloc(length);
	if (bytes == NULL)
		abort();
	blx_export(filter, bytes);
	printf("\\x");
	for (uint64_t i = 0; i < length; i++)
		printf("%02x", bytes[i]);
	printf("\n");

	free(bytes);
	blx_free(filter, NULL);
	blx_free(open, NULL);
	return 0;
}
