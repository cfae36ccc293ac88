/*
 * keyset.c - the keys of a join's build side, collected while they pass by.
 *
 * Nobody knows in advance how many keys will come, and memory is bounded.  So a
 * set starts as a table of distinct words.  Integers that are dense go into a
 * bitmap whenever the table would have to grow, and come back if others follow
 * that are not.  If the words become too many for the table, they go into a Bloom
 * filter, but for integers that can be expected to be dense.  A bitmap has no false positives, needs no hash, and is
 * smaller than a filter if at least one in eleven integers of its range is there.
 *
 * A filter is made for four times the keys that the planner expects, as far as
 * memory goes.  At the end it is folded to the size that its contents need, which
 * gives the filter that would have been built in that size (docs/design.md, "The
 * algebra").
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "runtimefilter/keys/keyset.h"

/*
 * The most distinct words that are kept as they are.  16384 words take 256 kB,
 * what a second-level cache holds; a larger table would cost a cache miss per row.
 */
#define MOST_FEW 16384

/* The slots of a new table; it is never more than half full. */
#define FIRST_SLOTS 64

/*
 * Bits of a bitmap per key that are better than a Bloom filter.  A filter has
 * eleven bits per key; a bitmap six times as large is still exact, and a test
 * touches one word of it instead of a block.
 */
#define BITMAP_BITS_PER_KEY 64

/* A bitmap of 8 kB is always good: it stays in the first-level cache. */
#define SMALL_BITMAP 65536

/*
 * A Bloom filter with eight probes, all of which are in one cache line.  Its size is
 * a power of two, so it has 8 to 16 bits per key: at most 3 of 100 tests pass in vain.
 */
#define FILTER_PROBES 8
#define FILTER_BITS_PER_KEY 16

/*
 * The rate of a Bloom filter that is cut at the end.  One row in a hundred that is not dropped costs one
 * hundredth of the gain, and each halving of the rate costs a tenth more memory.
 */
#define FILTER_FPR 0.01

/* A filter that passes half of what it should drop is not worth its tests. */
#define WORST_FPR 0.5

void
KeySetInit(KeySet *set, MemoryContext context, bool is_integer, bool bounds_only,
		   uint64 budget, double expected)
{
	memset(set, 0, sizeof(KeySet));
	set->context = context;
	set->is_integer = is_integer;
	set->bounds_only = bounds_only;
	set->budget = budget;
	set->expected = expected;
	set->lowest = PG_INT64_MAX;
	set->highest = PG_INT64_MIN;
}

static uint32
SlotOf(const KeySet *set, uint64 word)
{
	uint32		slot = (uint32) MixCode(word) & (set->n_slots - 1);

	while (set->slots[slot] != 0 && set->slots[slot] != word)
		slot = (slot + 1) & (set->n_slots - 1);
	return slot;
}

static void
AllocFew(KeySet *set, uint32 n_slots)
{
	set->n_slots = n_slots;
	set->slots = MemoryContextAllocZero(set->context, n_slots * sizeof(uint64));
}

/* True if a table may have n_slots slots. */
static bool
FewFits(const KeySet *set, uint64 n_slots)
{
	return n_slots == FIRST_SLOTS || (n_slots / 2 <= MOST_FEW && n_slots * sizeof(uint64) <= set->budget);
}

/* Doubles the table of words.  False if it has as many as it may have. */
static bool
GrowFew(KeySet *set)
{
	uint64	   *old = set->slots;
	uint32		n_old = set->n_slots;

	if (!FewFits(set, (uint64) n_old * 2))
		return false;
	AllocFew(set, n_old * 2);
	for (uint32 i = 0; i < n_old; i++)
		if (old[i] != 0)
			set->slots[SlotOf(set, old[i])] = old[i];
	pfree(old);
	return true;
}

/* Adds a word to the table.  False if it is full. */
static bool
AddToFew(KeySet *set, uint64 word)
{
	uint32		slot;

	if (word == 0)
	{
		set->n_distinct += !set->has_zero;
		set->has_zero = true;
		return true;
	}
	if (set->n_slots == 0)
		AllocFew(set, FIRST_SLOTS);
	slot = SlotOf(set, word);
	if (set->slots[slot] == word)
		return true;
	if (set->n_distinct >= set->n_slots / 2)
		return false;
	set->slots[slot] = word;
	set->n_distinct++;
	return true;
}

/* The words of the table, in no order, in an array of n_few. */
static uint64 *
WordsOfFew(const KeySet *set)
{
	uint64	   *words = MemoryContextAlloc(set->context, Max(set->n_distinct, 1) * sizeof(uint64));
	uint32		n = 0;

	if (set->has_zero)
		words[n++] = 0;
	for (uint32 i = 0; i < set->n_slots; i++)
		if (set->slots[i] != 0)
			words[n++] = set->slots[i];
	Assert(n == set->n_distinct);
	return words;
}

static void
FreeFew(KeySet *set)
{
	if (set->slots != NULL)
		pfree(set->slots);
	set->slots = NULL;
	set->n_slots = 0;
}

/* ---- values ---- */

void
KeySetKeepValues(KeySet *set, ValueOrder *order)
{
	/* the two share the memory */
	set->budget /= 2;
	set->values = NewKeyValues(order, set->context, set->budget);
}

void
KeySetAddValue(KeySet *set, uint64 word, Datum value)
{
	AddKeyValue(set->values, word, value);
}

/* ---- bitmaps ---- */

static inline void
SetBit(KeySet *set, int64 integer)
{
	uint64		offset = (uint64) integer - (uint64) set->base,
				bit = UINT64CONST(1) << (offset & 63);

	set->n_distinct += (set->bits[offset >> 6] & bit) == 0;
	set->bits[offset >> 6] |= bit;
}

/* The integers from low to high, less one: all of them would be too many for 64 bits. */
static inline uint64
Span(int64 low, int64 high)
{
	return (uint64) high - (uint64) low;
}

/* The span of a bitmap must be below this: up to 127 bits are lost to alignment. */
static inline uint64
BitmapLimit(const KeySet *set)
{
	return set->budget * 8 - 128;
}

static bool
BitmapFits(const KeySet *set, int64 low, int64 high)
{
	return Span(low, high) < BitmapLimit(set);
}

/*
 * True if the integers between the two are better kept in a bitmap than in any
 * other form.  While there are few, the planner's estimate of how many will come does
 * not count: clearing a large bitmap for them might be in vain.
 */
static bool
AreDense(const KeySet *set, int64 low, int64 high)
{
	double		keys = set->n_distinct < MOST_FEW ? set->n_distinct : Max(set->n_distinct, set->expected);

	return Span(low, high) < Max(keys * BITMAP_BITS_PER_KEY, SMALL_BITMAP) && BitmapFits(set, low, high);
}

static void
AllocBitmap(KeySet *set, int64 low, int64 high)
{
	set->base = (int64) ((uint64) low & ~UINT64CONST(63));
	set->n_bits = (Span(set->base, high) | 63) + 1;
	set->bits = MemoryContextAllocExtended(set->context, set->n_bits / 8, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/*
 * Makes a bitmap that has room for `integer` take the place of the present one.
 * Half as much again is added on the side where it grows, so that copying costs a
 * constant time per bit.  Near the limit half of what is left is added, so the last
 * copies are few as well, and the other side can still grow.  False if the memory
 * does not suffice.
 */
static bool
GrowBitmap(KeySet *set, int64 integer)
{
	int64		old_base = set->base,
				low = Min(old_base, integer),
				high = Max((int64) ((uint64) old_base + set->n_bits - 1), integer);
	uint64		slack,
			   *old = set->bits,
				n_old = set->n_bits;

	if (!BitmapFits(set, low, high))
		return false;
	slack = Min(n_old / 2, (BitmapLimit(set) - Span(low, high)) / 2);
	if (integer < old_base)
		low -= (int64) Min(slack, Span(PG_INT64_MIN, low));
	else
		high += (int64) Min(slack, Span(high, PG_INT64_MAX));
	AllocBitmap(set, low, high);
	memcpy(set->bits + ((uint64) old_base - (uint64) set->base) / 64, old, n_old / 8);
	pfree(old);
	return true;
}

/* ---- filters ---- */

static void
FlushBatch(KeySet *set)
{
	(void) blx_add(set->filter, set->batch, set->n_batch);
	set->n_batch = 0;
}

static inline void
AddToFilter(KeySet *set, uint64 word)
{
	set->batch[set->n_batch++] = MixCode(word);
	if (set->n_batch == KEY_BATCH)
		FlushBatch(set);
}

/*
 * An empty filter for that many keys, or the largest that memory allows.  To plan
 * for a rate would take longer than many a join; the size is cut at the end.
 */
static void
MakeFilter(KeySet *set, double keys)
{
	blx_identity identity = {.key_type = BLX_KEY_HASH};
	double		bits = Min(Max(keys, 64) * FILTER_BITS_PER_KEY, (double) Min(set->budget, BLX_MAX_BYTES / 2) * 8);
	MemoryContext old = MemoryContextSwitchTo(set->context);
	blx_geometry geometry;
	blx_error	error;

	if (!blx_plan_bits(BLX_PARTITIONED_BLOCKED, (int64) bits, FILTER_PROBES, NULL, &geometry, &error))
		ThrowCoreError(&error);
	set->filter = AlignFilter(NewFilter(&geometry, &identity, (uint64) keys), &set->filter_chunk);
	set->form = KEYS_FILTER;
	MemoryContextSwitchTo(old);
}

static void
BitmapToFilter(KeySet *set)
{
	uint64	   *bits = set->bits;

	MakeFilter(set, Max(set->expected, (double) set->keys) * 4);
	for (uint64 i = 0; i < set->n_bits / 64; i++)
		for (uint64 word = bits[i]; word != 0; word &= word - 1)
			AddToFilter(set, (uint64) set->base + i * 64 + pg_rightmost_one_pos64(word));
	pfree(bits);
	set->bits = NULL;
}

/* From a table of words, which are given, to a bitmap. */
static void
WordsToBitmap(KeySet *set, const uint64 *words)
{
	uint64		n = set->n_distinct;

	set->form = KEYS_BITMAP;
	AllocBitmap(set, set->lowest, set->highest);
	set->n_distinct = 0;
	for (uint64 i = 0; i < n; i++)
		SetBit(set, (int64) words[i]);
}

/* The integers of the bitmap, ascending, in an array. */
static int64 *
IntegersOfBitmap(const KeySet *set)
{
	int64	   *integers = MemoryContextAlloc(set->context, Max(set->n_distinct, 1) * sizeof(int64));
	uint64		n = 0;

	for (uint64 i = 0; i < set->n_bits / 64; i++)
		for (uint64 word = set->bits[i]; word != 0; word &= word - 1)
			integers[n++] = (int64) ((uint64) set->base + i * 64 + pg_rightmost_one_pos64(word));
	Assert(n == set->n_distinct);
	return integers;
}

/* Back to a table, since the next integer is far from the others.  False if they are too many. */
static bool
BitmapToFew(KeySet *set)
{
	uint64		n = set->n_distinct,
				n_slots = FIRST_SLOTS;
	int64	   *integers;

	while (n_slots / 2 <= n)
		n_slots *= 2;
	if (!FewFits(set, n_slots))
		return false;
	integers = IntegersOfBitmap(set);
	pfree(set->bits);
	set->bits = NULL;
	set->form = KEYS_FEW;
	AllocFew(set, n_slots);
	set->has_zero = false;
	set->n_distinct = 0;
	for (uint64 i = 0; i < n; i++)
		(void) AddToFew(set, (uint64) integers[i]);
	pfree(integers);
	return true;
}

/* Makes something else of a table of words. */
static void
EndFew(KeySet *set)
{
	uint64	   *words = WordsOfFew(set);

	FreeFew(set);
	if (set->bounds_only)
		set->form = set->is_integer ? KEYS_RANGE : KEYS_UNKNOWN;
	else if (set->is_integer && AreDense(set, set->lowest, set->highest))
		WordsToBitmap(set, words);
	else
	{
		MakeFilter(set, Max(set->expected, (double) set->keys) * 4);
		for (uint64 i = 0; i < set->n_distinct; i++)
			AddToFilter(set, words[i]);
	}
	pfree(words);
}

/* The table of words is full: lets it grow, unless a bitmap is better or it may not. */
static void
LeaveFew(KeySet *set)
{
	bool		is_dense = set->is_integer && !set->bounds_only && AreDense(set, set->lowest, set->highest);

	if (is_dense || !GrowFew(set))
		EndFew(set);
}

/* The bitmap has no bit for an integer: lets it grow, or chooses what the integers become. */
static void
LeaveBitmap(KeySet *set, int64 integer)
{
	if (AreDense(set, set->lowest, set->highest) ? !GrowBitmap(set, integer) : !BitmapToFew(set))
		BitmapToFilter(set);
}

void
KeySetAdd(KeySet *set, uint64 word)
{
	set->keys++;
	if (set->is_integer)
	{
		set->lowest = Min(set->lowest, (int64) word);
		set->highest = Max(set->highest, (int64) word);
	}
	for (;;)
		switch (set->form)
		{
			case KEYS_FEW:
				if (AddToFew(set, word))
					return;
				LeaveFew(set);
				break;
			case KEYS_BITMAP:
				if ((uint64) word - (uint64) set->base < set->n_bits)
				{
					SetBit(set, (int64) word);
					return;
				}
				LeaveBitmap(set, (int64) word);
				break;
			case KEYS_FILTER:
				AddToFilter(set, word);
				return;
			default:
				return;
		}
}

/* ---- the end ---- */

static int
CompareIntegers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a,
				y = *(const int64 *) b;

	return (x > y) - (x < y);
}

/* A bitmap or a filter of the words in the table, of just the size. */
static void
FinishFew(KeySet *set)
{
	uint64	   *words = WordsOfFew(set);

	FreeFew(set);
	if (set->is_integer)
		set->unsorted = words;
	if (set->n_distinct == 0)
		set->form = KEYS_NONE;
	else if (set->bounds_only)
		set->form = set->is_integer ? KEYS_RANGE : KEYS_UNKNOWN;
	else if (set->is_integer && AreDense(set, set->lowest, set->highest))
		WordsToBitmap(set, words);
	else
	{
		MakeFilter(set, set->n_distinct);
		for (uint64 i = 0; i < set->n_distinct; i++)
			AddToFilter(set, words[i]);
		FlushBatch(set);
	}
}

/* Forgets the bits before the first integer and after the last one. */
static void
FinishBitmap(KeySet *set)
{
	uint64		skipped = ((uint64) set->lowest - (uint64) set->base) / 64;

	set->bits += skipped;
	set->base = (int64) ((uint64) set->base + skipped * 64);
	set->n_bits = (Span(set->base, set->highest) | 63) + 1;
}

/* Folds a filter that has room for many more keys, and gives up one that passes too much. */
static void
FinishFilter(KeySet *set)
{
	MemoryContext old = MemoryContextSwitchTo(set->context);
	blx_filter *shrunk = NULL;

	FlushBatch(set);
	if (set->keys < set->filter->capacity / 2)
		shrunk = blx_shrink(set->filter, FILTER_FPR, &FilterMemory, NULL);
	if (shrunk != NULL)
	{
		pfree(set->filter_chunk);
		set->filter = AlignFilter(shrunk, &set->filter_chunk);
	}
	if (blx_fpr(set->filter) > WORST_FPR)
		set->form = set->is_integer ? KEYS_RANGE : KEYS_UNKNOWN;
	MemoryContextSwitchTo(old);
}

void
KeySetFinish(KeySet *set)
{
	static uint64 last_serial = 0;

	set->serial = ++last_serial;
	if (set->values != NULL)
	{
		FinishKeyValues(set->values);
		if (set->values->are_too_many)
			set->values = NULL;
	}
	if (set->form == KEYS_FEW)
		FinishFew(set);
	else if (set->form == KEYS_BITMAP)
		FinishBitmap(set);
	else if (set->form == KEYS_FILTER)
		FinishFilter(set);
}

/* ---- sets of several processes ---- */

/* The first word of a bitmap that is not certainly empty. */
static inline uint64
FirstWord(const KeySet *set)
{
	return Span(set->base, set->lowest) / 64;
}

/* The words that KeySetExport writes. */
static uint64
ExportedWords(const KeySet *set)
{
	switch (set->form)
	{
		case KEYS_FEW:
			return set->n_distinct;
		case KEYS_BITMAP:
			return Span(set->base, set->highest) / 64 - FirstWord(set) + 1;
		case KEYS_FILTER:
			return (blx_size(set->filter) + sizeof(uint64) - 1) / sizeof(uint64);
		default:
			return 0;
	}
}

uint64
KeySetExportBytes(const KeySet *set)
{
	uint64		words = ExportedWords(set);

	if (set->values != NULL)
		words += ExportedValueWords(set->values);
	return offsetof(ExportedKeySet, words) + words * sizeof(uint64);
}

void
KeySetExport(KeySet *set, ExportedKeySet *exported)
{
	uint64	   *few;

	exported->bytes = KeySetExportBytes(set);
	exported->form = set->form;
	exported->keys = set->keys;
	exported->lowest = set->lowest;
	exported->highest = set->highest;
	exported->n_words = ExportedWords(set);
	exported->has_values = set->values != NULL;
	if (set->values != NULL)
		ExportKeyValues(set->values, exported->words + exported->n_words);
	switch (set->form)
	{
		case KEYS_FEW:
			few = WordsOfFew(set);
			memcpy(exported->words, few, set->n_distinct * sizeof(uint64));
			pfree(few);
			break;
		case KEYS_BITMAP:
			memcpy(exported->words, set->bits + FirstWord(set), exported->n_words * sizeof(uint64));
			break;
		case KEYS_FILTER:
			FlushBatch(set);
			memcpy(exported->words, set->filter, blx_size(set->filter));
			break;
		default:
			break;
	}
}

/* True if the bitmap has, or gets, room for the integer. */
static bool
Covers(KeySet *set, int64 integer)
{
	return (uint64) integer - (uint64) set->base < set->n_bits || GrowBitmap(set, integer);
}

static void
ImportBitmap(KeySet *set, const ExportedKeySet *exported)
{
	int64		base = (int64) ((uint64) exported->lowest & ~UINT64CONST(63));
	uint64		n = pg_popcount((const char *) exported->words, (int) Min(exported->n_words * sizeof(uint64), MaxAllocSize)),
			   *few = NULL,
				n_few = 0;

	if (n > MOST_FEW && set->form == KEYS_FEW)
	{
		/* the few are added to the many */
		few = WordsOfFew(set);
		n_few = set->n_distinct;
		FreeFew(set);
		set->form = KEYS_BITMAP;
		set->n_distinct = 0;
		AllocBitmap(set, exported->lowest, exported->highest);
	}
	/* some may be in both: too large a number only means that they are not few */
	if (n > MOST_FEW)
		set->n_distinct += n;
	if (n > MOST_FEW && set->form == KEYS_BITMAP && AreDense(set, set->lowest, set->highest) &&
		Covers(set, exported->lowest) && Covers(set, exported->highest))
	{
		uint64	   *bits = set->bits + Span(set->base, base) / 64;

		for (uint64 i = 0; i < exported->n_words; i++)
			bits[i] |= exported->words[i];
	}
	else
		for (uint64 i = 0; i < exported->n_words; i++)
			for (uint64 word = exported->words[i]; word != 0; word &= word - 1)
				KeySetAdd(set, (uint64) base + i * 64 + pg_rightmost_one_pos64(word));
	for (uint64 i = 0; i < n_few; i++)
		KeySetAdd(set, few[i]);
}

static void
ImportFilter(KeySet *set, const blx_filter *exported)
{
	MemoryContext old;
	blx_filter *united;
	blx_error	error;

	if (set->form == KEYS_FEW)
		EndFew(set);
	if (set->form == KEYS_BITMAP)
		BitmapToFilter(set);
	if (set->form != KEYS_FILTER)
		return;
	FlushBatch(set);
	old = MemoryContextSwitchTo(set->context);
	united = CheckResult(blx_unite(set->filter, exported, &FilterMemory, &error), &error);
	pfree(set->filter_chunk);
	set->filter = AlignFilter(united, &set->filter_chunk);
	MemoryContextSwitchTo(old);
}

void
KeySetImport(KeySet *set, const ExportedKeySet *exported)
{
	uint64		keys = set->keys + exported->keys;

	set->lowest = Min(set->lowest, exported->lowest);
	set->highest = Max(set->highest, exported->highest);
	switch (exported->form)
	{
		case KEYS_FEW:
			for (uint64 i = 0; i < exported->n_words; i++)
				KeySetAdd(set, exported->words[i]);
			break;
		case KEYS_BITMAP:
			ImportBitmap(set, exported);
			break;
		case KEYS_FILTER:
			ImportFilter(set, (const blx_filter *) exported->words);
			break;
		default:
			set->form = set->form == KEYS_UNKNOWN ? KEYS_UNKNOWN : exported->form;
			break;
	}
	set->keys = keys;
	if (set->values != NULL)
		ImportKeyValues(set->values, exported->has_values ? exported->words + exported->n_words : NULL);
}

/* ---- questions ---- */

/* No loop has a branch that depends on a word, so that the processor fetches what many of them need at once. */
uint64
KeySetMayHoldWhich(const KeySet *set, uint64 *words, int n)
{
	uint64		which = 0;

	switch (set->form)
	{
		case KEYS_BITMAP:
			for (int i = 0; i < n; i++)
			{
				uint64		offset = words[i] - (uint64) set->base,
							is_inside = offset < set->n_bits;

				/* outside, some word of the bitmap is looked at in vain */
				offset &= -is_inside;
				which |= (set->bits[offset >> 6] >> (offset & 63) & is_inside) << i;
			}
			return which;
		case KEYS_RANGE:
			for (int i = 0; i < n; i++)
				which |= (uint64) ((int64) words[i] >= set->lowest && (int64) words[i] <= set->highest) << i;
			return which;
		case KEYS_FILTER:
			for (int i = 0; i < n; i++)
				words[i] = MixCode(words[i]);
			return n == 0 ? 0 : blx_test_batch(set->filter, words, n);
		case KEYS_NONE:
			return 0;
		case KEYS_FEW:
		case KEYS_UNKNOWN:
			break;
	}
	return n == 0 ? 0 : ~UINT64CONST(0) >> (64 - n);
}

uint64
KeySetBytes(const KeySet *set)
{
	switch (set->form)
	{
		case KEYS_BITMAP:
			return set->n_bits / 8;
		case KEYS_FILTER:
			return blx_size(set->filter);
		default:
			return set->unsorted != NULL ? set->n_distinct * sizeof(int64) : 0;
	}
}

const char *
KeySetFormName(const KeySet *set)
{
	switch (set->form)
	{
		case KEYS_FEW:
			return "not built";
		case KEYS_NONE:
			return "empty";
		case KEYS_BITMAP:
			return "bitmap";
		case KEYS_FILTER:
			return "bloom";
		case KEYS_RANGE:
			return "range";
		case KEYS_UNKNOWN:
			break;
	}
	return "given up";
}

/* True if a bit is set from offset `low` to offset `high`. */
static bool
BitmapMeetsRange(const KeySet *set, uint64 low, uint64 high)
{
	uint64		first = low / 64,
				last = high / 64,
				mask = ~UINT64CONST(0) << (low & 63);

	for (uint64 i = first; i <= last; i++)
	{
		if (i == last)
			mask &= ~UINT64CONST(0) >> (63 - (high & 63));
		if ((set->bits[i] & mask) != 0)
			return true;
		mask = ~UINT64CONST(0);
	}
	return false;
}

/* Sorting takes longer than collecting, and not every set is asked. */
const int64 *
KeySetIntegers(const KeySet *set)
{
	KeySet	   *asked = unconstify(KeySet *, set);

	if (set->sorted != NULL)
		return set->sorted;
	if (set->unsorted != NULL)
	{
		qsort(set->unsorted, set->n_distinct, sizeof(int64), CompareIntegers);
		asked->sorted = (int64 *) set->unsorted;
	}
	else if (set->form == KEYS_BITMAP && set->n_distinct <= MOST_FEW)
		asked->sorted = IntegersOfBitmap(set);
	asked->n_sorted = (uint32) set->n_distinct;
	return set->sorted;
}

bool
KeySetMeetsRange(const KeySet *set, int64 low, int64 high)
{
	const int64 *integers;
	uint32		from = 0,
				to;

	low = Max(low, set->lowest);
	high = Min(high, set->highest);
	if (set->form == KEYS_NONE || low > high)
		return false;
	if (set->form == KEYS_BITMAP)
		return BitmapMeetsRange(set, (uint64) low - (uint64) set->base, (uint64) high - (uint64) set->base);
	integers = KeySetIntegers(set);
	if (integers == NULL)
		return true;
	/* the first key that is not below low */
	to = set->n_sorted;
	while (from < to)
	{
		uint32		middle = from + (to - from) / 2;

		if (integers[middle] < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from < set->n_sorted && integers[from] <= high;
}
