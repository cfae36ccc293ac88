/*
 * seal.c - builds a sealed filter (binary_fuse.c) of a set of hashes, or of hashes with
 * values.
 *
 * Block by block, with memory for one block.  Each hash is multiplied by the block's
 * salt, which gives its four slots.  A slot with one key can be that key's own: the
 * key is taken out, which leaves other slots with one key, and so on ("peeling").  If
 * all keys are taken out, the slots are filled in the opposite order: each key's own
 * slot becomes what its other three lack.  If some are left, the next salt is tried.
 *
 * For each slot there are the number of its keys and the XOR of their salted hashes, so
 * a slot with one key says which key that is.  Both, and the salts, do not depend on
 * the order of the keys, and the rest goes by the numbers of slots: one set has one
 * filter, byte for byte, wherever and by however many processes its keys were collected.
 *
 * Hashes that come twice never peel, so the source is a set (growing/hashes.c), whose table
 * has the hashes of a block side by side, or a sorted array.
 */
#include "core/base/base.h"
#include "core/layouts/geometry.h"
#include "core/layouts/growing/hashes.h"
#include "core/layouts/sealed/fuse_sizes.h"

/* Salts that are tried for a block.  Of random hashes one in two blocks of 14 keys needs a second one, and one in a thousand of 10,000. */
#define ATTEMPTS 64

/* The hashes of a filter: a set that is in order, or entries that are sorted by their spread hashes. */
typedef struct source
{
	const blx_filter *set;
	const blx_entry *entries;
	uint64_t	n;
	uint64_t	blocks;
	uint64_t   *starts;			/* how many hashes come before each block; blocks + 1 numbers */
} source;

_Static_assert(sizeof(blx_entry) == 16, "entries are sorted as pairs of words");

/* What is known of the slots of one block, and the filter's words. */
typedef struct bench
{
	blx_fuse	shape;
	uint64_t	block;
	uint64_t	salt;
	uint64_t   *words;			/* of all slots */
	uint64_t   *sums;			/* of each slot: the XOR of the salted hashes that have it */
	uint32_t   *values;			/* and of their values; NULL if there are none */
	uint32_t   *order;			/* the slots that are or were to be peeled */
	uint8_t    *counts;			/* keys that have the slot */
} bench;

/* Keys between two looks into the source: 3 kB on the stack. */
#define AT_ONCE 256

/* Hands out up to AT_ONCE hashes of a block, and their values.  *cursor is 0 at first. */
static size_t
next_of_block(const source *s, uint64_t block, uint64_t *cursor, uint64_t *hashes, uint32_t *values)
{
	size_t		n = 0;

	if (s->set != NULL)
		return blx_hashes_next_in(s->set, block, s->blocks, cursor, hashes, AT_ONCE);
	for (uint64_t i = s->starts[block] + *cursor; i < s->starts[block + 1] && n < AT_ONCE; i++, n++)
	{
		hashes[n] = s->entries[i].hash;
		values[n] = s->entries[i].value;
	}
	*cursor += n;
	return n;
}

/* Fills starts.  Returns how many hashes the fullest block has. */
static uint64_t
count_blocks(const source *s)
{
	uint64_t	hashes[AT_ONCE],
				cursor = 0,
				fullest = 0;
	size_t		n;

	memset(s->starts, 0, 8 * (s->blocks + 1));
	if (s->set == NULL)
		for (uint64_t i = 0; i < s->n; i++)
			s->starts[blx_scale(s->entries[i].hash, s->blocks) + 1]++;
	else
		while ((n = blx_hashes_next(s->set, &cursor, hashes, AT_ONCE)) > 0)
			for (size_t i = 0; i < n; i++)
				s->starts[blx_scale(blx_spread_hash(s->set->key_type, hashes[i]), s->blocks) + 1]++;
	for (uint64_t b = 1; b <= s->blocks; b++)
	{
		fullest = s->starts[b] > fullest ? s->starts[b] : fullest;
		s->starts[b] += s->starts[b - 1];
	}
	return fullest;
}

/* Counts the keys of each slot.  False if one has more than can be counted. */
static bool
count_slots(bench *b, const source *s)
{
	uint64_t	hashes[AT_ONCE],
				slots[BLX_FUSE_SLOTS],
				cursor = 0;
	uint32_t	values[AT_ONCE];
	size_t		n;

	memset(b->sums, 0, 8 * b->shape.block_slots);
	memset(b->counts, 0, b->shape.block_slots);
	if (b->values != NULL)
		memset(b->values, 0, 4 * b->shape.block_slots);
	while ((n = next_of_block(s, b->block, &cursor, hashes, values)) > 0)
		for (size_t i = 0; i < n; i++)
		{
			uint64_t	salted = hashes[i] * b->salt;

			blx_fuse_slots(&b->shape, 0, salted, slots);
			for (unsigned j = 0; j < BLX_FUSE_SLOTS; j++)
			{
				b->sums[slots[j]] ^= salted;
				if (b->values != NULL)
					b->values[slots[j]] ^= values[i];
				if (++b->counts[slots[j]] == UINT8_MAX)
					return false;
			}
		}
	return true;
}

/*
 * Peels: `order` begins with the slots of one key in ascending order, as a queue, and ends
 * with the slots that got a key of their own, in the order of peeling.  A slot becomes one
 * of a single key once at most, so there is room for all; and what is taken off the queue is
 * before what it is written over.  Returns how many keys were peeled.
 */
static uint64_t
peel(bench *b)
{
	uint64_t	slots[BLX_FUSE_SLOTS],
				queued = 0,
				peeled = 0;

	for (uint64_t i = 0; i < b->shape.block_slots; i++)
		if (b->counts[i] == 1)
			b->order[queued++] = (uint32_t) i;
	for (uint64_t next = 0; next < queued; next++)
	{
		uint32_t	own = b->order[next];
		uint64_t	salted = b->sums[own];

		if (b->counts[own] == 0)	/* its key has gone to another slot */
			continue;
		b->order[peeled++] = own;
		blx_fuse_slots(&b->shape, 0, salted, slots);
		for (unsigned j = 0; j < BLX_FUSE_SLOTS; j++)
		{
			uint64_t	slot = slots[j];

			if (--b->counts[slot] == 1)
				b->order[queued++] = (uint32_t) slot;
			if (slot == own)	/* keeps its key */
				continue;
			b->sums[slot] ^= salted;
			if (b->values != NULL)
				b->values[slot] ^= b->values[own];
		}
	}
	return peeled;
}

/* Fills the slots of all keys, the last one peeled first: what the others of a key contain is known by then. */
static void
fill_slots(bench *b, uint64_t peeled)
{
	uint64_t	base = b->block * b->shape.block_slots,
				slots[BLX_FUSE_SLOTS];
	unsigned	slot_bits = b->shape.slot_bits;

	while (peeled-- > 0)
	{
		uint32_t	own = b->order[peeled];
		uint64_t	salted = b->sums[own],
					slot;

		blx_fuse_slots(&b->shape, base, salted, slots);
		slot = blx_fuse_sum(&b->shape, slots);
		slot ^= blx_fuse_fingerprint(salted) << b->shape.value_bits;
		if (b->values != NULL)
			slot ^= b->values[own];
		blx_put_slot(b->words, base + own, slot_bits, blx_lowest_bits(slot, slot_bits));
	}
}

/* Fills the slots of a block, and sets its salt.  False if no salt does. */
static bool
seal_block(bench *b, const source *s, uint64_t *salt)
{
	uint64_t	keys = s->starts[b->block + 1] - s->starts[b->block];

	for (unsigned t = 0; t < ATTEMPTS; t++)
	{
		/* one block begins without a salt: most small filters need none */
		b->salt = t == 0 && s->blocks == 1 ? 1 : blx_hash_int64(t, 0) | 1;
		if (!count_slots(b, s) || peel(b) < keys)
			continue;
		*salt = b->salt;
		fill_slots(b, keys);
		return true;
	}
	return false;
}

/* Seals all blocks of an empty filter. */
static bool
seal_blocks(blx_filter *f, const source *s, const blx_memory *memory, void (*poll) (void), blx_error *error)
{
	bench		b = {.shape = blx_fuse_shape(f)};
	uint64_t	slots = b.shape.block_slots;
	blx_filter *scratch = blx_alloc(memory, (8 + 4 + 1 + (s->set == NULL ? 4 : 0)) * slots, error);
	bool		sealed = scratch != NULL;

	b.words = blx_words(f) + BLX_FUSE_SALTS + f->blocks;
	b.sums = (uint64_t *) (void *) scratch;
	if (sealed)
	{
		b.order = (uint32_t *) (b.sums + slots);
		b.values = s->set == NULL ? b.order + slots : NULL;
		b.counts = (uint8_t *) (b.order + (s->set == NULL ? 2 : 1) * slots);
	}
	for (; sealed && b.block < s->blocks; b.block++)
	{
		if (poll != NULL)
			poll();
		sealed = seal_block(&b, s, &blx_words(f)[BLX_FUSE_SALTS + b.block]);
		if (!sealed)
			blx_fail(error, BLX_LIMIT, "Random keys never do that.", "Use another seed.",
					 "no %s filter was found for these keys in %u attempts", blx_layout_name(f->layout), ATTEMPTS);
	}
	blx_free(scratch, memory);
	return sealed;
}

/* The filter of a source, whose blocks and starts are not set yet.  Without a key type the keys are hashes from now on. */
static blx_filter *
seal(source *s, blx_identity id, unsigned fingerprint_bits, unsigned value_bits, const blx_memory *memory,
	 void (*poll) (void), blx_error *error)
{
	blx_filter *starts,
			   *f = NULL;
	blx_geometry g;

	s->blocks = blx_fuse_blocks(s->n);
	starts = blx_alloc(memory, 8 * (s->blocks + 1), error);
	if (starts == NULL)
		return NULL;
	s->starts = (uint64_t *) (void *) starts;
	g = blx_fuse_geometry(s->blocks, count_blocks(s), fingerprint_bits, value_bits);
	if (id.key_type == BLX_KEY_NONE && s->n > 0)
		id.key_type = BLX_KEY_HASH;
	if (blx_geometry_check(&g, error))
		f = blx_alloc(memory, blx_bytes(&g, id.name_len), error);
	if (f != NULL)
	{
		blx_init(f, &g, &id, s->n);
		blx_words(f)[BLX_FUSE_KEYS] = s->n;
		if (!seal_blocks(f, s, memory, poll, error))
		{
			blx_free(f, memory);
			f = NULL;
		}
	}
	blx_free(starts, memory);
	return f;
}

/* A set that was given a salt is in no order: its hashes are copied and sorted. */
static blx_entry *
sorted_entries(const blx_filter *set, const blx_memory *memory, blx_error *error)
{
	uint64_t	hash,
				cursor = 0,
				n = 0;
	blx_entry  *entries = (blx_entry *) (void *) blx_alloc(memory, sizeof(blx_entry) * (blx_hashes_count(set) + 1), error);

	if (entries == NULL)
		return NULL;
	while (blx_hashes_next(set, &cursor, &hash, 1) > 0)
		entries[n++] = (blx_entry) {.hash = blx_spread_hash(set->key_type, hash)};
	blx_sort_pairs((uint8_t *) entries, n, NULL);
	return entries;
}

blx_filter *
blx_fuse_seal(const blx_filter *set, const blx_geometry *planned, const blx_memory *memory, void (*poll) (void), blx_error *error)
{
	blx_identity id = blx_identity_of(set);
	source		s = {.set = set, .n = blx_hashes_count(set)};
	blx_entry  *entries;
	blx_filter *f;

	if (blx_hashes_ordered(set))
		return seal(&s, id, planned->parts, 0, memory, poll, error);
	entries = sorted_entries(set, memory, error);
	if (entries == NULL)
		return NULL;
	s.set = NULL;
	s.entries = entries;
	f = seal(&s, id, planned->parts, 0, memory, poll, error);
	blx_free((blx_filter *) (void *) entries, memory);
	return f;
}

/* ---- maps ---- */

/*
 * Sorts the entries, and leaves each hash once.  False if one has two values.  As in
 * sorted_entries, the hashes become spread ones: of keys they are so already.
 */
static bool
make_distinct(blx_entry *entries, uint64_t *n, uint8_t key_type, void (*poll) (void), blx_error *error)
{
	uint64_t	kept = 0;

	for (uint64_t i = 0; key_type == BLX_KEY_HASH && i < *n; i++)
		entries[i].hash = blx_spread_hash(key_type, entries[i].hash);
	blx_sort_pairs((uint8_t *) entries, *n, poll);
	for (uint64_t i = 0; i < *n; i++)
	{
		if (kept == 0 || entries[kept - 1].hash != entries[i].hash)
			entries[kept++] = entries[i];
		else if (entries[kept - 1].value != entries[i].value)
		{
			uint64_t	a = entries[kept - 1].value,
						b = entries[i].value;

			return blx_fail(error, BLX_AMBIGUOUS, NULL, "Choose one value for each key first.", "a key has two values, %llu and %llu",
							(unsigned long long) (a < b ? a : b), (unsigned long long) (a < b ? b : a));
		}
	}
	*n = kept;
	return true;
}

blx_filter *
blx_build_map(const blx_geometry *planned, const blx_identity *id, blx_entry *entries, uint64_t n, const blx_memory *memory,
			  void (*poll) (void), blx_error *error)
{
	source		s = {.entries = entries, .n = n};
	uint32_t	values = 1;

	if (planned->layout != BLX_BINARY_FUSE)
		return blx_fail(error, BLX_UNSUPPORTED, NULL, "Use layout binary_fuse.", "a filter of layout %s has no values",
						blx_layout_name(planned->layout)), NULL;
	if (id->key_type == BLX_KEY_NONE && n > 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "the keys of a map need a key type"), NULL;
	if (!blx_geometry_check(planned, error) || !make_distinct(entries, &s.n, id->key_type, poll, error))
		return NULL;
	for (uint64_t i = 0; i < s.n; i++)
		values |= entries[i].value;
	if (values >> BLX_FUSE_MAX_VALUE != 0)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL, "values must be between 0 and %u", (1u << BLX_FUSE_MAX_VALUE) - 1), NULL;
	return seal(&s, *id, blx_fuse_fingerprint_bits(planned), 32 - (unsigned) __builtin_clz(values), memory, poll, error);
}
