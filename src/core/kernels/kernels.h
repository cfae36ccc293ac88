/*
 * kernels.h - the loops that decide how fast a filter is, once for each kind of
 * processor: the kernels.
 *
 * A path is a table of kernels.  All paths set the same bits and give the same
 * answers; they differ in the instructions that they use.  The first call
 * chooses a path (paths.c).  What is here works on bare words; shapes are
 * those of block.h.
 */
#ifndef BLX_KERNELS_H
#define BLX_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct blx_filter;

/* Keys of one test_batch: the bits of its answer. */
#define BLX_BATCH 64

typedef struct blx_kernels
{
	const char *name;

	/* Groups of `parts` parts in all, over a power of two of blocks. */
	void		(*add) (uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, size_t n);
	bool		(*test) (const uint64_t *words, uint64_t blocks, unsigned parts, uint64_t hash);
	uint64_t	(*test_batch) (const uint64_t *words, uint64_t blocks, unsigned parts, const uint64_t *hashes, unsigned n);

	/* The test of a partitioned_blocked filter. */
	bool		(*test_filter) (const struct blx_filter *f, uint64_t hash);

	/*
	 * One full group at two resolutions.  Fold: dst, of the fewer blocks, takes
	 * in src.  Expand: dst, of the more blocks, takes in or is masked by src.
	 */
	void		(*fold) (uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2);
	void		(*expand_or) (uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2);
	void		(*expand_and) (uint64_t *dst, unsigned dst_log2, const uint64_t *src, unsigned src_log2);

	/* Has every block a part in which a and b have no common bit?  a_log2 >= b_log2. */
	bool		(*disjoint) (const uint64_t *a, unsigned a_log2, const uint64_t *b, unsigned b_log2);

	/* Arrays of words. */
	void		(*or_words) (uint64_t *dst, const uint64_t *src, uint64_t n);
	void		(*and_words) (uint64_t *dst, const uint64_t *src, uint64_t n);
	bool		(*words_meet) (const uint64_t *a, const uint64_t *b, uint64_t n);
	uint64_t	(*popcount) (const uint64_t *words, uint64_t n);
} blx_kernels;

extern const blx_kernels blx_kernels_scalar;
#if defined(__x86_64__)
extern const blx_kernels blx_kernels_avx2;
extern const blx_kernels blx_kernels_avx512;
extern const blx_kernels blx_kernels_avx512_vpopcntdq;	/* for processors that count bits in a register of 512 */
#elif defined(__aarch64__)
extern const blx_kernels blx_kernels_neon;
#endif

/*
 * The path in use, NULL before the first call.  Every thread that finds NULL
 * makes the same choice, and the tables are constant: no order of loads and
 * stores is needed.
 */
extern _Atomic(const blx_kernels *) blx_path;
extern const blx_kernels *blx_choose_path(void);

/* The test_filter of that path, where a test begins that knows the layout (filter/inline.h). */
typedef bool (*blx_test_function) (const struct blx_filter *f, uint64_t hash);
extern _Atomic(blx_test_function) blx_test_default;

static inline const blx_kernels *
blx_kernels_in_use(void)
{
	const blx_kernels *path = atomic_load_explicit(&blx_path, memory_order_relaxed);

	return __builtin_expect(path != NULL, 1) ? path : blx_choose_path();
}

/* ---- arrays of words, by the kernels in use ---- */

static inline uint64_t
blx_popcount(const uint64_t *words, uint64_t n)
{
	return blx_kernels_in_use()->popcount(words, n);
}

static inline void
blx_or_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	blx_kernels_in_use()->or_words(dst, src, n);
}

static inline void
blx_and_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	blx_kernels_in_use()->and_words(dst, src, n);
}

/* Do a and b share a set bit? */
static inline bool
blx_words_meet(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	return blx_kernels_in_use()->words_meet(a, b, n);
}

#pragma GCC visibility pop

#endif							/* BLX_KERNELS_H */
