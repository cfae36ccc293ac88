/*
 * options.h - the options of an index.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"
#include "utils/relcache.h"

/*
 * kB.  Every scan reads all pending rows: a short list makes scans fast, a long
 * one makes inserts cheap, since each segment is written from more rows.
 */
#define DEFAULT_PENDING_LIMIT 1024
#define MAX_PENDING_LIMIT 8000

typedef struct BloomxOptions
{
	int32		varlena;
	int			signature_bits; /* 0: as many as the filters have */
	int			hash_functions; /* bits per key, which are the parts of a signature; 0: as many as the filters have, or as the rate needs */
	double		fpr;			/* of an entry of values; 0: chosen */
	int			max_keys_per_filter;	/* of an entry of several rows; 0: as many as a signature tells apart */
	int			pending_limit;	/* kB */
	bool		partition_lookup;	/* of a partitioned index: its partitions' keys go into the store, too */
} BloomxOptions;

/* At load time: makes the options known to PostgreSQL. */
extern void BloomxInitOptions(void);
extern BloomxOptions BloomxGetOptions(Relation index);

extern bytea *bloomxoptions(Datum reloptions, bool validate);
