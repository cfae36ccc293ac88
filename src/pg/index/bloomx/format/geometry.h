/*
 * geometry.h - the geometry of signatures, and the type of their keys.
 */
#pragma once

#include "pg/base/base.h"

#include "port/pg_bitutils.h"

#include "core/filter/slices.h"

/* 128 kB: the INSERT that brings a row writes the whole signature to the pending rows. */
#define MAX_SIGNATURE_BITS (1 << 20)
#define MAX_LOG2_BLOCKS 14		/* of a signature of one part */

/*
 * Signatures of an index that must choose them before it has seen a filter of a
 * suitable size.  4096 bits are the size of a default filter (1 %) of some 380
 * keys.  8 parts are one group, and a half-full signature of 8 parts has a rate
 * of 0.4 %.
 */
#define DEFAULT_SIGNATURE_BITS 4096
#define DEFAULT_PARTS 8

/*
 * What is to be known of the signatures.  Those of filters have one geometry, and
 * the filters' keys have a type.  Those of values have the same number of parts,
 * but parts of different widths (entries.c).
 */
typedef struct BloomxKeys
{
	uint8		of_values;		/* 1: the columns are of values, 0: the column is of filters */
	uint8		parts;			/* 0: not chosen yet */
	uint8		log2_blocks;	/* the rest is of filters, but for the width */
	uint8		key_type;
	uint8		name_len;
	uint8		unused[3];
	uint32		width;			/* of a part of the usual entry of values */
	uint32		unused2;
	char		name[BLX_MAX_NAME + 1];
} BloomxKeys;

extern blx_geometry BloomxMakeGeometry(uint32 log2_blocks, uint32 parts);
extern blx_geometry BloomxGeometryOf(const BloomxKeys *keys);
extern blx_identity BloomxIdentityOf(const BloomxKeys *keys);
extern void BloomxSetGeometry(BloomxKeys *keys, const blx_geometry *geometry);

/* Makes the key type of the rows include f's.  False if f has keys of another type. */
extern bool BloomxJoinKeyType(BloomxKeys *keys, const blx_filter *f);

/* The geometries of some filters, from which the index's is chosen. */
typedef struct BloomxGeometrySample
{
	uint32		filters;
	uint32		log2_blocks[32];	/* how many of the filters have 2^i blocks */
	uint32		parts[BLX_MAX_K + 1];	/* how many have i parts */
	uint32		both[32][BLX_MAX_K + 1];	/* how many have 2^i blocks and j parts */
	bool		planned;		/* true if the last one was planned for a number of keys */
} BloomxGeometrySample;

extern void BloomxSampleGeometry(BloomxGeometrySample *sample, const blx_filter *f);
extern void BloomxAddToSample(BloomxGeometrySample *sample, const blx_geometry *geometry);

/* The geometry that the options ask for, 0 bits or probes if they do not; what they leave open is taken from the filters. */
extern blx_geometry BloomxChooseGeometry(int32 bits, int32 probes, const BloomxGeometrySample *sample);

/* The signature of f, in blx_body_words(geometry) words.  comparable: f's keys are of the index's key type. */
extern void BloomxMakeSignature(uint64 *words, const blx_geometry *geometry, const blx_filter *f, bool comparable);

/* The same from a signature of another geometry, which may be of 0 parts. */
extern void BloomxConvertSignature(uint64 *words, const blx_geometry *geometry, const uint64 *signature, const blx_geometry *from);
