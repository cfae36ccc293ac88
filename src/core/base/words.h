/*
 * words.h - reads and writes 64-bit words of the interchange format: 8 bytes,
 * little-endian, in memory of any alignment.
 */
#ifndef BLX_WORDS_H
#define BLX_WORDS_H

#include <stdint.h>
#include <string.h>

#include "core/base/hash.h"

static inline uint64_t
blx_get_word(const uint8_t *in)
{
	uint64_t	word;

	memcpy(&word, in, 8);
	return blx_to_le64(word);
}

static inline void
blx_put_word(uint8_t *out, uint64_t word)
{
	word = blx_to_le64(word);
	memcpy(out, &word, 8);
}

#endif							/* BLX_WORDS_H */
