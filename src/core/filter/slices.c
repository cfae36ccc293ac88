/*
 * slices.c - signatures, the slices of a key, and transposition (slices.h).
 *
 * The index itself, with its pages and locks, is in the SQL half.
 */
#include <math.h>
#include <string.h>

#include "core/filter/filter.h"
#include "core/filter/slices.h"
#include "core/layouts/geometry.h"
#include "core/layouts/groups.h"
#include "core/layouts/growing/hashes.h"

static inline blx_groups
shape_of(const blx_geometry *g)
{
	return (blx_groups) {.log2 = (unsigned) __builtin_ctz(g->blocks), .parts = g->parts};
}

bool
blx_signature_geometry(const blx_filter *f, blx_geometry *g)
{
	uint64_t	keys;

	*g = blx_geometry_of(f);
	/*
	 * A filter has one, perhaps without its counters; a set has the planned
	 * one, or one for its count at the preset rate of 1 %.
	 */
	if (f->layout != BLX_HASHES)
		return f->layout == BLX_PARTITIONED_BLOCKED || (blx_to_bits_geometry(f, g, NULL) && g->layout == BLX_PARTITIONED_BLOCKED);
	if (g->layout == BLX_PARTITIONED_BLOCKED && g->blocks > 0)
		return true;
	keys = blx_hashes_count(f);
	return blx_plan(BLX_PARTITIONED_BLOCKED, keys > 0 ? keys : 1, 0.01, NULL, g, NULL);
}

void
blx_signature_of_anything(uint64_t *words, const blx_geometry *g)
{
	memset(words, 0xff, 8 * blx_body_words(g));
}

/* Sets all bits of the parts from number `first` on. */
static void
fill_parts(uint64_t *words, blx_groups shape, unsigned first)
{
	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);

		for (uint64_t b = 0; b < UINT64_C(1) << shape.log2; b++, words += parts)
			for (unsigned j = 0; j < parts; j++)
				if (BLX_GROUP * g + j >= first)
					words[j] = ~UINT64_C(0);
	}
}

void
blx_signature_convert(uint64_t *words, const blx_geometry *g, const uint64_t *signature, const blx_geometry *from)
{
	memset(words, 0, 8 * blx_body_words(g));
	blx_groups_merge(words, shape_of(g), signature, shape_of(from), BLX_OR);
	fill_parts(words, shape_of(g), from->parts);
}

void
blx_signature(uint64_t *words, const blx_geometry *g, const blx_filter *f)
{
	blx_geometry of_f = blx_geometry_of(f);
	uint64_t	batch[BLX_BATCH],
				cursor = 0;
	size_t		n;

	if (f->layout == BLX_PARTITIONED_BLOCKED)
		blx_signature_convert(words, g, blx_cwords(f), &of_f);
	else if (f->layout != BLX_HASHES)
		blx_signature_of_anything(words, g);
	else
	{
		memset(words, 0, 8 * blx_body_words(g));
		while ((n = blx_hashes_next(f, &cursor, batch, BLX_BATCH)) > 0)
			blx_groups_add(words, shape_of(g), batch, n);
	}
}

void
blx_slices_of_key(const blx_geometry *g, uint64_t hash, uint32_t *slices)
{
	blx_groups	shape = shape_of(g);
	uint64_t	word = 0;

	for (unsigned i = 0; i < blx_groups_count(shape); i++)
	{
		unsigned	parts = blx_group_parts(shape, i);
		uint64_t	h = blx_derive(hash, i);

		for (unsigned j = 0; j < parts; j++)
			*slices++ = (uint32_t) (64 * (word + blx_group_block(h, shape.log2) * parts + j) + blx_group_bit(blx_group_mix(h), j));
		word += blx_group_words(shape, i);
	}
}

/* ---- signatures of keys alone ---- */

/*
 * The place of a key in a part: its hash times an odd number of the part's own, of
 * which the top bits are scaled to the width.  Two keys are in one place if the
 * difference of their hashes times that number is nearly 0.  The numbers are random,
 * so that is independent from part to part.  32 bits suffice: widths are below 2^20.
 */
static inline uint64_t
number_of_part(uint32_t part)
{
	return blx_hash_int64(part, 0) | 1;
}

static inline uint32_t
place_in_part(uint64_t hash, uint64_t number, uint32_t width)
{
	return (uint32_t) ((hash * number >> 32) * width >> 32);
}

void
blx_partitioned_slices(const blx_partitioned *s, uint64_t hash, uint32_t *slices)
{
	for (uint32_t part = 0; part < s->parts; part++)
		slices[part] = part * s->width + place_in_part(hash, number_of_part(part), s->width);
}

void
blx_partitioned_add(uint64_t *words, const blx_partitioned *s, const uint64_t *hashes, size_t n)
{
	for (uint32_t part = 0; part < s->parts; part++)
	{
		uint64_t	number = number_of_part(part);
		uint32_t	first = part * s->width,
					width = s->width;

		for (size_t i = 0; i < n; i++)
		{
			uint32_t	place = first + place_in_part(hashes[i], number, width);

			words[place / 64] |= UINT64_C(1) << place % 64;
		}
	}
}

uint64_t
blx_partitioned_capacity(const blx_partitioned *s, double fpr)
{
	if (s->width == 1)
		return 0;
	return (uint64_t) (log1p(-pow(fpr, 1.0 / s->parts)) / log1p(-1.0 / s->width) * (1 + 1e-12));
}

uint32_t
blx_partitioned_width(uint32_t parts, uint64_t keys, double fpr)
{
	/* a bit stays unset with probability (1 - 1 / width)^keys, which must be 1 - fpr^(1 / parts) */
	double		width = ceil(-1 / expm1(log1p(-pow(fpr, 1.0 / parts)) / (double) keys) * (1 - 1e-12));

	return width < UINT32_MAX ? (uint32_t) width : UINT32_MAX;
}

/* ---- bits ---- */

/* Two rows of a square.  Nearly every 64-bit processor has such registers; elsewhere the compiler splits them. */
typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));

/*
 * Swaps the two off-diagonal quarters of each square of 2 * half rows and columns:
 * row i + half goes with row i.  The mask selects the columns whose number has the
 * bit `half` cleared.  With constants and two rows at a time this takes a quarter
 * of the time of a loop over `half`; registers of more rows gain nothing.
 */
#define SWAP_QUARTERS(type, half, mask) \
	for (unsigned square = 0; square < 64; square += 2 * (half)) \
		for (unsigned i = square; i < square + (half); i += sizeof(type) / 8) \
		{ \
			type	   *low = (type *) (words + i), \
					   *high = (type *) (words + i + (half)); \
			type		swapped = (*low >> (half) ^ *high) & (mask); \
			\
			*low ^= swapped << (half); \
			*high ^= swapped; \
		}

void
blx_transpose(uint64_t words[64])
{
	SWAP_QUARTERS(two_words, 32, UINT64_C(0x00000000ffffffff));
	SWAP_QUARTERS(two_words, 16, UINT64_C(0x0000ffff0000ffff));
	SWAP_QUARTERS(two_words, 8, UINT64_C(0x00ff00ff00ff00ff));
	SWAP_QUARTERS(two_words, 4, UINT64_C(0x0f0f0f0f0f0f0f0f));
	SWAP_QUARTERS(two_words, 2, UINT64_C(0x3333333333333333));
	SWAP_QUARTERS(uint64_t, 1, UINT64_C(0x5555555555555555));
}

uint64_t
blx_and_slice(uint64_t *restrict dst, const uint64_t *restrict src, size_t n)
{
	uint64_t	left = 0;

	for (size_t i = 0; i < n; i++)
		left |= dst[i] &= src[i];
	return left;
}
