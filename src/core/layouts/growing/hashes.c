/*
 * hashes.c - the open set: a filter that has no size yet keeps the distinct
 * hashes of its keys (docs/internals/design.md, "The open set").
 *
 * While nobody knows how many keys will come, the hashes themselves are kept,
 * 8 bytes each, in an open-addressing table with linear probing.  A hash's home
 * slot is given by its top bits, scaled to the number of slots.  So walking the
 * table visits the hashes almost in ascending order, and growing the set reads
 * and writes memory in sequence.  So does pouring it into the first group of a
 * partitioned_blocked filter, where top bits give the block.
 *
 * Hashes that somebody else made (no key type, or BLX_KEY_HASH) need not be
 * spread evenly.  Their home is given by a hash of the hash.
 *
 * The hashes of chosen keys need not be spread, either.  If many of them began
 * alike, every search would walk through all that came before.  Therefore no
 * hash stands further than MAX_WALK slots from its home.  A hash that would is
 * not added: for this hash the set is full, whatever its count.  When a larger
 * set is made of it (blx_hashes_copy), a salt moves the homes; the salt is a digest
 * of the hashes themselves.  So no operation on one hash takes more than MAX_WALK
 * steps, and somebody who foresees the salts gains no more than a set that grows
 * early.
 *
 * The body: the number of hashes, the number of slots, a word with the salt and
 * with a flag for the hash 0 (an empty slot is 0), then the slots.  The header has
 * the geometry of the planned filter, and its layout in `pending`; `pending` is
 * 0 if the count will decide.
 */
#include <float.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/base.h"
#include "core/base/words.h"
#include "core/layouts/growing/hashes.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

enum
{
	COUNT, SLOTS,
	STATE,						/* lowest bit: the hash 0 is in the set; the other bits: the salt, 0 = none */
	PREFIX_WORDS
};

/*
 * How many slots a hash may stand from its home.  Random hashes must stay below
 * this in practice, and it bounds a search to 4 kB of memory.  In tables of
 * random hashes with three quarters of the slots in use, the fullest that there
 * are, the longest walk was 195 slots in 200 tables of 2^16 slots, and 262 in
 * 12 tables of 2^24: some 15 more for every factor of e.
 */
#define MAX_WALK 512
#define NOWHERE UINT64_MAX

uint64_t
blx_hashes_bytes(uint64_t slots, unsigned name_len)
{
	return blx_header_bytes(name_len) + 8 * (PREFIX_WORDS + slots);
}

void
blx_hashes_init(blx_filter *f, uint64_t slots, const blx_geometry *planned,
				const blx_identity *id, uint64_t capacity)
{
	const blx_geometry none = {0};

	/* The planned filter's geometry, but for its parameters, with its layout in `pending`; no hash, no salt, empty slots. */
	if (planned == NULL)
		planned = &none;
	blx_init_sized(f, planned, id, capacity, blx_hashes_bytes(slots, id->name_len));
	f->layout = BLX_HASHES;
	f->pending = planned->layout;
	blx_words(f)[COUNT] = 0;
	blx_words(f)[SLOTS] = slots;
}

uint64_t
blx_hashes_slots(const blx_filter *f)
{
	return f->layout == BLX_HASHES ? blx_cwords(f)[SLOTS] : 0;
}

uint64_t
blx_hashes_count(const blx_filter *f)
{
	return f->layout == BLX_HASHES ? blx_cwords(f)[COUNT] : 0;
}

/*
 * A table of up to this size, eight cache lines, may be filled to its last but
 * one slot.  Walking through all of it takes no longer than fetching it from
 * memory, and small sets, one per group of a GROUP BY, are where space counts.
 */
#define FEW_SLOTS 64

/*
 * Larger tables are filled to three quarters.  There a search for an absent hash
 * looks at 8.5 slots on average, and at nine tenths it would be 50 (Knuth, TAOCP
 * 3, 6.4).  At least one slot always stays free, where a search ends.
 */
uint64_t
blx_hashes_room(const blx_filter *f)
{
	uint64_t	slots = blx_hashes_slots(f);

	if (slots == 0)
		return 0;
	return slots <= FEW_SLOTS ? slots - 1 : slots - slots / 4;
}

bool
blx_hashes_full(const blx_filter *f)
{
	return blx_hashes_count(f) >= blx_hashes_room(f);
}

/* True if the hashes come from bloomx's own hash function, so that their top bits are random. */
static bool
are_spread(const blx_filter *f)
{
	return f->key_type != BLX_KEY_HASH && f->key_type != BLX_KEY_NONE;
}

static inline bool
has_zero(const uint64_t *words)
{
	return words[STATE] & 1;
}

static inline uint64_t
salt_of(const uint64_t *words)
{
	return words[STATE] >> 1;
}

/* Returns the slot where a search for the hash begins. */
static inline uint64_t
home_slot(const blx_filter *f, const uint64_t *words, uint64_t hash)
{
	uint64_t	salt = salt_of(words);

	if (salt != 0 || !are_spread(f))
		hash = blx_hash_int64(hash, salt != 0 ? salt : 1);
	return blx_scale(hash, words[SLOTS]);
}

/*
 * Returns the slot of a hash other than 0: the one where it is, or the free one
 * where it belongs.  NOWHERE if that is too far from its home.
 */
static inline __attribute__((always_inline)) uint64_t
find_from(const uint64_t *slots, uint64_t size, uint64_t home, uint64_t hash)
{
	uint64_t	i = home;

	for (unsigned left = MAX_WALK + 1; left > 0; left--)
	{
		if (slots[i] == 0 || slots[i] == hash)
			return i;
		if (++i == size)
			i = 0;
	}
	return NOWHERE;
}

void
blx_hashes_prefetch(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);

	if (f->layout == BLX_HASHES)
		__builtin_prefetch(words + PREFIX_WORDS + home_slot(f, words, hash), 1);
}

/* Adds hashes until one finds no room; compiled once for homes that are top bits, which nearly all sets have. */
static inline __attribute__((always_inline)) size_t
add_with(blx_filter *f, const uint64_t *hashes, size_t n, bool by_top_bits)
{
	uint64_t   *words = blx_words(f),
			   *slots = words + PREFIX_WORDS;
	uint64_t	size = words[SLOTS],
				room = blx_hashes_room(f),
				count = words[COUNT];
	size_t		i = 0;

	for (; i < n && count < room; i++)
	{
		uint64_t	hash = hashes[i],
					slot;

		/* The hash 0 has no slot, only a flag. */
		if (hash == 0)
		{
			count += !has_zero(words);
			words[STATE] |= 1;
			continue;
		}
		slot = by_top_bits ? blx_scale(hash, size) : home_slot(f, words, hash);
		/* what is there already mostly is at home */
		if (slots[slot] == hash)
			continue;
		slot = find_from(slots, size, slot, hash);
		if (slot == NOWHERE)
			break;
		count += slots[slot] == 0;
		slots[slot] = hash;
	}
	words[COUNT] = count;
	return i;
}

/* Adds hashes until one finds no room; returns how many. */
static size_t
add_some(blx_filter *f, const uint64_t *hashes, size_t n)
{
	if (f->layout != BLX_HASHES)
		return 0;
	if (salt_of(blx_cwords(f)) == 0 && are_spread(f))
		return add_with(f, hashes, n, true);
	return add_with(f, hashes, n, false);
}

bool
blx_hashes_add(blx_filter *f, uint64_t hash)
{
	return add_some(f, &hash, 1) == 1;
}

/* True if the hash is in the set. */
static bool
test(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	slot;

	if (hash == 0)
		return has_zero(words);
	slot = find_from(words + PREFIX_WORDS, words[SLOTS], home_slot(f, words, hash), hash);
	return slot != NOWHERE && words[PREFIX_WORDS + slot] == hash;
}

/*
 * True if every hash is where a search finds it: no free slot lies between its
 * home and its slot, and it is not too far from home.  One pass, which counts
 * the hashes in a row since the last free slot.
 */
static bool
places_are_sound(const blx_filter *f)
{
	const uint64_t *words = blx_cwords(f);
	const uint64_t *slots = words + PREFIX_WORDS;
	uint64_t	n = words[SLOTS];
	uint64_t	since_free = 0;	/* hashes in a row up to here */

	/* The row that ends at the last slot goes on at slot 0: hashes may have walked around the end. */
	for (uint64_t i = n; i-- > 0 && slots[i] != 0;)
		since_free++;

	/* A hash that walked further than the row is long would have a free slot on its way. */
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	home,
					walk;

		if (slots[i] == 0)
		{
			since_free = 0;
			continue;
		}
		home = home_slot(f, words, slots[i]);
		walk = i >= home ? i - home : i + n - home;
		if (walk > since_free || walk > MAX_WALK)
			return false;
		since_free++;
	}
	return true;
}

/*
 * Takes time linear in the number of slots.  There must be a free one, where a search
 * ends.  A hash that is there twice is not refused: it only makes the count too high.
 */
static bool
check_table(const blx_filter *f, blx_error *error)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	used = 0;

	for (uint64_t i = 0; i < words[SLOTS]; i++)
		used += words[PREFIX_WORDS + i] != 0;
	if (used + has_zero(words) != words[COUNT] || used == words[SLOTS])
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes does not have the number of hashes it says");
	if (!places_are_sound(f))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes has a hash in the wrong place");
	return true;
}

/* Hands out hashes as blx_hashes_next does: up to max at a time, 0 at the end. */
typedef size_t (*hash_source) (const void *source, uint64_t *cursor, uint64_t *out, size_t max);

/* ---- sets of given hashes ----
 *
 * Hashes are taken 256 at a time: 2 kB on the stack, few calls.
 */

/* Adds all hashes of a source.  False at the first that is too far from its home. */
static bool
add_all(blx_filter *f, hash_source next, const void *source)
{
	uint64_t	batch[256],
				cursor = 0;
	size_t		n;

	while ((n = next(source, &cursor, batch, 256)) > 0)
		if (add_some(f, batch, n) < n)
			return false;
	return true;
}

/* Returns a digest of the hashes.  It is a sum, so it does not depend on their order. */
static uint64_t
digest_of(hash_source next, const void *source)
{
	uint64_t	batch[256],
				cursor = 0,
				sum = 0;
	size_t		n;

	while ((n = next(source, &cursor, batch, 256)) > 0)
		for (size_t i = 0; i < n; i++)
			sum += blx_hash_int64(batch[i], 0);
	return sum;
}

/*
 * How many salts are tried before a set is refused.  Random hashes crowd with
 * one salt in less than one of a million tables.  Hashes that crowd with all four
 * were chosen to do so.
 */
#define SALTS 4

/* Fills f under one salt after another until the hashes do not crowd.  False if they always do. */
static bool
fill_with_salt(blx_filter *f, hash_source next, const void *source)
{
	uint64_t   *words = blx_words(f);
	uint64_t	digest = digest_of(next, source);

	for (unsigned i = 1; i <= SALTS; i++)
	{
		words[COUNT] = 0;
		words[STATE] = (blx_hash_int64(digest, i) | 1) << 1;
		memset(words + PREFIX_WORDS, 0, 8 * words[SLOTS]);
		if (add_all(f, next, source))
			return true;
	}
	return false;
}

/*
 * Adds the hashes that `next` hands out to an empty set that has room for all of
 * them.  False if they stand too close: then f is spoilt, and a larger set is
 * needed.  The hashes are handed out again for each salt.
 */
static bool
fill(blx_filter *f, hash_source next, const void *source)
{
	return f->layout == BLX_HASHES && (add_all(f, next, source) || fill_with_salt(f, next, source));
}

/* The hash_source of a set. */
static size_t
next_of_set(const void *source, uint64_t *cursor, uint64_t *out, size_t max)
{
	return blx_hashes_next(source, cursor, out, max);
}

/*
 * True if the set might refuse a hash although it is not full: some row of hashes
 * is longer than MAX_WALK.  Then a set of twice the slots would soon be as
 * crowded, and needs a salt.
 */
static bool
is_crowded(const blx_filter *f)
{
	const uint64_t *slots = blx_cwords(f) + PREFIX_WORDS;
	uint64_t	n = blx_hashes_slots(f);
	uint64_t	run = 0;

	if (blx_hashes_full(f))
		return false;
	for (uint64_t i = 0; i < 2 * n && run <= MAX_WALK; i++)	/* twice around: a row may continue at slot 0 */
		run = slots[i < n ? i : i - n] != 0 ? run + 1 : 0;
	return run > MAX_WALK;
}

bool
blx_hashes_copy(blx_filter *dst, const blx_filter *src)
{
	if (src->layout != BLX_HASHES || dst->layout != BLX_HASHES)
		return false;
	/* A crowded source gets a new salt at once; otherwise dst keeps the salt, and gets another only if that fails. */
	if (is_crowded(src))
		return fill_with_salt(dst, next_of_set, src);
	blx_words(dst)[STATE] = blx_cwords(src)[STATE] & ~UINT64_C(1);
	return fill(dst, next_of_set, src);
}

/* ---- walking through a set ---- */

/*
 * Hands out hashes slot by slot, `stride` slots apart.  Cursor 0 stands before
 * the hash 0, and cursor i + 1 before slot i * stride modulo the number of slots.
 */
static inline size_t
next_by_stride(const blx_filter *f, uint64_t stride, uint64_t *cursor, uint64_t *out, size_t max)
{
	const uint64_t *words = blx_cwords(f);
	const uint64_t *slots = words + PREFIX_WORDS;
	size_t		n = 0;

	if (max == 0 || f->layout != BLX_HASHES)
		return 0;
	if (*cursor == 0)
	{
		if (has_zero(words))
			out[n++] = 0;
		*cursor = 1;
	}
	for (; *cursor <= words[SLOTS] && n < max; ++*cursor)
	{
		uint64_t	slot = stride == 1 ? *cursor - 1 : (*cursor - 1) * stride % words[SLOTS];

		/* without a branch, as nothing tells which slots are free */
		out[n] = slots[slot];
		n += slots[slot] != 0;
	}
	return n;
}

size_t
blx_hashes_next(const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max)
{
	return next_by_stride(f, 1, cursor, out, max);
}

bool
blx_hashes_ordered(const blx_filter *f)
{
	return salt_of(blx_cwords(f)) == 0;
}

/* The home of a hash without a salt is its spread hash, scaled (home_slot). */
size_t
blx_hashes_next_in(const blx_filter *f, uint64_t block, uint64_t blocks, uint64_t *cursor, uint64_t *out, size_t max)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	size = words[SLOTS],
				least = blocks == 1 ? 0 : UINT64_MAX / blocks * block,	/* no hash of the block is below it */
				most = block + 1 == blocks ? UINT64_MAX : UINT64_MAX / blocks * (block + 1) + blocks,
				first = blx_scale(least, size),
				span = blx_scale(most, size) - first + MAX_WALK + 1;
	size_t		n = 0;

	if (span > size)
		span = size;
	/* cursor 0 stands before the hash 0, which has no slot; then a slot may hold a hash that walked around the end */
	if (*cursor == 0 && max > 0)
	{
		uint64_t	zero = blx_spread_hash(f->key_type, 0);

		if (has_zero(words) && blx_scale(zero, blocks) == block)
			out[n++] = zero;
		*cursor = 1;
	}
	for (; *cursor <= span && n < max; ++*cursor)
	{
		uint64_t	slot = first + *cursor - 1,
					hash = words[PREFIX_WORDS + (slot < size ? slot : slot - size)],
					spread = blx_spread_hash(f->key_type, hash);

		out[n] = spread;
		n += hash != 0 && blx_scale(spread, blocks) == block;
	}
	return n;
}

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/*
 * A layout that grows is given the hashes scattered (hashes.h).  Multiples of the
 * golden section of the number of slots are spread evenly, however many of them
 * have been taken; a stride that is prime to that number meets every slot once.
 */
size_t
blx_hashes_next_for(uint8_t layout, const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max)
{
	uint64_t	slots = blx_hashes_slots(f);
	uint64_t	stride = (uint64_t) ((double) slots * 0.6180339887498949) + 1;

	if (slots == 0 || (blx_traits(layout) & BLX_UNBOUNDED) == 0)
		return blx_hashes_next(f, cursor, out, max);
	while (common_divisor(stride, slots) != 1)
		stride++;
	return next_by_stride(f, stride, cursor, out, max);
}

bool
blx_add_set(blx_filter *dst, const blx_filter *src)
{
	uint64_t	batch[256],
				cursor = 0;
	size_t		n;

	while ((n = blx_hashes_next(src, &cursor, batch, 256)) > 0)
		if (blx_layout_row(dst->layout)->add(dst, batch, n) < n)
			return false;
	return true;
}

uint64_t
blx_hashes_union_count(const blx_filter *a, const blx_filter *b)
{
	uint64_t	count = blx_hashes_count(a),
				cursor = 0,
				hash;

	while (blx_hashes_next(b, &cursor, &hash, 1) > 0)
		count += a->layout != BLX_HASHES || !test(a, hash);
	return count;
}

/* Sets *smallest to the smallest hash of a that b does not have.  False if b has them all. */
static bool
smallest_missing(const blx_filter *a, const blx_filter *b, uint64_t *smallest)
{
	uint64_t	cursor = 0,
				hash;
	bool		found = false;

	while (blx_hashes_next(a, &cursor, &hash, 1) > 0)
		if ((!found || hash < *smallest) && !test(b, hash))
		{
			*smallest = hash;
			found = true;
		}
	return found;
}

/*
 * Orders by count, then by the smallest hash that only one set has.  If the counts
 * are equal, either both sets have a hash that the other lacks, or neither has.
 */
static int
compare(const blx_filter *a, const blx_filter *b)
{
	uint64_t	only_a,
				only_b;

	if (blx_hashes_count(a) != blx_hashes_count(b))
		return blx_hashes_count(a) < blx_hashes_count(b) ? -1 : 1;
	if (!smallest_missing(a, b, &only_a) || !smallest_missing(b, a, &only_b))
		return 0;
	return only_a < only_b ? -1 : 1;
}

static uint64_t
digest(const blx_filter *f)
{
	return blx_hashes_count(f) + digest_of(next_of_set, f);
}

/* ---- the rate that the result is to meet ---- */

/*
 * The bits of a double between 2^-1022 and 1, as a number, are above 2^52: no
 * filter has room for as many keys.
 */
bool
blx_is_rate(uint64_t capacity)
{
	return capacity >> 52 != 0 && capacity >> 52 < 0x3ff;
}

/* True if f is open and has a rate.  The same number is a capacity in a finished filter. */
static bool
has_rate(const blx_filter *f)
{
	return blx_size_is_open(f) && blx_is_rate(f->capacity);
}

uint64_t
blx_capacity_promised(const blx_filter *f)
{
	return has_rate(f) ? 0 : f->capacity;
}

uint64_t
blx_joint_capacity(const blx_filter *a, const blx_filter *b, bool open)
{
	uint64_t	of_a = a->capacity,
				of_b = b->capacity;

	if (has_rate(a) && has_rate(b))
		return !open ? 0 : of_a < of_b ? of_a : of_b;	/* the lower rate */
	if (has_rate(a) || has_rate(b))
		return has_rate(a) == open ? of_a : of_b;
	return of_a > of_b ? of_a : of_b;
}

uint64_t
blx_capacity_of_rate(double fpr)
{
	uint64_t	bits;

	if (fpr == BLX_DEFAULT_FPR)
		return 0;
	if (fpr < DBL_MIN)
		fpr = DBL_MIN;			/* which no filter reaches, either */
	memcpy(&bits, &fpr, sizeof bits);
	return bits;
}

double
blx_rate_wanted(const blx_filter *open)
{
	double		fpr;

	if (!blx_is_rate(open->capacity))
		return BLX_DEFAULT_FPR;
	memcpy(&fpr, &open->capacity, sizeof fpr);
	return fpr;
}

/* ---- the row of the table ---- */

static uint64_t
words(const blx_filter *f)
{
	return PREFIX_WORDS + blx_hashes_slots(f);
}

/* The header of a planned set has the geometry of the filter that it will become, with the layout in `pending`. */
static bool
check_header(const blx_filter *h, blx_error *error)
{
	blx_geometry planned = blx_header_geometry(h);

	if (h->pending == 0)
	{
		if (h->blocks || h->parts || h->probes || h->part_bits || h->expanded || h->hashing || h->fraction)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "an unplanned set of hashes has a geometry");
		return true;
	}
	/* Layouts that need the stream of keys never have an open set. */
	if (blx_traits(h->pending) & (BLX_STREAM | BLX_UNBOUNDED))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes cannot become a %s filter", blx_layout_name(h->pending));
	if (!blx_geometry_check(&planned, error))
	{
		if (error != NULL)
			error->code = BLX_CORRUPT;
		return false;
	}
	if (h->expanded > 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "bloom filter cannot have been expanded %u times", h->expanded);
	return true;
}

static bool
check_body(const blx_filter *f, uint64_t body_words, blx_error *error)
{
	uint64_t	slots = body_words > PREFIX_WORDS ? blx_cwords(f)[SLOTS] : 0;

	if (slots == 0 || slots != body_words - PREFIX_WORDS)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes has an impossible size");
	return true;
}

/* The interchange form: the number of hashes, then the hashes in ascending order. */
static uint64_t
wire_bytes(const blx_filter *f)
{
	return 8 * (1 + blx_hashes_count(f));
}

static void
to_wire(const blx_filter *f, uint8_t *out)
{
	uint64_t	cursor = 0,
				batch[256],
				count = blx_hashes_count(f);
	uint8_t    *end = out + 8;
	size_t		n;

	/* The number, and the hashes as the table has them. */
	blx_put_word(out, count);
	while ((n = blx_hashes_next(f, &cursor, batch, 256)) > 0)
	{
		memcpy(end, batch, n * 8);
		end += n * 8;
	}
	/* So far in native byte order: sort by value, then swap the bytes if the machine needs that. */
	blx_sort_values(out + 8, count);
	for (uint8_t *value = out + 8; value < end; value += 8)
	{
		uint64_t	hash;

		memcpy(&hash, value, 8);
		blx_put_word(value, hash);
	}
}

/*
 * Returns the slots for `count` imported hashes: half of them stay free, so
 * that the set can take more before it grows.
 */
static uint64_t
slots_for(uint64_t count)
{
	return count < 4 ? 8 : 2 * count;
}

static bool
wire_check(const uint8_t *body, uint64_t bytes, blx_error *error)
{
	uint64_t	count = bytes >= 8 ? blx_get_word(body) : 0;

	if (bytes < 8 || count > BLX_MAX_BYTES / 8 || bytes != 8 + 8 * count)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes does not have the number of hashes it says");
	/* Strictly ascending: no hash comes twice. */
	for (uint64_t i = 1; i < count; i++)
		if (blx_get_word(body + 8 * i) >= blx_get_word(body + 8 + 8 * i))
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "hashes are not in ascending order");
	if (blx_hashes_bytes(slots_for(count), BLX_MAX_NAME) > BLX_MAX_BYTES)
		return blx_fail(error, BLX_LIMIT, NULL, NULL, "a set of %llu hashes exceeds the limit of 1 GB", (unsigned long long) count);
	return true;
}

static uint64_t
wire_words(const uint8_t *body)
{
	return PREFIX_WORDS + slots_for(blx_get_word(body));
}

/* The hash_source of an interchange form. */
static size_t
next_of_wire(const void *source, uint64_t *cursor, uint64_t *out, size_t max)
{
	const uint8_t *body = source;
	uint64_t	left = blx_get_word(body) - *cursor;
	size_t		n = left < max ? (size_t) left : max;

	for (size_t i = 0; i < n; i++)
		out[i] = blx_get_word(body + 8 + 8 * (*cursor)++);
	return n;
}

/*
 * Refuses hashes that were chosen so that every table of them has long walks.
 * No hash function gives keys such hashes.
 */
static bool
from_wire(blx_filter *f, const uint8_t *body, blx_error *error)
{
	blx_words(f)[SLOTS] = slots_for(blx_get_word(body));
	if (!fill(f, next_of_wire, body))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "hashes are not spread as hashes are");
	return true;
}

/* A set has no bits, and its answers are exact except for different keys of equal hash. */
static uint64_t
no_bits(const blx_filter *f)
{
	(void) f;
	return 0;
}

static double
no_rate(const blx_filter *f)
{
	(void) f;
	return 0;
}

static double
cardinality(const blx_filter *f)
{
	return (double) blx_hashes_count(f);
}

#define NO_FILTER "It is an open set: its keys are known, but the size of a filter for them is not."

const blx_layout blx_layout_hashes = {
	.name = "hashes",
	.why_not = {
		[BLX_UNION] = NO_FILTER,
		[BLX_INTERSECTION] = NO_FILTER,
		[BLX_DISJOINT] = NO_FILTER,
		[BLX_COMPARISON] = NO_FILTER,
		[BLX_PREFIX] = NO_FILTER,
		[BLX_FOLD] = NO_FILTER,
	},
	.add = add_some,
	.test = test,
	.words = words,
	.check_header = check_header,
	.check_body = check_body,
	.check_linear = check_table,
	.compare = compare,
	.digest = digest,
	.wire_bytes = wire_bytes,
	.to_wire = to_wire,
	.wire_check = wire_check,
	.wire_words = wire_words,
	.from_wire = from_wire,
	.bits_in = no_bits,
	.bits_set = no_bits,
	.cardinality = cardinality,
	.fpr = no_rate,
};
