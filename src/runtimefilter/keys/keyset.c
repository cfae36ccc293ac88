/*
 * keyset.c - the keys of a join's build side, collected while they pass by.
 *
 * Nobody knows in advance how many keys will come, and memory is bounded.  So a set
 * changes its form when it has no room for a code (MakeRoom):
 *
 *   - Integers that are dense are in a bitmap.  It has no false positives, needs no
 *     hash, and is smaller than a filter if at least one in eleven integers of its
 *     range is there.
 *   - Few codes are in a table, the server's simplehash.h would need twice the memory
 *     of: a code of 0 is the only one that has to be told from a free slot.
 *   - All others are in a Bloom filter.
 *
 * A filter is made for four times the keys that the planner expects, as far as
 * memory goes.  At the end it is folded to the size that its contents need, which
 * gives the filter that would have been built in that size (docs/internals/design.md, "The
 * algebra").
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "runtimefilter/keys/keyset.h"

/*
 * The most distinct codes that are kept as they are.  16384 codes take 256 kB,
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

/* The least that a bitmap grows by, in bits: as large as a new table of codes. */
#define LEAST_GROWTH 4096

/*
 * A Bloom filter with eight probes, all of which are in one cache line.  Its size is
 * a power of two, so it has 8 to 16 bits per key: at most 3 of 100 tests pass in vain.
 */
#define FILTER_PROBES 8
#define FILTER_BITS_PER_KEY 16

/*
 * The rate of a Bloom filter that is cut at the end.  One row in a hundred that is not removed costs one
 * hundredth of the gain, and each halving of the rate costs a tenth more memory.
 */
#define FILTER_FPR 0.01

/* A filter that passes half of what it should remove is not worth its tests. */
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

void
KeySetKeepValues(KeySet *set, ValueOrder *order)
{
	/* the two share the memory */
	set->budget /= 2;
	set->values = NewKeyValues(order, set->context, set->budget);
}

void
KeySetAddValue(KeySet *set, uint64 code, Datum value)
{
	AddKeyValue(set->values, code, value);
}

/* ---- a code in each form; false: there is no room ---- */

static inline bool
AddToFew(KeySet *set, uint64 code)
{
	uint32		slot = (uint32) MixCode(code) & (set->n_slots - 1);

	if (code == 0)
	{
		set->n_distinct += !set->has_zero;
		set->has_zero = true;
		return true;
	}
	if (set->n_slots == 0)
		return false;
	while (set->slots[slot] != 0 && set->slots[slot] != code)
		slot = (slot + 1) & (set->n_slots - 1);
	if (set->slots[slot] == code)
		return true;
	if (set->n_distinct >= set->n_slots / 2)
		return false;
	set->slots[slot] = code;
	set->n_distinct++;
	return true;
}

static inline bool
AddToBitmap(KeySet *set, uint64 code)
{
	uint64		offset = code - (uint64) set->base,
				bit = UINT64CONST(1) << (offset & 63);

	if (offset >= set->n_bits)
		return false;
	set->n_distinct += (set->bits[offset >> 6] & bit) == 0;
	set->bits[offset >> 6] |= bit;
	return true;
}

static void
FlushBatch(KeySet *set)
{
	(void) blx_add(set->filter, set->batch, set->n_batch);
	set->n_batch = 0;
}

static inline bool
AddToFilter(KeySet *set, uint64 code)
{
	set->batch[set->n_batch++] = MixCode(code);
	if (set->n_batch == KEY_BATCH)
		FlushBatch(set);
	return true;
}

static inline bool
TryAdd(KeySet *set, uint64 code)
{
	switch (set->form)
	{
		case KEYS_FEW:
			return AddToFew(set, code);
		case KEYS_BITMAP:
			return AddToBitmap(set, code);
		case KEYS_FILTER:
			return AddToFilter(set, code);
		case KEYS_RANGE:
			break;
	}
	return true;
}

static void MakeRoom(KeySet *set);

static inline void
Add(KeySet *set, uint64 code)
{
	while (!TryAdd(set, code))
		MakeRoom(set);
}

void
KeySetAdd(KeySet *set, uint64 code)
{
	set->keys++;
	if (set->is_integer)
	{
		set->lowest = Min(set->lowest, (int64) code);
		set->highest = Max(set->highest, (int64) code);
	}
	Add(set, code);
}

/* ---- from one form to another ---- */

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

/*
 * True if the set's integers are better kept in a bitmap than in any other form, if so
 * many of them are distinct.  While there are few, the planner's estimate of how
 * many will come does not count: clearing a large bitmap for them might be in vain.
 */
static bool
AreDense(const KeySet *set, uint64 n_distinct)
{
	double		keys = n_distinct < MOST_FEW ? n_distinct : Max(n_distinct, set->expected);

	return set->is_integer && !set->bounds_only && Span(set->lowest, set->highest) < BitmapLimit(set) &&
		Span(set->lowest, set->highest) < Max(keys * BITMAP_BITS_PER_KEY, SMALL_BITMAP);
}

/* The slots of a table that has room for one code more; 0 if it would be too large. */
static uint32
SlotsForMore(const KeySet *set)
{
	uint64		n_slots = FIRST_SLOTS;

	while (n_slots / 2 <= set->n_distinct)
		n_slots *= 2;
	return n_slots == FIRST_SLOTS || (n_slots / 2 <= MOST_FEW && n_slots * sizeof(uint64) <= set->budget) ? n_slots : 0;
}

/* Adds the codes of another set, which is a table or a bitmap. */
static void
AddAllOf(KeySet *set, const KeySet *from)
{
	uint64		offset = (uint64) from->base - (uint64) set->base;

	if (from->has_zero)
		Add(set, 0);
	for (uint32 i = 0; i < from->n_slots; i++)
		if (from->slots[i] != 0)
			Add(set, from->slots[i]);
	/* word by word, if all are there */
	if (set->form == KEYS_BITMAP && offset < set->n_bits && from->n_bits <= set->n_bits - offset)
	{
		uint64	   *bits = set->bits + offset / 64;

		for (uint64 i = 0; i < from->n_bits / 64; i++)
		{
			set->n_distinct += pg_popcount64(from->bits[i] & ~bits[i]);
			bits[i] |= from->bits[i];
		}
		return;
	}
	for (uint64 i = 0; i < from->n_bits / 64; i++)
		for (uint64 word = from->bits[i]; word != 0; word &= word - 1)
			Add(set, (uint64) from->base + i * 64 + pg_rightmost_one_pos64(word));
}

/* Takes the codes of a table or a bitmap out of the set, which is empty then. */
static KeySet
TakeOut(KeySet *set)
{
	KeySet		old = *set;

	set->slots = set->bits = NULL;
	set->n_slots = 0;
	set->n_bits = set->n_distinct = 0;
	set->has_zero = false;
	return old;
}

static void
PutBack(KeySet *set, const KeySet *old)
{
	AddAllOf(set, old);
	if (old->slots != NULL)
		pfree(old->slots);
	if (old->bits != NULL)
		pfree(old->bits);
}

static void
ChangeToFew(KeySet *set, uint32 n_slots)
{
	KeySet		old = TakeOut(set);

	set->form = KEYS_FEW;
	set->n_slots = n_slots;
	set->slots = MemoryContextAllocZero(set->context, n_slots * sizeof(uint64));
	PutBack(set, &old);
}

/* A bitmap of the integers from low to high. */
static void
ChangeToBitmap(KeySet *set, int64 low, int64 high)
{
	KeySet		old = TakeOut(set);

	set->form = KEYS_BITMAP;
	set->base = (int64) ((uint64) low & ~UINT64CONST(63));
	set->n_bits = (Span(set->base, high) | 63) + 1;
	set->bits = MemoryContextAllocExtended(set->context, set->n_bits / 8, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	PutBack(set, &old);
}

/*
 * The same, with room for more.  Half as much again is added on the side where it grows, so
 * that copying costs a constant time per bit.  Near the limit half of what is left is
 * added, so the last copies are few as well, and the other side can still grow.
 */
static void
GrowBitmap(KeySet *set)
{
	int64		low = set->lowest,
				high = set->highest;
	bool		grows_down = set->n_bits > 0 && low < set->base;
	uint64		slack;

	/* what the other side has been given already, unless that is too much */
	if (set->n_bits > 0 && !grows_down && Span(set->base, high) < BitmapLimit(set))
		low = set->base;
	if (grows_down && Span(low, set->base) + set->n_bits - 1 < BitmapLimit(set))
		high = Max(high, (int64) ((uint64) set->base + set->n_bits - 1));
	slack = Min(Max(set->n_bits / 2, LEAST_GROWTH), (BitmapLimit(set) - Span(low, high)) / 2);
	if (grows_down)
		low -= (int64) Min(slack, Span(PG_INT64_MIN, low));
	else
		high += (int64) Min(slack, Span(high, PG_INT64_MAX));
	ChangeToBitmap(set, low, high);
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

	CheckCore(blx_plan_bits(BLX_PARTITIONED_BLOCKED, (int64) bits, FILTER_PROBES, NULL, &geometry, &core_error));
	set->filter = AlignFilter(NewFilter(&geometry, &identity, (uint64) keys), &set->filter_chunk);
	MemoryContextSwitchTo(old);
}

static void
ChangeToFilter(KeySet *set, double keys)
{
	KeySet		old = TakeOut(set);

	set->form = KEYS_FILTER;
	MakeFilter(set, keys);
	PutBack(set, &old);
}

/* The keys for which a filter is made while nobody knows how many will come. */
static inline double
KeysToCome(const KeySet *set)
{
	return Max(set->expected, (double) set->keys) * 4;
}

/* The set has no room for a code, which is within its bounds already: chooses the form that has. */
static void
MakeRoom(KeySet *set)
{
	uint32		n_slots = SlotsForMore(set);

	if (AreDense(set, set->n_distinct))
		GrowBitmap(set);
	else if (n_slots > 0)
		ChangeToFew(set, n_slots);
	else if (set->bounds_only)
		set->form = KEYS_RANGE;
	else
		ChangeToFilter(set, KeysToCome(set));
}

/* ---- the end ---- */

/* The codes of the table, in no order. */
static uint64 *
CodesOfFew(const KeySet *set)
{
	uint64	   *codes = MemoryContextAlloc(set->context, Max(set->n_distinct, 1) * sizeof(uint64));
	uint32		n = 0;

	if (set->has_zero)
		codes[n++] = 0;
	for (uint32 i = 0; i < set->n_slots; i++)
		if (set->slots[i] != 0)
			codes[n++] = set->slots[i];
	Assert(n == set->n_distinct);
	return codes;
}

/* A bitmap or a filter of the codes in the table, of just the size. */
static void
FinishFew(KeySet *set)
{
	uint64		n = set->n_distinct;

	if (set->is_integer)
		set->unsorted = CodesOfFew(set);
	if (n == 0 || set->bounds_only)
		set->form = KEYS_RANGE;
	else if (AreDense(set, n))
		ChangeToBitmap(set, set->lowest, set->highest);
	else
	{
		ChangeToFilter(set, n);
		FlushBatch(set);
		set->n_distinct = n;
	}
}

/* Forgets the bits before the first integer and after the last one. */
static void
FinishBitmap(KeySet *set)
{
	uint64		skipped = Span(set->base, set->lowest) / 64;

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
		set->form = KEYS_RANGE;
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
	/* of hashes nothing is known: all pass, if there was one */
	if (set->form == KEYS_RANGE && !set->is_integer && !KeySetIsEmpty(set))
	{
		set->lowest = PG_INT64_MIN;
		set->highest = PG_INT64_MAX;
	}
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
			return set->n_slots;
		case KEYS_BITMAP:
			return Span(set->base, set->highest) / 64 - FirstWord(set) + 1;
		case KEYS_FILTER:
			return (blx_size(set->filter) + sizeof(uint64) - 1) / sizeof(uint64);
		case KEYS_RANGE:
			break;
	}
	return 0;
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
	exported->bytes = KeySetExportBytes(set);
	exported->form = set->form;
	exported->keys = set->keys;
	exported->n_distinct = set->n_distinct;
	exported->lowest = set->lowest;
	exported->highest = set->highest;
	exported->has_zero = set->has_zero;
	exported->n_words = ExportedWords(set);
	exported->has_values = set->values != NULL;
	if (set->values != NULL)
		ExportKeyValues(set->values, exported->words + exported->n_words);
	if (set->form == KEYS_FILTER)
	{
		FlushBatch(set);
		memcpy(exported->words, set->filter, blx_size(set->filter));
	}
	else if (exported->n_words > 0)
		memcpy(exported->words, set->form == KEYS_FEW ? set->slots : set->bits + FirstWord(set),
			   exported->n_words * sizeof(uint64));
}

static void
ImportFilter(KeySet *set, const blx_filter *exported)
{
	MemoryContext old;
	blx_filter *united;

	if (set->form == KEYS_RANGE)
		return;
	if (set->form != KEYS_FILTER)
		ChangeToFilter(set, KeysToCome(set));
	FlushBatch(set);
	old = MemoryContextSwitchTo(set->context);
	united = CheckResult(blx_unite(set->filter, exported, &FilterMemory, &core_error));
	pfree(set->filter_chunk);
	set->filter = AlignFilter(united, &set->filter_chunk);
	MemoryContextSwitchTo(old);
}

void
KeySetImport(KeySet *set, ExportedKeySet *exported)
{
	/* the exported words, as if they were a set */
	KeySet		from = {.has_zero = exported->has_zero};

	set->keys += exported->keys;
	set->lowest = Min(set->lowest, exported->lowest);
	set->highest = Max(set->highest, exported->highest);
	switch (exported->form)
	{
		case KEYS_FEW:
			from.slots = exported->words;
			from.n_slots = (uint32) exported->n_words;
			AddAllOf(set, &from);
			break;
		case KEYS_BITMAP:
			from.bits = exported->words;
			from.n_bits = exported->n_words * 64;
			from.base = (int64) ((uint64) exported->lowest & ~UINT64CONST(63));
			/* room for all at once, if they are many */
			if ((set->form == KEYS_FEW || set->form == KEYS_BITMAP) && AreDense(set, set->n_distinct + exported->n_distinct))
				ChangeToBitmap(set, set->lowest, set->highest);
			AddAllOf(set, &from);
			break;
		case KEYS_FILTER:
			ImportFilter(set, (const blx_filter *) exported->words);
			break;
		case KEYS_RANGE:
			set->form = KEYS_RANGE;
			break;
	}
	if (set->values != NULL)
		ImportKeyValues(set->values, exported->has_values ? exported->words + exported->n_words : NULL);
}

/* ---- questions ---- */

/* No loop has a branch that depends on a code, so that the processor fetches what many of them need at once. */
uint64
KeySetMayHoldWhich(const KeySet *set, uint64 *codes, int n)
{
	uint64		which = 0;

	switch (set->form)
	{
		case KEYS_BITMAP:
			for (int i = 0; i < n; i++)
			{
				uint64		offset = codes[i] - (uint64) set->base,
							is_inside = offset < set->n_bits;

				/* outside, some word of the bitmap is looked at in vain */
				offset &= -is_inside;
				which |= (set->bits[offset >> 6] >> (offset & 63) & is_inside) << i;
			}
			return which;
		case KEYS_RANGE:
			for (int i = 0; i < n; i++)
				which |= (uint64) ((int64) codes[i] >= set->lowest && (int64) codes[i] <= set->highest) << i;
			return which;
		case KEYS_FILTER:
			for (int i = 0; i < n; i++)
				codes[i] = MixCode(codes[i]);
			return n == 0 ? 0 : blx_test_batch(set->filter, codes, n);
		case KEYS_FEW:
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
		case KEYS_BITMAP:
			return "bitmap";
		case KEYS_FILTER:
			return "bloom";
		case KEYS_RANGE:
			break;
	}
	return KeySetIsEmpty(set) ? "empty" : set->is_integer ? "range" : "given up";
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

static int
CompareIntegers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a,
				y = *(const int64 *) b;

	return (x > y) - (x < y);
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

uint32
KeySetCountIntegers(const KeySet *set)
{
	bool		are_known = set->sorted != NULL || set->unsorted != NULL || (set->form == KEYS_BITMAP && set->n_distinct <= MOST_FEW);

	return KeySetIsEmpty(set) ? 0 : are_known ? (uint32) set->n_distinct : UINT32_MAX;
}

uint32
KeySetKnownKeys(const KeySet *set)
{
	if (set->is_integer)
		return KeySetIntegers(set) != NULL ? set->n_sorted : UINT32_MAX;
	return set->values != NULL ? set->values->n : UINT32_MAX;
}

bool
KeySetMeetsRange(const KeySet *set, int64 low, int64 high)
{
	const int64 *integers;
	uint32		from = 0,
				to;

	low = Max(low, set->lowest);
	high = Min(high, set->highest);
	if (low > high)
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
