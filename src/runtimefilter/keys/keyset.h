/*
 * keyset.h - the keys of a join's build side, collected while they pass by.
 *
 * A key is a 64-bit code (keycode.h).  If keys are integers, the code is the
 * integer, and the set knows its lowest and highest one; otherwise it is a hash.
 */
#pragma once

#include "pg/base/base.h"

#include "core/filter/inline.h"
#include "runtimefilter/keys/keyvalues.h"

typedef enum KeySetForm
{
	KEYS_FEW,					/* a table of distinct codes: only while they are collected */
	KEYS_BITMAP,				/* one bit per integer from `base` on */
	KEYS_FILTER,				/* a Bloom filter */
	KEYS_RANGE					/* nothing but the bounds; of hashes: all codes, unless there was no key */
} KeySetForm;

/* Keys are given to the core in batches of this many: it fetches all their blocks at once. */
#define KEY_BATCH 64

typedef struct KeySet
{
	MemoryContext context;		/* of all that is allocated here */
	bool		is_integer;
	bool		bounds_only;	/* rows are tested by another set: keep bounds and a few keys */
	uint64		budget;			/* bytes */
	double		expected;		/* keys, says the planner */

	KeySetForm	form;
	uint64		serial;			/* of a complete set: no other set had or will have it */
	uint64		keys;			/* that were added, repeated ones too */
	int64		lowest,			/* of integers; when the set is complete, of codes that pass */
				highest;

	/* distinct codes in open addressing, 0 for a free slot; has_zero stands for the code 0 */
	uint64	   *slots;
	uint32		n_slots;
	bool		has_zero;
	uint64		n_distinct;		/* in the table, or in the bitmap */

	int64		base;			/* a multiple of 64 */
	uint64		n_bits;
	uint64	   *bits;

	blx_filter *filter;
	void	   *filter_chunk;	/* what pfree takes */
	uint64		batch[KEY_BATCH];
	int			n_batch;

	/* when it is complete, if it is a set of few integers, and somebody has asked for them: they, ascending */
	int64	   *sorted;
	uint32		n_sorted;
	uint64	   *unsorted;		/* until then, if they are in no bitmap */

	KeyValues  *values;			/* of keys that are no integers, if somebody wants to know them; NULL = unknown */
} KeySet;

extern void KeySetInit(KeySet *set, MemoryContext context, bool is_integer, bool bounds_only,
					   uint64 budget, double expected);
extern void KeySetAdd(KeySet *set, uint64 code);

/* The values will be added, too. */
extern void KeySetKeepValues(KeySet *set, ValueOrder *order);
extern void KeySetAddValue(KeySet *set, uint64 code, Datum value);

/* No more keys will come. */
extern void KeySetFinish(KeySet *set);

/* What a set that is not complete holds, in one piece, for another process. */
typedef struct ExportedKeySet
{
	uint64		bytes;			/* of all this */
	KeySetForm	form;
	uint64		keys,
				n_distinct;
	int64		lowest,
				highest;
	bool		has_zero;
	bool		has_values;
	uint64		n_words;		/* of the table; of the bitmap, from the lowest key on; of the filter */
	uint64		words[FLEXIBLE_ARRAY_MEMBER];	/* and behind them the values */
} ExportedKeySet;

extern uint64 KeySetExportBytes(const KeySet *set);
extern void KeySetExport(KeySet *set, ExportedKeySet *exported);

/* Adds exported keys to a set that is not complete. */
extern void KeySetImport(KeySet *set, ExportedKeySet *exported);

/* Bytes that tests of rows go through. */
extern uint64 KeySetBytes(const KeySet *set);

/* "bitmap", "bloom", ... */
extern const char *KeySetFormName(const KeySet *set);

/* The integers of a complete set, ascending: n_sorted of them.  NULL if they are too many to be known. */
extern const int64 *KeySetIntegers(const KeySet *set);

/* How many these are, without making them; UINT32_MAX if they are not known. */
extern uint32 KeySetCountIntegers(const KeySet *set);

/* How many keys of a complete set, of any type, are known one by one: all of them, or UINT32_MAX.  And the i-th of these, ascending. */
extern uint32 KeySetKnownKeys(const KeySet *set);

static inline Datum
KeySetKnownKey(const KeySet *set, CodeKind kind, uint32 i)
{
	return set->is_integer ? DatumOfInteger(kind, set->sorted[i]) : set->values->values[i];
}

/* False if no key is in [low, high].  The keys must be integers. */
extern bool KeySetMeetsRange(const KeySet *set, int64 low, int64 high);

/*
 * Which of at most KEY_BATCH codes may be in the complete set: a bit for each.  The
 * codes are overwritten.
 */
extern uint64 KeySetMayHoldWhich(const KeySet *set, uint64 *codes, int n);

/* Spreads a code over 64 bits: Stafford's variant 13 of the finisher of MurmurHash3, as in splitmix64. */
static inline uint64
MixCode(uint64 code)
{
	code = (code ^ (code >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	code = (code ^ (code >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return code ^ (code >> 31);
}

/* One code for several keys, added one after the other to 0. */
static inline uint64
CombineCodes(uint64 so_far, uint64 code)
{
	return MixCode(so_far ^ code) + UINT64CONST(0x9E3779B97F4A7C15);
}

static inline bool
KeySetIsEmpty(const KeySet *set)
{
	return set->keys == 0;
}

/* False if the code is certainly not in the complete set. */
static inline bool
KeySetMayHold(const KeySet *set, uint64 code)
{
	uint64		offset;

	switch (set->form)
	{
		case KEYS_BITMAP:
			offset = code - (uint64) set->base;
			return offset < set->n_bits && (set->bits[offset >> 6] >> (offset & 63) & 1) != 0;
		case KEYS_FILTER:
			if (set->is_integer && ((int64) code < set->lowest || (int64) code > set->highest))
				return false;
			return blx_test_inline(set->filter, MixCode(code));
		case KEYS_RANGE:
			return (int64) code >= set->lowest && (int64) code <= set->highest;
		case KEYS_FEW:
			break;
	}
	return true;
}
