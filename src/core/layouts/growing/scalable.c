/*
 * scalable.c - a chain of filters that grows with its keys.
 *
 * Almeida, Baquero, Preguica, Hutchison 2007, "Scalable Bloom Filters".  Keys go
 * into the newest stage until half of its bits are set.  Then a stage with s
 * times as many blocks is added.  A key is in the filter if one stage has all its
 * bits.  Stage i has the fewest parts with which it errs, when half full, with
 * probability P0 r^i at most.  So the chain errs with less than P0 / (1 - r),
 * however many keys come.  A plan takes the exact sum, since parts are whole.
 * Stages have at most 64 parts; at that point they err with less than 1e-17, and
 * no chain has enough of them for that to matter.
 *
 * Stages are parts in groups (groups.h), and all of them use the same hashes.  So
 * any two stages can be tested for disjointness, and two of equal shape can be
 * united.  As in the paper, a key is not added if the filter already finds it:
 * it has all its bits in one stage, and bits never vanish.
 *
 * The union has the stages of both chains.  Two stages of equal shape become one
 * if the result is no more than half full, or no fuller than the fuller one was.
 * So the rate of the union stays below the sum of the two bounds.  There is no
 * intersection, since a key may be in stages of different sizes.
 *
 * The header describes the first stage, level 0.  The body: s; r in 1/65536; the
 * number of stages; a record per stage, the newest and largest first, which has
 * from the low end the bits set (48 bits), log2 of the blocks (8) and the parts
 * (8); then the words of the stages in the same order.
 */
#include <math.h>
#include <string.h>

#include "core/layouts/geometry.h"
#include "core/layouts/growing/chain.h"
#include "core/layouts/groups.h"
#include "core/theory/theory.h"

enum
{
	GROWTH, TIGHTENING, STAGES, RECORDS,
	PARAMETERS = STAGES
};

/*
 * All records lie in BLX_HEAD_BYTES, so that a stored filter can be tested after
 * one read of its head; 200 is the most that fits.  2^27 blocks of one part are
 * 1 GB.  A union leaves room for all stages that can still be added: each has at
 * least twice the blocks of the one before, so there are at most MAX_LOG2 + 1.
 */
#define MAX_STAGES BLX_MAX_CHAIN
#define MAX_LOG2 27
#define MAX_UNITED_STAGES (MAX_STAGES - MAX_LOG2 - 1)

_Static_assert(sizeof(blx_filter) + (BLX_MAX_NAME + 1) + 8 * (RECORDS + MAX_STAGES) <= BLX_HEAD_BYTES, "the head holds all records");

/*
 * The range of r.  A small r gives every stage more probes than the one before,
 * -log2 r of them.  An r near 1 makes the first stage pay, which must err with
 * 1 - r of the whole rate: a twentieth at 0.95.
 */
#define LEAST_TIGHTENING 0.1
#define MOST_TIGHTENING 0.95

typedef struct stage
{
	blx_groups	shape;
	uint64_t	set;			/* bits that are set */
} stage;

/* Takes a record apart. */
static inline stage
stage_of(uint64_t record)
{
	return (stage) {{.log2 = record >> 48 & 255, .parts = (unsigned) (record >> 56)}, record & UINT64_C(0xffffffffffff)};
}

static inline uint64_t
record_of(const stage *s)
{
	return (uint64_t) s->shape.parts << 56 | (uint64_t) s->shape.log2 << 48 | s->set;
}

static inline uint64_t
bits_of(const stage *s)
{
	return 64 * blx_groups_words(s->shape);
}

static inline bool
is_full(const stage *s)
{
	return 2 * s->set >= bits_of(s);
}

/* ---- shapes and sizes ---- */

/*
 * Returns how many keys set half the bits of a stage, on average.  If there are
 * many blocks, that is 64 ln 2 = 44.36 per block.
 */
static double
keys_when_full(unsigned log2)
{
	return -log(2) / log1p(-1 / ldexp(64, (int) log2));
}

/*
 * Returns the rate of a half-full stage of many blocks.  Groups are independent,
 * and the load of a block is Poisson with mean 64 ln 2.  of_group[p] is the mean
 * of (1 - (63/64)^load)^p.  These are constants, so that every machine makes the
 * same stages.
 */
static double
rate_when_full(unsigned parts)
{
	static const double of_group[BLX_GROUP + 1] = {
		1,
		0.5,
		0.2527223215129251,
		0.12906070456651217,
		0.06656020893143381,
		0.034651052424074145,
		0.018202268099765044,
		0.009644542254162109,
		0.0051527187304857705
	};

	return blx_power(of_group[BLX_GROUP], parts / BLX_GROUP) * of_group[parts % BLX_GROUP];
}

static inline double
tightening_of(const blx_geometry *g)
{
	return (double) g->parameters[TIGHTENING] / 65536;
}

static inline unsigned
growth_log2(const blx_geometry *g)
{
	return (unsigned) __builtin_ctzll(g->parameters[GROWTH]);
}

/* Returns the fewest parts whose rate is at most that of level 0 times r^level. */
static unsigned
parts_at(const blx_geometry *g, unsigned level)
{
	double		rate = rate_when_full(g->parts) * pow(tightening_of(g), level);
	unsigned	parts = g->parts;

	while (parts < BLX_MAX_K && rate_when_full(parts) > rate)
		parts++;
	return parts;
}

/*
 * Returns the sum of the rates of all full stages from that level on.  It goes
 * over more levels than a filter of 1 GB can have.
 */
static double
bound_from(const blx_geometry *g, unsigned level)
{
	double		bound = 0;

	for (; level <= MAX_LOG2; level++)
		bound += rate_when_full(parts_at(g, level));
	return bound;
}

/* Returns the level of a stage with 2^log2 blocks. */
static unsigned
level_of(const blx_geometry *g, unsigned log2)
{
	unsigned	first = (unsigned) __builtin_ctz(g->blocks);

	return log2 > first ? (log2 - first) / growth_log2(g) : 0;
}

/* Returns the shape of the stage that will be added next. */
static blx_groups
next_shape(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f);
	unsigned	newest = stage_of(blx_cwords(f)[RECORDS]).shape.log2;

	return (blx_groups) {.log2 = newest + growth_log2(&g), .parts = parts_at(&g, level_of(&g, newest) + 1)};
}

static bool
check(const blx_geometry *g, blx_error *error)
{
	const uint64_t *p = g->parameters;

	if (g->part_bits != 64 || (g->blocks & (g->blocks - 1)) != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a scalable filter has a power of two of blocks, of parts of 64 bits, not %u of %llu",
						g->blocks, (unsigned long long) g->part_bits);
	if (p[GROWTH] < 2 || p[GROWTH] > 16 || (p[GROWTH] & (p[GROWTH] - 1)) != 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, "Growth is 2, 4, 8 or 16.",
						"a scalable filter cannot grow by a factor of %llu", (unsigned long long) p[GROWTH]);
	/* The stored ratio is rounded, hence the tolerance. */
	if (p[TIGHTENING] > 65535 || tightening_of(g) < LEAST_TIGHTENING - 1e-4 || tightening_of(g) > MOST_TIGHTENING + 1e-4)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"a scalable filter cannot have a tightening ratio of %llu/65536", (unsigned long long) p[TIGHTENING]);
	return true;
}

static void
set_geometry(blx_geometry *g, unsigned log2, unsigned parts, const blx_options *options)
{
	*g = (blx_geometry) {
		.layout = BLX_SCALABLE,
		.blocks = UINT32_C(1) << log2,
		.parts = (uint16_t) parts,
		.probes = 1,
		.part_bits = 64,
		.parameters = {
			[GROWTH] = (uint64_t) options->value[BLX_OPT_GROWTH],
			[TIGHTENING] = (uint64_t) rint(options->value[BLX_OPT_TIGHTENING] * 65536)
		}
	};
}

/* Plans a first stage that holds `capacity` keys, with the fewest parts that keep the whole chain at fpr or below. */
static bool
plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	log2 = 0,
				parts = 1;

	/* The blocks, then the parts. */
	while (log2 < MAX_LOG2 && keys_when_full(log2) < (double) capacity)
		log2++;
	if (keys_when_full(log2) < (double) capacity)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
						"a scalable filter that starts with %llu keys exceeds the limit of 1 GB", (unsigned long long) capacity);
	set_geometry(g, log2, parts, options);
	while (bound_from(g, 0) > fpr && parts < BLX_MAX_K)
		set_geometry(g, log2, ++parts, options);
	if (bound_from(g, 0) > fpr)
		return blx_fail(error, BLX_LIMIT, NULL, "Choose a higher rate.",
						"a scalable filter, of at most %u probes a stage, cannot reach a false positive rate of %g", BLX_MAX_K, fpr);
	return true;
}

static bool
at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	unsigned	parts = (unsigned) k,
				log2 = 0;

	if (bits < 64 * parts)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least 64 * k for a scalable filter's first stage, %u, not %llu",
						64 * parts, (unsigned long long) bits);
	while (log2 < MAX_LOG2 && UINT64_C(128) * parts << log2 <= bits)
		log2++;
	set_geometry(g, log2, parts, options);
	return true;
}

/* ---- the body ---- */

static uint64_t
words(const blx_filter *f)
{
	const uint64_t *state = blx_cwords(f);
	uint64_t	total = RECORDS + state[STAGES];

	for (uint64_t i = 0; i < state[STAGES]; i++)
		total += blx_groups_words(stage_of(state[RECORDS + i]).shape);
	return total;
}

static uint64_t
body_words(const blx_geometry *g)
{
	return RECORDS + 1 + (uint64_t) g->blocks * g->parts;
}

static void
init(blx_filter *f)
{
	const stage first = {{.log2 = (unsigned) __builtin_ctz(f->blocks), .parts = f->parts}, 0};

	blx_words(f)[STAGES] = 1;
	blx_words(f)[RECORDS] = record_of(&first);
}

static bool
check_body(const blx_filter *f, uint64_t available, blx_error *error)
{
	const uint64_t *state = blx_cwords(f);
	unsigned	log2 = MAX_LOG2;

	if (available <= RECORDS || state[STAGES] < 1 || state[STAGES] > MAX_STAGES || available < RECORDS + state[STAGES])
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a scalable filter has an impossible number of stages");
	/* Stages are possible shapes, the largest first, and their words are all there. */
	for (uint64_t i = 0; i < state[STAGES]; i++)
	{
		stage		s = stage_of(state[RECORDS + i]);

		if (s.shape.parts < 1 || s.shape.parts > BLX_MAX_K || s.shape.log2 > log2 || s.set > bits_of(&s))
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a scalable filter has an impossible stage of %u parts in 2^%u blocks",
							s.shape.parts, s.shape.log2);
		log2 = s.shape.log2;
	}
	if (available != words(f))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a scalable filter has a body of %llu words where its stages need %llu",
						(unsigned long long) available, (unsigned long long) words(f));
	return true;
}

/* Whether a stage is full depends on the number of bits that its record gives. */
static bool
check_contents(blx_filter *f, blx_error *error)
{
	const uint64_t *state = blx_cwords(f);
	const uint64_t *bits = state + RECORDS + state[STAGES];

	for (uint64_t i = 0; i < state[STAGES]; i++)
	{
		stage		s = stage_of(state[RECORDS + i]);

		if (blx_popcount(bits, blx_groups_words(s.shape)) != s.set)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a stage of a scalable filter does not have the %llu bits that it says",
							(unsigned long long) s.set);
		bits += blx_groups_words(s.shape);
	}
	return true;
}

/* ---- keys ---- */

static inline __attribute__((always_inline)) bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	const uint64_t *state = blx_cwords(f);
	uint64_t	first = RECORDS + state[STAGES];

	for (uint64_t i = 0; i < state[STAGES]; i++)
	{
		blx_groups	shape = stage_of(state[RECORDS + i]).shape;

		if (blx_groups_test_fetched(shape, first, hash, fetch, arg))
			return true;
		first += blx_groups_words(shape);
	}
	return false;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return test_fetched(f, hash, blx_fetch_memory, (void *) (uintptr_t) blx_cwords(f));
}

/* The keys of a batch of up to BLX_BATCH that are not known yet, by their numbers in it. */
typedef struct batch
{
	const uint64_t *hashes;
	unsigned	count;
	uint8_t		number[BLX_BATCH];
} batch;

/* Prefetches the keys' blocks in the first group of a stage. */
static void
prefetch(const batch *keys, const uint64_t *bits, blx_groups shape)
{
	unsigned	parts = blx_group_parts(shape, 0);

	for (unsigned i = 0; i < keys->count; i++)
		__builtin_prefetch(bits + blx_group_block(keys->hashes[keys->number[i]], shape.log2) * parts, 1);
}

/* Drops the keys that a stage finds. */
static void
drop_known(batch *keys, const uint64_t *bits, blx_groups shape)
{
	unsigned	left = 0;

	prefetch(keys, bits, shape);
	for (unsigned i = 0; i < keys->count; i++)
		if (!blx_groups_test(bits, shape, keys->hashes[keys->number[i]]))
			keys->number[left++] = keys->number[i];
	keys->count = left;
}

/* Sets the bits of a key in a stage.  Returns how many were not set before, which the kernels do not count. */
static unsigned
set_bits(uint64_t *bits, blx_groups shape, uint64_t hash)
{
	unsigned	news = 0;

	for (unsigned g = 0; g < blx_groups_count(shape); g++)
	{
		unsigned	parts = blx_group_parts(shape, g);
		uint64_t	h = blx_derive(hash, g);
		uint64_t	mixed = blx_group_mix(h);
		uint64_t   *block = bits + blx_group_block(h, shape.log2) * parts;

		for (unsigned j = 0; j < parts; j++)
		{
			uint64_t	bit = UINT64_C(1) << blx_group_bit(mixed, j);

			news += (block[j] & bit) == 0;
			block[j] |= bit;
		}
		bits += (uint64_t) parts << shape.log2;
	}
	return news;
}

/* Adds up to BLX_BATCH keys.  Returns how many it took: fewer if the newest stage is full and a key is new. */
static size_t
add_batch(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *state = blx_words(f);
	uint64_t   *newest_bits = state + RECORDS + state[STAGES];
	stage		newest = stage_of(state[RECORDS]);
	uint64_t   *bits = newest_bits;
	batch		keys = {.hashes = hashes, .count = (unsigned) n};
	size_t		taken = n;

	/* Drop the keys that an older stage finds, stage by stage. */
	for (unsigned i = 0; i < n; i++)
		keys.number[i] = (uint8_t) i;
	for (uint64_t i = 1; i < state[STAGES]; i++)
	{
		bits += blx_groups_words(stage_of(state[RECORDS + i - 1]).shape);
		drop_known(&keys, bits, stage_of(state[RECORDS + i]).shape);
	}

	/* The others go into the newest stage until it is full; then the first unknown key ends the batch. */
	prefetch(&keys, newest_bits, newest.shape);
	for (unsigned i = 0; i < keys.count; i++)
	{
		uint64_t	hash = hashes[keys.number[i]];

		if (!is_full(&newest))
			newest.set += set_bits(newest_bits, newest.shape, hash);
		else if (!blx_groups_test(newest_bits, newest.shape, hash))
		{
			taken = keys.number[i];
			break;
		}
	}
	state[RECORDS] = record_of(&newest);
	return taken;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	size_t		taken = 0;

	while (taken < n)
	{
		size_t		size = n - taken < BLX_BATCH ? n - taken : BLX_BATCH;
		size_t		of_batch = add_batch(f, hashes + taken, size);

		taken += of_batch;
		if (of_batch < size)
			break;
	}
	return taken;
}

static uint64_t
grown_words(const blx_filter *f)
{
	blx_groups	shape = next_shape(f);

	if (shape.log2 > MAX_LOG2 || blx_cwords(f)[STAGES] == MAX_STAGES)
		return BLX_MAX_BYTES;	/* in words: the caller refuses it as too large */
	return words(f) + 1 + blx_groups_words(shape);
}

/* Adds an empty stage in front, and copies the records and the words of the others behind it. */
static void
grow(blx_filter *dst, const blx_filter *f)
{
	const uint64_t *from = blx_cwords(f);
	uint64_t   *to = blx_words(dst);
	const stage newest = {next_shape(f), 0};

	to[STAGES] = from[STAGES] + 1;
	to[RECORDS] = record_of(&newest);
	memcpy(to + RECORDS + 1, from + RECORDS, 8 * from[STAGES]);
	memcpy(to + RECORDS + to[STAGES] + blx_groups_words(newest.shape), from + RECORDS + from[STAGES],
		   8 * (words(f) - RECORDS - from[STAGES]));
}

/* ---- a chain that was made elsewhere (filter/growth.h) ---- */

uint64_t
blx_chain_bytes(const blx_stage *stages, unsigned n, unsigned name_len)
{
	uint64_t	total = RECORDS + n;

	for (unsigned i = 0; i < n; i++)
		total += stages[i].blocks * stages[i].parts;
	return blx_header_bytes(name_len) + 8 * total;
}

/* The smallest stage stands for the first one. */
void
blx_chain_init(blx_filter *f, const blx_stage *stages, unsigned n, const blx_identity *id)
{
	const blx_options presets = {.value = {[BLX_OPT_GROWTH] = 2, [BLX_OPT_TIGHTENING] = 0.5}};
	blx_geometry g;

	set_geometry(&g, (unsigned) __builtin_ctzll(stages[n - 1].blocks), stages[n - 1].parts, &presets);
	blx_init_sized(f, &g, id, 0, blx_chain_bytes(stages, n, id->name_len));
	blx_words(f)[STAGES] = n;
	for (unsigned i = 0; i < n; i++)
	{
		const stage s = {{.log2 = (unsigned) __builtin_ctzll(stages[i].blocks), .parts = stages[i].parts}, 0};

		blx_words(f)[RECORDS + i] = record_of(&s);
	}
}

uint64_t *
blx_chain_words(blx_filter *f, unsigned i)
{
	uint64_t   *state = blx_words(f),
			   *bits = state + RECORDS + state[STAGES];

	for (unsigned j = 0; j < i; j++)
		bits += blx_groups_words(stage_of(state[RECORDS + j]).shape);
	return bits;
}

void
blx_chain_count(blx_filter *f)
{
	uint64_t   *state = blx_words(f);

	for (unsigned i = 0; i < state[STAGES]; i++)
	{
		stage		s = stage_of(state[RECORDS + i]);

		s.set = blx_popcount(blx_chain_words(f, i), blx_groups_words(s.shape));
		state[RECORDS + i] = record_of(&s);
	}
}

unsigned
blx_chain_stages(const blx_filter *f)
{
	return (unsigned) blx_cwords(f)[STAGES];
}

blx_stage
blx_chain_stage(const blx_filter *f, unsigned i)
{
	blx_groups	shape = stage_of(blx_cwords(f)[RECORDS + i]).shape;

	return (blx_stage) {.blocks = UINT64_C(1) << shape.log2, .parts = shape.parts};
}

/* ---- combining ---- */

/* A stage of a union, with the bits of one filter or of both. */
typedef struct joint
{
	stage		stage;
	const uint64_t *bits;
	const uint64_t *more_bits;	/* or NULL */
} joint;

/*
 * Counts the bits of a | b, 2 kB at a time, so that the OR stays in the
 * first-level cache.  Stops beyond `most`: of two unions of a hundred full stages
 * every pair is tried, and two half-full stages pass a half after two thirds.
 */
static uint64_t
popcount_of_both(const uint64_t *a, const uint64_t *b, uint64_t n, uint64_t most)
{
	uint64_t	both[256],
				total = 0;

	for (uint64_t done = 0; done < n && total <= most;)
	{
		uint64_t	size = n - done < 256 ? n - done : 256;

		memcpy(both, a + done, 8 * size);
		blx_or_words(both, b + done, size);
		total += blx_popcount(both, size);
		done += size;
	}
	return total;
}

/*
 * Unites a stage with j.  False, and nothing has changed, if the shapes differ
 * or the result would be more than half full and fuller than both.
 */
static bool
absorb(joint *j, const stage *s, const uint64_t *bits)
{
	uint64_t	most,
				set;

	if (j->more_bits != NULL || j->stage.shape.log2 != s->shape.log2 || j->stage.shape.parts != s->shape.parts)
		return false;
	/* At most one stage of each filter; half full at most, or no fuller than the fuller one. */
	most = bits_of(s) / 2;
	most = j->stage.set > most ? j->stage.set : most;
	most = s->set > most ? s->set : most;
	set = popcount_of_both(j->bits, bits, blx_groups_words(s->shape), most);
	if (set > most)
		return false;
	j->stage.set = set;
	j->more_bits = bits;
	return true;
}

/*
 * Returns the place of a stage in a union: after larger ones, and before fuller
 * ones of its own size.  So the newest stage is the emptiest of the largest.
 */
static unsigned
place_for(const joint *joints, unsigned n, const stage *s)
{
	while (n > 0 && (joints[n - 1].stage.shape.log2 < s->shape.log2 ||
					 (joints[n - 1].stage.shape.log2 == s->shape.log2 &&
					  joints[n - 1].stage.set * s->shape.parts > s->set * joints[n - 1].stage.shape.parts)))
		n--;
	return n;
}

/*
 * Adds the stages of f to the n of a union; if `absorbing`, each first tries to
 * unite with one that is there.  Returns how many there are then.
 */
static unsigned
join(joint *joints, unsigned n, const blx_filter *f, bool absorbing)
{
	const uint64_t *state = blx_cwords(f);
	const uint64_t *bits = state + RECORDS + state[STAGES];

	for (uint64_t i = 0; i < state[STAGES]; i++)
	{
		stage		s = stage_of(state[RECORDS + i]);
		unsigned	at = 0;

		/* Find a stage that takes it in; otherwise it becomes a stage of the union. */
		while (absorbing && at < n && !absorb(&joints[at], &s, bits))
			at++;
		if (!absorbing || at == n)
		{
			/* keep the order of records: the largest first */
			at = place_for(joints, n, &s);
			memmove(joints + at + 1, joints + at, (n - at) * sizeof *joints);
			joints[at] = (joint) {s, bits, NULL};
			n++;
		}
		bits += blx_groups_words(s.shape);
	}
	return n;
}

/* Computes the stages of the union of a and b, up to 2 * MAX_STAGES of them. */
static unsigned
join_both(joint *joints, const blx_filter *a, const blx_filter *b)
{
	return join(joints, join(joints, 0, a, false), b, true);
}

static bool
union_words(const blx_filter *a, const blx_filter *b, uint64_t *total, blx_error *error)
{
	joint		joints[2 * MAX_STAGES];
	unsigned	n = join_both(joints, a, b);

	if (n > MAX_UNITED_STAGES)
		return blx_fail(error, BLX_LIMIT, "Every stage adds to the false positive rate, so a union of this many stages is of little use.",
						"Build one filter from the keys, or filters of a fixed size for the largest number of keys.",
						"the union of the bloom filters has %u stages, more than %u", n, MAX_UNITED_STAGES);
	*total = RECORDS + n;
	for (unsigned i = 0; i < n; i++)
		*total += blx_groups_words(joints[i].stage.shape);
	return true;
}

/*
 * The union continues to grow like the filter that has the larger newest stage,
 * whose geometry and parameters it takes.
 */
static void
unite(blx_filter *dst, const blx_filter *a, const blx_filter *b)
{
	joint		joints[2 * MAX_STAGES];
	unsigned	n = join_both(joints, a, b);
	uint64_t   *state = blx_words(dst);
	uint64_t   *bits = state + RECORDS + n;
	const blx_filter *leader = stage_of(blx_cwords(a)[RECORDS]).shape.log2 >= stage_of(blx_cwords(b)[RECORDS]).shape.log2 ? a : b;

	/* Header and parameters are the leader's. */
	dst->blocks = leader->blocks;
	dst->parts = leader->parts;
	memcpy(state, blx_cwords(leader), 8 * PARAMETERS);
	/* Each stage: the bits of one filter, or those of both. */
	state[STAGES] = n;
	for (unsigned i = 0; i < n; i++)
	{
		uint64_t	size = blx_groups_words(joints[i].stage.shape);

		state[RECORDS + i] = record_of(&joints[i].stage);
		memcpy(bits, joints[i].bits, 8 * size);
		if (joints[i].more_bits != NULL)
			blx_or_words(bits, joints[i].more_bits, size);
		bits += size;
	}
}

/*
 * A common key would have all its bits in one stage of each filter.  So it is
 * proof if every pair of stages is disjoint.
 */
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	const uint64_t *x = blx_cwords(a);
	const uint64_t *y = blx_cwords(b);
	const uint64_t *x_bits = x + RECORDS + x[STAGES];

	for (uint64_t i = 0; i < x[STAGES]; i++)
	{
		blx_groups	x_shape = stage_of(x[RECORDS + i]).shape;
		const uint64_t *y_bits = y + RECORDS + y[STAGES];

		for (uint64_t j = 0; j < y[STAGES]; j++)
		{
			blx_groups	y_shape = stage_of(y[RECORDS + j]).shape;

			if (!blx_groups_disjoint(x_bits, x_shape, y_bits, y_shape))
				return false;
			y_bits += blx_groups_words(y_shape);
		}
		x_bits += blx_groups_words(x_shape);
	}
	return true;
}

/* ---- what it knows about itself ---- */

static uint64_t
bits_in(const blx_filter *f)
{
	return 64 * (words(f) - RECORDS - blx_cwords(f)[STAGES]);
}

static uint64_t
bits_set(const blx_filter *f)
{
	const uint64_t *state = blx_cwords(f);
	uint64_t	set = 0;

	for (uint64_t i = 0; i < state[STAGES]; i++)
		set += stage_of(state[RECORDS + i]).set;
	return set;
}

/*
 * A stage did not get the keys that older stages find, so it stands for more than
 * it holds.  Keys that two stages of a union share count twice.
 */
static double
cardinality(const blx_filter *f)
{
	const uint64_t *state = blx_cwords(f);
	double		keys = 0,
				no = 1;

	for (uint64_t i = state[STAGES]; i-- > 0;)
	{
		stage		s = stage_of(state[RECORDS + i]);
		double		fill = (double) s.set / (double) bits_of(&s);

		keys += log1p(-fill) / log1p(-1 / ldexp(64, (int) s.shape.log2)) / no;
		if (is_full(&s))
			no *= 1 - rate_when_full(s.shape.parts);
	}
	return keys;
}

/*
 * Takes the stages as independent.  They share hashes, which makes a difference
 * of less than 0.5 % of a rate of 0.1 (measured).
 */
static double
fpr(const blx_filter *f)
{
	const uint64_t *state = blx_cwords(f);
	const uint64_t *bits = state + RECORDS + state[STAGES];
	double		rates[BLX_MAX_K + 1],
				no = 0;

	for (uint64_t i = 0; i < state[STAGES]; i++)
	{
		blx_groups	shape = stage_of(state[RECORDS + i]).shape;

		blx_groups_fpr_prefixes(bits, shape, rates);
		no += log1p(-rates[shape.parts]);
		bits += blx_groups_words(shape);
	}
	return -expm1(no);
}

/*
 * Stages fill one after another, and a key that older ones find does not get into
 * the newest.  That thins out the keys of some blocks more than those of others,
 * which is left out here; it makes less than 0.5 % of a rate of 0.1.
 */
static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	double		keys = (double) n,
				no = 1;
	unsigned	log2 = (unsigned) __builtin_ctz(g->blocks);

	for (unsigned level = 0;; level++, log2 += growth_log2(g))
	{
		uint64_t	blocks = UINT64_C(1) << log2;
		unsigned	parts = parts_at(g, level);
		double		full = keys_when_full(log2);
		double		rest = (keys - full / no);	/* it takes full / no keys to put `full` into this stage */

		/* 2^50 blocks are far beyond any filter, and bound the loop for any n */
		if (rest <= 0 || log2 > 50)
			return 1 - no * (1 - blx_fpr_partitioned_blocked((uint64_t) rint(fmin(keys * no, full)), blocks, parts));
		no *= 1 - blx_fpr_partitioned_blocked((uint64_t) rint(full), blocks, parts);
		keys = rest;
	}
}

static double
fpr_bound(const blx_geometry *g)
{
	return fmin(bound_from(g, 0), 1);
}

/*
 * Returns what the rate stays below: the rates of the stages that there are,
 * when half full, and of all that may come.
 */
static double
bound_of(const blx_filter *f)
{
	const uint64_t *state = blx_cwords(f);
	blx_geometry g = blx_geometry_of(f);
	double		bound = bound_from(&g, level_of(&g, stage_of(state[RECORDS]).shape.log2) + 1);

	for (uint64_t i = 0; i < state[STAGES]; i++)
		bound += rate_when_full(stage_of(state[RECORDS + i]).shape.parts);
	return fmin(bound, 1);
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	blx_geometry g = blx_geometry_of(f);

	emit(arg, "stages", (double) blx_cwords(f)[STAGES], NULL);
	emit(arg, "growth", (double) g.parameters[GROWTH], NULL);
	emit(arg, "tightening", tightening_of(&g), NULL);
	emit(arg, "fpr_bound", bound_of(f), NULL);
}

/*
 * The presets are the textbook's: stages double and their rates halve.  An r of
 * 0.85 is cheaper if a filter grows a hundredfold (docs/layouts.md).  Faster
 * growth means fewer stages to test, but a new stage is empty, so a filter may take
 * up to `growth` times the memory that it needs; hence no more than 16.
 */
static const blx_option_range options[] = {
	{BLX_OPT_GROWTH, 2, 16, 2},
	{BLX_OPT_TIGHTENING, LEAST_TIGHTENING, MOST_TIGHTENING, 0.5},
	{0}
};

const blx_layout blx_layout_scalable = {
	.name = "scalable",
	.traits = BLX_UNBOUNDED | BLX_HEAD_FETCHABLE,
	.options = options,
	.any_sizes = true,
	.why_not = {
		[BLX_INTERSECTION] = "A key of both filters may be in stages of different sizes.",
		[BLX_COMPARISON] = "A key of both filters may be in stages of different sizes.",
		[BLX_PREFIX] = "Its stages have different numbers of parts.",
		[BLX_FOLD] = "Its stages are as full as the planned rate allows.",
	},
	.one = BLX_ONE_PROBE,
	.check = check,
	.plan = plan,
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_bound = fpr_bound,
	.disjoint = disjoint,
	.parameters = PARAMETERS,
	.body_words = body_words,
	.words = words,
	.init = init,
	.check_body = check_body,
	.check_contents = check_contents,
	.grown_words = grown_words,
	.grow = grow,
	.union_words = union_words,
	.unite = unite,
	.bits_in = bits_in,
	.bits_set = bits_set,
	.cardinality = cardinality,
	.fpr = fpr,
	.details = details,
};
