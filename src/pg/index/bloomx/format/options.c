/*
 * options.c - the options of an index (CREATE INDEX ... WITH).
 *
 * In SQL the bits per key are called "probes", as in the functions that make
 * filters; in a signature they are its parts.
 */
#include "pg/index/bloomx/format/options.h"

#include "access/reloptions.h"
#include "utils/rel.h"

#include "pg/index/bloomx/format/geometry.h"

static relopt_kind option_kind;

static const BloomxOptions default_options = {.bits = 0, .probes = 0, .rate = 0, .keys = 0, .pending_limit = DEFAULT_PENDING_LIMIT};

void
BloomxInitOptions(void)
{
	option_kind = add_reloption_kind();
	add_int_reloption(option_kind, "bits", "Bits of a row's signature, or 0: as many as the filters have",
					  default_options.bits, 0, MAX_SIGNATURE_BITS, AccessExclusiveLock);
	add_int_reloption(option_kind, "probes", "Bits of a signature that a key has, or 0: as many as in the filters",
					  default_options.probes, 0, BLX_MAX_K, AccessExclusiveLock);
	add_real_reloption(option_kind, "rate", "False positive rate of an entry of values, or 0: chosen by the size of the table",
					   default_options.rate, 0, 0.5, AccessExclusiveLock);
	add_int_reloption(option_kind, "keys", "Most keys of an entry of several rows, or 0: as many as a signature tells apart",
					  default_options.keys, 0, INT_MAX, AccessExclusiveLock);
	add_int_reloption(option_kind, "pending_limit", "Size of the list of pending rows, in kilobytes, at which it becomes a segment",
					  default_options.pending_limit, 16, MAX_PENDING_LIMIT, AccessExclusiveLock);
}

bytea *
bloomxoptions(Datum reloptions, bool validate)
{
	const relopt_parse_elt table[] = {
		{.optname = "bits", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, bits)},
		{.optname = "probes", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, probes)},
		{.optname = "rate", .opttype = RELOPT_TYPE_REAL, .offset = offsetof(BloomxOptions, rate)},
		{.optname = "keys", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, keys)},
		{.optname = "pending_limit", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, pending_limit)},
	};
	BloomxOptions *options = build_reloptions(reloptions, validate, option_kind, sizeof(BloomxOptions), table, lengthof(table));
	BloomxGeometrySample none = {0};

	/* raises an error if no signature has that number of bits and parts */
	if (validate && options != NULL)
		(void) BloomxChooseGeometry(options->bits, options->probes, &none);
	return (bytea *) options;
}

BloomxOptions
BloomxGetOptions(Relation index)
{
	return index->rd_options ? *(BloomxOptions *) index->rd_options : default_options;
}
