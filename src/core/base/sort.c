/*
 * sort.c - sorts 64-bit values, or pairs that begin with one, in ascending order, in place.
 *
 * A radix sort, because the values may be chosen by an adversary and the
 * function must not allocate: the C library's qsort may take quadratic time or
 * allocate memory.  The order of equal values is not kept; nothing can tell
 * them apart.
 */
#include <string.h>

#include "core/base/base.h"

/* What is sorted: a value, of 8 bytes, or of 16 of which the first 8 count. */
typedef struct item
{
	uint64_t	value;
	uint64_t	rest;
} item;

static inline uint64_t
value_at(const uint8_t *items, unsigned width, uint64_t i)
{
	uint64_t	value;

	memcpy(&value, items + width * i, 8);
	return value;
}

static inline item
item_at(const uint8_t *items, unsigned width, uint64_t i)
{
	item		it = {0};

	memcpy(&it, items + width * i, 8);
	if (width > 8)
		memcpy(&it.rest, items + width * i + 8, 8);
	return it;
}

static inline void
put_item(uint8_t *items, unsigned width, uint64_t i, item it)
{
	memcpy(items + width * i, &it.value, 8);
	if (width > 8)
		memcpy(items + width * i + 8, &it.rest, 8);
}

/*
 * Up to this number of values are sorted by insertion.  A radix pass walks
 * through 256 counters whatever n is; insertion moves n^2/4 values on average,
 * which is 256 for n = 32.
 */
#define FEW_VALUES 32

static inline __attribute__((always_inline)) void
sort_few(uint8_t *items, unsigned width, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
	{
		item		it = item_at(items, width, i);
		uint64_t	j = i;

		for (; j > 0 && value_at(items, width, j - 1) > it.value; j--)
			put_item(items, width, j, item_at(items, width, j - 1));
		put_item(items, width, j, it);
	}
}

/*
 * Sorts by one byte at a time, from the top ("American flag sort": McIlroy,
 * Bostic, McIlroy 1993).  Each value is swapped into the heap of its byte until
 * every heap is complete; then each heap is sorted by the bytes below.  The
 * recursion is at most 8 deep, since each level uses up one byte.
 */
static void
sort(uint8_t *items, unsigned width, uint64_t n, void (*poll) (void))
{
	uint64_t	ends[256] = {0},
				next[256],
				first = 0,
				differing = 0;
	unsigned	shift;

	if (n <= FEW_VALUES)
	{
		sort_few(items, width, n);
		return;
	}

	/* Find the highest byte in which the values differ. */
	for (uint64_t i = 1; i < n; i++)
		differing |= value_at(items, width, i) ^ value_at(items, width, 0);
	if (differing == 0)
		return;
	shift = (63 - (unsigned) __builtin_clzll(differing)) / 8 * 8;

	/* Count the values of each heap, and turn the counts into where the heaps begin and end. */
	for (uint64_t i = 0; i < n; i++)
		ends[value_at(items, width, i) >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++)
	{
		next[b] = first;
		first = ends[b] += first;
	}

	/* Carry each misplaced value to its heap and take along the value that was there, until one belongs here. */
	for (unsigned b = 0; b < 256; b++)
		while (next[b] < ends[b])
		{
			item		it = item_at(items, width, next[b]);
			unsigned	heap;

			while ((heap = it.value >> shift & 255) != b)
			{
				item		other = item_at(items, width, next[heap]);

				put_item(items, width, next[heap]++, it);
				it = other;
			}
			put_item(items, width, next[b]++, it);
		}

	/* Sort each heap by the bytes below. */
	for (unsigned b = 0; shift > 0 && b < 256; b++)
	{
		first = b == 0 ? 0 : ends[b - 1];
		sort(items + width * first, width, ends[b] - first, NULL);
		if (poll != NULL)
			poll();
	}
}

void
blx_sort_values(uint8_t *values, uint64_t n)
{
	if (n <= FEW_VALUES)
		sort_few(values, 8, n); /* compiled for this width: rows of an index have few keys */
	else
		sort(values, 8, n, NULL);
}

void
blx_sort_pairs(uint8_t *pairs, uint64_t n, void (*poll) (void))
{
	sort(pairs, 16, n, poll);
}
