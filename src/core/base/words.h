/*
 * words.h - 64-bit words: those of a filter's body, and words as bytes, the
 * lowest first, wherever they stand.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/bloomx.h"

/* ---- of a filter ---- */

/* Bytes of the header and the padded name. */
static inline size_t
blx_header_bytes(unsigned name_len)
{
	return sizeof(blx_filter) + ((name_len + 7u) & ~(size_t) 7);
}

static inline const char *
blx_name(const blx_filter *f)
{
	return (const char *) f + sizeof(blx_filter);
}

static inline uint64_t *
blx_words(blx_filter *f)
{
	return (uint64_t *) (void *) ((char *) f + blx_header_bytes(f->name_len));
}

static inline const uint64_t *
blx_cwords(const blx_filter *f)
{
	return (const uint64_t *) (const void *) ((const char *) f + blx_header_bytes(f->name_len));
}

/* ---- words as bytes ---- */

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
