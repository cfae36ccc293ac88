/*
 * keys.c - nanoseconds and instructions per key: filters against a split block
 * filter, and against reading one random line per key.
 *
 * Keys are ready-made hashes: the figures do not include the hash of a key, but
 * they include the hashes that a layout derives from it.  A filter holds as many
 * keys as it was planned for when it is measured.  The timed adds repeat keys
 * that are in the filter, so it stays as full; the memory traffic is the same.
 *
 * Each path has a filter of its own: the second of two paths that share one
 * finds it in the cache.  And each table is measured in several processes, whose
 * median is printed: one process in 20 to 60 is two or three times slower on
 * single adds for its whole life, whatever filter adds, because of where its
 * memory happens to lie.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "core/filter/filter.h"
#include "core/filter/inline.h"
#include "instructions.h"
#include "splitblock.h"

#define SAMPLE (1 << 22)		/* keys of each kind, used in turn: a line is used again after all caches have been replaced */
#define SLICE (1 << 15)			/* keys per slice of time */
#define CACHED (16 << 20)		/* a filter of at most this size is read before its slice, so that it is cached */
#define BATCH 64
#define MAX_CANDIDATES 20
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
	void	   *memory;
	uint64_t	bytes;
	unsigned	k;
	double		fpr;
	double		ns[OPS][MAX_ROUNDS];
} candidate;

static candidate candidates[MAX_CANDIDATES];
static int	n_candidates;
static uint64_t present[SAMPLE],
			absent[SAMPLE];

/* ---- candidates ---- */

/*
 * One candidate with a filter of its own for each path from first to last that
 * runs here.  offset: distance of the words from the start of a cache line.
 */
static void
add_core(const char *name, const blx_geometry *g, uint64_t n, unsigned offset, enum blx_simd_path first, enum blx_simd_path last)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};

	for (enum blx_simd_path path = first; path <= last; path++)
	{
		candidate  *c = &candidates[n_candidates];
		char	   *memory;

		if (!runs_here(path))
			continue;
		n_candidates++;
		memory = big_alloc(blx_bytes(g, 0) + 128);
		*c = (candidate) {.kind = CORE, .path = path, .memory = memory, .bytes = blx_bytes(g, 0), .k = blx_k(g)};
		c->core = (blx_filter *) (void *) (memory + 64 - sizeof(blx_filter) + offset);
		blx_init(c->core, g, &id, n);
		snprintf(c->name, sizeof c->name, "%s%s%s", name, first == last ? "" : ", ", first == last ? "" : path_names[path]);
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
			blx_add_inline(c->core, keys + i, batch);
		else
			splitblock_add(&c->split, keys + i, batch);
}

static uint64_t
test_keys(candidate *c, const uint64_t *keys, size_t n)
{
	const blx_filter *f = c->core;
	uint64_t	hits = 0;

	if (c->kind == CORE)
		for (size_t i = 0; i < n; i++)
			hits += blx_test_inline(f, keys[i]);
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

/* ---- one table, in one process ---- */

typedef struct table
{
	enum
	{
		BY_PATH, BY_LAYOUT, PLANNED
	}			kind;
	uint64_t	bytes;
	unsigned	k;				/* BY_PATH */
	double		bits_per_key;	/* that n keys take in `bytes` */
	uint64_t	n;
} table;

static void
add_paths(const table *t)
{
	blx_geometry g = of_bits(BLX_PARTITIONED_BLOCKED, t->bytes, t->k);
	char		name[20];

	snprintf(name, sizeof name, "k = %u", t->k);
	add_core(name, &g, t->n, 0, BLX_SIMD_SCALAR, BLX_SIMD_PATHS - 1);
}

/* All layouts, of one size with k = 8, or planned for 1 %. */
static void
add_layouts(const table *t)
{
	static const uint8_t layouts[] = {BLX_PARTITIONED_BLOCKED, BLX_BLOCKED, BLX_PARTITIONED, BLX_STANDARD};
	blx_error	error;
	blx_geometry g;

	for (size_t i = 0; i < sizeof layouts; i++)
	{
		if (t->kind == BY_LAYOUT)
			g = of_bits(layouts[i], t->bytes, 8);
		else if (!blx_plan(layouts[i], t->n, 0.01, NULL, &g, &error))
			die(&error);
		add_core(blx_layout_name(layouts[i]), &g, t->n, 0, BLX_SIMD_AUTO, BLX_SIMD_AUTO);
		if (layouts[i] == BLX_PARTITIONED_BLOCKED)
			add_core("partitioned_blocked, 24 bytes off the line", &g, t->n, 24, BLX_SIMD_AUTO, BLX_SIMD_AUTO);
	}
}

/* Returns an earlier candidate with a filter of the same bits, or NULL. */
static const candidate *
same_bits(const candidate *c)
{
	for (const candidate *other = candidates; other < c; other++)
	{
		blx_geometry a = blx_geometry_of(c->core),
					b;

		if (other->kind != CORE)
			continue;
		b = blx_geometry_of(other->core);
		if (blx_geometry_equal(&a, &b))
			return other;
	}
	return NULL;
}

static void
add_all(candidate *c, uint64_t n)
{
	uint64_t	batch[4096];

	for (uint64_t i = 0; i < n; i += 4096)
	{
		size_t		m = n - i < 4096 ? n - i : 4096;

		for (size_t j = 0; j < m; j++)
			batch[j] = random_hash(i + j);
		add_keys(c, batch, m, m);
	}
}

/* Fills the filters with n keys, and checks that they find them. */
static void
fill(uint64_t n)
{
	for (size_t i = 0; i < SAMPLE; i++)
	{
		present[i] = random_hash(random_hash(i + (UINT64_C(1) << 50)) % n);
		absent[i] = random_hash(i + (UINT64_C(1) << 40));
	}
	for (candidate *c = candidates; c < candidates + n_candidates; c++)
	{
		const candidate *done;

		if (c->kind == FLOOR)
			continue;
		done = c->kind == CORE ? same_bits(c) : NULL;
		prepare(c);
		if (done != NULL)
			memcpy(c->core, done->core, c->bytes);
		else
			add_all(c, n);
		c->fpr = (double) test_keys(c, absent, SAMPLE) / SAMPLE;
		if (test_keys(c, present, SAMPLE) != SAMPLE)
		{
			fprintf(stderr, "%s lost a key\n", c->name);
			exit(1);
		}
	}
}

static void
make_candidates(const table *t)
{
	add_floor(t->bytes);
	add_split(t->kind == PLANNED ? (uint64_t) ((double) t->n * 10.5 / 8) : t->bytes);
	if (t->kind == BY_PATH)
		add_paths(t);
	else
		add_layouts(t);
	fill(t->n);
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

/* Two consecutive slices have no key in common: a slice must not find what the one before left in the cache. */
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

/* Returns how much of our memory is in huge pages, in per cent.  The comparison is unfair if some of it is in 4 KB pages. */
static double
share_of_huge_pages(void)
{
	FILE	   *f = fopen("/proc/self/smaps_rollup", "r");
	char		line[200];
	unsigned long rss = 1,
				huge = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof line, f) != NULL)
	{
		(void) sscanf(line, "Rss: %lu", &rss);
		(void) sscanf(line, "AnonHugePages: %lu", &huge);
	}
	fclose(f);
	return 100.0 * (double) huge / (double) rss;
}

/* ---- several processes ---- */

/* What a process tells its parent about one candidate: medians of its rounds. */
typedef struct row
{
	char		name[60];
	double		bits_per_key,
				fpr,
				huge_pages;
	unsigned	k;
	bool		can[OPS];
	double		ns[OPS],
				ratio[OPS];		/* to the split block filter */
} row;

#define FLOOR_ROW 0
#define SPLIT_ROW 1

static void
tell_parent(const table *t)
{
	for (int i = 0; i < n_candidates; i++)
	{
		const candidate *c = &candidates[i];
		row			r = {.k = c->k, .fpr = c->fpr, .bits_per_key = 8 * (double) c->bytes / (double) t->n, .huge_pages = share_of_huge_pages()};

		memcpy(r.name, c->name, sizeof r.name);
		for (int op = 0; op < OPS; op++)
		{
			r.can[op] = can(c, op);
			if (!r.can[op])
				continue;
			r.ns[op] = median(c->ns[op], rounds);
			r.ratio[op] = median_ratio(c->ns[op], candidates[SPLIT_ROW].ns[op], rounds);
		}
		fwrite(&r, sizeof r, 1, stdout);
	}
	fflush(stdout);
}

int
keys_process(char **argv)
{
	table		t = {.kind = (unsigned) atoi(argv[2]), .bytes = strtoull(argv[3], NULL, 10),
	.k = (unsigned) atoi(argv[4]), .bits_per_key = atof(argv[5])};

	rounds = atoi(argv[6]);
	t.n = (uint64_t) ((double) t.bytes * 8 / t.bits_per_key);
	splitblock_choose();
	make_candidates(&t);
	measure();
	tell_parent(&t);
	return 0;
}

/* Starts such a process.  It is executed anew, not just forked, so that its memory lies elsewhere. */
static FILE *
start_process(const table *t, pid_t *child)
{
	char		text[5][40];
	int			ends[2];

	snprintf(text[0], sizeof *text, "%d", (int) t->kind);
	snprintf(text[1], sizeof *text, "%llu", (unsigned long long) t->bytes);
	snprintf(text[2], sizeof *text, "%u", t->k);
	snprintf(text[3], sizeof *text, "%.17g", t->bits_per_key);
	snprintf(text[4], sizeof *text, "%d", rounds);
	if (pipe(ends) != 0 || (*child = fork()) < 0)
	{
		perror("bench-core");
		exit(1);
	}
	if (*child == 0)
	{
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/proc/self/exe", "bench-core", KEYS_PROCESS, text[0], text[1], text[2], text[3], text[4], (char *) NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* Returns the number of candidates. */
static int
run_processes(const table *t, row rows[][MAX_CANDIDATES])
{
	int			n = 0;

	for (int p = 0; p < processes; p++)
	{
		pid_t		child;
		int			status;
		FILE	   *f = start_process(t, &child);

		n = (int) fread(rows[p], sizeof **rows, MAX_CANDIDATES, f);
		fclose(f);
		if (waitpid(child, &status, 0) != child || status != 0 || n <= SPLIT_ROW)
		{
			fprintf(stderr, "bench-core: a process of %llu KB failed\n", (unsigned long long) (t->bytes >> 10));
			exit(1);
		}
	}
	return n;
}

/* The median over the processes of one figure of candidate i. */
#define MEDIAN(figure) \
	({ double over[MAX_PROCESSES]; for (int p = 0; p < processes; p++) over[p] = rows[p][i].figure; median(over, processes); })

static void
print_table(row rows[][MAX_CANDIDATES], int n)
{
	static const char *const names[OPS] = {"add 1", "add 64", "test absent", "test present", "64 absent", "64 present"};
	double		yardstick[OPS];

	printf("| ns per key (ratio to the split block's ns) | bits/key | k | FPR |");
	for (int op = 0; op < OPS; op++)
	{
		int			i = SPLIT_ROW;

		yardstick[op] = MEDIAN(ns[op]);
		printf(" %s |", names[op]);
	}
	printf("\n|---|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < n; i++)
	{
		printf("| %s |", rows[0][i].name);
		if (i == FLOOR_ROW)
			printf(" | | |");
		else
			printf(" %.2f | %u | %.3f %% |", rows[0][i].bits_per_key, rows[0][i].k, 100 * rows[0][i].fpr);
		for (int op = 0; op < OPS; op++)
			if (!rows[0][i].can[op])
				printf(" |");
			else if (i == SPLIT_ROW)
				printf(" %.2f |", yardstick[op]);
			else
				printf(" %.2f (%.2f of %.2f) |", MEDIAN(ns[op]), MEDIAN(ratio[op]), yardstick[op]);
		printf("\n");
	}
	printf("\n");
	fflush(stdout);
}

static void
run_table(const table *t)
{
	static row	rows[MAX_PROCESSES][MAX_CANDIDATES];
	int			n = run_processes(t, rows),
				i = 0;

	printf("%d processes of %d rounds; %.0f %% of the memory in huge pages.\n\n", processes, rounds, MEDIAN(huge_pages));
	print_table(rows, n);
}

void
keys_by_path(uint64_t bytes, unsigned k, double bits_per_key)
{
	table		t = {.kind = BY_PATH, .bytes = bytes, .k = k, .bits_per_key = bits_per_key};
	char		title[100];

	snprintf(title, sizeof title, "%llu KB, k = %u, %.3g bits per key: partitioned_blocked by path", (unsigned long long) (bytes >> 10), k, bits_per_key);
	if (print_title(title))
		run_table(&t);
}

void
keys_by_layout(uint64_t bytes, bool planned)
{
	table		t = {.kind = planned ? PLANNED : BY_LAYOUT, .bytes = bytes, .k = 8, .bits_per_key = planned ? 10.8 : 12};
	char		title[100];

	snprintf(title, sizeof title, "%llu KB: layouts, %s", (unsigned long long) (bytes >> 10),
			 planned ? "planned for 1 % (split block: 10.5 bits per key)" : "12 bits per key, k = 8");
	if (print_title(title))
		run_table(&t);
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

/* 64 KB: the number of instructions does not depend on the size up to where batches begin to prefetch. */
void
keys_instructions(void)
{
	uint64_t	bytes = 1 << 16,
				n = bytes * 8 / 12;

	if (!print_title("Instructions per key, the loop around included (64 KB)"))
		return;
	add_floor(bytes);
	add_split(bytes);
	for (unsigned k = 7; k <= 16; k += k == 7 ? 1 : 8)
	{
		table		t = {.bytes = bytes, .k = k, .n = n};

		add_paths(&t);
	}
	fill(n);
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
}
