/*
 * binary_fuse.c - a sealed filter: built once, of all keys, and a third smaller than a
 * Bloom filter.
 *
 * Binary fuse filters: Graf and Lemire 2022.  Each key has a fingerprint of w bits, and
 * H = 4 slots in four consecutive segments of an array.  Slots are chosen (seal.c) so
 * that the XOR of a key's slots is its fingerprint; a key that is not in the set has
 * that by chance, 2^-w.  There are some 1.1 slots for each key, where a Bloom filter of
 * that rate takes 1.44 w bits or more.  Slots may carry v more bits, whose XOR is the
 * key's value: then the filter is a map (a Bloomier filter: Chazelle, Kilian,
 * Rubinfeld, Tal 2004).
 *
 * The array is cut into B blocks, and the top of the hash chooses one.  In the words of
 * a geometry a block is S slots (part_bits), a slot P = w + v bits (parts), and H is
 * probes; so m = B P S, as everywhere.  A slot is a fingerprint above a value, so the
 * first bits of every slot, without some of its highest, are the filter of fewer
 * fingerprint bits: the prefix.
 *
 * A key cannot be added, and two filters cannot be merged: a filter answers for its
 * keys, but no longer has them.  What is known is exact: their number, and the rate.
 */
#include <math.h>

#include "core/layouts/geometry.h"
#include "core/layouts/growing/hashes.h"
#include "core/layouts/sealed/fuse_sizes.h"

#define MAX_BLOCKS (UINT64_C(1) << 20)

/* ---- geometry ---- */

static unsigned
segment_of(const blx_geometry *g)
{
	return (unsigned) (g->parameters[BLX_FUSE_PARAMETER] & 255);
}

/* Any slots are legal, so sizes are all that has to be right. */
static bool
check(const blx_geometry *g, blx_error *error)
{
	unsigned	value_bits = blx_fuse_value_bits(g),
				segment = segment_of(g);

	if (g->probes != BLX_FUSE_SLOTS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter has 4 slots for each key, not %u", g->probes);
	if (value_bits > BLX_FUSE_MAX_VALUE || value_bits > g->parts || g->parts - value_bits > BLX_FUSE_MAX_FINGERPRINT)
		return blx_fail(error, BLX_CORRUPT, "A slot has at most 32 bits of fingerprint and 24 of value.", NULL,
						"a binary_fuse filter cannot have slots of %u bits, %u of them of a value", g->parts, value_bits);
	if (g->parameters[BLX_FUSE_PARAMETER] >> 16 != 0 || segment > BLX_FUSE_MAX_SEGMENT ||
		g->part_bits % (UINT64_C(1) << segment) != 0 || g->part_bits >> segment < BLX_FUSE_SLOTS || g->part_bits > UINT32_MAX)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter cannot have blocks of %llu slots in segments of 2^%u",
						(unsigned long long) g->part_bits, segment);
	if (g->blocks > MAX_BLOCKS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter has at most %llu blocks, not %u",
						(unsigned long long) MAX_BLOCKS, g->blocks);
	return true;
}

static double
slots_per_key(const blx_geometry *g)
{
	return g->probes;
}

static unsigned
value_bits_of(const blx_geometry *g)
{
	return blx_fuse_value_bits(g);
}

static uint64_t
slot_words(const blx_geometry *g)
{
	return blx_words_for_bits(blx_bits(g));
}

static uint64_t
body_words(const blx_geometry *g)
{
	return BLX_FUSE_SALTS + g->blocks + slot_words(g) + 1;
}

/* As fingerprints of whole bytes are faster to read, one is taken if it is at most 15 % larger (as sizing.c does). */
static unsigned
faster_bits(unsigned bits)
{
	for (unsigned whole = 8; whole <= 32; whole *= 2)
		if (bits <= whole && 100 * whole <= 115 * bits)
			return whole;
	return bits;
}

/*
 * The size follows from the keys, so this is what it will be for about as many keys.
 * The fullest of several blocks has some more than the mean.  A fingerprint of no bits
 * is for a map, whose values are right for its keys and anything for others: the plan
 * has the smallest value, of one bit.
 */
static bool
plan(uint64_t capacity, double fpr, const blx_options *options, blx_geometry *g, blx_error *error)
{
	double		given = options->value[BLX_OPT_FINGERPRINT_BITS];
	uint64_t	blocks = blx_fuse_blocks(capacity),
				fullest = capacity;
	int			exponent;
	unsigned	bits;

	frexp(fpr, &exponent);		/* fpr >= 2^(exponent - 1): 1 - exponent bits are a rate of at most fpr */
	if (given < 0 && 1 - exponent > BLX_FUSE_MAX_FINGERPRINT)
		return blx_fail(error, BLX_LIMIT, NULL, "Choose a higher rate.",
						"a binary_fuse filter, of at most %u fingerprint bits, cannot reach a false positive rate of %g",
						BLX_FUSE_MAX_FINGERPRINT, fpr);
	bits = given < 0 ? faster_bits((unsigned) (1 - exponent)) : (unsigned) given;
	if (blocks > MAX_BLOCKS)
		return blx_fail(error, BLX_LIMIT, NULL, "Split the keys among several filters.",
						"a binary_fuse filter for %llu keys exceeds the limit of 1 GB", (unsigned long long) capacity);
	if (blocks > 1)
	{
		double		mean = (double) capacity / (double) blocks;

		fullest = (uint64_t) ceil(mean + 4 * sqrt(mean));
	}
	*g = blx_fuse_geometry(blocks, fullest, bits, bits == 0);
	return true;
}

static bool
at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	(void) k, (void) bits, (void) options, (void) g;
	return blx_fail(error, BLX_UNSUPPORTED, "A sealed filter is made of all its keys at once.", "Choose a rate instead.", "the size of a binary_fuse filter follows from its keys");
}

/* Returns the rate of slots of that many bits, value included. */
static double
rate_of(unsigned slot_bits, unsigned value_bits)
{
	return ldexp(1, -(int) (slot_bits - value_bits));
}

static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return n > g->blocks * g->part_bits ? 1 : rate_of(g->parts, blx_fuse_value_bits(g));
}

/* ---- tests ---- */

static inline bool
has_keys(const blx_filter *f)
{
	return blx_cwords(f)[BLX_FUSE_KEYS] > 0;
}

static inline __attribute__((always_inline)) bool
has_hash(const blx_fuse *shape, uint64_t hash)
{
	uint64_t	slots[BLX_FUSE_SLOTS],
				block = blx_fuse_block(shape, hash);

	hash *= shape->salts[block];
	blx_fuse_slots(shape, block * shape->block_slots, hash, slots);
	return blx_fuse_agrees(shape, blx_fuse_sum(shape, slots), hash);
}

static __attribute__((noinline)) bool
test_any(const blx_filter *f, uint64_t hash)
{
	blx_fuse	shape = blx_fuse_shape(f);

	return has_keys(f) && has_hash(&shape, blx_spread_hash(f->key_type, hash));
}

/* Filters without values, with fingerprints of whole bytes, are the usual ones: all that they have in common is compiled in. */
static inline __attribute__((always_inline)) bool
test_usual(const blx_filter *f, uint64_t hash, unsigned slot_bits)
{
	blx_fuse	shape;

	if (f->name_len > 0 || blx_cwords(f)[BLX_FUSE_PARAMETER] > BLX_FUSE_MAX_SEGMENT)
		return test_any(f, hash);
	shape = blx_fuse_shape(f);
	shape.segment = (unsigned) blx_cwords(f)[BLX_FUSE_PARAMETER];
	shape.slot_bits = slot_bits;
	shape.value_bits = 0;
	return has_keys(f) && has_hash(&shape, hash);
}

static __attribute__((noinline)) bool
test_8(const blx_filter *f, uint64_t hash)
{
	return test_usual(f, hash, 8);
}

static __attribute__((noinline)) bool
test_16(const blx_filter *f, uint64_t hash)
{
	return test_usual(f, hash, 16);
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	if (f->key_type == BLX_KEY_HASH)
		return test_any(f, hash);
	return f->parts == 8 ? test_8(f, hash) : f->parts == 16 ? test_16(f, hash) : test_any(f, hash);
}

/* The slots of all keys are fetched before the first is looked at: of fewer at a time is slower. */
static inline __attribute__((always_inline)) uint64_t
batch_of(blx_fuse shape, unsigned slot_bits, unsigned value_bits, const uint64_t *hashes, unsigned n)
{
	uint64_t	slots[BLX_BATCH][BLX_FUSE_SLOTS],
				salted[BLX_BATCH],
				found = 0;

	shape.slot_bits = slot_bits;
	shape.value_bits = value_bits;
	for (unsigned i = 0; i < n; i++)
	{
		uint64_t	block = blx_fuse_block(&shape, hashes[i]);

		salted[i] = hashes[i] * shape.salts[block];
		blx_fuse_slots(&shape, block * shape.block_slots, salted[i], slots[i]);
#pragma GCC unroll 4
		for (unsigned j = 0; j < BLX_FUSE_SLOTS; j++)
			__builtin_prefetch(blx_slot_byte(shape.slots, slots[i][j], slot_bits), 0, 2);
	}
	for (unsigned i = 0; i < n; i++)
		found |= (uint64_t) blx_fuse_agrees(&shape, blx_fuse_sum(&shape, slots[i]), salted[i]) << i;
	return found;
}

static uint64_t
test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n)
{
	blx_fuse	shape = blx_fuse_shape(f);
	uint64_t	spread[BLX_BATCH];

	if (!has_keys(f))
		return 0;
	if (f->key_type == BLX_KEY_HASH)
	{
		for (unsigned i = 0; i < n; i++)
			spread[i] = blx_spread_hash(f->key_type, hashes[i]);
		hashes = spread;
	}
	if (shape.slot_bits == 8 && shape.value_bits == 0)
		return batch_of(shape, 8, 0, hashes, n);
	if (shape.slot_bits == 16 && shape.value_bits == 0)
		return batch_of(shape, 16, 0, hashes, n);
	return batch_of(shape, shape.slot_bits, shape.value_bits, hashes, n);
}

static bool
get_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg, uint32_t *value)
{
	blx_fuse	shape = blx_fuse_shape(header);
	uint64_t	first_word = BLX_FUSE_SALTS + shape.blocks,
				slots[BLX_FUSE_SLOTS],
				block,
				sum = 0;

	if (!has_keys(header))
		return false;
	hash = blx_spread_hash(header->key_type, hash);
	block = blx_fuse_block(&shape, hash);
	hash *= *fetch(arg, BLX_FUSE_SALTS + block, 1);
	blx_fuse_slots(&shape, block * shape.block_slots, hash, slots);
	for (unsigned i = 0; i < BLX_FUSE_SLOTS; i++)
	{
		uint64_t	bit = slots[i] * shape.slot_bits;
		const uint64_t *word = fetch(arg, first_word + bit / 64, 2);

		sum ^= word[0] >> bit % 64 | word[1] << 1 << (63 - bit % 64);
	}
	*value = (uint32_t) blx_lowest_bits(sum, shape.value_bits);
	return blx_fuse_agrees(&shape, sum, hash);
}

static bool
test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint32_t	value;

	return get_fetched(header, hash, fetch, arg, &value);
}

/* ---- the body ---- */

static void
init(blx_filter *f)
{
	for (uint32_t i = 0; i < f->blocks; i++)
		blx_words(f)[BLX_FUSE_SALTS + i] = 1;
}

/* Without a key type the hashes would be read in another way when the filter gets one: a filter of keys has one (seal.c). */
static bool
check_body(const blx_filter *f, uint64_t words, blx_error *error)
{
	blx_geometry g = blx_geometry_of(f);
	uint64_t	keys;

	if (words != body_words(&g))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter has %llu words where its geometry needs %llu",
						(unsigned long long) words, (unsigned long long) body_words(&g));
	keys = blx_cwords(f)[BLX_FUSE_KEYS];
	if (keys > g.blocks * g.part_bits || (keys > 0 && f->key_type == BLX_KEY_NONE))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter cannot have %llu keys%s", (unsigned long long) keys,
						f->key_type == BLX_KEY_NONE ? " without a key type" : "");
	if (f->pending != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter cannot wait for keys");
	return true;
}

/* An even salt would not be wrong, but no builder makes one; what lies beyond the slots would be compared. */
static bool
check_contents(blx_filter *f, blx_error *error)
{
	blx_geometry g = blx_geometry_of(f);
	blx_fuse	shape = blx_fuse_shape(f);

	for (uint64_t i = 0; i < shape.blocks; i++)
		if (shape.salts[i] % 2 == 0)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter has an even salt");
	if (shape.slots[slot_words(&g)] != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a binary_fuse filter does not end with a word of zeros");
	return blx_check_spare_bits(shape.slots, 1, blx_bits(&g), error);
}

/* Nothing can be added: the message is that of blx_grown. */
static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	(void) f, (void) hashes, (void) n;
	return 0;
}

/* ---- prefixes ---- */

static bool
prefix(blx_geometry *g, int64_t parts, blx_error *error)
{
	unsigned	least = blx_fuse_value_bits(g);

	least = least > 0 ? least : 1;
	if (parts < least || parts > g->parts)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"parts must be between %u and the filter's %u, not %lld", least, g->parts, (long long) parts);
	g->parts = (uint16_t) parts;
	return true;
}

/* dst is an empty filter, src or a prefix of it (algebra.c). */
static void
merge(blx_filter *dst, const blx_filter *src, blx_op op)
{
	blx_fuse	to = blx_fuse_shape(dst),
				from = blx_fuse_shape(src);
	uint64_t   *out = blx_words(dst) + BLX_FUSE_SALTS + to.blocks,
				word = 0;
	unsigned	used = 0;

	(void) op;
	memcpy(blx_words(dst), blx_cwords(src), 8 * (BLX_FUSE_SALTS + from.blocks));
	for (uint64_t i = 0; i < from.blocks * from.block_slots; i++)
	{
		uint64_t	slot = blx_lowest_bits(blx_slot_at(from.slots, i, from.slot_bits), to.slot_bits);

		word |= slot << used;
		used += to.slot_bits;
		if (used < 64)
			continue;
		*out++ = word;
		used -= 64;
		word = used > 0 ? slot >> (to.slot_bits - used) : 0;
	}
	if (used > 0)
		*out = word;
}

/* ---- what it knows ---- */

static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	blx_geometry g = blx_geometry_of(f);
	unsigned	value_bits = blx_fuse_value_bits(&g);

	for (unsigned p = 1; p <= f->parts; p++)
		rates[p] = p < value_bits ? 1 : has_keys(f) ? rate_of(p, value_bits) : 0;
}

static double
fpr(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f);

	return has_keys(f) ? rate_of(f->parts, blx_fuse_value_bits(&g)) : 0;
}

static double
cardinality(const blx_filter *f)
{
	return (double) blx_cwords(f)[BLX_FUSE_KEYS];
}

static uint64_t
bits_set(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f);

	return blx_popcount(blx_fuse_shape(f).slots, slot_words(&g));
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	blx_geometry g = blx_geometry_of(f);

	emit(arg, "fingerprint_bits", blx_fuse_fingerprint_bits(&g), NULL);
	emit(arg, "value_bits", blx_fuse_value_bits(&g), NULL);
	emit(arg, "slots_per_key", g.probes, NULL);
	emit(arg, "segment", (double) (UINT64_C(1) << segment_of(&g)), NULL);
}

/* -1, not in the range: the rate decides. */
static const blx_option_range options[] = {
	{BLX_OPT_FINGERPRINT_BITS, 0, BLX_FUSE_MAX_FINGERPRINT, -1},
	{0}
};

#define SEALED "It is sealed: it answers for its keys, but no longer has them."
#define UNSEALED "Build both filters with another layout."

const blx_layout blx_layout_binary_fuse = {
	.name = "binary_fuse",
	.traits = BLX_SEALED | BLX_HEAD_FETCHABLE,
	.options = options,
	.why_not = {
		[BLX_UNION] = SEALED,
		[BLX_INTERSECTION] = SEALED,
		[BLX_DISJOINT] = SEALED,
		[BLX_COMPARISON] = SEALED,
	},
	.instead = {
		[BLX_UNION] = "Build one filter of all keys, or test each filter.",
		[BLX_INTERSECTION] = "Test both filters.",
		[BLX_DISJOINT] = UNSEALED,
		[BLX_COMPARISON] = UNSEALED,
	},
	.check = check,
	.bits_per_key = slots_per_key,
	.plan = plan,
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.test_batch = test_batch,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.prefix = prefix,
	.merge = merge,
	.parameters = 1,
	.body_words = body_words,
	.init = init,
	.check_body = check_body,
	.check_contents = check_contents,
	.seal = blx_fuse_seal,
	.value_bits = value_bits_of,
	.get_fetched = get_fetched,
	.bits_set = bits_set,
	.cardinality = cardinality,
	.fpr = fpr,
	.details = details,
};
