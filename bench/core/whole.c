/*
 * whole.c - the speed of operations on whole filters, in bytes per second, beside
 * that of memcpy and of reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/filter/filter.h"

enum
{
	COPY, READ, UNION, INTERSECTION, DISJOINT, COUNT, FOLD, EXPAND, MASK, RATE, WHOLES
};

/* Memory traffic as a multiple of the filter's size; memcpy may or may not read what it overwrites. */
static const struct
{
	const char *name;
	double		read,
				written;
	int			yardstick;
}			wholes[WHOLES] = {
	[COPY] = {"memcpy", 1, 1, COPY},
	[READ] = {"read", 1, 0, READ},
	[UNION] = {"union in place (blx_or_into)", 2, 1, COPY},
	[INTERSECTION] = {"intersection in place (blx_and_into)", 2, 1, COPY},
	[DISJOINT] = {"disjoint, to the end (blx_disjoint)", 2, 0, READ},
	[COUNT] = {"count bits (blx_bits_set)", 1, 0, READ},
	[FOLD] = {"fold in half", 1.5, 0.5, COPY},
	[EXPAND] = {"expand a half, union", 1.5, 1, COPY},
	[MASK] = {"expand a half, intersection", 1.5, 1, COPY},
	[RATE] = {"exact rate (blx_fpr)", 1, 0, READ},
};

/* Eight sums, so that no addition waits for another. */
__attribute__((noinline)) static uint64_t
read_words(const uint64_t *words, uint64_t n)
{
	typedef uint64_t four __attribute__((vector_size(32)));
	const four *v = (const void *) words;
	four		sums[8] = {{0}};

	for (uint64_t i = 0; i < n / 4; i += 8)
		for (int j = 0; j < 8; j++)
			sums[j] |= v[i + (uint64_t) j];
	for (int j = 1; j < 8; j++)
		sums[0] |= sums[j];
	return sums[0][0] | sums[0][1] | sums[0][2] | sums[0][3];
}

#if defined(__x86_64__)
__attribute__((noinline, target("avx2"))) static uint64_t
read_words_avx2(const uint64_t *words, uint64_t n)
{
	typedef uint64_t four __attribute__((vector_size(32)));
	const four *v = (const void *) words;
	four		a = {0},
				b = {0},
				c = {0},
				d = {0};

	for (uint64_t i = 0; i < n / 4; i += 4)
	{
		a |= v[i];
		b |= v[i + 1];
		c |= v[i + 2];
		d |= v[i + 3];
	}
	a |= b | c | d;
	return a[0] | a[1] | a[2] | a[3];
}
#endif

static uint64_t
read_all(const blx_filter *f, uint64_t n)
{
#if defined(__x86_64__)
	if (runs_here(BLX_SIMD_AVX2))
		return read_words_avx2(blx_cwords(f), n);
#endif
	return read_words(blx_cwords(f), n);
}

/* A filter whose words begin at a cache line. */
static blx_filter *
whole_filter(const blx_geometry *g, char **memory)
{
	blx_identity id = {.key_type = BLX_KEY_HASH};
	blx_filter *f;

	*memory = big_alloc(blx_bytes(g, 0) + 128);
	f = (blx_filter *) (void *) (*memory + 64 - sizeof(blx_filter));
	blx_init(f, g, &id, 0);
	return f;
}

static void
run_whole(int what, blx_filter *a, const blx_filter *b, blx_filter *half, const blx_filter *zeros, uint64_t bytes)
{
	blx_error	error;
	bool		certain = false;

	switch (what)
	{
		case COPY:
			memcpy(blx_words(a), blx_cwords(b), bytes);
			__asm__ volatile ("":::"memory");
			break;
		case READ:
			sink += read_all(b, bytes / 8);
			break;
		case UNION:
			blx_or_into(a, b);
			break;
		case INTERSECTION:
			blx_and_into(a, b);
			break;
		case DISJOINT:
			if (!blx_disjoint(zeros, b, &certain, &error) || !certain)
				die(&error);
			break;
		case COUNT:
			sink += blx_bits_set(b);
			break;
		case FOLD:
			blx_or_into(half, b);
			break;
		case EXPAND:
			blx_or_into(a, half);
			break;
		case MASK:
			blx_and_into(a, half);
			break;
		default:
			sink += blx_fpr(b) > 0.5;
	}
}

/*
 * True if filters of the layout have the operation: counters have no
 * intersection, and flat filters are disjoint if one part is, so that comparing
 * them does not go to the end.
 */
static bool
has_operation(uint8_t layout, int what)
{
	switch (what)
	{
		case INTERSECTION:
		case MASK:
			return layout != BLX_COUNTING;
		case DISJOINT:
			return layout != BLX_PARTITIONED;
		default:
			return true;
	}
}

static void
one_filter(uint8_t layout, uint64_t bytes)
{
	static double ns[BLX_SIMD_PATHS][WHOLES][MAX_ROUNDS];
	uint64_t	cells = layout == BLX_COUNTING ? bytes / 4 : bytes;	/* in bytes: counters have four bits */
	blx_geometry g = of_bits(layout, cells, 8),
				g_half = of_bits(layout, cells / 2, 8);
	char	   *memory[4];
	blx_filter *a = whole_filter(&g, &memory[0]),
			   *b = whole_filter(&g, &memory[1]),
			   *half = whole_filter(&g_half, &memory[2]),
			   *zeros = whole_filter(&g, &memory[3]);
	int			repeat = bytes < (1 << 22) ? (int) ((1 << 22) / bytes) : 1;

	for (uint64_t i = 0; i < cells / 2; i++)
	{
		uint64_t	hash = random_hash(i);

		blx_add(i % 2 ? a : b, &hash, 1);
	}
	for (int r = 0; r < rounds; r++)
		for (int what = 0; what < WHOLES; what++)
			for (enum blx_simd_path path = BLX_SIMD_SCALAR; path < BLX_SIMD_PATHS; path++)
			{
				double		start;

				if (!runs_here(path) || !has_operation(layout, what))
					continue;
				blx_simd_set(path);
				run_whole(what, a, b, half, zeros, bytes);
				start = now();
				for (int i = 0; i < repeat; i++)
					run_whole(what, a, b, half, zeros, bytes);
				ns[path][what][r] = (now() - start) / repeat;
			}
	for (int what = 0; what < WHOLES; what++)
		for (enum blx_simd_path path = BLX_SIMD_SCALAR; path < BLX_SIMD_PATHS; path++)
		{
			double		moved = wholes[what].read + wholes[what].written;
			int			yardstick = wholes[what].yardstick;
			double		(*mine)[MAX_ROUNDS] = ns[path];
			bool		ours = yardstick != what;

			if (!runs_here(path) || !has_operation(layout, what) || (!ours && path > BLX_SIMD_SCALAR))
				continue;
			printf("| %s | %llu KB | %s%s%s | %.1f | %.1f |", blx_layout_name(layout), (unsigned long long) (bytes >> 10), wholes[what].name,
				   ours ? ", " : "", ours ? path_names[path] : "",
				   (double) bytes / median(mine[what], rounds), moved * (double) bytes / median(mine[what], rounds));
			if (ours)
				printf(" %.2f | %.2f %s |\n", median_ratio(mine[what], mine[yardstick], rounds),
					   moved / (wholes[yardstick].read + wholes[yardstick].written) * median_ratio(mine[yardstick], mine[what], rounds),
					   wholes[yardstick].name);
			else
				printf(" | |\n");
		}
	fflush(stdout);
	for (int i = 0; i < 4; i++)
		free(memory[i]);
}


void
whole_filters(const uint8_t *layouts, size_t n_layouts, const uint64_t *sizes, int n_sizes)
{
	if (!print_title("Whole filters"))
		return;
	printf("Medians of %d rounds.\n\n"
		   "| layout | size | operation | GB/s of one filter's size | GB/s read and written | time / yardstick's | share of the bandwidth of |\n"
		   "|---|---|---|---|---|---|---|\n", rounds);
	for (size_t l = 0; l < n_layouts; l++)
		for (int i = 0; i < n_sizes; i++)
			if (n_sizes == 1 || sizes[i] < 256 << 20)	/* beyond the caches the time per byte no longer changes */
				one_filter(layouts[l], sizes[i]);
}
