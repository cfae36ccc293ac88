/*
 * walther.c - measurements for P. Walther, W. Mansour, M. Werner, Extending
 * the Applicability of Bloom Filters by Relaxing their Parameter Constraints
 * (2025, arXiv 2502.02193).
 *
 *     walther [--quick] DIRECTORY
 *
 * Figure 7, the false positive rate over a fractional k; and the filter of any
 * number of bits, made of blocks whose sizes are powers of two, compared with a
 * standard filter of the same size.
 */
#include "paper.h"

static bool quick;
static const char *directory;

static blx_geometry
geometry_of_bits(const char *layout, uint64_t bits, double k)
{
	blx_geometry g;
	blx_error	error;
	uint8_t		id;

	if (!blx_layout_by_name(layout, &id, &error) || !blx_plan_bits(id, (int64_t) bits, k, NULL, &g, &error))
		die("%s of %" PRIu64 " bits with k = %g: %s", layout, bits, k, error.message);
	return g;
}

/* Figure 7. */
static void
fractional(void)
{
	static const struct { uint64_t m, n; } cases[] = {
		{8192, 500}, {8192, 1000}, {8192, 2000}, {8192, 4000}, {8192, 16000},
		{131072, 10000}, {131072, 20000}, {131072, 40000}, {131072, 60000}, {131072, 200000}
	};
	uint64_t	probes = quick ? 100000 : 2000000;
	FILE	   *csv = open_csv(directory, "walther-fractional", "m,n,k,positives,probes,filters,expected,fill");

	for (size_t c = 0; c < LENGTH(cases); c++)
	{
		uint64_t	m = cases[c].m,
					n = cases[c].n;
		uint64_t	filters = m == 8192 ? (quick ? 10 : 100) : quick ? 1 : 5;
		double		best = (double) m / (double) n * log(2);

		for (unsigned eighths = 2; eighths <= 8 * fmax(4, 1.6 * best); eighths++)
		{
			blx_geometry g = geometry_of_bits("rational", m, eighths / 8.0);
			blx_filter *f = new_filter(&g);
			uint64_t	positives = 0;
			double		set = 0;

			for (uint64_t i = 0; i < filters; i++)
			{
				blank(f, &g);
				add_range(f, i * n, n);
				positives += count_true(f, ABSENT + i * (probes / filters), probes / filters);
				set += (double) blx_bits_set(f);
			}
			fprintf(csv, "%" PRIu64 ",%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.8g,%.5f\n", m, n, eighths / 8.0,
					positives, probes / filters * filters, filters, blx_fpr_expected(&g, n), set / (double) (filters * m));
			free_filter(f);
		}
	}
	fclose(csv);
}

typedef struct contender
{
	blx_filter *f;
	uint64_t	n;
} contender;

enum { SLICE = 1 << 14 };

static volatile uint64_t sink;

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

/* Adds keys that are in the filter: the fill stays the same, and so does the memory traffic. */
static void
add_present(void *arg, int round)
{
	contender  *c = arg;

	add_range(c->f, (uint64_t) round * SLICE % (c->n - SLICE), SLICE);
}

/* Blocks whose sizes are powers of two, compared with one block of m bits: rate and relative time. */
static void
variable(void)
{
	static const uint64_t sizes[] = {1000000, 1048576, 10000000, 12582912, 100000000};
	static const char *const layouts[] = {"standard", "variable_blocked", "rational"};
	uint64_t	probes = quick ? 300000 : 5000000;
	FILE	   *csv = open_csv(directory, "walther-variable",
							   "m,n,k,layout,positives,probes,expected,add_ns,add_ratio,absent_ns,absent_ratio,present_ns,present_ratio");

	for (size_t s = 0; s < LENGTH(sizes) - (quick ? 2 : 0); s++)
	{
		uint64_t	m = sizes[s],
					n = m / 10;
		contender	contenders[LENGTH(layouts)];
		candidate	runs[3][LENGTH(layouts)];
		void		(*const functions[3]) (void *, int) = {add_present, test_absent, test_present};

		for (size_t l = 0; l < LENGTH(layouts); l++)
		{
			/* The best whole k, 7, or the best k if it may be fractional. */
			blx_geometry g = geometry_of_bits(layouts[l], m, l == 0 ? 7 : 10 * log(2));

			contenders[l] = (contender) {new_filter(&g), n};
			add_range(contenders[l].f, 0, n);
			for (unsigned r = 0; r < 3; r++)
				runs[r][l] = (candidate) {layouts[l], functions[r], &contenders[l], 0, 0};
		}
		for (unsigned r = 0; r < 3; r++)
			take_turns(runs[r], LENGTH(layouts), quick ? 11 : 61);
		for (size_t l = 0; l < LENGTH(layouts); l++)
		{
			blx_geometry g = blx_geometry_of(contenders[l].f);

			fprintf(csv, "%" PRIu64 ",%" PRIu64 ",%.4f,%s,%" PRIu64 ",%" PRIu64 ",%.6g", m, n, l == 0 ? 7 : 10 * log(2), layouts[l],
					count_true(contenders[l].f, ABSENT, probes), probes, blx_fpr_expected(&g, n));
			for (unsigned r = 0; r < 3; r++)
				fprintf(csv, ",%.2f,%.3f", runs[r][l].ns / SLICE, runs[r][l].ratio);
			fputc('\n', csv);
			free_filter(contenders[l].f);
		}
	}
	fclose(csv);
}

int
main(int argc, char **argv)
{
	directory = arguments(argc, argv, &quick);
	fractional();
	variable();
	return 0;
}
