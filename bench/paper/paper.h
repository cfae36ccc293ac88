/*
 * paper.h - what the reproductions share: random keys, filters with their
 * memory, CSV files, and times that a busy machine does not spoil.
 *
 * Keys are ready-made 64-bit hashes, hash_of(0), hash_of(1), ...  hash_of is a
 * bijection of 64-bit integers.  So different numbers are different keys, and a
 * range of keys that was added has none in common with a range that is only
 * tested.
 */
#ifndef PAPER_H
#define PAPER_H

#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/filter/filter.h"

/* The number of the first absent key. */
#define ABSENT (UINT64_C(1) << 62)

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MAX_ROUNDS 101

static inline uint64_t
hash_of(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
	i = (i ^ i >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	i = (i ^ i >> 27) * UINT64_C(0x94D049BB133111EB);
	return i ^ i >> 31;
}

static inline void
fill_hashes(uint64_t *out, uint64_t first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = hash_of(first + i);
}

static inline _Noreturn void __attribute__((format(printf, 1, 2)))
die(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static inline void *
must_alloc(size_t bytes)
{
	void	   *p;

	if (posix_memalign(&p, 64, bytes) != 0)
		die("no memory for %zu bytes", bytes);
	return p;
}

static inline blx_geometry
geometry(uint8_t layout, uint64_t blocks, unsigned parts, unsigned probes, uint64_t part_bits)
{
	return (blx_geometry) {
		.layout = layout, .blocks = (uint32_t) blocks, .parts = (uint16_t) parts, .probes = (uint16_t) probes, .part_bits = part_bits
	};
}

/* Empties f, which has that geometry or is new. */
static inline void
blank(blx_filter *f, const blx_geometry *g)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};

	blx_init(f, g, &id, 0);
}

/* blx_memory for filters whose words begin at a cache line. */
static inline void *
alloc_aligned(void *arg, size_t bytes)
{
	(void) arg;
	return (char *) must_alloc(64 + bytes) + 64 - sizeof(blx_filter);
}

static inline void
free_aligned(void *arg, void *f)
{
	(void) arg;
	free((char *) f + sizeof(blx_filter) - 64);
}

static const blx_memory aligned_memory = {alloc_aligned, free_aligned, NULL};

/* An empty filter whose words begin at a cache line. */
static inline blx_filter *
new_filter(const blx_geometry *g)
{
	blx_error	error;
	blx_filter *f;

	if (!blx_geometry_check(g, &error))
		die("%s: %s", blx_layout_name(g->layout), error.message);
	f = alloc_aligned(NULL, blx_bytes(g, 0));
	blank(f, g);
	return f;
}

static inline void
free_filter(blx_filter *f)
{
	free_aligned(NULL, f);
}

/* Adds hashes.  A filter that grows is replaced. */
static inline void
add_hashes(blx_filter **f, const uint64_t *hashes, size_t n)
{
	for (size_t done = blx_add(*f, hashes, n); done < n; done += blx_add(*f, hashes + done, n - done))
	{
		blx_error	error;
		blx_filter *grown = blx_grown(*f, &aligned_memory, &error);

		if (grown == NULL)
			die("%s", error.message);
		free_filter(*f);
		*f = grown;
	}
}

/* Adds the keys with numbers first .. first+n-1. */
static inline void
add_range(blx_filter *f, uint64_t first, uint64_t n)
{
	uint64_t	batch[256];

	while (n > 0)
	{
		size_t		some = n < LENGTH(batch) ? (size_t) n : LENGTH(batch);

		fill_hashes(batch, first, some);
		blx_add(f, batch, some);
		first += some;
		n -= some;
	}
}

/* The number of the n keys that test true. */
static inline uint64_t
count_true(const blx_filter *f, uint64_t first, uint64_t n)
{
	uint64_t	found = 0;

	for (uint64_t i = 0; i < n; i++)
		found += blx_test(f, hash_of(first + i));
	return found;
}

static inline FILE *
open_csv(const char *directory, const char *name, const char *header)
{
	char		path[4096];
	FILE	   *csv;

	snprintf(path, sizeof path, "%s/%s.csv", directory, name);
	csv = fopen(path, "w");
	if (csv == NULL)
		die("cannot write %s", path);
	fprintf(csv, "%s\n", header);
	return csv;
}

/* Nanoseconds for which this program has run; time that other processes use does not count. */
static inline double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static inline int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a,
				y = *(const double *) b;

	return (x > y) - (x < y);
}

static inline double
median(const double *values, int n)
{
	double		sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t) n * sizeof *values);
	qsort(sorted, (size_t) n, sizeof *sorted, by_value);
	return sorted[n / 2];
}

/*
 * Candidates take turns: each runs once in every round.  ns is the median time
 * of a run.  ratio is the median, over the rounds, of the time divided by the
 * first candidate's time in the same round.
 */
typedef struct candidate
{
	const char *name;
	void		(*run) (void *arg, int round);
	void	   *arg;
	double		ns;
	double		ratio;
} candidate;

static inline void
take_turns(candidate *candidates, int n, int rounds)
{
	double		times[16][MAX_ROUNDS];
	double		ratios[MAX_ROUNDS];

	if (n > 16 || rounds > MAX_ROUNDS)
		die("too many candidates or rounds");
	for (int r = 0; r < rounds; r++)
		for (int c = 0; c < n; c++)
		{
			double		start = now();

			candidates[c].run(candidates[c].arg, r);
			times[c][r] = now() - start;
		}
	for (int c = 0; c < n; c++)
	{
		for (int r = 0; r < rounds; r++)
			ratios[r] = times[c][r] / times[0][r];
		candidates[c].ns = median(times[c], rounds);
		candidates[c].ratio = median(ratios, rounds);
	}
}

/* Reads the arguments of every program: [--quick] DIRECTORY, for the CSV files. */
static inline const char *
arguments(int argc, char **argv, bool *quick)
{
	*quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	if (argc != 2 + *quick)
		die("usage: %s [--quick] DIRECTORY", argv[0]);
	return argv[argc - 1];
}

#endif							/* PAPER_H */
