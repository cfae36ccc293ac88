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
 * The body: number of hashes, number of slots, whether the hash 0 is among
 * them (an empty slot is 0), then the slots.  The header's geometry is the
 * planned filter's, `pending` its layout (0: the count will decide).
 */
#include <string.h>

#include "core/hash.h"
#include "core/layout.h"

enum
{
	COUNT, SLOTS, HAS_ZERO, PREFIX_WORDS
};

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
	return blx_cwords(f)[SLOTS];
}

uint64_t
blx_hashes_count(const blx_filter *f)
{
	return blx_cwords(f)[COUNT];
}

/* So few slots are searched from end to end as fast as memory is fetched. */
#define FEW_SLOTS 64

/* Three quarters of many slots: beyond that linear probing gets slow.  One stays free, where a search ends. */
uint64_t
blx_hashes_room(const blx_filter *f)
{
	uint64_t	slots = blx_cwords(f)[SLOTS];

	if (slots == 0)
		return 0;
	return slots <= FEW_SLOTS ? slots - 1 : slots - slots / 4;
}

bool
blx_hashes_full(const blx_filter *f)
{
	return blx_cwords(f)[COUNT] >= blx_hashes_room(f);
}

bool
blx_hashes_are_spread(const blx_filter *f)
{
	return f->key_type != BLX_KEY_HASH && f->key_type != BLX_KEY_NONE;
}

static inline uint64_t
home_slot(const blx_filter *f, uint64_t slots, uint64_t hash)
{
	return blx_scale(blx_hashes_are_spread(f) ? hash : blx_derive(hash, 1), slots);
}

/* The slot of a hash other than 0: where it is, or where it belongs. */
static inline uint64_t
find_slot(const blx_filter *f, const uint64_t *words, uint64_t hash)
{
	const uint64_t *slots = words + PREFIX_WORDS;
	uint64_t	n = words[SLOTS];
	uint64_t	i = home_slot(f, n, hash);

	while (slots[i] != 0 && slots[i] != hash)
		if (++i == n)
			i = 0;
	return i;
}

void
blx_hashes_prefetch(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);

	__builtin_prefetch(words + PREFIX_WORDS + home_slot(f, words[SLOTS], hash), 1);
}

void
blx_hashes_add(blx_filter *f, uint64_t hash)
{
	uint64_t   *words = blx_words(f);
	uint64_t   *slot;

	if (hash == 0)
	{
		words[COUNT] += !words[HAS_ZERO];
		words[HAS_ZERO] = 1;
		return;
	}
	slot = words + PREFIX_WORDS + find_slot(f, words, hash);
	words[COUNT] += *slot == 0;
	*slot = hash;
}

bool
blx_hashes_test(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);

	if (hash == 0)
		return words[HAS_ZERO];
	return words[PREFIX_WORDS + find_slot(f, words, hash)] == hash;
}

/* Does the table hold what it says, a free slot, and every hash where it is looked for? */
bool
blx_hashes_check(const blx_filter *f, blx_error *error)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	used = 0;

	for (uint64_t i = 0; i < words[SLOTS]; i++)
		used += words[PREFIX_WORDS + i] != 0;
	if (words[HAS_ZERO] > 1 || used + words[HAS_ZERO] != words[COUNT] || used == words[SLOTS])
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes does not have the number of hashes it says");
	for (uint64_t i = 0; i < words[SLOTS]; i++)
		if (words[PREFIX_WORDS + i] != 0 && find_slot(f, words, words[PREFIX_WORDS + i]) != i)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a set of hashes has a hash in the wrong place");
	return true;
}

/* Cursor 0 stands before the hash 0; cursor i + 1 before slot i * stride, modulo their number. */
static inline size_t
next_by_stride(const blx_filter *f, uint64_t stride, uint64_t *cursor, uint64_t *out, size_t max)
{
	const uint64_t *words = blx_cwords(f);
	const uint64_t *slots = words + PREFIX_WORDS;
	size_t		n = 0;

	if (max == 0)
		return 0;
	if (*cursor == 0)
	{
		if (words[HAS_ZERO])
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

	if ((blx_traits(layout) & BLX_UNBOUNDED) == 0)
		return blx_hashes_next(f, cursor, out, max);
	while (common_divisor(stride, slots) != 1)
		stride++;
	return next_by_stride(f, stride, cursor, out, max);
}

void
blx_hashes_pour(blx_filter *dst, const blx_filter *src)
{
	uint64_t	batch[256],
				cursor = 0;
	size_t		n;

	while ((n = blx_hashes_next(src, &cursor, batch, 256)) > 0)
		blx_add(dst, batch, n);
}

uint64_t
blx_hashes_union_count(const blx_filter *a, const blx_filter *b)
{
	uint64_t	count = blx_hashes_count(a),
				cursor = 0,
				hash;

	while (blx_hashes_next(b, &cursor, &hash, 1) > 0)
		count += !blx_hashes_test(a, hash);
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
int
blx_hashes_compare(const blx_filter *a, const blx_filter *b)
{
	uint64_t	only_a,
				only_b;

	if (blx_hashes_count(a) != blx_hashes_count(b))
		return blx_hashes_count(a) < blx_hashes_count(b) ? -1 : 1;
	if (!smallest_missing(a, b, &only_a) || !smallest_missing(b, a, &only_b))
		return 0;
	return only_a < only_b ? -1 : 1;
}

/* A sum does not depend on the order of its terms. */
uint64_t
blx_hashes_digest(const blx_filter *f)
{
	uint64_t	cursor = 0,
				hash,
				sum = blx_hashes_count(f);

	while (blx_hashes_next(f, &cursor, &hash, 1) > 0)
		sum += blx_hash_int64(hash, 0);
	return sum;
}
