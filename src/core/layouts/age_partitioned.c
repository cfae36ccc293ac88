/*
 * age_partitioned.c - a sliding window over a stream: k + l slices in a
 * ring, the oldest of which is retired after every generation of g keys.
 *
 * Shtul, Baquero, Almeida 2020 (arXiv 2001.03147).  A key sets one bit in each
 * of the k youngest slices.  After g keys the ring turns: the oldest slice is
 * cleared and becomes the youngest.  A key's k slices stay neighbours while
 * they move from the young end to the old end, so it is found when some k
 * adjacent slices all have its bit.  They are whole for l turns: the last l*g
 * keys are always found (the paper's window), whatever their place in their
 * generation; then one of them goes with every turn, and after k more the key
 * is as unknown as any other.
 *
 * Each physical slice has a hash of its own (w_p), so turning moves no bit.
 * Slices being independent, the false positive rate is that of a run of k
 * successes among k + l trials, each of which succeeds with the slice's fill:
 * exact for the bits as they are, and with expected fills for the expectation.
 *
 * Two things differ from the paper.  Its fills of the k youngest, (i+1) / 2k,
 * are the chord below the exact 1 - 2^(-(i+1)/k), and its pairs of k and l miss
 * their targets by up to a half.  And its slices are half full once they have
 * had their k generations; a fill of 0.4, with fewer bits a key, takes less.
 *
 * The ring turns before the first key of a generation, not after the last.
 * Whose keys came when is not known afterwards: two rings cannot be combined.
 */
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"
#include "core/theory/theory.h"

#define MAX_GENERATIONS 1024	/* l: more of them gain no memory */
#define MAX_SLICES (BLX_MAX_K + MAX_GENERATIONS)
#define LN2 0.69314718055994530942
#define MAX_GENERATION_KEYS (UINT64_C(1) << 40)

/* The body's first words.  The first two are the parameters; the third is for the curious only. */
enum
{
	K,							/* slices that a key sets a bit in */
	GENERATION,					/* g, keys between two turns */
	ADDED,						/* keys, ever */
	IN_GENERATION,				/* keys since the last turn, 0 .. g */
	YOUNGEST,					/* the physical slice that is logical slice 0 */
	PREFIX_WORDS
};

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

/* A slice is not so large that clearing it costs more than the keys of its generation did. */
static bool
check(const blx_geometry *g, blx_error *error)
{
	uint64_t	k = g->parameters[K],
				keys = g->parameters[GENERATION];

	if (g->blocks != 1 || g->probes != 1)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter has one block with one probe a slice, not %u with %u", g->blocks, g->probes);
	if (k < 1 || k >= g->parts || g->parts - k > MAX_GENERATIONS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter of %u slices cannot set bits in %llu of them",
						g->parts, (unsigned long long) k);
	if (keys < 1 || keys > MAX_GENERATION_KEYS || g->part_bits > 64 * (k * keys + 1))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"an age_partitioned filter cannot have generations of %llu keys in slices of %llu bits",
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
						"an age_partitioned filter cannot be at key %llu of a generation of %llu, with slice %llu of %u the youngest",
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

/* Logical slice 0 is the youngest. */
static inline unsigned
physical(const blx_filter *f, unsigned logical)
{
	unsigned	slice = (unsigned) blx_cwords(f)[YOUNGEST] + logical;

	return slice < f->parts ? slice : slice - f->parts;
}

static inline uint64_t
slice_offset(const blx_filter *f, unsigned slice)
{
	return PREFIX_WORDS + slice * blx_words_for_bits(f->part_bits);
}

static void
turn(blx_filter *f)
{
	uint64_t   *words = blx_words(f);
	unsigned	oldest = physical(f, f->parts - 1u);

	memset(words + slice_offset(f, oldest), 0, 8 * blx_words_for_bits(f->part_bits));
	words[YOUNGEST] = oldest;
	words[IN_GENERATION] = 0;
}

/* Keys of one generation, slice by slice: n of them share the slice's seed and stay in its memory. */
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
 * Do some k adjacent slices all have the key's bit?  The paper's search: no
 * run of k can include a slice that lacks it, so the next one to look at is k
 * below.  From there upwards the slices are new until those that matched just
 * above (`above` of them), which need not be asked again.
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
		else
		{
			i -= k;
			above = run;
			run = 0;
		}
	return false;
}

/* ---- formulas ---- */

/* The chance that a bit of a slice is set after so many keys. */
static double
expected_fill(const blx_geometry *g, uint64_t keys)
{
	if (g->part_bits == 1)
		return keys > 0;
	return -expm1((double) keys * log1p(-1 / (double) g->part_bits));
}

/* Logical slice i has taken the keys of generations now-i .. now-i+k-1, as far as there are such. */
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
					end = now + k < i ? 0 : now + k - i;	/* the one after the last */

		if (end > now + 1)
			end = now + 1;
		fills[i] = first >= end ? 0 : expected_fill(g, (end - first) * size - (end > now ? size - current : 0));
	}
	return blx_run_probability(fills, g->parts, (unsigned) k);
}

/* All slices at work, and the moment before a turn: each has taken as many keys as it will in its place. */
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

/* The least number of keys that l generations of a window have. */
static uint64_t
keys_of_generation(uint64_t capacity, unsigned l)
{
	return (capacity - 1) / l + 1;
}

/*
 * Not more than fpr_bound, and quick: only the slices that k generations have
 * gone through, l + 1 of the same fill.  P(no run of k among n) is at most
 * P(none among n - 1) times 1 minus the chance that one ends at the n-th and
 * is no longer than k.
 */
static double
fpr_floor(const blx_geometry *g)
{
	uint64_t	k = g->parameters[K];
	double		fill = expected_fill(g, k * g->parameters[GENERATION]),
				run = blx_power(fill, (unsigned) k);

	if (generations(g) + 1 < k)
		return 0;
	return -expm1(log1p(-run) + (double) (generations(g) + 1 - k) * log1p(-run * (1 - fill)));
}

/* The smallest k + l slices, in whole words, at most max_words in all, that meet the rate. */
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
	if (high == 0 || fpr_floor(g) >= fpr || fpr_bound(g) >= fpr)
		return false;
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

/* A k beyond this only fills the slices further. */
static unsigned
most_k(double fpr)
{
	return (unsigned) fmin(BLX_MAX_K, 3 + 2.2 * -log2(fpr));
}

/* The words of the smallest slices of any k and l, of which every tenth part more is tried; 0 if there are none. */
static uint64_t
least_words(uint64_t capacity, double fpr, unsigned asked)
{
	uint64_t	least = BLX_MAX_BYTES / 8 - BLX_MAX_NAME;
	bool		found = false;
	blx_geometry g;

	for (unsigned l = asked ? asked : 1; l <= (asked ? asked : MAX_GENERATIONS); l += l / 10 + 1)
	{
		/* with so many keys in a generation fewer may do */
		unsigned	needed = asked ? asked : (unsigned) ((capacity - 1) / keys_of_generation(capacity, l) + 1);

		for (unsigned k = 1; k <= most_k(fpr); k++)
			if (smallest_slices(k, needed, capacity, fpr, least - found, &g))
			{
				least = g.parts * (g.part_bits / 64);
				found = true;
			}
	}
	return found ? least : 0;
}

/*
 * The fewest slices that need at most a sixteenth more than the least memory,
 * which is flat there: an absent key costs somewhat less than 2 (k + l) / k probes.
 */
static bool
plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	asked = (unsigned) options->value[BLX_OPT_GENERATIONS];
	uint64_t	words = least_words(capacity, fpr, asked);
	bool		found = false;
	blx_geometry best;

	if (words == 0)
		return blx_fail(error, BLX_LIMIT, NULL, "Ask for a shorter window or a higher rate.",
						"no age_partitioned filter of at most 1 GB has a window of %llu keys at a false positive rate of %g",
						(unsigned long long) capacity, fpr);
	words += words / 16;
	for (unsigned parts = asked + 1; !found; parts++)
		for (unsigned k = asked ? parts - asked : 1; k <= (asked ? parts - asked : parts - 1) && k <= most_k(fpr); k++)
			if (parts - k <= MAX_GENERATIONS && smallest_slices(k, parts - k, capacity, fpr, words, g))
			{
				words = parts * (g->part_bits / 64) - 1;
				best = *g;
				found = true;
			}
	*g = best;
	return true;
}

/* Twice as many generations as a key has bits, where nobody asked for a number; g such that the slices get half full. */
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
						"bits must be at least %.0f for an age_partitioned filter of %u and %u slices, not %llu",
						parts * ceil(k / LN2), k, parts - k, (unsigned long long) bits);
	*g = (blx_geometry) {.layout = BLX_AGE_PARTITIONED, .blocks = 1, .parts = (uint16_t) parts, .probes = 1,
		.part_bits = part_bits, .parameters = {k, keys}};
	return true;
}

/* ---- estimates ---- */

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
 * Logical slices l, l - k, l - 2k ... have taken, each, k generations, one
 * after another up to the present: together each of the last l + 1 once, which
 * are those whose keys are all still found.  A slice of fill F has seen
 * ln(1 - F) / ln(1 - 1/S) distinct keys (Swamidass & Baldi); a key that came
 * again in the generations of another of these slices counts again.
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
details(const blx_filter *f, blx_tell tell, void *arg)
{
	const uint64_t *state = blx_cwords(f);
	blx_geometry g = blx_geometry_of(f);

	tell(arg, "k", (double) state[K], NULL);
	tell(arg, "generations", generations(&g), NULL);
	tell(arg, "generation_keys", (double) state[GENERATION], NULL);
	tell(arg, "window", (double) state[GENERATION] * generations(&g), NULL);
	tell(arg, "slack", (double) state[GENERATION], NULL);
	tell(arg, "keys_in_generation", (double) state[IN_GENERATION], NULL);
	tell(arg, "keys_added", (double) state[ADDED], NULL);
	tell(arg, "fpr_bound", fpr_bound(&g), NULL);
}

static const blx_option_range options[] = {
	{BLX_OPT_GENERATIONS, 1, MAX_GENERATIONS, 0},	/* 0: the plan chooses */
	{0}
};

#define OTHER_KEYS "A bit's age depends on when its filter's ring turned: equal slices of two filters do not stand for the same keys."

const blx_layout blx_layout_age_partitioned = {
	.name = "age_partitioned",
	.traits = BLX_STREAM | BLX_UNBOUNDED,
	.options = options,
	.why_not = {
		[BLX_UNION] = "Whose keys came before whose is not known, so none can be said to be among the last.",
		[BLX_INTERSECTION] = OTHER_KEYS,
		[BLX_DISJOINT] = OTHER_KEYS,
		[BLX_COMPARISON] = OTHER_KEYS,
		[BLX_PREFIX] = "Its slices differ in age: fewer of them are a shorter window or a higher rate.",
		[BLX_FOLD] = "Its slices are half full when they are at work: folded ones would find most keys.",
	},
	.instead = {
		[BLX_UNION] = "Ask each filter, or add all keys to one filter in the order of their time.",
		[BLX_INTERSECTION] = "Ask both filters.",
	},
	.bits_per_key = bits_per_key,
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
