/*
 * kaler.c - measurements for T. Kaler, Cache Efficient Bloom Filters for
 * Shared Memory Machines (MIT CSAIL).
 *
 *     kaler [--quick] DIRECTORY           rates and times
 *     kaler cache LAYOUT add|test COUNT   work for cachegrind (caches.py)
 *
 * A blocked filter is balanced if every block has the same number of keys.  Real
 * keys are not spread so evenly.  Dealt keys are hashes whose top bits, which
 * choose the block, are 0, 1, 2, ... in turn.
 */
#include "paper.h"

static bool quick;
static const char *directory;

#define BITS_A_KEY 10
#define PROBES 7				/* the best k for that size */

static uint64_t
dealt_hash(uint64_t i, unsigned log_blocks)
{
	return log_blocks == 0 ? hash_of(i) : i << (64 - log_blocks) | hash_of(i) >> log_blocks;
}

static void
add_dealt(blx_filter *f, uint64_t n, unsigned log_blocks)
{
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	h = dealt_hash(i, log_blocks);

		blx_add(f, &h, 1);
	}
}

/* The rates of Figure 3: the price of blocks, and the part of it that is due to their unequal load. */
static void
block_sizes(void)
{
	uint64_t	m = UINT64_C(1) << 24,
				n = m / BITS_A_KEY,
				probes = quick ? 300000 : 5000000;
	FILE	   *csv = open_csv(directory, "kaler-blocks", "m,n,k,block_bits,keys,positives,probes,expected");

	for (unsigned log_size = 6; log_size <= 20; log_size++)
		for (int dealt = 0; dealt <= 1; dealt++)
		{
			blx_geometry g = geometry(BLX_BLOCKED, (m >> log_size), 1, PROBES, UINT64_C(1) << log_size);
			blx_geometry block = geometry(BLX_STANDARD, 1, 1, PROBES, g.part_bits);
			blx_filter *f = new_filter(&g);

			if (dealt)
				add_dealt(f, n, 24 - log_size);
			else
				add_range(f, 0, n);

			/* Dealt keys: n / blocks keys, or one more, per block. */
			double		load = (double) n / g.blocks,
						more = load - floor(load),
						expected = dealt ? (1 - more) * blx_fpr_expected(&block, (uint64_t) load) +
				more * blx_fpr_expected(&block, (uint64_t) load + 1) : blx_fpr_expected(&g, n);

			fprintf(csv, "%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%.6g\n", m, n, PROBES, g.part_bits,
					dealt ? "dealt" : "random", count_true(f, ABSENT, probes), probes, expected);
			free_filter(f);
		}
	fclose(csv);
}

static const char *const timed[] = {"standard", "partitioned", "blocked 32768", "blocked 512", "partitioned_blocked"};

/* A geometry of about m bits with a k near the best. */
static blx_geometry
timed_geometry(const char *name, uint64_t m)
{
	if (strcmp(name, "standard") == 0)
		return geometry(BLX_STANDARD, 1, 1, PROBES, m);
	if (strcmp(name, "partitioned") == 0)
		return geometry(BLX_PARTITIONED, 1, PROBES, 1, m / PROBES);
	if (strcmp(name, "partitioned_blocked") == 0)
		return geometry(BLX_PARTITIONED_BLOCKED, (m / 512), 8, 1, 64);
	if (strcmp(name, "blocked 512") == 0)
		return geometry(BLX_BLOCKED, (m / 512), 1, PROBES, 512);
	if (strcmp(name, "blocked 32768") == 0)
		return geometry(BLX_BLOCKED, (m / 32768), 1, PROBES, 32768);
	die("no layout %s", name);
}

enum { SLICE = 1 << 14 };

static volatile uint64_t sink;

typedef struct contender
{
	blx_filter *f;
	uint64_t	n;
} contender;

static void
add_slice(void *arg, int round)
{
	contender  *c = arg;

	add_range(c->f, (uint64_t) round * SLICE % (c->n - SLICE), SLICE);
}

static void
test_absent(void *arg, int round)
{
	contender  *c = arg;

	sink += count_true(c->f, ABSENT + (uint64_t) round * SLICE, SLICE);
}

static void
test_present(void *arg, int round)
{
	contender  *c = arg;

	sink += count_true(c->f, (uint64_t) round * SLICE % (c->n - SLICE), SLICE);
}

/* The times of Figure 3, from a filter that fits the second level cache to one that fits none. */
static void
times(void)
{
	FILE	   *csv = open_csv(directory, "kaler-times", "bytes,n,layout,operation,ns,ratio,fpr");

	for (unsigned log_bytes = 16; log_bytes <= (quick ? 22 : 26); log_bytes++)
	{
		uint64_t	m = UINT64_C(8) << log_bytes,
					n = m / BITS_A_KEY;
		static const char *const operations[] = {"add", "absent", "present"};
		void		(*const functions[]) (void *, int) = {add_slice, test_absent, test_present};
		contender	contenders[LENGTH(timed)];

		for (size_t l = 0; l < LENGTH(timed); l++)
		{
			blx_geometry g = timed_geometry(timed[l], m);

			contenders[l] = (contender) {new_filter(&g), n};
			add_range(contenders[l].f, 0, n);
		}
		for (size_t o = 0; o < LENGTH(operations); o++)
		{
			candidate	runs[LENGTH(timed)];

			for (size_t l = 0; l < LENGTH(timed); l++)
				runs[l] = (candidate) {timed[l], functions[o], &contenders[l], 0, 0};
			take_turns(runs, LENGTH(timed), quick ? 9 : 61);
			for (size_t l = 0; l < LENGTH(timed); l++)
				fprintf(csv, "%" PRIu64 ",%" PRIu64 ",%s,%s,%.2f,%.3f,%.6g\n", UINT64_C(1) << log_bytes, n, timed[l], operations[o],
						runs[l].ns / SLICE, runs[l].ratio, blx_fpr(contenders[l].f));
		}
		for (size_t l = 0; l < LENGTH(timed); l++)
			free_filter(contenders[l].f);
	}
	fclose(csv);
}

/* Adds COUNT keys to a half full filter of 8 MB, or tests COUNT absent keys in it, at random places. */
static int
cache(const char *name, const char *operation, uint64_t count)
{
	blx_geometry g = timed_geometry(name, UINT64_C(8) << 23);
	blx_filter *f = new_filter(&g);

	for (uint64_t i = 0; i < blx_body_words(&g); i++)
		blx_words(f)[i] = hash_of(i + 2 * ABSENT);
	if (strcmp(operation, "add") == 0)
		add_range(f, 0, count);
	else
		sink += count_true(f, ABSENT, count);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "cache") == 0)
		return cache(argv[2], argv[3], strtoull(argv[4], NULL, 10));
	directory = arguments(argc, argv, &quick);
	block_sizes();
	times();
	return 0;
}
