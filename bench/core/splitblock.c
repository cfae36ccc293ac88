/*
 * splitblock.c - see splitblock.h.
 */
#include "splitblock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const uint32_t salt[8] __attribute__((aligned(32))) = {
	0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
	0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U
};

static inline uint64_t
block_of(const splitblock *f, uint64_t hash)
{
	return (uint64_t) (((unsigned __int128) hash * f->blocks) >> 64);
}

static void
add_portable(splitblock *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint32_t   *block = f->words + 8 * block_of(f, hashes[i]);

		for (int j = 0; j < 8; j++)
			block[j] |= UINT32_C(1) << (((uint32_t) hashes[i] * salt[j]) >> 27);
	}
}

static bool
test_portable(const splitblock *f, uint64_t hash)
{
	const uint32_t *block = f->words + 8 * block_of(f, hash);
	uint32_t	all = 1;

	for (int j = 0; j < 8; j++)
		all &= block[j] >> (((uint32_t) hash * salt[j]) >> 27);
	return all & 1;
}

static uint64_t
test_batch_portable(const splitblock *f, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) test_portable(f, hashes[i]) << i;
	return found;
}

void		(*splitblock_add) (splitblock *f, const uint64_t *hashes, size_t n) = add_portable;
bool		(*splitblock_test) (const splitblock *f, uint64_t hash) = test_portable;
uint64_t	(*splitblock_test_batch) (const splitblock *f, const uint64_t *hashes, unsigned n) = test_batch_portable;

#if defined(__x86_64__)

__attribute__((target("avx2"))) static inline __m256i
mask_of(uint64_t hash)
{
	__m256i		h = _mm256_set1_epi32((int) (uint32_t) hash);

	h = _mm256_mullo_epi32(h, _mm256_load_si256((const __m256i *) salt));
	return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(h, 27));
}

__attribute__((target("avx2"))) static void
add_avx2(splitblock *f, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		__m256i    *block = (__m256i *) f->words + block_of(f, hashes[i]);

		_mm256_store_si256(block, _mm256_or_si256(_mm256_load_si256(block), mask_of(hashes[i])));
	}
}

__attribute__((target("avx2"))) static bool
test_avx2(const splitblock *f, uint64_t hash)
{
	const __m256i *block = (const __m256i *) f->words + block_of(f, hash);

	return _mm256_testc_si256(_mm256_load_si256(block), mask_of(hash));
}

__attribute__((target("avx2"))) static uint64_t
test_batch_avx2(const splitblock *f, const uint64_t *hashes, unsigned n)
{
	uint64_t	found = 0;

	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) test_avx2(f, hashes[i]) << i;
	return found;
}

#endif

const char *
splitblock_choose(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
	{
		splitblock_add = add_avx2;
		splitblock_test = test_avx2;
		splitblock_test_batch = test_batch_avx2;
		return "avx2";
	}
#endif
	return "portable";
}
