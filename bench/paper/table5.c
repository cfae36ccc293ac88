/*
 * table5.c - Almeida's Table 5, which compares what filters can do, as
 * measurements: one row per layout.
 *
 *     table5 [--quick] DIRECTORY
 *
 * Each filter is planned for n keys at 1 %.  An empty field means that the layout
 * refuses the operation.
 */
#include "paper.h"

static bool quick;

static const char *const layouts[] = {
	"partitioned_blocked", "standard", "partitioned", "hybrid", "blocked", "rational", "variable_blocked", "counting"
};

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

static bool
plan(const char *layout, uint64_t n, double fpr, blx_geometry *g)
{
	blx_error	error;
	uint8_t		id;

	if (blx_layout_by_name(layout, &id, &error) && blx_plan(id, n, fpr, NULL, g, &error))
		return true;
	fprintf(stderr, "without %s: %s\n", layout, error.message);
	return false;
}

static blx_filter *
filled(const blx_geometry *g, uint64_t first, uint64_t n)
{
	blx_filter *f = new_filter(g);

	add_range(f, first, n);
	return f;
}

/* The share of keys in a sample with two probes on the same bit. */
static double
weak_keys(const blx_geometry *g)
{
	unsigned	weak = 0,
				sample;
	blx_geometry small = *g;
	blx_filter *f;

	/* Blocks are alike, and fewer of them are cleared faster. */
	if (small.blocks > 64)
		small.blocks = 64;
	sample = quick ? 300 : blx_bytes(&small, 0) < 10000 ? 1000000 : 3000;
	f = new_filter(&small);
	for (unsigned i = 0; i < sample; i++)
	{
		blank(f, &small);
		add_range(f, ABSENT + i, 1);
		weak += blx_bits_set(f) < blx_k(g);
	}
	free_filter(f);
	return (double) weak / sample;
}

/* Half of the keys are common: the rate of a & b, and that of the filter built from the common keys. */
static void
intersect(FILE *csv, const blx_geometry *g, uint64_t n)
{
	uint64_t	probes = quick ? 300000 : 5000000;
	blx_filter *a = filled(g, 0, n),
			   *b = filled(g, n / 2, n),
			   *common = filled(g, n / 2, n - n / 2);
	blx_geometry both;
	blx_error	error;

	if (blx_combined_geometry(BLX_INTERSECTION, a, b, &both, &error))
	{
		blx_filter *f = new_filter(&both);

		blx_set_all(f);
		blx_and_into(f, a);
		blx_and_into(f, b);
		fprintf(csv, ",%.4g,%.4g", (double) count_true(f, ABSENT, probes) / (double) probes,
				(double) count_true(common, ABSENT, probes) / (double) probes);
		free_filter(f);
	}
	else
		fprintf(csv, ",,");
	free_filter(a);
	free_filter(b);
	free_filter(common);
}

/* The share of pairs of sets without a common key that is recognised. */
static void
apart(FILE *csv, const char *layout, uint64_t keys)
{
	unsigned	pairs = quick ? 20 : 200,
				recognised = 0;
	blx_geometry g;
	blx_filter *a,
			   *b;

	if (!plan(layout, 100000, 0.01, &g))
		return;
	a = new_filter(&g);
	b = new_filter(&g);
	for (unsigned i = 0; i < pairs; i++)
	{
		blx_error	error;
		bool		certain;

		blank(a, &g);
		blank(b, &g);
		add_range(a, 2 * i * keys, keys);
		add_range(b, (2 * i + 1) * keys, keys);
		if (!blx_disjoint(a, b, &certain, &error))
		{
			fprintf(csv, ",");
			goto done;
		}
		recognised += certain;
	}
	fprintf(csv, ",%.4g", (double) recognised / pairs);
done:
	free_filter(a);
	free_filter(b);
}

/* The rates at half the size: of the prefix and of the fold. */
static void
views(FILE *csv, const blx_filter *f)
{
	uint64_t	probes = quick ? 100000 : 1000000;

	for (int fold = 0; fold <= 1; fold++)
	{
		blx_geometry g;
		blx_error	error;

		if (fold ? blx_fold_geometry(f, 1, &g, &error) : blx_prefix_geometry(f, blx_geometry_of(f).parts / 2, &g, &error))
		{
			blx_filter *view = new_filter(&g);

			blx_or_into(view, f);
			fprintf(csv, ",%.3g", (double) count_true(view, ABSENT, probes) / (double) probes);
			free_filter(view);
		}
		else
			fprintf(csv, ",");
	}
}

static bool
removes(blx_filter *f)
{
	blx_error	error;
	uint64_t	hash = hash_of(0);
	size_t		removed;

	return blx_remove(f, &hash, 1, &removed, &error) && removed == 1;
}

int
main(int argc, char **argv)
{
	const char *directory = arguments(argc, argv, &quick);
	uint64_t	n = quick ? 100000 : 1000000,
				probes = quick ? 300000 : 5000000;
	FILE	   *csv = open_csv(directory, "table5",
							   "layout,n,k,bits_a_key,positives,probes,weak,add_ns,add_ratio,absent_ns,absent_ratio,present_ns,present_ratio,"
							   "intersection,intersection_built,apart_100,apart_1000,prefix,fold,removes");
	void		(*const functions[3]) (void *, int) = {add_slice, test_absent, test_present};
	contender	contenders[LENGTH(layouts)];
	candidate	runs[3][LENGTH(layouts)];
	int			count = 0;

	for (size_t l = 0; l < LENGTH(layouts); l++)
	{
		blx_geometry g;

		if (!plan(layouts[l], n, 0.01, &g))
			continue;
		contenders[count] = (contender) {filled(&g, 0, n), n};
		for (unsigned r = 0; r < 3; r++)
			runs[r][count] = (candidate) {layouts[l], functions[r], &contenders[count], 0, 0};
		count++;
	}
	for (unsigned r = 0; r < 3; r++)
		take_turns(runs[r], count, quick ? 11 : 61);
	for (int l = 0; l < count; l++)
	{
		const char *layout = runs[0][l].name;
		blx_geometry g = blx_geometry_of(contenders[l].f);

		fprintf(csv, "%s,%" PRIu64 ",%u,%.4f,%" PRIu64 ",%" PRIu64, layout, n, blx_k(&g), 64.0 * (double) blx_body_words(&g) / (double) n,
				count_true(contenders[l].f, ABSENT, probes), probes);
		if (strcmp(layout, "rational") == 0 || strcmp(layout, "variable_blocked") == 0)
			fprintf(csv, ",");
		else
			fprintf(csv, ",%.4g", weak_keys(&g));
		for (unsigned r = 0; r < 3; r++)
			fprintf(csv, ",%.2f,%.3f", runs[r][l].ns / SLICE, runs[r][l].ratio);
		intersect(csv, &g, n);
		apart(csv, layout, 100);
		apart(csv, layout, 1000);
		views(csv, contenders[l].f);
		fprintf(csv, ",%d\n", removes(contenders[l].f));
		free_filter(contenders[l].f);
	}
	fclose(csv);
	return 0;
}
