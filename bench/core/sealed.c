/*
 * sealed.c - sealed filters (layout binary_fuse) beside the default layout at the same
 * rates: bits per key, tests, the time and the memory of sealing; and maps, and exact
 * answers in a closed universe.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/filter/filter.h"
#include "core/filter/inline.h"

#define PORTION 8192			/* keys between two candidates */

static const blx_identity texts = {.key_type = BLX_KEY_TEXT};

/* ---- memory that is counted ---- */

static uint64_t in_use,
			most;

static void *
counted_alloc(void *arg, size_t bytes)
{
	uint64_t   *memory = malloc(bytes + 64);

	(void) arg;
	in_use += *memory = bytes;
	most = in_use > most ? in_use : most;
	return memory + 8;
}

static void
counted_free(void *arg, void *memory)
{
	uint64_t   *start = (uint64_t *) memory - 8;

	(void) arg;
	in_use -= *start;
	free(start);
}

static const blx_memory counted = {counted_alloc, counted_free, NULL};

/* ---- filters ---- */

static blx_filter *
checked(blx_filter *f, const blx_error *error)
{
	if (f == NULL)
		die(error);
	return f;
}

static blx_filter *
collect(const blx_geometry *g, uint64_t keys)
{
	blx_error	error;
	blx_filter *set = checked(blx_open(g, &texts, keys, NULL, &error), &error);

	for (uint64_t i = 0; i < keys; i += PORTION)
	{
		uint64_t	hashes[PORTION];
		uint64_t	n = keys - i < PORTION ? keys - i : PORTION;

		for (uint64_t j = 0; j < n; j++)
			hashes[j] = random_hash(i + j);
		if (!blx_grow_add(&set, hashes, n, NULL, &error))
			die(&error);
	}
	return set;
}

static blx_filter *
default_filter(uint64_t keys, double fpr)
{
	blx_geometry g;
	blx_error	error;
	blx_filter *f;

	if (!blx_plan(BLX_PARTITIONED_BLOCKED, keys, fpr, NULL, &g, &error))
		die(&error);
	f = (blx_filter *) (void *) (big_alloc(blx_bytes(&g, 0) + 64) + 16);	/* blocks begin at lines, as in PostgreSQL */
	blx_init(f, &g, &texts, keys);
	for (uint64_t i = 0; i < keys; i++)
		blx_add_inline(f, &(uint64_t) {random_hash(i)}, 1);
	return f;
}

/* ---- tests ---- */

enum
{
	ABSENT, PRESENT, ABSENT_BATCH, PRESENT_BATCH, TESTS
};

static double
time_of(const blx_filter *f, int test, const uint64_t *hashes)
{
	uint64_t	found = 0;
	double		start = now();

	if (test < ABSENT_BATCH)
		for (unsigned i = 0; i < PORTION; i++)
			found += blx_test_inline(f, hashes[i]);
	else
		for (unsigned i = 0; i < PORTION; i += BLX_BATCH)
			found += blx_test_batch(f, hashes + i, BLX_BATCH);
	sink += found;
	return (now() - start) / PORTION;
}

/* Prints, for each kind of test, the time of the default and the ratio to it: fresh keys in each round. */
static void
compare(const blx_filter *plain, const blx_filter *sealed, uint64_t keys)
{
	static uint64_t hashes[PORTION];
	double		times[2][MAX_ROUNDS];
	uint64_t	fresh = 0;

	for (int test = 0; test < TESTS; test++)
	{
		for (int round = -1; round < MAX_ROUNDS; round++)
		{
			for (int which = 0; which < 2; which++)
			{
				for (unsigned i = 0; i < PORTION; i++, fresh++)
					hashes[i] = test % 2 == ABSENT ? random_hash((UINT64_C(1) << 40) + fresh) : random_hash(random_hash(fresh ^ (UINT64_C(1) << 50)) % keys);
				if (round >= 0)
					times[which][round] = time_of(which == 0 ? plain : sealed, test, hashes);
			}
		}
		printf(" %.1f | %.2f |", median(times[0], MAX_ROUNDS), median_ratio(times[1], times[0], MAX_ROUNDS));
	}
}

static double
absent_rate(const blx_filter *f, uint64_t tests)
{
	uint64_t	yes = 0;

	for (uint64_t i = 0; i < tests; i += BLX_BATCH)
	{
		uint64_t	hashes[BLX_BATCH];

		for (unsigned j = 0; j < BLX_BATCH; j++)
			hashes[j] = random_hash((UINT64_C(3) << 40) + i + j);
		yes += (uint64_t) __builtin_popcountll(blx_test_batch(f, hashes, BLX_BATCH));
	}
	return (double) yes / (double) tests;
}

static blx_filter *
sealed_filter(uint64_t keys, double fpr, double *ns, uint64_t *scratch)
{
	blx_geometry g;
	blx_error	error;
	blx_filter *set,
			   *f;
	double		times[3];

	if (!blx_plan(BLX_BINARY_FUSE, 1, fpr, NULL, &g, &error))
		die(&error);
	set = collect(&g, keys);
	for (int i = 0; i < 3; i++)
	{
		in_use = most = 0;
		times[i] = now();
		f = checked(blx_finish(set, fpr, &counted, &error), &error);
		times[i] = (now() - times[i]) / (double) keys;
		if (i < 2)
			counted_free(NULL, f);
	}
	*ns = median(times, 3);
	*scratch = most - blx_size(f);
	blx_free(set, NULL);
	return f;
}

/* The filter in memory as the default has it; frees f. */
static blx_filter *
placed(blx_filter *f)
{
	blx_filter *copy = (blx_filter *) (void *) (big_alloc(blx_size(f) + 64) + 16);

	memcpy(copy, f, blx_size(f));
	counted_free(NULL, f);
	return copy;
}

static void
one_row(uint64_t keys, unsigned bits)
{
	double		fpr = ldexp(1, -(int) bits),
				ns,
				tests = bits == 8 ? 2e7 : 2e8,
				rate;
	uint64_t	scratch;
	blx_filter *sealed = sealed_filter(keys, fpr, &ns, &scratch),
			   *plain = default_filter(keys, fpr);

	sealed = placed(sealed);
	rate = absent_rate(sealed, (uint64_t) tests);
	printf("| %.0e | 2^-%u | %.2f | %.2f | %+.1f |", (double) keys, bits, 8.0 * (double) blx_size(plain) / (double) keys,
		   8.0 * (double) blx_size(sealed) / (double) keys, (rate - fpr) / sqrt(fpr / tests));
	compare(plain, sealed, keys);
	printf(" %.0f | %.1f |\n", ns, (double) scratch / 1e6);
	fflush(stdout);
	free((char *) sealed - 16);
	free((char *) plain - 16);
}

/* ---- maps ---- */

static void
one_map(uint64_t keys, unsigned bits)
{
	blx_geometry g;
	blx_error	error;
	blx_entry  *entries = malloc(sizeof(blx_entry) * keys);
	uint64_t	wrong = 0,
				found_others = 0;
	double		time;
	blx_filter *map;

	if (!blx_plan(BLX_BINARY_FUSE, 1, ldexp(1, -(int) bits), NULL, &g, &error))
		die(&error);
	for (uint64_t i = 0; i < keys; i++)
		entries[i] = (blx_entry) {random_hash(i), (uint32_t) (i % 1000)};
	in_use = most = 0;
	time = now();
	map = checked(blx_build_map(&g, &texts, entries, keys, &counted, NULL, &error), &error);
	time = (now() - time) / (double) keys;
	for (uint64_t i = 0; i < keys; i++)
	{
		uint32_t	value = 0;
		bool		found;

		wrong += !blx_get(map, random_hash(i), &found, &value, &error) || !found || value != i % 1000;
		blx_get(map, random_hash((UINT64_C(1) << 40) + i), &found, &value, &error);
		found_others += found;
	}
	printf("A map of %.0e keys in 1,000 segments, 2^-%u: %.2f bits per key, %.0f ns per key with sorting, scratch %.1f MB, %llu wrong values, %.7f of others found.\n\n",
		   (double) keys, bits, 8.0 * (double) blx_size(map) / (double) keys, time, (double) (most - blx_size(map)) / 1e6,
		   (unsigned long long) wrong, (double) found_others / (double) keys);
	counted_free(NULL, map);
	free(entries);
}

/* The hash of the same key with another seed: here any other function of it. */
static uint64_t
other_hash(uint64_t i)
{
	return random_hash(random_hash(i) ^ 0x5555);
}

/* One in twenty of a universe are members: a filter of 4 bits, and a map of one bit for what it finds. */
static void
closed_universe(uint64_t universe)
{
	blx_options options = blx_default_options(BLX_BINARY_FUSE);
	uint64_t	members = universe / 20,
				n = 0,
				wrong = 0;
	blx_geometry g;
	blx_error	error;
	blx_entry  *entries = malloc(sizeof(blx_entry) * universe);
	blx_filter *f,
			   *map,
			   *set;

	if (!blx_plan(BLX_BINARY_FUSE, 1, ldexp(1, -4), NULL, &g, &error))
		die(&error);
	set = collect(&g, members);
	f = checked(blx_finish(set, 0.1, NULL, &error), &error);
	options.value[BLX_OPT_FINGERPRINT_BITS] = 0;
	if (!blx_plan(BLX_BINARY_FUSE, 1, 0.5, &options, &g, &error))
		die(&error);
	for (uint64_t i = 0; i < universe; i++)
		if (blx_test(f, random_hash(i)))
			entries[n++] = (blx_entry) {other_hash(i), i < members};
	map = checked(blx_build_map(&g, &texts, entries, n, NULL, NULL, &error), &error);
	for (uint64_t i = 0; i < universe; i++)
	{
		bool		found,
					yes = blx_test(f, random_hash(i));
		uint32_t	value = 0;

		if (yes && blx_get(map, other_hash(i), &found, &value, &error))
			yes = value == 1;
		wrong += yes != (i < members);
	}
	printf("A closed universe of %.0e keys, one in twenty a member: %.2f bits per member, %llu wrong answers.\n\n", (double) universe,
		   8.0 * (double) (blx_size(f) + blx_size(map)) / (double) members, (unsigned long long) wrong);
	blx_free(set, NULL);
	blx_free(f, NULL);
	blx_free(map, NULL);
	free(entries);
}

void
sealed_filters(bool quick)
{
	static const uint64_t sizes[] = {10000, 1000000, 10000000, 50000000};

	if (!print_title("Sealed filters beside the default layout of the same rate"))
		return;
	printf("Each pair: the default in ns per key, and the ratio of the sealed filter to it (medians of %d rounds of %d keys in turns). "
		   "The rate is its distance from 2^-bits in standard errors; sealing is in ns per key, without collecting the keys; scratch in MB, beside set and filter.\n\n"
		   "| keys | rate | default, bits per key | sealed | rate, errors | absent | | present | | absent, batch | | present, batch | | sealing | scratch |\n"
		   "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", MAX_ROUNDS, PORTION);
	for (unsigned i = 0; i < (quick ? 2 : 4); i++)
		for (unsigned bits = 8; bits <= 16; bits *= 2)
			one_row(sizes[i], bits);
	printf("\n");
	one_map(quick ? 1000000 : 10000000, 8);
	closed_universe(4000000);
	if (quick)
		return;
	one_map(50000000, 16);
	closed_universe(50000000);
}
