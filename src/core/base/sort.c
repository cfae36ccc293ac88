/*
 * sort.c - sorts 64-bit values in ascending order, in place.
 *
 * A radix sort, because the values may be chosen by an adversary and the
 * function must not allocate: the C library's qsort may take quadratic time or
 * allocate memory.  The order of equal values is not kept; nothing can tell
 * them apart.
 */
#include <string.h>

#include "core/base/base.h"

static inline uint64_t
value_at(const uint8_t *values, uint64_t i)
{
	uint64_t	value;

	memcpy(&value, values + 8 * i, 8);
	return value;
}

static inline void
put_value(uint8_t *values, uint64_t i, uint64_t value)
{
	memcpy(values + 8 * i, &value, 8);
}

/*
 * Up to this number of values are sorted by insertion.  A radix pass walks
 * through 256 counters whatever n is; insertion moves n^2/4 values on average,
 * which is 256 for n = 32.
 */
#define FEW_VALUES 32

static void
sort_few(uint8_t *values, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
	{
		uint64_t	value = value_at(values, i),
					j = i;

		for (; j > 0 && value_at(values, j - 1) > value; j--)
			put_value(values, j, value_at(values, j - 1));
		put_value(values, j, value);
	}
}

/*
 * Sorts by one byte at a time, from the top ("American flag sort": McIlroy,
 * Bostic, McIlroy 1993).  Each value is swapped into the heap of its byte until
 * every heap is complete; then each heap is sorted by the bytes below.  The
 * recursion is at most 8 deep, since each level uses up one byte.
 */
void
blx_sort_values(uint8_t *values, uint64_t n)
{
	uint64_t	ends[256] = {0},
				next[256],
				first = 0,
				differing = 0;
	unsigned	shift;

	if (n <= FEW_VALUES)
	{
		sort_few(values, n);
		return;
	}

	/* Find the highest byte in which the values differ. */
	for (uint64_t i = 1; i < n; i++)
		differing |= value_at(values, i) ^ value_at(values, 0);
	if (differing == 0)
		return;
	shift = (63 - (unsigned) __builtin_clzll(differing)) / 8 * 8;

	/* Count the values of each heap, and turn the counts into where the heaps begin and end. */
	for (uint64_t i = 0; i < n; i++)
		ends[value_at(values, i) >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++)
	{
		next[b] = first;
		first = ends[b] += first;
	}

	/* Carry each misplaced value to its heap and take along the value that was there, until one belongs here. */
	for (unsigned b = 0; b < 256; b++)
		while (next[b] < ends[b])
		{
			uint64_t	value = value_at(values, next[b]);
			unsigned	heap;

			while ((heap = value >> shift & 255) != b)
			{
				uint64_t	other = value_at(values, next[heap]);

				put_value(values, next[heap]++, value);
				value = other;
			}
			put_value(values, next[b]++, value);
		}

	/* Sort each heap by the bytes below. */
	for (unsigned b = 0; shift > 0 && b < 256; b++)
	{
		first = b == 0 ? 0 : ends[b - 1];
		blx_sort_values(values + 8 * first, ends[b] - first);
	}
}
