/*
 * options.c - the options of an index (CREATE INDEX ... WITH).
 *
 * What SQL calls hash functions, the bits of a key, are the parts of a signature.
 */
#include "pg/index/bloomx/format/options.h"

#include "access/reloptions.h"
#include "utils/rel.h"

#include "pg/index/bloomx/format/geometry.h"

static relopt_kind option_kind;

static const BloomxOptions default_options = {.signature_bits = 0, .hash_functions = 0, .fpr = 0, .max_keys_per_filter = 0, .pending_limit = DEFAULT_PENDING_LIMIT};

void
BloomxInitOptions(void)
{
	option_kind = add_reloption_kind();
	add_int_reloption(option_kind, "signature_bits", "Bits of a row's signature, or 0: as many as the filters have",
					  default_options.signature_bits, 0, MAX_SIGNATURE_BITS, AccessExclusiveLock);
	add_int_reloption(option_kind, "hash_functions", "Bits that a key sets in a signature, or 0: as many as in the filters",
					  default_options.hash_functions, 0, BLX_MAX_K, AccessExclusiveLock);
	add_real_reloption(option_kind, "fpr", "False positive rate of a filter of values, or 0: chosen by the size of the table",
					   default_options.fpr, 0, 0.5, AccessExclusiveLock);
	add_int_reloption(option_kind, "max_keys_per_filter", "Most keys of a filter of several rows, or 0: as many as a signature tells apart",
					  default_options.max_keys_per_filter, 0, INT_MAX, AccessExclusiveLock);
	add_int_reloption(option_kind, "pending_limit", "Size of the list of pending rows, in kilobytes, at which it becomes a segment",
					  default_options.pending_limit, 16, MAX_PENDING_LIMIT, AccessExclusiveLock);
	add_bool_reloption(option_kind, "partition_lookup", "Queries for a key leave out the partitions that do not have it; takes effect when the index is built",
					   default_options.partition_lookup, AccessExclusiveLock);
}

bytea *
bloomxoptions(Datum reloptions, bool validate)
{
	const relopt_parse_elt table[] = {
		{.optname = "signature_bits", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, signature_bits)},
		{.optname = "hash_functions", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, hash_functions)},
		{.optname = "fpr", .opttype = RELOPT_TYPE_REAL, .offset = offsetof(BloomxOptions, fpr)},
		{.optname = "max_keys_per_filter", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, max_keys_per_filter)},
		{.optname = "pending_limit", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomxOptions, pending_limit)},
		{.optname = "partition_lookup", .opttype = RELOPT_TYPE_BOOL, .offset = offsetof(BloomxOptions, partition_lookup)},
	};
	BloomxOptions *options = build_reloptions(reloptions, validate, option_kind, sizeof(BloomxOptions), table, lengthof(table));
	BloomxGeometrySample none = {0};

	/* raises an error if no signature has that number of bits and parts */
	if (validate && options != NULL)
		(void) BloomxChooseGeometry(options->signature_bits, options->hash_functions, &none);
	return (bytea *) options;
}

BloomxOptions
BloomxGetOptions(Relation index)
{
	return index->rd_options ? *(BloomxOptions *) index->rd_options : default_options;
}
