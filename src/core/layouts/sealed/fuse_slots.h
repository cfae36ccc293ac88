/*
 * fuse_slots.h - where the slots of a key lie in a sealed filter (binary_fuse.c says
 * what they mean).
 *
 * B blocks of S slots, a slot is P bits; a block is segments of L = 2^s slots.  A
 * key has one slot in each of four consecutive segments.  Whatever the words are, and
 * whatever the salts, every slot is one of the block.
 *
 * A test of a key in a large filter waits for memory, and how many of them wait
 * together depends on how few instructions each has: so what callers know to be
 * constant, such as the bits of a slot, is to be compiled into these functions.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "core/base/hash.h"

/* The slots of a key. */
#define BLX_FUSE_SLOTS 4

typedef struct blx_fuse
{
	const uint64_t *salts;		/* one for each block */
	const uint64_t *slots;		/* all slots, with a word of zeros after them */
	uint64_t	blocks;			/* B */
	uint64_t	block_slots;	/* S */
	unsigned	segment;		/* s */
	unsigned	slot_bits;		/* P */
	unsigned	value_bits;		/* v: the lowest bits of a slot; the others are the fingerprint */
} blx_fuse;

/* Returns the block of a hash. */
static inline uint64_t
blx_fuse_block(const blx_fuse *shape, uint64_t hash)
{
	return blx_scale(hash, shape->blocks);
}

/* Sets slots to the numbers, from `base` on, of the slots of a salted hash. */
static inline __attribute__((always_inline)) void
blx_fuse_slots(const blx_fuse *shape, uint64_t base, uint64_t salted, uint64_t slots[BLX_FUSE_SLOTS])
{
	uint64_t	length = UINT64_C(1) << shape->segment,
				first = blx_scale(salted, shape->block_slots - 3 * length);

	slots[0] = base + first;
#pragma GCC unroll 3
	for (unsigned i = 1; i < BLX_FUSE_SLOTS; i++, salted >>= shape->segment)
		slots[i] = base + ((first += length) ^ (salted & (length - 1)));
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

/* Returns where the byte is at which slot number i begins. */
static inline __attribute__((always_inline)) const uint8_t *
blx_slot_byte(const uint64_t *slots, uint64_t i, unsigned slot_bits)
{
	return (const uint8_t *) slots + (slot_bits % 8 == 0 ? i * (slot_bits / 8) : i * slot_bits / 8);
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
	const uint8_t *byte = blx_slot_byte(slots, i, slot_bits);
	uint64_t	eight;
	uint32_t	four;
	uint16_t	two;

	if (slot_bits == 8)
		return *byte;
	if (slot_bits == 16)
	{
		memcpy(&two, byte, sizeof two);
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

/* Returns the XOR of the slots of those numbers: value and fingerprint, with other bits above them. */
static inline __attribute__((always_inline)) uint64_t
blx_fuse_sum(const blx_fuse *shape, const uint64_t slots[BLX_FUSE_SLOTS])
{
	uint64_t	sum = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < BLX_FUSE_SLOTS; i++)
		sum ^= blx_slot_at(shape->slots, slots[i], shape->slot_bits);
	return sum;
}

/* True if the sum of a key's slots has its fingerprint. */
static inline __attribute__((always_inline)) bool
blx_fuse_agrees(const blx_fuse *shape, uint64_t sum, uint64_t salted)
{
	return blx_lowest_bits(sum >> shape->value_bits ^ blx_fuse_fingerprint(salted), shape->slot_bits - shape->value_bits) == 0;
}
