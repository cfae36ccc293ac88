/*
 * sentkeys.h - the keys of a join as a value of type bloomfilter, to be sent to
 * another server.
 */
#pragma once

#include "runtimefilter/runtimefilter.h"
#include "pg/base/compat.h"

/* The setting bloomx.runtime_filter_remote_size, in kB. */
extern int	bloomx_runtime_filter_remote_size;

typedef struct SentKeys SentKeys;

/*
 * True if a filter of values that the coder `inner` reads can be asked about a
 * column of that type, whose values `outer` reads.
 */
extern bool KeysCanBeSent(const KeyCoder *inner, const KeyCoder *outer, Oid column);

/* The keys of one number of the filter's, for a column of that type. */
extern SentKeys *NewSentKeys(RuntimeFilter *filter, int key, Oid column);

/* Collects them: from nothing, one after the other, to the last. */
extern void StartSentKeys(SentKeys *keys);
extern void AddSentKey(SentKeys *keys, Datum value);
extern void FinishSentKeys(SentKeys *keys);

/* True if the canonical form of such keys depends on the encoding of the database. */
extern bool KeysDependOnEncoding(const SentKeys *keys);

/* The number of keys; of very many an estimate. */
extern double CountSentKeys(const SentKeys *keys);

/* The filter of that rate, a new value; NULL if it is larger than max_bytes, or its rate is useless. */
extern blx_filter *FilterOfSentKeys(const SentKeys *keys, double rate, uint64 max_bytes);

/* ---- remotesql.c ---- */

/* True if the query is one that postgres_fdw writes for a table whose rows it only reads. */
extern bool TakesCondition(const char *query);

/* Such a query with one more condition. */
extern char *AddCondition(const char *query, const char *condition);
