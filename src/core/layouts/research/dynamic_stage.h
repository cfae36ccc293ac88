/*
 * dynamic_stage.h - the sequence of stages through which a block of layout
 * dynamic_blocked may grow; shared by the two files of that layout.
 *
 * Stage 0 is the home block.  Stage i takes growth^i times its memory.  Its rate
 * is at most tightening^i times that of stage 0, because it has
 * k_i = k_0 + ceil(i log2 1/r) probes (Almeida et al. 2007).  All arithmetic is
 * in integers, so every machine computes the same stages; they are part of the
 * format.
 */
#pragma once

#include "core/layouts/layout.h"

/* The parameters, the first words of the body. */
enum
{
	DYNAMIC_GROWTH,
	DYNAMIC_TIGHTENING,			/* in 1/65536 */
	DYNAMIC_FILL,				/* the fill of a full stage, in 1/65536 */
	DYNAMIC_PARAMETERS
};

/*
 * Faster growth makes chains shorter, but a new stage is mostly empty: with 8,
 * the first key that overflows takes eight home blocks.
 */
#define DYNAMIC_MAX_GROWTH 8

/* A record has five bits for the stage.  The last stage takes keys without limit. */
#define DYNAMIC_LAST_STAGE 31

/* A record has 32 bits for the bits set, so stages stop growing at this size. */
#define DYNAMIC_MAX_STAGE_BITS (UINT64_C(1) << 32)

/* The record of a block, in front of its filter. */
#define DYNAMIC_RECORD_BITS 64

typedef struct dynamic_stage
{
	unsigned	number;
	unsigned	probes;
	uint64_t	blocks;			/* memory, in home blocks */
	uint64_t	bits;			/* of the filter, without the record */
	uint64_t	limit;			/* full if a key might bring the bits set above this */
	uint64_t	rate;			/* relative to stage 0, in 1/2^63 */
} dynamic_stage;

static inline dynamic_stage
dynamic_first_stage(uint64_t part_bits, unsigned probes, const uint64_t *parameters)
{
	dynamic_stage s = {
		.probes = probes,
		.blocks = 1,
		.bits = part_bits,
		.limit = part_bits * parameters[DYNAMIC_FILL] >> 16,
		.rate = UINT64_C(1) << 63,
	};

	return s;
}

/* Turns *s into the stage after it. */
static inline void
dynamic_next_stage(dynamic_stage *s, uint64_t part_bits, unsigned probes, const uint64_t *parameters)
{
	uint64_t	block_bits = part_bits + DYNAMIC_RECORD_BITS;

	s->number++;
	/* Memory grows until the limit of a stage. */
	if (s->blocks * parameters[DYNAMIC_GROWTH] <= DYNAMIC_MAX_STAGE_BITS / block_bits)
		s->blocks *= parameters[DYNAMIC_GROWTH];
	s->bits = s->blocks * block_bits - DYNAMIC_RECORD_BITS;
	s->limit = s->bits * parameters[DYNAMIC_FILL] >> 16;
	/* The rate in fixed point; with a first bit at 2^63, its leading zeros are ceil(-log2 rate). */
	s->rate = (s->rate >> 16) * parameters[DYNAMIC_TIGHTENING];
	s->probes = probes + (s->rate == 0 ? BLX_MAX_K : (unsigned) __builtin_clzll(s->rate));
	if (s->probes > BLX_MAX_K)
		s->probes = BLX_MAX_K;
}

/*
 * True if another key may go to a stage with `bits_set` bits set.  A stage takes
 * at least one key, even if that is above its limit.
 */
static inline bool
dynamic_has_room(const dynamic_stage *s, uint64_t bits_set)
{
	return bits_set == 0 || bits_set + s->probes <= s->limit || s->number == DYNAMIC_LAST_STAGE;
}

/* ---- dynamic_blocked_plan.c ---- */
extern double blx_dynamic_fpr_expected(const blx_geometry *g, uint64_t n);
extern bool blx_dynamic_plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error);

/*
 * Sets *g to the geometry of the options with `blocks` blocks and `probes` probes,
 * whose stages become half full.  False, with the reason, if there is none.
 */
extern bool blx_dynamic_geometry(const blx_options *options, uint32_t blocks, unsigned probes, blx_geometry *g, blx_error *error);
