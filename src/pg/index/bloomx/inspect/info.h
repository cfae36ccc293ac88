/*
 * info.h - who may inspect an index.
 */
#ifndef BLOOMX_INFO_H
#define BLOOMX_INFO_H

#include "pg/base/base.h"

#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* An index that may be inspected, and its table, both locked. */
extern Relation BloomxOpenIndex(Oid id, Relation *heap);

#pragma GCC visibility pop

#endif							/* BLOOMX_INFO_H */
