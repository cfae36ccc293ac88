/*
 * test_library.c - the library as bloomx.h offers it: memory from the caller,
 * every value of every argument, and kernels that many threads choose at once.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "filters.h"

/* ---- kernels ---- */

#define THREADS 16

static blx_filter *shared;
static uint64_t shared_hashes[256];
static pthread_barrier_t start;

/* Its first call is the process's first, or comes while another thread makes that. */
static void *
test_all(void *arg)
{
	uintptr_t	lost = 0;

	(void) arg;
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < 256; i++)
		lost += !blx_test(shared, shared_hashes[i]);
	for (unsigned i = 0; i < 256; i += BLX_BATCH)
		lost += blx_test_batch(shared, shared_hashes + i, BLX_BATCH) != ~UINT64_C(0);
	return (void *) lost;
}

/* The bits of the default layout, set by hand: adding would choose the kernels before the threads do. */
static void
set_bits(blx_filter *f, uint64_t hash)
{
	uint64_t	mixed = hash * UINT64_C(0x9E3779B97F4A7C15);

	for (unsigned j = 0; j < f->parts; j++)
		blx_words(f)[j] |= UINT64_C(1) << (mixed >> (58 - 6 * j) & 63);
}

static void
first_calls(void)
{
	pthread_t	threads[THREADS];
	blx_geometry g = {.layout = BLX_PARTITIONED_BLOCKED, .blocks = 1, .parts = 8, .probes = 1, .part_bits = 64};
	const blx_identity id = {0};

	TEST("kernels: threads that call for the first time at once all find their keys")
	{
		shared = blx_new(&g, &id, 0, NULL, NULL);
		for (unsigned i = 0; i < 256; i++)
		{
			shared_hashes[i] = blx_hash(&i, sizeof i, 0);
			set_bits(shared, shared_hashes[i]);
		}
		pthread_barrier_init(&start, NULL, THREADS);
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(pthread_create(&threads[i], NULL, test_all, NULL) == 0, "thread %u", i);
		for (unsigned i = 0; i < THREADS; i++)
		{
			void	   *lost;

			pthread_join(threads[i], &lost);
			CHECK((uintptr_t) lost == 0, "thread %u lost keys", i);
		}
		blx_free(shared, NULL);
	}
}

/* ---- memory ---- */

/* Counts what is out, and gives nothing after `left` allocations. */
typedef struct counted
{
	int			left;
	int			out;
} counted;

static void *
counted_alloc(void *arg, size_t bytes)
{
	counted    *c = arg;

	if (c->left == 0)
		return NULL;
	c->left--;
	c->out++;
	return memset(malloc(bytes), 0xa5, bytes);
}

static void
counted_free(void *arg, void *memory)
{
	((counted *) arg)->out--;
	free(memory);
}

/*
 * Builds two sets of n keys, finishes, unites, intersects, shrinks, exports and
 * imports.  False when the memory ended before all was done.
 */
static bool
use_memory(const blx_memory *memory, unsigned n)
{
	const blx_identity id = {.seed = 7, .key_type = BLX_KEY_INTEGER};
	blx_error	error = {BLX_OK, "", "", ""};
	blx_filter *made[8] = {NULL};
	unsigned	count = 0;
	bool		done = false;

	for (unsigned s = 0; s < 2; s++)
	{
		blx_filter *open = blx_open(NULL, &id, 0, memory, &error);
		bool		grown = open != NULL;

		for (uint64_t key = 0; grown && key < n; key++)
		{
			uint64_t	hash = blx_hash_int64(key + s * n / 2, id.seed);

			grown = blx_grow_add(&open, &hash, 1, memory, &error);
		}
		made[count++] = grown ? blx_finish(open, 0.01, memory, &error) : NULL;
		blx_free(open, memory);
		if (made[count - 1] == NULL)
			goto end;
	}
	if ((made[count++] = blx_unite(made[0], made[1], memory, &error)) == NULL ||
		(made[count++] = blx_intersect(made[0], made[1], memory, &error)) == NULL ||
		(made[count++] = blx_shrink(made[0], 0.2, memory, &error)) == NULL ||
		(made[count++] = blx_prefix(made[0], 3, memory, &error)) == NULL ||
		(made[count++] = blx_fold(made[0], 1, memory, &error)) == NULL)
		goto end;
	{
		uint8_t    *bytes = malloc(blx_export_bytes(made[2]));

		blx_export(made[2], bytes);
		made[count++] = blx_import(bytes, blx_export_bytes(made[2]), memory, &error);
		free(bytes);
		if (made[count - 1] == NULL)
			goto end;
	}
	for (uint64_t key = 0; key < n + n / 2; key++)
	{
		uint64_t	hash = blx_hash_int64(key, id.seed);

		CHECK(blx_test(made[2], hash) && blx_test(made[7], hash), "key %" PRIu64 " of the union", key);
		if (key < n)
			CHECK(blx_test(made[0], hash) && blx_test(made[4], hash) && blx_test(made[5], hash) && blx_test(made[6], hash), "key %" PRIu64, key);
		if (key >= n / 2 && key < n)
			CHECK(blx_test(made[3], hash), "key %" PRIu64 " of both", key);
	}
	CHECK(blx_compare(made[2], made[7]) == 0, "what was imported is what was exported");
	done = true;
end:
	if (!done)
		CHECK(error.code == BLX_NO_MEMORY, "%s", error.message);
	for (unsigned i = 0; i < count; i++)
		blx_free(made[i], memory);
	return done;
}

static void
memory(void)
{
	TEST("memory: malloc where none is given; of the caller's all is given back, wherever it ends")
	{
		CHECK(use_memory(NULL, 10000), "malloc");
		for (int left = 0;; left++)
		{
			counted		c = {.left = left};
			const blx_memory from = {counted_alloc, counted_free, &c};
			bool		done = use_memory(&from, 10000);

			CHECK(c.out == 0, "%d filters are lost after %d", c.out, left);
			if (done)
			{
				note("%d allocations", left);
				break;
			}
		}
	}
}

/* ---- arguments ---- */

static void
arguments(void)
{
	static const double numbers[] = {0, 1, -1, 0.5, 1e-300, 1e300, 63.5, 64, 65};
	blx_error	error;

	TEST("arguments: every layout, capacity, rate, bits and k gives a geometry or an error")
	for (unsigned layout = 0; layout < 256; layout++)
		for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0] + 3; i++)
		{
			static const uint64_t capacities[] = {0, 1, 1000, INT64_MAX, UINT64_MAX};
			static const int64_t bits[] = {INT64_MIN, -1, 0, 1, 64, 5000, INT64_MAX};
			double		x = i < sizeof numbers / sizeof numbers[0] ? numbers[i] : i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
			blx_geometry g;

			for (unsigned c = 0; c < sizeof capacities / sizeof capacities[0]; c++)
			{
				error.message[0] = '\0';
				if (!blx_plan((uint8_t) layout, capacities[c], x, NULL, &g, &error))
					CHECK(error.message[0] != '\0' && error.code != BLX_OK, "layout %u, %" PRIu64 ", %g", layout, capacities[c], x);
				else
					CHECK(blx_fpr_planned(&g, capacities[c]) <= x && blx_bytes(&g, 0) <= BLX_MAX_BYTES, "layout %u, %" PRIu64 ", %g", layout, capacities[c], x);
			}
			for (unsigned b = 0; b < sizeof bits / sizeof bits[0]; b++)
			{
				error.message[0] = '\0';
				if (!blx_plan_bits((uint8_t) layout, bits[b], x, NULL, &g, &error))
					CHECK(error.message[0] != '\0' && error.code != BLX_OK, "layout %u, %" PRId64 " bits, %g", layout, bits[b], x);
				else
					CHECK(blx_bytes(&g, 0) <= BLX_MAX_BYTES, "layout %u, %" PRId64 " bits, %g", layout, bits[b], x);
			}
		}

	TEST("arguments: an identity whose fields do not go together is refused")
	for (unsigned type = 0; type < 256; type++)
		for (unsigned length = 0; length < 256; length += 51)
		{
			static const char name[256] = "a name";
			const blx_identity id = {.key_type = (uint8_t) type, .name_len = (uint8_t) length, .name = name};
			blx_filter *open = blx_open(NULL, &id, 0, NULL, &error);
			bool		valid = type == BLX_KEY_NAMED ? length == 51 : length == 0 && (type <= BLX_KEY_BPCHAR || type == BLX_KEY_HASH);

			CHECK((open != NULL) == valid, "key type %u with a name of %u bytes", type, length);
			blx_free(open, NULL);
		}

	TEST("arguments: a filter is made only of a capacity that is accepted when the filter is read")
	for (unsigned i = 0; i < 4; i++)
	{
		static const uint64_t capacities[] = {0, INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX};
		const blx_identity id = {.key_type = BLX_KEY_TEXT};
		blx_geometry g;
		bool		valid = capacities[i] <= INT64_MAX,
					planned = blx_plan(BLX_PARTITIONED_BLOCKED, 1000, 0.01, NULL, &g, &error);
		blx_filter *f = planned ? blx_new(&g, &id, capacities[i], NULL, &error) : NULL,
				   *open = blx_open(NULL, &id, capacities[i], NULL, &error);

		CHECK((f != NULL) == valid && (open != NULL) == valid, "capacity %" PRIu64, capacities[i]);
		CHECK(valid || error.code == BLX_INVALID_PARAMETER, "%s", error.message);
		CHECK(!valid || (blx_check(f, blx_size(f), &error) && blx_check(open, blx_size(open), &error)), "%s", error.message);
		blx_free(f, NULL);
		blx_free(open, NULL);
	}

	TEST("arguments: the reason of an error may be left out")
	{
		const blx_identity id = {.key_type = BLX_KEY_TEXT};
		const uint8_t bytes[64] = {0};
		uint8_t		layout;
		blx_geometry g;
		blx_filter *open = blx_open(NULL, &id, 0, NULL, NULL);

		CHECK(!blx_plan(99, 1, 0.01, NULL, &g, NULL) && !blx_plan_bits(99, 1, 1, NULL, &g, NULL), "plan");
		CHECK(!blx_layout_by_name("none", &layout, NULL), "name");
		CHECK(blx_import(bytes, sizeof bytes, NULL, NULL) == NULL, "import");
		CHECK(blx_prefix(open, 1, NULL, NULL) == NULL && blx_fold(open, 1, NULL, NULL) == NULL && blx_shrink(open, 0.1, NULL, NULL) == NULL, "open set");
		CHECK(blx_finish(open, 2, NULL, NULL) == NULL && !blx_remove(open, NULL, 0, NULL, NULL), "open set");
		CHECK(!blx_simd_check((enum blx_simd_path) 77, NULL), "kernels");
		blx_free(open, NULL);
	}
}

int
main(void)
{
	first_calls();
	memory();
	arguments();
	return report();
}
