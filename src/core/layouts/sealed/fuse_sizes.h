/*
 * fuse_sizes.h - the parts of a sealed filter's body (binary_fuse.c), and their sizes.
 */
#pragma once

#include "core/layouts/layout.h"
#include "core/layouts/sealed/fuse_slots.h"

/* The body: the parameter, the number of keys, the salt of each block, the slots, a word of zeros. */
enum
{
	BLX_FUSE_PARAMETER,			/* s in bits 0 to 7, v in bits 8 to 15 */
	BLX_FUSE_KEYS,
	BLX_FUSE_SALTS
};

#define BLX_FUSE_MAX_SEGMENT 18
#define BLX_FUSE_MAX_FINGERPRINT 32
#define BLX_FUSE_MAX_VALUE 24

/*
 * Blocks have at most 2^18 keys: then what building needs (seal.c) stays in a second-level
 * or third-level cache, 4 MB at any number of keys.  Building 10^7 keys took a third to a
 * fifth of the time of one block of all keys; blocks of 2^16 keys build faster still, and
 * are 4 % larger.  To tests it makes no difference.
 */
#define BLX_FUSE_BLOCK_KEYS (UINT64_C(1) << 18)

/* The bits of a fingerprint, and of a value, in the slots of a geometry. */
static inline unsigned
blx_fuse_value_bits(const blx_geometry *g)
{
	return (unsigned) (g->parameters[BLX_FUSE_PARAMETER] >> 8 & 255);
}

static inline unsigned
blx_fuse_fingerprint_bits(const blx_geometry *g)
{
	return g->parts - blx_fuse_value_bits(g);
}

/* Returns the number of blocks of n keys. */
static inline uint64_t
blx_fuse_blocks(uint64_t n)
{
	return n <= BLX_FUSE_BLOCK_KEYS ? 1 : (n - 1) / BLX_FUSE_BLOCK_KEYS + 1;
}

/* The geometry of that many blocks, at most 2^32 - 1, whose fullest has `fullest` keys.  It may be larger than a filter can be. */
extern blx_geometry blx_fuse_geometry(uint64_t blocks, uint64_t fullest, unsigned fingerprint_bits, unsigned value_bits);

/* Where the slots of a filter are. */
static inline blx_fuse
blx_fuse_shape(const blx_filter *f)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	parameter = words[BLX_FUSE_PARAMETER];

	return (blx_fuse) {
		.salts = words + BLX_FUSE_SALTS,
		.slots = words + BLX_FUSE_SALTS + f->blocks,
		.blocks = f->blocks,
		.block_slots = f->part_bits,
		.segment = (unsigned) (parameter & 255),
		.slot_bits = f->parts,
		.value_bits = (unsigned) (parameter >> 8),
	};
}

/* ---- seal.c: the member seal of the row (layout.h) ---- */
extern blx_filter *blx_fuse_seal(const blx_filter *set, const blx_geometry *planned, const blx_memory *memory,
								 void (*poll) (void), blx_error *error);
