/*
 * signature.c - the index's geometry, filters as signatures, conditions as
 * slices.
 *
 * An index whose signatures are as large as the filters is as exact as they
 * are; a smaller one only returns more rows, which are looked at again.
 */
#include "pg/index/bloomx/index.h"

#include "core/layouts/hashes.h"

void
SampleGeometry(GeometrySample *sample, const blx_filter *f)
{
	blx_geometry geometry;

	if (!blx_signature_geometry(f, &geometry))
		return;
	sample->filters++;
	sample->planned = f->capacity > 0;
	sample->log2_blocks[pg_leftmost_one_pos32(geometry.blocks)]++;
	sample->parts[geometry.parts]++;
}

/* The least value that 99 in 100 of the filters do not exceed: one that is folded once too often is found by every fourth key. */
static unsigned
MostHave(const uint32 *counts, uint32 filters)
{
	unsigned	value = 0;

	for (uint32 seen = counts[0]; seen < filters - filters / 100; value++)
		seen += counts[value + 1];
	return value;
}

blx_geometry
ChooseGeometry(const IndexOptions *options, const GeometrySample *sample)
{
	unsigned	probes = options->probes,
				bits = options->bits;
	blx_geometry geometry;
	blx_error	error;

	if (probes == 0)
		probes = sample->filters > 0 ? MostHave(sample->parts, sample->filters) : DEFAULT_PROBES;
	if (bits == 0)
	{
		bits = DEFAULT_SIGNATURE_BITS;
		if (sample->filters > 0)
		{
			uint64		wanted = (uint64) (64 * probes) << MostHave(sample->log2_blocks, sample->filters);

			/* one filter that just came to be so small is no measure of what will follow */
			if (sample->filters > 1 || sample->planned)
				bits = 0;
			bits = Max(bits, Min(wanted, MAX_SIGNATURE_BITS));
		}
		bits = Max(bits, 64 * probes);
	}
	if (!blx_plan_bits(BLX_PARTITIONED_BLOCKED, bits, probes, NULL, &geometry, &error))
		ThrowCoreError(&error);
	return geometry;
}

/* A counting filter without its counters, or f. */
static const blx_filter *
WithoutCounters(const blx_filter *f)
{
	const blx_identity none = {0};
	blx_geometry geometry;
	blx_filter *bits;
	blx_error	error;

	if (!blx_to_bits_geometry(f, &geometry, &error))
		return f;
	bits = NewFilter(&geometry, &none, 0);
	blx_to_bits(bits, f);
	return bits;
}

void
MakeSignature(uint64 *words, const blx_geometry *geometry, const blx_filter *f, bool comparable)
{
	if (comparable)
		blx_signature(words, geometry, WithoutCounters(f));
	else
		blx_signature_of_anything(words, geometry);
}

Condition
MakeCondition(const Structure *structure, const blx_filter *probe, bool all)
{
	blx_identity of_probe = blx_identity_of(probe);
	Condition	condition = {.all = all, .keys = (uint32) blx_hashes_count(probe), .parts = structure->geometry.parts};
	uint64		cursor = 0,
				hash;
	uint32	   *next;
	blx_error	error;

	condition.anything = !blx_identity_check(&structure->identity, "", &of_probe, "", &error);
	if (condition.anything)
		return condition;
	next = condition.slices = palloc(Max(1, condition.keys * (Size) condition.parts * sizeof(uint32)));
	while (blx_hashes_next(probe, &cursor, &hash, 1) > 0)
	{
		blx_slices_of_key(&structure->geometry, hash, next);
		next += condition.parts;
	}
	return condition;
}

static bool
SignatureHas(const uint64 *words, const uint32 *slices, uint32 parts)
{
	for (uint32 i = 0; i < parts; i++)
		if (!(words[slices[i] / 64] >> slices[i] % 64 & 1))
			return false;
	return true;
}

bool
SignatureMeets(const uint64 *words, const Condition *condition)
{
	if (condition->anything)
		return true;
	for (uint32 key = 0; key < condition->keys; key++)
		if (SignatureHas(words, condition->slices + key * condition->parts, condition->parts) != condition->all)
			return !condition->all;
	return condition->all;
}
