/*
 * chain.h - the stages of a scalable filter, and one of stages that were filled elsewhere.
 */
#pragma once

#include "core/bloomx.h"

/* The most stages of a scalable filter. */
#define BLX_MAX_CHAIN 200

/* A stage: `parts` parts of 64 bits in each of 2^e blocks. */
typedef struct blx_stage
{
	uint64_t	blocks;
	unsigned	parts;
} blx_stage;

/*
 * The bytes of a filter of n stages, the largest first, and that filter in as much
 * memory (`host` is left alone): its stages are empty.
 */
extern uint64_t blx_chain_bytes(const blx_stage *stages, unsigned n, unsigned name_len);
extern void blx_chain_init(blx_filter *f, const blx_stage *stages, unsigned n, const blx_identity *id);

/* The words of stage i, for the caller to fill; then blx_chain_count counts the bits that are set. */
extern uint64_t *blx_chain_words(blx_filter *f, unsigned i);
extern void blx_chain_count(blx_filter *f);

/* The stages of a scalable filter. */
extern unsigned blx_chain_stages(const blx_filter *f);
extern blx_stage blx_chain_stage(const blx_filter *f, unsigned i);
