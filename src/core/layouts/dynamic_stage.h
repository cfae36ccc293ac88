/*
 * dynamic_stage.h - what the two files of layout dynamic_blocked share: the
 * sequence of stages that every block of it may grow through.
 *
 * Stage 0 is the home block.  Stage i takes growth^i times its memory and has
 * a rate of at most tightening^i times its rate: k_i = k_0 + ceil(i log2 1/r)
 * probes (Almeida et al. 2007).  All of it in integers: the same bits on
 * every machine.
 */
#ifndef BLX_DYNAMIC_STAGE_H
#define BLX_DYNAMIC_STAGE_H

#include "core/layouts/layout.h"

/* Parameters: the first words of the body. */
enum
{
	DYNAMIC_GROWTH,
	DYNAMIC_TIGHTENING,			/* in 1/65536 */
	DYNAMIC_FILL,				/* of a full stage, in 1/65536 */
	DYNAMIC_PARAMETERS
};

#define DYNAMIC_MAX_GROWTH 8
#define DYNAMIC_LAST_STAGE 31	/* never full */
#define DYNAMIC_MAX_STAGE_BITS (UINT64_C(1) << 32)	/* stages stop growing here */
#define DYNAMIC_RECORD_BITS 64	/* of each block, in front of its filter */

typedef struct dynamic_stage
{
	unsigned	number;
	unsigned	probes;
	uint64_t	blocks;			/* memory, in home blocks */
	uint64_t	bits;			/* of filter */
	uint64_t	limit;			/* full when a key might set more bits than this */
	uint64_t	rate;			/* over stage 0's, in 1/2^63 */
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

static inline void
dynamic_next_stage(dynamic_stage *s, uint64_t part_bits, unsigned probes, const uint64_t *parameters)
{
	uint64_t	block_bits = part_bits + DYNAMIC_RECORD_BITS;

	s->number++;
	if (s->blocks * parameters[DYNAMIC_GROWTH] <= DYNAMIC_MAX_STAGE_BITS / block_bits)
		s->blocks *= parameters[DYNAMIC_GROWTH];
	s->bits = s->blocks * block_bits - DYNAMIC_RECORD_BITS;
	s->limit = s->bits * parameters[DYNAMIC_FILL] >> 16;
	s->rate = (s->rate >> 16) * parameters[DYNAMIC_TIGHTENING];
	/* the leading zeros are ceil(-log2 rate) */
	s->probes = probes + (s->rate == 0 ? BLX_MAX_K : (unsigned) __builtin_clzll(s->rate));
	if (s->probes > BLX_MAX_K)
		s->probes = BLX_MAX_K;
}

/* May another key go to a stage with that many bits set? */
static inline bool
dynamic_has_room(const dynamic_stage *s, uint64_t bits_set)
{
	return bits_set == 0 || bits_set + s->probes <= s->limit || s->number == DYNAMIC_LAST_STAGE;
}

/* ---- dynamic_blocked_plan.c ---- */
extern double blx_dynamic_fpr_expected(const blx_geometry *g, uint64_t n);
extern bool blx_dynamic_plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error);

/* The geometry that the options ask for, of that many blocks and probes, its stages half full; false with the reason. */
extern bool blx_dynamic_geometry(const blx_options *options, uint32_t blocks, unsigned probes, blx_geometry *g, blx_error *error);

#endif							/* BLX_DYNAMIC_STAGE_H */
