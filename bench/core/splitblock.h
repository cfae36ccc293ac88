/*
 * splitblock.h - the yardstick: a split block Bloom filter, the filter of
 * Parquet and Impala.  A block has 256 bits, and a key sets one bit in each of
 * its eight 32-bit words.  Uses AVX2 if the processor has it.
 */
#ifndef SPLITBLOCK_H
#define SPLITBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct splitblock
{
	uint64_t	blocks;
	uint32_t   *words;			/* 8 per block, aligned to 64 bytes */
} splitblock;

/* One key per call; n keys in one call. */
extern void (*splitblock_add) (splitblock *f, const uint64_t *hashes, size_t n);
extern bool (*splitblock_test) (const splitblock *f, uint64_t hash);

/* Bit i of the result is the test of hash i.  n is at most 64. */
extern uint64_t (*splitblock_test_batch) (const splitblock *f, const uint64_t *hashes, unsigned n);

/* "avx2" or "portable" */
extern const char *splitblock_choose(void);

#endif
