/*
 * words.c - loops over arrays of 64-bit words.
 *
 * Plain C that compilers vectorise.  Counting bits uses the processor's
 * instruction where there is one, chosen at run time; the result is the same.
 */
#include "core/layout.h"

static inline __attribute__((always_inline)) uint64_t
popcount_loop(const uint64_t *words, uint64_t n)
{
	uint64_t	total = 0;

	for (uint64_t i = 0; i < n; i++)
		total += (uint64_t) __builtin_popcountll(words[i]);
	return total;
}

#if defined(__x86_64__)

__attribute__((target("popcnt"))) static uint64_t
popcount_instruction(const uint64_t *words, uint64_t n)
{
	return popcount_loop(words, n);
}

uint64_t
blx_popcount(const uint64_t *words, uint64_t n)
{
	if (__builtin_cpu_supports("popcnt"))
		return popcount_instruction(words, n);
	return popcount_loop(words, n);
}

#else

uint64_t
blx_popcount(const uint64_t *words, uint64_t n)
{
	return popcount_loop(words, n);
}

#endif

void
blx_or_words(uint64_t *restrict dst, const uint64_t *restrict src, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] |= src[i];
}

void
blx_and_words(uint64_t *restrict dst, const uint64_t *restrict src, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] &= src[i];
}

/* Do a and b share a set bit? */
bool
blx_words_meet(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (a[i] & b[i])
			return true;
	return false;
}
