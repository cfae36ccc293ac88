/*
 * hash.h - from bytes to hashes (docs/FORMAT.md, "Hashing").
 *
 * A key is one 64-bit hash, XXH3 of its canonical bytes with the filter's
 * seed.  Layouts that need more than 64 random bits derive further hashes from
 * that one: w_0 = h, w_j = XXH3 of h (8 little-endian bytes) with seed j.
 * These are independent for all that a filter can see, unlike double hashing
 * (Almeida 2022, section 5), and cost a few instructions each.
 */
#ifndef BLX_HASH_H
#define BLX_HASH_H

#include <stdint.h>
#include <string.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

/* XXH3 was final with 0.8.0: before it keys of more than 240 bytes had another hash, and would not be found again. */
#if !defined(XXH_VERSION_NUMBER) || XXH_VERSION_NUMBER < 800
#error "bloomx needs xxHash 0.8.0 or newer: XXH3 of an older one is another function"
#endif

static inline uint64_t
blx_to_le64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

/* The hash of a key's canonical bytes. */
static inline uint64_t
blx_hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, length, seed);
}

/* The hash of a key whose canonical bytes are one 64-bit integer. */
static inline uint64_t
blx_hash_int64(uint64_t v, uint64_t seed)
{
	v = blx_to_le64(v);
	return XXH3_64bits_withSeed(&v, sizeof v, seed);
}

/* The derived hash w_j of key hash h. */
static inline uint64_t
blx_derive(uint64_t h, unsigned j)
{
	return j == 0 ? h : blx_hash_int64(h, j);
}

/* h scaled to 0 .. n-1, by its top bits: no modulo, and halving n halves the result. */
static inline uint64_t
blx_scale(uint64_t h, uint64_t n)
{
	__extension__ typedef unsigned __int128 u128;

	return (uint64_t) (((u128) h * n) >> 64);
}

#endif							/* BLX_HASH_H */
