/*
 * kernels.h - the kernels: the loops that decide how fast a filter is, once per
 * instruction set.
 *
 * A path is a table of kernels.  All paths set the same bits and give the same
 * answers; they differ only in the instructions that they use.  The fastest
 * one that the processor runs is chosen at load time (paths.c).  Kernels work on
 * bare words and know no layout, except those that take a filter; the addressing
 * is that of block.h.  Sizes are the caller's to check: a kernel reads and writes exactly
 * the words that its arguments describe.
 */
#pragma once

#include <stdatomic.h>

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* How words are combined. */
typedef enum blx_op
{
	BLX_OR,
	BLX_AND
} blx_op;

typedef struct blx_kernels
{
	const char *name;

	/*
	 * Groups with `parts` parts in all, 1 .. BLX_MAX_K, over `blocks` blocks, a
	 * power of two.  add sets the bits of n keys, any number.  test is true if
	 * the key has all its bits.  test_batch tests n keys, at most BLX_BATCH: bit
	 * i of the answer is the test of hash i, bits from n on are 0.
	 */
	void		(*add) (uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n);
	bool		(*test) (const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash);
	uint64_t	(*test_batch) (const uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n);

	/*
	 * One key in a default filter (filter/inline.h), whose words follow the
	 * header directly: with any number of parts, or with one full group ("plain").
	 */
	bool		(*test_default) (const struct blx_filter *f, uint64_t hash);
	bool		(*test_plain) (const struct blx_filter *f, uint64_t hash);
	void		(*add_default) (struct blx_filter *f, uint64_t hash);
	void		(*add_plain) (struct blx_filter *f, uint64_t hash);

	/*
	 * One group of BLX_GROUP parts at two resolutions.  fold ORs src into dst,
	 * which has fewer blocks.  expand combines src with dst, which has more blocks
	 * or as many: a block of src counts for all the blocks of dst that share its
	 * number's top bits.
	 */
	void		(*fold) (uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2);
	void		(*expand) (uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2, blx_op op);

	/* True if every block has a part in which a and b have no common bit.  a_log2 >= b_log2. */
	bool		(*disjoint) (const uint64_t *a, unsigned a_log2, const uint64_t *b, unsigned b_log2);

	/* Arrays of n words that do not overlap.  words_meet is true if a & b has a set bit; popcount counts set bits. */
	void		(*combine_words) (uint64_t *dst, const uint64_t *src, uint64_t n, blx_op op);
	bool		(*words_meet) (const uint64_t *a, const uint64_t *b, uint64_t n);
	uint64_t	(*popcount) (const uint64_t *words, uint64_t n);

	/* Sets counts[i] to the number of set bits of words[i]; the two may be one array. */
	void		(*count_words) (uint64_t *counts, const uint64_t *words, uint64_t n);
} blx_kernels;

extern const blx_kernels blx_kernels_scalar;
#if defined(__x86_64__)
extern const blx_kernels blx_kernels_avx2;
extern const blx_kernels blx_kernels_avx512;
extern const blx_kernels blx_kernels_avx512_vbmi;
#elif defined(__aarch64__)
extern const blx_kernels blx_kernels_neon;
#endif

/* The path in use.  The tables are constant: relaxed loads and stores are enough. */
extern _Atomic(const blx_kernels *) blx_path;

static inline const blx_kernels *
blx_kernels_in_use(void)
{
	return atomic_load_explicit(&blx_path, memory_order_relaxed);
}

/* Four kernels of that path, for calls that save the load of the table's address (filter/inline.h). */
typedef bool (*blx_test_function) (const struct blx_filter *f, uint64_t hash);
typedef void (*blx_add_function) (struct blx_filter *f, uint64_t hash);
extern _Atomic(blx_test_function) blx_test_default;
extern _Atomic(blx_test_function) blx_test_plain;
extern _Atomic(blx_add_function) blx_add_default;
extern _Atomic(blx_add_function) blx_add_plain;

/* ---- arrays of words, by the kernels in use ---- */

static inline uint64_t
blx_popcount(const uint64_t *words, uint64_t n)
{
	return blx_kernels_in_use()->popcount(words, n);
}

static inline void
blx_combine_words(uint64_t *dst, const uint64_t *src, uint64_t n, blx_op op)
{
	blx_kernels_in_use()->combine_words(dst, src, n, op);
}

static inline void
blx_or_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	blx_combine_words(dst, src, n, BLX_OR);
}

static inline void
blx_count_words(uint64_t *counts, const uint64_t *words, uint64_t n)
{
	blx_kernels_in_use()->count_words(counts, words, n);
}

/* True if a and b share a set bit. */
static inline bool
blx_words_meet(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	return blx_kernels_in_use()->words_meet(a, b, n);
}

#pragma GCC visibility pop
