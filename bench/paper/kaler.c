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

/* Of Figure 3: k, and the keys of a block.  Figure 5 has k = 15. */
#define KALER_PROBES 13
#define KALER_BLOCK 2944
#define KALER_SPEEDUP_PROBES 15
#define KALER_BITS_A_PROBE (1 / 0.7)	/* the paper rounds ln 2 */

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

/* Beside Figure 3: the price of blocks of any size, and the part of it that is due to their unequal load. */
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

/* Beside Figure 5: times at 10 bits per key, from a filter that fits the second level cache to one that fits none. */
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

/* A hash that chooses block i of any number of them, otherwise random. */
static uint64_t
hash_in_block(uint64_t i, uint64_t blocks)
{
	uint64_t	block = i % blocks,
				width = UINT64_MAX / blocks;

	return (uint64_t) (((unsigned __int128) block << 64) / blocks) + 1 + hash_of(i) % (width - 2);
}

/*
 * Figure 3 with the paper's parameters: n = 2^27, k = 13, blocks of 2,944 keys, the
 * paper's 20 bits per key and the 13/0.7 that its rates and its bytes per block
 * belong to.  n insertions and 2n tests, half of which find their key.
 */
static void
figure_3(void)
{
	static const double bits_per_key[] = {20, KALER_PROBES * KALER_BITS_A_PROBE};
	static const struct { const char *name; double block_keys; bool dealt; } kinds[] = {
		{"standard", 0, false}, {"blocked, balanced", KALER_BLOCK, true}, {"blocked, random", KALER_BLOCK, false}, {"blocked, random, 51.2 keys", 51.2, false}
	};
	uint64_t	n = UINT64_C(1) << (quick ? 18 : 27);
	FILE	   *csv = open_csv(directory, "kaler-figure3", "kind,n,bits_per_key,block_bytes,positives,probes,expected,ns");

	for (size_t c = 0; c < LENGTH(bits_per_key); c++)
		for (size_t i = 0; i < LENGTH(kinds); i++)
		{
			uint64_t	blocks = kinds[i].block_keys > 0 ? (uint64_t) llround((double) n / kinds[i].block_keys) : 1;
			uint64_t	block_bits = (uint64_t) (bits_per_key[c] * (double) n / (double) blocks);
			blx_geometry g = kinds[i].block_keys > 0 ? geometry(BLX_BLOCKED, blocks, 1, KALER_PROBES, block_bits)
				: geometry(BLX_STANDARD, 1, 1, KALER_PROBES, block_bits);
			blx_geometry block = geometry(BLX_STANDARD, 1, 1, KALER_PROBES, block_bits);
			blx_filter *f = new_filter(&g);
			uint64_t	positives = 0,
						found = 0;
			double		start = now();

			for (uint64_t key = 0; key < n; key++)
			{
				uint64_t	h = kinds[i].dealt ? hash_in_block(key, blocks) : hash_of(key);

				blx_add(f, &h, 1);
			}
			for (uint64_t key = 0; key < n; key++)
			{
				found += blx_test(f, kinds[i].dealt ? hash_in_block(key, blocks) : hash_of(key));
				positives += blx_test(f, hash_of(ABSENT + key));
			}
			start = now() - start;
			if (found < n)
				die("%s lost a key", kinds[i].name);
			fprintf(csv, "\"%s\",%" PRIu64 ",%.2f,%.0f,%" PRIu64 ",%" PRIu64 ",%.6g,%.2f\n", kinds[i].name, n, bits_per_key[c],
					(double) block_bits / 8, positives, n, blx_fpr_expected(kinds[i].dealt ? &block : &g, kinds[i].dealt ? n / blocks : n),
					start / (3 * (double) n));
			free_filter(f);
		}
	fclose(csv);
}

/* Section 4: 2^25 keys in 655,360 bins. */
static void
bins(void)
{
	enum { BINS = 655360 };
	uint64_t	n = UINT64_C(1) << 25;
	uint32_t   *loads = must_alloc(BINS * sizeof *loads);
	FILE	   *csv = open_csv(directory, "kaler-bins", "keys,bins,run,mean,least,most");

	for (unsigned run = 0; run < (quick ? 1 : 5); run++)
	{
		uint32_t	least = UINT32_MAX,
					most = 0;

		memset(loads, 0, BINS * sizeof *loads);
		for (uint64_t i = 0; i < n; i++)
			loads[(uint64_t) (((unsigned __int128) hash_of(run * n + i) * BINS) >> 64)]++;
		for (size_t b = 0; b < BINS; b++)
		{
			least = loads[b] < least ? loads[b] : least;
			most = loads[b] > most ? loads[b] : most;
		}
		fprintf(csv, "%" PRIu64 ",%u,%u,%.2f,%u,%u\n", n, BINS, run, (double) n / BINS, least, most);
	}
	free(loads);
	fclose(csv);
}

/* Figure 5: k = 15, static and dynamic blocks, from 1 MB to beyond any cache; n insertions to 2n tests, half of which find their key. */
static void
figure_5(void)
{
	static const char *const names[] = {"standard", "blocked, 2,944 keys", "blocked, 512 bits", "partitioned_blocked", "dynamic_blocked"};
	FILE	   *csv = open_csv(directory, "kaler-speedup", "bytes,n,layout,add_ns,absent_ns,present_ns,speedup");

	for (unsigned log_bytes = 20; log_bytes <= (quick ? 22 : 26); log_bytes++)
	{
		uint64_t	m = UINT64_C(8) << log_bytes,
					n = (uint64_t) ((double) m / (KALER_SPEEDUP_PROBES * KALER_BITS_A_PROBE));
		uint64_t	large = (uint64_t) (KALER_BLOCK * KALER_SPEEDUP_PROBES * KALER_BITS_A_PROBE);
		void		(*const functions[]) (void *, int) = {add_slice, test_absent, test_present};
		contender	contenders[LENGTH(names)];
		double		ns[LENGTH(names)][3];
		blx_geometry g[LENGTH(names)] = {
			geometry(BLX_STANDARD, 1, 1, KALER_SPEEDUP_PROBES, m),
			geometry(BLX_BLOCKED, m / large, 1, KALER_SPEEDUP_PROBES, large),
			geometry(BLX_BLOCKED, m / 512, 1, KALER_SPEEDUP_PROBES, 512),
			geometry(BLX_PARTITIONED_BLOCKED, m / 1024, 16, 1, 64)
		};
		blx_error	error;

		if (!blx_plan(BLX_DYNAMIC_BLOCKED, n, pow(2, -KALER_SPEEDUP_PROBES), NULL, &g[4], &error))
			die("%s", error.message);
		for (size_t l = 0; l < LENGTH(names); l++)
		{
			contenders[l] = (contender) {new_filter(&g[l]), n};
			for (uint64_t i = 0; i < n; i += 256)
			{
				uint64_t	batch[256];

				fill_hashes(batch, i, 256);
				add_hashes(&contenders[l].f, batch, n - i < 256 ? (size_t) (n - i) : 256);
			}
		}
		for (size_t o = 0; o < LENGTH(functions); o++)
		{
			candidate	runs[LENGTH(names)];

			for (size_t l = 0; l < LENGTH(names); l++)
				runs[l] = (candidate) {names[l], functions[o], &contenders[l], 0, 0};
			take_turns(runs, LENGTH(names), quick ? 9 : 21);
			for (size_t l = 0; l < LENGTH(names); l++)
				ns[l][o] = runs[l].ns / SLICE;
		}
		for (size_t l = 0; l < LENGTH(names); l++)
		{
			fprintf(csv, "%" PRIu64 ",%" PRIu64 ",\"%s\",%.2f,%.2f,%.2f,%.3f\n", UINT64_C(1) << log_bytes, n, names[l], ns[l][0], ns[l][1], ns[l][2],
					(ns[0][0] + ns[0][1] + ns[0][2]) / (ns[l][0] + ns[l][1] + ns[l][2]));
			free_filter(contenders[l].f);
		}
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
	figure_3();
	bins();
	figure_5();
	return 0;
}
