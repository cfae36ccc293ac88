/*
 * hash.c - the hash of a key, for callers from outside.
 */
#include "core/base/hash.h"
#include "core/bloomx.h"

uint64_t
blx_hash(const void *bytes, size_t length, uint64_t seed)
{
	return blx_hash_bytes(bytes, length, seed);
}

unsigned
blx_version(void)
{
	return BLX_VERSION;
}
