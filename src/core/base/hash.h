/*
 * hash.h - from bytes to hashes (docs/internals/FORMAT.md, "Hashing").
 *
 * A key is one 64-bit hash, XXH3 of its canonical bytes with the filter's
 * seed.  Layouts that need more than 64 random bits derive further hashes from
 * that one: w_0 = h, w_j = XXH3 of h (8 little-endian bytes) with seed j.
 * To a filter these look independent, which the hashes of double hashing do
 * not (Almeida 2022, section 5).  Each costs a few instructions.
 *
 * These functions are part of the format: they never change.  Canonical bytes
 * are made elsewhere, in the SQL half.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

/*
 * XXH3 became final with 0.8.0.  Earlier releases hash keys of more than 240
 * bytes differently: such keys would not be found again.
 */
#if !defined(XXH_VERSION_NUMBER) || XXH_VERSION_NUMBER < 800
#error "bloomx needs xxHash 0.8.0 or newer: XXH3 of an older one is another function"
#endif

/* Converts between native and little-endian byte order, in either direction. */
static inline uint64_t
blx_to_le64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

/* Returns the hash of a key's canonical bytes. */
static inline uint64_t
blx_hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, length, seed);
}

/* Returns the hash of a key whose canonical bytes are one 64-bit integer, little-endian. */
static inline uint64_t
blx_hash_int64(uint64_t v, uint64_t seed)
{
	v = blx_to_le64(v);
	return XXH3_64bits_withSeed(&v, sizeof v, seed);
}

/* Returns the derived hash w_j of key hash h; w_0 is h itself. */
static inline uint64_t
blx_derive(uint64_t h, unsigned j)
{
	return j == 0 ? h : blx_hash_int64(h, j);
}

/*
 * Scales h to 0 .. n-1 by its top bits: floor(h n / 2^64).  This needs no
 * division, and halving n halves the result, on which folding rests.
 */
static inline uint64_t
blx_scale(uint64_t h, uint64_t n)
{
	__extension__ typedef unsigned __int128 u128;

	return (uint64_t) (((u128) h * n) >> 64);
}
