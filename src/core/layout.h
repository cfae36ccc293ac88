/*
 * layout.h - what a layout is to the rest of the core: one row of a table.
 *
 * Adding a layout adds a file that fills a struct blx_layout, its number in
 * bloom.h and a row in layouts.c; nothing else asks which layout a filter has.
 */
#ifndef BLX_LAYOUT_H
#define BLX_LAYOUT_H

#include "core/bloom.h"
#include "core/simd.h"

#pragma GCC visibility push(hidden)

typedef enum blx_op
{
	BLX_OR,
	BLX_AND
} blx_op;

/* An option of a layout (options.c). */
typedef struct blx_option_range
{
	enum blx_option option;
	double		least,
				most,
				preset;
} blx_option_range;

/*
 * Members that a layout does not have are NULL.  A static layout, whose size
 * follows from its geometry, fills the first half; the second half is for
 * layouts whose body is more than bits.
 */
typedef struct blx_layout
{
	const char *name;
	unsigned	traits;			/* enum blx_trait */
	bool		flat;			/* may have any enum blx_hashing */
	bool		fractional;		/* k need not be whole */
	const blx_option_range *options;	/* ends with most = 0 */
	bool		any_sizes;		/* filters of this layout go together whatever their geometries */
	const char *why_not[BLX_OPERATIONS];	/* the reason, a sentence, of what it refuses */
	const char *instead[BLX_OPERATIONS];	/* and what to do, a sentence, or NULL */

	/* May a filter of this layout have that geometry?  (Sizes are checked elsewhere.) */
	bool		(*check) (const blx_geometry *g, blx_error *error);

	/* Bits that a key sets, on average, of a geometry yet to be checked; NULL: P*H and the fraction. */
	double		(*bits_per_key) (const blx_geometry *g);

	/*
	 * Sizing: the geometry of k probes at step 1, 2, ...  Memory grows and the
	 * false positive rate falls with the step.  parts = 0: the layout has no such k.
	 */
	void		(*at_step) (unsigned k, uint64_t step, const blx_options *options, blx_geometry *g);
	uint64_t	max_step;

	/* Or, where k follows from the size: the smallest geometry that meets the rate, of at most max_words; false: none. */
	bool		(*smallest) (uint64_t n, double fpr, uint64_t max_words, blx_geometry *g);

	/* Or, where size is no matter of either, the plan itself; capacity >= 1, 0 < fpr < 1. */
	bool		(*plan) (uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error);

	/* The largest geometry of at most `bits` bits; bits >= 1, k in range (whole unless fractional). */
	bool		(*at_bits) (double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error);

	/* Returns how many it took. */
	size_t		(*add) (blx_filter *f, const uint64_t *hashes, size_t n);

	/* The test, on words that `fetch` brings; and the same with all words in memory. */
	bool		(*test_fetched) (const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);
	bool		(*test) (const blx_filter *f, uint64_t hash);

	/* Bit i of the answer: the test of hash i.  n is at most BLX_BATCH; NULL: one by one. */
	uint64_t	(*test_batch) (const blx_filter *f, const uint64_t *hashes, unsigned n);

	/* The formula: expected rate with n random keys. */
	double		(*fpr_expected) (const blx_geometry *g, uint64_t n);

	/* The most that it is for any n (BLX_UNBOUNDED), where the plan is for that. */
	double		(*fpr_bound) (const blx_geometry *g);

	/* rates[p] = the exact rate of the prefix of p parts of f as it is, p = 1 .. parts (at most BLX_MAX_K). */
	void		(*fpr_prefixes) (const blx_filter *f, double *rates);

	/*
	 * Resizing.  `resolution` is the field that fold halves and expand doubles
	 * (NULL: this layout combines only with an equal geometry).  Only with
	 * independent hashing: other schemes compute modulo a size.
	 */
	uint64_t	(*resolution) (const blx_geometry *g);
	void		(*set_resolution) (blx_geometry *g, uint64_t resolution);

	/* The geometry of a prefix; NULL: of the first parts. */
	bool		(*prefix) (blx_geometry *g, int64_t parts, blx_error *error);

	/* Words at the start of f's body that merge reads for that prefix; NULL: as many as the prefix has. */
	uint64_t	(*prefix_words) (const blx_filter *f, const blx_geometry *g);

	/* dst op= src over the parts both have, at the finer resolution (dst's for BLX_AND). */
	void		(*merge) (blx_filter *dst, const blx_filter *src, blx_op op);

	/* No key can be in both a and b, which go together. */
	bool		(*disjoint) (const blx_filter *a, const blx_filter *b);

	/* ---- layouts whose body is more than bits ---- */

	unsigned	parameters;		/* words that belong to the geometry: the body's first */
	unsigned	notes;			/* words after these that blx_compare leaves out */

	/* Words of an empty body; and of f's, from header and body (NULL: as when empty). */
	uint64_t	(*body_words) (const blx_geometry *g);
	uint64_t	(*words) (const blx_filter *f);

	/* Completes an empty filter, whose body is zeros after the parameters. */
	void		(*init) (blx_filter *f);

	/*
	 * Is a body of `words` words (at least the parameters) one that every
	 * other function can walk?  Called for every value from disk: cheap.
	 */
	bool		(*check_body) (const blx_filter *f, uint64_t words, blx_error *error);

	/* What only a body from outside need be asked, once, in memory that nobody else has yet; spoils f if it is refused. */
	bool		(*check_contents) (blx_filter *f, blx_error *error);

	/* Growing, after add took fewer than it was given. */
	uint64_t	(*grown_words) (const blx_filter *f);
	void		(*grow) (blx_filter *dst, const blx_filter *f);

	/* The union, where it is not a merge: dst has a's header and that many words, which are zeros after the parameters. */
	bool		(*union_words) (const blx_filter *a, const blx_filter *b, uint64_t *words, blx_error *error);
	void		(*unite) (blx_filter *dst, const blx_filter *a, const blx_filter *b);

	/* Takes a key out, once; false, and no cell has changed, when f says that it is not there. */
	bool		(*remove) (blx_filter *f, uint64_t hash);
	void		(*to_bits_geometry) (const blx_filter *f, blx_geometry *g);
	void		(*to_bits) (blx_filter *dst, const blx_filter *f);

	/* Of f as it is, where B*P*S bits are not the whole story. */
	uint64_t	(*bits_in) (const blx_filter *f);
	uint64_t	(*bits_set) (const blx_filter *f);
	double		(*cardinality) (const blx_filter *f);
	double		(*fpr) (const blx_filter *f);
	void		(*details) (const blx_filter *f, blx_tell tell, void *arg);
} blx_layout;

extern const blx_layout blx_layout_standard;
extern const blx_layout blx_layout_partitioned;
extern const blx_layout blx_layout_blocked;
extern const blx_layout blx_layout_partitioned_blocked;
extern const blx_layout blx_layout_dynamic_blocked;
extern const blx_layout blx_layout_age_partitioned;
extern const blx_layout blx_layout_counting;
extern const blx_layout blx_layout_scalable;
extern const blx_layout blx_layout_hybrid;
extern const blx_layout blx_layout_rational;
extern const blx_layout blx_layout_variable_blocked;

/* The blx_fetch of a filter in memory: arg is its words. */
static inline const uint64_t *
blx_fetch_memory(void *arg, uint64_t first, unsigned n)
{
	(void) n;
	return (const uint64_t *) arg + first;
}

/* layouts.c: by number, with gaps. */
#define BLX_LAYOUTS (BLX_COUNTING + 1)
extern const blx_layout *const blx_layouts[BLX_LAYOUTS];

/* The row of a layout, or NULL. */
static inline const blx_layout *
blx_layout_row(uint8_t layout)
{
	return layout < BLX_LAYOUTS ? blx_layouts[layout] : NULL;
}

/* Writes an error; always returns false.  detail and hint may be NULL. */
extern bool blx_fail(blx_error *error, blx_code code, const char *detail, const char *hint,
					 const char *format,...) __attribute__((format(printf, 5, 6)));

/* Header, name and parameters of a filter of `bytes` bytes, and zeros: what blx_init completes. */
extern void blx_init_sized(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity, uint64_t bytes);

/* The geometry without the body's parameters. */
extern blx_geometry blx_header_geometry(const blx_filter *f);

/* Are the bits beyond part_bits in the last word of each of `parts` parts 0? */
extern bool blx_check_spare_bits(const uint64_t *words, uint64_t parts, uint64_t part_bits, blx_error *error);

/* Are the geometries of two filters of one layout the same?  The error names what differs. */
extern bool blx_check_equal_geometry(const blx_filter *a, const blx_filter *b, blx_error *error);

/* Are the values of those options that the layout has in their ranges?  The layout must be one of filters. */
extern bool blx_check_options(uint8_t layout, const blx_options *options, blx_error *error);

/* Is it a rate strictly between 0 and 1? */
extern bool blx_check_rate(double fpr, blx_error *error);

/* ---- arrays of words, by the kernels in use ---- */

static inline uint64_t
blx_popcount(const uint64_t *words, uint64_t n)
{
	return blx_simd.popcount(words, n);
}

static inline void
blx_or_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	blx_simd.or_words(dst, src, n);
}

static inline void
blx_and_words(uint64_t *dst, const uint64_t *src, uint64_t n)
{
	blx_simd.and_words(dst, src, n);
}

/* Do a and b share a set bit? */
static inline bool
blx_words_meet(const uint64_t *a, const uint64_t *b, uint64_t n)
{
	return blx_simd.words_meet(a, b, n);
}

static inline uint64_t
blx_words_for_bits(uint64_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

/* ---- hashes.c ---- */

/* Adds hashes to a set until one finds no room; returns how many. */
extern size_t blx_hashes_add_some(blx_filter *f, const uint64_t *hashes, size_t n);
extern bool blx_hashes_test(const blx_filter *f, uint64_t hash);

/* Are the hashes this project's, of keys? */
extern bool blx_hashes_are_spread(const blx_filter *f);

/* Of a set whose size blx_check has checked: is the table sound? */
extern bool blx_hashes_check(const blx_filter *f, blx_error *error);

/* Order and digest of sets, whatever tables hold them. */
extern int	blx_hashes_compare(const blx_filter *a, const blx_filter *b);
extern uint64_t blx_hashes_digest(const blx_filter *f);

/* ---- loads.c, occupancy.c ---- */

/* The mean of f(i, arg) over the load i of one of `blocks` equally likely blocks that got n keys: Binomial(n, 1/blocks).  f must not fall. */
extern double blx_mean_over_loads(uint64_t n, uint64_t blocks, double (*f) (uint64_t i, const void *arg), const void *arg);

/*
 * Are n keys hopelessly many for those blocks?  The chance of any unset bit, in a block of so many
 * bits of which a key sets up to k, is then too small to matter: the rate is 1.
 */
extern bool blx_all_set(double n, double blocks, double block_bits, unsigned k);

/* E[(X/m)^k], X = bits set in m after `throws` random throws: exact (Almeida 2022, eq. 10). */
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

#pragma GCC visibility pop

#endif							/* BLX_LAYOUT_H */
