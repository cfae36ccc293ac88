/*
 * hashes.c - a filter that is still open: the distinct key hashes so far.
 *
 * While nobody knows how many keys are coming, the hashes themselves are kept
 * as they are, 8 bytes each in an open-addressing table.  A hash's home slot
 * is its top bits, scaled to the number of slots: walking the table visits the
 * hashes in ascending order, nearly, so growing reads and writes memory in
 * sequence, and so does pouring the hashes into the first group of a
 * partitioned_blocked filter, whose blocks are named by top bits too.
 *
 * Hashes that somebody else made (no key type, or BLX_KEY_HASH) may not be
 * spread as hashes are: their home is taken from a hash of the hash.
 *
 * Nor need the hashes of chosen keys be spread: whoever picks keys whose hashes
 * begin alike would make every search walk through all that came before.  So no
 * hash stands further than MAX_WALK slots from its home.  One that would is not
 * added: the set is full for it, whatever its count, and whoever makes a larger
 * set of it (blx_hashes_copy) moves the homes by a salt, a digest of the hashes
 * themselves.  No operation on one hash takes more than MAX_WALK steps,
 * then, and what somebody gains who foresees the salts is a set that grows early.
 *
 * The body: number of hashes, number of slots, the salt and whether the hash 0
 * is among the hashes (an empty slot is 0), then the slots.  The header's
 * geometry is the planned filter's, `pending` its layout (0: the count will
 * decide).
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/sort.h"
#include "core/base/words.h"
#include "core/layouts/hashes.h"
#include "core/layouts/geometry.h"
#include "core/layouts/layout.h"

enum
{
	COUNT, SLOTS,
	STATE,						/* lowest bit: the hash 0 is among the hashes; above it the salt, 0 = none */
	PREFIX_WORDS
};

/*
 * In a table of random hashes at three quarters of its slots, the fullest that
 * there is, the longest way of any hash was 195 slots in 200 tables of 2^16
 * slots, and 262 in 12 tables of 2^24: some 15 more for every factor of e.
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

	if (planned == NULL)
		planned = &none;
	f->layout = BLX_HASHES;
	memcpy(f->magic, "BLX\x01", 4);
	f->key_type = id->key_type;
	f->name_len = id->name_len;
	f->hashing = planned->hashing;
	f->blocks = planned->blocks;
	f->seed = id->seed;
	f->capacity = capacity;
	f->part_bits = planned->part_bits;
	f->parts = planned->parts;
	f->probes = planned->probes;
	f->fraction = planned->fraction;
	f->expanded = 0;
	f->pending = planned->layout;
	memset((char *) f + sizeof(blx_filter), 0, blx_hashes_bytes(slots, id->name_len) - sizeof(blx_filter));
	if (id->name_len > 0)
		memcpy((char *) f + sizeof(blx_filter), id->name, id->name_len);
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

/* So few slots are searched from end to end as fast as memory is fetched. */
#define FEW_SLOTS 64

/* Three quarters of many slots: beyond that linear probing gets slow.  One stays free, where a search ends. */
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

static inline uint64_t
home_slot(const blx_filter *f, const uint64_t *words, uint64_t hash)
{
	uint64_t	salt = salt_of(words);

	if (salt != 0 || !are_spread(f))
		hash = blx_hash_int64(hash, salt != 0 ? salt : 1);
	return blx_scale(hash, words[SLOTS]);
}

/* The slot of a hash other than 0: where it is, or where it belongs; NOWHERE if that is too far from its home. */
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

static inline uint64_t
find_slot(const blx_filter *f, const uint64_t *words, uint64_t hash)
{
	return find_from(words + PREFIX_WORDS, words[SLOTS], home_slot(f, words, hash), hash);
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

		if (hash == 0)
		{
			count += !has_zero(words);
			words[STATE] |= 1;
			continue;
		}
		slot = find_from(slots, size, by_top_bits ? blx_scale(hash, size) : home_slot(f, words, hash), hash);
		if (slot == NOWHERE)
			break;
		count += slots[slot] == 0;
		slots[slot] = hash;
	}
	words[COUNT] = count;
	return i;
}

size_t
blx_hashes_add_some(blx_filter *f, const uint64_t *hashes, size_t n)
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
	return blx_hashes_add_some(f, &hash, 1) == 1;
}

bool
blx_hashes_test(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	slot;

	if (hash == 0)
		return has_zero(words);
	slot = find_slot(f, words, hash);
	return slot != NOWHERE && words[PREFIX_WORDS + slot] == hash;
}

/* Does the table hold the number of hashes that it says, and a free slot? */
static bool
count_is_sound(const uint64_t *words)
{
	uint64_t	used = 0;

	for (uint64_t i = 0; i < words[SLOTS]; i++)
		used += words[PREFIX_WORDS + i] != 0;
	return used + has_zero(words) == words[COUNT] && used < words[SLOTS];
}

/*
 * Is every hash where it is looked for?  It is if no free slot lies between its
 * home and it, and if it is not too far.  Where the last free slot was is known
 * in the second round: the first hashes may be on their way around the end.
 */
static bool
places_are_sound(const blx_filter *f)
{
	const uint64_t *words = blx_cwords(f);
	const uint64_t *slots = words + PREFIX_WORDS;
	uint64_t	n = words[SLOTS];
	uint64_t	since_free = 0;	/* hashes in a row up to here */

	for (uint64_t i = n; i-- > 0 && slots[i] != 0;)
		since_free++;
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

/* Takes time that is linear in the number of slots.  (That no hash is there twice is not asked: that harms nobody.) */
static bool
check_table(const blx_filter *f, blx_error *error)
{
	if (!count_is_sound(blx_cwords(f)))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes does not have the number of hashes it says");
	if (!places_are_sound(f))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes has a hash in the wrong place");
	return true;
}

/* ---- sets of given hashes ---- */

static bool
add_all(blx_filter *f, blx_hashes_source next, const void *source)
{
	uint64_t	batch[256],
				cursor = 0;
	size_t		n;

	while ((n = next(source, &cursor, batch, 256)) > 0)
		if (blx_hashes_add_some(f, batch, n) < n)
			return false;
	return true;
}

/* A sum does not depend on the order of its terms. */
static uint64_t
digest_of(blx_hashes_source next, const void *source)
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

/* Random hashes do not crowd with one salt in a million tables; chosen ones that crowd with four were chosen to. */
#define SALTS 4

static bool
fill_with_salt(blx_filter *f, blx_hashes_source next, const void *source)
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

bool
blx_hashes_fill(blx_filter *f, blx_hashes_source next, const void *source)
{
	return f->layout == BLX_HASHES && (add_all(f, next, source) || fill_with_salt(f, next, source));
}

static size_t
next_of_set(const void *source, uint64_t *cursor, uint64_t *out, size_t max)
{
	return blx_hashes_next(source, cursor, out, max);
}

/* Does it refuse a hash that it has the room for, so that twice the slots would soon be as crowded? */
static bool
is_crowded(const blx_filter *f)
{
	const uint64_t *slots = blx_cwords(f) + PREFIX_WORDS;
	uint64_t	n = blx_hashes_slots(f);
	uint64_t	run = 0;

	if (blx_hashes_full(f))
		return false;
	for (uint64_t i = 0; i < 2 * n && run <= MAX_WALK; i++)	/* twice: a run may go on at the beginning */
		run = slots[i < n ? i : i - n] != 0 ? run + 1 : 0;
	return run > MAX_WALK;
}

bool
blx_hashes_copy(blx_filter *dst, const blx_filter *src)
{
	if (src->layout != BLX_HASHES || dst->layout != BLX_HASHES)
		return false;
	if (is_crowded(src))
		return fill_with_salt(dst, next_of_set, src);
	blx_words(dst)[STATE] = blx_cwords(src)[STATE] & ~UINT64_C(1);
	return blx_hashes_fill(dst, next_of_set, src);
}

/* ---- walking through a set ---- */

/* Cursor 0 stands before the hash 0; cursor i + 1 before slot i * stride, modulo their number. */
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

		if (slots[slot] != 0)
			out[n++] = slots[slot];
	}
	return n;
}

size_t
blx_hashes_next(const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max)
{
	return next_by_stride(f, 1, cursor, out, max);
}

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Multiples of the golden section of n, modulo n, lie evenly however many there are; prime to n, they meet every slot. */
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
blx_hashes_pour(blx_filter *dst, const blx_filter *src)
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
		count += a->layout != BLX_HASHES || !blx_hashes_test(a, hash);
	return count;
}

/* The smallest hash of a that b does not have. */
static bool
smallest_missing(const blx_filter *a, const blx_filter *b, uint64_t *smallest)
{
	uint64_t	cursor = 0,
				hash;
	bool		found = false;

	while (blx_hashes_next(a, &cursor, &hash, 1) > 0)
		if ((!found || hash < *smallest) && !blx_hashes_test(b, hash))
		{
			*smallest = hash;
			found = true;
		}
	return found;
}

/* By count, then by the smallest hash that only one has: of equal counts both have such a one, or neither. */
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

/* ---- the row of the table ---- */

static uint64_t
words(const blx_filter *f)
{
	return PREFIX_WORDS + blx_hashes_slots(f);
}

/* What an open set without a plan begins with, where somebody asks for the filter of its geometry. */
#define FIRST_SLOTS 8

static uint64_t
body_words_of(const blx_geometry *g)
{
	(void) g;
	return PREFIX_WORDS + FIRST_SLOTS;
}

static void
init(blx_filter *f)
{
	blx_words(f)[SLOTS] = FIRST_SLOTS;
}

/* A home depends on the key type. */
static bool
copy(blx_filter *dst, const blx_filter *f)
{
	blx_words(dst)[SLOTS] = blx_hashes_slots(f);
	return blx_hashes_copy(dst, f);
}

static uint64_t
grown_words(const blx_filter *f)
{
	return PREFIX_WORDS + 2 * blx_hashes_slots(f);
}

static bool
grow(blx_filter *dst, const blx_filter *f)
{
	blx_words(dst)[SLOTS] = 2 * blx_hashes_slots(f);
	return blx_hashes_copy(dst, f);
}

/* The header of a planned set has the geometry of the filter that it becomes, `pending` its layout. */
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
	return check_table(f, error);
}

/* It travels as its distinct hashes in ascending order, after their number. */
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

	blx_put_word(out, count);
	while ((n = blx_hashes_next(f, &cursor, batch, 256)) > 0)
	{
		memcpy(end, batch, n * 8);
		end += n * 8;
	}
	/* still in native order: sorted by value, then swapped where the machine needs it */
	blx_sort_values(out + 8, count);
	for (uint8_t *value = out + 8; value < end; value += 8)
	{
		uint64_t	hash;

		memcpy(&hash, value, 8);
		blx_put_word(value, hash);
	}
}

/* A table of that many hashes at half load. */
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

/* blx_hashes_source: the body of a set, its count and its hashes. */
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

/* Refused if the hashes were chosen so that no table of them is quick: then no keys of any program had them. */
static bool
from_wire(blx_filter *f, const uint8_t *body, blx_error *error)
{
	blx_words(f)[SLOTS] = slots_for(blx_get_word(body));
	if (!blx_hashes_fill(f, next_of_wire, body))
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "hashes are not spread as hashes are");
	return true;
}

/* The hashes are no bits; but for equal hashes of different keys its answers are exact. */
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

#define NO_FILTER "It is an open set: its keys are known, but not how large a filter of them will be."

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
	.add = blx_hashes_add_some,
	.test = blx_hashes_test,
	.body_words = body_words_of,
	.words = words,
	.init = init,
	.copy = copy,
	.check_header = check_header,
	.check_body = check_body,
	.compare = compare,
	.digest = digest,
	.wire_bytes = wire_bytes,
	.to_wire = to_wire,
	.wire_check = wire_check,
	.wire_words = wire_words,
	.from_wire = from_wire,
	.grown_words = grown_words,
	.grow = grow,
	.bits_in = no_bits,
	.bits_set = no_bits,
	.cardinality = cardinality,
	.fpr = no_rate,
};
