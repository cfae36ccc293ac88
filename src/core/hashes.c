/*
 * hashes.c - a filter that is still open: the distinct key hashes so far.
 *
 * While nobody knows how many keys are coming, the hashes themselves are kept
 * (DESIGN 4.1), 8 bytes each in an open-addressing table.  A hash's home slot
 * is its top bits, scaled to the number of slots: walking the table visits the
 * hashes in ascending order, nearly, so growing reads and writes memory in
 * sequence, and so does pouring the hashes into the first group of a
 * partitioned_blocked filter, whose blocks are named by top bits too.
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
	f->reserved0 = 0;
	f->blocks = planned->blocks;
	f->seed = id->seed;
	f->capacity = capacity;
	f->part_bits = planned->part_bits;
	f->parts = planned->parts;
	f->probes = planned->probes;
	f->reserved1 = 0;
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

/* Three quarters: beyond that linear probing gets slow. */
bool
blx_hashes_full(const blx_filter *f)
{
	const uint64_t *words = blx_cwords(f);

	return words[COUNT] >= words[SLOTS] - words[SLOTS] / 4;
}

/*
 * The slot of a hash other than 0: where it is, or where it belongs.  Turns
 * round once at most: a damaged table may have no empty slot.
 */
static inline uint64_t
find_slot(const uint64_t *slots, uint64_t n, uint64_t hash)
{
	uint64_t	i = blx_scale(hash, n);
	bool		turned = false;

	while (slots[i] != 0 && slots[i] != hash)
		if (++i == n)
		{
			if (turned)
				return 0;
			turned = true;
			i = 0;
		}
	return i;
}

void
blx_hashes_prefetch(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);

	__builtin_prefetch(words + PREFIX_WORDS + blx_scale(hash, words[SLOTS]), 1);
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
	slot = words + PREFIX_WORDS + find_slot(words + PREFIX_WORDS, words[SLOTS], hash);
	words[COUNT] += *slot == 0;
	*slot = hash;
}

bool
blx_hashes_test(const blx_filter *f, uint64_t hash)
{
	const uint64_t *words = blx_cwords(f);

	if (hash == 0)
		return words[HAS_ZERO];
	return words[PREFIX_WORDS + find_slot(words + PREFIX_WORDS, words[SLOTS], hash)] == hash;
}

/* Cursor 0 stands before the hash 0; cursor i + 1 before slot i. */
size_t
blx_hashes_next(const blx_filter *f, uint64_t *cursor, uint64_t *out, size_t max)
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
		if (slots[*cursor - 1] != 0)
			out[n++] = slots[*cursor - 1];
	return n;
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
