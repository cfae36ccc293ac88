/*
 * growth.c - layouts that grow: scalable against standard (P. S. Almeida, C.
 * Baquero, N. Preguica, D. Hutchison, Scalable Bloom Filters, 2007), dynamic_blocked
 * in the setting of Kaler's figures 4 and 6, and filters that get more keys than
 * they were planned for.  Kaler's own filters are in chains.c.
 *
 *     growth [--quick] DIRECTORY
 */
#include "paper.h"

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
 * Kaler's figures 4 and 6 with the layout dynamic_blocked: 2^24 keys, as many as
 * planned, and as many absent ones.
 */
static void
dynamic_blocks(void)
{
	static const char *const settings[] = {"", "block_bits=32704", "block_bits=32704,growth=1,tightening=0.5"};
	uint64_t	n = UINT64_C(1) << (quick ? 16 : 24);
	FILE	   *csv = open_csv(directory, "growth-dynamic", "kind,k,n,bits,positives,probes,own_rate");

	for (unsigned k = 3; k <= 16; k++)
		for (size_t s = 0; s < LENGTH(settings); s++)
		{
			blx_filter *f = planned("dynamic_blocked", settings[s], n, pow(2, -(double) k));

			add_more(&f, 0, n);
			fprintf(csv, "\"dynamic_blocked%s%s\",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g\n", *settings[s] ? ", " : "", settings[s], k, n,
					8 * (uint64_t) blx_size(f), count_true(f, ABSENT, n), n, blx_fpr(f));
			free_filter(f);
		}
	fclose(csv);
}

/*
 * Like figures 1 and 2, with the layout scalable: the price of not knowing the
 * number of keys.  The scalable filter starts with room for 1,000 keys; the
 * standard filter is planned for the right number.
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
			fprintf(csv, "\"%s\",%u,%" PRIu64 ",%.8g,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g\n", kinds[i].name, k, n, asked, 8 * (uint64_t) blx_size(f),
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
					8 * (uint64_t) blx_size(contenders[l].f), count_true(contenders[l].f, ABSENT, probes), probes, blx_fpr(contenders[l].f),
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
	dynamic_blocks();
	not_knowing();
	overload();
	return 0;
}
