/*
 * entries.c - from the keys of rows to entries, and from entries to signatures.
 *
 * A bitmap scan rechecks what it finds, and a block of the table costs about the
 * same however many of its rows are looked at.  So an index of values does not
 * give every row a signature: an *entry* stands for all rows of one block that
 * became known together.  (BitFunnel calls this rank: here it is the rows per
 * block.)  All keys of a row are in one entry, so conditions on several columns are
 * combined per entry.  An entry of one row has the row's TID, an entry of several
 * has the block, with the offset WHOLE_BLOCK.
 *
 * Entries differ in their keys: a block may have one new row, or a document of
 * thousands of words.  A signature is parts strings of bits (core/filter/slices.h),
 * and their width is that of the entry's size class.  The widths double from class
 * to class.  Class by class entries become segments, so a segment has signatures
 * of one width.  The usual entry fits its class exactly: the widths start from the
 * one that 99 in 100 of the first entries need.
 *
 * An entry ends before a row that would bring more keys than the largest class is
 * made for.  So only the keys of a single row can be more.  Its signature is fuller
 * than others, and if that would say hardly anything, the entry may hold anything:
 * it comes into a segment without slices.
 */
#include "pg/index/bloomx/segment/entries.h"

#include <math.h>

#include "miscadmin.h"

#include "pg/index/bloomx/format/options.h"

/*
 * Unless an option or the operator classes say it, the rate is such that a lookup
 * of an absent key reads at most ten blocks of the table for nothing, some tenth of a
 * millisecond's work.  One part more halves these blocks, and makes the index some
 * 8 % larger.  bench/index/rows --probes, 10 million rows of six integers on 63,700
 * blocks, a key of one column: 10 parts 0.80 ms and 112 MB, 13 parts 0.21 ms and 146
 * MB, 15 parts 0.14 ms and 168 MB.
 */
#define FALSE_BLOCKS 10

/*
 * The rate per key that the classes of all columns ask for, the lowest of them; 0
 * if one of them asks for none.  Such a class has conditions of many keys, whose
 * rates multiply.  With fewer parts a lookup of many keys reads fewer slices, and an
 * entry of many keys takes fewer bits.
 */
static double
RateOfClasses(const BloomxColumns *columns)
{
	double		rate = 1;

	for (int i = 0; i < columns->n; i++)
		rate = Min(rate, columns->extractors[i]->rate);
	return rate;
}

uint8
BloomxChooseParts(Relation index, const BloomxColumns *columns, BlockNumber blocks)
{
	BloomxOptions options = BloomxGetOptions(index);
	double		rate = options.fpr > 0 ? options.fpr : RateOfClasses(columns);
	int			least = rate > 0 ? 1 : LEAST_PARTS;

	if (options.hash_functions > 0)
		return (uint8) options.hash_functions;
	if (rate <= 0)
		rate = FALSE_BLOCKS / Max((double) blocks, 1);
	return (uint8) Min(Max((int) ceil(-log2(rate) - 1e-9), least), BLX_MAX_K);
}

/* ---- the distinct keys of the entry that is being collected ---- */

typedef struct KeySet
{
	uint64	   *table;			/* open addressing; 0, which no hash is (columns.c), is a free slot */
	uint32		size;			/* a power of two, more than twice the keys */
	uint64	   *hash;			/* the keys in the order in which they came */
	uint32		n;
} KeySet;

static void
ResizeSet(KeySet *set, uint32 size)
{
	uint64	   *table = MemoryContextAllocExtended(CurrentMemoryContext, size * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint32 i = 0; i < set->n; i++)
	{
		uint32		slot = (uint32) set->hash[i] & (size - 1);

		while (table[slot] != 0)
			slot = (slot + 1) & (size - 1);
		table[slot] = set->hash[i];
	}
	pfree(set->table);
	set->table = table;
	set->size = size;
	set->hash = repalloc_huge(set->hash, size / 2 * sizeof(uint64));
}

/* Takes out the keys that came after the first n: in the opposite order, each leaves the slots as it found them. */
static void
TruncateSet(KeySet *set, uint32 n)
{
	while (set->n > n)
	{
		uint64		hash = set->hash[--set->n];
		uint32		slot = (uint32) hash & (set->size - 1);

		while (set->table[slot] != hash)
			slot = (slot + 1) & (set->size - 1);
		set->table[slot] = 0;
	}
}

static void
ClearSet(KeySet *set)
{
	/*
	 * A large table after few keys: each is between the slot where its search begins
	 * and the next free one.  If such a slot is free already, then so are all that
	 * followed it, since they were cleared together.
	 */
	if (set->n < set->size / 16)
		for (uint32 i = 0; i < set->n; i++)
			for (uint32 slot = (uint32) set->hash[i] & (set->size - 1); set->table[slot] != 0; slot = (slot + 1) & (set->size - 1))
				set->table[slot] = 0;
	else
		memset(set->table, 0, set->size * sizeof(uint64));
	set->n = 0;
}

static void
AddToSet(KeySet *set, uint64 hash)
{
	uint32		slot;

	for (slot = (uint32) hash & (set->size - 1); set->table[slot] != 0; slot = (slot + 1) & (set->size - 1))
		if (set->table[slot] == hash)
			return;
	set->table[slot] = hash;
	set->hash[set->n++] = hash;
	if (set->n == set->size / 2)
		ResizeSet(set, 2 * set->size);
}

/* ---- size classes ---- */

/* The last class has no slices: its entries may hold anything. */
#define MAX_CLASSES 40

/*
 * Fewer entries than this do not become a segment of their own, if there is one of
 * a larger class.  A slice takes whole words, so half of the segment would be
 * padding, and a scan reads slices of every segment.
 */
#define LEAST_ENTRIES 64

/*
 * A class gets room for this number of signatures even if they take more than the memory:
 * the largest ones, 128 kB each, one megabyte.
 */
#define LEAST_ROOM 8

/*
 * An entry may have this share more keys than its class is made for: so the few
 * entries above the 99th of 100 do not need twice the bits.  Their rate is about
 * doubled then.
 */
#define OVERFILL 0.1

/* The entries from which the width of the usual one is taken.  They wait in memory. */
#define SAMPLE_ENTRIES 1000

typedef struct Entry
{
	ItemPointerData tid;
	uint32		tuples;
	bool		anything;		/* it has too many keys, and no hashes here */
	uint32		n;				/* hashes */
	uint64	   *hash;
} Entry;

/* Entries that wait as hashes. */
typedef struct Waiting
{
	Entry	   *entries;
	uint32		n;
	uint32		room;
} Waiting;

typedef struct SizeClass
{
	blx_partitioned shape;			/* width 0: of anything */
	uint64		capacity;		/* keys */
	Waiting		waiting;		/* until there are LEAST_ENTRIES of them, and then none */
	/* signatures */
	uint32		stride;
	uint32		rows;
	uint32		room;
	uint32		tuples;
	ItemPointerData *tids;
	uint64	   *signatures;
} SizeClass;

struct BloomxEntries
{
	BloomxKeys *keys;			/* parts and width are set when they are chosen */
	double		rate;
	uint32		most_keys;		/* of an entry of several rows */
	uint32		most_of_row;	/* of an entry of one row that does not stand for anything */
	BloomxShare share;
	BloomxWriteSegment write;
	void	   *arg;

	KeySet		set;			/* of the present entry */
	ItemPointerData tid;
	uint32		tuples;			/* 0: there is no present entry */
	bool		anything;

	Waiting		sample;			/* until the width is chosen */
	Size		used;			/* bytes that wait or are signatures */
	int			nclasses;
	SizeClass	classes[MAX_CLASSES];
};

/* ---- waiting ---- */

static void
LetWait(BloomxEntries *entries, Waiting *waiting, Entry entry)
{
	if (waiting->n == waiting->room)
	{
		waiting->room = Max(64, 2 * waiting->room);
		waiting->entries = waiting->entries == NULL ? palloc(waiting->room * sizeof(Entry)) :
			repalloc(waiting->entries, waiting->room * sizeof(Entry));
	}
	waiting->entries[waiting->n++] = entry;
	entries->used += entry.n * sizeof(uint64);
}

static Entry
CopyEntry(const Entry *entry)
{
	Entry		copy = *entry;

	copy.hash = palloc(Max(1, entry->n) * sizeof(uint64));
	memcpy(copy.hash, entry->hash, entry->n * sizeof(uint64));
	return copy;
}

/* ---- signatures of one class ---- */

static Size
BytesOf(const SizeClass *class, uint32 rows)
{
	return rows * (class->stride * sizeof(uint64) + sizeof(ItemPointerData));
}

/* The pages of a segment of that number of rows of the class. */
static uint32
PagesOf(const SizeClass *class, uint32 rows)
{
	BloomxSegment segment = {.rows = rows, .slices = class->shape.parts * class->shape.width};

	return rows == 0 ? 0 : BloomxSegmentPages(&segment);
}

/* The most rows, up to the given number, whose slices fill pages. */
static uint32
RowsWithoutPadding(uint32 rows)
{
	uint32		words = BloomxSliceWords(Max(rows, 1)),
				per_page = PAGE_WORDS / words;

	/* the next number of slices per page, unless these nearly fill it */
	return PAGE_WORDS % words < PAGE_WORDS / 16 ? rows : 64 * (PAGE_WORDS / (per_page + 1));
}

/* Hands the rows of a class from `first` to its last one on as a segment, in memory of their own. */
static void
WriteRows(BloomxEntries *entries, SizeClass *class, uint32 first)
{
	uint32		rows = class->rows - first;
	BloomxRowSource source = {.rows = rows, .stride = class->stride};
	ItemPointerData *tids = palloc(rows * sizeof(ItemPointerData));
	uint64	   *signatures = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows * (Size) class->stride) * sizeof(uint64));

	memcpy(tids, class->tids + first, rows * sizeof(ItemPointerData));
	memcpy(signatures, class->signatures + first * (Size) class->stride, rows * (Size) class->stride * sizeof(uint64));
	source.tids = tids;
	source.signatures = signatures;
	source.tuples = (uint32) (class->tuples * (double) rows / class->rows);
	class->rows = first;
	class->tuples -= source.tuples;
	entries->write(entries->arg, class->shape.parts * class->shape.width, &source);
}

/* They have been handed on, and their memory, too. */
static void
ForgetRows(BloomxEntries *entries, SizeClass *class)
{
	entries->used -= BytesOf(class, class->room);
	class->rows = class->tuples = class->room = 0;
	class->tids = NULL;
	class->signatures = NULL;
}

/* Rows of a class in a file: the TIDs and the signatures follow.  Without rows, an entry that waits: its hashes follow. */
typedef struct RowsInFile
{
	int			class;
	uint32		rows;
	uint32		tuples;
	Entry		entry;
} RowsInFile;

/* Writes the rows of a class to the file. */
static void
PutRows(BloomxEntries *entries, SizeClass *class)
{
	RowsInFile	head = {.class = (int) (class - entries->classes), .rows = class->rows, .tuples = class->tuples};

	BufFileWrite(entries->share.rest, &head, sizeof head);
	BufFileWrite(entries->share.rest, class->tids, class->rows * sizeof(ItemPointerData));
	if (class->stride > 0)
		BufFileWrite(entries->share.rest, class->signatures, class->rows * (Size) class->stride * sizeof(uint64));
	pfree(class->tids);
	if (class->signatures != NULL)
		pfree(class->signatures);
	ForgetRows(entries, class);
}

/*
 * Hands the signatures of a class on as a segment.  If an eighth of its pages would
 * be padding, they become two segments: a scan then reads twice as many pages here,
 * but the index is smaller.  If there are other processes, only a full segment is
 * one already.
 */
static void
WriteClass(BloomxEntries *entries, SizeClass *class)
{
	uint32		best = RowsWithoutPadding(class->rows);
	BloomxRowSource source;

	if (class->rows == 0)
		return;
	if (class->rows < MAX_SEGMENT_ROWS && entries->share.rest != NULL)
	{
		PutRows(entries, class);
		return;
	}
	if (best > 0 && PagesOf(class, best) + PagesOf(class, class->rows - best) + entries->keys->parts < PagesOf(class, class->rows) / 8 * 7)
		WriteRows(entries, class, best);
	source = (BloomxRowSource) {.tids = class->tids, .rows = class->rows, .signatures = class->signatures,
	.stride = class->stride, .tuples = class->tuples};
	ForgetRows(entries, class);
	entries->write(entries->arg, class->shape.parts * class->shape.width, &source);
}

/* Frees room: writes the class that takes the most of it.  False if there is none. */
static bool
WriteLargest(BloomxEntries *entries)
{
	SizeClass  *largest = &entries->classes[0];

	for (int i = 1; i < entries->nclasses; i++)
		if (BytesOf(&entries->classes[i], entries->classes[i].rows) > BytesOf(largest, largest->rows))
			largest = &entries->classes[i];
	if (largest->rows == 0)
		return false;
	WriteClass(entries, largest);
	return true;
}

/* The rows for which a class may have room: twice as many as it has, or as many as there is memory for. */
static uint32
RoomFor(const BloomxEntries *entries, const SizeClass *class)
{
	Size		others = entries->used - BytesOf(class, class->room),
				room = entries->share.memory > others ? Min((entries->share.memory - others) / BytesOf(class, 1), MAX_SEGMENT_ROWS) : 0;

	return room >= 2 * class->rows ? Max(2 * class->rows, Min(room, LEAST_ENTRIES)) : RowsWithoutPadding((uint32) room);
}

/* Makes room for more rows.  If there is memory for hardly more, the largest class is written first. */
static void
MakeRoom(BloomxEntries *entries, SizeClass *class)
{
	uint32		room = RoomFor(entries, class),
				least = (uint32) Max(LEAST_ROOM, Min(LEAST_ENTRIES, entries->share.memory / BytesOf(class, 1)));

	while (room < Max(least, class->rows + class->rows / 8) && room < MAX_SEGMENT_ROWS && WriteLargest(entries))
		room = RoomFor(entries, class);
	room = Max(room, Max(least, class->rows + 1));
	entries->used -= BytesOf(class, class->room);
	if (class->tids == NULL)
	{
		class->tids = palloc(room * sizeof(ItemPointerData));
		if (class->stride > 0)
			class->signatures = MemoryContextAllocHuge(CurrentMemoryContext, room * (Size) class->stride * sizeof(uint64));
	}
	else
	{
		class->tids = repalloc(class->tids, room * sizeof(ItemPointerData));
		if (class->stride > 0)
			class->signatures = repalloc_huge(class->signatures, room * (Size) class->stride * sizeof(uint64));
	}
	class->room = room;
	entries->used += BytesOf(class, room);
}

/* Adds a row to a class; returns the place of its signature. */
static uint64 *
AddRow(BloomxEntries *entries, SizeClass *class, const ItemPointerData *tid, uint32 tuples)
{
	if (class->rows == MAX_SEGMENT_ROWS)
		WriteClass(entries, class);
	if (class->rows == class->room)
		MakeRoom(entries, class);
	class->tids[class->rows] = *tid;
	class->tuples += tuples;
	return class->signatures + class->rows++ * (Size) class->stride;
}

static void
AddSignature(BloomxEntries *entries, SizeClass *class, const Entry *entry)
{
	uint64	   *signature = AddRow(entries, class, &entry->tid, entry->tuples);

	if (class->stride == 0)
		return;
	memset(signature, 0, class->stride * sizeof(uint64));
	blx_partitioned_add(signature, &class->shape, entry->hash, entry->n);
}

/* Makes the waiting entries of one class signatures of the same or a larger class. */
static void
AddWaiting(BloomxEntries *entries, Waiting *waiting, SizeClass *class)
{
	for (uint32 i = 0; i < waiting->n; i++)
	{
		AddSignature(entries, class, &waiting->entries[i]);
		entries->used -= waiting->entries[i].n * sizeof(uint64);
		pfree(waiting->entries[i].hash);
	}
	waiting->n = 0;
}

/* ---- choosing classes ---- */

/*
 * The memory for each key that an entry of several rows may have: some 30 bytes are the
 * set of the keys, and a signature takes two or three.  So the largest entries there may
 * be need 7 MB.
 */
#define BYTES_PER_KEY 128

static SizeClass *
ClassFor(BloomxEntries *entries, const Entry *entry)
{
	int			i = 0;

	if (entry->anything)
		return &entries->classes[entries->nclasses - 1];
	while (i < entries->nclasses - 2 && entries->classes[i].capacity < entry->n)
		i++;
	return &entries->classes[i];
}

static void
AddToClass(BloomxEntries *entries, const Entry *entry)
{
	SizeClass  *class = ClassFor(entries, entry);

	if (class->rows > 0)
		AddSignature(entries, class, entry);
	else
	{
		LetWait(entries, &class->waiting, CopyEntry(entry));
		if (class->waiting.n == LEAST_ENTRIES || entries->used > entries->share.memory)
			AddWaiting(entries, &class->waiting, class);
	}
}

/* The largest signature. */
static blx_partitioned
LargestShape(uint32 parts)
{
	return (blx_partitioned) {.parts = parts, .width = MAX_SIGNATURE_BITS / parts};
}

/* The keys that a class is made for. */
static uint64
CapacityOf(const blx_partitioned *shape, double rate)
{
	return (uint64) (blx_partitioned_capacity(shape, rate) * (1 + OVERFILL));
}

uint32
BloomxMostKeysOfRow(uint32 parts)
{
	blx_partitioned largest = LargestShape(parts);

	return (uint32) blx_partitioned_capacity(&largest, 0.5);
}

/* Takes the next larger width. */
static void
AddSizeClass(BloomxEntries *entries, uint32 width)
{
	SizeClass  *class = &entries->classes[entries->nclasses++];

	class->shape = (blx_partitioned) {.parts = entries->keys->parts, .width = width};
	class->capacity = CapacityOf(&class->shape, entries->rate);
	class->stride = (uint32) ((width * (uint64) class->shape.parts + 63) / 64);
}

/* Widths below and above that of the usual entry up to the largest, and the class of anything. */
static void
InitClasses(BloomxEntries *entries)
{
	uint32		width = entries->keys->width,
				largest = LargestShape(entries->keys->parts).width,
				halvings = 0;

	while (width >> halvings > 2)
		halvings++;
	for (uint32 halved = halvings; halved > 0; halved--)
		AddSizeClass(entries, (uint32) ((width + (UINT64CONST(1) << halved) - 1) >> halved));
	for (; width < largest; width *= 2)
		AddSizeClass(entries, width);
	AddSizeClass(entries, largest);
	entries->nclasses++;		/* of anything: width 0 */
}

static int
CompareKeys(const void *a, const void *b)
{
	uint32		x = ((const Entry *) a)->n,
				y = ((const Entry *) b)->n;

	return (x > y) - (x < y);
}

/* The width of the process that was the first to choose one. */
static void
AgreeOnWidth(BloomxEntries *entries)
{
	uint32		of_another = 0;

	if (entries->share.width != NULL && !pg_atomic_compare_exchange_u32(entries->share.width, &of_another, entries->keys->width))
		entries->keys->width = of_another;
}

/* Chooses the width of the usual entry, and gives those that waited for it their classes. */
static void
ChooseWidth(BloomxEntries *entries)
{
	Waiting    *sample = &entries->sample;
	uint32		keys;

	if (entries->keys->width == 0)
	{
		qsort(sample->entries, sample->n, sizeof(Entry), CompareKeys);
		keys = sample->n == 0 ? 1 : sample->entries[sample->n - 1 - sample->n / 100].n;
		entries->keys->width = Min(blx_partitioned_width(entries->keys->parts, Max(1, keys), entries->rate),
								   MAX_SIGNATURE_BITS / entries->keys->parts);
	}
	AgreeOnWidth(entries);
	InitClasses(entries);
	for (uint32 i = 0; i < sample->n; i++)
	{
		AddToClass(entries, &sample->entries[i]);
		entries->used -= sample->entries[i].n * sizeof(uint64);
		pfree(sample->entries[i].hash);
	}
	sample->n = 0;
}

/* The entry's hashes may be gone afterwards. */
static void
AddEntry(BloomxEntries *entries, const Entry *entry)
{
	if (entries->nclasses > 0)
	{
		AddToClass(entries, entry);
		return;
	}
	LetWait(entries, &entries->sample, CopyEntry(entry));
	if (entries->sample.n == SAMPLE_ENTRIES || entries->used > entries->share.memory / 4)
		ChooseWidth(entries);
}

/* ---- rows ---- */

/* The present entry is complete. */
static void
EndEntry(BloomxEntries *entries)
{
	Entry		entry = {.tid = entries->tid, .tuples = entries->tuples, .n = entries->set.n, .hash = entries->set.hash};

	if (entries->tuples == 0)
		return;
	if (entries->tuples > 1)
		ItemPointerSetOffsetNumber(&entry.tid, WHOLE_BLOCK);
	entry.anything = entries->anything || entries->set.n > entries->most_of_row;
	if (entry.anything)
		entry.n = 0;
	AddEntry(entries, &entry);
	entries->tuples = 0;
	ClearSet(&entries->set);
}

BloomxEntries *
BloomxStartEntries(Relation index, BloomxKeys *keys, const BloomxShare *share, BloomxWriteSegment write, void *arg)
{
	BloomxEntries *entries = palloc0(sizeof(BloomxEntries));
	BloomxOptions options = BloomxGetOptions(index);
	blx_partitioned largest = LargestShape(keys->parts);

	entries->keys = keys;
	entries->rate = options.fpr > 0 ? options.fpr : pow(0.5, keys->parts);
	entries->most_keys = (uint32) CapacityOf(&largest, entries->rate);
	entries->most_of_row = Max(BloomxMostKeysOfRow(keys->parts), entries->most_keys);
	/* with little memory, entries are smaller, so that many of them have room */
	entries->most_keys = (uint32) Min(entries->most_keys, share->memory / BYTES_PER_KEY);
	if (options.max_keys_per_filter > 0)
		entries->most_keys = Min(entries->most_keys, (uint32) options.max_keys_per_filter);
	entries->share = *share;
	entries->write = write;
	entries->arg = arg;
	entries->set.size = 64;
	entries->set.table = palloc0(entries->set.size * sizeof(uint64));
	entries->set.hash = palloc(entries->set.size / 2 * sizeof(uint64));
	if (keys->width > 0)
		InitClasses(entries);
	return entries;
}

/* Adds keys to the present entry, until there are too many for any signature: those need not be counted. */
static void
AddKeys(BloomxEntries *entries, const uint64 *hash, uint32 n)
{
	for (uint32 i = 0; i < n && hash != NULL && entries->set.n <= entries->most_of_row; i++)
		AddToSet(&entries->set, hash[i]);
}

void
BloomxAddToEntries(BloomxEntries *entries, const ItemPointerData *tid, const uint64 *hash, uint32 n)
{
	uint32		before;

	if (entries->tuples > 0 &&
		(entries->anything || hash == NULL || ItemPointerGetBlockNumberNoCheck(tid) != ItemPointerGetBlockNumberNoCheck(&entries->tid)))
		EndEntry(entries);
	before = entries->set.n;
	AddKeys(entries, hash, n);
	/* if the row brings too many keys, the entry ends before it */
	if (entries->tuples > 0 && entries->set.n > entries->most_keys)
	{
		TruncateSet(&entries->set, before);
		EndEntry(entries);
		AddKeys(entries, hash, n);
	}
	entries->tid = *tid;
	entries->tuples++;
	entries->anything = hash == NULL;
}

/*
 * The class whose signatures the waiting entries of class i become: their own, or
 * the next larger one that has entries, if one segment less is worth the additional
 * pages.  A scan reads up to as many pages of a segment as there are parts.  The
 * class of anything takes only its own: another entry there would match any key.
 */
static int
ClassForFew(BloomxEntries *entries, int i)
{
	uint32		n = entries->classes[i].waiting.n;

	for (int j = i + 1; n < LEAST_ENTRIES && j < entries->nclasses - 1; j++)
	{
		SizeClass  *larger = &entries->classes[j];
		uint32		rows = larger->rows + larger->waiting.n;

		if (rows > 0)
			return PagesOf(larger, rows + n) <= PagesOf(larger, rows) + PagesOf(&entries->classes[i], n) + entries->keys->parts ? j : i;
	}
	return i;
}

void
BloomxFinishEntries(BloomxEntries *entries)
{
	EndEntry(entries);
	if (entries->nclasses == 0 && entries->sample.n > 0)
		ChooseWidth(entries);
	for (int i = 0; i < entries->nclasses; i++)
	{
		Waiting    *waiting = &entries->classes[i].waiting;
		int			to = ClassForFew(entries, i);

		/* they wait on: perhaps the larger class has few entries, too */
		for (uint32 k = 0; to > i && entries->classes[to].rows == 0 && k < waiting->n; k++)
			LetWait(entries, &entries->classes[to].waiting, waiting->entries[k]);
		if (to > i && entries->classes[to].rows == 0)
			waiting->n = 0;
		AddWaiting(entries, waiting, &entries->classes[to]);
	}
	for (int i = 0; i < entries->nclasses; i++)
		WriteClass(entries, &entries->classes[i]);
}

/* ---- from process to process ---- */

static void
PutWaiting(BloomxEntries *entries, Waiting *waiting)
{
	for (uint32 i = 0; i < waiting->n; i++)
	{
		RowsInFile	head = {.entry = waiting->entries[i]};

		BufFileWrite(entries->share.rest, &head, sizeof head);
		BufFileWrite(entries->share.rest, head.entry.hash, head.entry.n * sizeof(uint64));
	}
}

void
BloomxHandOverEntries(BloomxEntries *entries)
{
	EndEntry(entries);
	PutWaiting(entries, &entries->sample);
	for (int i = 0; i < entries->nclasses; i++)
	{
		PutWaiting(entries, &entries->classes[i].waiting);
		if (entries->classes[i].rows > 0)
			PutRows(entries, &entries->classes[i]);
	}
}

/* Reads n bytes of a file.  False if it has ended, which it may do only there. */
static bool
Get(BufFile *file, void *bytes, Size n, bool may_end)
{
	Size		read = BufFileRead(file, bytes, n);

	if (read != n && (read > 0 || !may_end))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: read only %zu of %zu bytes", read, n)));
	return read == n;
}

static void
TakeRows(BloomxEntries *entries, BufFile *file, const RowsInFile *head)
{
	SizeClass  *class = &entries->classes[head->class];
	ItemPointerData *tids = palloc(head->rows * sizeof(ItemPointerData));
	uint32		tuples = 0;

	(void) Get(file, tids, head->rows * sizeof(ItemPointerData), false);
	AddWaiting(entries, &class->waiting, class);
	for (uint32 i = 0; i < head->rows; i++)
	{
		uint32		so_far = (uint32) ((i + 1) * (uint64) head->tuples / head->rows);	/* of their tuples */
		uint64	   *signature = AddRow(entries, class, &tids[i], so_far - tuples);

		tuples = so_far;
		if (class->stride > 0)
			(void) Get(file, signature, class->stride * sizeof(uint64), false);
	}
	pfree(tids);
}

static void
TakeWaiting(BloomxEntries *entries, BufFile *file, const RowsInFile *head)
{
	Entry		entry = head->entry;

	entry.hash = palloc(Max(1, entry.n) * sizeof(uint64));
	(void) Get(file, entry.hash, entry.n * sizeof(uint64), false);
	AddEntry(entries, &entry);
	pfree(entry.hash);
}

void
BloomxTakeOverEntries(BloomxEntries *entries, BufFile *file, Size memory)
{
	RowsInFile	head;

	EndEntry(entries);
	entries->share.rest = NULL;
	entries->share.memory = memory;
	/* another process may have chosen it, and then there are rows of its classes */
	if (entries->nclasses == 0 && pg_atomic_read_u32(entries->share.width) > 0)
		ChooseWidth(entries);
	while (Get(file, &head, sizeof head, true))
	{
		if (head.rows > 0)
			TakeRows(entries, file, &head);
		else
			TakeWaiting(entries, file, &head);
	}
}
