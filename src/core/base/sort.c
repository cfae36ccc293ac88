/*
 * sort.c - 64-bit values in ascending order, in place.
 *
 * The values may be hostile: a comparison sort of the C library's may take
 * quadratic time, or memory.
 */
#include <string.h>

#include "core/base/sort.h"

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
 * By one byte of the values after another, from the top: each value is swapped
 * into the heap of its byte until every heap is complete ("American flag
 * sort": McIlroy, Bostic, McIlroy 1993).
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
	for (uint64_t i = 1; i < n; i++)
		differing |= value_at(values, i) ^ value_at(values, 0);
	if (differing == 0)
		return;
	shift = (63 - (unsigned) __builtin_clzll(differing)) / 8 * 8;	/* of the first byte that is not the same in all */
	for (uint64_t i = 0; i < n; i++)
		ends[value_at(values, i) >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++)
	{
		next[b] = first;
		first = ends[b] += first;
	}
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
	for (unsigned b = 0; shift > 0 && b < 256; b++)
	{
		first = b == 0 ? 0 : ends[b - 1];
		blx_sort_values(values + 8 * first, ends[b] - first);
	}
}
