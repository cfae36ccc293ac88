/*
 * almeida.c - measurements for P. S. Almeida, A Case for Partitioned Bloom
 * Filters (IEEE Transactions on Computers 2022): what the paper computes,
 * counted with real filters.  exact.py computes the exact values for comparison.
 *
 *     almeida [--quick] DIRECTORY
 *
 * The files hold counts, not rates, so that the sampling error is known.
 */
#include "paper.h"

static bool quick;
static const char *directory;

static blx_geometry
standard(uint64_t m, unsigned k)
{
	return geometry(BLX_STANDARD, 1, 1, k, m);
}

static blx_geometry
partitioned(uint64_t m, unsigned k)
{
	return geometry(BLX_PARTITIONED, 1, k, 1, m / k);
}

/* The number of distinct bits of the key, k - c. */
static unsigned
distinct_bits(blx_filter *scratch, const blx_geometry *g, uint64_t hash)
{
	blank(scratch, g);
	blx_add(scratch, &hash, 1);
	return (unsigned) blx_bits_set(scratch);
}

/* Table 4 (eq. 1 and 8): the number of keys of a standard filter with fewer than k bits. */
static void
collisions(void)
{
	static const uint64_t sizes[] = {64, 128, 256, 512, 1024, 4096, 16384};
	static const unsigned ks[] = {4, 8, 16};
	FILE	   *csv = open_csv(directory, "almeida-collisions", "m,k,collisions,keys,trials");
	uint64_t	trials = quick ? 100000 : 1000000;

	for (size_t s = 0; s < LENGTH(sizes); s++)
		for (size_t j = 0; j < LENGTH(ks); j++)
		{
			blx_geometry g = standard(sizes[s], ks[j]);
			blx_filter *f = new_filter(&g);
			uint64_t	seen[BLX_MAX_K + 1] = {0};

			for (uint64_t i = 0; i < trials; i++)
				seen[ks[j] - distinct_bits(f, &g, hash_of(i))]++;
			for (unsigned c = 0; c <= 3; c++)
				fprintf(csv, "%" PRIu64 ",%u,%u,%" PRIu64 ",%" PRIu64 "\n", sizes[s], ks[j], c, seen[c], trials);
			free_filter(f);
		}
	fclose(csv);
}

/* Counts in many filters.  The filters differ, so a sum varies more than a binomial count.  Its sigma is estimated from the filters. */
typedef struct counts
{
	uint64_t	filters;
	double		sum;
	double		squares;
} counts;

static void
count_filter(counts *c, uint64_t found)
{
	c->filters++;
	c->sum += (double) found;
	c->squares += (double) found * (double) found;
}

static double
sigma_of_sum(const counts *c)
{
	double		n = (double) c->filters;

	return sqrt(fmax(c->squares - c->sum * c->sum / n, 0) * n / (n - 1));
}

/* Tests `probes` absent keys in each of `filters` random filters of n keys. */
static void
random_filters(FILE *csv, const char *prefix, const blx_geometry *g, uint64_t n, uint64_t filters, uint64_t probes)
{
	blx_filter *f = new_filter(g);
	counts		c = {0, 0, 0};

	for (uint64_t i = 0; i < filters; i++)
	{
		blank(f, g);
		add_range(f, i * n, n);
		count_filter(&c, count_true(f, ABSENT + i * probes, probes));
	}
	fprintf(csv, "%s,%s,%.0f,%" PRIu64 ",%.1f\n", prefix, blx_layout_name(g->layout), c.sum, filters * probes, sigma_of_sum(&c));
	free_filter(f);
}

/* The paper's nominal number of keys is (m/k) ln 2; these are shares of it. */
static const double occupations[] = {1, 0.5, 0.25};

static uint64_t
keys_at(double occupation, uint64_t m, unsigned k)
{
	return (uint64_t) floor(occupation * (double) m / k * log(2));
}

/* The largest number of keys with which the fill is at most p. */
static uint64_t
keys_at_fill(uint64_t m, unsigned k, double p)
{
	return (uint64_t) floor(-log1p(-p) * (double) m / k);
}

/* Tables 1 and 2 (eq. 10 and 11): F_p and F_s at full, half and quarter occupation. */
static void
rates(void)
{
	static const struct { uint64_t m; unsigned k; } cases[] = {{64, 4}, {64, 8}, {512, 4}, {512, 8}, {512, 16}, {4096, 4}, {4096, 8}, {4096, 16}};
	FILE	   *csv = open_csv(directory, "almeida-rates", "occupation,m,k,n,layout,positives,probes,sigma");

	for (size_t c = 0; c < LENGTH(cases); c++)
		for (size_t o = 0; o < LENGTH(occupations); o++)
		{
			uint64_t	m = cases[c].m,
						n = keys_at(occupations[o], m, cases[c].k);
			uint64_t	filters = (quick ? 2000000 : 20000000) / (20 * n + 500);
			blx_geometry gs = standard(m, cases[c].k);
			blx_geometry gp = partitioned(m, cases[c].k);
			char		prefix[100];

			snprintf(prefix, sizeof prefix, "%g,%" PRIu64 ",%u,%" PRIu64, occupations[o], m, cases[c].k, n);
			random_filters(csv, prefix, &gs, n, filters, 500);
			random_filters(csv, prefix, &gp, n, filters, 500);
		}
	fclose(csv);
}

/* The first `wanted` absent keys with that many collisions. */
static size_t
keys_with_collisions(const blx_geometry *g, unsigned collided, uint64_t *out, size_t wanted)
{
	blx_filter *f = new_filter(g);
	size_t		found = 0;

	for (uint64_t i = 0; found < wanted && i < 4000000; i++)
	{
		uint64_t	h = hash_of(ABSENT + i);

		if (blx_k(g) - distinct_bits(f, g, h) == collided)
			out[found++] = h;
	}
	free_filter(f);
	return found;
}

/* Table 3 (eq. 14): the rate of keys with c collisions, over many filters. */
static void
elements(void)
{
	static const struct { uint64_t m; unsigned k; } cases[] = {{64, 4}, {64, 8}, {512, 8}, {512, 16}};
	FILE	   *csv = open_csv(directory, "almeida-elements", "occupation,m,k,n,collisions,positives,probes,sigma");
	enum { KEYS = 256 };
	uint64_t	hashes[KEYS];

	for (size_t o = 0; o < LENGTH(occupations); o++)
		for (size_t s = 0; s < LENGTH(cases); s++)
		{
			uint64_t	m = cases[s].m;
			unsigned	k = cases[s].k;
			uint64_t	n = keys_at(occupations[o], m, k);
			uint64_t	filters = (quick ? 200000 : 2000000) / (n + KEYS / 4);
			blx_geometry g = standard(m, k);

			for (unsigned c = 0; c <= 3; c++)
			{
				size_t		keys = keys_with_collisions(&g, c, hashes, KEYS);
				blx_filter *f = new_filter(&g);
				counts		found = {0, 0, 0};

				for (uint64_t i = 0; i < filters; i++)
				{
					uint64_t	positives = 0;

					blank(f, &g);
					add_range(f, i * n, n);
					for (size_t q = 0; q < keys; q++)
						positives += blx_test(f, hashes[q]);
					count_filter(&found, positives);
				}
				fprintf(csv, "%g,%" PRIu64 ",%u,%" PRIu64 ",%u,%.0f,%" PRIu64 ",%.1f\n", occupations[o], m, k, n, c, found.sum, filters * keys,
						sigma_of_sum(&found));
				free_filter(f);
			}
		}
	fclose(csv);
}

/* Beside Figure 4: the same keys, tested in many filters; a histogram of keys by their positives. */
static void
spread(void)
{
	enum { KEYS = 4000 };
	uint64_t	m = 512;
	unsigned	k = 8;
	uint64_t	n = keys_at_fill(m, k, 0.5);
	uint64_t	filters = quick ? 8000 : 60000;
	blx_geometry g[2] = {standard(m, k), partitioned(m, k)};
	FILE	   *csv = open_csv(directory, "almeida-spread", "m,k,n,filters,layout,positives,keys");
	uint32_t   *positives = must_alloc(KEYS * sizeof *positives);
	uint32_t   *keys = must_alloc((filters + 1) * sizeof *keys);

	for (unsigned l = 0; l < 2; l++)
	{
		blx_filter *f = new_filter(&g[l]);

		memset(positives, 0, KEYS * sizeof *positives);
		memset(keys, 0, (filters + 1) * sizeof *keys);
		for (uint64_t i = 0; i < filters; i++)
		{
			blank(f, &g[l]);
			add_range(f, i * n, n);
			for (size_t q = 0; q < KEYS; q++)
				positives[q] += blx_test(f, hash_of(ABSENT + q));
		}
		for (size_t q = 0; q < KEYS; q++)
			keys[positives[q]]++;
		for (uint64_t i = 0; i <= filters; i++)
			if (keys[i] > 0)
				fprintf(csv, "%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",%u\n", m, k, n, filters, blx_layout_name(g[l].layout), i, keys[i]);
		free_filter(f);
	}
	free(positives);
	free(keys);
	fclose(csv);
}

/* Section 5: the effects of double hashing on single keys, on pairs of keys and on the rate. */
static const uint8_t schemes[] = {BLX_INDEPENDENT, BLX_DOUBLE, BLX_ENHANCED_DOUBLE, BLX_TRIPLE};

static blx_geometry
hashed(blx_geometry g, uint8_t hashing)
{
	g.hashing = hashing;
	return g;
}

static void
schemes_and_keys(void)
{
	enum { WORDS = 8, M = 64 * WORDS, K = 8, KEYS = 4096 };
	blx_geometry layouts[] = {standard(M, K), partitioned(M, K)};
	uint64_t	trials = quick ? 1 << 18 : 1 << 22;
	FILE	   *bits = open_csv(directory, "almeida-schemes-bits", "m,k,layout,scheme,bits,keys,trials"),
			   *pairs = open_csv(directory, "almeida-schemes-pairs", "m,k,layout,scheme,common,pairs,trials");
	uint64_t	(*sets)[WORDS] = must_alloc(KEYS * sizeof *sets);

	for (size_t l = 0; l < LENGTH(layouts); l++)
		for (size_t h = 0; h < LENGTH(schemes); h++)
		{
			blx_geometry g = hashed(layouts[l], schemes[h]);
			blx_filter *f = new_filter(&g);
			uint64_t	by_bits[K + 1] = {0},
						by_common[K + 1] = {0},
						meetings = 0;

			for (uint64_t i = 0; i < trials; i++)
				by_bits[distinct_bits(f, &g, hash_of(i))]++;
			for (uint64_t i = 0; i < KEYS; i++)
			{
				uint64_t	key = hash_of(i);

				distinct_bits(f, &g, key);
				memcpy(sets[i], blx_cwords(f), sizeof *sets);
			}
			for (unsigned i = 0; i < KEYS; i++)
				for (unsigned j = 0; j < i; j++, meetings++)
				{
					unsigned	common = 0;

					for (unsigned w = 0; w < WORDS; w++)
						common += (unsigned) __builtin_popcountll(sets[i][w] & sets[j][w]);
					by_common[common]++;
				}
			for (unsigned b = 0; b <= K; b++)
			{
				fprintf(bits, "%u,%u,%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", M, K, blx_layout_name(g.layout), blx_hashing_name(g.hashing), b, by_bits[b], trials);
				fprintf(pairs, "%u,%u,%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", M, K, blx_layout_name(g.layout), blx_hashing_name(g.hashing), b, by_common[b], meetings);
			}
			free_filter(f);
		}
	free(sets);
	fclose(bits);
	fclose(pairs);
}

static void
schemes_and_rates(void)
{
	static const struct { uint64_t m; unsigned k; } cases[] = {{512, 8}, {4096, 8}, {4096, 16}, {65536, 16}, {1000000, 8}};
	FILE	   *csv = open_csv(directory, "almeida-schemes-rates", "scheme,m,k,n,layout,positives,probes,sigma");

	for (size_t c = 0; c < LENGTH(cases); c++)
		for (size_t h = 0; h < LENGTH(schemes); h++)
			for (unsigned l = 0; l < 2; l++)
			{
				uint64_t	m = cases[c].m,
							n = keys_at_fill(m, cases[c].k, 0.5);
				blx_geometry g = hashed(l == 0 ? standard(m, cases[c].k) : partitioned(m, cases[c].k), schemes[h]);
				uint64_t	probes = m > 100000 ? 100000 : 500;
				char		prefix[100];

				snprintf(prefix, sizeof prefix, "%s,%" PRIu64 ",%u,%" PRIu64, blx_hashing_name(schemes[h]), m, cases[c].k, n);
				random_filters(csv, prefix, &g, n, (quick ? 2000000 : 20000000) / (20 * n + probes) + 2, probes);
			}
	fclose(csv);
}

/* Section 6.2: two sets without a common key, and how often the filters fail to recognise that. */
static void
disjointness(void)
{
	static const uint64_t loads[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536};
	uint64_t	m = 65536;
	unsigned	k = 8;
	blx_geometry g[] = {
		standard(m, k), partitioned(m, k),
		geometry(BLX_BLOCKED, (m / 512), 1, k, 512),
		geometry(BLX_PARTITIONED_BLOCKED, (m / 64 / k), k, 1, 64)
	};
	uint64_t	pairs = quick ? 500 : 4000;
	FILE	   *csv = open_csv(directory, "almeida-disjoint", "m,k,n,layout,overlaps,pairs");

	for (size_t l = 0; l < LENGTH(g); l++)
	{
		blx_filter *a = new_filter(&g[l]);
		blx_filter *b = new_filter(&g[l]);

		for (size_t s = 0; s < LENGTH(loads); s++)
		{
			uint64_t	n = loads[s],
						overlaps = 0;

			for (uint64_t i = 0; i < pairs; i++)
			{
				blx_error	error;
				bool		certain;

				blank(a, &g[l]);
				blank(b, &g[l]);
				add_range(a, 2 * i * n, n);
				add_range(b, (2 * i + 1) * n, n);
				if (!blx_disjoint(a, b, &certain, &error))
					die("%s", error.message);
				overlaps += !certain;
			}
			fprintf(csv, "%" PRIu64 ",%u,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 "\n", m, k, n, blx_layout_name(g[l].layout), overlaps, pairs);
		}
		free_filter(a);
		free_filter(b);
	}
	fclose(csv);
}

/*
 * The standard filter of half as many bits: ORs the bits that get the same place
 * there.  (A probe is the top bits of the hash scaled to m, so these bits are
 * neighbours.  With probes modulo m they would be m/2 apart.)
 */
static blx_filter *
fold_standard(const blx_filter *f, unsigned times)
{
	blx_geometry g = blx_geometry_of(f);
	uint64_t	bits = g.part_bits;
	blx_filter *half;

	g.part_bits >>= times;
	half = new_filter(&g);
	for (uint64_t i = 0; i < bits; i++)
		blx_words(half)[(i >> times) / 64] |= (blx_cwords(f)[i / 64] >> i % 64 & 1) << (i >> times) % 64;
	return half;
}

/* Section 6.3: a full filter reduced to a half, a quarter and an eighth of its size. */
static void
reduction(void)
{
	uint64_t	m = 1 << 20;
	unsigned	k = 16;
	uint64_t	n = keys_at_fill(m, k, 0.5);
	uint64_t	probes = quick ? 1000000 : 10000000;
	FILE	   *csv = open_csv(directory, "almeida-reduction", "m,k,n,method,divided_by,positives,probes,predicted");
	blx_geometry gs = standard(m, k),
				gp = partitioned(m, k);
	blx_filter *s = new_filter(&gs),
			   *p = new_filter(&gp);

	add_range(s, 0, n);
	add_range(p, 0, n);
	for (unsigned times = 0; times <= 4; times++)
	{
		static const char *const names[] = {"standard, folded", "partitioned, folded", "partitioned, prefix"};
		blx_filter *cut[3] = {fold_standard(s, times)};
		blx_geometry g;
		blx_error	error;

		if (!blx_fold_geometry(p, times, &g, &error))
			die("%s", error.message);
		cut[1] = new_filter(&g);
		blx_or_into(cut[1], p);
		if (!blx_prefix_geometry(p, k >> times, &g, &error))
			die("%s", error.message);
		cut[2] = new_filter(&g);
		blx_or_into(cut[2], p);
		for (unsigned c = 0; c < 3; c++)
		{
			g = blx_geometry_of(cut[c]);
			fprintf(csv, "%" PRIu64 ",%u,%" PRIu64 ",\"%s\",%u,%" PRIu64 ",%" PRIu64 ",%.6g\n", m, k, n, names[c], 1u << times,
					count_true(cut[c], ABSENT, probes), probes, blx_fpr_expected(&g, n));
			free_filter(cut[c]);
		}
	}
	free_filter(s);
	free_filter(p);
	fclose(csv);
}

int
main(int argc, char **argv)
{
	directory = arguments(argc, argv, &quick);
	collisions();
	rates();
	elements();
	spread();
	schemes_and_keys();
	schemes_and_rates();
	disjointness();
	reduction();
	return 0;
}
