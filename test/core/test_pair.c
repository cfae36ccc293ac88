/*
 * test_pair.c - two filters compared: union, intersection and Jaccard index are
 * estimated without bias, and spread as their standard errors announce, for all
 * layouts that can be compared and for filters of different sizes.
 */
#include "filters.h"

typedef struct comparison
{
	blx_geometry a,
				b;
	unsigned	only_a,
				only_b,
				both;
	double		low,			/* of the mean square of (estimate - truth) / error */
				high;
} comparison;

/* 400 runs: 4 standard errors of the mean square of a normal variable are 0.28, of its mean 0.2. */
#define RUNS 400

static const comparison comparisons[] = {
	/* one geometry: a union of 1,500 keys; the parts of a block are less independent than assumed in two groups */
	{{BLX_PARTITIONED_BLOCKED, 32, 8, 1, 64}, {BLX_PARTITIONED_BLOCKED, 32, 8, 1, 64}, 700, 500, 300, 0.7, 1.3},
	{{BLX_PARTITIONED_BLOCKED, 16, 12, 1, 64}, {BLX_PARTITIONED_BLOCKED, 16, 12, 1, 64}, 300, 200, 400, 0.5, 1.3},
	/* 100 keys beside 1,000: disjoint, half of them, all of them */
	{{BLX_PARTITIONED_BLOCKED, 2, 8, 1, 64}, {BLX_PARTITIONED_BLOCKED, 32, 6, 1, 64}, 100, 1000, 0, 0.7, 1.3},
	{{BLX_PARTITIONED_BLOCKED, 2, 8, 1, 64}, {BLX_PARTITIONED_BLOCKED, 32, 6, 1, 64}, 50, 950, 50, 0.7, 1.3},
	{{BLX_PARTITIONED_BLOCKED, 32, 6, 1, 64}, {BLX_PARTITIONED_BLOCKED, 2, 8, 1, 64}, 900, 0, 100, 0.7, 1.3},
	/* few keys in the finer one */
	{{BLX_PARTITIONED_BLOCKED, 8, 7, 1, 64}, {BLX_PARTITIONED_BLOCKED, 64, 7, 1, 64}, 250, 20, 60, 0.7, 1.3},
	{{BLX_COUNTING, 4, 6, 1, 64}, {BLX_COUNTING, 16, 6, 1, 64}, 60, 300, 100, 0.7, 1.3},
	{{BLX_PARTITIONED, 1, 8, 1, 512}, {BLX_PARTITIONED, 1, 8, 1, 512}, 200, 100, 150, 0.7, 1.3},
	{{BLX_PARTITIONED, 1, 8, 1, 256}, {BLX_PARTITIONED, 1, 6, 1, 2048}, 60, 700, 100, 0.7, 1.3},
	{{BLX_HYBRID, 1, 4, 2, 512}, {BLX_HYBRID, 1, 4, 2, 2048}, 100, 300, 100, 0.7, 1.3},
	{{BLX_STANDARD, 1, 1, 7, 8192}, {BLX_STANDARD, 1, 1, 7, 8192}, 400, 200, 300, 0.7, 1.3},
	{{BLX_BLOCKED, 16, 1, 8, 512}, {BLX_BLOCKED, 16, 1, 8, 512}, 200, 300, 200, 0.7, 1.3},
	{{BLX_RATIONAL, 1, 1, 6, 8192, 0, BLX_FRACTION_ONE / 2}, {BLX_RATIONAL, 1, 1, 6, 8192, 0, BLX_FRACTION_ONE / 2}, 400, 200, 300, 0.7, 1.3},
};

/* Sums of (estimate - truth) / error, and of the squares. */
typedef struct scores
{
	double		mean,
				square;
} scores;

static void
score(scores *s, double estimate, double truth, double error)
{
	double		z = error > 0 ? (estimate - truth) / error : NAN;

	s->mean += z / RUNS;
	s->square += z * z / RUNS;
}

static void
check_scores(const char *what, const scores *s, const comparison *c)
{
	note("%-12s mean z %+.3f, mean square %.3f", what, s->mean, s->square);
	CHECK(fabs(s->mean) < 0.25, "%s, %g", what, s->mean);
	CHECK(s->square > c->low && s->square < c->high, "%s, %g", what, s->square);
}

static void
estimates(void)
{
	TEST("pair: no bias, and a spread as announced, at one size and at two")
	for (size_t i = 0; i < LENGTH(comparisons); i++)
	{
		const comparison *c = &comparisons[i];
		unsigned	all = c->only_a + c->both + c->only_b;
		scores		either = {0},
					both = {0},
					jaccard = {0};

		note("%s of %u keys, %s of %u, %u in both", describe(&c->a), c->only_a + c->both, describe(&c->b), c->only_b + c->both, c->both);
		for (int run = 0; run < RUNS; run++, release())
		{
			uint64_t   *hashes = new_hashes(all);
			blx_filter *a = built(&c->a, 0, hashes, c->only_a + c->both),
					   *b = built(&c->b, 0, hashes + c->only_a, c->both + c->only_b);
			blx_pair	pair,
						exchanged;
			blx_error	error;

			if (!CHECK(blx_estimate_pair(a, b, NULL, &pair, &error) && blx_estimate_pair(b, a, NULL, &exchanged, &error), "%s", error.message))
				return;
			CHECK(memcmp(&pair, &exchanged, sizeof pair) == 0, "%g and %g", pair.in_both, exchanged.in_both);
			score(&either, pair.in_either, all, pair.in_either_error);
			score(&both, pair.in_both, c->both, pair.in_both_error);
			if (c->both > 0 && c->only_b > 0)	/* else it is cut at its ends */
				score(&jaccard, pair.jaccard, (double) c->both / all, pair.jaccard_error);
		}
		check_scores("union", &either, c);
		check_scores("intersection", &both, c);
		if (c->both > 0 && c->only_b > 0)
			check_scores("jaccard", &jaccard, c);
	}
}

static void
limits(void)
{
	blx_geometry small = {BLX_PARTITIONED_BLOCKED, 2, 8, 1, 64},
				large = {BLX_PARTITIONED_BLOCKED, 64, 8, 1, 64};

	TEST("pair: a filter and itself share all keys, and it shares none with an empty one")
	{
		blx_filter *f = built(&large, 0, new_hashes(500), 500);
		blx_pair	pair;

		CHECK(blx_estimate_pair(f, f, NULL, &pair, NULL) && pair.jaccard == 1 && pair.in_both == pair.in_either && pair.jaccard_error < 1e-9,
			  "%g +- %g", pair.jaccard, pair.jaccard_error);
		CHECK(blx_estimate_pair(f, blank(&small, &no_identity, 100), NULL, &pair, NULL) && fabs(pair.in_both) < 1e-9 && pair.jaccard < 1e-9,
			  "%g", pair.in_both);
		CHECK(blx_estimate_pair(blank(&small, &no_identity, 100), blank(&large, &no_identity, 100), NULL, &pair, NULL) &&
			  pair.in_either == 0 && pair.in_both == 0 && pair.jaccard == 1, "%g", pair.in_either);
		release();
	}

	TEST("pair: beside a full filter nothing is known")
	{
		blx_filter *f = built(&large, 0, new_hashes(500), 500),
				   *full = blank(&small, &no_identity, 0);
		blx_pair	pair;

		blx_set_all(full);
		CHECK(blx_estimate_pair(f, full, NULL, &pair, NULL) && isinf(pair.in_either) && isnan(pair.in_both) && isnan(pair.jaccard), "%g", pair.in_both);
		release();
	}

	TEST("pair: a union of two sizes, expanded, is compared as what it began with")
	{
		uint64_t   *hashes = new_hashes(400);
		blx_filter *a = built(&small, 0, hashes, 60),
				   *b = built(&large, 0, hashes + 30, 370),
				   *both = union_of(a, b);
		blx_pair	pair;

		CHECK(blx_estimate_pair(both, a, NULL, &pair, NULL) && fabs(pair.in_both - 60) < 5 * pair.in_both_error + 1, "%g +- %g", pair.in_both, pair.in_both_error);
		release();
	}

	TEST("pair: layouts and filters that do not go together are refused with a reason")
	{
		blx_geometry other = {BLX_STANDARD, 1, 1, 7, 1000};
		blx_identity seeded = {.seed = 1};
		blx_pair	pair;
		blx_error	error;

		CHECK(!blx_estimate_pair(blank(&small, &no_identity, 9), blank(&other, &no_identity, 9), NULL, &pair, &error) && error.code == BLX_MISMATCH, "%s", error.message);
		CHECK(!blx_estimate_pair(blank(&small, &no_identity, 9), blank(&small, &seeded, 9), NULL, &pair, &error) && error.code == BLX_MISMATCH, "%s", error.message);
		blx_plan(BLX_SCALABLE, 100, 0.01, NULL, &other, NULL);
		CHECK(!blx_estimate_pair(blank(&other, &no_identity, 100), blank(&other, &no_identity, 100), NULL, &pair, &error) && error.code == BLX_UNSUPPORTED, "%s", error.message);
		release();
	}
}

int
main(void)
{
	random_seed(11);
	estimates();
	limits();
	return report();
}
