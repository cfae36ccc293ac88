/*
 * geometry.c - the geometry of an index of filters, and filters as signatures.
 *
 * An index whose signatures are as large as the filters is as exact as the
 * filters.  An index of smaller signatures merely returns more rows; they are
 * rechecked.
 */
#include "pg/index/bloomx/format/geometry.h"

#include <math.h>

#include "core/base/base.h"

void
BloomxAddToSample(BloomxGeometrySample *sample, const blx_geometry *geometry)
{
	int			log2_blocks = pg_leftmost_one_pos32(geometry->blocks);

	sample->filters++;
	sample->log2_blocks[log2_blocks]++;
	sample->parts[geometry->parts]++;
	sample->both[log2_blocks][geometry->parts]++;
}

void
BloomxSampleGeometry(BloomxGeometrySample *sample, const blx_filter *f)
{
	blx_geometry geometry;

	if (!blx_signature_geometry(f, &geometry))
		return;
	BloomxAddToSample(sample, &geometry);
	sample->planned = f->capacity > 0;
}

/* The smallest value that all but `others` of the filters do not exceed. */
static unsigned
MostHave(const uint32 *counts, uint32 filters, uint32 others)
{
	unsigned	value = 0;

	/* seen: the filters whose value is at most `value` */
	for (uint32 seen = counts[0]; seen < filters - others; value++)
		seen += counts[value + 1];
	return value;
}

/*
 * The share of false positives among the rows of a lookup if the filters of 2^i
 * blocks are folded once.  The plan for rate r has about log2(1/r) parts, which is taken
 * from the filter in the middle.  A filter of that rate has r^(1/parts) of its bits
 * set.
 */
static double
FoldingReturns(const BloomxGeometrySample *sample, unsigned i)
{
	double		rate = exp2(-(double) MostHave(sample->parts, sample->filters, sample->filters / 2)),
				filters = 0;

	for (int parts = 1; parts <= BLX_MAX_K; parts++)
	{
		double		unset = 1 - pow(rate, 1.0 / parts);

		filters += sample->both[i][parts] * pow(1 - unset * unset, parts);
	}
	return filters / sample->filters;
}

/*
 * A lookup reads a slice per part.  As measured, that takes as long as to look at
 * one row in 9,000 (bench/index/run on machine B) to 35,000 (on A) of the index.
 */
#define ROWS_PER_SLICE 18000.0

/*
 * The blocks of the signatures, as a power of two.  The maximum of the filters
 * would let one huge filter set the size of all signatures; but a filter of 1 %
 * that is folded once too often may match a quarter of all keys, so only 1 in 100
 * may be.
 *
 * Of filters of lower rates, more may.  Plans of one group have few parts and many
 * blocks for their size: at 0.01 % the plan for 170 keys has 8 parts in 8 blocks,
 * those for 125 and for 190 have 20 in 2 and 15 in 4.  Signatures of 20 parts in 8
 * blocks are two and a half times as large as the largest filter.  So if fewer
 * than 1 in 10 have the most blocks, and folding them returns no more rows than
 * the slices take time for, half the blocks are taken.
 */
static unsigned
MostBlocks(const BloomxGeometrySample *sample, unsigned parts)
{
	unsigned	most = MostHave(sample->log2_blocks, sample->filters, sample->filters / 100);

	if (MostHave(sample->log2_blocks, sample->filters, sample->filters / 10) < most &&
		FoldingReturns(sample, most) <= parts / ROWS_PER_SLICE)
		return most - 1;
	return most;
}

blx_geometry
BloomxChooseGeometry(int32 bits_asked, int32 probes, const BloomxGeometrySample *sample)
{
	unsigned	parts = probes,
				bits = bits_asked;
	blx_geometry geometry;

	if (parts == 0)
		parts = sample->filters > 0 ? MostHave(sample->parts, sample->filters, sample->filters / 100) : DEFAULT_PARTS;
	if (bits == 0)
	{
		bits = DEFAULT_SIGNATURE_BITS;
		if (sample->filters > 0)
		{
			uint64		wanted = (uint64) (64 * parts) << MostBlocks(sample, parts);

			/* a single filter that was not planned may be small by chance: then the default is the least */
			if (sample->filters > 1 || sample->planned)
				bits = 0;
			bits = Max(bits, Min(wanted, MAX_SIGNATURE_BITS));
		}
		bits = Max(bits, 64 * parts);
	}
	if (bits < 64 * parts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("signature_bits of a bloomx index must be at least 64 for each hash function, %u for %u of them, not %u", 64 * parts, parts, bits),
				 errhint("Raise signature_bits, or lower hash_functions.")));
	CheckCore(blx_plan_bits(BLX_PARTITIONED_BLOCKED, bits, parts, NULL, &geometry, &core_error));
	return geometry;
}

/* A counting filter as a filter of bits; any other filter as it is. */
static const blx_filter *
WithoutCounters(const blx_filter *f)
{
	const blx_identity none = {0};
	blx_geometry geometry;
	blx_filter *bits;

	/* NULL: no message is made up for the many filters that have no counters */
	if (!blx_to_bits_geometry(f, &geometry, NULL))
		return f;
	bits = NewFilter(&geometry, &none, 0);
	blx_to_bits(bits, f);
	return bits;
}

void
BloomxMakeSignature(uint64 *words, const blx_geometry *geometry, const blx_filter *f, bool comparable)
{
	if (comparable)
		blx_signature(words, geometry, WithoutCounters(f));
	else
		blx_signature_of_anything(words, geometry);
}

void
BloomxConvertSignature(uint64 *words, const blx_geometry *geometry, const uint64 *signature, const blx_geometry *from)
{
	if (from->parts == 0)
		blx_signature_of_anything(words, geometry);
	else if (from->blocks == geometry->blocks && from->parts == geometry->parts)
		memcpy(words, signature, blx_body_words(geometry) * sizeof(uint64));
	else
		blx_signature_convert(words, geometry, signature, from);
}

/* ---- keys ---- */

blx_geometry
BloomxMakeGeometry(uint32 log2_blocks, uint32 parts)
{
	return (blx_geometry) {.layout = BLX_PARTITIONED_BLOCKED, .blocks = UINT32_C(1) << log2_blocks,
		.parts = parts, .probes = 1, .part_bits = 64};
}

blx_geometry
BloomxGeometryOf(const BloomxKeys *keys)
{
	return BloomxMakeGeometry(keys->log2_blocks, keys->parts);
}

void
BloomxSetGeometry(BloomxKeys *keys, const blx_geometry *geometry)
{
	keys->log2_blocks = (uint8) pg_leftmost_one_pos32(geometry->blocks);
	keys->parts = (uint8) geometry->parts;
}

blx_identity
BloomxIdentityOf(const BloomxKeys *keys)
{
	return (blx_identity) {.key_type = keys->key_type, .name_len = keys->name_len, .name = keys->name};
}

bool
BloomxJoinKeyType(BloomxKeys *keys, const blx_filter *f)
{
	blx_identity ours = BloomxIdentityOf(keys),
				theirs = blx_identity_of(f);

	if (!blx_same_keys(&ours, &theirs))
		return false;
	/* an index of filters without a key type takes the first one that comes */
	if (keys->key_type == BLX_KEY_NONE)
	{
		keys->key_type = theirs.key_type;
		keys->name_len = theirs.name_len;
		memcpy(keys->name, theirs.name, theirs.name_len);
	}
	return true;
}
