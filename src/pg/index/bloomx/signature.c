/*
 * signature.c - the geometry of an index of filters, and filters as signatures.
 *
 * An index whose signatures are as large as the filters is as exact as the
 * filters.  An index of smaller signatures merely returns more rows; they are
 * rechecked.
 */
#include "pg/index/bloomx/index.h"

#include "core/base/identity.h"

void
BloomxAddToSample(BloomxGeometrySample *sample, const blx_geometry *geometry)
{
	sample->filters++;
	sample->log2_blocks[pg_leftmost_one_pos32(geometry->blocks)]++;
	sample->parts[geometry->parts]++;
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

bool
BloomxSampleType(BloomxGeometrySample *sample, const blx_geometry *geometry)
{
	if (geometry->layout != BLX_PARTITIONED_BLOCKED)
		return false;
	BloomxAddToSample(sample, geometry);
	sample->planned = true;
	return true;
}

/*
 * The smallest value that 99 in 100 of the filters do not exceed.  The maximum
 * would let one huge filter set the size of all signatures; but a filter folded
 * once too often matches a quarter of all keys, so only 1 in 100 may be.
 */
static unsigned
MostHave(const uint32 *counts, uint32 filters)
{
	unsigned	value = 0;

	/* seen: the filters whose value is at most `value` */
	for (uint32 seen = counts[0]; seen < filters - filters / 100; value++)
		seen += counts[value + 1];
	return value;
}

blx_geometry
BloomxChooseGeometry(const BloomxOptions *options, const BloomxGeometrySample *sample)
{
	unsigned	parts = options->probes,
				bits = options->bits;
	blx_geometry geometry;
	blx_error	error;

	if (parts == 0)
		parts = sample->filters > 0 ? MostHave(sample->parts, sample->filters) : DEFAULT_PARTS;
	if (bits == 0)
	{
		bits = DEFAULT_SIGNATURE_BITS;
		if (sample->filters > 0)
		{
			uint64		wanted = (uint64) (64 * parts) << MostHave(sample->log2_blocks, sample->filters);

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
				 errmsg("bits of a bloomx index must be at least 64 for each of its probes, %u for %u probes, not %u", 64 * parts, parts, bits),
				 errhint("Raise bits, or give fewer probes.")));
	if (!blx_plan_bits(BLX_PARTITIONED_BLOCKED, bits, parts, NULL, &geometry, &error))
		ThrowCoreError(&error);
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
