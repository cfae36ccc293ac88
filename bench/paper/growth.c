/*
 * growth.c - filters that grow: Kaler's figures 1 and 2 (scalable against
 * standard), 4 and 6 (blocks that grow), and filters that get more keys than
 * they were planned for; P. S. Almeida, C. Baquero, N. Preguica, D. Hutchison,
 * Scalable Bloom Filters (2007).
 *
 *     growth [--quick] DIRECTORY
 */
#include "paper.h"

#include "core/theory/loads.h"
#include "core/theory/theory.h"

static bool quick;
static const char *directory;

static blx_filter *
planned(const char *layout, const char *settings, uint64_t capacity, double fpr)
{
	blx_geometry g;
	blx_error	error;
	blx_options options;
	uint8_t		id;

	if (!blx_layout_by_name(layout, &id, &error))
		die("%s", error.message);
	options = blx_default_options(id);
	if (!blx_parse_options(id, settings, &options, &error) || !blx_plan(id, capacity, fpr, &options, &g, &error))
		die("%s %s: %s", layout, settings, error.message);
	return new_filter(&g);
}

static void
add_more(blx_filter **f, uint64_t first, uint64_t n)
{
	uint64_t	batch[256];

	for (uint64_t i = 0; i < n; i += LENGTH(batch))
	{
		size_t		some = n - i < LENGTH(batch) ? (size_t) (n - i) : LENGTH(batch);

		fill_hashes(batch, first + i, some);
		add_hashes(f, batch, some);
	}
}

/*
 * Kaler's scalable filter, as the text describes it: stages of 512 or 2,048 keys
 * and then of twice as many, k + 2 probes and one more per stage, k/0.7 bits per
 * key; every stage a standard filter.  The paper's probes are H1 + i H2.
 */
#define MOST_STAGES 32
#define BITS_A_PROBE (1 / 0.7)

typedef struct chain
{
	unsigned	stages;
	blx_filter *stage[MOST_STAGES];
	uint64_t	bits;
} chain;

static blx_geometry
kaler_stage(uint64_t keys, unsigned k, uint8_t hashing)
{
	blx_geometry g = geometry(BLX_STANDARD, 1, 1, k, (uint64_t) ceil((double) keys * k * BITS_A_PROBE));

	g.hashing = hashing;
	return g;
}

static chain
kaler_chain(uint64_t first, unsigned k, uint8_t hashing, uint64_t n)
{
	chain		c = {0};

	for (uint64_t added = 0, room = first; added < n; room *= 2)
	{
		blx_geometry g = kaler_stage(room, k + 2 + c.stages, hashing);
		uint64_t	keys = n - added < room ? n - added : room;

		c.stage[c.stages] = new_filter(&g);
		c.bits += g.part_bits;
		add_range(c.stage[c.stages++], added, keys);
		added += keys;
	}
	return c;
}

static uint64_t
chain_positives(const chain *c, uint64_t probes)
{
	uint64_t	positives = 0;

	for (uint64_t i = 0; i < probes; i++)
	{
		uint64_t	h = hash_of(ABSENT + i);
		bool		found = false;

		for (unsigned s = c->stages; s-- > 0 && !found;)
			found = blx_test(c->stage[s], h);
		positives += found;
	}
	return positives;
}

/* Kaler's figures 1 and 2, scaled: the rate and the memory of these chains, with the paper's hashing and with independent hashes. */
static void
kaler_chains(void)
{
	static const uint64_t starts[] = {512, 2048};
	static const uint8_t schemes[] = {BLX_DOUBLE, BLX_INDEPENDENT};
	static const unsigned ks[] = {2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16};
	uint64_t	n = UINT64_C(1) << (quick ? 16 : 20);
	FILE	   *csv = open_csv(directory, "growth-chains", "start,hashing,k,n,stages,bits,standard_bits,positives,probes,standard");

	for (size_t s = 0; s < LENGTH(starts); s++)
		for (size_t h = 0; h < LENGTH(schemes); h++)
			for (size_t i = 0; i < LENGTH(ks); i++)
			{
				blx_geometry plain = kaler_stage(n, ks[i], BLX_INDEPENDENT);
				chain		c = kaler_chain(starts[s], ks[i], schemes[h], n);
				uint64_t	probes = UINT64_C(1) << ((ks[i] < 11 ? 21 : 24) - (quick ? 4 : 0));

				fprintf(csv, "%" PRIu64 ",%s,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g\n", starts[s],
						blx_hashing_name(schemes[h]), ks[i], n, c.stages, c.bits, plain.part_bits, chain_positives(&c, probes), probes,
						blx_fpr_expected(&plain, n));
				for (unsigned j = 0; j < c.stages; j++)
					free_filter(c.stage[j]);
			}
	fclose(csv);
}

/*
 * Kaler's dynamic blocks by arithmetic: each block is such a chain, whose stages
 * after the first hold a tenth of its keys each.  The mean over the binomial
 * loads of the blocks of the exact rate, and of the bits without any links.
 */
typedef struct kaler_block
{
	uint64_t	keys;			/* the first stage's capacity */
	unsigned	k;				/* what the standard filter has */
	bool		bits;			/* the bits, not the rate */
} kaler_block;

static double
kaler_block_of(uint64_t load, const void *arg)
{
	const kaler_block *b = arg;
	uint64_t	room = b->keys,
				held = 0;
	double		absent = 1,
				bits = 0;

	for (unsigned k = b->k + 2; held < load || k == b->k + 2; k++)
	{
		blx_geometry g = kaler_stage(room, k, BLX_INDEPENDENT);
		uint64_t	keys = load - held < room ? load - held : room;

		if (k > BLX_MAX_K)
			die("a block of %" PRIu64 " keys has too many stages", load);
		absent *= 1 - blx_fpr_standard((double) keys, g.part_bits, k);
		bits += (double) g.part_bits;
		held += keys;
		room = (b->keys + 9) / 10;
	}
	return b->bits ? bits : 1 - absent;
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

/* Figures 4 and 6: memory and rate of blocks that grow over k, with as many keys as planned. */
static void
dynamic_blocks(void)
{
	static const char *const settings[] = {"", "block_bits=32704", "block_bits=32704,growth=1,tightening=0.5"};
	static const double sizes[] = {51.2, 2944};
	static const unsigned ks[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	uint64_t	n = UINT64_C(1) << (quick ? 16 : 20),
				paper_n = UINT64_C(1) << 24;
	FILE	   *csv = open_csv(directory, "growth-dynamic", "kind,k,n,bits_per_key,rate,plain");

	for (size_t i = 0; i < LENGTH(ks); i++)
	{
		unsigned	k = ks[i];

		/* the layout, built: its rate is computed from its bits */
		for (size_t s = 0; s < LENGTH(settings); s++)
		{
			blx_filter *f = planned("dynamic_blocked", settings[s], n, pow(2, -(double) k));

			add_more(&f, 0, n);
			fprintf(csv, "\"dynamic_blocked%s%s\",%u,%" PRIu64 ",%.3f,%.6g,\n", *settings[s] ? ", " : "", settings[s], k, n,
					8.0 * (double) blx_size(f) / (double) n, blx_fpr(f));
			free_filter(f);
		}
		/* the paper's, by arithmetic */
		for (size_t s = 0; s < LENGTH(sizes); s++)
		{
			uint64_t	blocks = (uint64_t) llround((double) paper_n / sizes[s]),
						block_bits = (uint64_t) ((double) paper_n * k * BITS_A_PROBE / (double) blocks);
			kaler_block rate = {(uint64_t) sizes[s], k, false},
						bits = {(uint64_t) sizes[s], k, true};
			double		each = blx_mean_over_loads(paper_n, blocks, kaler_block_of, &bits);

			fprintf(csv, "\"Kaler's blocks of %g keys\",%u,%" PRIu64 ",%.3f,%.6g,%.6g\n", sizes[s], k, paper_n, each * (double) blocks / (double) paper_n,
					blx_mean_over_loads(paper_n, blocks, kaler_block_of, &rate), best_plain(paper_n, blocks, (uint64_t) each));
			fprintf(csv, "\"blocked, %g keys\",%u,%" PRIu64 ",%.3f,%.6g,\n", sizes[s], k, paper_n, (double) (block_bits * blocks) / (double) paper_n,
					blx_fpr_blocked(paper_n, blocks, block_bits, k));
		}
	}
	fclose(csv);
}

/*
 * Figures 1 and 2, of the layout scalable: the price of not knowing the number of keys.  The scalable
 * filter starts with room for 1,000 keys; the standard filter is planned for the
 * right number.
 */
static void
not_knowing(void)
{
	static const struct { const char *name, *layout, *settings; bool told; } kinds[] = {
		{"standard", "standard", "", true},
		{"scalable, r = 1/2", "scalable", "tightening=0.5", false},
		{"scalable, r = 0.85", "scalable", "tightening=0.85", false},
		{"scalable, r = 1/2, s = 4", "scalable", "tightening=0.5, growth=4", false},
	};
	uint64_t	n = quick ? 100000 : 1000000,
				probes = quick ? 300000 : 5000000;
	FILE	   *csv = open_csv(directory, "growth-k", "kind,k,n,asked,bits,positives,probes,own_rate");

	for (size_t i = 0; i < LENGTH(kinds); i++)
		for (unsigned k = 2; k <= 16; k += 2)
		{
			double		asked = pow(2, -(double) k);
			blx_filter *f = planned(kinds[i].layout, kinds[i].settings, kinds[i].told ? n : 1000, asked);

			add_more(&f, 0, n);
			fprintf(csv, "\"%s\",%u,%" PRIu64 ",%.8g,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g\n", kinds[i].name, k, n, asked, blx_bits_in(f),
					count_true(f, ABSENT, probes), probes, blx_fpr(f));
			free_filter(f);
		}
	fclose(csv);
}

enum { SLICE = 1 << 12 };

static volatile uint64_t sink;

typedef struct contender
{
	blx_filter *f;
	uint64_t	n;
	double		add_ns;			/* time for the keys since the last report */
} contender;

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

/* Beyond the paper: all filters are planned for the same number of keys and get up to 64 times as many. */
static void
overload(void)
{
	static const char *const layouts[] = {"standard", "blocked", "partitioned_blocked", "scalable", "dynamic_blocked"};
	uint64_t	capacity = quick ? 10000 : 100000,
				probes = quick ? 100000 : 2000000;
	FILE	   *csv = open_csv(directory, "growth-overload",
							   "layout,planned,n,bits,positives,probes,own_rate,add_ns,absent_ns,absent_ratio,present_ns,present_ratio");
	contender	contenders[LENGTH(layouts)];
	uint64_t	n = 0;

	for (size_t l = 0; l < LENGTH(layouts); l++)
		contenders[l] = (contender) {planned(layouts[l], "", capacity, 0.01), 0, 0};
	for (uint64_t goal = capacity; goal <= 64 * capacity; goal *= 2)
	{
		candidate	absent[LENGTH(layouts)],
					present[LENGTH(layouts)];
		uint64_t	before = n;

		for (size_t l = 0; l < LENGTH(layouts); l++)
			contenders[l].add_ns = 0;
		while (n < goal)
		{
			uint64_t	some = goal - n < SLICE ? goal - n : SLICE;

			for (size_t l = 0; l < LENGTH(layouts); l++)
			{
				double		start = now();

				add_more(&contenders[l].f, n, some);
				contenders[l].add_ns += now() - start;
				contenders[l].n = n + some;
			}
			n += some;
		}
		for (size_t l = 0; l < LENGTH(layouts); l++)
		{
			absent[l] = (candidate) {layouts[l], test_absent, &contenders[l], 0, 0};
			present[l] = (candidate) {layouts[l], test_present, &contenders[l], 0, 0};
		}
		take_turns(absent, LENGTH(layouts), quick ? 11 : 61);
		take_turns(present, LENGTH(layouts), quick ? 11 : 61);
		for (size_t l = 0; l < LENGTH(layouts); l++)
			fprintf(csv, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g,%.2f,%.2f,%.3f,%.2f,%.3f\n", layouts[l], capacity, n,
					blx_bits_in(contenders[l].f), count_true(contenders[l].f, ABSENT, probes), probes, blx_fpr(contenders[l].f),
					contenders[l].add_ns / (double) (n - before), absent[l].ns / SLICE, absent[l].ratio, present[l].ns / SLICE, present[l].ratio);
	}
	for (size_t l = 0; l < LENGTH(layouts); l++)
		free_filter(contenders[l].f);
	fclose(csv);
}

int
main(int argc, char **argv)
{
	directory = arguments(argc, argv, &quick);
	kaler_chains();
	dynamic_blocks();
	not_knowing();
	overload();
	return 0;
}
