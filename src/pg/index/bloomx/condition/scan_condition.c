/*
 * scan_condition.c - what a scan asks of the keys of a row: as slices of segments, and
 * of pending rows one by one.
 *
 * A condition on a filter is a set of keys, of which the filter must hold all or
 * any, or another filter that it may overlap.  A condition on a value is what its operator class makes of it
 * (pg/keys/extract/extract.h).
 */
#include "pg/index/bloomx/condition/scan_condition.h"

#include "miscadmin.h"

#include "core/base/base.h"
#include "core/layouts/groups.h"
#include "core/layouts/growing/hashes.h"
#include "pg/index/bloomx/format/row.h"

/*
 * A condition has at most 64 MB of slices, a quarter of a million keys of 64.
 * Of more keys that a row must have all, the first ones say enough; of more of
 * which it may have any, the index says nothing.  The table is asked in any case.
 */
#define MAX_CONDITION_SLICES (1 << 24)

KeyCondition *
BloomxConditionOfProbe(const BloomxDirectory *directory, const blx_filter *probe, bool all)
{
	KeyCondition *condition,
			   *leaves;
	blx_identity of_probe;
	uint64		cursor = 0,
				n;

	if (probe == NULL)
		return MakeKeyCondition(ANY_VALUE, 0);
	of_probe = blx_identity_of(probe);
	n = blx_hashes_count(probe);
	/* of no keys, all are held and none is, whatever the types */
	if (n > 0 && !blx_same_keys(&directory->identity, &of_probe))
		return MakeKeyCondition(ANY_VALUE, 0);
	if (directory->geometry.parts > 0 && n > MAX_CONDITION_SLICES / directory->geometry.parts)
	{
		if (!all)
			return MakeKeyCondition(ANY_VALUE, 0);
		n = MAX_CONDITION_SLICES / directory->geometry.parts;
	}
	condition = MakeKeyCondition(all ? HAS_ALL : HAS_ANY, (uint32) n);
	leaves = palloc0(Max(1, n) * sizeof(KeyCondition));
	condition->n = 0;
	while (condition->n < n && blx_hashes_next(probe, &cursor, &leaves[condition->n].hash, 1) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		leaves[condition->n].kind = HAS_KEY;
		condition->parts[condition->n] = &leaves[condition->n];
		condition->n++;
	}
	return condition->n == 1 ? leaves : condition;
}

/* ---- filters that may overlap ---- */

/* Memory of a bit's condition, at most. */
#define BYTES_PER_BIT 256

/* Of the bits of one word of a signature a row must have one.  No bits say nothing, nor do all: they stand for a part that f does not have. */
static KeyCondition *
ConditionOfBits(uint64 bits, uint64 word)
{
	KeyCondition *parts[64];
	uint32		n = 0;

	if (bits == ~UINT64CONST(0) || bits == 0)
		return MakeKeyCondition(ANY_VALUE, 0);
	for (; bits != 0; bits &= bits - 1)
	{
		parts[n] = MakeKeyCondition(HAS_BIT, 0);
		parts[n++]->hash = 64 * word + pg_rightmost_one_pos64(bits);
	}
	return CombineConditions(HAS_ANY, parts, n);
}

/*
 * A key that two filters have in common has its bits in one block of each group of parts
 * (core/layouts/groups.h).  So in each group there is a block of which both have a bit in
 * every part.
 */
static KeyCondition *
ConditionOfGroup(const uint64 *words, uint64 first, uint32 blocks, uint32 parts)
{
	KeyCondition **of_blocks = palloc(blocks * sizeof(KeyCondition *)),
			   *of_parts[BLX_GROUP];
	uint32		n = 0;

	for (uint64 word = first; word < first + blocks * (uint64) parts; word += parts)
	{
		uint64		any = 0;

		for (uint32 part = 0; part < parts; part++)
		{
			any |= words[word + part];
			of_parts[part] = ConditionOfBits(words[word + part], word + part);
		}
		if (any != 0)
			of_blocks[n++] = CombineConditions(HAS_ALL, of_parts, parts);
	}
	/* a group without any bit is one that f does not have */
	return n == 0 ? MakeKeyCondition(ANY_VALUE, 0) : CombineConditions(HAS_ANY, of_blocks, n);
}

/*
 * Of a filter with many bits the table has to be asked: there are too many slices, of which
 * nearly all rows have some.
 */
KeyCondition *
BloomxConditionOfOverlap(const BloomxDirectory *directory, const blx_filter *f)
{
	const blx_geometry *geometry = &directory->geometry;
	blx_identity identity = blx_identity_of(f);
	uint64	   *words,
				n = blx_body_words(geometry),
				first = 0,
				bits = 0;
	KeyCondition *groups[BLX_MAX_K];
	uint32		ngroups = 0;

	if (f->layout == BLX_HASHES)
		return BloomxConditionOfProbe(directory, f, false);
	if (f->layout != BLX_PARTITIONED_BLOCKED || geometry->parts == 0 || !blx_same_keys(&directory->identity, &identity))
		return MakeKeyCondition(ANY_VALUE, 0);
	words = MemoryContextAllocHuge(CurrentMemoryContext, n * sizeof(uint64));
	BloomxMakeSignature(words, geometry, f, true);
	for (uint64 i = 0; i < n; i++)
		bits += words[i] == ~UINT64CONST(0) ? 0 : pg_popcount64(words[i]);
	if (bits > 16 * n || bits > work_mem * (uint64) 1024 / BYTES_PER_BIT)
		return MakeKeyCondition(ANY_VALUE, 0);
	for (uint32 part = 0; part < geometry->parts; part += BLX_GROUP)
	{
		uint32		parts = Min(BLX_GROUP, geometry->parts - part);

		CHECK_FOR_INTERRUPTS();
		groups[ngroups++] = ConditionOfGroup(words, first, geometry->blocks, parts);
		first += geometry->blocks * (uint64) parts;
	}
	pfree(words);
	return CombineConditions(HAS_ALL, groups, ngroups);
}

/* ---- values ---- */

/* A condition of an operator class becomes one on keys in a column.  A leaf may be part of several conditions. */
static KeyCondition *
InColumn(KeyCondition *condition, int column)
{
	check_stack_depth();
	if (condition->kind == HAS_KEY && !condition->in_column)
	{
		condition->hash = BloomxHashInColumn(condition->hash, column);
		condition->in_column = true;
	}
	for (uint32 i = 0; i < condition->n; i++)
		(void) InColumn(condition->parts[i], column);
	return condition;
}

KeyCondition *
BloomxConditionOfValue(Relation index, BloomxColumns *columns, const ScanKeyData *key, Datum argument)
{
	int			column = key->sk_attno - 1;
	KeyExtractor *extractor = columns->extractors[column];
	Oid			type = OidIsValid(key->sk_subtype) ? key->sk_subtype : BloomxTypeOfColumn(index, column);

	return InColumn(extractor->query(extractor, key->sk_strategy, type, argument), column);
}

KeyCondition *
BloomxConditionOfNull(int column)
{
	return ConditionOfKey(BloomxHashOfNull(column));
}

const uint32 *
BloomxSlicesOfKey(const BloomxKeys *keys, KeyCondition *leaf, uint32 of_slices)
{
	/* no two geometries of filters have both the same bits and parts: bits are a multiple of 64 */
	uint32		shape = keys->of_values ? of_slices : of_slices + keys->parts - 1;

	if (leaf->shape == shape)
		return leaf->slices;
	if (leaf->slices != NULL && !keys->of_values)
	{
		pfree(leaf->slices);
		leaf->slices = NULL;
	}
	if (leaf->slices == NULL)
		leaf->slices = palloc(keys->parts * sizeof(uint32));
	if (keys->of_values)
	{
		blx_partitioned shape = {.parts = keys->parts, .width = of_slices / keys->parts};

		blx_partitioned_slices(&shape, leaf->hash, leaf->slices);
	}
	else
	{
		blx_geometry geometry = BloomxGeometryOf(keys);

		blx_slices_of_key(&geometry, leaf->hash, leaf->slices);
	}
	leaf->shape = shape;
	return leaf->slices;
}

/* ---- pending rows ---- */

static bool
SignatureHas(BloomxRowHead head, const uint64 *words, KeyCondition *leaf)
{
	const BloomxKeys keys = {.log2_blocks = head.log2_blocks, .parts = head.parts};
	const uint32 *slices;

	if (head.parts == 0)		/* the filter may hold any key */
		return true;
	slices = BloomxSlicesOfKey(&keys, leaf, (64 * (uint32) head.parts) << head.log2_blocks);
	for (uint32 i = 0; i < head.parts; i++)
		if (!(words[slices[i] / 64] >> slices[i] % 64 & 1))
			return false;
	return true;
}

/* The hashes are in ascending order. */
static bool
HashesHave(const uint64 *hashes, uint32 n, uint64 hash)
{
	while (n > 0)
	{
		uint32		middle = n / 2;

		if (hashes[middle] == hash)
			return true;
		if (hashes[middle] < hash)
		{
			hashes += middle + 1;
			n -= middle + 1;
		}
		else
			n = middle;
	}
	return false;
}

static inline bool
RowHasKey(const BloomxKeys *keys, const uint64 *row, KeyCondition *leaf)
{
	BloomxRowHead head = BloomxHeadOf(row);

	if (!keys->of_values)
		return SignatureHas(head, row + 1, leaf);
	return head.hashes == ANY_HASHES || HashesHave(row + 1, head.hashes, leaf->hash);
}

/* A pending row, and the keys by which it is read. */
typedef struct RowOfKeys
{
	const BloomxKeys *keys;
	const uint64 *row;
} RowOfKeys;

/* A signature of another geometry than that of the index may have any bit. */
static bool
RowHasBit(const BloomxKeys *keys, const uint64 *row, uint64 bit)
{
	BloomxRowHead head = BloomxHeadOf(row);

	return head.log2_blocks != keys->log2_blocks || head.parts != keys->parts || row[1 + bit / 64] >> bit % 64 & 1;
}

static bool
RowHas(KeyCondition *leaf, void *arg)
{
	const RowOfKeys *of = arg;

	return leaf->kind == HAS_BIT ? RowHasBit(of->keys, of->row, leaf->hash) : RowHasKey(of->keys, of->row, leaf);
}

/* True if some hash of a row is that of an element. */
static bool
RowHasElement(const uint64 *row, const BloomxElements *elements)
{
	uint16		hashes = BloomxHeadOf(row).hashes;
	bool		has = hashes == ANY_HASHES;

	for (uint32 i = 0; i < hashes && !has; i++)
		has = BloomxHasElement(elements, row[1 + i]);
	return has;
}

bool
BloomxRowMeets(const BloomxKeys *keys, const uint64 *row, KeyCondition *condition, const BloomxElements *elements)
{
	if (condition->kind == HAS_KEY)	/* the usual one: every lookup asks every pending row */
		return RowHasKey(keys, row, condition);
	if (elements != NULL)
		return RowHasElement(row, elements);
	return MayMeet(condition, RowHas, &(RowOfKeys) {.keys = keys, .row = row});
}
