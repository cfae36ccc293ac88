/*
 * fuse.c - tests of many keys in a sealed filter, in plain C and with 512-bit
 * registers (fuse.h).
 *
 * A test reads four slots at random places of its block.  Of a large filter the
 * slots of all keys are fetched before the first is looked at; of one that is in a
 * cache fetching only costs (measured with AVX-512 in 1.1 MB: 3.6 ns per key without,
 * 5.8 with it; in 11 MB without it 1.3 times as long).
 */
#include "core/bloomx.h"
#include "core/kernels/fuse.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The size from which slots are fetched ahead. */
#define FETCHED_BYTES (UINT64_C(1) << 22)

static inline __attribute__((always_inline)) uint64_t
batch_of(const blx_fuse *shape, const uint64_t *hashes, unsigned n, unsigned slot_bits)
{
	uint64_t	slots[BLX_BATCH][BLX_FUSE_SLOTS],
				salted[BLX_BATCH],
				found = 0;

	if (shape->bytes < FETCHED_BYTES)
	{
		for (unsigned i = 0; i < n; i++)
			found |= (uint64_t) blx_fuse_has(shape, hashes[i], slot_bits) << i;
		return found;
	}
	for (unsigned i = 0; i < n; i++)
	{
		uint64_t	block = blx_fuse_block(shape, hashes[i]);

		salted[i] = hashes[i] * shape->salts[block];
		blx_fuse_slots(shape, salted[i], slots[i]);
		for (unsigned j = 0; j < shape->key_slots; j++)
		{
			slots[i][j] += block * shape->block_slots;
			__builtin_prefetch((const char *) shape->slots + slots[i][j] * slot_bits / 8, 0, 2);
		}
	}
	for (unsigned i = 0; i < n; i++)
	{
		uint64_t	sum = 0;

		for (unsigned j = 0; j < shape->key_slots; j++)
			sum ^= blx_slot_at(shape->slots, slots[i][j], slot_bits);
		found |= (uint64_t) blx_fuse_agrees(shape, sum, salted[i]) << i;
	}
	return found;
}

uint64_t
blx_fuse_batch_scalar(const blx_fuse *shape, const uint64_t *hashes, unsigned n)
{
	blx_fuse	usual = *shape;

	if (shape->key_slots != BLX_FUSE_SLOTS)
		return batch_of(shape, hashes, n, shape->slot_bits);
	usual.key_slots = BLX_FUSE_SLOTS;
	switch (shape->slot_bits)
	{
		case 8:
			return batch_of(&usual, hashes, n, 8);
		case 16:
			return batch_of(&usual, hashes, n, 16);
		default:
			return batch_of(&usual, hashes, n, shape->slot_bits);
	}
}

#if defined(__x86_64__)

/* See avx512.h. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("expensive-optimizations")
#endif

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2")))
#define LANES 8

/* blx_scale by an n below 2^32: h is high 2^32 + low, and h n / 2^64 is (high n + low n / 2^32) / 2^32, rounded down. */
TARGET static inline __attribute__((always_inline)) __m512i
scale_lanes(__m512i h, __m512i n)
{
	__m512i		low = _mm512_srli_epi64(_mm512_mul_epu32(h, n), 32);

	return _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(h, 32), n), low), 32);
}

/* The slots of eight keys: the bits at which they begin, and what the lowest bits of their sum must be. */
typedef struct eight
{
	__m512i		bits[BLX_FUSE_SLOTS];
	__m512i		fingerprints;
} eight;

TARGET static inline __attribute__((always_inline)) eight
slots_of_eight(const blx_fuse *shape, __m512i hashes)
{
	const __m512i slot_bits = _mm512_set1_epi64(shape->slot_bits),
				within = _mm512_set1_epi64((INT64_C(1) << shape->segment) - 1);
	__m512i		block = scale_lanes(hashes, _mm512_set1_epi64((long long) shape->blocks)),
				salted = _mm512_mullo_epi64(hashes, _mm512_i64gather_epi64(block, shape->salts, 8)),
				first = scale_lanes(salted, _mm512_set1_epi64((long long) shape->first_slots)),
				/* a product below 2^32 of blocks and slots would not do for slots of one bit */
				base = _mm512_mullo_epi64(_mm512_mul_epu32(block, _mm512_set1_epi64((long long) shape->block_slots)), slot_bits),
				offset = salted;
	/* all others are zero: gcc 16 cannot know that slots without a number are not read */
	eight		e = {.fingerprints = hashes};

	e.bits[0] = _mm512_add_epi64(base, _mm512_mul_epu32(first, slot_bits));
	for (unsigned i = 1; i < shape->key_slots; i++)
	{
		first = _mm512_add_epi64(first, _mm512_set1_epi64(INT64_C(1) << shape->segment));
		e.bits[i] = _mm512_add_epi64(base, _mm512_mul_epu32(_mm512_xor_si512(first, _mm512_and_si512(offset, within)), slot_bits));
		offset = _mm512_srl_epi64(offset, _mm_cvtsi64_si128(shape->segment));
	}
	e.fingerprints = _mm512_srli_epi64(_mm512_mullo_epi64(salted, _mm512_set1_epi64((long long) UINT64_C(0x9E3779B97F4A7C15))), 32);
	return e;
}

/* The slots at those bits, with other bits above them, by loads of four bytes if that is enough. */
TARGET static inline __attribute__((always_inline)) __m512i
gather_slots(const blx_fuse *shape, __m512i bits)
{
	const __m512i byte = _mm512_srli_epi64(bits, 3),
				shift = _mm512_and_si512(bits, _mm512_set1_epi64(7));

	if (shape->slot_bits <= 25)
		return _mm512_srlv_epi64(_mm512_cvtepu32_epi64(_mm512_i64gather_epi32(byte, shape->slots, 1)), shift);
	return _mm512_srlv_epi64(_mm512_i64gather_epi64(byte, shape->slots, 1), shift);
}

TARGET static inline __attribute__((always_inline)) uint64_t
batch_of_eights(const blx_fuse *shape, const uint64_t *hashes, unsigned n)
{
	const unsigned fingerprint_bits = shape->slot_bits - shape->value_bits;
	const __m512i mask = _mm512_set1_epi64((INT64_C(1) << fingerprint_bits) - 1);
	const __m128i value_bits = _mm_cvtsi64_si128(shape->value_bits);
	bool		fetch = shape->bytes >= FETCHED_BYTES;
	eight		keys[BLX_BATCH / LANES];
	uint64_t	found = 0;

	/* Lanes beyond the last key test the hash 0, and are left out of the answer. */
	for (unsigned i = 0; i < n; i += LANES)
	{
		__mmask8	lanes = n - i >= LANES ? 0xff : (__mmask8) ((1u << (n - i)) - 1);
		eight	   *e = &keys[i / LANES];

		*e = slots_of_eight(shape, _mm512_maskz_loadu_epi64(lanes, hashes + i));
		for (unsigned j = 0; fetch && j < shape->key_slots; j++)
		{
			uint64_t	bits[LANES];

			_mm512_storeu_si512(bits, e->bits[j]);
			for (unsigned lane = 0; lane < LANES; lane++)
				__builtin_prefetch((const char *) shape->slots + bits[lane] / 8, 0, 2);
		}
	}
	for (unsigned i = 0; i < n; i += LANES)
	{
		const eight *e = &keys[i / LANES];
		__m512i		sum = _mm512_setzero_si512();

		for (unsigned j = 0; j < shape->key_slots; j++)
			sum = _mm512_xor_si512(sum, gather_slots(shape, e->bits[j]));
		sum = _mm512_xor_si512(_mm512_srl_epi64(sum, value_bits), e->fingerprints);
		found |= (uint64_t) _mm512_testn_epi64_mask(sum, mask) << i;
	}
	return n == BLX_BATCH ? found : blx_lowest_bits(found, n);
}

TARGET uint64_t
blx_fuse_batch_avx512(const blx_fuse *shape, const uint64_t *hashes, unsigned n)
{
	blx_fuse	usual = *shape;

	if (shape->key_slots != BLX_FUSE_SLOTS)
		return batch_of_eights(shape, hashes, n);
	usual.key_slots = BLX_FUSE_SLOTS;
	return batch_of_eights(&usual, hashes, n);
}

#endif
