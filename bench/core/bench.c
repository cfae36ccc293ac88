/*
 * bench.c - the speed of the core: nanoseconds and instructions per key, and
 * bytes per second for whole filters, by layout, kernel path and size.
 *
 *     bench-core [--quick] [--size MB] [--only TEXT]
 *
 * --only: the tables whose titles have that text, for instance "k = 8,",
 * layouts, Instructions, Whole or Sealed.
 *
 * The machine may be shared and noisy.  So candidates are not measured one after
 * the other: in every round each of them runs for about a millisecond, and each
 * figure is the median over the rounds.  A ratio is the median of the ratios
 * within the rounds, not the ratio of two medians.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "splitblock.h"

volatile uint64_t sink;
int			rounds = 21,
			processes = 5;

const char *const path_names[BLX_SIMD_PATHS] = {"auto", "scalar", "avx2", "avx512", "avx512_vbmi", "neon"};

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

uint64_t
random_hash(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
	i = (i ^ i >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	i = (i ^ i >> 27) * UINT64_C(0x94D049BB133111EB);
	return i ^ i >> 31;
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a,
				y = *(const double *) b;

	return (x > y) - (x < y);
}

double
median(const double *values, int n)
{
	double		sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t) n * sizeof *values);
	qsort(sorted, (size_t) n, sizeof *sorted, by_value);
	return sorted[n / 2];
}

double
median_ratio(const double *a, const double *b, int n)
{
	double		ratios[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		ratios[i] = a[i] / b[i];
	return median(ratios, n);
}

void
die(const blx_error *error)
{
	fprintf(stderr, "%s\n", error->message);
	exit(1);
}

#define HUGE_PAGE (UINT64_C(1) << 21)

/* Only whole huge pages can be huge: the size is rounded up to them. */
char *
big_alloc(uint64_t bytes)
{
	uint64_t	page = bytes < HUGE_PAGE ? 4096 : HUGE_PAGE,
				rounded = (bytes + page - 1) / page * page;
	void	   *p;

	if (posix_memalign(&p, page, rounded) != 0)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	if (page == HUGE_PAGE)
		madvise(p, rounded, MADV_HUGEPAGE);
	memset(p, 0, rounded);
	return p;
}

bool
runs_here(enum blx_simd_path path)
{
	blx_error	error;

	return blx_simd_check(path, &error);
}

blx_geometry
of_bits(uint8_t layout, uint64_t bytes, unsigned k)
{
	blx_geometry g;
	blx_error	error;

	if (!blx_plan_bits(layout, (int64_t) (bytes * 8), k, NULL, &g, &error))
		die(&error);
	return g;
}

/* k = 8 and k = 7 at 12 bits per key; k = 16 at 21, as in a plan for a rate of 1e-4. */
static void
keys_at_size(uint64_t bytes)
{
	keys_by_path(bytes, 8, 12);
	keys_by_path(bytes / 8 * 7, 7, 12);
	keys_by_path(bytes, 16, 21);
}

/* The text of --only, or NULL. */
static const char *only;

bool
print_title(const char *title)
{
	if (only != NULL && strstr(title, only) == NULL)
		return false;
	printf("### %s\n\n", title);
	return true;
}

static void
usage(void)
{
	fprintf(stderr, "usage: bench-core [--quick] [--size MB] [--only TEXT]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	static const uint64_t all_sizes[] = {512 << 10, 8 << 20, 64 << 20, 512 << 20};
	static const uint8_t whole[] = {BLX_PARTITIONED_BLOCKED, BLX_PARTITIONED, BLX_BLOCKED, BLX_COUNTING};
	const uint64_t *sizes = all_sizes;
	int			n_sizes = 4;
	uint64_t	one_size;

	if (argc == 1 + KEYS_ARGUMENTS && strcmp(argv[1], KEYS_PROCESS) == 0)
		return keys_process(argv);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--quick") == 0)
		{
			n_sizes = 2;
			rounds = 15;
			processes = 3;
		}
		else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc && atof(argv[i + 1]) > 0)
		{
			one_size = (uint64_t) (atof(argv[++i]) * (1 << 20));
			sizes = &one_size;
			n_sizes = 1;
		}
		else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			only = argv[++i];
		else
			usage();
	printf("Kernels chosen at load: %s; split block filter: %s.\n\n", blx_simd_name(), splitblock_choose());
	for (int i = 0; i < n_sizes; i++)
		keys_at_size(sizes[i]);
	for (int planned = 0; planned <= 1; planned++)
		for (int i = 0; i < (n_sizes + 1) / 2; i++)	/* flat layouts much larger than the caches take minutes */
			keys_by_layout(sizes[i], planned);
	keys_instructions();
	whole_filters(whole, sizeof whole, sizes, n_sizes);
	sealed_filters(n_sizes == 2);
	return 0;
}
