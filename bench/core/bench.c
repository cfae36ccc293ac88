/*
 * bench.c - the core's speed, in nanoseconds a key.
 *
 *     bench-core [--quick | --size MB]
 *
 * The machine may be shared and noisy, so nothing is measured one after the
 * other: every candidate gets a slice of a millisecond or so in every round,
 * and each figure is the median over the rounds.  A ratio is the median of the
 * ratios within the rounds, not the ratio of two medians.
 *
 * Keys are ready-made hashes: the key hash is not part of the figures, further
 * hashes that a layout derives are.  A filter is full to its plan when it is
 * measured; the adds that are timed repeat keys that are in it, so that it
 * stays so (the memory traffic is the same).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/bloom.h"
#include "splitblock.h"

#define SAMPLE (1 << 20)		/* keys of each kind, visited in turn */
#define SLICE (1 << 15)			/* keys a slice */
#define MAX_ROUNDS 101
#define MAX_CANDIDATES 12

enum
{
	ADD_ONE, ADD_BATCH, TEST_ABSENT, TEST_PRESENT, OPS
};

typedef struct candidate
{
	const char *name;
	enum
	{
		CORE, SPLIT, FLOOR
	}			kind;
	blx_filter *core;
	splitblock	split;
	const char *floor;
	uint64_t	floor_lines;
	uint64_t	bytes;
	unsigned	k;
	double		fpr;
	double		ns[OPS][MAX_ROUNDS];
} candidate;

static candidate candidates[MAX_CANDIDATES];
static int	n_candidates;
static uint64_t present[SAMPLE],
			absent[SAMPLE];
static volatile uint64_t sink;
static int	rounds = 31;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static uint64_t
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

static double
median(const double *values, int n)
{
	double		sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t) n * sizeof *values);
	qsort(sorted, (size_t) n, sizeof *sorted, by_value);
	return sorted[n / 2];
}

static double
median_ratio(const double *a, const double *b, int n)
{
	double		ratios[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		ratios[i] = a[i] / b[i];
	return median(ratios, n);
}

/* Memory on a 2 MB boundary, in huge pages where the system gives them. */
static char *
big_alloc(uint64_t bytes)
{
	void	   *p;

	if (posix_memalign(&p, 1 << 21, bytes + (1 << 21)) != 0)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	return p;
}

/* offset: of the words from a cache line's start */
static void
add_core(const char *name, const blx_geometry *g, uint64_t n, unsigned offset)
{
	candidate  *c = &candidates[n_candidates++];
	blx_identity id = {.key_type = BLX_KEY_HASH};

	*c = (candidate) {.name = name, .kind = CORE, .bytes = blx_bytes(g, 0), .k = blx_k(g)};
	c->core = (blx_filter *) (void *) (big_alloc(c->bytes + 64) + 64 - sizeof(blx_filter) + offset);
	blx_init(c->core, g, &id, n);
}

static void
add_split(uint64_t bytes)
{
	candidate  *c = &candidates[n_candidates++];

	*c = (candidate) {.name = "split block 8 x 32", .kind = SPLIT, .bytes = bytes / 32 * 32, .k = 8};
	c->split = (splitblock) {bytes / 32, (uint32_t *) (void *) big_alloc(bytes)};
}

static void
add_floor(uint64_t bytes)
{
	candidate  *c = &candidates[n_candidates++];

	*c = (candidate) {.name = "floor: read one line", .kind = FLOOR, .bytes = bytes};
	c->floor = big_alloc(bytes);
	c->floor_lines = bytes / 64;
}

static void
release(void)
{
	for (int i = 0; i < n_candidates; i++)
	{
		candidate  *c = &candidates[i];

		if (c->kind == CORE)
			free((void *) ((uintptr_t) c->core & ~(uintptr_t) ((1 << 21) - 1)));
		else
			free(c->kind == SPLIT ? (void *) c->split.words : (void *) c->floor);
	}
	n_candidates = 0;
}

__attribute__((noinline)) static bool
floor_read(const candidate *c, uint64_t hash)
{
	return c->floor[64 * (uint64_t) (((unsigned __int128) hash * c->floor_lines) >> 64)];
}

static void
add_keys(candidate *c, const uint64_t *keys, size_t n, size_t batch)
{
	for (size_t i = 0; i < n; i += batch)
		if (c->kind == CORE)
			blx_add(c->core, keys + i, batch);
		else
			splitblock_add(&c->split, keys + i, batch);
}

static uint64_t
test_keys(candidate *c, const uint64_t *keys, size_t n)
{
	uint64_t	hits = 0;

	if (c->kind == CORE)
		for (size_t i = 0; i < n; i++)
			hits += blx_test(c->core, keys[i]);
	else if (c->kind == SPLIT)
		for (size_t i = 0; i < n; i++)
			hits += splitblock_test(&c->split, keys[i]);
	else
		for (size_t i = 0; i < n; i++)
			hits += floor_read(c, keys[i]);
	return hits;
}

static void
run(candidate *c, int op, const uint64_t *keys, size_t n)
{
	switch (op)
	{
		case ADD_ONE:
			add_keys(c, keys, n, 1);
			break;
		case ADD_BATCH:
			add_keys(c, keys, n, 64);
			break;
		default:
			sink += test_keys(c, keys, n);
	}
}

static void
fill(uint64_t n)
{
	uint64_t	batch[4096];

	for (uint64_t i = 0; i < n; i += 4096)
	{
		size_t		m = n - i < 4096 ? n - i : 4096;

		for (size_t j = 0; j < m; j++)
			batch[j] = random_hash(i + j);
		for (int c = 0; c < n_candidates; c++)
			if (candidates[c].kind == CORE)
				blx_add(candidates[c].core, batch, m);
			else if (candidates[c].kind == SPLIT)
				splitblock_add(&candidates[c].split, batch, m);
	}
	for (size_t i = 0; i < SAMPLE; i++)
	{
		present[i] = random_hash(random_hash(i + (UINT64_C(1) << 50)) % n);
		absent[i] = random_hash(i + (UINT64_C(1) << 40));
	}
	for (int c = 0; c < n_candidates; c++)
	{
		if (candidates[c].kind == FLOOR)
			continue;
		candidates[c].fpr = (double) test_keys(&candidates[c], absent, SAMPLE) / SAMPLE;
		if (test_keys(&candidates[c], present, SAMPLE) != SAMPLE)
		{
			fprintf(stderr, "%s lost a key\n", candidates[c].name);
			exit(1);
		}
	}
}

static void
measure(void)
{
	size_t		at = 0;

	for (int r = 0; r < rounds; r++, at = (at + SLICE) % SAMPLE)
		for (int op = 0; op < OPS; op++)
			for (int c = 0; c < n_candidates; c++)
			{
				candidate  *x = &candidates[c];
				const uint64_t *keys = (op == TEST_ABSENT ? absent : present) + at;
				double		start;

				if (x->kind == FLOOR && op < TEST_ABSENT)
					continue;
				run(x, op, (op == TEST_ABSENT ? absent : present) + (at + SAMPLE / 2) % SAMPLE, SLICE);	/* warm */
				start = now();
				run(x, op, keys, SLICE);
				x->ns[op][r] = (now() - start) / SLICE;
			}
}

static void
report(uint64_t n)
{
	const candidate *yardstick = &candidates[1];

	printf("| | bits/key | k | FPR | add 1 | add 64 | test absent | test present | ratio to split block: add 1 | add 64 | absent | present |\n");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < n_candidates; i++)
	{
		candidate  *c = &candidates[i];

		if (c->kind == FLOOR)
		{
			printf("| %s | | | | | | %.1f | %.1f | | | %.2f | %.2f |\n", c->name,
				   median(c->ns[TEST_ABSENT], rounds), median(c->ns[TEST_PRESENT], rounds),
				   median_ratio(c->ns[TEST_ABSENT], yardstick->ns[TEST_ABSENT], rounds),
				   median_ratio(c->ns[TEST_PRESENT], yardstick->ns[TEST_PRESENT], rounds));
			continue;
		}
		printf("| %s | %.2f | %u | %.3f %% |", c->name, 8 * (double) c->bytes / (double) n, c->k, 100 * c->fpr);
		for (int op = 0; op < OPS; op++)
			printf(" %.1f |", median(c->ns[op], rounds));
		for (int op = 0; op < OPS; op++)
			printf(" %.2f |", median_ratio(c->ns[op], yardstick->ns[op], rounds));
		printf("\n");
	}
	printf("\n");
	fflush(stdout);
}

static void
die(const blx_error *error)
{
	fprintf(stderr, "%s\n", error->message);
	exit(1);
}

/* How much of our memory is in huge pages: some of it in 4 KB pages would make an unfair race. */
static void
report_huge_pages(void)
{
	FILE	   *f = fopen("/proc/self/smaps_rollup", "r");
	char		line[200];
	unsigned long rss = 0,
				huge = 0;

	if (f == NULL)
		return;
	while (fgets(line, sizeof line, f) != NULL)
	{
		(void) sscanf(line, "Rss: %lu", &rss);
		(void) sscanf(line, "AnonHugePages: %lu", &huge);
	}
	fclose(f);
	printf("%lu of %lu MB of memory in huge pages.\n\n", huge >> 10, rss >> 10);
}

/* The share of one size: all layouts, at 12 bits a key with k = 8, or planned for 1 %. */
static void
at_size(uint64_t bytes, bool planned)
{
	uint64_t	n = (uint64_t) ((double) bytes * 8 / (planned ? 10.8 : 12));
	static const uint8_t layouts[] = {BLX_PARTITIONED_BLOCKED, BLX_BLOCKED, BLX_PARTITIONED, BLX_STANDARD};
	blx_error	error;
	blx_geometry g;

	add_floor(bytes);
	add_split(planned ? (uint64_t) ((double) n * 10.5 / 8) : bytes);
	for (size_t i = 0; i < sizeof layouts; i++)
	{
		if (!(planned ? blx_plan(layouts[i], n, 0.01, NULL, &g, &error)
			  : blx_plan_bits(layouts[i], (int64_t) (bytes * 8), 8, NULL, &g, &error)))
			die(&error);
		add_core(blx_layout_name(layouts[i]), &g, n, 0);
		if (layouts[i] == BLX_PARTITIONED_BLOCKED)
			add_core("partitioned_blocked, 16 bytes off the line", &g, n, 16);
	}
	fill(n);
	measure();
	printf("### %llu KB, %llu keys, %s\n\n", (unsigned long long) (bytes >> 10), (unsigned long long) n,
		   planned ? "planned for 1 % (split block: 10.5 bits a key)" : "12 bits a key, k = 8");
	report_huge_pages();
	report(n);
	release();
}

/* Union, intersection and counting bits against memcpy, in GB/s of the filter's size. */
static void
bandwidth(uint64_t bytes)
{
	enum
	{
		COPY, UNION, COUNT, FPR, WHATS
	};
	static const char *const names[WHATS] = {"memcpy", "union in place (blx_or_into)", "count bits (blx_bits_set)", "exact rate (blx_fpr)"};
	double		ns[WHATS][MAX_ROUNDS];
	blx_identity id = {.key_type = BLX_KEY_HASH};
	blx_geometry g;
	blx_error	error;
	blx_filter *a,
			   *b;
	char	   *memory_a,
			   *memory_b;
	uint64_t	hash;
	int			repeat = bytes < (1 << 23) ? (int) ((1 << 23) / bytes) : 1;

	if (!blx_plan_bits(BLX_PARTITIONED_BLOCKED, (int64_t) (bytes * 8), 8, NULL, &g, &error))
		die(&error);
	memory_a = big_alloc(bytes + 128);
	memory_b = big_alloc(bytes + 128);
	a = (blx_filter *) (void *) (memory_a + 64 - sizeof(blx_filter));
	b = (blx_filter *) (void *) (memory_b + 64 - sizeof(blx_filter));
	blx_init(a, &g, &id, 0);
	blx_init(b, &g, &id, 0);
	for (uint64_t i = 0; i < bytes / 2; i++)
	{
		hash = random_hash(i);
		blx_add(i % 2 ? a : b, &hash, 1);
	}
	for (int r = 0; r < rounds; r++)
		for (int what = 0; what < WHATS; what++)
		{
			double		start = now();

			for (int i = 0; i < repeat; i++)
				switch (what)
				{
					case COPY:
						memcpy(blx_words(a), blx_cwords(b), bytes);
						__asm__ volatile ("":::"memory");
						break;
					case UNION:
						blx_or_into(a, b);
						break;
					case COUNT:
						sink += blx_bits_set(a);
						break;
					default:
						sink += blx_fpr(a) > 0.5;
				}
			ns[what][r] = (now() - start) / repeat;
		}
	for (int what = 0; what < WHATS; what++)
		printf("| %llu KB | %s | %.1f | %.2f |\n", (unsigned long long) (bytes >> 10), names[what],
			   (double) bytes / median(ns[what], rounds), median_ratio(ns[what], ns[COPY], rounds));
	free(memory_a);
	free(memory_b);
}

int
main(int argc, char **argv)
{
	static const uint64_t all_sizes[] = {64 << 10, 512 << 10, 8 << 20, 256 << 20};
	static const uint64_t quick_sizes[] = {64 << 10, 512 << 10, 16 << 20};
	bool		quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
	const uint64_t *sizes = quick ? quick_sizes : all_sizes;
	int			n_sizes = quick ? 3 : 4;
	uint64_t	one_size;

	if (argc == 3 && strcmp(argv[1], "--size") == 0 && atoi(argv[2]) > 0)
	{
		one_size = (uint64_t) atoi(argv[2]) << 20;
		sizes = &one_size;
		n_sizes = 1;
	}
	else if (argc > 1 && !quick)
	{
		fprintf(stderr, "usage: bench-core [--quick | --size MB]\n");
		return 2;
	}
	if (quick)
		rounds = 15;
	printf("Nanoseconds a key, medians of %d rounds; split block filter: %s.\n\n", rounds, splitblock_choose());
	for (int planned = 0; planned <= 1; planned++)
		for (int i = 0; i < n_sizes; i++)
			at_size(sizes[i], planned);
	printf("### Whole filters\n\n| size | operation | GB/s of one filter's size | time / memcpy's |\n|---|---|---|---|\n");
	for (int i = 0; i < n_sizes; i++)
		bandwidth(sizes[i]);
	return 0;
}
