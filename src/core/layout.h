/*
 * layout.h - what a layout is to the rest of the core: one row of a table.
 *
 * Adding a layout adds a file that fills a struct blx_layout and a row in
 * layouts.c; nothing else asks which layout a filter has.
 */
#ifndef BLX_LAYOUT_H
#define BLX_LAYOUT_H

#include "core/bloom.h"

typedef enum blx_op
{
	BLX_OR,
	BLX_AND
} blx_op;

typedef struct blx_layout
{
	const char *name;

	/* May a filter of this layout have that geometry?  (Sizes are checked elsewhere.) */
	bool		(*check) (const blx_geometry *g, blx_error *error);

	/*
	 * Sizing: the geometry of k probes at step 1, 2, ...  Memory grows and the
	 * false positive rate falls with the step.
	 */
	void		(*at_step) (unsigned k, uint64_t step, blx_geometry *g);
	uint64_t	max_step;

	/* The largest geometry of at most `bits` bits; bits >= 1, k in range. */
	bool		(*at_bits) (unsigned k, uint64_t bits, blx_geometry *g, blx_error *error);

	void		(*add) (blx_filter *f, const uint64_t *hashes, size_t n);

	/* The test, on words that `fetch` brings; and the same with all words in memory. */
	bool		(*test_fetched) (const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);
	bool		(*test) (const blx_filter *f, uint64_t hash);

	/* The formula: expected rate with n random keys. */
	double		(*fpr_expected) (const blx_geometry *g, uint64_t n);

	/* rates[p] = the exact rate of the prefix of p parts of f as it is, p = 1 .. parts. */
	void		(*fpr_prefixes) (const blx_filter *f, double *rates);

	/*
	 * Resizing.  `resolution` is the field that fold halves and expand doubles
	 * (NULL: this layout combines only with an equal geometry).
	 */
	uint64_t	(*resolution) (const blx_geometry *g);
	void		(*set_resolution) (blx_geometry *g, uint64_t resolution);

	/* dst op= src over the parts both have, at the finer resolution (dst's for BLX_AND). */
	void		(*merge) (blx_filter *dst, const blx_filter *src, blx_op op);

	/* No key can be in both a and b, which blx_union_geometry accepts. */
	bool		(*disjoint) (const blx_filter *a, const blx_filter *b);
} blx_layout;

extern const blx_layout blx_layout_standard;
extern const blx_layout blx_layout_partitioned;
extern const blx_layout blx_layout_blocked;
extern const blx_layout blx_layout_partitioned_blocked;

/* The blx_fetch of a filter in memory: arg is its words. */
static inline const uint64_t *
blx_fetch_memory(void *arg, uint64_t first, unsigned n)
{
	(void) n;
	return (const uint64_t *) arg + first;
}

/* The row of a static layout, or NULL. */
extern const blx_layout *blx_layout_row(uint8_t layout);

/* Writes an error; always returns false.  detail and hint may be NULL. */
extern bool blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint,
					 const char *format,...) __attribute__((format(printf, 5, 6)));

/* Is it a rate strictly between 0 and 1? */
extern bool blx_check_rate(double fpr, blx_error *error);

/* ---- words.c: plain loops over words ---- */
extern uint64_t blx_popcount(const uint64_t *words, uint64_t n);
extern void blx_or_words(uint64_t *dst, const uint64_t *src, uint64_t n);
extern void blx_and_words(uint64_t *dst, const uint64_t *src, uint64_t n);
extern bool blx_words_meet(const uint64_t *a, const uint64_t *b, uint64_t n);

static inline uint64_t
blx_words_for_bits(uint64_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/* ---- hashes.c ---- */
extern bool blx_hashes_test(const blx_filter *f, uint64_t hash);

/* Are the hashes this project's, of keys? */
extern bool blx_hashes_are_spread(const blx_filter *f);

/* Of a set whose size blx_check has checked: is the table sound? */
extern bool blx_hashes_check(const blx_filter *f, blx_error *error);

/* Order and digest of sets, whatever tables hold them. */
extern int	blx_hashes_compare(const blx_filter *a, const blx_filter *b);
extern uint64_t blx_hashes_digest(const blx_filter *f);

/* ---- loads.c ---- */

/* The mean of f(i, arg) over the load i of one of `blocks` equally likely blocks that got n keys: Binomial(n, 1/blocks). */
extern double blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg);

/* E[(X/m)^k], X = bits set in m after `throws` random throws. */
extern double blx_occupancy_power(uint64_t m, unsigned k, double throws);

/* The same for a whole power by repeated multiplication. */
static inline double
blx_power(double x, unsigned k)
{
	double		r = 1;

	for (; k > 0; k >>= 1, x *= x)
		if (k & 1)
			r *= x;
	return r;
}

#endif							/* BLX_LAYOUT_H */
