/*
 * fuse.h - where the slots of a key lie in a sealed filter, and the tests of many
 * keys (layouts/sealed/binary_fuse.c says what they mean).
 *
 * B blocks of S slots, a slot is P bits; a block is segments of L = 2^s slots.  A
 * key has one slot in each of H consecutive segments.  Whatever the words are, and
 * whatever the salts, every slot is one of the block.
 */
#ifndef BLX_FUSE_H
#define BLX_FUSE_H

#include <stdbool.h>
#include <string.h>

#include "core/base/hash.h"

#pragma GCC visibility push(hidden)

/* The most slots that a key has. */
#define BLX_FUSE_SLOTS 4

typedef struct blx_fuse
{
	const uint64_t *salts;		/* one for each block */
	const uint64_t *slots;		/* all slots, with a word of zeros after them */
	uint64_t	blocks;			/* B */
	uint64_t	block_slots;	/* S */
	uint64_t	first_slots;	/* S - (H - 1) L: where the first slot of a key may be */
	uint64_t	bytes;			/* of all slots */
	unsigned	segment;		/* s */
	unsigned	key_slots;		/* H */
	unsigned	slot_bits;		/* P */
	unsigned	value_bits;		/* v: the lowest bits of a slot; the others are the fingerprint */
} blx_fuse;

/* Bit i of the answer is the test of hash i; n is at most BLX_BATCH.  No filter without keys. */
extern uint64_t blx_fuse_batch_scalar(const blx_fuse *shape, const uint64_t *hashes, unsigned n);
#if defined(__x86_64__)
extern uint64_t blx_fuse_batch_avx512(const blx_fuse *shape, const uint64_t *hashes, unsigned n);
#endif

/* Returns the block of a hash. */
static inline uint64_t
blx_fuse_block(const blx_fuse *shape, uint64_t hash)
{
	return blx_scale(hash, shape->blocks);
}

/* Sets slots[0 .. H-1] to the numbers, in its block, of the slots of a salted hash. */
static inline __attribute__((always_inline)) void
blx_fuse_slots(const blx_fuse *shape, uint64_t salted, uint64_t *slots)
{
	uint64_t	first = blx_scale(salted, shape->first_slots),
				within = (UINT64_C(1) << shape->segment) - 1;

	slots[0] = first;
#pragma GCC unroll 4
	for (unsigned i = 1; i < shape->key_slots; i++)
		slots[i] = (first + ((uint64_t) i << shape->segment)) ^ (salted >> (i - 1) * shape->segment & within);
}

/* Returns the fingerprint of a salted hash: its lowest bits count, as many as a slot has. */
static inline uint64_t
blx_fuse_fingerprint(uint64_t salted)
{
	return salted * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

/* Returns the lowest `bits` bits, at most 63, of a word. */
static inline uint64_t
blx_lowest_bits(uint64_t word, unsigned bits)
{
	return word & ((UINT64_C(1) << bits) - 1);
}

/*
 * Returns slot number i, with other bits above it.  A load of
 * more bytes than it needs would cross the end of its cache line more often, and
 * nobody has fetched the next one.
 */
static inline __attribute__((always_inline)) uint64_t
blx_slot_at(const uint64_t *slots, uint64_t i, unsigned slot_bits)
{
	uint64_t	bit = i * slot_bits;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint8_t *byte = (const uint8_t *) slots + bit / 8;
	uint64_t	eight;
	uint32_t	four;
	uint16_t	two;

	if (slot_bits == 8)
		return ((const uint8_t *) slots)[i];
	if (slot_bits == 16)
	{
		memcpy(&two, (const uint8_t *) slots + 2 * i, sizeof two);
		return two;
	}
	if (slot_bits <= 25)
	{
		memcpy(&four, byte, sizeof four);
		return four >> bit % 8;
	}
	memcpy(&eight, byte, sizeof eight);
	return eight >> bit % 8;
#else
	const uint64_t *word = slots + bit / 64;

	return word[0] >> bit % 64 | word[1] << 1 << (63 - bit % 64);
#endif
}

/* Writes a slot, which is 0. */
static inline void
blx_put_slot(uint64_t *slots, uint64_t i, unsigned slot_bits, uint64_t slot)
{
	uint64_t	bit = i * slot_bits;

	slots[bit / 64] |= slot << bit % 64;
	slots[bit / 64 + 1] |= slot >> 1 >> (63 - bit % 64);
}

/* Returns the XOR of the slots of a salted hash of that block: value and fingerprint, with other bits above them. */
static inline __attribute__((always_inline)) uint64_t
blx_fuse_sum(const blx_fuse *shape, uint64_t block, uint64_t salted, unsigned slot_bits)
{
	uint64_t	slots[BLX_FUSE_SLOTS],
				base = block * shape->block_slots,
				sum = 0;

	blx_fuse_slots(shape, salted, slots);
#pragma GCC unroll 4
	for (unsigned i = 0; i < shape->key_slots; i++)
		sum ^= blx_slot_at(shape->slots, base + slots[i], slot_bits);
	return sum;
}

/* True if the sum of a key's slots has its fingerprint. */
static inline __attribute__((always_inline)) bool
blx_fuse_agrees(const blx_fuse *shape, uint64_t sum, uint64_t salted)
{
	return blx_lowest_bits(sum >> shape->value_bits ^ blx_fuse_fingerprint(salted), shape->slot_bits - shape->value_bits) == 0;
}

/* True if the key may be in the filter, whose slots have slot_bits bits: compiled for the usual ones. */
static inline __attribute__((always_inline)) bool
blx_fuse_has(const blx_fuse *shape, uint64_t hash, unsigned slot_bits)
{
	uint64_t	block = blx_fuse_block(shape, hash),
				salted = hash * shape->salts[block];

	return blx_fuse_agrees(shape, blx_fuse_sum(shape, block, salted, slot_bits), salted);
}

#pragma GCC visibility pop

#endif							/* BLX_FUSE_H */
