/*
 * storeindex.h - the access method of the store.
 */
#ifndef BLOOMX_STOREINDEX_H
#define BLOOMX_STOREINDEX_H

#include "pg/base/base.h"

#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* True if the relation is an index of that access method. */
extern bool IsStore(Relation rel);

#pragma GCC visibility pop

#endif							/* BLOOMX_STOREINDEX_H */
