/*
 * layout.h - what a layout is to the rest of the core: one row of a table.
 *
 * Adding a layout adds a file that fills a struct blx_layout, its number in
 * bloom.h and a row in layouts.c; nothing else asks which layout a filter has.
 */
#ifndef BLX_LAYOUT_H
#define BLX_LAYOUT_H

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/kernels/kernels.h"
#include "core/theory/loads.h"
#include "core/layouts/traits.h"
#include "core/theory/occupancy.h"

#pragma GCC visibility push(hidden)

/* Brings words first .. first+n-1 of a body, n at most BLX_MAX_FETCH, good until the next call. */
#define BLX_MAX_FETCH 32

typedef const uint64_t *(*blx_fetch) (void *arg, uint64_t first, unsigned n);

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

	/* What the header of a value must say, where it is not the geometry of a filter. */
	bool		(*check_header) (const blx_filter *header, blx_error *error);

	/*
	 * A body that says the same in more than one way, or travels as something
	 * else than its words: order, hash, and the interchange form.
	 */
	int			(*compare) (const blx_filter *a, const blx_filter *b);
	uint64_t	(*digest) (const blx_filter *f);
	uint64_t	(*wire_bytes) (const blx_filter *f);
	void		(*to_wire) (const blx_filter *f, uint8_t *out);
	bool		(*wire_check) (const uint8_t *body, uint64_t bytes, blx_error *error);
	uint64_t	(*wire_words) (const uint8_t *body);	/* in memory, of a body that has been checked */
	bool		(*from_wire) (blx_filter *f, const uint8_t *body, blx_error *error);

	/* Copies the body into one of the same size whose filter has another identity, where its words depend on that. */
	bool		(*copy) (blx_filter *dst, const blx_filter *f);

	/* Growing, after add took fewer than it was given. */
	uint64_t	(*grown_words) (const blx_filter *f);
	bool		(*grow) (blx_filter *dst, const blx_filter *f);	/* false: dst must be larger still */

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

/* What to do instead of folding a layout that cannot be folded. */
#define BLX_FOLDABLE "Layouts partitioned_blocked, partitioned, hybrid and counting can be folded."

extern const blx_layout blx_layout_hashes;
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

/* The row of a layout, or NULL if there is no such layout. */
static inline const blx_layout *
blx_layout_row(uint8_t layout)
{
	return layout < BLX_LAYOUTS ? blx_layouts[layout] : NULL;
}

/* The same of a layout that filters can be planned with: NULL for an open set too. */
static inline const blx_layout *
blx_filter_row(uint8_t layout)
{
	return layout == BLX_HASHES ? NULL : blx_layout_row(layout);
}

#pragma GCC visibility pop

#endif							/* BLX_LAYOUT_H */
