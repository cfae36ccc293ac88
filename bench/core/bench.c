/*
 * bench.c - the speed of the core: nanoseconds and instructions per key, and
 * bytes per second for whole filters, by layout, kernel path and size.
 *
 *     bench-core [--quick | --size MB]
 *
 * The machine may be shared and noisy.  So candidates are not measured one after
 * the other: in every round each of them runs for about a millisecond, and each
 * figure is the median over the rounds.  A ratio is the median of the ratios
 * within the rounds, not the ratio of two medians.
 *
 * Keys are ready-made hashes: the figures do not include the hash of a key, but
 * they include the hashes that a layout derives from it.  A filter holds as many
 * keys as it was planned for when it is measured.  The timed adds repeat keys
 * that are in the filter, so it stays as full; the memory traffic is the same.
 * The paths of one layout share one filter, because its bits are the same.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/filter/filter.h"
#include "core/filter/inline.h"
#include "instructions.h"
#include "splitblock.h"

#define SAMPLE (1 << 22)		/* keys of each kind, used in turn: a line is used again after all caches have been replaced */
#define SLICE (1 << 15)			/* keys per slice of time */
#define CACHED (16 << 20)		/* a filter of at most this size is read before its slice, so that it is cached */
#define BATCH 64
#define MAX_ROUNDS 101
#define MAX_CANDIDATES 16
#define COUNTED 256				/* number of keys whose instructions are counted */

enum
{
	ADD_ONE, ADD_BATCH, TEST_ABSENT, TEST_PRESENT, BATCH_ABSENT, BATCH_PRESENT, OPS
};

typedef struct candidate
{
	char		name[60];
	enum
	{
		CORE, SPLIT, FLOOR
	}			kind;
	enum blx_simd_path path;	/* for CORE */
	blx_filter *core;
	splitblock	split;
	const char *floor;
	uint64_t	floor_lines;
	void	   *memory;			/* NULL: the filter belongs to another candidate */
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
static int	rounds = 41;

static const char *const path_names[BLX_SIMD_PATHS] = {"auto", "scalar", "avx2", "avx512", "neon"};

/* Processor time of this process: other processes that use the processor do not count, but their use of the caches does. */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

static void
die(const blx_error *error)
{
	fprintf(stderr, "%s\n", error->message);
	exit(1);
}

/* Memory on a 2 MB boundary, in huge pages if the system provides them. */
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

/* ---- candidates ---- */

static bool
runs_here(enum blx_simd_path path)
{
	blx_error	error;

	return blx_simd_check(path, &error);
}

/* One filter and one candidate per path from first to last; offset: distance of the words from the start of a cache line. */
static void
add_core(const char *name, const blx_geometry *g, uint64_t n, unsigned offset, enum blx_simd_path first, enum blx_simd_path last)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};
	char	   *memory = big_alloc(blx_bytes(g, 0) + 128);
	blx_filter *f = (blx_filter *) (void *) (memory + 64 - sizeof(blx_filter) + offset);
	void	   *owned = memory;

	blx_init(f, g, &id, n);
	for (enum blx_simd_path path = first; path <= last; path++)
	{
		candidate  *c = &candidates[n_candidates];

		if (!runs_here(path))
			continue;
		n_candidates++;
		*c = (candidate) {.kind = CORE, .path = path, .core = f, .memory = owned, .bytes = blx_bytes(g, 0), .k = blx_k(g)};
		snprintf(c->name, sizeof c->name, "%s%s%s", name, first == last ? "" : ", ", first == last ? "" : path_names[path]);
		owned = NULL;
	}
}

static void
add_split(uint64_t bytes)
{
	candidate  *c = &candidates[n_candidates++];

	*c = (candidate) {.name = "split block 8 x 32", .kind = SPLIT, .bytes = bytes / 32 * 32, .k = 8};
	c->memory = big_alloc(bytes);
	c->split = (splitblock) {bytes / 32, c->memory};
}

static void
add_floor(uint64_t bytes)
{
	candidate  *c = &candidates[n_candidates++];

	*c = (candidate) {.name = "floor: read one line", .kind = FLOOR, .bytes = bytes};
	c->memory = big_alloc(bytes);
	c->floor = c->memory;
	c->floor_lines = bytes / 64;
}

static void
release(void)
{
	for (int i = 0; i < n_candidates; i++)
		free(candidates[i].memory);
	n_candidates = 0;
}

/* ---- operations ---- */

static inline const char *
floor_line(const candidate *c, uint64_t hash)
{
	return c->floor + 64 * (uint64_t) (((unsigned __int128) hash * c->floor_lines) >> 64);
}

__attribute__((noinline)) static bool
floor_read(const candidate *c, uint64_t hash)
{
	return *floor_line(c, hash);
}

__attribute__((noinline)) static uint64_t
floor_read_batch(const candidate *c, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(floor_line(c, hashes[i]));
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) *floor_line(c, hashes[i]) << i;
	return found;
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
			hits += blx_test_inline(c->core, keys[i]);
	else if (c->kind == SPLIT)
		for (size_t i = 0; i < n; i++)
			hits += splitblock_test(&c->split, keys[i]);
	else
		for (size_t i = 0; i < n; i++)
			hits += floor_read(c, keys[i]);
	return hits;
}

static uint64_t
test_batches(candidate *c, const uint64_t *keys, size_t n)
{
	uint64_t	found = 0;

	for (size_t i = 0; i < n; i += BATCH)
		if (c->kind == CORE)
			found ^= blx_test_batch(c->core, keys + i, BATCH);
		else if (c->kind == SPLIT)
			found ^= splitblock_test_batch(&c->split, keys + i, BATCH);
		else
			found ^= floor_read_batch(c, keys + i, BATCH);
	return found;
}

static bool
can(const candidate *c, int op)
{
	return c->kind != FLOOR || op >= TEST_ABSENT;
}

static const uint64_t *
keys_of(int op)
{
	return op == TEST_ABSENT || op == BATCH_ABSENT ? absent : present;
}

static void
run(candidate *c, int op, size_t at, size_t n)
{
	const uint64_t *keys = keys_of(op) + at;

	if (op <= ADD_BATCH)
		add_keys(c, keys, n, op == ADD_ONE ? 1 : BATCH);
	else
		sink += op <= TEST_PRESENT ? test_keys(c, keys, n) : test_batches(c, keys, n);
}

static void
prepare(const candidate *c)
{
	if (c->kind == CORE)
		blx_simd_set(c->path);
}

/* ---- one size ---- */

static void
fill(uint64_t n)
{
	uint64_t	batch[4096];

	blx_simd_set(BLX_SIMD_AUTO);
	for (uint64_t i = 0; i < n; i += 4096)
	{
		size_t		m = n - i < 4096 ? n - i : 4096;

		for (size_t j = 0; j < m; j++)
			batch[j] = random_hash(i + j);
		for (int c = 0; c < n_candidates; c++)
			if (candidates[c].kind == CORE && candidates[c].memory != NULL)
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
		prepare(&candidates[c]);
		candidates[c].fpr = (double) test_keys(&candidates[c], absent, SAMPLE) / SAMPLE;
		if (test_keys(&candidates[c], present, SAMPLE) != SAMPLE)
		{
			fprintf(stderr, "%s lost a key\n", candidates[c].name);
			exit(1);
		}
	}
}

/* Warms up: filters that fit into a cache are in it, and branches are predicted. */
static void
warm(candidate *c, int op, size_t at)
{
	const char *bytes = c->kind == CORE ? (const char *) c->core : c->kind == SPLIT ? (const char *) c->split.words : c->floor;

	for (uint64_t i = 0; c->bytes <= CACHED && i < c->bytes; i += 64)
		sink += (uint64_t) bytes[i];
	run(c, op, at, SLICE / 4);
}

/* Two consecutive slices have no key in common.  Otherwise a candidate that shares its filter would find its lines cached. */
static void
measure(void)
{
	size_t		at = 0;

	for (int r = 0; r < rounds; r++)
		for (int op = 0; op < OPS; op++)
			for (int i = 0; i < n_candidates; i++, at = (at + 2 * SLICE) % SAMPLE)
			{
				candidate  *c = &candidates[i];
				double		start;

				if (!can(c, op))
					continue;
				prepare(c);
				warm(c, op, at + SLICE);
				start = now();
				run(c, op, at, SLICE);
				c->ns[op][r] = (now() - start) / SLICE;
			}
}

static void
report(uint64_t n)
{
	const candidate *yardstick = &candidates[1];

	printf("| ns a key (ratio to split block) | bits/key | k | FPR | add 1 | add %d | test absent | test present | %d absent | %d present |\n", BATCH, BATCH, BATCH);
	printf("|---|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < n_candidates; i++)
	{
		candidate  *c = &candidates[i];

		printf("| %s |", c->name);
		if (c->kind == FLOOR)
			printf(" | | |");
		else
			printf(" %.2f | %u | %.3f %% |", 8 * (double) c->bytes / (double) n, c->k, 100 * c->fpr);
		for (int op = 0; op < OPS; op++)
			if (can(c, op))
				printf(" %.1f (%.2f) |", median(c->ns[op], rounds), median_ratio(c->ns[op], yardstick->ns[op], rounds));
			else
				printf(" |");
		printf("\n");
	}
	printf("\n");
	fflush(stdout);
}

/* Prints two more ratios for this size: against the floor, and for a second group of parts. */
static void
report_ratios(void)
{
	for (int i = 2; i < n_candidates; i++)
	{
		candidate  *c = &candidates[i];

		printf("- %s: batch absent / floor's batch %.2f", c->name,
			   median_ratio(c->ns[BATCH_ABSENT], candidates[0].ns[BATCH_ABSENT], rounds));
		for (int j = 2; c->k == 16 && j < n_candidates; j++)
			if (candidates[j].k == 8 && candidates[j].path == c->path)
			{
				printf("; absent / absent of k = 8: %.2f by call, %.2f in batches",
					   median_ratio(c->ns[TEST_ABSENT], candidates[j].ns[TEST_ABSENT], rounds),
					   median_ratio(c->ns[BATCH_ABSENT], candidates[j].ns[BATCH_ABSENT], rounds));
				break;
			}
		printf("\n");
	}
	printf("\n");
	fflush(stdout);
}

/* Prints how much of our memory is in huge pages.  The comparison is unfair if some of it is in 4 KB pages. */
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

static blx_geometry
of_bits(uint8_t layout, uint64_t bytes, unsigned k)
{
	blx_geometry g;
	blx_error	error;

	if (!blx_plan_bits(layout, (int64_t) (bytes * 8), k, NULL, &g, &error))
		die(&error);
	return g;
}

/* The default layout on every path: one group of 8 parts, two groups, and one group of 7. */
static void
paths_at_size(uint64_t bytes)
{
	uint64_t	n = bytes * 8 / 12;
	blx_geometry g = of_bits(BLX_PARTITIONED_BLOCKED, bytes, 8);

	add_floor(bytes);
	add_split(bytes);
	add_core("k = 8", &g, n, 0, BLX_SIMD_SCALAR, BLX_SIMD_PATHS - 1);
	g = of_bits(BLX_PARTITIONED_BLOCKED, bytes, 16);
	add_core("k = 16", &g, n, 0, BLX_SIMD_SCALAR, BLX_SIMD_PATHS - 1);
	g = of_bits(BLX_PARTITIONED_BLOCKED, bytes, 7);
	add_core("k = 7", &g, n, 0, BLX_SIMD_SCALAR, BLX_SIMD_PATHS - 1);
	fill(n);
	measure();
	printf("### %llu KB, %llu keys: partitioned_blocked by path\n\n", (unsigned long long) (bytes >> 10), (unsigned long long) n);
	report_huge_pages();
	report(n);
	report_ratios();
	release();
}

/* All layouts, at 12 bits per key with k = 8, or planned for 1 %. */
static void
layouts_at_size(uint64_t bytes, bool planned)
{
	uint64_t	n = (uint64_t) ((double) bytes * 8 / (planned ? 10.8 : 12));
	static const uint8_t layouts[] = {BLX_PARTITIONED_BLOCKED, BLX_BLOCKED, BLX_PARTITIONED, BLX_STANDARD};
	blx_error	error;
	blx_geometry g;

	add_floor(bytes);
	add_split(planned ? (uint64_t) ((double) n * 10.5 / 8) : bytes);
	for (size_t i = 0; i < sizeof layouts; i++)
	{
		if (!planned)
			g = of_bits(layouts[i], bytes, 8);
		else if (!blx_plan(layouts[i], n, 0.01, NULL, &g, &error))
			die(&error);
		add_core(blx_layout_name(layouts[i]), &g, n, 0, BLX_SIMD_AUTO, BLX_SIMD_AUTO);
		if (layouts[i] == BLX_PARTITIONED_BLOCKED)
			add_core("partitioned_blocked, 24 bytes off the line", &g, n, 24, BLX_SIMD_AUTO, BLX_SIMD_AUTO);
	}
	fill(n);
	measure();
	printf("### %llu KB, %llu keys: layouts, %s\n\n", (unsigned long long) (bytes >> 10), (unsigned long long) n,
		   planned ? "planned for 1 % (split block: 10.5 bits a key)" : "12 bits a key, k = 8");
	report_huge_pages();
	report(n);
	release();
}

/* ---- instructions ---- */

typedef struct counted
{
	candidate  *candidate;
	int			op;
} counted;

static void
run_counted(void *arg)
{
	counted    *x = arg;

	run(x->candidate, x->op, 0, COUNTED);
}

static void
instructions(void)
{
	uint64_t	bytes = 1 << 16,
				n = bytes * 8 / 12;

	add_floor(bytes);
	add_split(bytes);
	for (unsigned k = 7; k <= 16; k += k == 7 ? 1 : 8)
	{
		blx_geometry g = of_bits(BLX_PARTITIONED_BLOCKED, bytes, k);
		char		name[20];

		snprintf(name, sizeof name, "k = %u", k);
		add_core(name, &g, n, 0, BLX_SIMD_SCALAR, BLX_SIMD_PATHS - 1);
	}
	fill(n);
	printf("### Instructions a key, the loop around included (64 KB, %llu keys)\n\n", (unsigned long long) n);
	printf("| | add 1 | add %d | test absent | test present | %d absent | %d present |\n|---|---|---|---|---|---|---|\n", BATCH, BATCH, BATCH);
	for (int i = 0; i < n_candidates; i++)
	{
		printf("| %s |", candidates[i].name);
		for (int op = 0; op < OPS; op++)
		{
			counted		x = {&candidates[i], op};
			long		count = -1;

			prepare(&candidates[i]);
			if (can(&candidates[i], op))
				count = count_instructions(run_counted, &x);
			if (count < 0)
				printf(" |");
			else
				printf(" %.0f |", (double) count / COUNTED);
		}
		printf("\n");
		fflush(stdout);
	}
	printf("\n");
	release();
}

/* ---- whole filters ---- */

enum
{
	COPY, READ, UNION, INTERSECTION, DISJOINT, COUNT, FOLD, EXPAND, RATE, WHOLES
};

/* Memory traffic as a multiple of the filter's size; memcpy may or may not read what it overwrites. */
static const struct
{
	const char *name;
	double		read,
				written;
	int			yardstick;
}			wholes[WHOLES] = {
	[COPY] = {"memcpy", 1, 1, COPY},
	[READ] = {"read", 1, 0, READ},
	[UNION] = {"union in place (blx_or_into)", 2, 1, COPY},
	[INTERSECTION] = {"intersection in place (blx_and_into)", 2, 1, COPY},
	[DISJOINT] = {"disjoint, to the end (blx_disjoint)", 2, 0, READ},
	[COUNT] = {"count bits (blx_bits_set)", 1, 0, READ},
	[FOLD] = {"fold in half", 1.5, 0.5, COPY},
	[EXPAND] = {"expand a half, union", 1.5, 1, COPY},
	[RATE] = {"exact rate (blx_fpr)", 1, 0, READ},
};

/* Eight sums, so that no addition waits for another. */
__attribute__((noinline)) static uint64_t
read_words(const uint64_t *words, uint64_t n)
{
	typedef uint64_t four __attribute__((vector_size(32)));
	const four *v = (const void *) words;
	four		sums[8] = {{0}};

	for (uint64_t i = 0; i < n / 4; i += 8)
		for (int j = 0; j < 8; j++)
			sums[j] |= v[i + (uint64_t) j];
	for (int j = 1; j < 8; j++)
		sums[0] |= sums[j];
	return sums[0][0] | sums[0][1] | sums[0][2] | sums[0][3];
}

#if defined(__x86_64__)
__attribute__((noinline, target("avx2"))) static uint64_t
read_words_avx2(const uint64_t *words, uint64_t n)
{
	typedef uint64_t four __attribute__((vector_size(32)));
	const four *v = (const void *) words;
	four		a = {0},
				b = {0},
				c = {0},
				d = {0};

	for (uint64_t i = 0; i < n / 4; i += 4)
	{
		a |= v[i];
		b |= v[i + 1];
		c |= v[i + 2];
		d |= v[i + 3];
	}
	a |= b | c | d;
	return a[0] | a[1] | a[2] | a[3];
}
#endif

static uint64_t
read_all(const blx_filter *f, uint64_t n)
{
#if defined(__x86_64__)
	if (runs_here(BLX_SIMD_AVX2))
		return read_words_avx2(blx_cwords(f), n);
#endif
	return read_words(blx_cwords(f), n);
}

/* A filter whose words begin at a cache line. */
static blx_filter *
whole_filter(const blx_geometry *g, char **memory)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};
	blx_filter *f;

	*memory = big_alloc(blx_bytes(g, 0) + 128);
	f = (blx_filter *) (void *) (*memory + 64 - sizeof(blx_filter));
	blx_init(f, g, &id, 0);
	return f;
}

static void
run_whole(int what, blx_filter *a, const blx_filter *b, blx_filter *half, const blx_filter *zeros, uint64_t bytes)
{
	blx_error	error;
	bool		certain = false;

	switch (what)
	{
		case COPY:
			memcpy(blx_words(a), blx_cwords(b), bytes);
			__asm__ volatile ("":::"memory");
			break;
		case READ:
			sink += read_all(b, bytes / 8);
			break;
		case UNION:
			blx_or_into(a, b);
			break;
		case INTERSECTION:
			blx_and_into(a, b);
			break;
		case DISJOINT:
			if (!blx_disjoint(zeros, b, &certain, &error) || !certain)
				die(&error);
			break;
		case COUNT:
			sink += blx_bits_set(b);
			break;
		case FOLD:
			blx_or_into(half, b);
			break;
		case EXPAND:
			blx_or_into(a, half);
			break;
		default:
			sink += blx_fpr(b) > 0.5;
	}
}

static void
whole_filters(uint64_t bytes)
{
	static double ns[BLX_SIMD_PATHS][WHOLES][MAX_ROUNDS];
	blx_geometry g = of_bits(BLX_PARTITIONED_BLOCKED, bytes, 8),
				g_half = of_bits(BLX_PARTITIONED_BLOCKED, bytes / 2, 8);
	char	   *memory[4];
	blx_filter *a = whole_filter(&g, &memory[0]),
			   *b = whole_filter(&g, &memory[1]),
			   *half = whole_filter(&g_half, &memory[2]),
			   *zeros = whole_filter(&g, &memory[3]);
	int			repeat = bytes < (1 << 22) ? (int) ((1 << 22) / bytes) : 1;

	for (uint64_t i = 0; i < bytes / 2; i++)
	{
		uint64_t	hash = random_hash(i);

		blx_add(i % 2 ? a : b, &hash, 1);
	}
	for (int r = 0; r < rounds; r++)
		for (int what = 0; what < WHOLES; what++)
			for (enum blx_simd_path path = BLX_SIMD_SCALAR; path < BLX_SIMD_PATHS; path++)
			{
				double		start;

				if (!runs_here(path))
					continue;
				blx_simd_set(path);
				run_whole(what, a, b, half, zeros, bytes);
				start = now();
				for (int i = 0; i < repeat; i++)
					run_whole(what, a, b, half, zeros, bytes);
				ns[path][what][r] = (now() - start) / repeat;
			}
	for (int what = 0; what < WHOLES; what++)
		for (enum blx_simd_path path = BLX_SIMD_SCALAR; path < BLX_SIMD_PATHS; path++)
		{
			double		moved = wholes[what].read + wholes[what].written;
			int			yardstick = wholes[what].yardstick;
			double		(*mine)[MAX_ROUNDS] = ns[path];
			bool		ours = yardstick != what;

			if (!runs_here(path) || (!ours && path > BLX_SIMD_SCALAR))
				continue;
			printf("| %llu KB | %s%s%s | %.1f | %.1f |", (unsigned long long) (bytes >> 10), wholes[what].name,
				   ours ? ", " : "", ours ? path_names[path] : "",
				   (double) bytes / median(mine[what], rounds), moved * (double) bytes / median(mine[what], rounds));
			if (ours)
				printf(" %.2f | %.2f %s |\n", median_ratio(mine[what], mine[yardstick], rounds),
					   moved / (wholes[yardstick].read + wholes[yardstick].written) * median_ratio(mine[yardstick], mine[what], rounds),
					   wholes[yardstick].name);
			else
				printf(" | |\n");
		}
	fflush(stdout);
	for (int i = 0; i < 4; i++)
		free(memory[i]);
}

int
main(int argc, char **argv)
{
	static const uint64_t all_sizes[] = {512 << 10, 8 << 20, 64 << 20, 512 << 20};
	static const uint64_t quick_sizes[] = {512 << 10, 16 << 20};
	bool		quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
	const uint64_t *sizes = quick ? quick_sizes : all_sizes;
	int			n_sizes = quick ? 2 : 4;
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
	printf("Medians of %d rounds; kernels chosen at load: %s; split block filter: %s.\n\n", rounds, blx_simd_name(), splitblock_choose());
	for (int i = 0; i < n_sizes; i++)
		paths_at_size(sizes[i]);
	instructions();
	for (int planned = 0; planned <= 1; planned++)
		for (int i = 0; i < (n_sizes + 1) / 2; i++)	/* flat layouts much larger than the caches take minutes */
			layouts_at_size(sizes[i], planned);
	printf("### Whole filters\n\n| size | operation | GB/s of one filter's size | GB/s read and written | time / yardstick's | share of the bandwidth of |\n|---|---|---|---|---|---|\n");
	for (int i = 0; i < n_sizes; i++)
		if (n_sizes == 1 || sizes[i] < 256 << 20)	/* beyond the caches the time per byte no longer changes */
			whole_filters(sizes[i]);
	return 0;
}
