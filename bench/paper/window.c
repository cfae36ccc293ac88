/*
 * window.c - duplicates in a stream: A. Shtul, C. Baquero, P. S. Almeida,
 * Age-Partitioned Bloom Filters (2020, arXiv 2001.03147), compared with ways to
 * detect duplicates with ordinary filters.
 *
 *     window [--quick] DIRECTORY
 *
 * Every scheme makes the same promise: none of the last `window` events is
 * forgotten, and a new key is mistaken for a known one at most at the given rate.
 * All schemes process the same stream, taking turns chunk by chunk.  Each event
 * tests its key and then adds it.  One event in ten repeats a key of the window.
 */
#include "paper.h"

static bool quick;
static const char *directory;

enum { CHUNK = 1 << 14, MAX_FILTERS = 17 };

typedef struct scheme
{
	const char *name;
	void		(*add) (struct scheme *, const uint64_t *hashes, size_t n);
	bool		(*test) (const struct scheme *, uint64_t hash);
	blx_filter *filters[MAX_FILTERS];
	unsigned	count;			/* number of filters */
	unsigned	current;
	uint64_t	added;			/* keys added to the current filter */
	uint64_t	period;			/* events until the next filter takes over */

	/* results */
	uint64_t	missed;			/* keys of the window that were not found */
	uint64_t	positives;		/* new keys that were found */
	double		ns[MAX_ROUNDS];
} scheme;

/* The filter with index i, counted from the newest; 0 is the current one. */
static blx_filter *
newest(const scheme *s, unsigned i)
{
	return s->filters[(s->current + s->count - i) % s->count];
}

static void
turn(scheme *s)
{
	blx_geometry g;

	s->current = (s->current + 1) % s->count;
	s->added = 0;
	g = blx_geometry_of(s->filters[s->current]);
	blank(s->filters[s->current], &g);
}

/* One filter per generation; the oldest is emptied for the next: a reset (one filter), two buffers, or a ring. */
static void
ring_add(scheme *s, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (s->added == s->period)
			turn(s);
		blx_add(newest(s, 0), &hashes[i], 1);
		s->added++;
	}
}

static bool
ring_test(const scheme *s, uint64_t hash)
{
	for (unsigned i = 0; i < s->count; i++)
		if (blx_test(newest(s, i), hash))
			return true;
	return false;
}

/*
 * Active and warm-up (Chang, Feng, Li 2004): both filters have room for two
 * windows.  The second half of the keys goes to the active filter and to the
 * warm-up filter, which then takes over.  Only the active filter is tested.
 */
static void
warm_up_add(scheme *s, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (s->added == 2 * s->period)
		{
			blx_geometry g = blx_geometry_of(s->filters[s->current]);

			blank(s->filters[s->current], &g);
			s->current ^= 1;
			s->added = s->period;
		}
		blx_add(s->filters[s->current], &hashes[i], 1);
		if (s->added >= s->period)
			blx_add(s->filters[s->current ^ 1], &hashes[i], 1);
		s->added++;
	}
}

static bool
warm_up_test(const scheme *s, uint64_t hash)
{
	return blx_test(s->filters[s->current], hash);
}

static void
aging_add(scheme *s, const uint64_t *hashes, size_t n)
{
	blx_add(s->filters[0], hashes, n);
}

static bool
aging_test(const scheme *s, uint64_t hash)
{
	return blx_test(s->filters[0], hash);
}

static void
allot(scheme *s, const char *layout, const char *settings, unsigned count, uint64_t capacity, double fpr)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};
	blx_geometry g;
	blx_error	error;
	blx_options options;
	uint8_t		number;

	if (!blx_layout_by_name(layout, &number, &error))
		die("%s", error.message);
	options = blx_default_options(number);
	if (!blx_parse_options(number, settings, &options, &error) || !blx_plan(number, capacity, fpr, &options, &g, &error))
		die("%s %s: %s", layout, settings, error.message);
	s->count = count;
	for (unsigned i = 0; i < count; i++)
	{
		s->filters[i] = new_filter(&g);
		blx_init(s->filters[i], &g, &id, capacity);
	}
}

static void
release(scheme *s)
{
	for (unsigned i = 0; i < s->count; i++)
		free_filter(s->filters[i]);
}

static double
bits_of(const scheme *s)
{
	double		bits = 0;

	for (unsigned i = 0; i < s->count; i++)
		bits += 64.0 * (double) ((blx_size(s->filters[i]) - sizeof(blx_filter)) / 8);
	return bits;
}

enum { AGING, AGING_SHORT, WARM_UP, TWO, RING5, RING17, RING5_BLOCKED, RESET, SCHEMES };

static void
make_schemes(scheme *s, uint64_t window, double fpr)
{
	memset(s, 0, SCHEMES * sizeof *s);
	s[AGING] = (scheme) {.name = "age_partitioned", .add = aging_add, .test = aging_test};
	allot(&s[AGING], "age_partitioned", "", 1, window, fpr);
	s[AGING_SHORT] = (scheme) {.name = "age_partitioned, l = 10", .add = aging_add, .test = aging_test};
	allot(&s[AGING_SHORT], "age_partitioned", "generations=10", 1, window, fpr);
	s[WARM_UP] = (scheme) {.name = "active and warm-up", .add = warm_up_add, .test = warm_up_test, .period = window};
	allot(&s[WARM_UP], "partitioned", "", 2, 2 * window, fpr);
	s[TWO] = (scheme) {.name = "two generations", .add = ring_add, .test = ring_test, .period = window};
	allot(&s[TWO], "partitioned", "", 2, window, fpr / 2);
	s[RING5] = (scheme) {.name = "ring of 5", .add = ring_add, .test = ring_test, .period = (window + 3) / 4};
	allot(&s[RING5], "partitioned", "", 5, s[RING5].period, fpr / 5);
	s[RING17] = (scheme) {.name = "ring of 17", .add = ring_add, .test = ring_test, .period = (window + 15) / 16};
	allot(&s[RING17], "partitioned", "", 17, s[RING17].period, fpr / 17);
	s[RING5_BLOCKED] = (scheme) {.name = "ring of 5 of the default layout", .add = ring_add, .test = ring_test, .period = (window + 3) / 4};
	allot(&s[RING5_BLOCKED], "partitioned_blocked", "", 5, s[RING5_BLOCKED].period, fpr / 5);
	s[RESET] = (scheme) {.name = "naive reset", .add = ring_add, .test = ring_test, .period = window};
	allot(&s[RESET], "partitioned", "", 1, window, fpr);
}

static void
stream(FILE *csv, uint64_t window, double fpr, uint64_t events, unsigned schemes)
{
	static scheme s[SCHEMES];
	static uint64_t hashes[CHUNK];
	static bool known[CHUNK];
	uint64_t   *last = must_alloc(window * sizeof *last);
	uint64_t	repeats = 0,
				fresh = 0,
				event = 0;
	uint64_t	chunks = events / CHUNK;

	make_schemes(s, window, fpr);
	for (uint64_t c = 0; c < chunks; c++)
	{
		bool		warm = event >= 3 * window;

		for (unsigned i = 0; i < CHUNK; i++, event++)
		{
			uint64_t	r = hash_of(event ^ 3 * ABSENT);

			known[i] = event >= window && r % 10 == 0;
			hashes[i] = known[i] ? last[(event - 1 - (r >> 8) % window) % window] : hash_of(event);
			last[event % window] = hashes[i];
			if (warm)
				*(known[i] ? &repeats : &fresh) += 1;
		}
		for (unsigned k = 0; k < schemes; k++)
		{
			double		start = now();

			for (unsigned i = 0; i < CHUNK; i++)
			{
				bool		found = s[k].test(&s[k], hashes[i]);

				if (warm)
				{
					s[k].missed += known[i] && !found;
					s[k].positives += !known[i] && found;
				}
				s[k].add(&s[k], &hashes[i], 1);
			}

			/* the times of the most recent chunks */
			s[k].ns[c % MAX_ROUNDS] = (now() - start) / CHUNK;
		}
	}
	for (unsigned k = 0; k < schemes; k++)
	{
		double		ratios[MAX_ROUNDS];
		int			n = chunks < MAX_ROUNDS ? (int) chunks : MAX_ROUNDS;

		for (int i = 0; i < n; i++)
			ratios[i] = s[k].ns[i] / s[AGING].ns[i];
		fprintf(csv, "%" PRIu64 ",%g,%" PRIu64 ",\"%s\",%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.2f,%.3f\n", window, fpr, event,
				s[k].name, bits_of(&s[k]) / (double) window, s[k].missed, repeats, s[k].positives, fresh, median(s[k].ns, n), median(ratios, n));
	}
	for (unsigned k = 0; k < SCHEMES; k++)
		release(&s[k]);
	free(last);
}

/* How keys are forgotten: the share of keys that are still found, by age in windows, over moments of the stream. */
static void
forgetting(void)
{
	static scheme s[SCHEMES];
	uint64_t	window = 20000,
				moments = quick ? 40 : 400;
	static const unsigned shown[] = {AGING, AGING_SHORT, WARM_UP, TWO, RING5};
	FILE	   *csv = open_csv(directory, "window-age", "window,scheme,age,found,asked");

	make_schemes(s, window, 0.001);
	for (size_t j = 0; j < LENGTH(shown); j++)
	{
		scheme	   *k = &s[shown[j]];
		uint64_t	found[301] = {0};
		uint64_t	event = 0;

		for (uint64_t moment = 0; moment < moments; moment++)
		{
			for (uint64_t i = 0; i < (moment == 0 ? 8 * window : 7919); i++, event++)
			{
				uint64_t	h = hash_of(event);

				k->add(k, &h, 1);
			}
			/* age 1 is the last event; tests a few keys around each age */
			for (unsigned a = 0; a <= 300; a++)
				for (unsigned near = 0; near < 10; near++)
					found[a] += k->test(k, hash_of(event - 1 - (a * window / 100 + near * window / 1000)));
		}
		for (unsigned a = 0; a <= 300; a++)
			fprintf(csv, "%" PRIu64 ",\"%s\",%.4f,%" PRIu64 ",%" PRIu64 "\n", window, k->name, a / 100.0 + 0.0045, found[a], 10 * moments);
	}
	for (unsigned k = 0; k < SCHEMES; k++)
		release(&s[k]);
	fclose(csv);
}

int
main(int argc, char **argv)
{
	FILE	   *csv;

	directory = arguments(argc, argv, &quick);
	csv = open_csv(directory, "window-stream", "window,fpr,events,scheme,bits_a_key,missed,repeats,positives,fresh,ns,ratio");
	stream(csv, 100000, 0.01, quick ? 1000000 : 10000000, SCHEMES);
	stream(csv, 100000, 0.0001, quick ? 1000000 : 10000000, SCHEMES);
	if (!quick)
		stream(csv, 1000000, 0.001, 100000000, 1);
	fclose(csv);
	forgetting();
	return 0;
}
