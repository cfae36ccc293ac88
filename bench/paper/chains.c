/*
 * chains.c - the filters of T. Kaler, Cache Efficient Bloom Filters for Shared
 * Memory Machines, built as the text describes them: scalable filters (figures
 * 1 and 2), blocks that are scalable filters (4 and 6), and the blocks of figure
 * 3 with the paper's hashing, H1 + i H2.
 *
 *     chains [--quick] DIRECTORY
 */
#include "paper.h"

#include "core/theory/loads.h"
#include "core/theory/theory.h"

static bool quick;
static const char *directory;

#define BITS_A_PROBE (1 / 0.7)	/* the paper rounds ln 2 */

static const uint8_t schemes[] = {BLX_DOUBLE, BLX_INDEPENDENT};

/* ---- scalable filters ---- */

/*
 * The first stage has room for `first` keys and has `probes` probes, every further
 * one has one more.  It has room for twice the keys of the stage before, or for
 * a tenth of the first.
 */
typedef struct rule
{
	uint64_t	first;
	unsigned	probes;
	bool		doubles;
	uint8_t		hashing;
} rule;

#define MOST_STAGES 24

typedef struct chain
{
	const rule *rule;
	unsigned	stages;
	uint64_t	room;			/* for keys in the last stage */
	uint64_t	bits;
	blx_filter *stage[MOST_STAGES];
} chain;

static blx_geometry
standard(uint64_t bits, unsigned k, uint8_t hashing)
{
	blx_geometry g = geometry(BLX_STANDARD, 1, 1, k, bits);

	g.hashing = hashing;
	return g;
}

/* The keys that a stage has room for. */
static uint64_t
room_of(const rule *r, unsigned stage)
{
	return stage == 0 ? r->first : r->doubles ? r->first << stage : (r->first + 9) / 10;
}

static blx_geometry
geometry_of_stage(const rule *r, unsigned stage)
{
	unsigned	k = r->probes + stage;

	if (stage == MOST_STAGES)
		die("a chain has too many stages");
	return standard((uint64_t) ceil((double) room_of(r, stage) * k * BITS_A_PROBE), k, r->hashing);
}

static void
open_stage(chain *c)
{
	blx_geometry g = geometry_of_stage(c->rule, c->stages);

	c->stage[c->stages] = new_filter(&g);
	c->room = room_of(c->rule, c->stages++);
	c->bits += g.part_bits;
}

static chain
new_chain(const rule *r)
{
	chain		c = {.rule = r};

	open_stage(&c);
	return c;
}

static void
chain_add(chain *c, const uint64_t *hashes, uint64_t n)
{
	while (n > 0)
	{
		uint64_t	some;

		if (c->room == 0)
			open_stage(c);
		some = n < c->room ? n : c->room;
		blx_add(c->stage[c->stages - 1], hashes, some);
		c->room -= some;
		hashes += some;
		n -= some;
	}
}

static bool
chain_test(const chain *c, uint64_t hash)
{
	for (unsigned s = c->stages; s-- > 0;)
		if (blx_test(c->stage[s], hash))
			return true;
	return false;
}

static uint64_t
chain_count(const chain *c, uint64_t first, uint64_t n)
{
	uint64_t	found = 0;

	for (uint64_t i = 0; i < n; i++)
		found += chain_test(c, hash_of(first + i));
	return found;
}

static void
free_chain(chain *c)
{
	for (unsigned s = 0; s < c->stages; s++)
		free_filter(c->stage[s]);
}

/*
 * Figures 1 and 2: 2^25 keys, and as many absent ones where that many are needed
 * to count enough false positives.  (The paper also tests the keys that are
 * there, on which no rate depends; here some are tested, as a check.)
 */
static void
figures_1_and_2(void)
{
	static const uint64_t starts[] = {512, 2048};
	static const unsigned ks[] = {2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16};
	uint64_t	n = UINT64_C(1) << (quick ? 16 : 25),
				present = n / 64;
	FILE	   *csv = open_csv(directory, "growth-chains", "start,hashing,k,n,stages,bits,positives,probes,standard_bits,standard");

	for (size_t i = 0; i < LENGTH(ks); i++)
		for (size_t s = 0; s < LENGTH(starts); s++)
			for (size_t h = 0; h < LENGTH(schemes); h++)
			{
				uint64_t	bits = (uint64_t) ceil((double) n * ks[i] * BITS_A_PROBE),
							absent = ks[i] < 12 ? n / 8 : n;
				rule		r = {starts[s], ks[i] + 2, true, schemes[h]};
				chain		c = new_chain(&r);

				for (uint64_t key = 0; key < n; key += 256)
				{
					uint64_t	batch[256];

					fill_hashes(batch, key, 256);
					chain_add(&c, batch, 256);
				}
				if (chain_count(&c, 0, present) < present)
					die("a chain lost a key");
				fprintf(csv, "%" PRIu64 ",%s,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g\n", starts[s],
						blx_hashing_name(schemes[h]), ks[i], n, c.stages, c.bits, chain_count(&c, ABSENT, absent), absent, bits,
						blx_fpr_standard((double) n, bits, ks[i]));
				free_chain(&c);
			}
	fclose(csv);
}

/* ---- blocks ---- */

/* Keys in the order of their blocks; those of block b begin at start[b]. */
typedef struct blocked_keys
{
	uint64_t	blocks;
	uint64_t   *start;
	uint64_t   *hashes;
} blocked_keys;

static uint64_t
block_of(uint64_t key, uint64_t blocks)
{
	return (uint64_t) (((unsigned __int128) hash_of(key) * blocks) >> 64);
}

/* The keys with numbers first .. first+n-1.  A block is chosen by one hash, the bits in it by another. */
static blocked_keys
deal(uint64_t first, uint64_t n, uint64_t blocks)
{
	blocked_keys d = {blocks, must_alloc((blocks + 1) * sizeof *d.start), must_alloc(n * sizeof *d.hashes)};

	memset(d.start, 0, (blocks + 1) * sizeof *d.start);
	for (uint64_t i = 0; i < n; i++)
		d.start[block_of(first + i, blocks)]++;
	for (uint64_t b = 0, sum = 0; b <= blocks; b++)
		d.start[b] = sum += d.start[b];

	/* From the ends of the blocks to their beginnings. */
	for (uint64_t i = 0; i < n; i++)
		d.hashes[--d.start[block_of(first + i, blocks)]] = hash_of(hash_of(first + i));
	return d;
}

static void
free_keys(blocked_keys *d)
{
	free(d->start);
	free(d->hashes);
}

/* What blocks of a kind have: their bits, and the absent keys that they find. */
typedef struct tally
{
	uint64_t	bits;
	uint64_t	positives;
} tally;

/* Builds block b, tests the absent keys that have it, and forgets it. */
static void
try_block(const rule *r, const blocked_keys *keys, const blocked_keys *absent, uint64_t b, tally *t)
{
	chain		c = new_chain(r);

	chain_add(&c, keys->hashes + keys->start[b], keys->start[b + 1] - keys->start[b]);
	for (uint64_t i = keys->start[b]; i < keys->start[b + 1]; i++)
		if (!chain_test(&c, keys->hashes[i]))
			die("a block lost a key");
	for (uint64_t i = absent->start[b]; i < absent->start[b + 1]; i++)
		t->positives += chain_test(&c, absent->hashes[i]);
	t->bits += c.bits;
	free_chain(&c);
}

/* The same with a block of a fixed number of bits. */
static void
try_static_block(const blx_geometry *g, const blocked_keys *keys, const blocked_keys *absent, uint64_t b, tally *t)
{
	blx_filter *f = new_filter(g);

	blx_add(f, keys->hashes + keys->start[b], keys->start[b + 1] - keys->start[b]);
	for (uint64_t i = absent->start[b]; i < absent->start[b + 1]; i++)
		t->positives += blx_test(f, absent->hashes[i]);
	t->bits += g->part_bits;
	free_filter(f);
}

/* The rate, with independent hashes, of a block that has that many keys. */
static double
rate_of_block(uint64_t load, const void *arg)
{
	const rule *r = arg;
	double		absent = 1;

	for (unsigned stage = 0; load > 0; stage++)
	{
		uint64_t	keys = load < room_of(r, stage) ? load : room_of(r, stage);
		blx_geometry g = geometry_of_stage(r, stage);

		absent *= 1 - blx_fpr_standard((double) keys, g.part_bits, g.probes);
		load -= keys;
	}
	return 1 - absent;
}

/* The lowest rate of a plain blocked filter with these blocks and that many bits in each. */
static double
best_plain(uint64_t n, uint64_t blocks, uint64_t block_bits)
{
	double		best = 1;

	for (unsigned k = 1; k <= 40; k++)
	{
		double		rate = blx_fpr_blocked(n, blocks, block_bits, k);

		best = rate < best ? rate : best;
	}
	return best;
}

/*
 * Figures 4 and 6: 2^24 keys, as many as planned, and 2^25 tests, half of which
 * find their key.  The blocks of figure 3 have 2,944 keys, those of section 4
 * 51.2; figures 4 and 6 do not say.  `expected` is the computed rate with
 * independent hashes, `plain` that of static blocks with as many bits.
 */
static void
figures_4_and_6(void)
{
	static const double sizes[] = {51.2, 2944};
	uint64_t	n = UINT64_C(1) << (quick ? 16 : 24);
	FILE	   *csv = open_csv(directory, "kaler-dynamic", "kind,block_keys,hashing,k,n,bits,positives,probes,expected,plain");

	for (size_t s = 0; s < LENGTH(sizes); s++)
	{
		uint64_t	blocks = (uint64_t) llround((double) n / sizes[s]);
		blocked_keys keys = deal(0, n, blocks),
					absent = deal(ABSENT, n, blocks);

		for (size_t h = 0; h < LENGTH(schemes); h++)
			for (unsigned k = 3; k <= 16; k++)
			{
				rule		r = {(uint64_t) sizes[s], k + 2, false, schemes[h]};
				blx_geometry g = standard((uint64_t) (sizes[s] * k * BITS_A_PROBE), k, schemes[h]);
				tally		grown = {0, 0},
							fixed = {0, 0};

				for (uint64_t b = 0; b < blocks; b++)
				{
					try_block(&r, &keys, &absent, b, &grown);
					try_static_block(&g, &keys, &absent, b, &fixed);
				}
				fprintf(csv, "dynamic,%g,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g,%.6g\n", sizes[s], blx_hashing_name(schemes[h]), k, n,
						grown.bits, grown.positives, n, blx_mean_over_loads(n, blocks, rate_of_block, &r), best_plain(n, blocks, grown.bits / blocks));
				fprintf(csv, "static,%g,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g,\n", sizes[s], blx_hashing_name(schemes[h]), k, n,
						fixed.bits, fixed.positives, n, blx_fpr_blocked(n, blocks, g.part_bits, k));
			}
		free_keys(&keys);
		free_keys(&absent);
	}
	fclose(csv);
}

/* Every block has the same number of keys, or one more. */
static void
even_out(blocked_keys *d, uint64_t n)
{
	for (uint64_t b = 0; b <= d->blocks; b++)
		d->start[b] = (uint64_t) ((unsigned __int128) b * n / d->blocks);
}

/*
 * The rates of figure 3 with the paper's hashing: the blocks that kaler.c has with
 * independent hashes.
 */
static void
figure_3(void)
{
	static const double bits_per_key[] = {20, 13 * BITS_A_PROBE};
	static const struct { const char *name; double keys; bool even; } kinds[] = {
		{"blocked, balanced", 2944, true}, {"blocked, random", 2944, false}, {"blocked, random, 51.2 keys", 51.2, false}
	};
	uint64_t	n = UINT64_C(1) << (quick ? 18 : 27);
	FILE	   *csv = open_csv(directory, "kaler-figure3-double", "kind,n,bits_per_key,positives,probes");

	for (size_t i = 0; i < LENGTH(kinds); i++)
	{
		uint64_t	blocks = (uint64_t) llround((double) n / kinds[i].keys);
		blocked_keys keys = deal(0, n, blocks),
					absent = deal(ABSENT, n, blocks);

		if (kinds[i].even)
			even_out(&keys, n);
		for (size_t c = 0; c < LENGTH(bits_per_key); c++)
		{
			blx_geometry g = standard((uint64_t) (bits_per_key[c] * (double) n / (double) blocks), 13, BLX_DOUBLE);
			tally		t = {0, 0};

			for (uint64_t b = 0; b < blocks; b++)
				try_static_block(&g, &keys, &absent, b, &t);
			fprintf(csv, "\"%s\",%" PRIu64 ",%.2f,%" PRIu64 ",%" PRIu64 "\n", kinds[i].name, n, bits_per_key[c], t.positives, n);
		}
		free_keys(&keys);
		free_keys(&absent);
	}
	fclose(csv);
}

int
main(int argc, char **argv)
{
	directory = arguments(argc, argv, &quick);
	figures_4_and_6();
	figure_3();
	figures_1_and_2();
	return 0;
}
