/*
 * test_blocked.c - blocks of any size: which bits a key sets, whether all bits
 * of a block are equally likely, and what can be planned.
 */
#include "exercise.h"

/* The positions as docs/internals/FORMAT.md defines them. */
static uint64_t
position_of(uint64_t key, uint64_t s, unsigned i)
{
	unsigned	b = 0,
				c;
	uint64_t	x;

	while (UINT64_C(1) << b < s)
		b++;
	if (UINT64_C(1) << b == s)	/* the first rule of the format: take bits from the top */
	{
		if (b == 0)
			return 0;
		c = 64 / b;
		x = blx_derive(key, 1 + i / c);
		return (x >> (64 - b * (i % c + 1))) & (s - 1);
	}
	c = 44 / b;
	x = blx_derive(key, 1 + i / c);
	for (unsigned j = 0; j < i % c; j++)
		x *= s;
	return blx_scale(x, s);
}

static void
positions(void)
{
	TEST("a key sets the bits of the definition, in blocks of any size; of powers of two, bits from the top of a hash")
	for (int round = 0; round < 4000; round++, release())
	{
		uint64_t	key = random64();
		blx_geometry g = random_geometry(BLX_BLOCKED);
		uint64_t   *words;
		blx_filter *f;

		if (round < 512)
			g.part_bits = (uint64_t) round + 1;
		f = built(&g, 0, &key, 1);
		words = take(8 * blx_body_words(&g));
		memset(words, 0, 8 * blx_body_words(&g));
		for (unsigned i = 0; i < g.probes; i++)
		{
			uint64_t	bit = position_of(key, g.part_bits, i);

			words[blx_scale(key, g.blocks) * ((g.part_bits + 63) / 64) + bit / 64] |= UINT64_C(1) << bit % 64;
		}
		CHECK(memcmp(words, blx_cwords(f), 8 * blx_body_words(&g)) == 0, "%s", describe(&g));
		CHECK(blx_test(f, key), "%s", describe(&g));
	}

	TEST("the largest blocks: 2^32 bits, and 2^32 - 1")
	for (uint64_t bits = UINT64_C(1) << 32; bits >= UINT32_MAX; bits--)
	{
		blx_geometry g = {BLX_BLOCKED, 1, 1, 6, bits};
		uint64_t	key = random64();
		blx_error	error;
		blx_filter *f;

		CHECK(blx_geometry_check(&g, &error), "%s", error.message);
		f = calloc(1, blx_bytes(&g, 0));
		f->layout = BLX_BLOCKED;
		f->blocks = 1;
		f->parts = 1;
		f->probes = 6;
		f->part_bits = bits;
		blx_add(f, &key, 1);
		for (unsigned i = 0; i < 6; i++)
			CHECK(blx_cwords(f)[position_of(key, bits, i) / 64] >> position_of(key, bits, i) % 64 & 1, "probe %u", i);
		CHECK(blx_test(f, key), "lost");
		free(f);
	}

	TEST("every position of a block is as likely as the others (chi-square, each probe of a hash for itself)")
	{
		static const uint64_t sizes[] = {3, 7, 100, 448, 512, 1000, 4095, 4096};

		for (size_t s = 0; s < LENGTH(sizes); s++)
			for (unsigned i = 0; i < 16; i++)
			{
				enum
				{
					KEYS = 200000
				};
				double		chi = 0,
							expected = KEYS / (double) sizes[s],
							freedom = (double) sizes[s] - 1;
				unsigned   *count = take(sizes[s] * sizeof *count);

				memset(count, 0, sizes[s] * sizeof *count);
				for (int key = 0; key < KEYS; key++)
					count[position_of(random64(), sizes[s], i)]++;
				for (uint64_t bit = 0; bit < sizes[s]; bit++)
					chi += (count[bit] - expected) * (count[bit] - expected) / expected;
				CHECK(fabs(chi - freedom) < 5 * sqrt(2 * freedom) + 5, "probe %u of %" PRIu64 " bits: %.1f of %.0f", i, sizes[s], chi, freedom);
				release();
			}
	}
}

static void
planning(void)
{
	blx_options options;
	blx_geometry g;
	blx_error	error;

	TEST("block_bits: by bits and by capacity, from one bit to 2^32; 512 if not given")
	{
		static const uint64_t sizes[] = {1, 3, 64, 100, 448, 512, 4096, 32768, 100003, 1 << 24};

		for (size_t s = 0; s < LENGTH(sizes); s++)
		{
			char		text[40];

			snprintf(text, sizeof text, "block_bits=%" PRIu64, sizes[s]);
			CHECK(blx_parse_options(BLX_BLOCKED, text, &options, &error), "%s", error.message);
			CHECK(blx_plan_bits(BLX_BLOCKED, 1 << 26, 5, &options, &g, &error) &&
				  g.part_bits == sizes[s] && g.blocks == (1 << 26) / sizes[s], "%s: %s", describe(&g), error.message);
			CHECK(blx_plan_bits(BLX_BLOCKED, (int64_t) sizes[s], 5, &options, &g, &error) && g.blocks == 1, "%s", describe(&g));
			CHECK(!blx_plan_bits(BLX_BLOCKED, (int64_t) sizes[s] - 1, 5, &options, &g, &error), "%s", describe(&g));
			for (double rate = 0.5; rate > 1e-4; rate /= 9)
			{
				bool		ok = blx_plan(BLX_BLOCKED, 20000, rate, &options, &g, &error);

				CHECK(ok || (sizes[s] <= 3 && error.code == BLX_LIMIT), "%" PRIu64 " bits at %g: %s", sizes[s], rate, error.message);
				CHECK(!ok || (g.part_bits == sizes[s] && blx_fpr_expected(&g, 20000) < rate), "%s", describe(&g));
			}
		}
		CHECK(blx_plan(BLX_BLOCKED, 20000, 0.01, NULL, &g, &error) && g.part_bits == 512, "%s", describe(&g));
		CHECK(!blx_parse_options(BLX_BLOCKED, "block_bits=0", &options, &error), "0");
		CHECK(!blx_parse_options(BLX_BLOCKED, "block_bits=4294967297", &options, &error), "2^32 + 1");
		CHECK(!blx_parse_options(BLX_BLOCKED, "block_bits=512.5", &options, &error), "512.5");
		CHECK(blx_parse_options(BLX_BLOCKED, "block_bits=1", &options, &error) &&
			  !blx_plan_bits(BLX_BLOCKED, INT64_C(1) << 32, 1, &options, &g, &error) && error.code == BLX_LIMIT, "2^32 blocks");
	}

	TEST("pages of 32768 bits need fewer bits than cache lines, and a standard filter fewer still")
	{
		uint64_t	bits[3];

		for (int i = 0; i < 3; i++)
		{
			uint8_t		layout = i == 0 ? BLX_STANDARD : BLX_BLOCKED;

			CHECK(blx_parse_options(layout, i == 1 ? "block_bits=32768" : "", &options, &error) &&
				  blx_plan(layout, 1000000, 1e-4, &options, &g, &error), "%s", error.message);
			bits[i] = blx_bits(&g);
			note("%s: %.3f bits per key", describe(&g), (double) bits[i] / 1e6);
		}
		CHECK(bits[0] < bits[1] && bits[1] < bits[2] && (double) bits[1] < 1.02 * (double) bits[0], "not in order");
	}
}

static void
rates(void)
{
	TEST("blocks of any size have the rate of the formula, by their bits and by probes, within 4 sigma")
	{
		static const blx_geometry cases[] = {
			{BLX_BLOCKED, 500, 1, 4, 100}, {BLX_BLOCKED, 500, 1, 5, 448}, {BLX_BLOCKED, 300, 1, 6, 1000},
			{BLX_BLOCKED, 37, 1, 3, 10}, {BLX_BLOCKED, 8, 1, 6, 32768}, {BLX_BLOCKED, 9, 1, 7, 30000},
		};

		for (size_t i = 0; i < LENGTH(cases); i++)
			measure_rate(&cases[i], (size_t) ((double) blx_bits(&cases[i]) / 10), 60, 20000);
	}
}

int
main(void)
{
	random_seed(3000000000);
	positions();
	planning();
	rates();
	return report();
}
