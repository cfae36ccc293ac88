/*
 * layout.h - what a layout is to the rest of the core: one row of a table.
 *
 * A layout is a file that fills a struct blx_layout, a number in bloomx.h and a
 * row in table.c (docs/internals/design.md, "How to add something").  Other code does not
 * ask which layout a filter has; it calls a member of the row, or finds it NULL.
 *
 * In these comments f is a filter whose header has been checked, g a geometry,
 * n a number of keys.  Functions with an error argument return false when they
 * fail, and write the reason there.
 */
#pragma once

#include "core/base/base.h"
#include "core/base/words.h"
#include "core/kernels/kernels.h"
#include "core/theory/loads.h"
#include "core/layouts/traits.h"
#include "core/theory/occupancy.h"

#pragma GCC visibility push(hidden)

/* Brings words first .. first+n-1 of a body, n at most BLX_MAX_FETCH, good until the next call. */
#define BLX_MAX_FETCH 32

typedef const uint64_t *(*blx_fetch) (void *arg, uint64_t first, unsigned n);

/* An option that a layout has, with its range and its value if it is not given (filter/options.c). */
typedef struct blx_option_range
{
	enum blx_option option;
	double		least,
				most,
				preset;
} blx_option_range;

/* Of what a geometry may have just one. */
enum blx_one
{
	BLX_ONE_BLOCK = 1,
	BLX_ONE_PART = 2,
	BLX_ONE_PROBE = 4			/* in each part */
};

enum blx_folds
{
	BLX_FOLDS_NOTHING,
	BLX_FOLDS_BLOCKS,
	BLX_FOLDS_PARTS
};

/*
 * One layout.  A member that it does not have is NULL.  A static layout, whose
 * size follows from its geometry, fills the first half; the second half is for
 * layouts whose body is more than bits.
 */
typedef struct blx_layout
{
	const char *name;
	unsigned	traits;			/* enum blx_trait */
	bool		flat;			/* may have any enum blx_hashing */
	bool		fractional;		/* k need not be whole */
	const blx_option_range *options;	/* ends with most = 0 */
	bool		any_sizes;		/* any two filters of this layout combine, whatever their geometries */
	const char *why_not[BLX_OPERATIONS];	/* for an operation that it refuses, why: a sentence */
	const char *instead[BLX_OPERATIONS];	/* and what to do instead: a sentence, or NULL */

	unsigned	one;			/* enum blx_one: of what its geometries have just one */

	/* True if a filter of this layout may have that geometry, beyond what blx_geometry_check finds.  NULL: yes. */
	bool		(*check) (const blx_geometry *g, blx_error *error);

	/* Returns the bits that a key sets, on average.  g is not checked yet.  NULL: P*H plus the fraction. */
	double		(*bits_per_key) (const blx_geometry *g);

	/*
	 * Sizing.  Sets g to the geometry of k probes at step 1 .. max_step.  With
	 * the step, memory grows and the false positive rate falls.  Sets parts to
	 * 0 if the layout has no such k.
	 */
	void		(*at_step) (unsigned k, uint64_t step, const blx_options *options, blx_geometry *g);
	uint64_t	max_step;

	/* The k whose blocks are whole cache lines, if a step doubles the memory: a plan prefers it (filter/sizing.c).  0: none. */
	unsigned	line_k;

	/* Sizing where that does not apply: makes the whole plan.  capacity is at least 1, 0 < fpr < 1. */
	bool		(*plan) (uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error);

	/*
	 * Sets g to the largest geometry of at most `bits` bits, at least 1.  k is
	 * from 1 to BLX_MAX_K and whole; in a fractional layout it may also be any
	 * number from 1/BLX_FRACTION_ONE on.  NULL: the parts of at_step, of any
	 * number of bits.
	 */
	bool		(*at_bits) (double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error);

	/* Adds keys.  Returns how many it took: fewer than n only if f must grow first. */
	size_t		(*add) (blx_filter *f, const uint64_t *hashes, size_t n);

	/*
	 * True if the key may be in the filter.  test_fetched reads words through
	 * `fetch`; test has all of them in memory.
	 */
	bool		(*test_fetched) (const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);
	bool		(*test) (const blx_filter *f, uint64_t hash);

	/*
	 * Tests n keys, at most BLX_BATCH; bit i of the result is the answer for
	 * hash i.  NULL: they are tested one by one.
	 */
	uint64_t	(*test_batch) (const blx_filter *f, const uint64_t *hashes, unsigned n);

	/* Returns the expected false positive rate with n random keys, n at least 1. */
	double		(*fpr_expected) (const blx_geometry *g, uint64_t n);

	/* Returns the highest expected rate for any n, if that is what a plan keeps below the target (BLX_UNBOUNDED). */
	double		(*fpr_bound) (const blx_geometry *g);

	/*
	 * Sets rates[p], p = 1 .. parts, to the exact rate that the first p parts
	 * of f have as they are.  rates has BLX_MAX_K + 1 elements.
	 */
	void		(*fpr_prefixes) (const blx_filter *f, double *rates);

	/*
	 * Resizing: what fold halves and expand doubles (blx_resolution).  If
	 * nothing, filters of this layout combine only if their geometries are equal.
	 * Filters of other hashing schemes cannot be resized, since these compute
	 * modulo a size.
	 */
	enum blx_folds folds;

	/* Cuts g to a prefix of `parts` parts.  NULL: the first parts of each block. */
	bool		(*prefix) (blx_geometry *g, int64_t parts, blx_error *error);

	/*
	 * Combines src into dst over the parts that both have, folding or expanding
	 * src to dst's resolution.  For BLX_AND src is never finer.
	 */
	void		(*merge) (blx_filter *dst, const blx_filter *src, blx_op op);

	/* True if no key can be in both a and b.  They are compatible: same layout, keys, seed. */
	bool		(*disjoint) (const blx_filter *a, const blx_filter *b);

	/* ---- layouts whose body is more than bits ---- */

	unsigned	parameters;		/* the body's first words, which belong to the geometry */
	unsigned	notes;			/* the words after these, which do not distinguish filters (blx_compare) */

	/*
	 * body_words returns the words of an empty body, words those of f's body.
	 * words is NULL if the size never changes.
	 */
	uint64_t	(*body_words) (const blx_geometry *g);
	uint64_t	(*words) (const blx_filter *f);

	/* Completes an empty filter, whose body is zeros after the parameters. */
	void		(*init) (blx_filter *f);

	/*
	 * True if every other function can safely walk a body of `words` words, which
	 * are at least the parameters.  It is called for every value from disk, so it
	 * must be cheap.
	 */
	bool		(*check_body) (const blx_filter *f, uint64_t words, blx_error *error);

	/* What takes time linear in the body, and every function but a test needs.  May be NULL. */
	bool		(*check_linear) (const blx_filter *f, blx_error *error);

	/*
	 * Checks what need be checked only once, when a body is imported.  It may
	 * change f, which nobody else sees yet, and spoils it if it refuses it.
	 */
	bool		(*check_contents) (blx_filter *f, blx_error *error);

	/* Checks the header of a value, if that is not the geometry of a filter. */
	bool		(*check_header) (const blx_filter *header, blx_error *error);

	/*
	 * For a body that can say the same in more than one way, or that travels as
	 * something other than its words: order, hash, and the interchange form.
	 * wire_bytes is the length of the form that to_wire writes; wire_check
	 * accepts a form, from_wire builds a body from an accepted one.
	 */
	int			(*compare) (const blx_filter *a, const blx_filter *b);
	uint64_t	(*digest) (const blx_filter *f);
	uint64_t	(*wire_bytes) (const blx_filter *f);
	void		(*to_wire) (const blx_filter *f, uint8_t *out);
	bool		(*wire_check) (const uint8_t *body, uint64_t bytes, blx_error *error);
	uint64_t	(*wire_words) (const uint8_t *body);	/* of the body in memory, from a form that has been checked */
	bool		(*from_wire) (blx_filter *f, const uint8_t *body, blx_error *error);

	/*
	 * Growing, after add took fewer keys than it was given.  grown_words returns
	 * the words of the next size; grow copies f into a dst of that size.
	 */
	uint64_t	(*grown_words) (const blx_filter *f);
	void		(*grow) (blx_filter *dst, const blx_filter *f);

	/* The union, if it is not a merge.  dst has a's header and *words words, which are zeros after the parameters. */
	bool		(*union_words) (const blx_filter *a, const blx_filter *b, uint64_t *words, blx_error *error);
	void		(*unite) (blx_filter *dst, const blx_filter *a, const blx_filter *b);

	/*
	 * BLX_SEALED: the filter of a set, a new one, which does not depend on the order of its
	 * hashes.  Of the planned geometry only what does not follow from their number
	 * counts.  poll (or NULL) is called now and then, and need not return.
	 */
	blx_filter *(*seal) (const blx_filter *set, const blx_geometry *planned, const blx_memory *memory, void (*poll) (void), blx_error *error);

	/* Where keys may have values: the bits of one, 0 if g has none; and test_fetched with the value of a key that is found. */
	unsigned	(*value_bits) (const blx_geometry *g);
	bool		(*get_fetched) (const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg, uint32_t *value);

	/* Removes a key once.  False if f does not find it; then no cell has changed. */
	bool		(*remove) (blx_filter *f, uint64_t hash);

	/*
	 * Returns an upper bound of how often the key was added and not removed.
	 * BLX_SATURATED stands for that or more, 0 for a key that is not in f.
	 */
	unsigned	(*count) (const blx_filter *f, uint64_t hash);

	/* The filter of bits that answers as f does: its layout, of f's sizes, and the conversion into an empty one. */
	uint8_t		bits_layout;
	void		(*to_bits) (blx_filter *dst, const blx_filter *f);

	/*
	 * Numbers about f as it is, if they do not follow from B*P*S bits.  details
	 * reports those that only this layout has.
	 */
	uint64_t	(*bits_in) (const blx_filter *f);
	uint64_t	(*bits_set) (const blx_filter *f);
	double		(*cardinality) (const blx_filter *f);

	/* Counts the bits that f would have set after `times` folds.  Where it folds. */
	uint64_t	(*folded_bits_set) (const blx_filter *f, unsigned times);
	double		(*fpr) (const blx_filter *f);
	void		(*details) (const blx_filter *f, blx_emit emit, void *arg);
} blx_layout;

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
extern const blx_layout blx_layout_binary_fuse;

/* A blx_fetch for a filter in memory: arg is its words. */
static inline const uint64_t *
blx_fetch_memory(void *arg, uint64_t first, unsigned n)
{
	(void) n;
	return (const uint64_t *) arg + first;
}

/* The number that a fold halves; the layout folds. */
static inline uint64_t
blx_resolution(const blx_layout *row, const blx_geometry *g)
{
	return row->folds == BLX_FOLDS_BLOCKS ? g->blocks : g->part_bits;
}

static inline void
blx_set_resolution(const blx_layout *row, blx_geometry *g, uint64_t resolution)
{
	if (row->folds == BLX_FOLDS_BLOCKS)
		g->blocks = (uint32_t) resolution;
	else
		g->part_bits = resolution;
}

/* The table (table.c), by number.  Numbers have gaps, which are NULL. */
#define BLX_LAYOUTS (BLX_BINARY_FUSE + 1)
extern const blx_layout *const blx_layouts[BLX_LAYOUTS];

/* Returns the row of a layout, or NULL if there is no such layout. */
static inline const blx_layout *
blx_layout_row(uint8_t layout)
{
	return layout < BLX_LAYOUTS ? blx_layouts[layout] : NULL;
}

/* Returns the row of a layout that can be planned: as blx_layout_row, but NULL for the open set. */
static inline const blx_layout *
blx_filter_row(uint8_t layout)
{
	return layout == BLX_HASHES ? NULL : blx_layout_row(layout);
}

/* True if `text`, in upper or lower case, is the lower-case name of a layout, an option or an option's value. */
extern bool blx_same_name(const char *text, const char *name);

#pragma GCC visibility pop
