/*
 * age_partitioned.c - a sliding window over a stream: k + l slices in a ring, of
 * which the oldest is cleared after every generation of g keys.
 *
 * Shtul, Baquero, Almeida 2020 (arXiv 2001.03147).  A key sets one bit in each
 * of the k youngest slices.  After g keys the ring turns: the oldest slice is
 * cleared and becomes the youngest.  The k slices of a key stay neighbours while
 * they move from the young end to the old end, so a key is found if k adjacent
 * slices all have its bit.  They all last for l turns.  So the last l*g keys are
 * always found, whatever their place in their generation; this is the window.
 * After that the key loses one slice with every turn, and after k turns it is as
 * unknown as any other key.
 *
 * Each physical slice has a derived hash of its own, w_p, so a turn moves no
 * bits.  Slices are independent, so the false positive rate is the probability of
 * a run of k successes among k + l trials, each of which succeeds with the fill
 * of its slice.  That is exact for the bits as they are, and with expected fills
 * it is the expectation.
 *
 * Two things differ from the paper (docs/internals/theory.md, "Windows over a stream").  The
 * paper takes (i+1) / 2k for the fills of the k youngest slices, which is the chord
 * below the exact 1 - 2^(-(i+1)/k), and its pairs of k and l miss their targets by
 * up to a half; the exact fills are used here.  The paper sizes slices to be half
 * full after their k generations; slices with a fill around 0.4 and fewer
 * bits per key take less memory.
 *
 * The ring turns before the first key of a generation, not after the last one.
 * Two rings cannot be combined, because a filter does not say which of its keys
 * came when.
 */
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"
#include "core/theory/theory.h"

/*
 * The most generations, l.  More of them make the edge of the window sharper, but
 * save no memory from about a hundred on (docs/internals/theory.md), and an absent key costs
 * up to 2 (k + l) / k probes.  The limit also bounds the arrays on the stack.
 */
#define MAX_GENERATIONS 1024
#define MAX_SLICES (BLX_MAX_K + MAX_GENERATIONS)
#define LN2 0.69314718055994530942

/* More keys than the largest filter is of use for, and few enough that no product with k and 64 overflows. */
#define MAX_GENERATION_KEYS (UINT64_C(1) << 40)

/* The body's first words.  The first two are the parameters; ADDED is only reported (a note of the layout). */
enum
{
	K,							/* slices in which a key sets a bit */
	GENERATION,					/* g, keys per generation */
	ADDED,						/* keys since the filter was made */
	IN_GENERATION,				/* keys since the last turn, 0 .. g */
	YOUNGEST,					/* the physical slice that is logical slice 0 */
	PREFIX_WORDS
};

/* Returns l. */
static unsigned
generations(const blx_geometry *g)
{
	return g->parts - (unsigned) g->parameters[K];
}

/* ---- geometry ---- */

static double
bits_per_key(const blx_geometry *g)
{
	return (double) g->parameters[K];
}

/* Bounds the size of a slice by the keys that set bits in it: clearing it costs no more than adding them did. */
static bool
check(const blx_geometry *g, blx_error *error)
{
	uint64_t	k = g->parameters[K],
				keys = g->parameters[GENERATION];

	if (k < 1 || k >= g->parts || g->parts - k > MAX_GENERATIONS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter of %u parts cannot set bits in %llu of them",
						g->parts, (unsigned long long) k);
	if (keys < 1 || keys > MAX_GENERATION_KEYS || g->part_bits > 64 * (k * keys + 1))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter cannot have generations of %llu keys in parts of %llu bits",
						(unsigned long long) keys, (unsigned long long) g->part_bits);
	return true;
}

static uint64_t
body_words(const blx_geometry *g)
{
	return PREFIX_WORDS + g->parts * blx_words_for_bits(g->part_bits);
}

static bool
check_body(const blx_filter *f, uint64_t words, blx_error *error)
{
	const uint64_t *state = blx_cwords(f);
	blx_geometry g = blx_geometry_of(f);

	if (words != body_words(&g))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter has a body of %llu words where its geometry needs %llu",
						(unsigned long long) words, (unsigned long long) body_words(&g));
	if (state[IN_GENERATION] > state[GENERATION] || state[YOUNGEST] >= f->parts)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter cannot be at key %llu of a generation of %llu, with part %llu of %u the youngest",
						(unsigned long long) state[IN_GENERATION], (unsigned long long) state[GENERATION],
						(unsigned long long) state[YOUNGEST], f->parts);
	return true;
}

static bool
check_contents(blx_filter *f, blx_error *error)
{
	return blx_check_spare_bits(blx_cwords(f) + PREFIX_WORDS, f->parts, f->part_bits, error);
}

/* ---- the ring ---- */

/* Returns the physical number of a logical slice.  Logical slice 0 is the youngest. */
static inline unsigned
physical(const blx_filter *f, unsigned logical)
{
	unsigned	slice = (unsigned) blx_cwords(f)[YOUNGEST] + logical;

	return slice < f->parts ? slice : slice - f->parts;
}

/* Returns the word of the body where a physical slice begins. */
static inline uint64_t
slice_offset(const blx_filter *f, unsigned slice)
{
	return PREFIX_WORDS + slice * blx_words_for_bits(f->part_bits);
}

/* Clears the oldest slice and makes it the youngest. */
static void
turn(blx_filter *f)
{
	uint64_t   *words = blx_words(f);
	unsigned	oldest = physical(f, f->parts - 1u);

	memset(words + slice_offset(f, oldest), 0, 8 * blx_words_for_bits(f->part_bits));
	words[YOUNGEST] = oldest;
	words[IN_GENERATION] = 0;
}

/* Adds n keys to the present generation, slice by slice, so that memory is touched one slice at a time. */
static void
add_to_generation(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *words = blx_words(f);

	for (unsigned logical = 0; logical < words[K]; logical++)
	{
		unsigned	slice = physical(f, logical);
		uint64_t   *bits = words + slice_offset(f, slice);

		for (size_t i = 0; i < n; i++)
		{
			uint64_t	bit = blx_scale(blx_derive(hashes[i], slice), f->part_bits);

			bits[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
	words[IN_GENERATION] += n;
	words[ADDED] += n;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *words = blx_words(f);

	/* Turn if the generation is full, then add as many keys as it still takes. */
	for (size_t done = 0; done < n;)
	{
		uint64_t	room;
		size_t		now;

		if (words[IN_GENERATION] == words[GENERATION])
			turn(f);
		room = words[GENERATION] - words[IN_GENERATION];
		now = n - done < room ? n - done : (size_t) room;
		add_to_generation(f, hashes + done, now);
		done += now;
	}
	return n;
}

static inline bool
slice_has(const blx_filter *f, unsigned slice, uint64_t hash)
{
	uint64_t	bit = blx_scale(blx_derive(hash, slice), f->part_bits);

	return blx_cwords(f)[slice_offset(f, slice) + bit / 64] >> bit % 64 & 1;
}

/*
 * True if k adjacent slices all have the key's bit, by the paper's search.  It
 * begins k slices from the old end and walks up.  No run of k can include a slice
 * that lacks the bit, so after a miss the next slice to look at is k below.  From
 * there the walk goes up again, to the slices just above that have already
 * matched; `above` is their number, and they are not tested twice.
 */
static bool
test(const blx_filter *f, uint64_t hash)
{
	int			k = (int) blx_cwords(f)[K];
	int			run = 0,
				above = 0;

	for (int i = f->parts - k; i >= 0;)
		if (slice_has(f, physical(f, (unsigned) i), hash))
		{
			i++;
			run++;
			if (run + above == k)
				return true;
		}
		else					/* the matches since the last jump are the slices just above the next walk */
		{
			i -= k;
			above = run;
			run = 0;
		}
	return false;
}

/* ---- formulas ---- */

/* Returns the chance that a bit of a slice is set after `keys` keys. */
static double
expected_fill(const blx_geometry *g, uint64_t keys)
{
	if (g->part_bits == 1)
		return keys > 0;
	return -expm1((double) keys * log1p(-1 / (double) g->part_bits));
}

/*
 * With n keys, generation `now` is under way and has `current` keys.  Logical
 * slice i has taken the keys of generations now-i .. now-i+k-1, as far as they
 * exist.
 */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	uint64_t	k = g->parameters[K],
				size = g->parameters[GENERATION],
				now = (n - 1) / size,
				current = n - now * size;
	double		fills[MAX_SLICES];

	for (unsigned i = 0; i < g->parts; i++)
	{
		uint64_t	first = now < i ? 0 : now - i,
					end = now + k < i ? 0 : now + k - i;	/* the generation after the last */

		/* generations to come do not count, and the present one counts only what it has */
		if (end > now + 1)
			end = now + 1;
		fills[i] = first >= end ? 0 : expected_fill(g, (end - first) * size - (end > now ? size - current : 0));
	}
	return blx_run_probability(fills, g->parts, (unsigned) k);
}

/*
 * The worst moment: all slices are in use, and just before a turn each has
 * taken as many keys as it will in its place.
 */
static double
fpr_bound(const blx_geometry *g)
{
	uint64_t	k = g->parameters[K];
	double		fills[MAX_SLICES];

	for (unsigned i = 0; i < g->parts; i++)
		fills[i] = expected_fill(g, (i + 1 < k ? i + 1 : k) * g->parameters[GENERATION]);
	return blx_run_probability(fills, g->parts, (unsigned) k);
}

/* ---- sizing ---- */

/* Returns the fewest keys per generation with which l generations cover a window of `capacity` keys. */
static uint64_t
keys_of_generation(uint64_t capacity, unsigned l)
{
	return (capacity - 1) / l + 1;
}

/*
 * Sets *g to the smallest k + l slices, in whole words and at most max_words in
 * all, that meet the rate.  False if there are none.
 */
static bool
smallest_slices(unsigned k, unsigned l, uint64_t capacity, double fpr, uint64_t max_words, blx_geometry *g)
{
	uint64_t	keys = keys_of_generation(capacity, l),
				low = 1,
				high = max_words / (k + l);

	if (keys > MAX_GENERATION_KEYS)
		return false;
	high = high < k * keys + 1 ? high : k * keys + 1;
	*g = (blx_geometry) {.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = (uint16_t) (k + l), .probes = 1,
		.part_bits = 64 * high, .parameters = {k, keys}};
	/* The largest slices must meet the rate. */
	if (high == 0 || fpr_bound(g) >= fpr)
		return false;

	/* The rate falls with the size: bisect. */
	while (low < high)
	{
		g->part_bits = 64 * (low + (high - low) / 2);
		if (fpr_bound(g) < fpr)
			high = g->part_bits / 64;
		else
			low = g->part_bits / 64 + 1;
	}
	g->part_bits = 64 * low;
	return true;
}

/*
 * Returns the words of the smallest slices of any k and l; 0 if there are none.
 * `asked` is the number of generations that the user asked for, or 0.  Otherwise
 * each l tried is about a tenth larger than the one before, 53 values instead of
 * 1024, since the memory changes slowly with l.
 */
static uint64_t
least_words(uint64_t capacity, double fpr, unsigned asked)
{
	uint64_t	least = BLX_MAX_BYTES / 8 - BLX_MAX_NAME;
	unsigned	first = asked ? asked : 1,
				last = asked ? asked : MAX_GENERATIONS;
	bool		found = false;
	blx_geometry g;

	for (unsigned l = first; l <= last; l += l / 10 + 1)
	{
		/* generations of that many keys may cover the window in fewer than l */
		unsigned	needed = asked ? asked : (unsigned) ((capacity - 1) / keys_of_generation(capacity, l) + 1);

		for (unsigned k = 1; k <= blx_most_k(fpr); k++)
			/* only what takes less than the least so far */
			if (smallest_slices(k, needed, capacity, fpr, least - found, &g))
			{
				least = g.parts * (g.part_bits / 64);
				found = true;
			}
	}
	return found ? least : 0;
}

/*
 * Plans the fewest slices that need at most a sixteenth more than the least
 * memory.  Memory is flat around its least, and an absent key costs somewhat less
 * than 2 (k + l) / k probes, so a little memory buys much time: at 1 % the plan is
 * 8 + 17 slices with 20.8 bits per key, where the least is 19.6 bits with 10 + 50.
 */
static bool
plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	asked = (unsigned) options->value[BLX_OPT_GENERATIONS];
	uint64_t	words = least_words(capacity, fpr, asked);
	bool		found = false;
	blx_geometry best;

	/* The least memory is the measure of what is too much. */
	if (words == 0)
		return blx_fail(error, BLX_LIMIT, NULL, "Choose a shorter window or a higher rate.",
						"no age_partitioned filter of at most 1 GB has a window of %llu keys at a false positive rate of %g",
						(unsigned long long) capacity, fpr);

	/* By the number of slices: the first that meets the rate within the budget; of several k the smallest. */
	words += words / 16;
	for (unsigned parts = asked + 1; !found; parts++)
	{
		unsigned	first = asked ? parts - asked : 1,
					last = asked ? parts - asked : parts - 1;

		for (unsigned k = first; k <= last && k <= blx_most_k(fpr); k++)
			if (parts - k <= MAX_GENERATIONS && smallest_slices(k, parts - k, capacity, fpr, words, g))
			{
				words = parts * (g->part_bits / 64) - 1;
				best = *g;
				found = true;
			}
	}
	*g = best;
	return true;
}

/*
 * Takes twice as many generations as a key has bits unless the user asked for a
 * number, as plans for 1 % do (8 + 17).  g is such that the slices become half
 * full, as in the paper.
 */
static bool
at_bits(double whole_k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	k = (unsigned) whole_k,
				asked = (unsigned) options->value[BLX_OPT_GENERATIONS],
				parts = k + (asked ? asked : 2 * k);
	uint64_t	part_bits = bits / parts,
				keys = (uint64_t) ((double) part_bits * LN2 / k);

	if (keys < 1)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least %.0f for an age_partitioned filter of %u and %u parts, not %llu",
						parts * ceil(k / LN2), k, parts - k, (unsigned long long) bits);
	*g = (blx_geometry) {.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = (uint16_t) parts, .probes = 1,
		.part_bits = part_bits, .parameters = {k, keys}};
	return true;
}

/* ---- estimates ---- */

/* Returns the share of a logical slice's bits that are set. */
static double
slice_fill(const blx_filter *f, unsigned logical)
{
	const uint64_t *slice = blx_cwords(f) + slice_offset(f, physical(f, logical));

	return (double) blx_popcount(slice, blx_words_for_bits(f->part_bits)) / (double) f->part_bits;
}

static uint64_t
bits_set(const blx_filter *f)
{
	return blx_popcount(blx_cwords(f) + PREFIX_WORDS, f->parts * blx_words_for_bits(f->part_bits));
}

static double
fpr(const blx_filter *f)
{
	double		fills[MAX_SLICES];

	for (unsigned i = 0; i < f->parts; i++)
		fills[i] = slice_fill(f, i);
	return blx_run_probability(fills, f->parts, (unsigned) blx_cwords(f)[K]);
}

/*
 * Estimates the keys of the last l + 1 generations, which are those whose keys
 * are all still found.  Logical slices l, l - k, l - 2k, ... have taken k
 * generations each, one stretch after another up to the present, so together
 * they have each generation once.  A slice of fill F has seen
 * ln(1 - F) / ln(1 - 1/S) distinct keys (Swamidass and Baldi 2007).  A key that came
 * again in another slice's stretch counts again.
 */
static double
cardinality(const blx_filter *f)
{
	unsigned	k = (unsigned) blx_cwords(f)[K];
	double		keys = 0;

	for (unsigned i = (f->parts - k) % k; i <= f->parts - k; i += k)
	{
		double		fill = slice_fill(f, i);

		if (fill >= 1)
			return INFINITY;
		keys += fill > 0 ? log1p(-fill) / log1p(-1 / (double) f->part_bits) : 0;
	}
	return keys;
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	const uint64_t *state = blx_cwords(f);
	blx_geometry g = blx_geometry_of(f);

	emit(arg, "k", (double) state[K], NULL);
	emit(arg, "generations", generations(&g), NULL);
	emit(arg, "generation_keys", (double) state[GENERATION], NULL);
	emit(arg, "window", (double) state[GENERATION] * generations(&g), NULL);
	emit(arg, "slack", (double) state[GENERATION], NULL);
	emit(arg, "keys_in_generation", (double) state[IN_GENERATION], NULL);
	emit(arg, "keys_added", (double) state[ADDED], NULL);
	emit(arg, "fpr_bound", fpr_bound(&g), NULL);
}

static const blx_option_range options[] = {
	{BLX_OPT_GENERATIONS, 1, MAX_GENERATIONS, 0},	/* 0, not in the range: the plan chooses */
	{0}
};

#define OTHER_KEYS "Parts in the same place of two filters do not have keys of the same age."

const blx_layout blx_layout_age_partitioned = {
	.name = "age_partitioned",
	.traits = BLX_STREAM | BLX_UNBOUNDED,
	.options = options,
	.why_not = {
		[BLX_UNION] = "It is not known in which order the keys of the two filters came, so the last ones cannot be told from older ones.",
		[BLX_INTERSECTION] = OTHER_KEYS,
		[BLX_DISJOINT] = OTHER_KEYS,
		[BLX_COMPARISON] = OTHER_KEYS,
		[BLX_PREFIX] = "Its parts have different ages: without some of them, the window would be shorter or the rate higher.",
		[BLX_FOLD] = "Its parts are filled to a half: a folded filter would find most keys.",
	},
	.instead = {
		[BLX_UNION] = "Test each filter, or add all keys to one filter in the order in which they came.",
		[BLX_INTERSECTION] = "Test both filters.",
	},
	.bits_per_key = bits_per_key,
	.one = BLX_ONE_BLOCK | BLX_ONE_PROBE,
	.check = check,
	.plan = plan,
	.at_bits = at_bits,
	.add = add,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_bound = fpr_bound,
	.parameters = GENERATION + 1,
	.notes = 1,
	.body_words = body_words,
	.check_body = check_body,
	.check_contents = check_contents,
	.bits_set = bits_set,
	.cardinality = cardinality,
	.fpr = fpr,
	.details = details,
};
