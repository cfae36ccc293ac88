/*
 * test_soak.c - 10^8 events through a sliding window (make soak).
 *
 * One event in eight repeats a key of the window, of any age: it must be found.
 * The other events have new keys.  Those that are found are false positives.
 * At every moment the rate of the filter is known exactly from its bits
 * (blx_fpr).  So the number of false positives is a sum of independent trials
 * with known probabilities.  Every SAMPLE-th of these is evaluated.
 */
#include <time.h>

#include "filters.h"

#define EVENTS UINT64_C(100000000)
#define WINDOW UINT64_C(1000000)
#define SAMPLE 50021			/* a prime, so that it meets every phase of a generation */

static void
soak(double fpr)
{
	uint64_t   *recent = take(8 * WINDOW);
	uint64_t	duplicates = 0,
				lost = 0,
				new_keys = 0,
				found = 0,
				samples = 0;
	double		rates = 0,
				mean,
				started = (double) clock();
	blx_geometry g;
	blx_filter *f;
	blx_error	error;

	if (!CHECK(blx_plan(BLX_AGE_PARTITIONED, WINDOW, fpr, NULL, &g, &error), "%s", error.message))
		return;
	f = blank(&g, &no_identity, WINDOW);
	for (uint64_t event = 0; event < EVENTS; event++)
	{
		uint64_t	hash;
		bool		answer;

		if (event >= WINDOW && one_in(8))
		{
			hash = recent[random_between(event - WINDOW, event - 1) % WINDOW];
			duplicates++;
			lost += !blx_test(f, hash);
		}
		else
		{
			hash = blx_hash_int64(event, 1);
			answer = blx_test(f, hash);
			if (event >= 3 * WINDOW)	/* all slices are in use */
			{
				new_keys++;
				found += answer;
				if (new_keys % SAMPLE == 0)
				{
					samples++;
					rates += blx_fpr(f);
				}
			}
		}
		blx_add(f, &hash, 1);
		recent[event % WINDOW] = hash;
	}
	mean = rates / (double) samples;
	note("rate %g: k = %u, l = %u, %.2f bits per key of the window, %.0f ns per event", fpr, blx_k(&g), g.parts - blx_k(&g),
		 (double) blx_bits(&g) / WINDOW, ((double) clock() - started) / CLOCKS_PER_SEC * 1e9 / EVENTS);
	note("%" PRIu64 " duplicates, %" PRIu64 " lost; %" PRIu64 " new keys, found %.6e, by the bits %.6e (%+.2f sigma), bound %.6e",
		 duplicates, lost, new_keys, (double) found / (double) new_keys, mean,
		 ((double) found - mean * (double) new_keys) / sqrt(mean * (double) new_keys), blx_fpr_planned(&g, WINDOW));
	CHECK(lost == 0, "%" PRIu64 " keys of the window were lost", lost);
	CHECK(fabs((double) found - mean * (double) new_keys) < 4 * sqrt(mean * (double) new_keys), "%g, not %g", (double) found / (double) new_keys, mean);
	CHECK((double) found / (double) new_keys < blx_fpr_planned(&g, WINDOW), "above the bound");
	release();
}

int
main(void)
{
	random_seed(2020);
	TEST("10^8 events: every duplicate within the window is found, at 1 %")
		soak(0.01);
	return report();
}
